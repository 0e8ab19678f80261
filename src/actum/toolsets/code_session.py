"""Python sessions: variables and files that stay from one call of `run_python` to the next, in one jail.

A session belongs to the run that began it, and ends with that run. Its id is of use to nobody else. A session that
ended, or that another process held, is said to be lost; it never begins anew in silence.
"""

from __future__ import annotations

import asyncio
import base64
import secrets
import sys
from collections.abc import Hashable
from typing import Generic, TypeVar

import msgspec
from msgspec import Struct, structs

from ..core.attachment import File
from ..core.call import Effect, MediaPart
from ..core.errors import ResourceLimit, ToolError, Unavailable, UsageError
from ..core.holder import Holder, HolderKey
from ..core.interfaces import Context
from ..core.json import dumps
from ..core.user import User
from ..sandbox.jail import Jail, JailLimits
from ..sandbox.layers import start
from ..sandbox.process import AROUND_PROXY, ENDING, JailedProcess
from ..transport.egress import Egress
from .jailed_command import CommandOutput, KnownFile, collected, file_name, plain, reason, written

BEGIN = "new"
SESSION_S = 3_600.0
"""Seconds after which a session ends in any case."""
SESSIONS_MAX = 32
SESSIONS_PER_RUN_MAX = 4
ANSWER_BYTES_MAX = 4 * 1024 * 1024
SCRIPT = ".session.py"
VALUE = ".value"

LOOP = """\
import sys
sys.path.append(sys.path.pop(0))
import ast, base64, json, os, traceback
asked_by, answers = os.fdopen(os.dup(0), "rb"), os.dup(1)
os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
names = {"__name__": "__main__"}

def run(code):
    tree = ast.parse(code, "code.py")
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "code.py", "exec"), names)
    value = None if last is None else eval(compile(ast.Expression(last.value), "code.py", "eval"), names)
    if "matplotlib.pyplot" in sys.modules:
        plots = sys.modules["matplotlib.pyplot"]
        for number in plots.get_fignums():
            plots.figure(number).savefig(f"figure_{number}.png")
        plots.close("all")
    try:
        shown = "" if value is None else repr(value)
    except Exception as error:
        shown = f"[a {type(value).__name__}, whose repr failed: {type(error).__name__}]"
    note = f"\\n[{len(shown) - 100000} characters are left out]" if len(shown) > 100000 else ""
    return shown[:100000].encode("utf-8", "replace").decode() + note

def read(fd, start, most):
    os.lseek(fd, start, os.SEEK_SET)
    return os.read(fd, most).decode("utf-8", "replace")

for line in asked_by:
    asked = json.loads(line)
    if asked["file"]:
        with open(asked["file"], "wb") as file:
            file.write(base64.b64decode(asked["data"]))
    out, err = (os.open(name, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600) for name in (".out", ".err"))
    os.dup2(out, 1)
    os.dup2(err, 2)
    value, ok = "", True
    try:
        value = run(asked["code"])
    except BaseException as error:
        ok = isinstance(error, SystemExit) and not error.code
        if not ok:
            traceback.print_exception(type(error), error, error.__traceback__.tb_next)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            pass
    size = os.fstat(err).st_size
    told = {"id": asked["id"], "ok": ok, "said": read(out, 0, 100000), "left": max(0, os.fstat(out).st_size - 100000)}
    told |= {"errors": read(err, max(0, size - 4000), 4000), "value": value}
    os.close(out)
    os.close(err)
    answer = json.dumps(told).encode() + b"\\n"
    while answer:
        answer = answer[os.write(answers, answer):]
"""


class _Answer(Struct, frozen=True):
    id: str
    ok: bool
    said: str
    left: int
    errors: str
    value: str
    limit: str = ""


class PythonSession:
    """A Python in a jail that runs one piece of code after the other.

    Args:
        jail: what it may do. The limit `seconds` holds for each piece, the other limits for all pieces together.
        egress: the operator's rules for outgoing calls, where the jail names hosts.
        loop: the program that runs the pieces of code. It may name a limit at which it ended a piece by itself.
        raised: what is said where a piece of code raised an error.
        told: the limits that such a program keeps; None for those of the jail.
        grace_s: seconds that such a program has to end a piece of code by itself.
    """

    def __init__(
        self,
        jail: Jail,
        egress: Egress | None = None,
        *,
        loop: str = LOOP,
        raised: str = "The code raised an error; the session goes on.",
        told: JailLimits | None = None,
        grace_s: float = 0.0,
    ) -> None:
        self._egress = egress
        self._jail = structs.replace(jail, limits=structs.replace(jail.limits, seconds=SESSION_S))
        self._seconds = jail.limits.seconds
        self._loop = loop
        self._raised = raised
        self._limits = told or jail.limits
        self._grace_s = grace_s
        self._over = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._process: JailedProcess | None = None
        self._turn = asyncio.Lock()
        self._known: dict[str, KnownFile] = {}
        self.is_over = False

    async def begin(self) -> None:
        """Start the Python.

        Raises:
            Unavailable: the machine does not hold the jail.
        """
        loop = asyncio.get_running_loop()
        begun: asyncio.Future[JailedProcess] = loop.create_future()
        self._task = loop.create_task(self._hold(begun))
        try:
            self._process = await begun
        except UsageError as error:
            self.is_over = True
            raise Unavailable("The code was not run: {why}", why=error) from None
        except BaseException:
            self.let_go()
            raise

    async def _hold(self, begun: asyncio.Future[JailedProcess]) -> None:
        """The life of the Python. A task of its own: it is also ended in order where the event loop ends before us."""
        command, files = [sys.executable, SCRIPT], {SCRIPT: self._loop.encode()}
        try:
            async with start(command, self._jail, files=files, egress=self._egress) as process:
                if not begun.done():
                    begun.set_result(process)
                await self._over.wait()
        except Exception as error:  # the caller that began the session hears of it
            if begun.done():
                raise
            begun.set_exception(error)

    async def run(self, code: str, file: File | None) -> CommandOutput:
        """Run a piece of code.

        Raises:
            ToolError: the code raised an error; the session goes on. Or the code ended the session.
            ResourceLimit: a limit ended the piece of code or the session.
        """
        async with self._turn:
            if self.is_over or self._process is None:
                raise ToolError(LOST)
            try:
                async with asyncio.timeout(self._seconds + self._grace_s):
                    answer = await self._ask(self._process, code, file)
            except TimeoutError:
                files, left_out = await self._rest(self._process)
                raise ResourceLimit(
                    "The session was ended at the limit seconds = {seconds}.{left_out}",
                    effect=self._effect,
                    files=files,
                    seconds=self._seconds,
                    left_out=left_out,
                ) from None
            except BaseException:
                await self.end()
                raise
            left, left_out = await self._left(self._process)
        said = f"{answer.said}\n[{answer.left} bytes are left out]" if answer.left else answer.said
        said, errors, value = (plain(text, self._process, self._jail) for text in (said, answer.errors, answer.value))
        output = CommandOutput(said, errors, left | ({VALUE: value.encode()} if value else {}), left_out)
        if not answer.ok:
            hint = AROUND_PROXY if self._process.went_around_proxy() else ""
            shown = "\n".join(part for part in (output.failure, hint) if part)
            if answer.limit in JailLimits.__struct_fields__:
                what = f"The code was ended at the limit {answer.limit} = {getattr(self._limits, answer.limit)}."
                raise ResourceLimit(f"{what}\n{shown}".rstrip(), effect=self._effect, files=written(left))
            raise ToolError(f"{self._raised}\n{shown}".rstrip(), effect=self._effect, files=written(left))
        return output

    @property
    def has_ended(self) -> bool:
        """Nothing can be run in it any more."""
        return self.is_over or (self._process is not None and self._process.child.exited.is_set())

    @property
    def _effect(self) -> Effect:
        return "none" if self._jail.changes_nothing_outside else "unknown"

    async def _ask(self, process: JailedProcess, code: str, file: File | None) -> _Answer:
        code = code.encode("utf-8", "replace").decode()  # half a character can not be sent
        asked = {"id": secrets.token_hex(8), "code": code, "file": "", "data": ""}
        if file is not None:
            asked |= {"file": file_name(file), "data": base64.b64encode(file.data).decode()}
            self._known[asked["file"]] = KnownFile.of(file.data)
        try:
            process.child.stdin.write(dumps({**asked}).encode() + b"\n")
            await process.child.stdin.drain()
        except OSError:
            pass  # it has ended; what it left to be read says why
        line = b""
        while not line.endswith(b"\n"):
            part = await process.child.stdout.read(65_536)
            if not part or len(line) > ANSWER_BYTES_MAX:
                raise await self._ended(process)
            line += part
        try:
            answer = msgspec.json.decode(line, type=_Answer)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise await self._ended(process) from None
        if answer.id != asked["id"]:
            raise await self._ended(process)
        return answer

    async def _ended(self, process: JailedProcess) -> ToolError | ResourceLimit:
        """Why there is no answer."""
        files, left_out = await self._rest(process)
        report = process.report_before_removal
        if report is not None and report.limit:
            why = reason(report, self._jail, "The session")
            return ResourceLimit(f"{why}{left_out}", effect=self._effect, files=files)
        return ToolError(
            "The code ended the session; its variables are gone, and so is each file that has no handle.{left_out}",
            effect=self._effect,
            files=files,
            left_out=left_out,
        )

    async def _left(self, process: JailedProcess) -> tuple[dict[str, bytes], str]:
        """The files that are new since they were last told, and which of them are left out. Files that are not left
        out count as told from now on.
        """
        left, left_out = await asyncio.to_thread(collected, process.work, self._known)
        self._known |= {name: KnownFile.of(data) for name, data in left.items()}
        return left, left_out

    async def _rest(self, process: JailedProcess) -> tuple[list[MediaPart], str]:
        """End the session, and tell the files that are new, and which of them are left out on a line of its own."""
        try:
            await process.child.end(ENDING)
            left, left_out = await self._left(process)
            return written(left), f"\n{left_out}" if left_out else ""
        finally:
            await self.end()

    def let_go(self) -> asyncio.Task[None] | None:
        """Begin to end the Python and all that it started, and to remove its files.

        Returns:
            What is done when all is gone; None where nothing was begun.
        """
        self.is_over = True
        self._over.set()
        return self._task

    async def end(self) -> None:
        """End the Python and all that it started, and remove its files."""
        if (task := self.let_go()) is not None:
            await asyncio.wait([task])


Name = TypeVar("Name", bound=Hashable)


class SessionsOfRuns(Generic[Name]):
    """Sessions by the run that they belong to, and by a name of their own. They end with their run; a run that waits
    for a person keeps them.
    """

    def __init__(self) -> None:
        self._open: dict[tuple[HolderKey, Name], PythonSession] = {}
        self._endings: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._open)

    def get(self, owner: HolderKey, name: Name) -> PythonSession | None:
        """The session of this name that a run has."""
        return self._open.get((owner, name))

    def count(self, owner: HolderKey) -> int:
        """How many sessions a run has."""
        return sum(each == owner for each, _ in self._open)

    def add(self, owner: HolderKey, name: Name, session: PythonSession) -> None:
        """Keep a session."""
        self._open[owner, name] = session

    def watch(self, holder: Holder) -> None:
        """End the sessions of a run when the run is over."""
        holder.watch(self._heard_of)

    def drop_ended(self) -> None:
        """Forget the sessions that are over."""
        self._open = {key: each for key, each in self._open.items() if not each.is_over}

    def _heard_of(self, holder: Holder) -> None:
        if holder.state in ("here", "paused"):
            return
        for key in [key for key in self._open if key[0] == holder.key]:
            if (ending := self._open.pop(key).let_go()) is not None:
                self._endings.add(ending)
                ending.add_done_callback(self._endings.discard)

    async def close(self) -> None:
        """End all sessions."""
        for session in list(self._open.values()):
            await session.end()
        await asyncio.gather(*self._endings)


LOST = f"This session is lost: it ended, or another process held it. Begin another one with session={BEGIN!r}."


class PythonSessions:
    """The sessions of runs, each by an id that holds for its own run alone.

    Args:
        jail: what a session may do.
        egress: the operator's rules for outgoing calls, where the jail names hosts.
    """

    def __init__(self, jail: Jail, egress: Egress | None = None) -> None:
        self._jail = jail
        self._egress = egress
        self._open: SessionsOfRuns[str] = SessionsOfRuns()

    async def run(self, session: str, code: str, file: File | None, context: Context) -> tuple[str, CommandOutput]:
        """Run code in a session.

        Args:
            session: an id, or `new`.
            code, file: as of `run_python`.
            context: of the call.

        Returns:
            The id of the session, and what the code came to.

        Raises:
            ToolError: the session is lost, or the code raised an error.
            ResourceLimit: there are too many sessions, or a limit ended this one.
            Unavailable: the machine does not hold the jail.
        """
        owner = _owner(context)
        self._open.drop_ended()
        if session != BEGIN:
            found = self._open.get(owner, session)
            if found is None:
                raise ToolError(LOST)
            return session, await found.run(code, file)
        if self._open.count(owner) >= SESSIONS_PER_RUN_MAX or len(self._open) >= SESSIONS_MAX:
            raise ResourceLimit("Too many sessions are open. Go on in one of them.", effect="none")
        jail = self._jail.lowered(context.process_limits)
        made, name = PythonSession(jail, self._egress), f"s_{secrets.token_hex(4)}"
        self._open.add(owner, name, made)
        await made.begin()
        if context.holder is not None:
            self._open.watch(context.holder)
        try:
            return name, await made.run(code, file)
        except ToolError as error:
            if made.is_over:
                raise
            raise ToolError(
                "{why}\n[session {name}]", effect=error.effect, files=error.files, why=error.message, name=name
            ) from None

    async def close(self) -> None:
        """End all sessions."""
        await self._open.close()


def _owner(context: Context) -> HolderKey:
    if context.holder is not None:
        return context.holder.key
    return (User(context.tenant, context.principal), f"run:{context.run_id}")
