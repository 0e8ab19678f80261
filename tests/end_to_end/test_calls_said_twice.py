"""A server that says a call twice: the tool's effects are counted, in every API, whole and streamed.

The answers are the files of `corpus/reports`, sent as they are by a server on this machine.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from actum import Agent, tool
from actum.core.call import REPEATED, ToolCall
from actum.core.event import CallDelta, CallSaid, RunFinished
from actum.core.message import Reply
from actum.journal.memory import MemoryJournal
from actum.models.endpoint import Endpoint
from actum.policy.rules import Rules
from actum.testing import ScriptedModel
from tests.chat_server import ChatServer, Raw
from tests.dialects.api_corpus import CORPUS, case_of
from tests.server.models.gateway import DIALECTS, gateway, upstream
from tests.server.models.test_passing import asked_for

REPORTS = sorted((CORPUS / "reports").glob("*/*.wire"))
APIS = {
    "anthropic_messages": "messages",
    "gemini_content": "gemini",
    "openai_chat": "chat",
    "openai_responses": "responses",
}


def answer(path: Path) -> Raw:
    """The bytes of a report, in small pieces."""
    wire = path.read_bytes()
    kind = "text/event-stream" if path.stem.startswith("stream") else "application/json"
    return Raw(tuple(wire[at : at + 50] for at in range(0, len(wire), 50)), headers={"content-type": kind})


@pytest.mark.row("S3", "S5")
@pytest.mark.parametrize("path", REPORTS, ids=lambda path: f"{path.parent.name}-{path.stem}")
async def test_a_call_that_a_server_says_twice_is_carried_out_once(path: Path) -> None:
    done: list[tuple[str, object]] = []

    @tool(effects={"spend"})
    def pay(to: str = "", cents: int = 0, n: object = None) -> str:
        """Pay somebody."""
        done.append(("pay", to or n))
        return "paid"

    @tool(effects={"spend"})
    def refund(to: str, cents: int) -> str:
        """Take a payment back."""
        done.append(("refund", to))
        return "taken back"

    @tool(effects={"spend"})
    def log(to: str, cents: int) -> str:
        """Write a payment down."""
        done.append(("log", to))
        return "written down"

    api = path.parent.name
    with ChatServer([answer(path), "Done."]) as server:
        url = server.url.replace("/v1", "/v1beta") if api == "gemini_content" else server.url
        model = Endpoint(url, "m", dialect=DIALECTS[APIS[api]], native=True)
        agent = Agent(model, [pay, refund, log], policy=Rules(default="allow"))
        events = [event async for event in agent.stream("Pay.")]
    finished = events[-1]
    assert isinstance(finished, RunFinished)
    said = case_of(path).reply.calls
    assert sorted(done, key=str) == sorted(
        [(call.name, call.arguments.get("to") or call.arguments.get("n")) for call in said if call.complete], key=str
    )
    assert [call.repairs for call, _ in finished.result.calls] == [call.repairs for call in said]
    told = {event.index for event in events if isinstance(event, CallDelta | CallSaid)}
    assert told == set(range(len(said))), "who watches sees the calls that are made, and no other"


@pytest.mark.row("S9")
@pytest.mark.parametrize("here", ["chat", "responses", "messages", "gemini"])
@pytest.mark.parametrize(
    "path", [path for path in REPORTS if "same" in path.stem], ids=lambda path: f"{path.parent.name}-{path.stem}"
)
async def test_a_client_behind_a_gateway_is_told_of_one_call_by_another_api_and_of_what_came_by_the_same(
    path: Path, here: str
) -> None:
    there, stream = APIS[path.parent.name], path.stem.startswith("stream")
    with ChatServer([answer(path)]) as server:
        url = server.url.replace("/v1", "/v1beta") if there == "gemini" else server.url
        async with gateway({"fast": upstream(url, there)}) as (_, client, _):
            address, body = asked_for(here, stream=stream)
            answered = await client.post(address, json=body)
    assert answered.status_code == 200
    (call,) = DIALECTS[here].decode(answered.content).calls
    assert (call.name, call.arguments) == ("pay", {"to": "ada", "cents": 500})
    # By the same API every byte is passed on, so that a repeat goes on, too, and the client has to know the rule.
    assert call.repairs == ((REPEATED,) if here == there else ())


async def test_a_run_that_was_recorded_with_both_calls_goes_on_with_both() -> None:
    """As versions before the rule recorded it: the second call under an id that was made for it."""
    twice = Reply.of(calls=[ToolCall("a", "pay", {"to": "ada"}), ToolCall("call_1", "pay", {"to": "ada"})])
    done: list[str] = []

    @tool(effects={"spend"}, approval=True)
    def pay(to: str) -> str:
        """Pay somebody."""
        done.append(to)
        return "paid"

    journal = MemoryJournal()
    paused = await Agent(ScriptedModel([twice]), [pay], journal=journal).run("Pay.", run_id="r")
    agent = Agent(ScriptedModel(["Done."]), [pay], journal=journal)
    result = await agent.resume("r", {pending.id: "approve" for pending in paused.pending})
    assert (result.text, done) == ("Done.", ["ada", "ada"])
