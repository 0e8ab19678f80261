"""`actum secrets`: values come from a prompt or from stdin, are shown nowhere, and each act is on record."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from actum.compose.mcp import mcp_tokens
from actum.core.user import User
from actum.storage.tokens import Granted
from actum.toolsets.mcp.stdio import PASSED_ON

from .person import Person

Run = Callable[..., Result]
KEY, NEW_KEY = "0123456789abcdef" * 4, "fedcba9876543210" * 4
TOOL = '''
from actum import Context, tool


@tool(effects={"read"})
def crm(ctx: Context) -> str:
    """Ask the customers' register."""
    value = ctx.secret("crm_key")
    return f"{len(value)} characters, the last is {value[-1]}"
'''


@pytest.fixture
def key(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACTUM_SECRETS_KEY", KEY)


@pytest.mark.usefixtures("key")
def test_a_secret_is_set_from_stdin_listed_without_its_value_used_by_a_tool_and_removed(run: Run, home: Path) -> None:
    (home / "crm.py").write_text(TOOL)
    shown = [run("secrets", "set", "crm_key", input="hunter2\n")]
    shown += [run("secrets", "set", "crm_key", "--user", "ann", "--tenant", "north", input="hunter3\r\n")]
    listed = run("secrets", "list", "--json")
    told = json.loads(listed.stdout)["items"]
    assert [(each["name"], each["user"], each["tenant"], each["kept_in"]) for each in told] == [
        ("crm_key", "", "", "file"),
        ("crm_key", "ann", "north", "file"),
    ]
    assert all(each.keys() == {"name", "user", "tenant", "set_at", "kept_in"} for each in told)
    called = run("call", "crm", "--tools", "crm.py", "--yes")
    assert called.stdout.strip() == "7 characters, the last is 2"
    shown += [listed, run("secrets"), run("secrets", "rm", "crm_key"), run("secrets", "rm", "crm_key")]
    assert [each.exit_code for each in shown] == [0, 0, 0, 0, 0, 1]
    assert run("call", "crm", "--tools", "crm.py", "--yes").exit_code == 1
    audit = run("audit", "--json")
    lines = json.loads(audit.stdout)["items"]
    acts = [(each["tool"], each["arguments"]) for each in lines if each["decision"] == "administered"]
    assert acts == [
        ("secrets.set", {"name": "crm_key"}),
        ("secrets.set", {"name": "crm_key", "user": "ann", "tenant": "north"}),
        ("secrets.rm", {"name": "crm_key"}),
    ]
    state = home / ".local" / "state" / "actum"
    assert stat.S_IMODE((state / "secrets.json").stat().st_mode) == 0o600
    everything = "".join(each.output + each.stderr for each in [*shown, audit])
    everything += "".join(path.read_bytes().decode("latin-1") for path in state.iterdir())
    assert "hunter" not in everything


@pytest.mark.usefixtures("key")
def test_a_value_that_is_typed_is_not_shown(person: Callable[..., Person]) -> None:
    somebody = person("secrets", "set", "crm_key")
    somebody.sees("The value of crm_key (it is not shown): ")
    somebody.types("hunter2\n")
    somebody.sees("The secret crm_key is set")
    assert "hunter2" not in somebody.raw


@pytest.mark.usefixtures("key")
def test_a_value_is_never_an_argument_and_an_empty_one_or_a_bad_name_keeps_nothing(run: Run) -> None:
    for words, given, told in (
        (("crm_key", "hunter2"), "", "unexpected extra argument"),
        (("crm_key",), "", "the value of a secret is empty"),
        (("crm_key",), "\n", "the value of a secret is empty"),
        (("crm_key",), "a\0b", "is not a text"),
        (("crm_key",), "a" * 70_000, "more than 64 KiB"),
        (("crm key",), "v", "the name of a secret"),
    ):
        result = run("secrets", "set", *words, input=given)
        assert (result.exit_code, told in result.stderr) == (2, True), (words, result.stderr)
    assert json.loads(run("secrets", "list", "--json").stdout)["items"] == []
    assert json.loads(run("audit", "--json").stdout)["items"] == []


def test_without_a_key_or_a_keyring_nothing_is_set_and_variables_are_listed(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACTUM_SECRET_CRM_KEY", "hunter2")
    result = run("secrets", "set", "crm_key", input="v")
    assert (result.exit_code, "ACTUM_SECRETS_KEY_FILE" in result.stderr) == (2, True)
    (one,) = json.loads(run("secrets", "list", "--json").stdout)["items"]
    assert one == {"name": "crm_key", "user": "", "tenant": "", "set_at": None, "kept_in": "environment"}
    assert run("secrets", "rm", "crm_key").exit_code == 1


def test_a_key_is_changed_while_both_are_valid(run: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACTUM_SECRETS_KEY", KEY)
    run("secrets", "set", "crm_key", input="hunter2")
    assert "name the new key" in run("secrets", "rekey").stderr
    monkeypatch.setenv("ACTUM_SECRETS_NEW_KEY", NEW_KEY)
    assert run("secrets", "rekey").exit_code == 0
    refused = run("secrets", "rekey", "--finish")
    assert (refused.exit_code, "this is the old key" in refused.stderr) == (2, True)
    assert len(json.loads(run("secrets", "list", "--json").stdout)["items"]) == 1
    monkeypatch.setenv("ACTUM_SECRETS_KEY", NEW_KEY)
    assert run("secrets", "rekey", "--finish").exit_code == 0
    assert len(json.loads(run("secrets", "list", "--json").stdout)["items"]) == 1
    monkeypatch.setenv("ACTUM_SECRETS_KEY", KEY)
    old = run("secrets", "list")
    assert (old.exit_code, "does not open" in old.stderr) == (2, True)
    assert KEY not in old.stderr


def test_doctor_tells_of_logins_in_plain_text_and_of_a_file_that_is_damaged(
    run: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def found() -> tuple[str, str]:
        findings = {each["about"]: each for each in json.loads(run("doctor", "--json").stdout)}
        return findings["secrets"]["verdict"], findings["secrets"]["found"]

    environment = {"HOME": str(home)}
    granted = Granted(server="s", resource="s", issuer="i", token_endpoint="t", client_id="c", access_token="hunter2")
    with pytest.warns(UserWarning, match="logins are kept in plain text"):
        mcp_tokens(environment).keep(granted)
    plain = home / ".local" / "state" / "actum" / "tokens.json"
    assert found() == ("warn", f"logins lie in plain text in {plain}")
    monkeypatch.setenv("ACTUM_SECRETS_KEY", KEY)
    environment["ACTUM_SECRETS_KEY"] = KEY
    assert found()[0] == "ok"
    assert mcp_tokens(environment).granted(User(), "s") == granted
    assert not plain.exists()
    sealed = plain.with_name("secrets.json")
    assert found() == ("ok", f"0 secrets in {sealed}, the key: ACTUM_SECRETS_KEY")
    sealed.write_bytes(sealed.read_bytes()[:-5])
    assert found()[0] == "bad"


def test_neither_the_key_nor_a_variable_with_a_secret_is_handed_to_a_local_server() -> None:
    assert [name for name in PASSED_ON if name.startswith("ACTUM")] == []
