"""A feature that somebody else wrote, from its wheel, in a clean environment: found, on, used, switched off, gone."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
import urllib.error
import urllib.request
import venv
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from email.parser import Parser
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from actum.core.stored.key import new_key
from actum.storage.place import open_journal
from tests import warm
from tests.patience import HANGS_S
from tests.postgres import PostgresServer
from tests.sources import ROOT
from tests.test_wheel import SCRIPTS, needed, take_what_is_compiled

EXTRAS = frozenset({"mcp", "postgres", "server", "workflow"})
SHOWN = "bookmarks/saved"


def build(source: Path, folder: Path) -> Path:
    """The wheel of a package, with the pinned hatchling and without a network."""
    command = (sys.executable, "-m", "hatchling", "build", "--directory", str(folder), "--target", "wheel")
    subprocess.run(command, cwd=source, capture_output=True, check=True)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    sources = {
        "actum": ROOT,
        "actum-bookmarks": ROOT / "examples/feature_bookmarks",
        "actum-promises": ROOT / "examples/feature_promises",
    }
    return {name: build(source, tmp_path_factory.mktemp(name)) for name, source in sources.items()}


@pytest.fixture(scope="module")
def dependencies(tmp_path_factory: pytest.TempPathFactory, wheels: Mapping[str, Path]) -> Path:
    """A folder with links to the packages that a server needs, and to no other package."""
    folder = tmp_path_factory.mktemp("dependencies")
    for package in sorted(packages_of(wheels["actum"])):
        installed = distribution(package)
        for name in sorted({file.parts[0] for file in installed.files or () if file.parts[0] != ".."}):
            if not (folder / name).exists():
                (folder / name).symlink_to(Path(str(installed.locate_file(name))))
    return folder


def packages_of(wheel: Path) -> set[str]:
    """The packages that a wheel needs, with some of its extras."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        wanted = Parser().parsestr(archive.read(name).decode()).get_all("Requires-Dist") or []
    found: set[str] = set()
    for each in map(Requirement, wanted):
        if each.marker is None or any(each.marker.evaluate({"extra": extra}) for extra in EXTRAS | {""}):
            found |= {each.name} | needed(each.name, frozenset(each.extras))
    return found


class Environment:
    """A clean environment with actum in it; each test has a folder and a journal of its own there.

    Args:
        folder: where it is made.
        dependencies: the packages that actum needs.
        wheels: of actum and of the features.

    Attributes:
        home: the folder in which commands are typed.
    """

    def __init__(self, folder: Path, dependencies: Path, wheels: Mapping[str, Path]) -> None:
        self.home = folder
        self._wheels = wheels
        self._journal = ""
        place = folder / "environment"
        venv.create(place, with_pip=False, symlinks=os.name != "nt")
        self.scripts = place / SCRIPTS.name
        (self.packages,) = place.glob("[Ll]ib/**/site-packages")
        (self.packages / "dependencies.pth").write_text(f"{dependencies}\n", encoding="utf-8")
        self.install("actum")
        take_what_is_compiled(self.packages)

    def enter(self, home: Path, journal: str) -> None:
        """Type commands in another folder, with the file or the address of another journal."""
        self.home, self._journal = home, journal

    def install(self, name: str) -> None:
        how = ("--quiet", "--no-config", "--offline", "--no-cache", "--no-deps", "--link-mode=copy")
        self._uv("install", *how, str(self._wheels[name]))

    def uninstall(self, name: str) -> None:
        self._uv("uninstall", "--quiet", "--no-config", name)

    def _uv(self, *words: str) -> None:
        python = ("--python", str(self.scripts / "python"))
        subprocess.run([SCRIPTS / "uv", "pip", *words, *python], cwd=self.home, capture_output=True, check=True)

    @property
    def variables(self) -> dict[str, str]:
        return {"PATH": os.defpath, "HOME": str(self.home), "PYTHONUTF8": "1", "ACTUM_JOURNAL": self._journal}

    def set(self, text: str) -> None:
        (self.home / "actum.toml").write_text(text, encoding="utf-8")

    def types(self, *words: str, code: int = 0, **more: str) -> str:
        """What a command prints on both of its outputs."""
        command = [str(self.scripts / "python"), "-m", "actum", *words]
        ended: subprocess.CompletedProcess[str] = warm.run(
            command, cwd=self.home, env=self.variables | more, capture_output=True, text=True
        )
        assert ended.returncode == code, (words, ended.stdout, ended.stderr)
        return ended.stdout + ended.stderr

    def feature(self) -> str:
        """What `actum features` says of the feature: its name, its package, and whether it is on."""
        found = json.loads(self.types("features", "list", "--json"))
        return "; ".join(f"{each['name']} ({each['package']}): {each['state']}" for each in found)

    def doctor(self) -> str:
        """What `actum doctor` says of features."""
        ended = subprocess.run(
            [str(self.scripts / "actum"), "doctor", "--json"],
            cwd=self.home,
            env=self.variables,
            capture_output=True,
            text=True,
            check=False,
        )
        return "; ".join(str(each["found"]) for each in json.loads(ended.stdout) if each["about"] == "feature")

    @contextmanager
    def served(self) -> Iterator[str]:
        """A block in which a server runs; its address."""
        command = [str(self.scripts / "actum"), "serve", "--http", "127.0.0.1:0"]
        process = subprocess.Popen(command, cwd=self.home, env=self.variables, stderr=subprocess.PIPE, text=True)
        try:
            assert process.stderr is not None
            said = ""
            for line in process.stderr:
                said += line
                if found := re.search(r"actum serves at (http://[\d.:]+)", line):
                    yield found[1]
                    break
            else:
                raise AssertionError(said)
        finally:
            process.terminate()
            process.wait(HANGS_S)
            assert process.stderr is not None
            process.stderr.close()

    def keys(self, *wanted: tuple[str, str, str]) -> list[str]:
        """New keys, each of a user of a tenant, with a scope."""
        made = [new_key(user, principal=user, tenant=tenant, scopes=(scope,)) for user, tenant, scope in wanted]

        async def add() -> None:
            journal = open_journal(self._journal)
            for _, key in made:
                await journal.keys.add(key)
            await journal.close()

        asyncio.run(add())
        return [text for text, _ in made]


def asked(address: str, path: str, key: str, method: str = "GET", body: object = None) -> tuple[int, object]:
    """The status and the body of an answer."""
    data = None if body is None else json.dumps(body).encode()
    headers = {"Authorization": f"Bearer {key}"} | ({"Content-Type": "application/json"} if data else {})
    request = urllib.request.Request(address + path, data, headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=HANGS_S) as answer:
            text = answer.read()
            return answer.status, json.loads(text) if text else None
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())


@pytest.fixture(scope="module")
def environment(
    tmp_path_factory: pytest.TempPathFactory, dependencies: Path, wheels: Mapping[str, Path]
) -> Environment:
    return Environment(tmp_path_factory.mktemp("environment"), dependencies, wheels)


@pytest.fixture
def here(environment: Environment, tmp_path: Path) -> Iterator[Environment]:
    """The environment, in which no feature is installed before and behind a test."""
    environment.enter(tmp_path, str(tmp_path / "journal.db"))
    yield environment
    for feature in ("actum-bookmarks", "actum-promises"):
        environment.uninstall(feature)


def test_bookmarks_from_found_to_uninstalled(here: Environment) -> None:
    here.install("actum-bookmarks")
    assert here.doctor() == "bookmarks (actum-bookmarks) is found, and off"
    assert here.types("bookmarks", "list", code=2).startswith("actum: No such command 'bookmarks'")
    assert not (here.packages / "bookmarks/__pycache__").exists()  # none of its code has run

    here.set("[bookmarks]\n")
    assert here.feature() == "bookmarks (actum-bookmarks): on"
    assert "bookmarks" in here.types("--help")
    added = json.loads(here.types("bookmarks", "add", "https://a.example", "--title", "A", "--json"))
    assert added["url"] == "https://a.example"
    assert "https://a.example" in here.types("bookmarks", "list")
    assert "编号" in here.types("bookmarks", "list", LANG="zh_CN.UTF-8")
    waits = here.types("call", "save_bookmark", "url=https://b.example", "title=B", code=3)
    assert waits.startswith("approve?  save_bookmark")  # the tool is foreign
    assert "saved as" in here.types("call", "save_bookmark", "url=https://b.example", "title=B", "--yes")
    listed = json.loads(here.types("bookmarks", "list", "--json"))["items"]
    assert [each["title"] for each in listed] == ["B", "A"]
    assert here.types("bookmarks", "remove", added["id"]) == ""
    assert here.types("bookmarks", "remove", added["id"], code=2) == "actum: there is no such bookmark\n"
    assert "bookmarks.removeBookmark" in here.types("audit")
    assert re.search(r"bookmarks +actum-bookmarks +on +1 ", here.types("features"))
    run = _saved(here)
    assert f'{SHOWN} {{"type":"saved"' in here.types("runs", "show", run)

    serves_each_tenant_its_own(here)
    here.set("")
    assert here.feature() == "bookmarks (actum-bookmarks): off"
    assert "not read here" in here.types("runs", "show", run)
    here.types("bookmarks", "list", code=2)
    here.uninstall("actum-bookmarks")
    assert "not read here" in here.types("runs", "show", run)
    assert here.types("journal", "verify")
    here.types("journal", "export", run)
    here.types("features", "drop", "bookmarks", "--yes")
    assert here.feature() == ""


def serves_each_tenant_its_own(here: Environment) -> None:
    before, ann, bob = here.keys(
        ("ann", "north", "tools"), ("ann2", "north", "bookmarks"), ("bob", "south", "bookmarks")
    )
    with here.served() as address:
        assert asked(address, "/v1/bookmarks", before)[0] == 403
        new = {"url": "https://n.example", "title": "N"}
        status, saved = asked(address, "/v1/bookmarks", ann, "POST", new)
        assert (status, isinstance(saved, dict) and saved["principal"]) == (201, "ann2")
        assert asked(address, "/v1/bookmarks", bob) == (200, {"items": []})
        assert isinstance(saved, dict)
        assert asked(address, f"/v1/bookmarks/{saved['id']}", bob, "DELETE")[0] == 404
        assert asked(address, f"/v1/bookmarks/{saved['id']}", ann, "DELETE") == (204, None)
        assert asked(address, "/v1/bookmarks", ann, "POST", {"title": "N"})[0] == 422
        _, document = asked(address, "/openapi.json", ann)
        assert isinstance(document, dict)
        assert {"/v1/bookmarks", "/v1/bookmarks/{id}", "/v1/runs"} <= document["paths"].keys()
        assert document["paths"]["/v1/bookmarks"]["post"]["security"] == [{"key": ["bookmarks"]}]


def test_bookmarks_are_kept_in_postgresql_as_in_a_file(here: Environment, postgres: PostgresServer) -> None:
    here.enter(here.home, postgres.new_database())
    here.install("actum-bookmarks")
    here.set("[bookmarks]\n")
    here.types("bookmarks", "add", "https://a.example", "--title", "A")
    here.types("call", "save_bookmark", "url=https://b.example", "title=B", "--yes")
    listed = json.loads(here.types("bookmarks", "list", "--json"))["items"]
    assert [each["title"] for each in listed] == ["B", "A"]
    assert here.types("bookmarks", "remove", listed[0]["id"]) == ""
    serves_each_tenant_its_own(here)
    assert f'{SHOWN} {{"type":"saved"' in here.types("runs", "show", _saved(here))
    here.set("")
    here.types("features", "drop", "bookmarks", "--yes")
    here.set("[bookmarks]\n")
    assert json.loads(here.types("bookmarks", "list", "--json"))["items"] == []


def test_promises_are_needed_by_the_runs_that_made_them(here: Environment) -> None:
    here.install("actum-promises")
    assert here.feature() == "promises (actum-promises): off"
    here.set("[promises]\n")
    here.types("call", "promise", "what=tea", "--yes", code=3)
    run, ask = _waiting(here)
    assert "promises/promised" in here.types("runs", "show", run)
    here.set("")
    assert "not read here" in here.types("runs", "show", run)
    refused = here.types("resume", run, "--answer", f"{ask}={{}}", code=2)
    assert "install the package actum-promises, and switch it on by the table [promises] in actum.toml" in refused
    here.uninstall("actum-promises")
    assert "actum-promises" in here.types("resume", run, "--answer", f"{ask}={{}}", code=2)
    assert here.types("journal", "verify")
    here.install("actum-promises")
    here.set("[promises]\n")
    assert "accept: tea" in here.types("resume", run, "--answer", f"{ask}={{}}")


def _saved(here: Environment) -> str:
    """The run that saved a bookmark by the tool."""
    lines = json.loads(here.types("audit", "--decision", "noted", "--json"))["items"]
    return str(lines[-1]["run"])


def _waiting(here: Environment) -> tuple[str, str]:
    """The run that waits, and the id of what it waits for."""
    (item,) = json.loads(here.types("approvals", "list", "--json"))["items"]
    return str(item["run"]), str(item["id"])
