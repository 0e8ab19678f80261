"""A key file of the user's own, for a machine where no keyring answers."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from actum.compose.secrets import make_key_file, secret_file
from actum.core.errors import UsageError
from actum.core.secrets.store import SecretValue
from actum.core.user import User
from actum.storage.secret_key import EnvironmentKey, FileKey, FirstKey, KeyringKey


class Box:
    """A keyring that answers."""

    def get_password(self, service: str, username: str) -> str | None:
        return None

    def set_password(self, service: str, username: str, password: str) -> None:
        raise AssertionError("nothing is to be kept")


def _keys(folder: Path, keyring: Box | None, environment: dict[str, str] | None = None) -> FirstKey:
    named = EnvironmentKey(environment or {}, folder / "actum" / "secrets.json")
    return FirstKey(named, KeyringKey("t", lambda: keyring), FileKey(folder / "actum-key" / "secrets.key"))


def test_a_key_file_is_made_once_for_its_owner_alone_and_only_where_nothing_else_has_a_key(tmp_path: Path) -> None:
    assert _keys(tmp_path, Box()).make_file() is None
    assert _keys(tmp_path, None, {"ACTUM_SECRETS_KEY": "0123456789abcdef" * 4}).make_file() is None
    made: list[Path | None] = []
    threads = [threading.Thread(target=lambda: made.append(_keys(tmp_path, None).make_file())) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    file = tmp_path / "actum-key" / "secrets.key"
    assert [each for each in made if each is not None] == [file]
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert list(file.parent.iterdir()) == [file]
    # Every program of the user finds the key there, whether a keyring answers later or not.
    environment = {"XDG_STATE_HOME": str(tmp_path)}
    secret_file(environment).set("crm_key", SecretValue("hunter2"), User())
    assert secret_file(environment).get("crm_key", User()) == SecretValue("hunter2")
    key = _keys(tmp_path, Box()).find(make=True)
    assert key is not None
    assert key.source == str(file)
    assert make_key_file(environment) is None
    file.write_text("damaged")
    with pytest.raises(UsageError, match="holds no safe key"):
        secret_file(environment).get("crm_key", User())
    file.unlink()  # the secrets are there, and no new key could open them
    assert make_key_file(environment) is None
