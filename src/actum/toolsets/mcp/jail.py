"""The jail of a local MCP server: what the server may reach, of what was declared for it.

A server in a jail reads the programs of the system, its own program, and what `McpJail` names; it writes what `McpJail`
names and a folder of its own. It reaches the hosts that `McpJail` names, and has no other network. What talks to a
daemon, or installs before it runs, can't be jailed.
"""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePath

from ...core.errors import CallCancelled, CallError, CallTimeout, UsageError
from ...core.json import dumps
from ...protocols.mcp.config import McpServer
from ...sandbox.jail import Jail, JailLimits
from ...sandbox.process import JailedProcess
from ...storage.folders import data_folder

log = logging.getLogger("actum.mcp")

UNSEEN = "(this machine can not tell what the program tries to open)"
"""The text on record in the place of paths."""
YEARS_S = 10 * 365 * 86_400.0
LIMITS = JailLimits(memory_bytes=2 << 30, cpu_seconds=YEARS_S, processes=256, disk_bytes=1 << 30, seconds=YEARS_S)
"""A server may run for as long as it likes, but not take the whole machine."""
INSTALLERS = frozenset({"npx", "bunx", "pnpx", "pnpm", "yarn", "uvx", "uv", "pipx"})
DAEMONS = frozenset({"docker", "podman", "nerdctl", "flatpak", "snap", "sudo", "ssh", "wsl"})
PASSED_ON = ("LANG", "TERM")


class OpenedOutside:
    """What the local servers of one connection tried to open outside their jails, for the calls that are under way."""

    def __init__(self) -> None:
        self._jails: list[JailedProcess] = []
        self._calls: list[dict[str, None]] = []
        self._left_alone = 0
        """Calls that nobody waits for any more, and that a server may still carry out."""

    @contextmanager
    def of_server(self, jailed: JailedProcess) -> Iterator[None]:
        """A block in which a server runs."""
        self._jails.append(jailed)
        try:
            yield
        finally:
            self._take()
            self._jails.remove(jailed)
            if not self._jails:
                self._left_alone = 0

    @contextmanager
    def during(self) -> Iterator[dict[str, None]]:
        """A block in which a call is under way. The paths are there when the block is left.

        Nobody can tell which of several calls at a time made a server open a file. The calls may be of different users,
        so none of them gets the path: the path goes to the log. A call that was cancelled, or was not answered in time,
        counts as under way until its server ends: what the server opens late is not laid to the next call.
        """
        self._take()
        seen: dict[str, None] = {}
        self._calls.append(seen)
        is_answered = False
        try:
            yield seen
            is_answered = True
        except CallError as error:
            is_answered = not isinstance(error, CallTimeout | CallCancelled)
            raise
        finally:
            self._take()
            self._left_alone += bool(self._jails) and not is_answered
            self._calls = [each for each in self._calls if each is not seen]

    def went_around_proxy(self) -> bool:
        """Whether a server tried to connect without the proxy of its jail, since this was last asked."""
        around = [jailed.went_around_proxy() for jailed in self._jails]  # each is asked
        return any(around)

    def _take(self) -> None:
        for jailed in self._jails:
            paths = jailed.opened_outside()
            if paths is None:
                for seen in self._calls:
                    seen[UNSEEN] = None
                continue
            for path in paths:
                if len(self._calls) == 1 and not self._left_alone:
                    self._calls[0][path] = None
                else:
                    log.warning("a local server tried to open %s outside its jail; %s", path, self._during)

    @property
    def _during(self) -> str:
        calls = f"{len(self._calls)} calls were under way" if self._calls else "no call was under way"
        return f"{calls}, and {self._left_alone} were cancelled earlier" if self._left_alone else calls


def unfit_for_jail(server: McpServer) -> str:
    """Why a server can't run in a jail, and what to do; empty where it can."""
    name = PurePath(server.command).name.removesuffix(".exe").removesuffix(".cmd")
    if name in INSTALLERS:
        return (
            f"{name} installs a program over the network and runs it in one go, and a jail has no network. Add a "
            "server of npx, uvx or pipx by `actum mcp add`, which installs first. Else install the program first and "
            "name it here, or add --no-jail: the server then reaches all that you can reach"
        )
    if name in DAEMONS:
        return (
            f"{name} has another process do its work, which no jail of ours holds. Add --no-jail: the server then "
            "reaches all that you can reach"
        )
    return ""


def program_of(server: McpServer) -> Path:
    """The program of a server.

    Raises:
        FileNotFoundError: there is none.
    """
    if "/" in server.command:
        program = Path(server.cwd or ".", Path(server.command).expanduser())
        if program.is_file():
            return program.absolute()  # a link is kept: a Python of a virtual environment is known by its link
    elif (found := shutil.which(server.command)) is not None:
        return Path(found).absolute()
    raise FileNotFoundError(2, os.strerror(2), server.command)


def home_of(server: McpServer, environment: Mapping[str, str]) -> Path:
    """The folder of a server's own. A server that is started otherwise has another one, whatever it is called.

    Raises:
        UsageError: there is no home folder.
    """
    runs = dumps([server.command, [*server.args], server.cwd])
    return data_folder(environment) / "mcp" / f"{server.name}-{hashlib.sha256(runs.encode()).hexdigest()[:12]}"


def jail_of(server: McpServer, program: Path, env: Mapping[str, str]) -> Jail:
    """The jail in which a server is started.

    Args:
        server: as it is configured.
        program: the program that is started.
        env: the server's own variables.

    Raises:
        UsageError: there is no home folder, or the server is not configured for a jail.
    """
    if server.jail is None:
        raise UsageError("{server} has no jail", server=server.name)
    passed_on = {name: value for name, value in os.environ.items() if name in PASSED_ON or name.startswith("LC_")}
    return Jail(
        read=(*server.jail.read, str(program)),
        write=server.jail.write,
        hosts=server.jail.hosts,
        home=str(home_of(server, os.environ)),
        environment={**passed_on, **env},
        audit=True,
        limits=LIMITS,
    )


def unreadable_files(server: McpServer) -> list[str]:
    """The files that a command line names and that the server's jail does not let it read: most often its program."""
    if server.jail is None:
        return []
    allowed = [Path(path).resolve() for path in (*server.jail.read, *server.jail.write, "/usr", "/bin", "/lib", "/opt")]
    found = []
    for word in server.args:
        path = Path(server.cwd or ".", word)
        try:
            real = path.resolve() if path.is_file() else None
        except (OSError, ValueError):
            continue
        if real is not None and not any(real == one or one in real.parents for one in allowed):
            found.append(word)
    return found
