"""`actum keys`: shown once, listed without a secret, revoked for good; and a server's first start off the loopback."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest
from typer.testing import Result

from actum.cli.show.terminal import who
from tests.patience import HANGS_S
from tests.peers.programs import free_port

from .person import Person

Run = Callable[..., Result]
RECORD = ("--journal", "runs.db")


def listed_in(run: Run) -> list[dict[str, Any]]:
    """The keys, as `actum keys list --json` tells them."""
    items: list[dict[str, Any]] = json.loads(run("keys", "list", "--json", *RECORD).stdout)["items"]
    return items


def test_a_key_is_shown_once_with_all_that_it_may_do_and_is_dead_for_good_when_revoked(
    run: Run, tmp_path: Path
) -> None:
    words = "--user ann --role clerk --tenant north --scope tools --tool crm_* --agent desk --model gpt-5 --expires 30d"
    words += " --personal"
    added = run("keys", "add", "ci", *words.split(), *RECORD)
    assert added.exit_code == 0, added.output
    (text,) = added.stdout.split()
    assert text.startswith("ak_ci_")
    assert "first key of this journal" in added.stderr
    secret = text.split("_", 2)[2]
    (listed,) = listed_in(run)
    expires = listed.pop("expires_at")
    assert expires - listed.pop("made_at") == pytest.approx(30 * 86_400, abs=600)
    assert listed == {
        "id": "ci",
        "user": "ann",
        "roles": ["clerk"],
        "tenant": "north",
        "scopes": ["tools"],
        "tools": ["crm_*"],
        "models": ["gpt-5"],
        "agents": ["desk"],
        "speaks_for": "",
        "hang_up": "",
        "personal": True,
        "made_by": who(),
        "state": "valid",
        "revoked_at": None,
        "revoked_by": "",
    }
    assert "crm_*" in run("keys", "list", *RECORD).stdout
    revoked = run("keys", "revoke", "ci", *RECORD)
    assert (revoked.exit_code, "No key is valid any more" in revoked.stderr) == (0, True)
    assert "before" in run("keys", "revoke", "ci", *RECORD).stderr
    again = run("keys", "add", "ci", *RECORD)
    assert again.exit_code == 2
    assert "a name is never used for a second key" in again.stderr
    audited = json.loads(run("audit", "--json", *RECORD).stdout)["items"]
    assert [(line["decision"], line["tool"], line["principal"]) for line in audited] == [
        ("administered", "keys.add", who()),
        ("administered", "keys.revoke", who()),
    ]
    assert audited[0]["arguments"]["tools"] == ["crm_*"]
    for file in tmp_path.glob("runs.db*"):
        assert secret.encode() not in file.read_bytes(), file
    for command in ("keys list", "keys list --json", "audit --json", "runs show last", "runs list"):
        assert secret not in run(*command.split(), *RECORD).output


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("add", "a_b"), "no name for a key"),
        (("add", ""), "no name for a key"),
        (("add", "shared"), "can not be named"),
        (("add", "x", "--expires", "2020-01-01"), "is over"),
        (("add", "x", "--expires", "soon"), "no time"),
        (("add", "x", "--scope", "a b"), "one word"),
        (
            ("add", "x", "--scope", "tools", "--scope", "nonsense"),
            "there is no scope 'nonsense' here; there are: tools",
        ),
        (("add", "x", "--scope", "bookmarks"), "there is no scope 'bookmarks' here"),
        (("add", "x", "--role", " "), "write a name"),
        (("add", "x", "--tool", ""), "empty pattern"),
        (("revoke", "nobody"), "there is no key 'nobody'"),
        (("add", "x", "--journal", "memory"), "a journal in memory"),
    ],
)
def test_what_is_no_key_is_refused_and_nothing_is_kept(run: Run, words: tuple[str, ...], problem: str) -> None:
    refused = run("keys", *words, *(() if "--journal" in words else RECORD))
    assert (refused.exit_code, problem in refused.stderr) == (2, True), refused.output
    assert listed_in(run) == []


def test_a_scope_of_a_feature_or_of_the_operator_is_one_that_a_key_may_have(run: Run, tmp_path: Path) -> None:
    assert run("keys", "add", "own", "--scope", "files:read", *RECORD).exit_code == 0
    (listed,) = listed_in(run)
    assert listed["scopes"] == ["files:read"]


def test_the_first_start_that_others_reach_makes_a_key_for_a_person_and_the_next_makes_none(
    run: Run, tmp_path: Path
) -> None:
    port = free_port()
    words = ("mcp", "serve", "--http", f"0.0.0.0:{port}", "--allow-host", "127.0.0.1", *RECORD)
    person = Person(words, tmp_path)
    try:
        shown = person.sees("serving")
        (text,) = (word for word in shown.split() if word.startswith("ak_first_"))
        body = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        headers = {"accept": "application/json, text/event-stream"}
        statuses = [
            httpx2.post(f"http://127.0.0.1:{port}/mcp", json=body, headers=headers | more, timeout=HANGS_S).status_code
            for more in ({}, {"authorization": "Bearer wrong"}, {"authorization": f"Bearer {text}"})
        ]
        assert statuses[:2] == [401, 401]
        assert statuses[2] not in (401, 403)
    finally:
        person.close()
    (listed,) = listed_in(run)
    assert (listed["id"], listed["user"], listed["state"]) == ("first", who(), "valid")
    again = Person(words, tmp_path)
    try:
        assert "ak_first_" not in again.sees("serving")
    finally:
        again.close()


def test_a_service_without_a_terminal_refuses_its_first_start_and_names_the_command(run: Run) -> None:
    words = ("mcp", "serve", "--http", "0.0.0.0:0", "--allow-host", "127.0.0.1", *RECORD)
    for _ in range(2):
        refused = run(*words)
        assert (refused.exit_code, "actum keys add NAME" in refused.stderr) == (2, True), refused.output
        assert "ak_" not in refused.output
    assert listed_in(run) == []
    run("keys", "add", "ci", *RECORD)
    run("keys", "revoke", "ci", *RECORD)
    refused = run(*words)
    assert (refused.exit_code, "no key is valid any more" in refused.stderr) == (2, True), refused.output
