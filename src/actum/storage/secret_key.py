"""Where the key to the file of secrets comes from: a variable, a file that a variable names, the user's own key file,
or the system's keyring.

The key never lies beside the file of secrets: a copy of the folder is worth nothing without the key. A key that was
named by a variable wins over the keyring, so that the same set-up finds the same key with a desktop and without.

The keyring holds the key and not the secrets themselves: some keyrings can list nothing, or hold no more than 2,560
bytes. A keyring answers over the desktop and may hang, so the keyring is asked in a thread, for some seconds at most.
"""

from __future__ import annotations

import os
import threading
from base64 import b64encode
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import mkstemp
from typing import Protocol, TypeVar

from ..core.errors import UsageError
from ..core.process.named_file import open_named
from ..core.secrets.private_paths import keep_private

KEY_VARIABLE, KEY_FILE_VARIABLE = "ACTUM_SECRETS_KEY", "ACTUM_SECRETS_KEY_FILE"
NEW_KEY_VARIABLE, NEW_KEY_FILE_VARIABLE = "ACTUM_SECRETS_NEW_KEY", "ACTUM_SECRETS_NEW_KEY_FILE"
KEY_BYTES_MIN = 32
KEY_BYTES_MAX = 4096
KINDS_MIN = 8
"""The least number of different bytes in a key: `aaaa...` is no key."""
KEYRING_S_MAX = 5.0
SERVICE = "actum"
_KEYRING = "the system keyring"
_UNSAFE = ("keyring.backends.fail", "keyring.backends.null", "keyrings.alt")
"""Modules of backends that keep nothing, or keep it in plain text."""

T = TypeVar("T")


class SecretKey:
    """The key to a file of secrets. `repr` does not show the key.

    Args:
        data: the bytes of the key; see `is_safe`.
        source: where the key comes from, for people.
    """

    __slots__ = ("_data", "source")

    def __init__(self, data: bytes, source: str) -> None:
        self._data = data
        self.source = source

    @property
    def is_safe(self) -> bool:
        """Whether the key is long, and not one byte again and again."""
        return KEY_BYTES_MIN <= len(self._data) <= KEY_BYTES_MAX and len(set(self._data)) >= KINDS_MIN

    def reveal(self) -> bytes:
        """The bytes of the key."""
        return self._data

    def __repr__(self) -> str:
        return f"SecretKey([secret], {self.source!r})"


class KeyProvider(Protocol):
    """Finds the key to a file of secrets."""

    def find(self, *, make: bool) -> SecretKey | None:
        """The key; None where there is none.

        Args:
            make: make a key where one can be made and kept.

        Raises:
            UsageError: there should be a key, and it can not be had.
        """

    def place(self) -> str:
        """Where the key is kept, or would be, for people; empty where it can not be kept. Errors as for `find`."""

    def forget(self) -> bool:
        """Look for the key anew the next time. False where that would find the same key."""


class Keyring(Protocol):
    """What is used of the package `keyring`, or of a backend of it."""

    def get_password(self, service: str, username: str) -> str | None: ...

    def set_password(self, service: str, username: str, password: str) -> None: ...


class GivenKey:
    """A key that the program has."""

    def __init__(self, key: SecretKey | None) -> None:
        self._key = key

    def find(self, *, make: bool) -> SecretKey | None:
        """The key."""
        return self._key

    def place(self) -> str:
        """Where the program says that the key comes from."""
        return self._key.source if self._key is not None else ""

    def forget(self) -> bool:
        """Nothing else can be found."""
        return False


class EnvironmentKey:
    """The key that the variables of the process name. A key file is read each time: mounted secrets are replaced.

    Args:
        environment: the variables.
        beside: the file of secrets; a key file in its folder is refused.
        variables: the variable that holds a key, and the one that names a file.
    """

    def __init__(
        self,
        environment: Mapping[str, str],
        beside: Path,
        variables: tuple[str, str] = (KEY_VARIABLE, KEY_FILE_VARIABLE),
    ) -> None:
        self._environment, self._beside, self._variables = environment, beside, variables
        if named := environment.get(variables[1]):
            keep_private(named)

    @property
    def is_named(self) -> bool:
        """Whether a variable is set."""
        return any(self._environment.get(variable) for variable in self._variables)

    def find(self, *, make: bool) -> SecretKey | None:
        """The key that a variable names; None where neither variable is set.

        Raises:
            UsageError: both are set, or the file can not be read, lies beside the secrets, or holds no safe key.
        """
        direct, file = self._variables
        if self._environment.get(direct) and self._environment.get(file):
            raise UsageError("{variable} and {file} are both set: keep one of them", variable=direct, file=file)
        if not self.is_named:
            return None
        if name := self._environment.get(file):
            key = SecretKey(self._read(name, file), f"{file} ({name})")
        else:
            key = SecretKey(self._environment[direct].strip().encode(errors="surrogateescape"), direct)
        if not key.is_safe:  # raised here, where no variable holds the text of the key
            raise UsageError(
                "{source} holds no safe key: a key has 32 random characters or more; make one with "
                "`openssl rand -hex 32`",
                source=key.source,
            )
        return key

    def place(self) -> str:
        """The variable that is set; empty where none is."""
        key = self.find(make=False)
        return key.source if key is not None else ""

    def forget(self) -> bool:
        """Nothing is remembered."""
        return False

    def _read(self, name: str, variable: str) -> bytes:
        try:
            path = Path(name).expanduser().resolve()
            if path.is_relative_to(self._beside.resolve().parent):
                raise UsageError(
                    "{variable} names {path}, which lies beside the secrets: whoever copies the "
                    "folder would have both. Keep the key elsewhere",
                    variable=variable,
                    path=name,
                )
            with open_named(path) as file:
                return file.read(KEY_BYTES_MAX + 2).strip()
        except (OSError, RuntimeError) as error:
            why = error.strerror if isinstance(error, OSError) else "there is no home folder"
            raise UsageError(
                "{variable}: {name} can not be read: {why}", variable=variable, name=name, why=why
            ) from None


class KeyringKey:
    """A key that the system's keyring holds. Asked for once in a process.

    Args:
        account: the name under which the keyring holds the key: one key for each file of secrets.
        load: gives the keyring; None where none answers.
        limit_s: the most seconds to wait for an answer.
    """

    def __init__(
        self, account: str, load: Callable[[], Keyring | None] | None = None, limit_s: float = KEYRING_S_MAX
    ) -> None:
        self._account, self._load, self._limit_s = account, load or system_keyring, limit_s
        self._key: SecretKey | None = None
        self._hangs = False

    def find(self, *, make: bool) -> SecretKey | None:
        """The key that the keyring holds; None where no keyring answers, or it has no key and none is to be made.

        Raises:
            UsageError: the keyring refuses, or does not answer in time.
        """
        if self._key is None:
            found = self._ask(lambda keyring: self._found(keyring, make=make))
            self._key = SecretKey(found.encode(), _KEYRING) if found else None
        return self._key

    def place(self) -> str:
        """The keyring; empty where none answers."""
        return self._ask(lambda keyring: _KEYRING) or ""

    def forget(self) -> bool:
        """Ask the keyring anew the next time: another process may have put a new key there."""
        was, self._key = self._key is not None, None
        return was

    def replace(self, key: SecretKey) -> None:
        """Have the keyring hold another key, which is a text.

        Raises:
            UsageError: it will not.
        """
        text = key.reveal().decode()
        self._ask(lambda keyring: keyring.set_password(SERVICE, self._account, text))
        self._key = key

    def _found(self, keyring: Keyring, *, make: bool) -> str | None:
        found = keyring.get_password(SERVICE, self._account)
        if found or not make:
            return found
        keyring.set_password(SERVICE, self._account, random_key_text())
        return keyring.get_password(SERVICE, self._account)  # as the keyring has it: another process may make one too

    def _ask(self, question: Callable[[Keyring], T]) -> T | None:
        """What the keyring answers; None where there is no keyring. The thread of a keyring that hangs is left alone:
        nothing can end it, and it does not keep the process from ending.
        """
        if self._hangs:
            raise self._no_answer()
        answers: list[T | None] = []
        failures: list[str] = []

        def ask() -> None:
            try:
                keyring = self._load()
                answers.append(None if keyring is None else question(keyring))
            except Exception as error:  # noqa: BLE001  # foreign code; the caller is told the kind of error
                failures.append(type(error).__name__)

        thread = threading.Thread(target=ask, name="actum-keyring", daemon=True)
        thread.start()
        thread.join(self._limit_s)
        if failures:
            raise UsageError(
                "the system keyring gives no key ({kind}): unlock it, or set {file}",
                kind=failures[0],
                file=KEY_FILE_VARIABLE,
            )
        if not answers:
            self._hangs = True
            raise self._no_answer()
        return answers[0]

    def _no_answer(self) -> UsageError:
        return UsageError(
            "the system keyring did not answer in {seconds:g} s: unlock it and start again, or set {file}",
            seconds=self._limit_s,
            file=KEY_FILE_VARIABLE,
        )


class FileKey:
    """A key in a file of the user's own, for a machine without a keyring. A person who can read all files of the user
    can read the secrets. The file only makes a copy of the folder of secrets worthless.

    Args:
        path: the file, which does not lie in the folder of the secrets.
    """

    def __init__(self, path: Path) -> None:
        keep_private(path)
        self.path = path

    @property
    def is_there(self) -> bool:
        """Whether somebody has made the file."""
        return self.path.exists()

    def find(self, *, make: bool) -> SecretKey | None:
        """The key in the file; None where there is no file. None is made here.

        Raises:
            UsageError: the file can not be read, or holds no safe key.
        """
        try:
            key = SecretKey(self.path.read_bytes()[: KEY_BYTES_MAX + 2].strip(), str(self.path))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise UsageError("{path} can not be read: {why}", path=self.path, why=error.strerror) from None
        if not key.is_safe:
            raise UsageError("{path} holds no safe key: put the file back as it was", path=self.path)
        return key

    def place(self) -> str:
        """The file."""
        return str(self.path)

    def forget(self) -> bool:
        """Nothing is remembered."""
        return False

    def make(self) -> bool:
        """Make the file, for its owner alone. False where another process has made the file meanwhile.

        Raises:
            UsageError: the file can not be written.
        """
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            number, new = mkstemp(dir=self.path.parent)  # for its owner alone
            try:
                with os.fdopen(number, "wb") as file:
                    file.write(random_key_text().encode())
                    file.flush()
                    os.fsync(file.fileno())
                os.link(new, self.path)  # whole or not at all, and never over another
            except FileExistsError:
                return False
            finally:
                Path(new).unlink()
        except OSError as error:
            raise UsageError("{path} can not be written: {why}", path=self.path, why=error.strerror) from None
        return True


class FirstKey:
    """The key that the environment names, else the one of the user's own key file, else the one of the keyring.

    Args:
        named: by the environment.
        keyring: of the system.
        file: of the user; None where there can be none.
    """

    def __init__(self, named: EnvironmentKey, keyring: KeyringKey, file: FileKey | None = None) -> None:
        self.named, self.keyring, self.file = named, keyring, file

    @property
    def uses_keyring(self) -> bool:
        """Whether the key is the one of the keyring."""
        return self._first is self.keyring

    def make_file(self) -> Path | None:
        """Make the user's own key file where no key is named and no keyring answers.

        Returns:
            The file; None where none is needed.

        Raises:
            UsageError: the file can not be written.
        """
        if self.file is None or not self.uses_keyring:
            return None
        with suppress(UsageError):  # a keyring that hangs, or can not be loaded, does not answer
            if self.keyring.place():
                return None
        return self.file.path if self.file.make() else None

    def find(self, *, make: bool) -> SecretKey | None:
        """The key; see `EnvironmentKey.find` and `KeyringKey.find`."""
        return self._first.find(make=make)

    def place(self) -> str:
        """Where the key is kept, or would be."""
        return self._first.place()

    def forget(self) -> bool:
        """Look for the key anew the next time."""
        return self._first.forget()

    @property
    def _first(self) -> EnvironmentKey | FileKey | KeyringKey:
        if self.named.is_named:
            return self.named
        return self.file if self.file is not None and self.file.is_there else self.keyring


def system_keyring() -> Keyring | None:
    """The keyring of the system; None where the package is missing or no safe keyring answers.

    A backend that keeps what it is given in plain text is no safe keyring.
    """
    try:
        import keyring  # optional, and slow: it looks for backends
    except ImportError:
        return None
    backend = keyring.get_keyring()
    inner = getattr(backend, "backends", (backend,))  # a chain of several
    if not any(not type(each).__module__.startswith(_UNSAFE) for each in inner):
        return None
    if any(type(each).__module__.startswith("keyrings.alt") for each in inner):
        return None
    return backend


def random_key_text() -> str:
    """A new key, as a text."""
    return b64encode(os.urandom(KEY_BYTES_MIN)).decode()
