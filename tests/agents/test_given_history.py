"""A conversation that lives elsewhere is what the run goes on from: checked, on record, and trusted in nothing new."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from actum import Agent, ToolCall, ToolResult, read_messages, tool
from actum.core.call import MediaPart, TextPart
from actum.core.errors import ContextOverflow, UsageError
from actum.core.event import RunFinished
from actum.core.json import JsonObject
from actum.core.message import Message, Reply, SystemMessage, ToolMessage, UserMessage
from actum.core.model import Request
from actum.core.provenance import Origin
from actum.core.run.record import Started
from actum.dialects.catalog import text_dialect
from actum.journal.memory import MemoryJournal
from actum.models.prompted import Prompted
from actum.testing import ScriptedModel
from tests.effort import turns_counted

ASKED = UserMessage.of("How much is on the account of Ada?")
LOOKED = Reply.of(calls=[ToolCall("c1", "look", {"name": "Ada"})])
FOUND = ToolMessage("look", ToolResult("c1", structured={"iban": "NO93 8601 1117 947"}))
TOLD = Reply.of("There is 5 on it.")
BEFORE: list[Message] = [ASKED, LOOKED, FOUND, TOLD]


@tool(trusted=["iban"], effects={"read"})
def look(name: str) -> dict[str, str]:
    """Look an account up.

    Args:
        name: Whose account it is.
    """
    return {"iban": "NO93 8601 1117 947"}


@tool(effects={"write"})
def login(user: str, password: str) -> str:
    """Log a user in.

    Args:
        user: Who.
        password: The password of the user.
    """
    return "in"


@tool(approval=True)
def pay(iban: str) -> str:
    """Pay.

    Args:
        iban: To which account.
    """
    return "paid"


def written_in(folder: Path) -> str:
    return "".join([file.read_bytes().decode(errors="replace") for file in folder.iterdir()])


def kinds(messages: Sequence[Message]) -> list[str]:
    return [type(message).__name__ for message in messages]


async def test_a_given_conversation_is_told_to_the_model_and_its_result_goes_back_in() -> None:
    model = ScriptedModel([LOOKED, "Still 5.", "I said: 5."])
    agent = Agent(model, [look], instructions="Be brief.")
    first = await agent.run("And now?", messages=BEFORE)
    assert first.messages[1:5] == (ASKED, LOOKED, msgspec.structs.replace(FOUND, given=True), TOLD)
    second = await agent.run("Again?", messages=first.messages)  # the ids of its two calls are the same
    told = model.requests[-1].messages
    assert kinds(told) == ["SystemMessage", *kinds(first.messages[1:]), "UserMessage"]
    assert (second.text, second.status) == ("I said: 5.", "done")


async def test_a_resumed_run_and_a_fork_are_told_the_given_conversation_again() -> None:
    journal = MemoryJournal()
    wish = Reply.of(calls=[ToolCall("p", "pay", {"iban": "NO1"})])
    paused = await Agent(ScriptedModel([wish]), [pay, look], journal=journal).run("Pay", messages=BEFORE)
    model = ScriptedModel(["Paid.", wish, "Forked."])
    agent = Agent(model, [pay, look], journal=journal)
    result = await agent.resume(paused.run_id, {paused.pending[0].id: "approve"})
    assert (result.status, kinds(model.requests[0].messages)[:5]) == ("done", [*kinds(BEFORE), "UserMessage"])
    forked = await agent.fork(paused.run_id, 0, question="Pay more", conversation="c")
    await agent.resume(forked)
    await agent.run("And?", conversation="c")
    heard = model.requests[-1].messages
    assert kinds(heard)[:5] == [*kinds(BEFORE), "UserMessage"]
    assert [message.text for message in heard if isinstance(message, UserMessage)][1:] == ["Pay more", "And?"]


async def test_nothing_in_the_results_of_a_given_conversation_is_trusted() -> None:
    wish = Reply.of(calls=[ToolCall("p", "pay", {"iban": "NO93 8601 1117 947"})])
    turns = [LOOKED, wish]
    live = await Agent(ScriptedModel(turns), [look, pay]).run("Pay it")
    assert live.pending[0].origins["iban"] == (Origin("tool", "look", "iban", trusted=True),)
    given = await Agent(ScriptedModel([wish]), [look, pay]).run("Pay it", messages=BEFORE)
    assert given.pending[0].origins["iban"] == (Origin("tool", "look", "iban", trusted=False),)


async def test_the_users_words_of_a_given_conversation_are_the_users() -> None:
    wish = Reply.of(calls=[ToolCall("p", "pay", {"iban": "NO93"})])
    given: list[Message] = [UserMessage.of("My account is NO93"), Reply.of("Noted.")]
    result = await Agent(ScriptedModel([wish]), [pay]).run("Pay it", messages=given)
    assert result.pending[0].origins["iban"] == (Origin("user"),)


async def test_the_given_conversation_is_on_record_and_nobody_can_change_it_afterwards() -> None:
    arguments: JsonObject = {"name": "Ada"}
    journal, called = MemoryJournal(), Reply.of(calls=[ToolCall("c1", "look", arguments)])
    result = await Agent(ScriptedModel(["Hi."]), journal=journal).run("Hi", messages=[ASKED, called, FOUND])
    arguments["name"] = "Eve"
    started = (await journal.read(result.run_id))[0].record
    assert isinstance(started, Started)
    assert (started.question, kinds(started.history)) == ("Hi", ["UserMessage", "Reply", "ToolMessage"])
    assert started.history[1] == LOOKED == result.messages[1]


SYSTEM = SystemMessage("Be a pirate.")


@pytest.mark.parametrize(
    ("instructions", "given", "told"),
    [
        ("", [SYSTEM, ASKED], ["Be a pirate.", "How much is on the account of Ada?"]),
        ("Be brief.", [SYSTEM, ASKED], ["Be brief.", "How much is on the account of Ada?"]),
        ("Be brief.", [ASKED, SYSTEM], ["Be brief.", "How much is on the account of Ada?", "Be a pirate."]),
        ("", [], []),
    ],
)
async def test_instructions_of_the_agent_take_the_place_of_those_that_come_first(
    instructions: str, given: list[Message], told: list[str]
) -> None:
    model = ScriptedModel(["Hi."])
    await Agent(model, instructions=instructions).run("Hi", messages=given)
    assert [message.text for message in model.requests[0].messages if not isinstance(message, ToolMessage)] == [
        *told,
        "Hi",
    ]


async def test_attachments_of_a_given_conversation_have_handles_of_their_own() -> None:
    picture = MediaPart(media_type="image/png", data=b"1")
    another = UserMessage((TextPart("Another"), picture))
    given: list[Message] = [UserMessage((picture,)), Reply.of("Nice."), another, Reply.of("Nice.")]
    result = await Agent(ScriptedModel(["Three."])).run("And?", messages=given, attachments=[picture])
    said = [message for message in result.messages if isinstance(message, UserMessage)]
    handles = [part.handle for message in said for part in message.content if isinstance(part, MediaPart)]
    assert handles == ["att_1", "att_2", "att_3"]


WRONG: dict[str, tuple[object, str]] = {
    "a call without its result": ([ASKED, LOOKED], r"messages\[1\]: the call 'c1' of 'look' has no result"),
    "a result that comes late": ([LOOKED, ASKED, FOUND], r"messages\[0\]: the call 'c1' of 'look' has no result"),
    "a result without its call": ([ASKED, FOUND], r"messages\[1\] is the result of the call 'c1', which no message"),
    "a second result": ([LOOKED, FOUND, FOUND], r"messages\[2\]: the call 'c1' has a result already"),
    "two calls of one id": (
        [Reply.of(calls=[*LOOKED.calls, *LOOKED.calls]), FOUND],
        r"messages\[0\]: the id 'c1' is used for two calls",
    ),
    "a dict": ([ASKED, {"role": "user", "content": "Hi"}], r"messages\[1\] is a dict.*read_messages"),
    "no message": ([ASKED, "Hi"], r"messages\[1\] is no message but str"),
    "a text": ("Hi", "a list of messages, not one str"),
    "one message": (ASKED, "a list of messages, not one UserMessage"),
    "half a character": ([UserMessage((TextPart("\ud800"),))], r"messages\[0\] can not be written down"),
}


async def test_a_conversation_that_does_not_hold_together_is_refused_with_its_place_and_begins_nothing() -> None:
    journal, model = MemoryJournal(), ScriptedModel([])
    for case, (messages, problem) in WRONG.items():
        with pytest.raises(UsageError) as caught:
            await Agent(model, [look], journal=journal).run("Hi", messages=messages)  # type: ignore[arg-type]
        assert re.search(problem, str(caught.value)), (case, str(caught.value))
    assert (await journal.runs(), model.requests) == ([], [])


async def test_a_run_has_one_history() -> None:
    agent = Agent(ScriptedModel(["Hi."] * 3))
    for other in ({"conversation": "c"}, {"after": "run_1"}):
        for given in (BEFORE, []):
            with pytest.raises(UsageError, match="leave out conversation= and after="):
                await agent.run("Hi", messages=given, **other)  # type: ignore[arg-type]


def test_a_conversation_in_the_form_of_any_served_api_is_read() -> None:
    openai: list[object] = [
        {"role": "user", "content": "2 + 3?"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c", "type": "function", "function": {"name": "add", "arguments": '{"a":2}'}}],
        },
        {"role": "tool", "tool_call_id": "c", "content": "5"},
    ]
    responses: list[object] = [
        {"role": "user", "content": "2 + 3?"},
        {"type": "function_call", "call_id": "c", "name": "add", "arguments": '{"a":2}'},
        {"type": "function_call_output", "call_id": "c", "output": "5"},
    ]
    anthropic: list[object] = [
        {"role": "user", "content": "2 + 3?"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "add", "input": {"a": 2}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "5"}]},
    ]
    gemini: list[object] = [
        {"role": "user", "parts": [{"text": "2 + 3?"}]},
        {"role": "model", "parts": [{"functionCall": {"name": "add", "args": {"a": 2}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "add", "response": {"result": "5"}}}]},
    ]
    apis = {"openai": openai, "responses": responses, "anthropic": anthropic, "gemini": gemini}
    for api, conversation in apis.items():
        as_json = msgspec.json.encode(conversation)
        for form in (conversation, as_json, as_json.decode()):
            asked, called, answered = read_messages(form, api)
            assert asked == UserMessage.of("2 + 3?"), api
            assert isinstance(called, Reply), api
            assert [(call.name, call.arguments) for call in called.calls] == [("add", {"a": 2})], api
            assert isinstance(answered, ToolMessage), api
            assert "5" in answered.result.text, api
    assert len(read_messages({"model": "m", "messages": openai}, "openai")) == 3
    for wrong in (b"{", "[1]", [{"role": "user", "content": object()}], 5):
        with pytest.raises(UsageError):
            read_messages(wrong, "openai")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="no form for a conversation"):
        read_messages(openai, "hermes")


def test_messages_of_an_official_client_are_read_as_they_are() -> None:
    from openai.types.chat import ChatCompletionMessage  # noqa: PLC0415  # loaded for this test alone

    said = ChatCompletionMessage(role="assistant", content="Hello.")
    assert read_messages([{"role": "user", "content": "Hi"}, said], "openai")[1] == Reply.of("Hello.")


@pytest.mark.parametrize("name", ["login", "no_tool_of_this_agent"])
async def test_a_secret_value_of_a_given_history_is_on_no_record_and_told_to_no_model(
    tmp_path: Path, name: str
) -> None:
    value = "hunter2-Zq9"
    call = ToolCall("c1", name, {"user": "ann", "password": value}, f'{{"user":"ann","password":"{value}"}}')
    given: list[Message] = [
        UserMessage.of("Log me in."),
        Reply.of(f"I take {value}.", [call], reasoning=f"It is {value}."),
        ToolMessage(name, ToolResult("c1", (TextPart(f"{value} is right"),), structured={"was": value})),
        Reply.of("Done."),
    ]

    def script(request: Request) -> str | ContextOverflow:
        return "ok" if len(model.requests) > 1 else ContextOverflow("too long")

    model = ScriptedModel(script)
    agent = Agent(model, [login], journal=tmp_path / "runs.db", truncation="auto")
    events = [event async for event in agent.stream("And now?", messages=given)]
    ended = events[-1]
    assert isinstance(ended, RunFinished)
    await agent.resume(await agent.fork(ended.result.run_id, 0, question="Or now?"))
    assert len(model.requests) == 3
    assert value not in repr((events, model.requests))
    assert value not in written_in(tmp_path)
    told = next(said for said in model.requests[0].messages if isinstance(said, Reply) and said.calls)
    assert (told.calls[0].arguments, told.calls[0].raw) == ({"user": "ann", "password": "[secret]"}, "")
    assert given[1] == Reply.of(f"I take {value}.", [call], reasoning=f"It is {value}.")  # the program's own stays


async def test_a_secret_in_what_no_tool_declares_is_on_no_record(tmp_path: Path) -> None:
    value = "hunter2-Zq9"
    for number, (name, arguments) in enumerate(
        [
            ("login", {"user": "ann", "extra": {"deep": {"password": value}}}),
            ("login", {"user": "ann", "more": [{"api_key": value}]}),
            ("no_such_tool", {"body": {"access_token": value}}),
        ]
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        call = ToolCall("c1", name, arguments, msgspec.json.encode(arguments).decode())  # type: ignore[arg-type]
        agent = Agent(ScriptedModel([[call], "Sorry."]), [login], journal=folder / "runs.db")
        events = [event async for event in agent.stream("Log in")]
        assert value not in repr(events), name
        assert value not in written_in(folder), name


async def test_results_stand_in_the_order_of_their_calls_since_text_formats_say_no_ids() -> None:
    calls = [ToolCall(f"c{number}", "look", {"name": name}) for number, name in enumerate(("Ada", "Bo", "Cy"))]
    results = [ToolMessage("look", ToolResult(call.id, (TextPart(f"of {call.arguments['name']}"),))) for call in calls]
    inner = ScriptedModel(["I see."])
    agent = Agent(Prompted(inner, text_dialect("hermes")), [look])
    await agent.run("And?", messages=[ASKED, Reply.of(calls=calls), *reversed(results), TOLD])
    told = "".join([said.text for said in inner.requests[0].messages if isinstance(said, UserMessage)])
    assert told.index("of Ada") < told.index("of Bo") < told.index("of Cy")


async def test_a_large_history_leaves_the_loop_to_others() -> None:
    found: JsonObject = {"rows": [{"iban": "NO93 8601 1117 947"} for _ in range(20_000)]}
    messages: list[Message] = [ASKED, LOOKED, ToolMessage("look", ToolResult("c1", structured=found)), TOLD]
    agent = Agent(ScriptedModel(["Hi."] * 2), [look])
    await agent.run("Go", messages=BEFORE)  # what is loaded for the first run is loaded now
    async with turns_counted() as turns:
        await agent.run("Go", messages=messages)
    assert turns.held < 30_000
