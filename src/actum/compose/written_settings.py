"""What commands write into settings files: places of tools, and the model of a person. All else in them stays."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..core.errors import UsageError
from ..core.json import dumps
from ..core.toml import read_toml
from ..storage.folders import settings_path, state_folder
from ..storage.whole_file import alone_with, replace
from .settings import SETTINGS_FILE, USE, read_settings_file

_ASSIGNMENT = r"""\s*(?:{0}|"{0}"|'{0}')\s*=\s*\["""
_TABLE = re.compile(r"\s*\[")
_TOOLS = re.compile(r"""\s*\[\s*(?:tools|"tools"|'tools')\s*\]\s*(?:#.*)?$""")


def remember_tools(places: Sequence[str], folder: Path, environment: Mapping[str, str]) -> Path:
    """Write places of tools into `actum.toml` of a folder, before those that stand there. Places that stand there are
    not written again. All else in the file stays as it is, comments included.

    Args:
        places: as `--tools` takes them.
        folder: where `actum.toml` is or will be.
        environment: the process's variables, for the folder in which the lock against other processes is.

    Returns:
        The file.

    Raises:
        UsageError: the file can not be read or written, or its list of tools is written in a way that a program can not
            add to.
    """
    path = folder / SETTINGS_FILE
    try:
        with alone_with(state_folder(environment) / "settings"):
            text = path.read_text("utf-8-sig") if path.is_file() else ""
            before = _read(text)
            if before is None:
                raise UsageError("{path} is damaged: `actum config check` says where", path=path)
            tools = before.get("tools")
            tools = tools if isinstance(tools, list) else tools if isinstance(tools, dict) else {}
            known = tools.get(USE, []) if isinstance(tools, dict) else tools
            new = [each for each in dict.fromkeys(places) if not isinstance(known, list) or each not in known]
            if new:
                whole = _with(text, ", ".join(map(dumps, new)), of_table=not isinstance(tools, list))
                wanted = [*new, *known] if isinstance(known, list) else None
                expected = wanted if isinstance(tools, list) else {**tools, USE: wanted}
                if _read(whole) != {**before, "tools": expected}:
                    raise UsageError(
                        "put {places} into the list of tools in {path} yourself",
                        places=", ".join(map(dumps, new)),
                        path=path,
                    )
                mode = path.stat().st_mode & 0o777 if path.is_file() else 0o644
                replace(path, whole.encode())
                path.chmod(mode)  # a file of a project is not for its owner alone
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError("{path} can not be read or written: {why}", path=path, why=error) from None
    return path


def _with(text: str, items: str, *, of_table: bool) -> str:
    """The text with items at the beginning of the list of tools, which is made where there is none."""
    lines = text.splitlines()
    begin = next((at + 1 for at, line in enumerate(lines) if _TOOLS.match(line)), None) if of_table else 0
    if begin is None:
        return "\n".join([*lines, *([""] if lines else []), "[tools]", f"{USE} = [{items}]", ""])
    end = next((at for at in range(begin, len(lines)) if _TABLE.match(lines[at])), len(lines))
    assignment = re.compile(_ASSIGNMENT.format(USE if of_table else "tools"))
    for at in range(begin, end):
        if found := assignment.match(lines[at]):
            lines[at] = f"{found[0]}{items}, {lines[at][found.end() :]}"
            break
    else:
        lines.insert(begin, f"{USE} = [{items}]")
    return "\n".join([*lines, ""])


def _read(text: str) -> dict[str, object] | None:
    try:
        return read_toml(text)
    except tomllib.TOMLDecodeError:
        return None


def remember_model(name: str, environment: Mapping[str, str]) -> Path:
    """Write a model into the person's own settings file, as the one to take where none is named.

    All else in the file stays as it is, comments included.

    Args:
        name: of the model.
        environment: the process's variables.

    Returns:
        The file.

    Raises:
        UsageError: there is no home folder, or the file can not be read or written.
    """
    path = settings_path(environment)
    if path is None:
        raise UsageError("there is no home folder to keep settings in")
    by_hand = UsageError("put the line `model = {toml_text}` into {path} yourself", toml_text=dumps(name), path=path)
    try:
        with alone_with(path):
            before = read_settings_file(path)  # a file that is damaged stays as it is
            lines = path.read_text("utf-8-sig").splitlines() if path.is_file() else []
            first_table = next((at for at, line in enumerate(lines) if line.lstrip().startswith("[")), len(lines))
            kept = [line for at, line in enumerate(lines) if at >= first_table or not _MODEL_LINE.match(line)]
            whole = "\n".join([f"model = {dumps(name)}", *kept]) + "\n"
            if _read_toml(whole) != before | {"model": name}:
                raise by_hand
            replace(path, whole.encode())
    except OSError as error:
        raise UsageError("{path} can not be written: {why}", path=path, why=error.strerror) from None
    return path


_MODEL_LINE = re.compile(r"""\s*(model|"model"|'model')\s*=""")


def _read_toml(text: str) -> dict[str, object] | None:
    try:
        return read_toml(text)
    except tomllib.TOMLDecodeError:
        return None
