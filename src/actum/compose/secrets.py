"""The secrets of a program: the encrypted file of the person who runs it, and the variables `ACTUM_SECRET_*`.

What a user set, or what everybody of the tenant shares, comes before a variable. Variables can only be read.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ..core.errors import UsageError
from ..core.secrets.store import SecretEntry, SecretSource, SecretStore, UserSecrets
from ..core.user import User
from ..server.api.api import KeptSecrets
from ..storage.folders import state_folder
from ..storage.secret_file import SecretFile
from ..storage.secret_key import (
    NEW_KEY_FILE_VARIABLE,
    NEW_KEY_VARIABLE,
    EnvironmentKey,
    FileKey,
    FirstKey,
    KeyringKey,
    SecretKey,
    random_key_text,
)

SECRET = "ACTUM_SECRET_"


class EnvironmentSecrets:
    """The variables `ACTUM_SECRET_*`: the same for everybody, and read only.

    Args:
        environment: the variables. `ACTUM_SECRET_NAME` holds the secret that is called `NAME` or `name`.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        found = {name.removeprefix(SECRET): value for name, value in environment.items() if name.startswith(SECRET)}
        self._names = sorted(name.lower() for name in found)
        self._values = found | {name.lower(): value for name, value in found.items()}

    def of(self, user: User) -> Mapping[str, str]:
        """The secrets by their names, the same for every user."""
        return self._values

    def entries(self) -> list[SecretEntry]:
        """The names in small letters. When a variable was set, nobody knows."""
        return [SecretEntry(name, User()) for name in self._names]


class LayeredSecrets:
    """The secrets of a store, and where the store has none those of the environment.

    Args:
        store: keeps secrets of users and shared ones; None where there is no place for a store.
        environment: the variables.
    """

    def __init__(self, store: SecretStore | None, environment: EnvironmentSecrets) -> None:
        self._store, self._environment = store, environment

    def of(self, user: User) -> Mapping[str, str]:
        """The secrets that a call on behalf of this user may have: own, shared, of the environment."""
        variables = self._environment.of(user)
        return variables if self._store is None else UserSecrets(self._store, user, variables)


def open_secrets(environment: Mapping[str, str]) -> SecretSource:
    """The secrets of a program, for `Agent(secrets=...)` and for the configuration of MCP servers."""
    try:
        store = secret_file(environment)
    except UsageError:  # there is no home folder
        store = None
    return LayeredSecrets(store, EnvironmentSecrets(environment))


def kept_secrets(environment: Mapping[str, str]) -> KeptSecrets:
    """The same secrets, for administrators to list, set and remove."""
    try:
        store = secret_file(environment)
    except UsageError:  # there is no home folder
        store = None
    return KeptSecrets(store, tuple(EnvironmentSecrets(environment).entries()), store)


def secret_file(environment: Mapping[str, str]) -> SecretFile:
    """The person's own file of secrets.

    Raises:
        UsageError: there is no home folder.
    """
    path = state_folder(environment) / "secrets.json"
    own = FileKey(path.parent.parent / "actum-key" / "secrets.key")  # a copy of the one folder is worth nothing
    return SecretFile(path, FirstKey(EnvironmentKey(environment, path), KeyringKey(f"secrets {path}"), own))


def make_key_file(environment: Mapping[str, str]) -> Path | None:
    """See to it that secrets can be kept where no keyring answers: make a key file for the user alone. From then on
    every program of this user takes the key from there, unless the environment names another.

    Args:
        environment: the variables.

    Returns:
        The file that was made; None where a key is named, a keyring answers, or there is a key file or a file of
        secrets already.

    Raises:
        UsageError: there is no home folder, or the file can not be written.
    """
    store = secret_file(environment)
    if store.path.exists() or not isinstance(store.keys, FirstKey):
        return None  # what is there has a key, which another could not replace
    return store.keys.make_file()


def begin_rekey(store: SecretFile, environment: Mapping[str, str]) -> bool:
    """Give the file of secrets a second key: the one that the environment names as the new one.

    Where none is named and the system's keyring holds the key, a new key is made there and the rekey is finished.

    Returns:
        Whether the rekey is finished.

    Raises:
        UsageError: no new key is named, or the file can not be written.
    """
    store.check()
    named = EnvironmentKey(environment, store.path, (NEW_KEY_VARIABLE, NEW_KEY_FILE_VARIABLE))
    new = named.find(make=False)
    if new is not None:
        store.add_key(new)
        return False
    keys = store.keys
    if not isinstance(keys, FirstKey) or not keys.uses_keyring:
        raise UsageError(
            "name the new key: set {file} or {variable}", file=NEW_KEY_FILE_VARIABLE, variable=NEW_KEY_VARIABLE
        )
    made = SecretKey(random_key_text().encode(), "the system keyring")
    store.add_key(made)  # from here on both open the file: a process that is killed now loses nothing
    keys.keyring.replace(made)
    store.finish_rekey()
    return True
