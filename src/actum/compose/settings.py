"""The settings of a program: from `actum.toml`, then the environment, then the caller; the later one wins.

`ACTUM_API_KEY` is no setting: it is read where a model is opened, and stands in no object that is printed.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from ..call.limits.limits import Limits
from ..core.budget import Price
from ..core.errors import UsageError
from ..core.json import JsonObject
from ..core.model_settings import UNSET, ModelSettings
from ..storage.place import SCHEMES
from ..storage.postgres import address

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


class Settings(SettingsFile, frozen=True, kw_only=True):
    """What a person set, as words.

    Attributes:
        sources: where a setting comes from: `actum.toml`, a variable, or `flag`; only those that were set are in it.
    """

    sources: dict[str, str] = {}

    def __repr__(self) -> str:  # the address of a journal may hold a password
        shown = msgspec.structs.asdict(self) | {"journal": shown_journal(self.journal)}
        return f"Settings({', '.join(f'{name}={value!r}' for name, value in shown.items())})"


def read_settings(
    folder: Path, environment: Mapping[str, str], said: Mapping[str, str | Sequence[str] | JsonObject | None]
) -> Settings:
    """The settings that hold: the file's, under the environment's, under what was said.

    Args:
        folder: where `actum.toml` may lie.
        environment: the process's variables.
        said: what the caller set; None and the empty count as not set. Of a table only what it names is set.

    Raises:
        UsageError: the file is no TOML, or sets what is no setting.
    """
    path = folder / SETTINGS_FILE
    try:
        found: dict[str, object] = tomllib.loads(path.read_text("utf-8")) if path.is_file() else {}
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} can not be read: {error}") from None
    sources = dict.fromkeys(found, SETTINGS_FILE)
    for variable, name in ENVIRONMENT.items():
        if environment.get(variable):
            found[name], sources[name] = environment[variable], variable
    for name, value in said.items():
        if value:
            before, sources[name] = found.get(name), "flag"
            found[name] = before | value if isinstance(before, dict) and isinstance(value, dict) else value
    try:
        words = msgspec.convert(found, SettingsFile)
    except msgspec.ValidationError as error:
        kinds: dict[str, type[Struct]] = {"limits": Limits, "model_settings": ModelSettings}
        what = next((name for name in kinds if f"$.{name}" in str(error)), "settings")
        where = path if path.is_file() else "the settings"
        known = ", ".join(kinds.get(what, SettingsFile).__struct_fields__)
        raise UsageError(f"{where}: {error}. The {what.replace('_', ' ')} are: {known}") from None
    return Settings(**msgspec.structs.asdict(words), sources=sources)


def shown_journal(word: str) -> str:
    """The journal that was set, as it may be shown: an address without its password."""
    return address(word) if word.startswith(SCHEMES) else word
