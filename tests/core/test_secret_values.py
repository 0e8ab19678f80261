"""Which parameters hold secrets, what is shown in their place, and that the values come back."""

from __future__ import annotations

import json

import pytest

from actum.core.call import Problem, TextPart, ToolCall
from actum.core.errors import JournalError
from actum.core.json import JsonObject, dumps
from actum.core.message import ReasoningPart, Reply
from actum.core.run.record import CallsRequested, InputGiven, ModelReplied
from actum.core.secret_values import (
    SECRET,
    VALUES_MAX,
    Path,
    differing_texts,
    filled,
    is_missing,
    paths_in,
    restored,
    secret_paths,
    shown_call,
    shown_problems,
    split_answer,
    split_calls,
    split_reply,
    taken_out,
)
from actum.core.secrets.sealed import open_words, seal_words
from tests.effort import effort

TEXT: JsonObject = {"type": "string"}


@pytest.mark.parametrize(
    ("properties", "found"),
    [
        (dict.fromkeys(("password", "api_key", "apiKey", "Access-Token", "pwd"), TEXT), 5),
        (dict.fromkeys(("key", "token", "tokens", "password_hint", "secretary", "author"), TEXT), 0),
        ({"pin": {"type": "string", "x-secret": True}, "password": {"type": "string", "x-secret": False}}, 1),
        ({"secret": {"type": "boolean"}, "pwd": {"anyOf": [{"type": "boolean"}, {"type": "null"}]}}, 0),
        ({"pin": {"anyOf": [{"type": "string", "format": "password"}, {"type": "null"}]}}, 1),
        ({"pin": {"$ref": "#/$defs/Pin"}}, 1),
        ({"login": {"type": "object", "properties": {"password": TEXT}}}, 1),
        ({"users": {"type": "array", "items": {"properties": {"pwd": TEXT}}}}, 1),
        ({"by_name": {"type": "object", "additionalProperties": {"x-secret": True}}}, 1),
        ({"tree": {"$ref": "#/$defs/Tree"}}, 0),
        ({"odd": {"$ref": "#/nowhere"}, "other": {"properties": [], "items": 3, "anyOf": "x"}}, 0),
    ],
)
def test_a_parameter_is_secret_by_its_schema_or_by_its_whole_name(properties: JsonObject, found: int) -> None:
    tree: JsonObject = {"properties": {"next": {"$ref": "#/$defs/Tree"}}}
    schema: JsonObject = {"properties": properties, "$defs": {"Pin": {"x-secret": True}, "Tree": tree}}
    assert len(secret_paths(schema)) == found


def test_a_value_is_hidden_wherever_and_however_it_was_put() -> None:
    paths: list[Path] = [("password",), ("login", "pwd"), ("users", "*", "pwd")]
    several: tuple[JsonObject, ...] = (
        {"password": "hunter2"},
        {"Password": "hunter2", "PASSWORD": ["hunter2"]},
        {"password": {"value": "hunter2"}},
        {"login": {"pwd": "hunter2", "user": "ann"}},
        {"login": '{"pwd": "hunter2"}'},
        {"users": [{"pwd": "hunter2"}, {"user": "ann", "pwd": "hunter2"}]},
        {"users": '[{"pwd": "hunter2"}]'},
    )
    for arguments in several:
        shown, _ = taken_out(arguments, paths)
        assert ("hunter2" in json.dumps(shown), SECRET in json.dumps(shown)) == (False, True), arguments
    assert taken_out({"password": None, "user": "ann"}, paths)[0] == {"password": None, "user": "ann"}
    assert paths_in({"pwd": "x"}, ()) == [("pwd",)]
    assert paths_in({"pwd": True}, (), {"pwd": {}}) == ()
    assert paths_in({"more": [{"pwd": "x"}]}, (("pin",),)) == [("pin",), ("more", "*", "pwd")]


CALLS = [
    ToolCall("1", "login", {"user": "ann", "password": "hunter2"}, raw='{ "user":"ann",  "password":"hunter2"}'),
    ToolCall("1", "login", {"user": "ann", "password": "hunter2"}),
    ToolCall("1", "login", {"user": "ann", "password": "hunter2"}, raw="<user>ann</user><password>hunter2</password>"),
    ToolCall("1", "login", {}, raw='{"user": "ann", "password": "hunt', complete=False),
    ToolCall("1", "login", {"password": 'ünt\n"er2'}, raw='{"password": "\\u00fcnt\\n\\"er2"}'),
]


@pytest.mark.parametrize("call", CALLS)
def test_a_record_comes_back_word_for_word_and_shows_nothing_of_the_value(call: ToolCall) -> None:
    reply = Reply(
        (
            ReasoningPart("They said hunter2.", "signature"),
            TextPart("I say hunter2."),
            call,
            ToolCall("2", "other", {}),
        ),
        extras={"note": "hunter2"},
    )
    parted = split_reply(reply, [[("password",)], []])
    assert parted is not None
    shown, words = parted
    if call.arguments.get("password") == "hunter2":
        assert "hunter2" not in repr(shown)
    assert "hunt" not in repr(shown.calls)
    assert "er2" not in repr(shown.calls)
    assert restored(ModelReplied("", shown), words) == ModelReplied("", reply)
    calls = split_calls([call], [[("password",)]])
    assert calls is not None
    assert restored(CallsRequested(calls[0], "person"), calls[1]) == CallsRequested((call,), "person")


def test_the_value_stands_once_in_what_is_kept_apart() -> None:
    for call in CALLS[:2]:
        parted = split_reply(Reply((call,)), [[("password",)]])
        assert parted is not None
        assert parted[1].count(b"hunter2") == 1


def test_what_holds_no_secret_is_not_split() -> None:
    reply = Reply((ToolCall("1", "add", {"a": 1}, raw='{"a":1}'),))
    assert split_reply(reply, [()]) is None
    assert split_reply(reply, [[("password",)]]) is None
    assert split_calls(reply.calls, [()]) is None
    assert split_answer({"a": 1}, [("password",)]) is None


def test_an_answer_that_leaves_the_mark_leaves_the_value() -> None:
    paths: list[Path] = [("password",), ("users", "*", "pwd")]
    known: JsonObject = {"password": "hunter2", "users": [{"pwd": "one"}, {"pwd": "two"}], "to": "[secret]"}
    edited: JsonObject = {"password": SECRET, "users": [{"pwd": "other"}, {"pwd": SECRET}], "to": SECRET}
    whole = filled(edited, known, paths)
    assert whole == {"password": "hunter2", "users": [{"pwd": "other"}, {"pwd": "two"}], "to": SECRET}
    assert (is_missing(whole, paths), is_missing(edited, paths)) == ("", "password")
    parted = split_answer({"password": "new one"}, paths)
    assert parted is not None
    given = InputGiven("ask", "approve", arguments=parted[0])
    assert restored(given, parted[1]).arguments == {"password": "new one"}  # type: ignore[union-attr]


def test_what_is_wrong_with_arguments_is_told_without_the_value() -> None:
    problems = [Problem("password", "type", "a text", "1234"), Problem("", "complete", "an object", '{"password": "12')]
    problems += [Problem("user", "type", "a text", "5")]
    assert [each.received for each in shown_problems(problems, [("password",)])] == [SECRET, SECRET, "5"]


def test_sealed_values_are_encrypted_with_a_key_and_open_with_no_other() -> None:
    for key in (None, b"the journal's own key"):
        sealed = seal_words(b'{"calls":"hunter2"}', key)
        assert sealed.is_intact
        assert open_words(sealed, key).rstrip() == b'{"calls":"hunter2"}'
        assert (b"hunter2" in sealed.payload) == (key is None)
        assert seal_words(b'{"calls":"hunter2"}', key).digest != sealed.digest
    sealed = seal_words(b"{}", b"the journal's own key")
    short, long = (len(seal_words(b"x" * size, b"key").payload) for size in (1, 100))
    assert short == long
    for other, told in ((None, "open the journal with its key"), (b"another", "with another key")):
        with pytest.raises(JournalError, match=told):
            open_words(sealed, other)
    changed = type(sealed)(sealed.digest, sealed.salt, sealed.payload[:-1] + b"?")
    with pytest.raises(JournalError, match="were changed"):
        open_words(changed, b"the journal's own key")


@pytest.mark.parametrize(
    "arguments",
    [
        {f"x{n}": {"password": f"open{n}"} for n in range(20_000)},
        {"x": {f"y{n}": {"password": f"open{n}"} for n in range(20_000)}},
        {"x": [{f"y{n}": {"apiKey": f"open{n}"}} for n in range(20_000)]},
        {"user": "ann", "x": [[[]] for _ in range(20_000)], "password": "open1"},
        {"user": "ann"} | {f"x{n}": {"password": f"open{n}"} for n in range(240)},
    ],
)
def test_secrets_in_what_no_tool_declares_are_kept_out_however_many_with_little_work(arguments: JsonObject) -> None:
    call = ToolCall("1", "look", arguments)
    with effort() as spent:
        paths = paths_in(arguments, (), ("user",))
        shown = shown_call(call, paths)
        (split, words) = split_calls([call], [paths]) or ((), b"")
        texts = differing_texts(shown.arguments, arguments)
    assert spent.calls < 60_000
    assert b"open1" not in dumps(shown.arguments).encode()
    assert shown.arguments.keys() == arguments.keys()
    assert len(texts) <= VALUES_MAX
    whole = restored(CallsRequested(split, "person"), words)
    assert isinstance(whole, CallsRequested)
    assert whole.calls == (call,)


def test_a_reply_with_very_many_secrets_shows_none_of_its_words() -> None:
    calls = [ToolCall("1", "look", {"x": [f"open{n}" for n in range(2 * VALUES_MAX)]})]
    reply = Reply.of("I say open1999 for you.", calls=calls)
    with effort() as spent:
        split = split_reply(reply, [[("x",)]])
    assert split is not None
    assert (split[0].text, spent.calls < 20_000) == (SECRET, True)
    assert restored(ModelReplied("1", split[0]), split[1]) == ModelReplied("1", reply)
