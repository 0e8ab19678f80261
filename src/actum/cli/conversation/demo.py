"""`actum demo`: nine questions, real calls of real tools, real answers; no key and no network.

The embedded model answers them through the same agent as everything else. Nothing of it is played back: a scene that
does not come out as it should says so, and the command fails.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from msgspec import Struct

from ...agents.agent import Agent
from ...compose import agents
from ...compose.journals import open_journal
from ...compose.models import make_model
from ...compose.settings import EMBEDDED, EVERYDAY, MEMORY, Settings
from ...compose.tools import load_tools
from ...core.event import RunResult
from ...core.json import dumps
from ...core.policy import Answer
from ...core.run.ids import new_id
from ...core.run.pending import Pending
from ...protocols.openapi.reading import read_api
from ...protocols.openapi.setup import ApiSetup, SecretCredential
from ...protocols.openapi.text import read_text
from ...runs.given_tools import Toolish
from ...toolsets.http.toolset import ApiToolset
from ..exit_codes import DONE, FAILED
from ..language import tr
from ..recorded import show_recorded
from ..show.terminal import Terminal, duration, styled
from ..show.trace import Trace
from .approve import show_pending

KEY = "demo-key-4711"
SECRET = "trains_key"
DOCUMENT = """
openapi: 3.1.0
info: {title: Trains, version: '1'}
components: {securitySchemes: {key: {type: apiKey, in: header, name: X-Key}}}
security: [{key: []}]
paths:
  /stations/{city}/next:
    get:
      operationId: next_train
      summary: Tells when the next train leaves a city.
      parameters:
        - {name: city, in: path, required: true, schema: {type: string}, description: 'The city, such as Oslo.'}
"""


@asynccontextmanager
async def trains() -> AsyncIterator[ApiToolset]:
    """The tools of the API, as long as its server runs."""
    server = await asyncio.start_server(_answer, "127.0.0.1", 0)
    here = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    api = read_api(read_text(DOCUMENT))
    credentials = {"key": SecretCredential(SECRET)}
    setup = ApiSetup(name="trains", api=api, server=here, origins=(here,), credentials={**credentials})
    toolset = ApiToolset(setup.approving())
    try:
        yield toolset
    finally:
        await toolset.aclose()
        server.close()
        await server.wait_closed()


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        is_known = f"x-key: {KEY}\r\n" in head.lower()
        said = {"city": head.split("/")[2], "leaves": "10:42", "platform": 3, "your_key": KEY}
        body = dumps(said if is_known else {"message": "who is there?"}).encode()
        status = "200 OK" if is_known else "401 Unauthorized"
        lines = (f"HTTP/1.1 {status}", "content-type: application/json", f"content-length: {len(body)}")
        writer.write("\r\n".join((*lines, "connection: close", "", "")).encode() + body)
        await writer.drain()
    writer.close()


Results = Sequence[RunResult]


class Scene(Struct, frozen=True):
    """Something that tool calling can do.

    Attributes:
        title: what it is.
        said: what the user says, turn after turn.
        holds: whether it came out as it should, by the calls that were made.
    """

    title: str
    said: tuple[str, ...]
    holds: Callable[[Results], bool]


def names(result: RunResult) -> list[str]:
    """The tools that were called, in order."""
    return [call.name for call, _ in result.calls]


def codes(result: RunResult) -> list[str]:
    """How each call ended: `ok`, or the kind of its failure."""
    return [outcome.error.code if outcome.error is not None else "ok" for _, outcome in result.calls]


def _in_two_steps(results: Results) -> bool:
    """The second call has a date that only the first one knows."""
    (result,) = results
    return names(result) == ["add_days", "weekday"] and result.calls[1][0].arguments == {"date": "2025-04-17"}


def _asked_and_answered(results: Results) -> bool:
    asked, answered = results
    return names(asked) == [] and (names(answered), codes(answered)) == (["convert_units"], ["ok"])


def _repaired(results: Results) -> bool:
    (result,) = results
    return names(result) == ["parcel", "parcel"] and codes(result) == ["invalid_arguments", "ok"]


def _no_key(results: Results) -> bool:
    """The API said its key back, and the key was taken out."""
    (result,) = results
    said = result.calls[0][1].structured if result.calls else None
    is_clean = isinstance(said, dict) and said["leaves"] == "10:42" and KEY not in str(result)
    return (names(result), codes(result)) == (["next_train"], ["ok"]) and is_clean


ON_RECORD = "Where is my parcel de-2042?"
SCENES = (
    Scene("One call", ("What is 17 * 23?",), lambda r: names(r[0]) == ["calculate"]),
    Scene(
        "Four calls at once, in Chinese",
        ("东京和伦敦现在几点，17乘以23是多少，5英里等于多少公里？",),
        lambda r: sorted(names(r[0])) == ["calculate", "convert_units", "time_in", "time_in"] and r[0].steps == 2,
    ),
    Scene(
        "Two steps: the second needs what the first found out",
        ("What date is 45 days after March 3rd, 2025, and what weekday is that?",),
        _in_two_steps,
    ),
    Scene("No tool is needed", ("你好",), lambda r: names(r[0]) == []),
    Scene("Something is missing: it asks, and goes on with the answer", ("转换一下5公里", "英里"), _asked_and_answered),
    Scene("A wrong argument: the model is told what is wrong, and mends it", (ON_RECORD,), _repaired),
    Scene(
        "A side effect waits for a yes",
        ("Write a note: buy milk and bread",),
        lambda r: (names(r[0]), codes(r[0])) == (["write_note"], ["ok"]),
    ),
    Scene(
        "A tool that fails says so, and the answer does too",
        ("在火星上现在几点？",),
        lambda r: (names(r[0]), codes(r[0])) == (["time_in"], ["tool_error"]),
    ),
    Scene(
        "An API is a tool by its document; its key reaches no model", ("When does the next train leave Oslo?",), _no_key
    ),
)

REAL = """\
With a real model, at any OpenAI-compatible endpoint (vLLM, Ollama, llama.cpp):
  export ACTUM_BASE_URL=http://localhost:8000/v1 ACTUM_MODEL=qwen3
  export ACTUM_API_KEY=...          # where it wants a key
  actum run -v "What time is it in Tokyo, and what is 17 * 23?"
or a provider by its name:
  export OPENAI_API_KEY=...
  actum run -v --model openai:gpt-5 "..."

Where to go next:
  actum chat                        talk, with the everyday tools
  actum run --tools my_tools.py     your own functions as tools
  actum runs show                   the record of the latest run
  actum doctor                      what is set up here, and what is not"""


def demo() -> int:
    """Watch questions become calls and answers: no key, no network."""
    terminal = Terminal()
    began = time.monotonic()
    terminal.text(("actum demo", "bold"), ("  the embedded model, which is no language model", "dim"))
    with tempfile.TemporaryDirectory(prefix="actum-demo-") as folder:
        failed = asyncio.run(_evening(terminal, Path(folder)))
    terminal.text()
    if failed:
        terminal.error(
            "{count} of {scenes_count} scenes did not come out as they should: {why}",
            count=len(failed),
            scenes_count=len(SCENES),
            why="; ".join(failed),
        )
        return FAILED
    took = duration(time.monotonic() - began)
    told = tr("{count} scenes, each checked by the calls that were made, in {time}", count=len(SCENES), time=took)
    terminal.text((f"✓ {told}", "green"))
    terminal.text()
    terminal.text(REAL)
    return DONE


async def _evening(terminal: Terminal, folder: Path) -> list[str]:
    """All scenes, then the record of one of them; the titles of those that failed."""
    async with trains() as api:
        agent = make_agent(terminal, folder, [api])
        failed = await play(terminal, agent, SCENES)
    (shown,) = [run for run in await agent.journal.runs() if run.question == ON_RECORD]
    terminal.text(("\nEverything is on record; this is the parcel's:", "bold"))
    await show_recorded(terminal, agent.journal, shown.run_id, agent.runner.labels)
    return failed


def make_agent(terminal: Terminal, folder: Path, more: Sequence[Toolish] = ()) -> Agent:
    """The agent of the demo: the embedded model, the everyday tools in this folder, a tool of one's own, and more."""
    settings = Settings(model=EMBEDDED, journal=MEMORY)
    return agents.make_agent(
        settings,
        make_model(settings),
        [*load_tools(Settings(tools=(EVERYDAY, "actum.cli.conversation.parcel:parcel")), folder), *more],
        journal=open_journal(settings, {}),
        approver=_SaysYes(terminal),
        secrets={SECRET: KEY},
    )


async def play(terminal: Terminal, agent: Agent, scenes: Sequence[Scene]) -> list[str]:
    """Play scenes; the titles of those that did not come out as they should."""
    return [scene.title for number, scene in enumerate(scenes, 1) if not await _act(terminal, agent, number, scene)]


async def _act(terminal: Terminal, agent: Agent, number: int, scene: Scene) -> bool:
    """Play one scene; whether it came out as it should."""
    terminal.text()
    terminal.text((f"{number}  {scene.title}", "bold"))
    trace = Trace(terminal, verbose=True)
    conversation = new_id("conv")
    results = []
    for said in scene.said:
        trace.question(said)
        results.append(await agent.run(said, conversation=conversation, emit=trace.show))
        trace.close()
    holds = all(result.status == "done" for result in results) and scene.holds(results)
    if not holds:
        terminal.line("✗", "this did not come out as it should", "bold red")
    return holds


class _SaysYes:
    """An `Approver` that shows what a person would be asked, and answers for them."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal

    async def ask(self, pending: Pending) -> Answer | None:
        self._terminal.waiting.end()
        show_pending(self._terminal, pending, None, console=self._terminal.out)
        told = styled("run it?  yes", ("  (in this demo nobody is asked; `actum run` asks you)", "dim"))
        self._terminal.line("", told)
        return Answer("approve", by="the demo")
