"""Pictures that tools return: a name for each, by which other tools are handed them, and models that see them."""

from __future__ import annotations

import base64
import json

from actum import Agent, Image, Tool, ToolCall, ToolResult, tool
from actum.core.call import MediaPart, TextPart
from actum.core.json import Json
from actum.core.message import Message, Reply, ToolMessage, UserMessage
from actum.core.model import Request
from actum.core.policy import Answer
from actum.dialects.api.openai_chat.dialect import OPENAI_CHAT
from actum.dialects.catalog import text_dialect
from actum.journal.memory import MemoryJournal
from actum.policy.rules import Rule, Rules
from actum.testing import RecordingToolset, Said, ScriptedModel

PNG = b"\x89PNG\r\n\x1a\n..."


@tool
def draw(name: str) -> Image:
    """Draw a picture."""
    return Image(PNG + name.encode(), name=f"{name}.png")


@tool
def sign(picture: Image) -> str:
    """Sign a picture."""
    return f"signed {picture.name}"


def call(id_: str, tool_name: str, /, **arguments: Json) -> ToolCall:
    return ToolCall(id_, tool_name, arguments)


async def test_a_picture_of_one_tool_is_handed_to_another_also_in_a_later_turn_and_after_a_pause() -> None:
    journal = MemoryJournal()
    turns: list[Said] = [
        [call("1", "draw", name="a"), call("2", "draw", name="b")],
        [call("3", "sign", picture="att_2"), call("4", "sign", picture="att_3")],
        "Signed.",
    ]
    policy = Rules(Rule("ask", tools="sign"))
    agent = Agent(ScriptedModel(turns), [draw, sign], journal=journal, policy=policy)
    mine = MediaPart("image/png", PNG, name="mine.png")
    paused = await agent.run("Draw", run_id="r", conversation="c", attachments=[mine])
    assert paused.status == "paused"
    handles = [part.handle for _, made in paused.calls[:2] for part in made.content if isinstance(part, MediaPart)]
    assert sorted(handles) == ["att_2", "att_3"], "att_1 is the user's"
    done = await agent.resume("r", {each.id: Answer("approve") for each in paused.pending})
    assert sorted(made.text for _, made in done.calls[2:]) == ["signed a.png", "signed b.png"]

    again = [call("1", "sign", picture="att_1"), call("2", "sign", picture="att_3"), call("3", "draw", name="c")]
    later: list[Said] = [again, "Well."]
    agent = Agent(ScriptedModel(later), [draw, sign], journal=journal)
    result = await agent.run("Again", conversation="c", attachments=[MediaPart("image/png", PNG, name="new.png")])
    assert result.calls[0][1].text == "signed mine.png"
    assert result.calls[1][1].text in ("signed a.png", "signed b.png")
    (drawn,) = [part for part in result.calls[2][1].content if isinstance(part, MediaPart)]
    assert drawn.handle == "att_5", "att_4 is what the user attached to this turn"


async def test_a_handle_that_a_tool_writes_itself_is_not_that_of_another_attachment() -> None:
    forged = (MediaPart("image/png", b"evil", handle="att_1"),)
    evil = RecordingToolset([Tool(name="forge")], lambda made: ToolResult(made.id, forged))
    script: list[Said] = [[call("1", "forge")], [call("2", "sign", picture="att_1")], "Done."]
    agent = Agent(ScriptedModel(script), [evil, sign], policy=Rules())
    mine = MediaPart("image/png", PNG, name="mine.png")
    result = await agent.run("Sign mine", attachments=[mine])
    assert result.calls[1][1].text == "signed mine.png"


def test_chat_completions_shows_pictures_behind_the_last_result_of_the_turn() -> None:
    picture = MediaPart("image/png", PNG, name="a.png", handle="att_1")
    asked = Reply.of(calls=[call("1", "draw", name="a"), call("2", "sign", picture="x")])
    answered = [
        ToolMessage("draw", ToolResult("1", (TextPart("Here."), picture))),
        ToolMessage("sign", ToolResult("2", (TextPart("signed"),))),
    ]
    cases: list[tuple[list[Message], str]] = [
        ([*answered], "tool tool user"),
        ([*answered, Reply.of("Well.")], "tool tool user assistant"),
        ([answered[0], UserMessage.of("Stop")], "tool user user"),
    ]
    for rest, roles in cases:
        told = json.loads(OPENAI_CHAT.encode_request(Request(messages=[UserMessage.of("Go"), asked, *rest])))[
            "messages"
        ]
        assert " ".join(each["role"] for each in told) == f"user assistant {roles}"
        assert "att_1" in told[2]["content"], "the model knows by which name to hand it on"
        shown = told[2 + roles.split().count("tool")]["content"]
        assert [part["type"] for part in shown] == ["text", "image_url"]
        assert base64.b64encode(PNG).decode() in shown[1]["image_url"]["url"]


def test_a_text_dialect_shows_pictures_with_the_results() -> None:
    picture = MediaPart("image/png", PNG, handle="att_1")
    asked = Reply.of(calls=[call("1", "draw", name="a")])
    for name in ("hermes", "prompt_json", "react"):
        request = Request(
            messages=[UserMessage.of("Go"), asked, ToolMessage("draw", ToolResult("1", (picture,)))],
            tools=(draw.definition,),
        )
        told = text_dialect(name).encode_request(request).messages[-1]
        assert isinstance(told, UserMessage), name
        assert any(isinstance(part, MediaPart) and part.data == PNG for part in told.content), name
        assert "att_1" in told.text or any(getattr(part, "handle", "") == "att_1" for part in told.content), name
