"""Writes the texts of `template` nodes: Jinja2 in its sandbox, in a child process that can be ended.

Nested loops run for hours in the sandbox of Jinja2, and `'a' * 300000000` succeeds there: so the time, the memory and
the size of the text are bounded from outside. The child is warm: it is started with the first text and writes many.
"""

from __future__ import annotations

import asyncio
import os
import struct
import sys

import msgspec

from ..core.errors import UsageError
from ..core.json import JsonObject
from ..core.language.sentence import Sentence
from ..transport.process import Child, start_child
from .pure import NodeFailed

TEXT_BYTES_MAX = 1_000_000
SECONDS_MAX = 2.0
IDLE_S = 30.0
"""Seconds without a text to write after which a process ends."""
MEMORY_BYTES_MAX = 512 * 1024 * 1024

_CHILD = f"""\
import json, os, struct, sys
os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
try:
    import resource
    resource.setrlimit(resource.RLIMIT_AS, ({MEMORY_BYTES_MAX}, {MEMORY_BYTES_MAX}))
except (ImportError, ValueError, OSError):
    pass
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2 import StrictUndefined
environments = [
    ImmutableSandboxedEnvironment(undefined=StrictUndefined, keep_trailing_newline=True, autoescape=escapes)
    for escapes in (False, True)
]
read, write = sys.stdin.buffer, sys.stdout.buffer
while True:
    head = read.read(4)
    if len(head) < 4:
        break
    asked = json.loads(read.read(struct.unpack(">I", head)[0]))
    try:
        parts, size = [], 0
        for part in environments[asked["escapes"]].from_string(asked["template"]).generate(**asked["values"]):
            size += len(part.encode())
            if size > {TEXT_BYTES_MAX}:
                raise ValueError("the text has more than {TEXT_BYTES_MAX} bytes")
            parts.append(part)
        said = {{"text": "".join(parts)}}
    except MemoryError:
        said = {{"error": "the template needs more memory than it may"}}
    except Exception as error:
        said = {{"error": type(error).__name__ + ": " + str(error)[:500]}}
    data = json.dumps(said).encode()
    write.write(struct.pack(">I", len(data)) + data)
    write.flush()
"""


SYNTAX_CHARS_MAX = 20_000
"""The syntax of a longer template is looked at when its text is written, in the child."""


def syntax_problem(template: str) -> Sentence | None:
    """What is wrong with the syntax of a template; None where nothing is, or where the template is too long to be
    looked at in this process. Nothing of the template is computed.

    >>> str(syntax_problem("Hello {{ name }"))
    "line 1 of the template: unexpected '}'"
    """
    if len(template) > SYNTAX_CHARS_MAX:
        return None
    from jinja2 import Environment, TemplateSyntaxError  # noqa: PLC0415  # for definitions with templates alone

    try:
        Environment(autoescape=False).parse(template)  # nothing is written with it
    except TemplateSyntaxError as error:
        return Sentence("line {line} of the template: {detail}", line=error.lineno, detail=error.message)
    except RecursionError:
        return Sentence("the template is nested too deep")
    return None


class TemplateWriter:
    """Writes texts, one at a time, in a child process.

    Args:
        seconds_max: how long one text may take.
    """

    def __init__(self, seconds_max: float = SECONDS_MAX) -> None:
        self._seconds_max = seconds_max
        self._child: Child | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._turn: asyncio.Lock | None = None
        self._leaving: asyncio.TimerHandle | None = None

    async def write(self, template: str, values: JsonObject, *, escapes: bool = False) -> str:
        """The text of a template.

        Args:
            template: the template.
            values: what its names stand for.
            escapes: values are escaped for HTML and XML.

        Raises:
            NodeFailed: the template is none, fails, takes too long or makes too much text.
        """
        loop = asyncio.get_running_loop()
        if self._loop is not loop or self._turn is None:
            self._loop, self._turn, self._child = loop, asyncio.Lock(), None
        data = msgspec.json.encode({"template": template, "values": values, "escapes": escapes})
        async with self._turn:
            if self._leaving is not None:
                self._leaving.cancel()
            try:
                async with asyncio.timeout(self._seconds_max + (10.0 if self._child is None else 0.0)):
                    child = await self._started()
                async with asyncio.timeout(self._seconds_max):
                    said = await _exchange(child, data)
            except TimeoutError:
                await self._end()
                raise NodeFailed("timeout", f"the template took longer than {self._seconds_max:g} s") from None
            except (OSError, asyncio.IncompleteReadError, EOFError):
                await self._end()
                raise NodeFailed("template", "the process that writes templates ended") from None
            except asyncio.CancelledError:
                await self._end()
                raise
            self._leaving = loop.call_later(IDLE_S, self._leave)
        if "error" in said:
            raise NodeFailed("template", said["error"])
        return said["text"]

    async def aclose(self) -> None:
        """End the child process."""
        await self._end()

    def _leave(self) -> None:
        """Nobody wants a text any more: a workflow that was opened for one run has nobody who closes it."""
        child, self._child = self._child, None
        if child is not None:
            child.close()

    async def _started(self) -> Child:
        if self._child is not None and not self._child.exited.is_set():
            return self._child
        path = os.pathsep.join(each for each in sys.path if each)
        self._leave()
        child = self._child = await start_child([sys.executable, "-c", _CHILD], env={"PYTHONPATH": path})
        said = await _exchange(child, msgspec.json.encode({"template": "", "values": {}, "escapes": False}))
        if "error" in said:
            raise UsageError("template nodes need Jinja2: pip install 'actum[workflow]'")
        return child

    async def _end(self) -> None:
        if self._leaving is not None:
            self._leaving.cancel()
        child, self._child = self._child, None
        if child is not None:
            child.close()
            await child.exited.wait()


async def _exchange(child: Child, data: bytes) -> dict[str, str]:
    child.stdin.write(struct.pack(">I", len(data)) + data)
    await child.stdin.drain()
    (size,) = struct.unpack(">I", await child.stdout.readexactly(4))
    return msgspec.json.decode(await child.stdout.readexactly(size), type=dict[str, str])
