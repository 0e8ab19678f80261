"""What a person approved of MCP servers: that one is used, and the definitions of its tools; in one small JSON file.

A tool may have several approved definitions: a server can describe it differently to different users, and a person
approves each definition once, not once for each user. A definition stays approved until that is taken back.

The file is written whole and put in the place of the old one, under a lock that other processes respect, so that it is
never half written and no approval is lost. A reader sees at once what another process wrote. A file that can not be
read is an error, and not an empty list of approvals.

Limits: who can write the file can approve. It is readable by its owner alone, as a command line may say something of
its owner.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from ..core.errors import UsageError
from ..core.json import JsonObject
from ..core.secrets.private_paths import keep_private
from ..protocols.mcp.pin import digest
from .whole_file import alone_with, replace


class Approved(Struct, frozen=True, omit_defaults=True):
    """A tool as it was approved.

    Attributes:
        definition: as the server told it.
        at: when, ISO 8601 in UTC.
        by: who.
        reads: the person believed that the tool only reads, as its definition says.
    """

    definition: JsonObject
    at: str = ""
    by: str = ""
    reads: bool = False


class Known(Struct, frozen=True, omit_defaults=True):
    """What is known of a server.

    Attributes:
        approved: it may be started or connected to.
        era: of the protocol that it speaks, where that was found out.
        tools: the definitions that were approved of each tool, the oldest first, by the server's name for the tool.
        offers: the names of the capabilities that it had when it was last reached; None where it never was.
    """

    approved: bool = False
    era: Literal["auto", "legacy", "modern"] = "auto"
    tools: dict[str, tuple[Approved, ...]] = {}
    offers: tuple[str, ...] | None = None


class _File(Struct, frozen=True, tag=2, tag_field="version"):
    servers: dict[str, Known] = {}


class _KnownOfOld(Struct, frozen=True):
    """As `Known`, when a tool had one definition."""

    approved: bool = False
    era: Literal["auto", "legacy", "modern"] = "auto"
    tools: dict[str, Approved] = {}
    offers: tuple[str, ...] | None = None


class _FileOfOld(Struct, frozen=True, tag=1, tag_field="version"):
    servers: dict[str, _KnownOfOld] = {}


class PinStore:
    """The approvals in one file.

    Args:
        path: the file; made with the first approval.
    """

    def __init__(self, path: Path) -> None:
        keep_private(path)
        self.path = path
        self._read_at: tuple[int, ...] = ()
        self._file = _File()

    def of_tenant(self, tenant: str) -> PinStore:
        """The approvals of one tenant: in a file of its own, so that no tenant approves anything for another.

        Args:
            tenant: the tenant; empty for these approvals themselves.
        """
        if not tenant:
            return self
        name = hashlib.sha256(tenant.encode(errors="surrogatepass")).hexdigest()[:32]
        return PinStore(self.path.with_name(f"{self.path.stem}-{name}{self.path.suffix}"))

    @property
    def stamp(self) -> tuple[int, ...]:
        """Differs whenever the file was written; empty while there is none."""
        try:
            found = self.path.stat()
        except OSError:
            return ()
        return (found.st_ino, found.st_mtime_ns, found.st_size)

    def known(self, identity: str) -> Known:
        """What is known of a server; nothing, where it was never approved.

        Args:
            identity: what it is; `McpServer.identity`.

        Raises:
            UsageError: the file can not be read.
        """
        stamp = self.stamp
        if stamp != self._read_at:
            self._file, self._read_at = self._read(), stamp
        return self._file.servers.get(identity, Known())

    def approved(self, identity: str) -> Mapping[str, tuple[JsonObject, ...]]:
        """The definitions that were approved, the oldest first, by the tool's name."""
        return {
            name: tuple(each.definition for each in approved) for name, approved in self.known(identity).tools.items()
        }

    def readers(self, identity: str) -> frozenset[str]:
        """The digests of the definitions that were approved as those of tools that only read."""
        tools = self.known(identity).tools.values()
        return frozenset(digest(each.definition) for approved in tools for each in approved if each.reads)

    def approve(
        self, identity: str, definitions: Sequence[JsonObject] = (), *, by: str = "", reads: Collection[str] = ()
    ) -> None:
        """A person agrees that a server is used, and to these definitions beside those approved before.

        Args:
            identity: the identity of the server; `McpServer.identity`.
            definitions: of tools. What was said of the same definition before is replaced.
            by: who agrees.
            reads: the names of the tools that the person believes to only read.

        Raises:
            UsageError: the file can not be read or written.
            Busy: another process holds it.
        """
        at = datetime.now(UTC).isoformat(timespec="seconds")
        with self._changing(identity) as known:
            tools = dict(known[0].tools)
            for definition in definitions:
                name = str(definition["name"])
                before = [each for each in tools.get(name, ()) if digest(each.definition) != digest(definition)]
                tools[name] = (*before, Approved(definition, at, by, name in reads))
            known.append(msgspec.structs.replace(known[0], approved=True, tools=tools))

    def withdraw(self, identity: str, names: Collection[str] | None = None) -> None:
        """Take approvals back: of these tools, or of the server and all it has."""
        with self._changing(identity) as known:
            left = {} if names is None else {n: tool for n, tool in known[0].tools.items() if n not in names}
            approved = known[0].approved and names is not None
            known.append(msgspec.structs.replace(known[0], approved=approved, tools=left))

    def remember(
        self, identity: str, era: Literal["auto", "legacy", "modern"], offers: Sequence[str] | None = None
    ) -> None:
        """Keep what was found out about a server, so that it need not be reached to know that.

        Args:
            identity: what it is; `McpServer.identity`.
            era: of the protocol that it speaks; `auto` to keep what is known.
            offers: the names of its capabilities; None to keep what is known.

        Raises:
            UsageError: the file can not be read or written.
            Busy: another process holds it.
        """

        def found_out(known: Known) -> Known:
            told = known.offers if offers is None else tuple(offers)
            return msgspec.structs.replace(known, era=known.era if era == "auto" else era, offers=told)

        if found_out(self.known(identity)) != self.known(identity):
            with self._changing(identity) as known:
                known.append(found_out(known[0]))

    @contextmanager
    def _changing(self, identity: str) -> Iterator[list[Known]]:
        """Hand out what is known as a list, and write down what was put at its end."""
        with alone_with(self.path):
            file = self._read()
            known = [file.servers.get(identity, Known())]
            yield known
            self._write(_File(servers={**file.servers, identity: known[-1]}))

    def _read(self) -> _File:
        try:
            file = msgspec.json.decode(self.path.read_bytes(), type=_File | _FileOfOld)
        except FileNotFoundError:
            return _File()
        except OSError as error:
            raise UsageError("{path} can not be read: {why}", path=self.path, why=error.strerror) from None
        except msgspec.MsgspecError as error:
            raise UsageError("{path} is no file of approvals: {why}", path=self.path, why=error) from None
        return file if isinstance(file, _File) else _File({name: _renewed(each) for name, each in file.servers.items()})

    def _write(self, file: _File) -> None:
        text = msgspec.json.format(msgspec.json.encode(file, order="deterministic"))
        try:
            replace(self.path, text + b"\n")
        except OSError as error:
            raise UsageError("{path} can not be written: {why}", path=self.path, why=error.strerror) from None


def _renewed(known: _KnownOfOld) -> Known:
    return Known(known.approved, known.era, {name: (tool,) for name, tool in known.tools.items()}, known.offers)
