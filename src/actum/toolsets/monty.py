"""`MontyRunner`: small Python code in Monty, an interpreter of a subset of Python that starts within a millisecond.

Monty (`pydantic-monty`, the extra `monty`) runs in a process of its own. This process stays for a run and is in a jail
that opens no folder and no host. So what Monty itself lets through is still held by the kernel. Each piece of code
begins with nothing: no variable stays. No function of this program can be called from the code.

`code.py` offers this as the tool `run_python`, which a program has to ask for by name.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json

from msgspec import structs

from ..core.errors import Unavailable
from ..core.holder import Holder
from ..core.interfaces import Context
from ..sandbox.jail import Jail, JailLimits
from .code_session import SESSION_S, SESSIONS_MAX, PythonSession, SessionsOfRuns
from .jailed_command import OUTPUT_BYTES_MAX, CommandOutput

PACKAGE = "pydantic_monty"
RECURSION_MAX = 1_000
OWN_BYTES = 64 * 1024 * 1024
"""Of the memory that a call may use, what stays for the processes around the code."""
GRACE_S = 2.0
"""Seconds that Monty has to end code by itself at its limit, before its process is ended."""
RAISED = "The code raised an error."

LOOP = """\
import sys
sys.path.append(sys.path.pop(0))
import json, os
import pydantic_monty as monty
asked_by, answers = os.fdopen(os.dup(0), "rb"), os.dup(1)
nothing = os.open(os.devnull, os.O_RDWR)
for fd in (0, 1, 2):
    os.dup2(nothing, fd)

def plain(text):
    return text.encode("utf-8", "replace").decode()

def run(pool, code):
    kept, told = {"stdout": "", "stderr": ""}, {"ok": False, "value": "", "left": 0}

    def take(stream, text):
        before = len(kept[stream])
        kept[stream] += text[: MOST - before]
        if stream == "stdout":
            told["left"] += len(text) - (len(kept[stream]) - before)

    trouble = ""
    try:
        with pool.checkout(script_name="code.py", limits=LIMITS) as session:
            value = session.feed_run(code, print_callback=take)
        shown = "" if value is None else repr(value)
        note = f"\\n[{len(shown) - MOST} characters are left out]" if len(shown) > MOST else ""
        told |= {"ok": True, "value": plain(shown[:MOST]) + note}
    except monty.MontyCrashedError:
        trouble = "Monty itself crashed at this code."
    except monty.MontyError as error:
        kind, said = type(error.exception()).__name__, str(error)
        trouble = error.display("traceback") if hasattr(error, "traceback") else said
        if kind == "MemoryError" and "memory limit" in said:
            told["limit"] = "memory_bytes"
        elif kind == "TimeoutError" and "limit exceeded" in said:
            told["limit"] = TIME
    except Exception as error:
        trouble = f"{type(error).__name__}: {error}"
    errors = kept["stderr"] + trouble
    return told | {"said": plain(kept["stdout"]), "errors": plain(errors[-4000:])}

with monty.Monty(min_processes=1, max_processes=1) as pool:
    for line in asked_by:
        asked = json.loads(line)
        answer = json.dumps({"id": asked["id"], **run(pool, asked["code"])}).encode() + b"\\n"
        while answer:
            answer = answer[os.write(answers, answer):]
"""


class MontyRunner:
    """Runs code in Monty, for each run in a process of the run's own.

    Args:
        jail: whose limits hold, and whose backend holds the process of Monty. The folders and hosts of the jail are not
            opened for the code.
    """

    def __init__(self, jail: Jail) -> None:
        self._jail = Jail(limits=jail.limits, backend=jail.backend)
        self._open: SessionsOfRuns[JailLimits] = SessionsOfRuns()
        self._beginning = asyncio.Lock()

    async def run(self, code: str, context: Context | None) -> CommandOutput:
        """Run a piece of code.

        Args:
            code: the code.
            context: of the call; None for a call that belongs to no run.

        Raises:
            Unavailable: Monty is not installed, or the machine does not hold the jail.
            ToolError: the code raised an error.
            ResourceLimit: a limit ended the code.
        """
        if importlib.util.find_spec(PACKAGE) is None:
            raise Unavailable("There is no Monty on this machine. Install it: pip install 'actum[monty]'")
        jail = self._jail.lowered(context.process_limits) if context is not None else self._jail
        if context is not None and context.holder is not None:
            session = await self._session_of(context.holder, jail)
            if session is not None:
                return await session.run(code, None)
        session = _new_session(jail)
        try:
            await session.begin()
            return await session.run(code, None)
        finally:
            await session.end()

    async def _session_of(self, holder: Holder, jail: Jail) -> PythonSession | None:
        """The process of a run; None where too many runs have one. A process that was ended is begun anew."""
        async with self._beginning:
            found = self._open.get(holder.key, jail.limits)
            if found is not None and not found.has_ended:
                return found
            if found is not None:
                await found.end()
            self._open.drop_ended()
            if len(self._open) >= SESSIONS_MAX:
                return None
            session = _new_session(jail)
            await session.begin()
            self._open.add(holder.key, jail.limits, session)
            self._open.watch(holder)
            return session

    async def close(self) -> None:
        """End all processes."""
        await self._open.close()


def _new_session(jail: Jail) -> PythonSession:
    limits = jail.limits
    time = "cpu_seconds" if limits.cpu_seconds <= limits.seconds else "seconds"
    in_monty = {
        "max_feed_duration_secs": min(limits.cpu_seconds, limits.seconds),
        "max_total_sleep_secs": limits.seconds,
        "max_memory": max(limits.memory_bytes - OWN_BYTES, limits.memory_bytes // 4),
        "max_recursion_depth": RECURSION_MAX,
    }
    begin = f"LIMITS, TIME, MOST = {json.loads(json.dumps(in_monty))!r}, {time!r}, {OUTPUT_BYTES_MAX}\n"
    whole = structs.replace(jail, limits=structs.replace(limits, cpu_seconds=SESSION_S))
    return PythonSession(whole, loop=begin + LOOP, raised=RAISED, told=limits, grace_s=GRACE_S)
