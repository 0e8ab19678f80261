"""Packages that make an attempt while they are installed, and the installers in the jail of `actum mcp add`."""

from __future__ import annotations

import io
import json
import shlex
import sys
import tarfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from actum.core.errors import UsageError
from actum.sandbox.jail import Jail
from actum.toolsets.mcp.install.npx import npm_jail, npm_programs
from actum.toolsets.mcp.install.uvx import uv_jail, uv_program

Installer = Callable[[Path, Sequence[str], Path, str], tuple[list[str], Jail]]

BACKEND = """
import base64, hashlib, pathlib, subprocess, sys, zipfile

def attempt():
    with open({ran!r}, "w") as said:  # uv shows nothing of what a build says
        subprocess.run([sys.executable, {script!r}, *{arguments!r}], stdout=said, stderr=said)

def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    attempt()
    files = {{
        "tiny.py": "",
        "tiny-1.0.dist-info/METADATA": "Metadata-Version: 2.1\\nName: tiny\\nVersion: 1.0\\n",
        "tiny-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n",
        "tiny-1.0.dist-info/RECORD": "",
    }}
    with zipfile.ZipFile(pathlib.Path(wheel_directory, "tiny-1.0-py3-none-any.whl"), "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return "tiny-1.0-py3-none-any.whl"
"""


def installers() -> Mapping[str, Installer]:
    """What this machine has to install packages of each language with."""
    found: dict[str, Installer] = {}
    for ending, program, installer in ((".js", npm_programs, _npm), (".py", uv_program, _uv)):
        try:
            program()
        except UsageError:
            continue
        found[ending] = installer
    return found


def _npm(script: Path, arguments: Sequence[str], made: Path, registry: str) -> tuple[list[str], Jail]:
    """How npm installs a package whose `postinstall` makes the attempt. Scripts are let run, as npm does by itself."""
    attempt = f"touch {shlex.quote(str(made / 'ran'))}; node {script.name} {shlex.join(arguments)}"
    manifest = {"name": "tiny", "version": "1.0.0", "scripts": {"postinstall": attempt}}
    _archive(
        made / "tiny.tgz",
        {"package/package.json": json.dumps(manifest).encode(), f"package/{script.name}": script.read_bytes()},
    )
    npm, node = npm_programs()
    jail = npm_jail(made, {"HOME": str(made), "NPM_CONFIG_REGISTRY": registry})
    jail = replace(jail, environment={**jail.environment, "npm_config_ignore_scripts": "false"})
    options = ("--foreground-scripts", "--no-audit", "--no-fund", "--offline")
    return [str(node), str(npm), "install", *options, "--prefix", str(made), str(made / "tiny.tgz")], jail


def _uv(script: Path, arguments: Sequence[str], made: Path, registry: str) -> tuple[list[str], Jail]:
    """How uv installs a package whose build makes the attempt. Builds are let run, as uv does by itself."""
    backend = BACKEND.format(ran=str(made / "ran"), script=script.name, arguments=list(arguments))
    project = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
    project += '[project]\nname = "tiny"\nversion = "1.0"\n'
    files = {"PKG-INFO": b"Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n", "pyproject.toml": project.encode()}
    files |= {"backend.py": backend.encode(), script.name: script.read_bytes()}
    _archive(made / "tiny-1.0.tar.gz", {f"tiny-1.0/{name}": data for name, data in files.items()})
    jail = uv_jail(made, {"HOME": str(made), "UV_DEFAULT_INDEX": registry})
    options = ("--python", sys.executable, "--target", str(made / "tree"), "--no-index", "--no-cache")
    return [str(uv_program()), "pip", "install", *options, str(made / "tiny-1.0.tar.gz")], jail


def _archive(file: Path, files: Mapping[str, bytes]) -> None:
    with tarfile.open(file, "w:gz") as archive:
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(data), 0o644
            archive.addfile(entry, io.BytesIO(data))
