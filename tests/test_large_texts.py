"""A text that others wrote is read in a time that grows with the text and not faster, whatever stands in the text.

A regular expression is one call, however long it takes, and no other thread runs meanwhile: so the readers below are
held to CPU time. Each case takes a few milliseconds, and took from 2 seconds to hours where a pattern tried again and
again what it had tried.
"""

from __future__ import annotations

import ast
import gc
import time
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest

from actum.agents.output import fitting
from actum.compose.mistakes import Fault, placed
from actum.core.errors import ActumError
from actum.core.json import Json, JsonObject, dumps
from actum.core.toml import read_toml
from actum.dialects.api.model_errors import error_of_status
from actum.policy.border import stands_whole
from actum.policy.common_words import is_common
from actum.policy.condition import Condition, ConditionFailed
from actum.policy.file import read_rules
from actum.protocols.mcp.document import read_servers
from actum.schema.canonical import path
from actum.testing import ScriptedModel
from actum.toolsets.mcp.line import messages
from actum.workflow.load import check_text
from tests.effort import turns_counted
from tests.sources import modules
from tests.workflow.test_workflow import workflow

SECONDS_MAX = 1.0
SIZE = 200_000
REFUSED = (ActumError, ValueError, ConditionFailed)
"""What readers raise where a text is none of theirs."""

answer_of = fitting({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]})


def many(unit: str, size: int = SIZE) -> str:
    return unit * (size // len(unit))


def refused(text: str) -> object:
    return error_of_status(400, None, dumps({"error": {"message": text}}).encode())


def definition(**more: Json) -> str:
    return dumps({"actum": "workflow/1", "name": "hello", "nodes": {"s": {"type": "say", "text": "Hi."}}, **more})


def said(text: str) -> object:
    return check_text(definition(nodes={"s": {"type": "say", "text": text}}))


def waited(text: str) -> object:
    return check_text(definition(nodes={"s": {"type": "wait", "for": text}}))


def configured(text: str) -> object:
    return read_servers({"mcpServers": {"a": {"command": "a", "args": [text]}}}, {})


def mistaken(text: str) -> object:
    return placed("actum.toml", text, [Fault(("a",), "unknown")])


def ruled(text: str) -> object:
    return read_rules(text, "policy.toml")


def held(source: str) -> Callable[[Json], bool]:
    return lambda value: Condition(source).holds({"args": {"value": value}})


CASES: list[tuple[Callable[[str], object], str]] = [
    *((answer_of, "Here: " + many(unit)) for unit in ("```x\n", "```\n", "\n", " ", '{"a":', "[1] ", "[1]\n\n", "`")),
    *((refused, many(unit)) for unit in ("aa-", "Bearer ", "context length ", "exceed ", "prompt ")),
    *((is_common, unit * 24 + "鬼") for unit in ("看看", "有没有", "请帮我")),
    (lambda text: stands_whole(text, 0, len(text)), "a@" + many(".") + "@"),
    (lambda text: stands_whole(text, 0, len(text)), "a@" + many("a.") + "@"),
    *((path, many(unit, 2_000_000)) for unit in ("a/../", "../", "./", "/", "a/")),
    *((lambda text: messages(text.encode(), [1]), "{" + many(unit)) for unit in ('"\\', '"', '{"a":')),
    *((configured, many(unit)) for unit in ("${env:A:-", "${input:", "${config:")),
    *((said, "${a" + many(unit) + "!}") for unit in (" ", "[0]", ".b")),
    *((read_toml, many(unit) + end) for unit, end in (("a.", "a=1"), ("'a' . ", "a=1"), ("a. ", ""), ("a=[", ""))),
    *((read_toml, f"{begin}{many(unit)}{end}") for begin, unit, end in (("[", "a.", "a]"), ("a=0x", "f", ""))),
    *((read_toml, many(". ".join(["a"] * 31) + unit)) for unit in ("\n", "  ", "=1\n")),
    (ruled, many("[[rules]]\nthen='deny'\n")),
    *((mistaken, "a=[\n" + many(unit)) for unit in ("1", "a", "a .", '""', "a \n", "[a", "[a]]")),
    *((waited, "1" + many(unit) + "!") for unit in (" ", "1", ".1")),
]


@pytest.mark.parametrize("case", range(len(CASES)))
def test_a_text_of_others_is_read_in_proportion_to_its_size(case: int) -> None:
    read, text = CASES[case]
    gc.disable()  # it would go through all that other tests of this process have left
    try:
        began = time.thread_time()
        with suppress(*REFUSED):
            read(text)
        took = time.thread_time() - began
    finally:
        gc.enable()
    assert took < SECONDS_MAX, text[:20]


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("args.value.map(x, args.value.map(y, x + y)).size() > 3", list(range(150))),
        ("args.value.map(x, args.value).size() > 3", ["x" * 1_000] * 900),
        ("args.value.exists(x, args.value.exists(y, x + y == -1))", list(range(900))),
        ('under(args.value, "/data")', many("./", 2_000_000)),
        ("args.value.matches('a.{1,500}c')", many("ab", 4_000_000)),
        ("args.value.matches('a\\u007b1,500}b{500}c')", many("ab", 4_000_000)),
        ("args.value.exists(x, x.matches('[\\\\w]{1,100}y'))", ["x"] * 900),
        ("args.value.exists(x, [args.value, args.value, args.value, args.value].size() > 9)", ["x" * 1_000] * 900),
        (f"args.value.map(x, [{'x,' * 900}x]).size() > 3", list(range(900))),
        (f"size({'+'.join(['args.value'] * 60)}) == 0", many("x", 500_000)),
        ('size(""" " """) > 0 && args.value.exists(x, args.value.exists(y, x + y == -1))', list(range(900))),
        ("size(r'\\') > 0 && args.value.exists(x, args.value.exists(y, x + y == -1))", list(range(900))),
        ("args.value.exists(x, args.value.exists(y, x + y == 'z'))", {f"k{n}": 1 for n in range(900)}),
        (f"[{'1,' * 900}1].exists(x, [{'2,' * 900}1].exists(y, x + y == -1))", 1),
    ],
)
def test_a_condition_ends_soon_whatever_the_arguments_are(source: str, value: Json) -> None:
    began = time.thread_time()
    with pytest.raises(ConditionFailed):
        held(source)(value)
    assert time.thread_time() - began < SECONDS_MAX


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("args.value.filter(x, x.a == 'b').size() > 3", [{"a": "b", "c": "d"}] * 330),
        ("args.value.map(x, x + 1).size() > 3", list(range(990))),
        ("args.value.map(x, [x, x, x, x]).size() > 3", list(range(990))),
        ("args.value.exists(x, args.value.exists(y, x + y == -1)) || true", list(range(290))),
        ("args.value.exists(x, x == args.value) || true", ["a"] * 690),
        ("args.value.map(x, args.value.filter(y, x != y)).size() > 0", list(range(50))),
        ("args.value.matches('^[ab]*a[ab]{20}c') || true", many("ab", 100_000)),
        ("args.value.exists(x, x.matches('^[0-9a-f]{8}-[0-9a-f]{4}$')) || true", ["0123-0123"] * 200),
        ("args.value.exists(x, x.contains('bcde')) || true", ["x" * 10_000] * 990),
    ],
)
def test_a_condition_that_is_not_too_much_holds_up_others_no_longer_than_reading_a_large_body(
    source: str, value: Json
) -> None:
    holds, spent = held(source), []
    for _ in range(3):  # a machine that is busy with other things makes one of them slow
        began = time.thread_time()
        assert holds(value)
        spent.append(time.thread_time() - began)
    assert min(spent) < 0.2


async def test_a_list_that_others_sent_is_gone_through_while_others_have_their_turn() -> None:
    sift: JsonObject = {"type": "list", "of": "${inputs.rows}", "where": "item.price > 2", "sort": {"by": "item.price"}}
    asked: JsonObject = {
        "inputs": {"type": "object"},
        "nodes": {"sift": sift, "said": {"type": "say", "text": "${sift.first.price}"}},
        "edges": ["sift > said"],
    }
    made = workflow(asked, models={"m": ScriptedModel([])})

    async def first_of(size: int) -> str:
        return (await made.run({"rows": [{"price": at} for at in range(size)]})).text

    assert await first_of(10) == "3"
    async with turns_counted() as turns:
        assert await first_of(2_000) == "3"
    assert turns.held < 60_000


OF_OURS = {
    "actum.journal.kept_uses": "names and numbers of publications, which we wrote",
    "actum.journal.lists": "a cursor is a list of texts: what is nested in it is refused as no text",
    "actum.runs.rejudged": "the definition of a tool, which we wrote",
    "actum.server.mcp.gateway.gateway": "a cursor, as well",
    "actum.toolsets.mcp.line": "one token, which is a text, a number or a name",
    "actum.toolsets.mcp.caller": "the state of a call, which we wrote into the record",
    "actum.toolsets.declared.published": "the card of a publication, which we wrote",
    "actum.toolsets.declared.server": "the card of a publication, as well",
    "actum.toolsets.function.function": "the definition of a tool, which we wrote",
    "actum.workflow.listing": "the card of a publication, which we wrote",
}
"""Modules that read JSON which no stranger can nest, and `actum.storage`, which reads what it wrote."""


def forgetful(source: str) -> Iterator[int]:
    """The lines that read JSON, and know what to do where the JSON is broken but not where it is nested too deeply."""
    decoders = {"json.decode", "json.loads"}
    if not any(f"{name}(" in source for name in (*decoders, "json.Decoder")):
        return
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value and "json.Decoder(" in ast.unparse(node.value):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            decoders |= {ast.unparse(target), f"{ast.unparse(target)}.decode"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Try):
            calls = [each for part in node.body for each in ast.walk(part) if isinstance(each, ast.Call)]
            called = {ast.unparse(each.func).removeprefix("msgspec.") for each in calls}
            kinds = [ast.unparse(each.type) if each.type else "Exception" for each in node.handlers]
            caught = {name.rpartition(".")[2].strip("(),") for kind in kinds for name in kind.split()}
            is_ready = caught & {"DecodeError", "MsgspecError", "ValidationError", "ValueError"}
            if called & decoders and is_ready and not caught & {"RecursionError", "Exception"}:
                yield node.lineno


def test_whoever_reads_json_of_others_takes_json_that_is_nested_too_deeply_for_broken() -> None:
    found = {
        (name, line)
        for name, path in modules()
        if not name.startswith("actum.storage")
        for line in forgetful(path.read_text("utf-8"))
    }
    assert {name for name, _ in found} == OF_OURS.keys(), sorted(found)
