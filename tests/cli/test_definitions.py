"""A kind of definitions that somebody else brings in a few lines: its commands, its operations, its tenants."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from actum.compose.administration import open_application
from actum.compose.features import features_of
from actum.compose.settings import read_settings
from actum.core.errors import UsageError
from actum.core.identity import Identity
from actum.core.json import JsonObject
from actum.features import ApiReply, ApiRequest, DefinitionKind, Feature, Refusal
from actum.features.feature import FeatureOn, feature_set
from actum.server.api.operations import recorded
from tests.packages import Installing

Run = Callable[..., Result]
RECORD = ("--journal", "runs.db")
NOTES = """
from actum.features import BadText, DefinitionKind, Feature, ReadDefinition, TextProblem


def read(text):
    if "TODO" in text:
        raise BadText([TextProblem("something is left to do", line=text[: text.index("TODO")].count("\\\\n") + 1)])
    return ReadDefinition(about=text.partition("\\\\n")[0])


NOTE = DefinitionKind(name="note", plural="notes", read=read, empty="There are no notes yet.")
FEATURE = Feature(name="notes", title="Notes.", definitions=(NOTE,))
""".replace("\\\\", "\\")


@pytest.fixture
def notes(home: Path, packages: Installing) -> Path:
    packages.install("acme-notes", NOTES, notes="FEATURE")
    (home / "actum.toml").write_text("[notes]\n", "utf-8")
    return home


def told(result: Result) -> str:
    assert result.exit_code == 0, result.output
    return result.stdout.strip()


def test_what_a_stranger_says_in_a_few_lines_is_written_published_compared_and_taken_back(
    run: Run, notes: Path
) -> None:
    hello = notes / "hello.txt"
    assert run("notes", "list", *RECORD).stderr == "There are no notes yet.\n"
    hello.write_text("Hello.\nTODO\n")
    bad = run("notes", "publish", "hello.txt", *RECORD)
    assert (bad.exit_code, "line 2, column 1: something is left to do" in bad.stderr) == (2, True)
    hello.write_text("Hello.\nOne.\n")
    assert told(run("notes", "publish", "./hello.txt", *RECORD)) == "hello@1 is published."
    hello.write_text("Hello.\nTwo.\n")
    assert told(run("notes", "diff", "hello", "hello.txt", *RECORD)).splitlines() == [
        '- line 2: "One." → null',
        '+ line 2: null → "Two."',
    ]
    assert json.loads(told(run("notes", "publish", "hello.txt", "--json", *RECORD)))["number"] == 2
    assert told(run("notes", "show", "hello@1", *RECORD)) == "Hello.\nOne."
    assert told(run("notes", "rollback", "hello", "1", *RECORD)) == "hello@3 is published."
    versions = json.loads(told(run("notes", "versions", "hello", "--json", *RECORD)))["items"]
    assert [(each["number"], each["again"]) for each in versions] == [(3, 1), (2, 0), (1, 0)]
    told_of = "hello@3 is no longer in use; to publish it anew: actum notes rollback hello 3"
    assert told(run("notes", "unpublish", "hello", *RECORD)) == told_of
    audited = [line["tool"] for line in json.loads(told(run("audit", "--json", *RECORD)))["items"]]
    assert audited == ["notes.publish", "notes.publish", "notes.rollback", "notes.unpublish"]
    page = run("notes", "publish", "--help").stdout
    assert ("--revision" in page, "--tools" in page) == (True, False)


async def test_the_operations_of_a_kind_have_its_path_and_scope_and_each_tenant_has_its_own(notes: Path) -> None:
    settings = read_settings(notes, {}, {"journal": "memory"})
    features = features_of(settings)
    operations = {each.id: each for each in recorded(features)}
    assert {each.path.removeprefix("/v1/notes") for each in operations.values()} == {
        *("", "/{name}", "/{name}/draft", "/{name}/check", "/{name}/publish", "/{name}/rollback"),
        *("/{name}/unpublish", "/{name}/versions", "/{name}/diff"),
    }
    assert {each.scopes for each in operations.values()} == {("notes",)}
    async with open_application(settings) as app:

        async def ask(named: str, tenant: str, body: JsonObject | None = None, **query: object) -> object:
            known = operations[named]
            asked = ApiRequest(
                named,
                Identity(principal="ann", tenant=tenant, key_id="k", scopes=("notes",)),
                {"name": "hello"},
                known.query(**query) if known.query is not None else None,
                known.body(**(body or {})) if known.body is not None else None,
            )
            answer = await known.handler(app, asked)
            assert isinstance(answer, ApiReply)
            return answer.body

        await ask("saveNoteDraft", "north", {"text": "Hello.\nOne.\n", "revision": 0})
        refusals: list[tuple[str, str, JsonObject, int, str]] = [
            ("saveNoteDraft", "north", {"text": "x", "revision": 0}, 409, "stale"),
            ("publishNote", "north", {"revision": 7}, 409, "stale"),
            ("publishNote", "", {}, 404, "not_found"),
            ("getNote", "north", {}, 404, "not_found"),
            ("getNoteDraft", "", {}, 404, "not_found"),
            ("unpublishNote", "north", {}, 404, "not_found"),
        ]
        for operation, tenant, body, status, code in refusals:
            with pytest.raises(Refusal) as refused:
                await ask(operation, tenant, body)
            assert (refused.value.details.status, refused.value.details.code) == (status, code), operation
        assert (await ask("listNotes", "north")).items == ()  # type: ignore[attr-defined]
        (drafted,) = (await ask("listNotes", "north", drafts=True)).items  # type: ignore[attr-defined]
        assert (drafted.name, drafted.version) == ("hello", 0)
        await ask("publishNote", "north")
        (line,) = (await ask("listNotes", "north")).items  # type: ignore[attr-defined]
        assert (line.about, line.version) == ("Hello.", 1)
        assert (await ask("getNote", "north")).text == "Hello.\nOne.\n"  # type: ignore[attr-defined]
        assert (await ask("listNotes", "", drafts=True)).items == ()  # type: ignore[attr-defined]
        (problem,) = (await ask("checkNote", "north", {"text": "TODO"})).problems  # type: ignore[attr-defined]
        assert (problem.message, problem.line) == ("something is left to do", 1)


def test_a_kind_whose_name_is_taken_is_refused_by_name() -> None:
    mine = DefinitionKind(name="note", plural="notes")
    for kinds in (
        [Feature(name="a", title="A.", definitions=(mine,)), Feature(name="b", title="B.", definitions=(mine,))],
        [Feature(name="flows", title="Flows.", definitions=(DefinitionKind(name="workflow", plural="flows"),))],
    ):
        with pytest.raises(UsageError, match="and this name is taken"):
            feature_set([FeatureOn(feature=each, package="acme") for each in kinds])
    with pytest.raises(UsageError, match="kind of definitions"):
        DefinitionKind(name="My Note", plural="notes")
