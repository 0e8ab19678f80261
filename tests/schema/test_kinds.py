"""Texts of a kind against what is known to be tried on them. What is not refused is really used, and does no harm.

The corpus is `corpus/kinds/<kind>.json`: attacks, and good values with what becomes of each.
"""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from email import message_from_bytes, policy
from email.message import EmailMessage
from email.utils import getaddresses
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actum.core.errors import BadTool, UsageError
from actum.core.json import Json, JsonObject
from actum.kinds import argv, escape_html, open_under, quote_name
from actum.schema.canonical import Unclear, is_inside
from actum.schema.kinds import Kind, read_kind
from actum.schema.schema import CheckedArguments, Schema, compile_schema

pytestmark = pytest.mark.row("C1")

CORPUS = Path(__file__).parents[1] / "corpus" / "kinds"
KINDS = sorted(path.stem for path in CORPUS.glob("*.json"))


class Case(NamedTuple):
    """A text of the corpus; `becomes` is empty for an attack."""

    text: str
    becomes: str
    note: str


def cases(kind: str, part: str, **places: str) -> list[Case]:
    """The attacks or the good values of a kind, the places in them filled in."""
    found = json.loads((CORPUS / f"{kind}.json").read_text("utf-8"))[part]
    return [
        Case(_filled(each["text"], places), _filled(each.get("becomes", each["text"]), places), each["note"])
        for each in found
    ]


def _filled(text: str, places: dict[str, str]) -> str:
    for name, place in places.items():
        text = text.replace(f"{{{name}}}", place)
    return text


def note_of(part: str | Case) -> str:
    return part if isinstance(part, str) else part.note


def written(kind: Kind, text: str) -> str | None:
    """The text in its one form; None when it is refused."""
    try:
        found = kind.written(text)
    except Unclear:
        return None
    return found if kind.holds(found) else None


def schema_of(node: JsonObject, *required: str, foreign: bool = False) -> Schema:
    document: JsonObject = {"type": "object", "properties": {"a": node}, "required": list(required)}
    return compile_schema(document, where="tool 'x'", foreign=foreign)


def check(node: JsonObject, value: Json, *required: str, coerce: bool = True) -> CheckedArguments:
    return schema_of(node, *required).check({"a": value}, coerce=coerce)


# The corpus as a whole. -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_the_corpus_of_each_kind_is_large_enough(kind: str) -> None:
    assert len(cases(kind, "attacks")) >= 25
    assert len(cases(kind, "good")) >= 15


def test_every_kind_has_a_corpus() -> None:
    assert set(KINDS) == {"email", "html", "path", "shell_word", "sql", "url"}


GOOD = [(kind, case) for kind in KINDS if kind != "path" for case in cases(kind, "good")]


@pytest.mark.parametrize(("kind", "case"), GOOD, ids=note_of)
def test_a_good_value_passes_the_schema_in_its_one_form(kind: str, case: Case) -> None:
    node: JsonObject = {"type": "string", **Kind(kind).schema()}  # type: ignore[arg-type]  # a name of the corpus
    checked = check(node, case.text)
    assert checked.problems == ()
    assert checked.arguments == {"a": case.becomes}
    assert bool(checked.repairs) == (case.text != case.becomes)
    assert check(node, case.becomes).repairs == ()


# Paths, in a real tree. -----------------------------------------------------------------------------------------------


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder with files, links that stay in it, and links that lead out."""
    top = Path(os.path.realpath(tmp_path))
    folder = top / "data"
    for name in ("a.txt", "docs/b.txt", "中文/说明.txt", "with space.txt", ".hidden", "a..b.txt", "..data", "100%.txt"):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("good")
    for outside in ("secret.txt", "data-too/x.txt", "outside/secret.txt"):
        (top / outside).parent.mkdir(exist_ok=True)
        (top / outside).write_text("secret")
    links = {
        "out": str(top),
        "secret_link.txt": "../secret.txt",
        "chain": "out",
        "etc_link": "/etc",
        "proc_link": "/proc",
    }
    for name, target in {**links, "in": "docs", "loop": "loop"}.items():
        (folder / name).symlink_to(target)
    return folder


def places(data: Path) -> dict[str, str]:
    return {"data": str(data), "outside": str(data.parent / "outside")}


def test_no_attack_on_a_path_leads_out_of_the_folder(data: Path) -> None:
    kind = Kind("path", under=str(data))
    passed = []
    for case in cases("path", "attacks", **places(data)):
        found = written(kind, case.text)
        if found is not None:
            passed.append(case.note)
            assert Path(os.path.realpath(found)).is_relative_to(data), case
            assert not Path(found).exists(), case  # nothing there that could be read
    assert set(passed) <= {"a link to itself", "what an overlong slash of UTF-8 becomes", "an address"}


def test_no_attack_on_a_path_opens_a_file(data: Path) -> None:
    for case in cases("path", "attacks", **places(data)):
        with pytest.raises((Unclear, OSError)):
            open_under(data, case.text)


def test_a_good_path_is_written_out_and_opened(data: Path) -> None:
    kind = Kind("path", under=str(data))
    for case in cases("path", "good", **places(data)):
        assert written(kind, case.text) == case.becomes, case
        assert written(kind, case.becomes) == case.becomes, case
        if Path(case.becomes).is_file() and not case.text.startswith("in/"):
            with open_under(data, case.text) as file:
                assert file.read() == "good"


def test_a_refused_path_tells_nothing_of_this_machine(data: Path) -> None:
    node: JsonObject = {"type": "string", **Kind("path", under=str(data)).schema()}
    (problem,) = check(node, "out/secret.txt").problems
    assert (problem.path, problem.rule, problem.received) == ("a", "kind", '"out/secret.txt" (string)')
    assert str(data) not in problem.expected


def test_a_path_may_be_asked_for_relative_to_its_folder(data: Path) -> None:
    kind = Kind("path", under=str(data), relative=True)
    assert written(kind, f"{data}/docs/../a.txt") == "a.txt"
    assert written(kind, "docs/./b.txt") == "docs/b.txt"
    assert written(kind, str(data)) == "."
    assert written(kind, "out/secret.txt") is None
    assert written(Kind("path", relative=True), "/etc/passwd") is None


def test_a_path_of_another_machine_is_not_looked_up_here(data: Path) -> None:
    node: JsonObject = {"type": "string", **Kind("path", under=str(data)).schema()}
    assert schema_of(node).check({"a": "out/secret.txt"}).problems
    there = schema_of(node, foreign=True)
    assert there.check({"a": "out/./secret.txt"}).arguments == {"a": f"{data}/out/secret.txt"}
    assert there.check({"a": "../secret.txt"}).problems


NAMES = st.sampled_from(
    ["..", ".", "", "a", "docs", "out", "in", "loop", "~", "..data", "%2e%2e", "x" * 300, "中", "…"]
)


@given(st.one_of(st.text(max_size=30), st.lists(NAMES, max_size=8).map("/".join)), st.booleans())
def test_a_path_in_its_one_form_is_always_inside_and_stays_as_it_is(text: str, relative: bool) -> None:
    kind = Kind("path", under="/srv/data", relative=relative)
    try:
        found = kind.written(text)
    except Unclear:
        return
    assert kind.written(found) == found
    assert is_inside(os.path.normpath(Path("/srv/data", found)), "/srv/data")
    assert ".." not in found.split("/")
    assert found.startswith("/") != relative


# Addresses. -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", cases("url", "attacks"), ids=note_of)
def test_an_attack_on_an_address_is_refused(case: Case) -> None:
    assert written(Kind("url"), case.text) is None


@pytest.mark.parametrize("case", cases("url", "good"), ids=note_of)
def test_two_readers_find_the_same_host_in_an_address(case: Case) -> None:
    host = urlsplit(case.becomes).hostname
    assert httpx2.URL(case.becomes).raw_host.decode() == host
    assert str(httpx2.URL(case.becomes)) == case.becomes


def test_private_addresses_and_other_schemes_are_taken_where_that_is_declared() -> None:
    assert written(Kind("url", private=True), "http://127.1:8000/x") == "http://127.0.0.1:8000/x"
    assert written(Kind("url", hosts=("localhost",)), "http://localhost/") == "http://localhost/"
    assert written(Kind("url", schemes=("ftp",)), "ftp://example.org/x") == "ftp://example.org/x"
    assert written(Kind("url", schemes=("https",)), "http://example.org/") is None


@pytest.mark.parametrize("name", ["url", "email"])
def test_only_declared_hosts_are_taken(name: str) -> None:
    kind = Kind(name, hosts=("example.org", "*.example.com"))  # type: ignore[arg-type]  # one of two names
    start = {"url": "https://", "email": "ada@"}[name]
    for host in ("example.org", "a.example.com", "a.b.EXAMPLE.com."):
        assert written(kind, start + host) is not None
    for host in ("sub.example.org", "example.com", "evilexample.com", "example.org.evil.example", "10.0.0.1"):
        assert written(kind, start + host) is None


@given(st.one_of(st.text(), st.from_regex(r"https?://[a-zA-Z0-9.%:@\[\]\\/-]{1,30}/[a-z./%0-9]{0,20}", fullmatch=True)))
def test_an_address_in_its_one_form_stays_as_it_is(text: str) -> None:
    found = written(Kind("url"), text)
    assert found is None or written(Kind("url"), found) == found


# E-mail addresses, in a real message. ---------------------------------------------------------------------------------


@pytest.mark.parametrize("case", cases("email", "attacks"), ids=note_of)
def test_an_attack_on_an_email_address_is_refused(case: Case) -> None:
    assert written(Kind("email"), case.text) is None


@pytest.mark.parametrize("case", cases("email", "good"), ids=note_of)
def test_a_good_email_address_is_the_only_recipient_of_a_message(case: Case) -> None:
    message = EmailMessage()
    message["To"] = case.becomes
    message.set_content("x")
    read = message_from_bytes(message.as_bytes(), policy=policy.default)
    assert read.get_all("To") == [case.becomes]
    assert getaddresses([case.becomes]) == [("", case.becomes)]
    assert read["Bcc"] is None


@given(st.emails())
def test_an_email_address_in_its_one_form_stays_as_it_is(text: str) -> None:
    found = written(Kind("email"), text)
    assert found is None or written(Kind("email"), found) == found


# SQL, in a real database. ---------------------------------------------------------------------------------------------


@pytest.fixture
def users() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE users (name TEXT, password TEXT)")
    connection.execute("INSERT INTO users VALUES ('ada', 'secret')")
    yield connection
    connection.close()


def test_no_attack_on_sql_is_taken_for_a_name() -> None:
    passed = [case for case in cases("sql", "attacks") if written(Kind("sql"), case.text) is not None]
    assert passed == []


def test_an_attack_on_sql_is_harmless_as_a_bound_value(users: sqlite3.Connection) -> None:
    for case in cases("sql", "attacks"):
        assert users.execute("SELECT * FROM users WHERE name = ?", (case.text,)).fetchall() == [], case
        users.execute("INSERT INTO users VALUES (?, 'x')", (case.text,))
        assert users.execute("SELECT name FROM users WHERE password = 'x'").fetchall() == [(case.text,)], case
        users.execute("DELETE FROM users WHERE password = 'x'")
    assert users.execute("SELECT * FROM users").fetchall() == [("ada", "secret")]


def test_a_good_name_in_sql_is_a_table_and_a_column() -> None:
    connection = sqlite3.connect(":memory:")
    for case in cases("sql", "good"):
        name = quote_name(case.becomes)
        connection.execute(f"CREATE TABLE {name} ({name} TEXT)")
        assert connection.execute(f"SELECT t.{name} FROM {name} AS t").fetchall() == []
    connection.close()


def test_a_quoted_name_is_a_name_whatever_is_in_it(users: sqlite3.Connection) -> None:
    for case in cases("sql", "attacks"):
        if "\0" not in case.text:
            name = quote_name(case.text)
            shown = users.execute(f"SELECT password AS {name} FROM users").description[0][0]
            assert shown == case.text
    assert users.execute("SELECT * FROM users").fetchall() == [("ada", "secret")]
    for bad in ("", "a\0b"):
        with pytest.raises(ValueError, match="name in SQL"):
            quote_name(bad)


def test_a_name_in_sql_is_one_of_those_that_are_declared() -> None:
    kind = Kind("sql", names=("createdAt", "order"))
    assert written(kind, "CREATEDAT") == "createdAt"
    assert written(kind, "password") is None


# Words of a command line, given to a real program. --------------------------------------------------------------------

ECHO = "import sys, json; json.dump(sys.argv[1:], sys.stdout)"
OPTIONS = """
import argparse, json, sys
parser = argparse.ArgumentParser(add_help=False)
parser.add_argument("words", nargs="*")
for option in ("-o", "-r", "-f", "-I", "--output", "--upload-pack", "--checkpoint-action", "-exec"):
    parser.add_argument(option, dest="evil")
found = parser.parse_args()
json.dump([found.evil, found.words], sys.stdout)
"""


def told(script: str, words: list[str]) -> Json:
    done = subprocess.run(argv(sys.executable, "-c", script, *words), capture_output=True, check=True)
    found: Json = json.loads(done.stdout)
    return found


def test_an_attack_on_a_command_line_is_refused_or_arrives_as_one_word() -> None:
    found = {case.text: written(Kind("shell_word"), case.text) for case in cases("shell_word", "attacks")}
    taken = [text for text in found.values() if text is not None]
    assert told(ECHO, taken) == taken
    refused = [text for text, passed in found.items() if passed is None]
    assert all(text.startswith("-") or any(ord(sign) < 32 or ord(sign) == 127 for sign in text) for text in refused)
    assert refused


def test_a_good_word_arrives_as_it_is() -> None:
    words = [case.becomes for case in cases("shell_word", "good")]
    assert told(ECHO, words) == words


def test_words_after_the_mark_are_no_options_even_where_dashes_are_taken() -> None:
    kind = Kind("shell_word", dashes=True)
    words = [each for case in cases("shell_word", "attacks") if (each := written(kind, case.text)) is not None]
    assert any(word.startswith("-o") for word in words)
    done = subprocess.run(argv(sys.executable, "-c", OPTIONS, words=words), capture_output=True, check=True)
    evil, came = json.loads(done.stdout)
    assert evil is None
    assert [word for word in came if word != "--"] == [word for word in words if word != "--"]
    with pytest.raises(ValueError, match="NUL"):
        argv("x", words=["a\0b"])


# Text in HTML, read by a real parser. ---------------------------------------------------------------------------------


class Reader(HTMLParser):
    """What a page holds."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, list[tuple[str, str | None]]]] = []
        self.text = ""
        self.others: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, attrs))

    def handle_data(self, data: str) -> None:
        self.text += data

    def handle_comment(self, data: str) -> None:
        self.others.append(data)

    def handle_decl(self, decl: str) -> None:
        self.others.append(decl)

    handle_pi = unknown_decl = handle_comment


@pytest.mark.parametrize("case", [*cases("html", "attacks"), *cases("html", "good")], ids=note_of)
def test_text_in_html_is_refused_or_shows_as_it_is(case: Case) -> None:
    text = written(Kind("html"), case.text)
    if text is None:
        assert any(ord(sign) < 32 for sign in case.text)
        return
    assert text == case.text
    page = Reader(f"<p title=\"{escape_html(text)}\" lang='{escape_html(text)}'>{escape_html(text)}</p>")
    assert page.tags == [("p", [("title", text), ("lang", text)])]
    assert page.text == text
    assert page.others == []


# Kinds in a schema. ---------------------------------------------------------------------------------------------------

URL: JsonObject = {"type": "string", "format": "uri", "x-kind": "url"}
NULL: JsonObject = {"type": "null"}


@pytest.mark.parametrize(
    ("node", "value", "meant"),
    [
        (URL, "HTTP://A.org", "http://a.org/"),
        ({"anyOf": [URL, NULL]}, "HTTP://A.org", "http://a.org/"),
        ({"anyOf": [URL, NULL]}, None, None),
        ({"oneOf": [URL, {"type": "integer"}]}, "HTTP://A.org", "http://a.org/"),
        ({"anyOf": [URL, {"const": "none"}]}, "none", "none"),
        ({"type": "array", "items": URL}, ["http://a.org/", "HTTP://B.org"], ["http://a.org/", "http://b.org/"]),
        ({"type": "array", "items": URL}, "HTTP://B.org", ["http://b.org/"]),
        ({"type": "object", "additionalProperties": URL}, {"x": "HTTP://B.org"}, {"x": "http://b.org/"}),
        (
            {"allOf": [{"type": "string"}, {"x-kind": {"name": "url", "hosts": ["b.org"]}}]},
            "HTTP://B.org",
            "http://b.org/",
        ),
        ({"anyOf": [URL, {"const": ""}]}, "", ""),
    ],
)
def test_a_kind_holds_wherever_it_stands(node: JsonObject, value: Json, meant: Json) -> None:
    checked = check(node, value, "a")
    assert (checked.problems, checked.arguments) == ((), {"a": meant})


def test_a_kind_holds_behind_a_reference() -> None:
    document: JsonObject = {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/Page"}},
        "$defs": {"Page": {"type": "object", "properties": {"link": URL, "next": {"$ref": "#/$defs/Page"}}}},
    }
    schema = compile_schema(document, where="tool 'x'")
    assert schema.check({"a": {"next": {"link": "HTTP://B.org"}}}).arguments == {
        "a": {"next": {"link": "http://b.org/"}}
    }
    (problem,) = schema.check({"a": {"next": {"link": "http://10.0.0.1"}}}).problems
    assert (problem.path, problem.rule) == ("a.next.link", "kind")
    assert problem.expected == "an address of the open internet"


def test_the_form_of_a_kind_is_no_coercion() -> None:
    checked = check({"anyOf": [URL, {"type": "integer"}]}, "HTTP://A.org", coerce=False)
    assert checked.arguments == {"a": "http://a.org/"}
    assert checked.repairs == ('a: "HTTP://A.org" read as "http://a.org/"',)
    assert check({"anyOf": [URL, {"type": "integer"}]}, "5", coerce=False).problems
    assert check(URL, "", coerce=False).problems


def test_a_blank_of_a_kind_is_missing_where_it_is_required_and_not_given_elsewhere() -> None:
    (problem,) = check(URL, "  ", "a").problems
    assert problem.rule == "required"
    checked = check(URL, "  ")
    assert (checked.arguments, checked.repairs) == ({}, ('a: "  " (string) taken as not given',))


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("pth", "'pth'"),
        ({"name": "url", "under": "/data"}, "has no 'under'"),
        ({"name": "path", "undr": "/data"}, "undr"),
        ({"name": "path", "under": "data"}, "absolute folder"),
        ({"name": "path", "under": "/data/../x"}, "absolute folder"),
        ({"name": "url", "hosts": ["Example.org"]}, "lower case"),
        (5, "no kind"),
    ],
)
def test_a_kind_that_there_is_not_is_no_schema(said: Json, told: str) -> None:
    node: JsonObject = {"type": "string", "x-kind": said}
    with pytest.raises(BadTool, match=r"tool 'x': properties\.a") as caught:
        schema_of(node)
    assert told in str(caught.value)
    assert schema_of(node, foreign=True).check({"a": "anything"}).problems == ()  # another party's own word


def test_a_kind_is_said_of_text() -> None:
    with pytest.raises(BadTool, match="a kind is said of text"):
        schema_of({"type": "array", "items": {"type": "string"}, "x-kind": "path"})


@pytest.mark.parametrize("kind", [Kind("url"), Kind("path", under="/data", relative=True), Kind("sql", names=("a",))])
def test_a_kind_comes_back_from_its_schema(kind: Kind) -> None:
    assert read_kind(kind.schema()["x-kind"]) == kind


def test_a_wrong_option_is_told_where_it_is_written() -> None:
    with pytest.raises(UsageError, match="has no 'under'; it has schemes, hosts, private"):
        Kind("url", under="/data")
