"""A command made from an operation: its arguments, options, completion, table, JSON and exit codes."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Literal

import pytest
import typer
from msgspec import Meta, Struct
from msgspec.structs import replace
from typer.testing import CliRunner, Result

from actum.cli.operated import group_of
from actum.core.errors import UnknownName, UsageError
from actum.core.json import JsonObject
from actum.features import (
    AnswerKind,
    AnswerText,
    ApiReply,
    ApiRequest,
    Application,
    Command,
    CommandFlag,
    CommandOption,
    FoundBy,
    ListColumn,
    Operation,
    Refusal,
    not_found,
)
from actum.server.api.operations import OPERATIONS

from .conftest import Run

Kind = Literal["page", "film"]


class Bookmark(Struct, frozen=True, kw_only=True):
    """A bookmark.

    Attributes:
        id: its id.
        url: where it leads.
        tags: words to find it by.
        at: when it was saved, in seconds since 1970.
    """

    id: str
    url: str
    tags: tuple[str, ...]
    at: float


class BookmarksQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Which bookmarks.

    Attributes:
        kind: only bookmarks of this kind.
        since: only those saved then or later, in seconds since 1970.
        limit: so many at most.
        cursor: `next` of the part before.
    """

    kind: Literal[Kind, ""] = ""
    since: float = 0.0
    limit: Annotated[int, Meta(ge=1, le=2)] = 2
    cursor: str = ""


class Bookmarks(Struct, frozen=True, kw_only=True):
    """A part of the list."""

    items: tuple[Bookmark, ...]
    next: str | None


class NewBookmark(Struct, frozen=True, forbid_unknown_fields=True):
    """A bookmark to save.

    Attributes:
        url: where it leads.
        stars: how good it is, to 5.
        tags: a word to find it by; may be repeated.
        is_public: whether others see the bookmark.
        about: more of it.
        is_checked: whether the address is looked at first.
        paper: what it is printed on.
        until: when it is thrown away, in seconds since 1970.
    """

    url: Annotated[str, Meta(min_length=1)]
    stars: Annotated[int, Meta(le=5)] | None = None
    tags: tuple[str, ...] = ()
    is_public: bool = False
    about: JsonObject | None = None
    is_checked: bool = True
    paper: Literal["", "rough", "smooth"] = ""
    until: float = 0.0


KEPT: dict[str, Bookmark] = {}
HEARD: list[ApiRequest[object, object]] = []


async def list_bookmarks(app: Application, asked: ApiRequest[BookmarksQuery, None]) -> ApiReply:
    HEARD.append(asked)
    found = [each for each in KEPT.values() if each.id > asked.query.cursor and each.at >= asked.query.since]
    part = tuple(found[: asked.query.limit])
    return ApiReply(Bookmarks(items=part, next=part[-1].id if len(found) > len(part) else None))


async def add_bookmark(app: Application, asked: ApiRequest[None, NewBookmark]) -> ApiReply:
    HEARD.append(asked)
    body = asked.body
    if body.url == "taken":
        raise Refusal(409, "taken", "This bookmark is there already.")
    made = Bookmark(id=f"bm_{len(KEPT)}", url=body.url, tags=body.tags, at=1000.0 * len(KEPT))
    KEPT[made.id] = made
    return ApiReply(made)


async def remove_bookmark(app: Application, asked: ApiRequest[None, None]) -> ApiReply:
    if KEPT.pop(asked.names["id"], None) is None:
        raise not_found("bookmark")
    return ApiReply(None, 204)


FOUND_BY = FoundBy(operation="listBookmarks", about=("url",), noun="bookmark")
BOOKMARKS = (
    Operation(
        id="listBookmarks",
        method="get",
        path="/v1/bookmarks",
        tag="bookmarks",
        summary="List the bookmarks.",
        scopes=("bookmarks",),
        query=BookmarksQuery,
        replies={200: AnswerKind(means="The bookmarks.", body=Bookmarks)},
        handler=list_bookmarks,
        command=Command(
            words=("bookmarks", "list"),
            options={"since": CommandOption(form="time")},
            columns=(
                ListColumn("id", "id"),
                ListColumn("where", "url"),
                ListColumn("tags", "tags"),
                ListColumn("when", "at", "moment"),
            ),
            empty="Nothing is kept.",
        ),
    ),
    Operation(
        id="addBookmark",
        method="post",
        path="/v1/bookmarks",
        tag="bookmarks",
        summary="Save a bookmark.",
        scopes=("bookmarks",),
        body=NewBookmark,
        replies={200: AnswerKind(means="The bookmark.", body=Bookmark)},
        handler=add_bookmark,
        command=Command(
            words=("bookmarks", "add"),
            arguments=("url",),
            options={
                "tags": CommandOption(names=("--tag",), metavar="WORD"),
                "paper": CommandOption(
                    flags=(CommandFlag("--rough", "rough", "Rough."), CommandFlag("--smooth", "smooth", "Smooth."))
                ),
                "until": CommandOption(form="end"),
            },
            exit_code=lambda made: 3 if made.url == "later" else 0,
        ),
    ),
    Operation(
        id="removeBookmark",
        method="delete",
        path="/v1/bookmarks/{id}",
        tag="bookmarks",
        summary="Remove a bookmark.",
        scopes=("bookmarks",),
        names={"id": "The id of a bookmark."},
        replies={204: AnswerKind(means="It is removed.")},
        handler=remove_bookmark,
        command=Command(
            words=("bookmarks", "remove"),
            found_by=FOUND_BY,
            show=lambda _, names: [AnswerText("{id} is removed.", values=names)],
        ),
    ),
)


@pytest.fixture
def app(home: Path) -> typer.Typer:
    KEPT.clear()
    HEARD.clear()
    return group_of(BOOKMARKS, "What was kept.")


def typed(app: typer.Typer, *words: str) -> Result:
    return CliRunner().invoke(app, words)


def kept(*urls: str) -> None:
    for number, url in enumerate(urls):
        KEPT[f"bm_{number}"] = Bookmark(id=f"bm_{number}", url=url, tags=("a", "b"), at=1000.0 * number)


def test_fields_of_the_body_are_arguments_and_options_of_their_types(app: typer.Typer) -> None:
    words = ["add", "http://x", "--stars", "4", "--tag", "a", "--tag", "b", "--is-public", "--about", '{"by": "ann"}']
    assert typed(app, *words, "--journal", "b.db").exit_code == 0
    assert HEARD[-1].body == NewBookmark("http://x", 4, ("a", "b"), True, {"by": "ann"})
    assert typed(app, "add", "x", "--no-is-checked", "--journal", "b.db").exit_code == 0
    assert HEARD[-1].body == NewBookmark("x", is_checked=False)
    assert typed(app, "add", "y", "--journal", "b.db").exit_code == 0
    assert HEARD[-1].body == NewBookmark("y")
    assert typed(app, "add", "z", "--smooth", "--until", "2100-01-01T00:00Z", "--journal", "b.db").exit_code == 0
    assert HEARD[-1].body == NewBookmark("z", paper="smooth", until=4_102_444_800.0)
    page = typed(app, "add", "--help").stdout
    for said in (
        "URL",
        "Where it leads.",
        "--tag",
        "WORD",
        "How good it is, to 5.",
        "Whether others see the bookmark.",
    ):
        assert said in page, said


def test_a_value_that_does_not_fit_is_told_and_nothing_is_done(app: typer.Typer) -> None:
    for words, told in (
        (["add", "x", "--stars", "6"], "<= 5"),
        (["add", ""], "length >= 1"),
        (["add", "x", "--about", "[1]"], "about"),
        (["list", "--kind", "song"], "there is no kind 'song'; there are: film, page"),
        (["list", "--since", "soon"], "is no time"),
        (["add", "x", "--rough", "--smooth"], "--rough and --smooth: give one of the two"),
        (["add", "x", "--until", "1h ago"], "is no time"),
    ):
        result = typed(app, *words, "--journal", "b.db")
        assert isinstance(result.exception, UsageError), words
        assert told in str(result.exception), words
    assert typed(app, "add", "--journal", "b.db").exit_code == 2
    assert typed(app, "add", "x", "--stars", "many").exit_code == 2
    assert "a journal in memory keeps nothing" in str(typed(app, "add", "x", "--journal", "memory").exception)
    assert KEPT == {}


def test_a_list_is_a_table_and_goes_over_parts(app: typer.Typer) -> None:
    assert typed(app).stderr == "Nothing is kept.\n"  # without a word more, the list
    assert typed(app, "list", "--journal", "memory").stderr == "Nothing is kept.\n"
    kept("u0", "u1", "u2", "u3", "u4")
    lines = typed(app, "list", "--journal", "memory").stdout.splitlines()
    assert [line.split()[:4] for line in lines[:2]] == [["id", "where", "tags", "when"], ["bm_0", "u0", "a", "b"]]
    assert len(lines) == 6
    assert [request.query.limit for request in HEARD[-3:]] == [2, 2, 2]  # type: ignore[attr-defined]
    told = json.loads(typed(app, "list", "-n", "3", "--json", "--journal", "memory").stdout)
    assert ([each["id"] for each in told["items"]], told["next"]) == (["bm_0", "bm_1", "bm_2"], "bm_2")
    assert (
        len(typed(app, "list", "--since", "1970-01-01T00:50:00+00:00", "--journal", "memory").stdout.splitlines()) == 3
    )


def test_what_a_path_names_is_found_by_the_beginning_of_its_id_or_by_last(app: typer.Typer) -> None:
    kept("u0", "u1", "u2")
    assert typed(app, "remove", "bm_1", "--journal", "b.db").stdout == "bm_1 is removed.\n"
    for named, told in (
        ("bm_", "2 bookmarks begin with 'bm_': write more of the id"),
        ("bm_1", "there is no bookmark 'bm_1': `actum bookmarks list` shows which there are"),
        ("", "there is no bookmark ''"),
    ):
        error = typed(app, "remove", named, "--journal", "b.db").exception
        assert isinstance(error, UnknownName)
        assert told in str(error)
    assert typed(app, "remove", "last", "--json", "--journal", "b.db").stdout == "{}\n"
    assert list(KEPT) == ["bm_2"]
    complete = {"_ROOT_COMPLETE": "complete_zsh", "_TYPER_COMPLETE_ARGS": "root remove bm"}
    assert '"bm_2":"u2"' in CliRunner().invoke(app, [], prog_name="root", env=complete).stdout


def test_an_answer_is_told_field_by_field_and_may_say_how_the_command_ends(app: typer.Typer) -> None:
    words = ["add", "later", "--tag", "a", "--journal", "b.db"]
    result = CliRunner().invoke(app, words, standalone_mode=False)
    assert result.return_value == 3
    assert [line.split() for line in result.stdout.splitlines()] == [
        ["id", "bm_0"],
        ["url", "later"],
        ["tags", "a"],
        ["at", "0.0"],
    ]
    assert isinstance(typed(app, "add", "taken", "--journal", "b.db").exception, Refusal)


def test_a_list_that_comes_back_to_the_same_place_ends(home: Path) -> None:
    async def round_and_round(app: Application, asked: ApiRequest[BookmarksQuery, None]) -> ApiReply:
        HEARD.append(asked)
        return ApiReply(Bookmarks(items=(), next="here"))

    HEARD.clear()
    app = group_of([replace(BOOKMARKS[0], handler=round_and_round)], "Round.")
    assert typed(app, "list", "--journal", "memory").stderr == "Nothing is kept.\n"
    assert len(HEARD) == 2


class Odd(Struct, frozen=True, forbid_unknown_fields=True):
    """A body.

    Attributes:
        journal: means something else in every command.
    """

    journal: str = ""


def test_an_operation_that_can_not_be_a_command_is_refused_by_its_name() -> None:
    odd = Command(words=("bookmarks", "odd"))
    for command, told in (
        (odd, "the operation addBookmark can not be a command: 'journal' means something else in every command"),
        (replace(odd, arguments=("nope",), options=HIDDEN), "has a field 'nope'"),
        (replace(odd, found_by=FOUND_BY, options=HIDDEN), "there is no operation 'listBookmarks' beside it"),
    ):
        with pytest.raises(UsageError, match=re.escape(told)):
            group_of([replace(BOOKMARKS[1], body=Odd, command=command)], "Odd.")
    group_of([replace(BOOKMARKS[1], body=Odd, command=replace(odd, options=HIDDEN))], "Odd.")


HIDDEN = {"journal": CommandOption(is_hidden=True)}


def test_the_user_of_this_machine_asks_as_an_administrator_of_one_tenant_or_of_all(app: typer.Typer) -> None:
    typed(app, "list", "--tenant", "north", "--journal", "memory")
    asked = HEARD[-1]
    assert (asked.who.tenant, asked.tenant, asked.everywhere) == ("north", "north", False)
    assert {"admin", "bookmarks"} <= set(asked.who.scopes)
    typed(app, "list", "--journal", "memory")
    assert (HEARD[-1].who.tenant, HEARD[-1].tenant) == ("", None)


_ALONE = """
import contextlib, io, json, sys
for name in {extras!r}:
    sys.modules[name] = None
from actum.cli.app import app
ended = []
for words in {commands!r}:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as stderr:
        try:
            app(words)
        except SystemExit as end:
            ended.append([end.code or 0, stderr.getvalue()])
print(json.dumps(ended))
"""
EXTRAS = (
    *("a2a", "cel", "celery", "cronsim", "cryptography", "grpc", "httptools", "httpx", "jinja2", "jwt", "keyring"),
    *("llguidance", "mcp", "numpy", "psycopg", "pydantic_monty", "ruamel", "starlette", "torch", "transformers"),
    *("uvicorn", "uvloop"),
)


def test_every_command_of_an_operation_works_without_an_extra(home: Path) -> None:
    """A refusal in plain words is an answer, too: what is not there can not be cancelled."""
    made = [command for each in OPERATIONS for command in each.commands]
    commands = [
        [*command.words, *(["x"] if command.found_by and not command.default else []), "--journal", "runs.db"]
        for command in made
    ]
    assert commands
    done = subprocess.run(
        [sys.executable, "-c", _ALONE.format(extras=EXTRAS, commands=commands)],
        capture_output=True,
        text=True,
        check=True,
    )
    ended = json.loads(done.stdout)
    assert len(ended) == len(commands)
    for words, (code, stderr) in zip(commands, ended, strict=True):
        assert code in (0, 2), (words, stderr)
        assert "Error" not in stderr, (words, stderr)


def test_a_refusal_ends_a_command_with_misuse_and_is_json_where_that_is_wanted(run: Run) -> None:
    refused = run("tasks", "show", "last", "--json", "--journal", "runs.db")
    assert refused.exit_code == 2
    assert json.loads(refused.stdout)["error"]["message"].startswith("there is no task 'last'")
