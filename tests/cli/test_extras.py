"""Packages that are not installed, and settings that a server would refuse."""

from __future__ import annotations

import json
import re
import sys
import tomllib
from pathlib import Path

import pytest

from actum.cli.edge import tell
from actum.compose.extras import EXTRAS, SERVES, extra_of, missing_extras
from actum.compose.settings import read_settings
from actum.journal.memory import MemoryJournal

from .conftest import Run

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def without(monkeypatch: pytest.MonkeyPatch, *extras: str) -> None:
    """Make this process one in which the packages of these extras are not installed."""
    for name in {module for extra in extras for module in EXTRAS[extra]}:
        monkeypatch.setitem(sys.modules, name, None)


def test_every_extra_is_known_and_all_has_every_extra_but_local() -> None:
    extras = PROJECT["optional-dependencies"]
    assert set(EXTRAS) == set(extras) - {"all"}
    assert set(extras["all"]) == {
        each for name, wanted in extras.items() if name not in ("all", "local") for each in wanted
    }
    assert not missing_extras(set(EXTRAS) - {"local"})
    assert not [each for each in extras["all"] if each.startswith("actum")], (
        "a name that is not registered is asked for"
    )


@pytest.mark.parametrize(
    ("lacking", "words", "settings", "told"),
    [
        (("server",), ("serve",), "", "actum[server]"),
        (("mcp",), ("serve",), "", "actum[mcp]"),
        (("server", "mcp"), ("serve",), "", "actum[mcp,server]"),
        (
            ("celery", "mcp", "server", "workflow"),
            ("serve",),
            '[tasks]\ndispatcher = "celery"\n[workflows.greet]\nfile = "greet.yaml"',
            "actum[celery,mcp,server,workflow]",
        ),
        (("postgres",), ("serve",), 'journal = "postgresql://h/d"', "actum[postgres]"),
        (("policy",), ("serve",), 'policy = "policy.toml"', "actum[policy]"),
        (("monty",), ("serve",), '[sandbox]\npython = "monty"', "actum[monty]"),
        (("a2a",), ("serve",), '[a2a.friend]\nurl = "https://friend.example"', "actum[a2a,mcp]"),
        (
            ("server",),
            ("trigger", "add", "t", "--agent", "desk", "--say", "go", "--schedule", "0 7 * * *"),
            "",
            "actum[server]",
        ),
        (("server", "workflow"), ("trigger", "add", "t", "--workflow", "greet"), "", "actum[server,workflow]"),
        (("server",), ("trigger", "fire", "t"), "", "actum[server]"),
    ],
)
def test_what_is_not_installed_is_told_once_by_the_command_that_installs_all_of_it(
    run: Run,
    monkeypatch: pytest.MonkeyPatch,
    lacking: tuple[str, ...],
    words: tuple[str, ...],
    settings: str,
    told: str,
) -> None:
    Path("policy.toml").write_text("[[rules]]\nthen = 'allow'\nwhen = 'args.n < 3'\n", "utf-8")
    Path("actum.toml").write_text(settings, "utf-8")
    without(monkeypatch, *lacking)
    refused = run(*words)
    assert (refused.exit_code, refused.stderr.count("pip install")) == (2, 1), refused.stderr
    assert f"pip install '{told}'" in refused.stderr
    assert Path("actum.toml").read_text("utf-8") == settings


@pytest.mark.parametrize("extra", sorted(EXTRAS))
def test_a_module_that_is_missing_anywhere_is_told_as_its_extra(extra: str, capsys: pytest.CaptureFixture[str]) -> None:
    module = next((each for each in EXTRAS[extra] if extra_of(each) == extra), "")
    assert module or extra in ("keyring", "policy", "studio", "workflow"), "another extra brings the same"
    if module:
        assert tell(ModuleNotFoundError("No module", name=f"{module}.inner"), as_json=False) == 2
        assert f"pip install 'actum[{extra}]'" in " ".join(capsys.readouterr().err.split())


def test_servers_that_were_added_hide_nothing_else_where_their_extra_is_missing(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("mcp", "add", "files", "--no-jail", "--", "files-server").exit_code == 0
    Path("actum.toml").write_text('[agents.desk]\nmodel = "embedded"\n', "utf-8")
    without(monkeypatch, "mcp")
    for words in (("tools", "list"), ("run", "What is 2 + 3?"), ("run", "What is 2 + 3?", "--agent", "desk")):
        done = run(*words)
        assert done.exit_code == 0, done.stderr
        assert ("calculate" if words[0] == "tools" else "5") in done.stdout
    assert run("tools", "list").stderr.count("pip install 'actum[mcp]'") == 1
    for name in [name for name in sys.modules if name.startswith(("actum.toolsets.mcp", "actum.compose.mcp"))]:
        monkeypatch.delitem(sys.modules, name)  # what another test of this process has loaded
    refused = run("run", "What is 2 + 3?", "--mcp", "files")
    assert (refused.exit_code, refused.stderr.count("pip install 'actum[mcp]'")) == (2, 1), refused.stderr


REFUSED = {
    "policy": ('policy = "none.toml"', "none.toml"),
    "the policy of an agent": ('[agents.desk]\npolicy = "none.toml"', "none.toml"),
    "tools": ('tools = ["none.py"]', "none.py"),
    "a module of tools": ('tools = ["no_such_module:f"]', "no_such_module"),
    "certificate": ('[serve]\ncertificate = "none.pem"', "none.pem"),
    "a key without a certificate": ('[serve]\nkey_file = "none.pem"', "certificate"),
    "provider": ('model = "opnai:gpt-5"', "opnai"),
    "the provider of an agent": ('[agents.desk]\nmodel = "opnai:gpt-5"', "opnai"),
    "dialect": ('model = "http://127.0.0.1:1/v1#m"\ndialect = "hermez"', "hermez"),
    "address": ('[serve]\nhttp = "nowhere"', "nowhere"),
    "the address of the metrics": ('[serve]\nmetrics = "127.0.0.1:99999"', "99999"),
    "every address without a name": ('[serve]\nhttp = "0.0.0.0:8000"', "names"),
    "issuer": ('[serve]\nissuer = "https://issuer.example"', "--public"),
    "people without an issuer": ('[serve.login]\nclient_id = "x"', "issuer"),
    "workflow": ('[workflows.greet]\nfile = "none.yaml"', "none.yaml"),
    "the agent of a trigger": ('[triggers.t]\nagent = "none"\nsay = "go"\nschedule = "0 7 * * *"', "none"),
    "the schedule of a trigger": ('[triggers.t]\nagent = ""\nwake = "w"\nschedule = "at noon"', "noon"),
    "the upstream of a model": ('[models.fast]\nupstreams = ["opnai:gpt-5"]', "opnai"),
    "an agent in code": ('[agents.desk]\npython = "none.py:agent"', "none.py"),
    "the agent of a model": ('[models.fast]\nagent = "none"', "none"),
    "a key in a file": ('[models.fast]\nupstreams = [{model = "http://127.0.0.1:1#m", key = "x"}]', "secret:NAME"),
    "a broker of another kind": ('[tasks]\ndispatcher = "celery"\nbroker = "amqp://x"', "redis://"),
    "a collector that is none": ('[telemetry]\nendpoint = "collector:4318"', "endpoint"),
    "a share beyond 1": ("[telemetry]\nsample = 1.5", "sample"),
    "a header without its secret": (
        '[telemetry]\nendpoint = "http://127.0.0.1:1"\nheaders = {a = "${secret:NONE}"}',
        "secret:NONE",
    ),
    "a collector of a cloned folder": ('[telemetry]\nendpoint = "http://evil.example"\ncontent = true', "content"),
    "no looks": ("[telemetry]\nevery_s = 0", "every_s"),
    "an access log in no folder": ('[serve]\naccess_log = "none/x.log"', "none/x.log"),
}
LINES = {"a share beyond 1": 2, "a collector that is none": 2, "a header without its secret": 3, "no looks": 2}
"""Where the mistakes of these tables stand."""


@pytest.mark.parametrize(("settings", "told"), REFUSED.values(), ids=REFUSED)
def test_config_check_refuses_what_serve_would_refuse(run: Run, settings: str, told: str) -> None:
    Path("actum.toml").write_text(settings, "utf-8")
    checked = run("config", "check", "--json")
    assert (checked.exit_code, checked.exception is None or isinstance(checked.exception, SystemExit)) == (1, True)
    assert told in json.dumps(json.loads(checked.stdout)), checked.stdout
    assert not list(Path.cwd().glob("*.db")), "the journal is not opened"


@pytest.mark.row("A6")
@pytest.mark.parametrize("name", REFUSED)
def test_serve_refuses_what_config_check_refuses_and_listens_nowhere(run: Run, name: str) -> None:
    settings, told = REFUSED[name]
    told = "actum keys add" if name == "every address without a name" else told  # which is looked at first
    Path("actum.toml").write_text(settings, "utf-8")
    refused = run("serve", "--journal", "runs.db")
    assert refused.exit_code == 2, refused.stderr
    assert told in re.sub(r"\s+", " ", refused.stderr), refused.stderr
    assert "serves at" not in refused.stderr


@pytest.mark.row("A6")
@pytest.mark.parametrize("name", [*LINES, "an access log in no folder"])
def test_a_mistake_of_telemetry_and_of_the_access_log_is_told_with_its_file_and_line(run: Run, name: str) -> None:
    Path("actum.toml").write_text(REFUSED[name][0], "utf-8")
    (found,) = json.loads(run("config", "check", "--json").stdout)
    assert (Path(found["file"]).name, found["line"]) == ("actum.toml", LINES.get(name, 2))


def test_each_mistake_of_a_trigger_is_told_at_its_key_beside_the_other_mistakes(run: Run) -> None:
    (home := Path("actum.toml")).write_text(
        """journal = "memory"
[agents.desk]
model = "embedded"
[knowledge]
[triggers.nobody]
agent = "dask"
say = "go"
[triggers.noon]
agent = "desk"
say = "go"
schedule = "99 7 * * *"
[triggers.free]
agent = "desk"
say = "go"
mandate = {wrong = 1}
[triggers.told]
agent = "desk"
say = "go ${evnt.data}"
[triggers.lamp]
workflow = "lamp"
[triggers.slash]
workflow = "a/lamp.yaml"
""",
        "utf-8",
    )
    found = {each["line"]: each["problem"] for each in json.loads(run("config", "check", "--json").stdout)}
    told = {
        0: "the journal is in memory",
        4: "[knowledge]: this feature is a part of actum, is on, and has no table",
        6: "[triggers.nobody] agent: there is no agent 'dask'; there are: desk. Did you mean `desk`?",
        11: "[triggers.noon] schedule: the schedule '99 7 * * *' can not be read",
        15: "[triggers.free] mandate: this is no mandate",
        18: "[triggers.told] say: a trigger knows `event` alone, and not 'evnt'",
        22: "[triggers.slash] workflow: ",
    }
    assert {line: told.get(line, "?") in problem for line, problem in found.items()} == dict.fromkeys(told, True), found
    home.write_text('[triggers.lamp]\nworkflow = "lamp"\n', "utf-8")
    unpublished = run("config", "check")
    assert (unpublished.exit_code, "nobody has published the workflow 'lamp'" in unpublished.stderr) == (0, True)


@pytest.mark.parametrize(
    "settings",
    [
        "",
        '[agents.desk]\nmodel = "embedded"\n[serve]\nhttp = "127.0.0.1:1"\n[triggers.t]\nagent = "desk"\nsay = "go"',
        '[serve]\nhttp = "0.0.0.0:8000"\nnames = ["actum.example"]',
    ],
)
def test_config_check_lets_through_what_serve_would_serve(run: Run, settings: str) -> None:
    Path("actum.toml").write_text(settings, "utf-8")
    checked = run("config", "check")
    assert checked.exit_code == 0, checked.stderr


def test_config_check_needs_no_server_and_says_that_it_looked_at_none(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    without(monkeypatch, *SERVES)
    Path("actum.toml").write_text('model = "embedded"\n', "utf-8")
    assert run("config", "check").exit_code == 0
    Path("actum.toml").write_text('[serve]\nhttp = "nowhere"\n', "utf-8")
    checked = run("config", "check")
    assert (checked.exit_code, "actum[mcp,server]" in checked.stderr) == (0, True)


async def test_serve_says_that_a2a_is_left_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from actum import Agent  # noqa: PLC0415
    from actum.compose.serving import left_out  # noqa: PLC0415
    from actum.server.api.api import GivenAgents  # noqa: PLC0415

    settings = read_settings(tmp_path, {}, {})
    agents = GivenAgents({"desk": Agent("embedded", journal=MemoryJournal())})
    assert left_out(settings, agents) == []
    without(monkeypatch, "a2a")
    (line,) = left_out(settings, agents)
    assert "pip install 'actum[a2a]'" in line
    assert left_out(settings, GivenAgents({})) == []
