"""A run that ended otherwise than done is told as such at every door of `actum serve`, whole and streamed: none of them
gives its words as a finished answer, and the tool has run once.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from actum.core.call import ToolCall
from actum.core.json import JsonObject
from actum.core.message import Reply
from tests.chat_server import ChatServer, Raw

from .doors import DOORS, doors_open

TOOLS = '''\
from pathlib import Path

from actum import ToolError, tool


@tool(effects={"read"})
def pay(task: str) -> str:
    """Pay."""
    with Path("paid.txt").open("a") as file:
        print("paid", file=file)
    return "paid"


@tool(effects={"read"}, approval=True)
def wait(task: str) -> str:
    """Pay when somebody approves."""
    return "paid"


@tool(effects={"read"})
def fail(task: str) -> str:
    """Pay, and fail."""
    raise ToolError(f"{pay(task)}, and failed")
'''
SETTINGS = """\
model = "{url}#m"
tools = ["tools.py"]
policy = ""
[serve]
hold_s = 0
[agents.limit]
tools = ["tools.py"]
limits = {{steps = 1}}
[agents.fail]
tools = ["tools.py"]
[agents.wait]
tools = ["tools.py"]
"""


class Words(NamedTuple):
    """What a door says, by the ending.

    Attributes:
        limit, fail, wait: a part of the answer, whole or streamed; empty for what there is not at the door: a call has
            no steps, gRPC serves the first agent, and our own API tells on while a run waits.
    """

    limit: str
    fail: str
    wait: str


A2A = Words("TASK_STATE_FAILED", "TASK_STATE_FAILED", "TASK_STATE_INPUT_REQUIRED")
CHAT = Words('"finish_reason":"length"', '"code":"model_rejected"', '"finish_reason":"length"')
TOLD = {
    "runs": Words('"stopped"', '"failed"', ""),
    "tasks": Words('"state":"failed"', '"state":"failed"', ""),
    "chat": CHAT,
    "chat of 2023": CHAT,
    "responses": Words('"status":"incomplete"', '"code":"model_rejected"', '"mcp_approval_request"'),
    "messages": Words('"stop_reason":"max_tokens"', '"type":"error"', '"stop_reason":"pause_turn"'),
    "gemini": Words('"finishReason":"MAX_TOKENS"', '"code":400', '"finishReason":"OTHER"'),
    "assistants": Words('"status":"incomplete"', '"status":"failed"', '"requires_action"'),
    "a2a": A2A,
    "a2a rest": A2A,
    "a2a original": Words('"state":"failed"', '"state":"failed"', '"state":"input-required"'),
    "a2a grpc": Words("TASK_STATE_FAILED", "", ""),
    "tools": Words("", '"code":"tool_error"', '"approval":"ask_'),
    "mcp": Words("", '"isError":true', '"isError":true'),
    "command line": Words("1", "1", "3"),
}
FINISHED = (
    *('"finish_reason":"stop"', '"stop_reason":"end_turn"', '"finishReason":"STOP"', '"response.completed"'),
    *("TASK_STATE_COMPLETED", '"state":"completed"', '"thread.run.completed"', '"status":"done"', '"succeeded"'),
)
"""How the doors say that an answer is whole."""


def says(request: JsonObject) -> str | Reply | Raw:
    """What the model says: it pays, and then it is at its limit, or the server of the model fails."""
    messages, text = request["messages"], str(request)
    assert isinstance(messages, list)
    if "'role': 'tool'" not in str(messages[-1]):
        return Reply.of("I begin.", [ToolCall("c", "wait" if "Wait" in text else "pay", {"task": "it"})])
    return Raw((b'{"error": {"message": "no"}}',), 400) if "Fail" in text else "Done."


@pytest.mark.row("S9")
async def test_no_door_tells_a_run_that_did_not_come_to_its_end_as_a_finished_answer(tmp_path: Path) -> None:
    with ChatServer(says) as model:
        async with doors_open(tmp_path, SETTINGS.format(url=model.url), TOOLS) as place:
            for door in DOORS:
                words = TOLD[door.name]
                for ending, text in (("limit", "Hello"), ("fail", "Fail"), ("wait", "Wait")):
                    for ask in (door.ask, door.stream):
                        expected = getattr(words, ending)
                        if ask is None or not expected:
                            continue
                        before = paid(tmp_path)
                        again = "" if ask is door.ask else "!"  # another task of A2A
                        told = await ask(place, ending, f"{text}{again}", "")
                        case = (door.name, ending, ask is door.stream, told)
                        if door.keyless:
                            assert str(told.status) == expected, case
                        else:
                            assert squeezed(expected) in squeezed(told.text), case
                            whole = [end for end in FINISHED if squeezed(end) in squeezed(told.text)]
                            # OpenAI, too, completes a response that asks for an approval.
                            assert not whole or (door.name, ending) == ("responses", "wait"), case
                            assert told.status in (0, 200, 202, 400, 422), case
                        assert paid(tmp_path) - before == (0 if ending == "wait" else 1), case


def paid(folder: Path) -> int:
    """How often the tool has run."""
    place = folder / "paid.txt"
    return len(place.read_text("utf-8").split()) if place.exists() else 0


def squeezed(text: str) -> str:
    """Without white space, which the doors write in several ways."""
    return "".join(text.split())
