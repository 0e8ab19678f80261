"""The folders and files in which a person's own things are kept. Light: the help of the command line asks for one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ..core.errors import UsageError
from ..core.secrets.private_paths import keep_private


def state_folder(environment: Mapping[str, str]) -> Path:
    """The person's own folder for what this program keeps, by the XDG specification.

    Raises:
        UsageError: there is no home folder.
    """
    state = environment.get("XDG_STATE_HOME", "")
    try:
        home = Path(state) if state.startswith("/") else Path("~/.local/state").expanduser()
    except RuntimeError:
        raise UsageError("there is no home folder to keep anything in") from None
    keep_private(home / "actum")
    return home / "actum"


def data_folder(environment: Mapping[str, str]) -> Path:
    """The person's own folder for what programs keep that this program starts, by the XDG specification.

    Raises:
        UsageError: there is no home folder.
    """
    data = environment.get("XDG_DATA_HOME", "")
    try:
        home = Path(data) if data.startswith("/") else Path("~/.local/share").expanduser()
    except RuntimeError:
        raise UsageError("there is no home folder to keep anything in") from None
    return home / "actum"


def settings_path(environment: Mapping[str, str]) -> Path | None:
    """The person's own settings file, by the XDG specification; None where there is no home folder."""
    config = environment.get("XDG_CONFIG_HOME", "")
    if config.startswith("/"):
        return Path(config) / "actum" / "actum.toml"
    home = environment.get("HOME") or environment.get("USERPROFILE")
    return Path(home) / ".config" / "actum" / "actum.toml" if home else None


def tokens_path(environment: Mapping[str, str]) -> Path:
    """The person's own file of tokens.

    Raises:
        UsageError: there is no home folder.
    """
    return state_folder(environment) / "tokens.json"
