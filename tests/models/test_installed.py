"""Models that installed packages bring by an entry point, and the embedded model, which only actum itself brings."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path

import pytest

from actum.core.errors import UnknownName, UsageError
from actum.models import open_model
from actum.models.installed import EMBEDDED, GROUP
from actum.models.prompted import Prompted
from actum_embedded import Embedded

MODEL = """
class Model:
    name = "acme-large"

    async def reply(self, request, emit=None):
        raise NotImplementedError


NO_MODEL = "a text"
"""


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of installed packages that stands before every other one on Python's path."""
    (tmp_path / "actum_test_models.py").write_text(MODEL, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def install(folder: Path, package: str, **models: str) -> None:
    """Install a package that brings these models."""
    metadata = folder / f"{package}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.4\nName: {package}\nVersion: 1.0\n", encoding="utf-8")
    entries = "".join(f"{name} = {place}\n" for name, place in models.items())
    (metadata / "entry_points.txt").write_text(f"[{GROUP}]\n{entries}", encoding="utf-8")


def test_an_installed_package_brings_a_model_by_an_entry_point(packages: Path) -> None:
    install(packages, "acme", acme="actum_test_models:Model")
    assert open_model("acme").name == "acme-large"
    assert isinstance(open_model("acme", dialect="hermes"), Prompted)
    with pytest.raises(UsageError, match="acme-large can not be constrained"):
        open_model("acme", constrained=True)


def test_an_unknown_name_lists_the_models_of_installed_packages(packages: Path) -> None:
    install(packages, "acme", acme="actum_test_models:Model")
    with pytest.raises(
        UnknownName, match=r"no model called 'acne'\. Did you mean acme\? There is also: embedded, http"
    ):
        open_model("acne")


def test_two_packages_that_claim_one_name_are_an_error_that_names_both(packages: Path) -> None:
    install(packages, "acme", acme="actum_test_models:Model", other="actum_test_models:Model")
    install(packages, "bolt", acme="bolt.models:Big")
    both = r"called 'acme': acme \(actum_test_models:Model\) and bolt \(bolt.models:Big\); uninstall one"
    with pytest.raises(UsageError, match=both):
        open_model("acme")
    assert open_model("other").name == "acme-large"  # the dispute is about one name only


def test_names_of_actums_own_are_never_taken_from_another_package(packages: Path) -> None:
    install(packages, "thief", embedded="actum_test_models:Model", ollama="actum_test_models:Model")
    install(packages, "other-thief", embedded="actum_test_models:Model")
    assert isinstance(open_model("embedded"), Embedded)
    with pytest.raises(UnknownName, match="no model called 'ollama'"):
        open_model("ollama")


@pytest.mark.parametrize(
    ("place", "fault"),
    [
        ("actum_test_nowhere:Model", "can not be loaded: ModuleNotFoundError: No module named"),
        ("actum_test_models:Nothing", "can not be loaded: AttributeError: .* has no attribute 'Nothing'"),
        ("actum_test_models:NO_MODEL", "is no Model: name and async reply"),
    ],
)
def test_an_entry_point_that_gives_no_model_is_an_error_that_names_the_package(
    packages: Path, place: str, fault: str
) -> None:
    install(packages, "acme", acme=place)
    with pytest.raises(UsageError, match=f"'acme' of acme .*{fault}"):
        open_model("acme")


def test_damaged_metadata_of_another_package_is_said_and_does_not_touch_the_embedded_model(packages: Path) -> None:
    install(packages, "acme", acme="actum_test_models:Model")
    (packages / "acme-1.0.dist-info" / "entry_points.txt").write_bytes(b"\xff\xfe[actum.models]")
    with pytest.raises(UsageError, match="entry points of an installed package are damaged"):
        open_model("acme")
    assert isinstance(open_model("embedded"), Embedded)


def test_the_embedded_model_is_an_entry_point_of_actum_itself() -> None:
    (entry,) = distribution("actum").entry_points.select(group=GROUP)
    assert (entry.name, entry.value) == (EMBEDDED.name, EMBEDDED.value) == ("embedded", "actum_embedded:Embedded")


@pytest.mark.parametrize(
    "code",
    [
        "import actum.models.catalog",
        "from actum import Agent; from actum.testing import ScriptedModel; Agent(ScriptedModel([]))",
        "from actum.models import open_model; open_model('ollama:qwen3', environment={})",
        "import actum.cli.app as app\nsys.argv = ['actum', '--help']\ntry: app.main()\nexcept SystemExit: pass",
    ],
)
def test_no_packages_are_searched_and_the_embedded_model_is_not_loaded_before_a_model_needs_it(code: str) -> None:
    told = f"import json, sys\n{code}\njson.dump(sorted(sys.modules), sys.stderr)"
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    assert {"actum.models.installed", "actum_embedded"}.isdisjoint(json.loads(done.stderr))
