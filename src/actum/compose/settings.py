"""The settings of a program: from the person's own file, then `actum.toml` of the folder, then the environment, then
the caller; the later one wins.

`ACTUM_API_KEY` is no setting: it is read where a model is opened, and stands in no object that is printed.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec
from msgspec import Struct

from ..call.limits.limits import Limits
from ..core.budget import Price
from ..core.errors import UsageError
from ..core.json import JsonObject
from ..core.model_settings import UNSET, ModelSettings
from ..storage.place import SCHEMES, settings_path
from ..storage.postgres import address
from ..storage.whole_file import alone_with, replace
from ..transport.egress import EgressRules

EMBEDDED = "embedded"
EVERYDAY = "everyday"
MINE = "mine"
FINDER = "mcp"
MEMORY = "memory"
SETTINGS_FILE = "actum.toml"
ENVIRONMENT = {
    "ACTUM_MODEL": "model",
    "ACTUM_BASE_URL": "base_url",
    "ACTUM_JOURNAL": "journal",
    "ACTUM_JOURNAL_KEY_FILE": "journal_key",
    "ACTUM_POLICY": "policy",
}
"""Which variable is which setting."""
MCP_WAIT_S = 5.0


class SettingsFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What can be set.

    Attributes:
        model: a model's name, an address with `#name`, or `file.py:name` of a `Model` object; empty for the embedded
            one.
        base_url: the OpenAI-compatible endpoint at which `model` is a name.
        tools: `everyday`, `file.py`, `file.py:name` or `module:name`; `none` for no tools. `mcp` for the two tools by
            which a model finds the tools of MCP servers itself, instead of being shown all of them.
        mcp: MCP servers: `mine` for those that were added with `actum mcp add`, the name of one of them, an address, or
            a file of them; `none` for none.
        dialect: how the model says a call.
        instructions: the system prompt.
        model_settings: how the model is asked: temperature, length, headers and more.
        truncation: whether a conversation that is too long for the model is told without its beginning: `auto`, or
            `disabled`.
        journal: the journal's file, or the `postgresql://` address of its database; `memory` for none; empty for the
            person's own.
        journal_key: the file that holds the key with which the journal's heads are signed; empty to sign none.
        policy: the policy's file; empty for the one that asks before every declared side effect.
        limits: how much a run may use.
        prices: what models cost, by their names.
        mcp_wait: seconds for which a run waits for MCP servers of which nothing is known yet, all side by side.
        speaks_for_user: clients of `actum mcp serve` that say only what their user said, so that rules take their
            values as the user's: `local` for the program that has no key, `shared` for the one of `--key-env`, or the
            id of a client of `--issuer`.
        egress: where the calls of tools may go: `allow`, `deny`, `private`, `proxy`.
    """

    model: str = ""
    base_url: str = ""
    tools: tuple[str, ...] = (EVERYDAY,)
    mcp: tuple[str, ...] = (MINE,)
    dialect: str = "auto"
    instructions: str = ""
    model_settings: ModelSettings = UNSET
    truncation: Literal["auto", "disabled"] = "disabled"
    journal: str = ""
    journal_key: str = ""
    policy: str = ""
    limits: Limits = Limits()
    prices: dict[str, Price] = {}
    mcp_wait: float = MCP_WAIT_S
    speaks_for_user: tuple[str, ...] = ()
    egress: EgressRules = EgressRules()


class Settings(SettingsFile, frozen=True, kw_only=True):
    """What a person set, as words.

    Attributes:
        sources: where a setting comes from: the path of the person's own file, `actum.toml`, a variable, or `flag`;
            only those that were set are in it.
    """

    sources: dict[str, str] = {}

    def __repr__(self) -> str:  # the address of a journal may hold a password
        shown = msgspec.structs.asdict(self) | {"journal": shown_journal(self.journal)}
        return f"Settings({', '.join(f'{name}={value!r}' for name, value in shown.items())})"


def read_settings(
    folder: Path, environment: Mapping[str, str], said: Mapping[str, str | Sequence[str] | JsonObject | None]
) -> Settings:
    """The settings that hold: the person's own, under the folder's, under the environment's, under what was said.

    Args:
        folder: where `actum.toml` may lie.
        environment: the process's variables; they also tell where the person's own file is.
        said: what the caller set; None and the empty count as not set. Of a table only what it names is set.

    Raises:
        UsageError: a file is no TOML, or sets what is no setting.
    """
    own = settings_path(environment)
    layers = [_Layer(str(own), _read_file(own))] if own is not None else []
    layers.append(_Layer(SETTINGS_FILE, _read_file(folder / SETTINGS_FILE)))
    layers += [
        _Layer(variable, {name: environment[variable]})
        for variable, name in ENVIRONMENT.items()
        if environment.get(variable)
    ]
    layers.append(_Layer("flag", {name: value for name, value in said.items() if value}))
    found: dict[str, object] = {}
    sources: dict[str, str] = {}
    for layer in layers:
        if "base_url" in layer.values and own is not None and sources.get("model") == str(own):
            del found["model"], sources["model"]  # the model that the person likes best is at another address
        for name, value in layer.values.items():
            before, sources[name] = found.get(name), layer.source
            found[name] = before | value if isinstance(before, dict) and isinstance(value, dict) else value
            if name == "egress" and isinstance(before, dict) and isinstance(value, dict):
                found[name] = before | value | _denied(before, value)
    return Settings(**msgspec.structs.asdict(_checked(found, "the settings")), sources=sources)


def _denied(before: Mapping[str, object], later: Mapping[str, object]) -> dict[str, object]:
    """What both tables `[egress]` deny: what a person denied in the own file, no folder opens again."""
    lists = [table["deny"] for table in (before, later) if isinstance(table.get("deny"), list)]
    return {"deny": [entry for entries in lists if isinstance(entries, list) for entry in entries]}


class _Layer(NamedTuple):
    source: str
    values: Mapping[str, object]


def _read_file(path: Path) -> dict[str, object]:
    """What a settings file sets; nothing where there is no such file."""
    try:
        found: dict[str, object] = tomllib.loads(path.read_text("utf-8")) if path.is_file() else {}
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} can not be read: {error}") from None
    _checked(found, path)
    return found


def _checked(found: Mapping[str, object], where: object) -> SettingsFile:
    try:
        return msgspec.convert(found, SettingsFile)
    except msgspec.ValidationError as error:
        kinds: dict[str, type[Struct]] = {"limits": Limits, "model_settings": ModelSettings, "egress": EgressRules}
        what = next((name for name in kinds if f"$.{name}" in str(error)), "settings")
        known = ", ".join(kinds.get(what, SettingsFile).__struct_fields__)
        raise UsageError(f"{where}: {error}. The {what.replace('_', ' ')} are: {known}") from None


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
    by_hand = UsageError(f"put the line `model = {_toml_text(name)}` into {path} yourself")
    try:
        with alone_with(path):
            before = _read_file(path)  # a file that is damaged stays as it is
            lines = path.read_text("utf-8").splitlines() if path.is_file() else []
            first_table = next((at for at, line in enumerate(lines) if line.lstrip().startswith("[")), len(lines))
            kept = [line for at, line in enumerate(lines) if at >= first_table or not _MODEL_LINE.match(line)]
            whole = "\n".join([f"model = {_toml_text(name)}", *kept]) + "\n"
            if _read_toml(whole) != before | {"model": name}:
                raise by_hand
            replace(path, whole.encode())
    except OSError as error:
        raise UsageError(f"{path} can not be written: {error.strerror}") from None
    return path


_MODEL_LINE = re.compile(r"""\s*(model|"model"|'model')\s*=""")


def _read_toml(text: str) -> dict[str, object] | None:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None


def _toml_text(text: str) -> str:
    """A basic string of TOML, which JSON's strings without escaped surrogates are."""
    return json.dumps(text, ensure_ascii=False)


def shown_journal(word: str) -> str:
    """The journal that was set, as it may be shown: an address without its password."""
    return address(word) if word.startswith(SCHEMES) else word
