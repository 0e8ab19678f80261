"""The catalogue of Chinese fits the source: it has every sentence, and every entry takes the values of its sentence."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from string import Formatter

import pytest

from actum.core.language.sentence import COUNTED
from actum.core.language.translation import CATALOGUE, Context, catalogue, entries, filled, in_language
from actum.features.definition import RESERVED_KINDS
from tests.catalogue import files, sentences, updated, written

DOCS = Path(__file__).parents[1] / "docs"

HAN = re.compile(r"[\u4e00-\u9fff]")
NAMES = {"MCP", "API", "A2A", "a URI (https://example.org/page)", "a UUID (123e4567-e89b-12d3-a456-426614174000)"}
PEOPLE = ("cli", "compose", "features", "call/asking", "server", "policy")
"""Rooms whose sentences people read. In `server`, the protocols of models and agents speak to programs."""
CHECKS = (
    "agents/declared.py",
    "protocols/definition_text.py",
    "protocols/source_text.py",
    "schema/schema.py",
    "toolsets/declared/",
    "workflow/load.py",
    "workflow/published.py",
    "workflow/template.py",
    "workflow/tool_check.py",
    "workflow/definition/",
)
"""What checks the text of a definition: people read in the studio what is wrong."""
PROGRAMS = ("server/a2a", "server/mcp", "server/models")
UNTRANSLATED = 240
"""How many sentences of all other rooms have no Chinese yet: the number only falls."""

OPTIONS = frozenset(
    {
        "code",
        "console",
        "effect",
        "exc_info",
        "field",
        "files",
        "go_on",
        "headers",
        "limit",
        "login",
        "logout",
        "problems",
        "reference",
        "retry_after",
        "rows",
        "run",
    }
    | {"run_id", "scope", "state", "status"}
)
"""What an error or a line takes beside the values of its sentence. Python takes any other word for a value."""


def fields(template: str) -> set[str]:
    """The fields of a template, each as it is written between its braces, and of a counted noun the number."""
    parsed = Formatter().parse(COUNTED.sub(r"{\1}", template))
    return {f"{name}{'!' + how if how else ''}{':' + form if form else ''}" for _, name, form, how in parsed if name}


def is_for_people(path: str) -> bool:
    """Whether people read what the file says."""
    return path.startswith((*CHECKS, *(f"{room}/" for room in PEOPLE))) and not path.startswith(PROGRAMS)


def test_the_catalogue_has_every_sentence_of_the_source_and_no_other() -> None:
    assert written(updated()) == CATALOGUE.read_text("utf-8"), "make locale"


def test_every_sentence_of_the_source_gets_the_values_that_its_template_names() -> None:
    for said in sentences():
        if said.names and "{" in said.template and said.called != "line":
            named = {name.split("!")[0].split(":")[0] for name in fields(said.template)}
            assert named <= said.names, f"{said.path}:{said.line}"


def test_every_value_of_a_sentence_is_told_in_it() -> None:
    for said in sentences():
        told = {re.split(r"[!:.]", name)[0] for name in fields(said.template)} if "{" in said.template else set()
        assert (said.names or frozenset()) - told <= OPTIONS, f"{said.path}:{said.line}: a misspelt option?"


def test_no_template_is_a_value_alone() -> None:
    alone = {said.template for said in sentences() if re.fullmatch(r"\s*\{[^{}|]*\}\s*", said.template)}
    assert alone == set()


def test_every_chinese_text_takes_values_of_the_english_one_and_is_chinese() -> None:
    for (_, english), said in catalogue().items():
        assert fields(said) <= fields(english), english
        assert HAN.search(said) or fields(said) or english in NAMES, english
        assert said != english or not re.search(r"[a-z]{2} [a-z]{2}", re.sub(r"\{[^}]*\}", "", english)), english


def test_people_read_every_sentence_in_chinese_and_programs_most() -> None:
    lacking = {said.template: said.path for said in sentences() if ("", said.template) not in catalogue()}
    assert {text: path for text, path in lacking.items() if is_for_people(path)} == {}, "fill zh.po: see `make locale`"
    assert len(lacking) <= UNTRANSLATED


def test_chinese_addresses_people_politely_in_all_places() -> None:
    """Models are 你. One sentence of the catalogue is told to a model: that it makes the same call again and again."""
    pages = [path.read_text("utf-8") for path in (DOCS / "zh").rglob("*.md")]
    assert not [page for page in pages if re.search("你(?!好)", page)]
    assert [said[:8] for said in catalogue().values() if re.search("你(?!好)", said)] == ["你多次发起同一个"]


def test_each_problem_of_a_definition_and_each_hint_is_told_in_chinese() -> None:
    lacking = [
        (path, said)
        for path, its in files().items()
        for call in its.calls
        if ast.unparse(call.func) in ("TextProblem", "self._wrong")
        for context, given in problem_texts(call)
        if (said := sampled(given)) and not HAN.search(in_language(said, "zh", context))
    ]
    assert lacking == [], "fill zh.po, with the context `message` or `hint`; or say the problem as a Sentence"


def problem_texts(call: ast.Call) -> Iterator[tuple[Context, ast.expr]]:
    """What is wrong, and the hint, of a call that notes a problem."""
    yield from (("message", each) for each in call.args[:1])
    yield from (("hint", each) for each in call.args[3:4] if not isinstance(call.args[1], ast.Starred))
    yield from (("hint", each.value) for each in call.keywords if each.arg == "hint")


def sampled(given: ast.expr) -> str:
    """A text of the source, with a value in each place; empty for what is no text there."""
    parts = given.values if isinstance(given, ast.JoinedStr) else [given]
    texts = [each.value if isinstance(each, ast.Constant) else "'x1'" for each in parts]
    return "".join(map(str, texts)) if isinstance(given, ast.JoinedStr | ast.Constant) else ""


def test_what_differs_between_definitions_and_what_they_are_called_is_told_in_chinese() -> None:
    calls = [call for its in files().values() for call in its.calls]
    kinds = ("DefinitionChange", "DefinitionKind")
    named = {
        ast.literal_eval(each.value)
        for call in calls
        for each in call.keywords
        if ast.unparse(call.func).split(".")[-1] in kinds and isinstance(each.value, ast.Constant)
        if each.arg == ("what" if ast.unparse(call.func).endswith("Change") else "name")
    } | RESERVED_KINDS
    assert {name for name in named if not HAN.search(in_language(name, "zh"))} == set()


def test_of_a_damaged_catalogue_the_sound_entries_are_read() -> None:
    whole = CATALOGUE.read_text("utf-8")
    assert entries(whole) == catalogue()
    half = entries(whole[len(whole) // 2 :] + 'msgid "a\\x"\nmsgstr "b"\n')  # the cut may take the context of an entry
    assert {(key[1], said) for key, said in half.items()} <= {(key[1], said) for key, said in catalogue().items()}
    assert entries("") == entries("\x00\x01") == entries('msgid "a"\nmsgstr "b') == {}


@pytest.mark.parametrize(
    "wrong", ["{nome} 不见了", "{path.nothing} 不见了", "{path 不见了", "{0} 不见了", "{path:x} 不见了"]
)
def test_a_translation_with_a_wrong_placeholder_is_not_said(wrong: str) -> None:
    assert filled(wrong, {"path": "a.db"}) is None
