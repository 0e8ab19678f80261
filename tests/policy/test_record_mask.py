"""Masks over records: what is hidden from a reader, and that no text of a record was forgotten."""

from __future__ import annotations

import base64
import json
import re
import unicodedata
from collections.abc import Sequence

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import inspect

from actum.core.call import MediaPart, TextPart, ToolCall, ToolResult
from actum.core.json import Json
from actum.core.message import Reply
from actum.core.run.chain import GENESIS, seal, verify
from actum.core.run.record import CallCompleted, CallsRequested, Ended, Entry, ModelReplied, Record, Started
from actum.policy.labels import Label, check_labels
from actum.policy.record_mask import SAID, reader_mask

pytestmark = pytest.mark.row("C9")

OURS = frozenset(
    [
        "agent",
        "agent_digest",
        "agent_parts",
        "answer_schema",
        "approval",
        "approvers",
        "asker",
        "assigned",
        "attached",
        "backoff",
        "beside",
        "bound",
        "brought",
        "by",
        "call_id",
        "changed",
        "claimed",
        "client_tools",
        "code",
        "conversation",
        "description",
        "digest",
        "expected",
        "feature",
        "field",
        "finish_reason",
        "forked",
        "free",
        "handle",
        "hidden",
        "home",
        "id",
        "inputs_kept",
        "intention",
        "kept",
        "key",
        "key_id",
        "kind",
        "label",
        "labels",
        "labels_seen",
        "limit",
        "limits",
        "media_type",
        "model",
        "name",
        "named_by",
        "names",
        "node",
        "not_by",
        "open_runs",
        "operator",
        "options",
        "outputs_kept",
        "outside",
        "owner",
        "package",
        "parameters",
        "parent",
        "path",
        "port",
        "previous",
        "principal",
        "quorums",
        "reason",
        "recalled",
        "reference",
        "roles",
        "rule",
        "run",
        "schema",
        "secrets",
        "seen",
        "settings",
        "signature",
        "sinks",
        "space",
        "tenant",
        "title",
        "tool",
        "tool_choice",
        "tools",
        "trace",
        "tracestate",
        "trusted",
        "unfinished",
        "unique_key",
        "usage",
        "used",
        "uses",
        "uses_kept",
        "variables_kept",
        "version",
        "webhook",
        "worker",
        "workflow",
        "salt",
    ]
)
"""The fields of records with texts that are no words of a tool, a model or a person: names, kinds, digests."""


def fields(of: inspect.Type) -> dict[str, bool]:
    """The names of the fields in a type and in all types in it, each with whether the field can hold a text."""
    found: dict[str, bool] = {}
    seen: set[object] = set()

    def says(each: inspect.Type) -> bool:
        match each:
            case inspect.StrType() | inspect.AnyType() | inspect.DictType() | inspect.StructType():
                return True
            case inspect.UnionType(types=types):
                return any(map(says, types))
            case inspect.VarTupleType(item_type=item) | inspect.ListType(item_type=item):
                return says(item)
            case _:
                return False

    def walk(each: inspect.Type) -> None:
        match each:
            case inspect.UnionType(types=types):
                for one in types:
                    walk(one)
            case inspect.VarTupleType(item_type=item) | inspect.ListType(item_type=item):
                walk(item)
            case inspect.DictType(value_type=value):
                walk(value)
            case inspect.StructType(cls=cls, fields=own) if cls not in seen:
                seen.add(cls)
                for field in own:
                    found[field.name] = found.get(field.name, False) or says(field.type)
                    walk(field.type)

    walk(of)
    return found


def test_every_text_of_a_record_is_known_to_be_said_or_to_be_ours() -> None:
    texts = {name for name, says in fields(inspect.type_info(Record)).items() if says}
    assert texts - SAID - OURS == set(), (
        "say in policy/record_mask.py or here whether these fields repeat what was said"
    )
    assert not SAID & OURS


def run_of(*records: Record) -> list[Entry]:
    """The entries of a run."""
    entries: list[Entry] = []
    for record in (Started(agent="desk", model="m", said=()), *records):
        entries.append(seal(record, len(entries), 0.0, entries[-1].head if entries else GENESIS))
    return entries


HIDDEN = reader_mask({"personal": Label(readers=["role:hr"])}, "ann").of_run
SHOWN = reader_mask({"personal": Label(readers=["role:hr"])}, "ann", ["hr"]).of_run


def hidden_anew(entries: list[Entry]) -> Sequence[Entry]:
    """What a reader sees who has seen no other run."""
    return reader_mask({"personal": Label(readers=["role:hr"])}, "ann").of_run(entries)


def result_of(value: Json, **labels: str) -> CallCompleted:
    return CallCompleted(1, 0, ToolResult("1", structured=value, labels=labels))


plain = st.text(min_size=4, max_size=12).filter(lambda text: len(re.sub(r"[\s\d]+\W?", "", text)) >= 4) | st.integers(
    1_000, 10**9
)


@given(
    value=plain
    | st.lists(plain, min_size=1, max_size=3)
    | st.dictionaries(st.text("ab", min_size=1), plain, min_size=1)
)
def test_a_hidden_value_stands_nowhere_in_what_a_reader_sees_and_the_chain_still_checks(value: Json) -> None:
    leaves = value if isinstance(value, list) else [*value.values()] if isinstance(value, dict) else [value]
    said = [each if isinstance(each, str) else str(each) for each in leaves]
    entries = run_of(
        ModelReplied("d", Reply.of("Look", [ToolCall("1", "look", {"q": said[0]})])),
        result_of({"of": "Ada", "secret": value}, secret="personal"),
        result_of({"copy": [value], "told": f"<<{said[0]}>>"}),
        CallsRequested((ToolCall("2", "send", {"text": said[0], "whole": value}),), by="person"),
        Ended("done", f"It is {said[0]}."),
    )
    hidden, shown = HIDDEN(entries), SHOWN(entries)
    assert shown is entries
    assert verify(hidden) == []
    assert [(each.number, each.digest, each.head) for each in hidden] == [
        (each.number, each.digest, each.head) for each in entries
    ]
    texts = list(_texts([msgspec.to_builtins(each.record) for each in hidden[1:]]))
    assert not [text for text in texts for each in said if each in text.replace("[personal]", "")]


def _texts(value: object) -> list[str]:
    if isinstance(value, dict):
        return [text for each in value.values() for text in _texts(each)]
    if isinstance(value, list | tuple):
        return [text for each in value for text in _texts(each)]
    return [str(value)]


def test_a_short_value_is_hidden_in_its_own_result_alone_and_a_text_without_fields_whole() -> None:
    entries = run_of(
        result_of({"grade": 7}, grade="personal"),
        CallCompleted(2, 0, ToolResult("2", (TextPart("Ada: 7 points"),), labels={"grade": "personal"})),
        Ended("done", "7 points"),
    )
    _, first, second, ended = [each.record for each in HIDDEN(entries)]
    assert isinstance(first, CallCompleted)
    assert isinstance(second, CallCompleted)
    assert isinstance(ended, Ended)
    assert (first.result.structured, second.result.text, ended.text) == (
        {"grade": "[personal]"},
        "[personal]",
        "7 points",
    )


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (73250, "73,250"),
        (73250, "73 250.50 EUR"),
        (73250, "７３２５０"),
        (73250, "7 3 2 5 0"),
        (73250.0, "73250"),
        ("12 Elm Street", "12 ELM\nSTREET"),
        ("12 Elm Street", "https://x.test/?q=12%20Elm%20Street&a=1"),
        ("12 Elm Street", "12+Elm+Street"),
        ("12 Elm Street", base64.b64encode(b"12 Elm Street").decode()),
        ("12 Elm Street", b"12 Elm Street".hex()),
        ("DE89370400440532013000", "DE89 3704 0044 0532 0130 00"),
        ("4111-1111-1111-1111", "4111111111111111"),
        ("Käse & Brot", "k\u00e4se &\tBROT"),
        ({"street": "12 Elm Street"}, "12 elm street"),
        ("阿福住在北京", json.dumps("阿福住在北京")[1:-1]),
        ("阿福住在北京", json.dumps(json.dumps("阿福住在北京"))[3:-3]),
        ("阿福?>住在", base64.urlsafe_b64encode("阿福?>住在".encode()).decode()),
        ("José García", unicodedata.normalize("NFD", "José García")),
        ("O'Neil & Sons", "O&#39;Neil &amp; Sons"),
        ("O'Neil & Sons", "o&#x27;neil &amp; sons"),
        ("12 Elm Street", "12\u00a0Elm Str\u00adeet"),
        (73250, "73\u200b250"),
    ],
)
def test_a_hidden_value_is_found_where_a_program_or_a_model_writes_it_otherwise(value: Json, said: str) -> None:
    entries = run_of(result_of({"secret": value}, secret="personal"), Ended("done", f"It is <{said}>, see 42 and 7."))
    ended = hidden_anew(entries)[-1].record
    assert isinstance(ended, Ended)
    kept = ".50 EUR" if "EUR" in said else ""
    assert ended.text in (
        f"It is <[personal]{kept}>, see 42 and 7.",
        "It is <https://x.test/?q=[personal]&a=1>, see 42 and 7.",
    )


def test_what_is_around_a_value_that_is_written_otherwise_stays_as_it_is() -> None:
    entries = run_of(
        result_of({"secret": [73250, "12 Elm Street"]}, secret="personal"),
        Ended("done", "Am 1.2.2026, 3  4 : 73,250 und 12 ELM  STREET, 5-6; ７３２５０ ０１"),
    )
    ended = hidden_anew(entries)[-1].record
    assert isinstance(ended, Ended)
    assert ended.text == "Am 1.2.2026, 3  4 : [personal] und [personal], 5-6; [personal] ０１"


def test_a_value_that_is_an_object_is_hidden_as_a_whole_and_the_beginning_of_a_long_one_where_it_was_cut() -> None:
    grades: Json = {"6104-17": True, "6104-18": False}
    note = "Ada was ill in spring, and rested at the sea until May."
    entries = run_of(
        result_of({"grades": grades, "note": note}, grades="personal", note="personal"),
        result_of({"all": [{"grades": grades}], "is_true": True}),
        Ended("failed", f"no number: {note[:35]!r}... It is true."),
    )
    _, _, second, ended = [each.record for each in hidden_anew(entries)]
    assert isinstance(second, CallCompleted)
    assert isinstance(ended, Ended)
    assert second.result.structured == {"all": [{"grades": "[personal]"}], "is_true": True}
    assert ended.text == "no number: '[personal]'... It is true."


def test_a_value_in_the_name_of_a_file_is_hidden() -> None:
    pay_slip = MediaPart("text/plain", b"x", name="Ada 12 Elm Street.txt")
    entries = run_of(
        result_of({"secret": "12 Elm Street"}, secret="personal"),
        CallCompleted(2, 0, ToolResult("2", (pay_slip,))),
    )
    found = hidden_anew(entries)[-1].record
    assert isinstance(found, CallCompleted)
    (file,) = found.result.content
    assert isinstance(file, MediaPart)
    assert file.name == "Ada [personal].txt"


@pytest.mark.parametrize("damage", [b"", b"{", b'{"type":"ended","status":"done","labels":{}}'])
def test_entries_that_were_damaged_or_deleted_stay_as_they_are(damage: bytes) -> None:
    entries = run_of(result_of({"grade": "poor"}, grade="personal"), Ended("done", "poor"))
    entries[2] = msgspec.structs.replace(entries[2], payload=damage)
    assert HIDDEN(entries)[2] == entries[2]


def test_readers_are_roles_users_or_all() -> None:
    label = Label(readers=["role:hr", "user:ann"])
    assert [label.may_read(*who) for who in (("ann", []), ("bob", ["hr"]), ("hr", []), ("", []), ("role:hr", []))] == [
        True,
        True,
        False,
        False,
        False,
    ]
    with pytest.raises(Exception, match="'hr' is no reader: write user:NAME, role:NAME or all"):
        check_labels({"personal": Label(readers=["hr"])}, {})


def test_the_arguments_of_a_call_as_the_model_wrote_them_stay_json_where_a_number_is_hidden() -> None:
    raw = '{"x": "73,250 EUR", "y": 73250}'
    call = ToolCall("2", "show", {"x": "73,250 EUR", "y": 73250}, raw=raw)
    custom = ToolCall("3", "note", {"input": "y = 73250"}, raw="y = 73250")
    apart = ToolCall("4", "show", {"digits": [7, 3, 2, 5, 0]}, raw='{"digits": [7,3,2,5,0]}')
    reply = Reply.of("Look", [call, custom, apart])
    entries = run_of(result_of({"secret": 73250}, secret="personal"), ModelReplied("d", reply))
    replied = hidden_anew(entries)[-1].record
    assert isinstance(replied, ModelReplied)
    shown, free, digits = replied.reply.calls
    assert digits.raw == '{"digits": [[personal]]}'
    assert json.loads(shown.raw) == shown.arguments == {"x": "[personal] EUR", "y": "[personal]"}
    assert free.raw == "y = [personal]"
