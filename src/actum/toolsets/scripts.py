"""`ScriptToolset`: the Python and shell scripts of a folder as tools, each call in a jail.

A script describes itself in its header (`script_header.py`), which is read without running the script. The jail is the
operator's; a header can only make it narrower. Only what was listed is run: the bytes of a script are part of the
tool's version, so a script that was changed is another tool, and no approval for the old one holds.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct, structs

from ..core.attachment import HANDLE
from ..core.call import Problem, TextPart, ToolCall, ToolResult
from ..core.errors import BadTool, InvalidArguments, Unavailable, UnknownTool, UsageError
from ..core.interfaces import Context
from ..core.json import Json, JsonObject, dumps
from ..core.tool import Effects, Tool
from ..sandbox.jail import Jail
from ..transport.egress import Egress
from .function.returned import result_of
from .jailed_command import media, patience_s, placed_attachments, run_command
from .script_header import (
    Parameter,
    ScriptHeader,
    check_read_only_hosts,
    description_of,
    parameters_of,
    read_header,
    words_of,
)

ENDINGS = (".py", ".sh")
SCRIPT_BYTES_MAX = 1024 * 1024
SCRIPTS_MAX = 500
ARGUMENT_BYTES_MAX = 100_000
"""The most bytes of one word of a command line; Linux takes 128 KiB."""


class ScriptProblem(Struct, frozen=True):
    """Why a script of the folder is no tool.

    Attributes:
        file: the name of the script.
        problem: which line is missing or wrong.
    """

    file: str
    problem: str


class Script(Struct, frozen=True):
    """A script that is a tool.

    Attributes:
        path: where it lies.
        tool: the definition; its version is the SHA-256 of the script.
        header: what the script says of itself.
        parameters: what it takes.
        jail: the operator's, narrowed to what the header declares.
    """

    path: Path
    tool: Tool
    header: ScriptHeader
    parameters: tuple[Parameter, ...]
    jail: Jail


class ScriptToolset:
    """The scripts of a folder as tools.

    Args:
        folder: where the scripts lie, `*.py` and `*.sh`.
        jail: what the scripts may read, write, find and use up. By default their own work folder alone.
        approval: each call of a script that does more than read waits for a person. False leaves that to the policy.
        egress: the operator's rules for outgoing calls, which hold beside the hosts of the jail.
        read_only_hosts: hosts of the jail to which a script may talk and still count as a script that only reads.
            The script could send such a host all that it has read: name only hosts that you trust with this.

    Raises:
        UsageError: there is no such folder, or the jail may write it: a script could change the others. Or a host of
            `read_only_hosts` is none of the jail.
    """

    def __init__(
        self,
        folder: Path | str,
        jail: Jail | None = None,
        *,
        approval: bool = True,
        egress: Egress | None = None,
        read_only_hosts: Sequence[str] = (),
    ) -> None:
        self.folder = Path(folder).expanduser().resolve()
        self._jail = jail or Jail()
        self._approval = approval
        self._egress = egress
        self._read_only_hosts = frozenset(read_only_hosts)
        check_read_only_hosts(read_only_hosts, self._jail.hosts)
        if not self.folder.is_dir():
            raise UsageError("there is no folder {folder}", folder=folder)
        for given in self._jail.write:
            real = Path(given).resolve()
            if real == self.folder or real in self.folder.parents or self.folder in real.parents:
                raise UsageError(
                    "Jail(write=...): {given} holds the scripts in {folder}; name another folder",
                    given=given,
                    folder=folder,
                )
        self._seen: tuple[object, ...] | None = None
        self._scripts: dict[str, Script] = {}
        self._problems: tuple[ScriptProblem, ...] = ()
        self._generation = 0

    @property
    def generation(self) -> int:
        """Grows when a script of the folder was added, changed or removed."""
        self._look()
        return self._generation

    @property
    def problems(self) -> tuple[ScriptProblem, ...]:
        """The scripts of the folder that are no tools, each with the line that is missing or wrong."""
        self._look()
        return self._problems

    @property
    def is_empty(self) -> bool:
        """No script of the folder is a tool."""
        self._look()
        return not self._scripts

    @property
    def names(self) -> list[str]:
        """The names of the scripts that are tools."""
        self._look()
        return list(self._scripts)

    async def list_tools(self) -> Sequence[Tool]:
        """The scripts that are tools, by the names of their files."""
        self._look()
        return tuple(script.tool for script in self._scripts.values())

    async def execute(self, call: ToolCall, context: Context) -> ToolResult:
        """Run a script in its jail.

        Raises:
            UnknownTool: there is no such script.
            InvalidArguments: no attachment has a handle that was passed, or a value can't be a word.
            Unavailable: the script was changed since it was listed, or the machine does not hold the jail.
            ResourceLimit, ToolError: the script failed; see `run_command`.
        """
        script = self._scripts.get(call.name)
        if script is None:
            raise UnknownTool("There is no tool called {call!r}.", call=call.name[:64])
        code = _content(script.path)
        if code is None or hashlib.sha256(code).hexdigest() != script.tool.version:
            raise Unavailable(
                "The script {path} was changed since it was listed; list the tools again.", path=script.path.name
            )
        files, arguments = placed_attachments(script.header.files, call.arguments, context.attachments)
        files[script.path.name] = code
        command, stdin = [*_interpreter(script.path, code), script.path.name], b""
        if script.header.arguments == "words":
            words = words_of(script.parameters, arguments)
            for word in words:
                if len(word.encode("utf-8", "replace")) > ARGUMENT_BYTES_MAX:
                    raise InvalidArguments([Problem("", "maxLength", f"at most {ARGUMENT_BYTES_MAX} bytes", "more")])
            command += words
        else:
            stdin = dumps(arguments).encode("utf-8", "replace")
        what = f"The script {script.path.name}"
        jail = script.jail.lowered(context.process_limits)
        output = await run_command(command, jail, files, stdin=stdin, what=what, egress=self._egress)
        return result_of(call.id, [TextPart(output.text or "Done."), *media(output.files)])

    def _look(self) -> None:
        """Read the folder again where a file in it is not as it was."""
        seen = tuple(_signature(self.folder))
        if seen == self._seen:
            return
        scripts: dict[str, Script] = {}
        problems: list[ScriptProblem] = []
        for path in sorted(self.folder.iterdir())[:SCRIPTS_MAX]:
            if not _is_script(path):
                continue
            try:
                script = _script(path, self._jail, self._read_only_hosts, approval=self._approval)
                if script.tool.name in scripts:
                    raise BadTool("another script is called {tool!r}, too", tool=script.tool.name)
            except BadTool as error:
                problems.append(ScriptProblem(path.name, str(error)))
                continue
            scripts[script.tool.name] = script
        self._generation += scripts != self._scripts
        self._seen, self._scripts, self._problems = seen, scripts, tuple(problems)


def _signature(folder: Path) -> Iterator[object]:
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda each: each.name)[: 2 * SCRIPTS_MAX]:
            try:
                about = entry.stat()
            except OSError:
                continue
            yield entry.name, about.st_mtime_ns, about.st_size, about.st_ino


def _is_script(path: Path) -> bool:
    return path.suffix in ENDINGS and not path.name.startswith((".", "_")) and path.is_file()


def _content(path: Path) -> bytes | None:
    """The bytes of a script; None where there are none, or too many."""
    try:
        with path.open("rb") as file:
            found = file.read(SCRIPT_BYTES_MAX + 1)
    except OSError:
        return None
    return found if len(found) <= SCRIPT_BYTES_MAX else None


def _script(path: Path, jail: Jail, read_only_hosts: frozenset[str], *, approval: bool) -> Script:
    code = _content(path)
    if code is None:
        raise BadTool("the script can't be read, or is longer than {most} bytes", most=SCRIPT_BYTES_MAX)
    try:
        text = code.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadTool("the script is not in UTF-8: {why} at byte {at}", why=error.reason, at=error.start) from None
    is_python = path.suffix == ".py"
    header = read_header(text)
    parameters = parameters_of(header, text, is_python=is_python)
    way = header.arguments or ("words" if header.parameters is None else "stdin")
    header = structs.replace(header, arguments=way)
    if strangers := set(header.files) - {each.name for each in parameters}:
        raise BadTool("files: {pop!r} is none of its parameters", pop=strangers.pop())
    if header.effects is not None and "write" not in header.effects and "execute" not in header.effects:
        jail = structs.replace(jail, write=())
    if header.timeout_s is not None:
        if not header.timeout_s > 0:
            raise BadTool("timeout_s = {timeout_s}: give a number above 0", timeout_s=header.timeout_s)
        least = min(header.timeout_s, jail.limits.seconds)
        jail = structs.replace(jail, limits=structs.replace(jail.limits, seconds=least))
    if closed := set(header.hosts) - set(jail.hosts):
        raise BadTool("hosts: {pop!r} is not one of the hosts that [sandbox] allows", pop=closed.pop())
    jail = structs.replace(jail, hosts=header.hosts)
    effects = frozenset[Effects](("execute",) if header.effects is None else header.effects)
    if set(header.hosts) - read_only_hosts:  # whatever the script says: what it read can be told to the host
        effects |= {"send"}
    properties: dict[str, Json] = {each.name: _shown(each, each.name in header.files) for each in parameters}
    tool = Tool(
        name=header.name or path.stem,
        description=description_of(header, text, is_python=is_python),
        parameters={
            "type": "object",
            "properties": properties,
            "required": [each.name for each in parameters if each.required],
            "additionalProperties": False,
        },
        effects=effects,
        idempotent=jail.changes_nothing_outside,
        approval=approval and not effects <= {"read"},
        timeout_s=patience_s(jail),
        jailed=True,
        version=hashlib.sha256(code).hexdigest(),
        outside=bool(header.hosts) or None,
    )
    return Script(path, tool, header, parameters, jail)


def _shown(parameter: Parameter, is_file: bool) -> JsonObject:
    if not is_file:
        return parameter.schema
    told = str(parameter.schema.get("description", ""))
    return {**parameter.schema, "description": f"{told} {HANDLE}".strip()}


def _interpreter(path: Path, code: bytes) -> list[str]:
    if path.suffix == ".py":
        return [sys.executable]
    first = code.split(b"\n", 1)[0]
    return ["bash"] if first.startswith(b"#!") and b"bash" in first else ["sh"]
