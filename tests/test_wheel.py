"""The wheel is whole: made from the sdist and installed where nothing else is, `actum` works as it does here."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from email.message import Message
from email.parser import Parser
from importlib.metadata import distribution
from importlib.util import cache_from_source
from pathlib import Path

import openai
import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from openai.types.chat import ChatCompletionMessageParam
from packaging.requirements import Requirement

from actum.cli.conversation.demo import SCENES
from actum.cli.guides.examples import worked_examples

from .endurance import some
from .sources import PACKAGES, ROOT

SCRIPTS = Path(sysconfig.get_path("scripts"))
PAGES_BYTES_MAX = 1_200_000
EVERY_SCENE = [str(number) for number in range(1, len(SCENES) + 1)]


def bare(home: Path) -> dict[str, str]:
    """The environment of a person who has nothing but a home."""
    return {"PATH": os.defpath, "HOME": str(home), "PYTHONUTF8": "1"}


def typed(*command: str | Path, folder: Path) -> str:
    """What a program prints that ends well."""
    ended = subprocess.run(command, cwd=folder, env=bare(folder), capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


@contextmanager
def served(actum: Path, home: Path) -> Iterator[str]:
    """The address of `actum serve` in this folder."""
    command = (actum, "serve", "--http", "127.0.0.1:0")
    with subprocess.Popen(command, cwd=home, env=bare(home), stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        try:
            yield next(found[0] for line in server.stderr if (found := re.search(r"http://127.0.0.1:\d+", line)))
        finally:
            server.terminate()


def done(*command: str | Path, folder: Path, **environment: str) -> str:
    """What a program prints that ends well and says nothing on its standard error."""
    around = bare(folder) | environment
    ended = subprocess.run(command, cwd=folder, env=around, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, ""), ended.stdout + ended.stderr
    return ended.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel that is built from the unpacked sdist, with the pinned hatchling and without a network."""
    folder = tmp_path_factory.mktemp("built")
    build = (sys.executable, "-m", "hatchling", "build", "--directory", str(folder), "--target")
    subprocess.run([*build, "sdist"], cwd=ROOT, capture_output=True, check=True)
    (sdist,) = folder.glob("*.tar.gz")
    subprocess.run(["tar", "-xzf", sdist, "-C", folder], capture_output=True, check=True)
    subprocess.run([*build, "wheel"], cwd=folder / sdist.name.removesuffix(".tar.gz"), capture_output=True, check=True)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def dependencies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with links to the packages that actum needs without any extra, and to no other package."""
    return linked(tmp_path_factory.mktemp("dependencies"), needed("actum"))


def linked(folder: Path, packages: set[str]) -> Path:
    """A folder with links to these packages."""
    folder.mkdir(parents=True, exist_ok=True)
    for package in sorted(packages):
        installed = distribution(package)
        for name in sorted({file.parts[0] for file in installed.files or () if file.parts[0] != ".."}):
            if not (folder / name).exists():
                (folder / name).symlink_to(Path(str(installed.locate_file(name))))
    return folder


def installed_into(place: Path, wheel: Path, dependencies: Path) -> Path:
    """An environment with the wheel and these packages, and with no other package; its folder of packages."""
    venv.create(place, with_pip=False, symlinks=os.name != "nt")
    install = ("pip", "install", "--quiet", "--no-config", "--offline", "--no-cache", "--no-deps", "--link-mode=copy")
    done(SCRIPTS / "uv", *install, "--python", place / SCRIPTS.name / "python", wheel, folder=place)
    (packages,) = place.glob("[Ll]ib/**/site-packages")
    (packages / "dependencies.pth").write_text(f"{dependencies}\n", encoding="utf-8")
    take_what_is_compiled(packages)
    return packages


def take_what_is_compiled(packages: Path) -> None:
    """What is installed in this folder and is the file here, byte by byte, is not compiled again: all of it takes
    twenty seconds of CPU.
    """
    for package, source in PACKAGES.items():
        for path in (source / package).rglob("*.py"):
            installed, compiled = packages / path.relative_to(source), Path(cache_from_source(str(path)))
            if compiled.exists() and installed.exists() and installed.read_bytes() == path.read_bytes():
                modified = path.stat().st_mtime
                os.utime(installed, (modified, modified))  # by which Python knows what was compiled
                place = Path(cache_from_source(str(installed)))
                place.parent.mkdir(exist_ok=True)
                shutil.copyfile(compiled, place)


def needed(package: str, extras: frozenset[str] = frozenset()) -> set[str]:
    """The names of all packages that a package needs, directly or not."""
    found: set[str] = set()
    for requirement in map(Requirement, distribution(package).requires or ()):
        applies = requirement.marker is None or any(
            requirement.marker.evaluate({"extra": extra}) for extra in extras | {""}
        )
        if applies:
            found |= {requirement.name} | needed(requirement.name, frozenset(requirement.extras))
    return found


def scenes(shown: str) -> list[str]:
    """The numbers of the scenes that the demo showed. A scene that comes out wrong is an exit status of its own."""
    return re.findall(r"^(\d)  ", shown, re.MULTILINE)


def sources() -> Iterator[str]:
    for package, source in PACKAGES.items():
        for path in (source / package).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                yield path.relative_to(source).as_posix()


def pages() -> Iterator[tuple[str, int]]:
    """The pages of the documentation, each with its bytes, as the wheel names them."""
    for path in (ROOT / "docs").rglob("*.md"):
        yield f"actum/{path.relative_to(ROOT).as_posix()}", path.stat().st_size


def examples() -> Iterator[str]:
    """The files of the worked examples, as the wheel names them."""
    for path in (ROOT / "examples").rglob("*"):
        if path.is_file() and not {"__pycache__", ".clients"} & {*path.parts}:
            yield f"actum/{path.relative_to(ROOT).as_posix()}"


def licence_of(path: str) -> str:
    """How the metadata names the file of a licence inside a package."""
    source = PACKAGES[path.partition("/")[0]]
    return f"{source.relative_to(ROOT).as_posix()}/{path}"


def metadata(archive: zipfile.ZipFile, home: str) -> Message:
    return Parser().parsestr(archive.read(f"{home}/METADATA").decode())


def test_both_packages_and_all_licences_are_in_the_wheel(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        (home,) = {name.split("/")[0] for name in names if ".dist-info/" in name}
        licences = metadata(archive, home).get_all("License-File")
    assert {name for name in names if not name.startswith(home)} == {*sources(), *dict(pages()), *examples()}
    assert sum(dict(pages()).values()) <= PAGES_BYTES_MAX
    assert {"actum/py.typed", "actum_embedded/py.typed", "actum_embedded/data/NOTICE.md"} <= names
    notices = {path for path in sources() if Path(path).name.startswith(("LICENSE", "NOTICE"))}
    assert set(licences or ()) == {"LICENSE", *(licence_of(path) for path in notices)}
    assert {f"{home}/licenses/{licence}" for licence in licences or ()} <= names


@pytest.mark.row("L5")
def test_the_built_wheel_in_an_empty_environment_plays_the_demo(
    wheel: Path, dependencies: Path, tmp_path: Path
) -> None:
    place = tmp_path / "environment"
    packages, scripts = installed_into(place, wheel, dependencies), place / SCRIPTS.name
    assert scenes(done(scripts / "actum", "demo", folder=tmp_path)) == EVERY_SCENE
    shown = done(scripts / "actum", "docs", "tools", "--lang", "zh", folder=tmp_path)
    assert shown.startswith("# 工具\n"), shown[:100]
    assert "actum docs policy" in done(scripts / "actum", "docs", "--search", "approval expires", folder=tmp_path)
    seen = "import actum, actum_embedded; print(actum.__file__, actum_embedded.__file__)"
    assert done(scripts / "python", "-c", seen, folder=tmp_path).count(str(packages)) == 2


@pytest.mark.endurance("examples", "src/actum/cli/guides")
def test_an_example_out_of_the_wheel_runs_with_the_extras_that_its_row_names(wheel: Path, tmp_path: Path) -> None:
    for example in some([each for each in worked_examples() if not each.name.startswith("feature_")], 24):
        place = tmp_path / example.name
        packages = linked(place / "packages", needed("actum", frozenset(example.needs)))
        # Copies, as pip makes them: an example with a jail lets nobody read what a link leads to.
        shutil.copytree(packages, installed_into(place / "environment", wheel, packages), dirs_exist_ok=True)
        scripts = place / "environment" / SCRIPTS.name
        around = {**os.environ, "PATH": f"{scripts}{os.pathsep}{os.defpath}"}  # npm finds its registry there
        for command in ("actum", "examples", "copy", example.name), ("python", f"examples/{example.name}/main.py"):
            ended = subprocess.run(command, cwd=place, env=around, capture_output=True, text=True, check=False)
            assert ended.returncode == 0, (example, ended.stderr)


@pytest.mark.row("D4")
async def test_the_way_of_a_new_user_from_the_wheel_to_a_hosts_file(wheel: Path, tmp_path: Path) -> None:
    """The steps of `docs/way-application.md`, typed in an environment that has nothing else."""
    packages = linked(tmp_path / "packages", needed("actum", frozenset({"mcp", "server"})))
    installed_into(tmp_path / "environment", wheel, packages)
    scripts, home = tmp_path / "environment" / SCRIPTS.name, tmp_path / "home"
    home.mkdir()
    assert "way-application" in typed(scripts / "actum", "docs", folder=home)
    page = typed(scripts / "actum", "docs", "way-application", folder=home)
    desk, *later = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    (settings,) = re.findall(r"^```toml\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    (home / "desk.py").write_text(desk, "utf-8")
    assert "5" in done(scripts / "python", "desk.py", folder=home)
    (home / "try_desk.py").write_text("from desk import *\n" + "\n\n".join(later), "utf-8")
    done(scripts / "python", "try_desk.py", folder=home)
    assert "5" in typed(scripts / "actum", "run", "--tools", "desk.py", "What is 2 + 3?", folder=home)
    (home / "actum.toml").write_text(settings, "utf-8")
    with served(scripts / "actum", home) as url:
        question: list[ChatCompletionMessageParam] = [{"role": "user", "content": "What is 2 + 3?"}]
        async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="any") as client:
            answer = await client.chat.completions.create(model="desk", messages=question)
        assert "5" in str(answer.choices[0].message.content)
    (home / ".config" / "Claude").mkdir(parents=True)
    typed(scripts / "actum", "mcp", "config", "claude", "--tools", "desk.py", "--write", "--yes", folder=home)
    (written,) = home.rglob("claude_desktop_config.json")
    entry = json.loads(written.read_text("utf-8"))["mcpServers"]["actum"]
    way = StdioServerParameters(command=entry["command"], args=entry["args"], env=bare(home) | entry.get("env", {}))
    async with Client(way) as host:
        assert "5" in str((await host.call_tool("add", {"a": 2, "b": 3})).content)


def test_the_demo_is_played_where_the_metadata_of_actum_is_missing(
    wheel: Path, dependencies: Path, tmp_path: Path
) -> None:
    """As in a frozen program, which holds the modules of a package and often not its metadata."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path, [name for name in archive.namelist() if ".dist-info/" not in name])
    take_what_is_compiled(tmp_path)
    frozen = (
        f"import sys; sys.path[:0] = {[str(tmp_path), str(dependencies)]!r}; sys.argv = ['actum', 'demo']\n"
        "from importlib.metadata import Distribution\n"
        "assert not list(Distribution.discover(name='actum'))\n"
        "from actum.cli.app import main; main()"
    )
    assert scenes(done(sys.executable, "-I", "-S", "-c", frozen, folder=tmp_path)) == EVERY_SCENE


@pytest.mark.row("L5")
def test_the_embedded_model_is_a_project_of_its_own_with_the_version_of_actum(tmp_path: Path) -> None:
    home = PACKAGES["actum_embedded"].parent
    build = (sys.executable, "-m", "hatchling", "build", "--directory", str(tmp_path), "--target", "wheel")
    subprocess.run(build, cwd=home, capture_output=True, check=True)
    (built,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(built) as archive:
        (dist,) = {name.split("/")[0] for name in archive.namelist() if ".dist-info/" in name}
        told = metadata(archive, dist)
        entries = archive.read(f"{dist}/entry_points.txt").decode()
        inside = {name for name in archive.namelist() if not name.startswith(dist)}
    assert inside == {name for name in sources() if name.startswith("actum_embedded/")}
    assert (told["Version"], told.get_all("Requires-Dist")) == (distribution("actum").version, None)
    assert "[actum.models]\nembedded = actum_embedded:Embedded" in entries
