"""Keys that the system's keyring holds, and keyrings that are missing, refuse or hang."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from actum.compose.secrets import begin_rekey
from actum.core.errors import UsageError
from actum.core.secrets.store import SecretValue
from actum.core.user import User
from actum.storage.secret_file import SecretFile
from actum.storage.secret_key import EnvironmentKey, FirstKey, Keyring, KeyringKey, system_keyring
from tests.patience import HANGS_S

ANN = User("", "ann")


class DictKeyring:
    """A keyring in memory, which counts how often it is asked."""

    def __init__(self) -> None:
        self.held: dict[tuple[str, str], str] = {}
        self.asked = 0

    def get_password(self, service: str, username: str) -> str | None:
        self.asked += 1
        return self.held.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.held[service, username] = password


class LockedKeyring(DictKeyring):
    def get_password(self, service: str, username: str) -> str | None:
        raise PermissionError("hunter2: the collection is locked")


class HangingKeyring(DictKeyring):
    """A keyring that waits for a person who does not come."""

    def __init__(self) -> None:
        super().__init__()
        self.answers = threading.Event()

    def get_password(self, service: str, username: str) -> str | None:
        self.asked += 1
        self.answers.wait(HANGS_S)
        return None


def store(path: Path, keyring: Keyring | None, environment: dict[str, str] | None = None) -> SecretFile:
    key = KeyringKey("the account", lambda: keyring, limit_s=0.05)
    return SecretFile(path, FirstKey(EnvironmentKey(environment or {}, path), key))


def test_the_keyring_holds_the_key_and_is_asked_once_and_only_when_there_is_something_to_read(tmp_path: Path) -> None:
    keyring = DictKeyring()
    first = store(tmp_path / "secrets.json", keyring)
    assert first.get("crm", ANN) is None
    assert keyring.asked == 0
    first.set("crm", SecretValue("hunter2"), ANN)
    ((service, account),) = keyring.held
    assert (service, account) == ("actum", "the account")
    asked = keyring.asked
    again = store(tmp_path / "secrets.json", keyring)
    for _ in range(3):
        assert again.get("crm", ANN) == SecretValue("hunter2")
    assert keyring.asked == asked + 1
    keyring.held.clear()
    with pytest.raises(UsageError, match="there is no key for the secrets"):
        store(tmp_path / "secrets.json", keyring).get("crm", ANN)


def test_a_key_that_a_variable_names_wins_over_the_keyring(tmp_path: Path) -> None:
    keyring = DictKeyring()
    named = {"ACTUM_SECRETS_KEY": "0123456789abcdef" * 4}
    store(tmp_path / "secrets.json", keyring, named).set("crm", SecretValue("hunter2"), ANN)
    assert (keyring.asked, keyring.held) == (0, {})


def test_a_keyring_that_hangs_or_refuses_is_told_within_its_time_and_not_asked_again(tmp_path: Path) -> None:
    path = tmp_path / "secrets.json"
    store(path, DictKeyring()).set("crm", SecretValue("v"), ANN)
    hanging = HangingKeyring()
    waits = store(path, hanging)
    for _ in range(3):
        with pytest.raises(UsageError, match=r"did not answer in 0.05 s: unlock it .* or set ACTUM_SECRETS_KEY_FILE"):
            waits.get("crm", ANN)
    assert hanging.asked == 1
    hanging.answers.set()
    with pytest.raises(UsageError, match=r"gives no key \(PermissionError\): unlock it") as raised:
        store(path, LockedKeyring()).get("crm", ANN)
    assert "hunter2" not in str(raised.value)
    with pytest.raises(UsageError, match="there is no key for the secrets"):
        store(path, None).get("crm", ANN)


def test_a_key_that_another_process_put_into_the_keyring_is_found(tmp_path: Path) -> None:
    path, keyring = tmp_path / "secrets.json", DictKeyring()
    here, there = store(path, keyring), store(path, keyring)
    here.set("crm", SecretValue("v"), ANN)
    assert there.get("crm", ANN) == SecretValue("v")
    assert begin_rekey(here, {})
    assert there.get("crm", ANN) == SecretValue("v")


def test_without_a_desktop_the_package_finds_no_keyring() -> None:
    """The real package, on the machine of the tests: backends that keep nothing count as none."""
    found = system_keyring()
    assert found is None or not type(found).__module__.startswith("keyring.backends.fail")
