"""The encrypted file of secrets: whose they are, what is bound to what, and that nothing is lost or shown."""

from __future__ import annotations

import base64
import json
import pickle
import resource
import stat
import sys
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from actum.core.errors import UsageError
from actum.core.secrets.store import SecretEntry, SecretValue, UserSecrets, checked_value
from actum.core.user import User
from actum.storage.secret_file import SecretFile
from actum.storage.secret_key import EnvironmentKey, GivenKey, SecretKey
from actum.testing import FakeClock
from tests import warm

KEY, OTHER = b"0123456789abcdef" * 4, b"fedcba9876543210" * 4
SHARED, ANN, BOB, NORTH, ANN_OF_NORTH = User(), User("", "ann"), User("", "bob"), User("north"), User("north", "ann")


def at(path: Path, key: bytes | None = KEY) -> SecretFile:
    return SecretFile(path, GivenKey(SecretKey(key, "the test") if key else None), clock=FakeClock(now=1000.0))


@pytest.fixture
def store(tmp_path: Path) -> SecretFile:
    return at(tmp_path / "state" / "secrets.json")


def value_of(store: SecretFile, name: str, owner: User = SHARED) -> str | None:
    found = store.get(name, owner)
    return found.reveal() if found is not None else None


def told_below(error: BaseException) -> str:
    """The traceback with the local variables of all frames but the test's own, as a crash report has it."""
    assert error.__traceback__ is not None
    below = error.with_traceback(error.__traceback__.tb_next)
    return "".join(traceback.TracebackException.from_exception(below, capture_locals=True).format())


def test_a_value_is_found_again_by_another_process_and_stands_nowhere_in_the_file(store: SecretFile) -> None:
    assert (store.get("crm", SHARED), store.entries(), store.remove("crm", SHARED)) == (None, [], False)
    assert not store.path.exists(), "looking makes no file"
    store.set("crm", SecretValue("hunter2"), SHARED)
    store.set("crm", SecretValue("of ann"), ANN)
    again = at(store.path)
    assert (value_of(again, "crm"), value_of(again, "crm", ANN), value_of(again, "crm", BOB)) == (
        "hunter2",
        "of ann",
        None,
    )
    assert again.entries() == [SecretEntry("crm", SHARED, 1000.0), SecretEntry("crm", ANN, 1000.0)]
    whole = b"".join(path.read_bytes() for path in store.path.parent.iterdir())
    assert b"hunter2" not in whole
    assert base64.b64encode(b"hunter2")[:8] not in whole
    assert stat.S_IMODE(store.path.stat().st_mode) == 0o600
    assert again.remove("crm", SHARED)
    assert (value_of(store, "crm"), value_of(store, "crm", ANN)) == (None, "of ann")


def test_a_user_gets_the_own_secret_then_the_shared_one_then_the_fallback_and_never_anothers(store: SecretFile) -> None:
    for owner in (SHARED, ANN, BOB, NORTH):
        store.set("key", SecretValue(f"key of {owner}"), owner)
    store.set("only_bob", SecretValue("b"), BOB)
    store.set("only_north", SecretValue("n"), ANN_OF_NORTH)
    fallback = {"key": "variable", "variable": "v"}

    def seen(user: User) -> dict[str, str]:
        return dict(UserSecrets(store, user, fallback))

    assert seen(ANN) == {"key": f"key of {ANN}", "variable": "v"}
    assert seen(BOB) == {"key": f"key of {BOB}", "only_bob": "b", "variable": "v"}
    assert seen(User("", "eve")) == seen(SHARED) == {"key": f"key of {SHARED}", "variable": "v"}
    assert seen(ANN_OF_NORTH) == {"key": f"key of {NORTH}", "only_north": "n", "variable": "v"}
    assert seen(User("south", "ann")) == fallback
    assert "only_bob" not in UserSecrets(store, ANN)


def test_the_value_of_one_entry_put_in_the_place_of_another_is_found_out(store: SecretFile) -> None:
    store.set("key", SecretValue("of ann"), ANN)
    store.set("key", SecretValue("of bob"), BOB)
    store.set("other", SecretValue("of ann too"), ANN)
    good = store.path.read_bytes()

    def changed(change: Callable[[Any], object]) -> None:
        document = json.loads(good)
        change(document)
        store.path.write_text(json.dumps(document))
        bad = store.path.read_bytes()
        attempts: list[Callable[[], object]] = [
            lambda: store.get("key", ANN),
            lambda: store.set("new", SecretValue("n"), ANN),
        ]
        for attempt in attempts:
            with pytest.raises(UsageError, match="is damaged"):
                attempt()
        assert store.path.read_bytes() == bad, "it was written over"

    changed(lambda document: document["entries"].pop())
    changed(lambda document: document["entries"].reverse())
    changed(lambda document: document.update(entries=[*document["entries"], document["entries"][0]]))
    changed(lambda document: document["entries"][0].update(principal="bob"))
    changed(lambda document: document["entries"][0].update(name="other"))
    changed(lambda document: document["entries"][0].update(tenant="north"))
    changed(lambda document: document["entries"][0].update(kind="granted"))
    changed(lambda document: document["entries"][0].update(set_at=5.0))
    changed(lambda document: document["entries"][0].update(value=document["entries"][1]["value"]))
    changed(lambda document: document.update(count=99))
    store.path.write_bytes(good)
    assert value_of(store, "key", ANN) == "of ann"


def test_each_entry_is_bound_to_its_place_even_for_whoever_can_make_a_seal(store: SecretFile) -> None:
    store.set("key", SecretValue("of ann"), ANN)
    opened = store._open()
    assert opened is not None
    (entry,) = opened.document.entries
    for wrong in (("principal", "bob"), ("tenant", "north"), ("name", "k"), ("kind", "granted"), ("set_at", 1.0)):
        with pytest.raises(UsageError, match="not what it was"):
            store._value(replace(entry, **{wrong[0]: wrong[1]}), opened.key)


def test_a_file_that_is_cut_anywhere_or_empty_is_an_error_and_is_never_written_over(store: SecretFile) -> None:
    store.set("key", SecretValue("v"), ANN)
    whole = store.path.read_bytes()
    for cut in range(0, len(whole) - 1, 7):
        store.path.write_bytes(whole[:cut])
        with pytest.raises(UsageError, match=r"damaged|another version"):
            store.set("new", SecretValue("n"), ANN)
        assert store.path.read_bytes() == whole[:cut]
    store.path.write_bytes(whole.replace(b'"version": 1', b'"version": 2'))
    with pytest.raises(UsageError, match="another version of actum"):
        store.get("key", ANN)


def test_an_older_copy_of_the_file_and_a_file_that_is_gone_are_told(store: SecretFile) -> None:
    store.set("key", SecretValue("old"), ANN)
    old = store.path.read_bytes()
    store.set("key", SecretValue("new"), ANN)
    store.path.write_bytes(old)
    for each in (store, at(store.path)):
        with pytest.raises(UsageError, match="is older than it was"):
            each.get("key", ANN)
        with pytest.raises(UsageError, match="is older than it was"):
            each.set("key", SecretValue("newer"), ANN)
    assert store.path.read_bytes() == old
    store.path.unlink()
    with pytest.raises(UsageError, match="is gone, and it held secrets"):
        at(store.path).set("key", SecretValue("x"), ANN)
    store.path.write_bytes(old)  # a person means it
    store.path.with_name("secrets.json.count").unlink()
    assert value_of(at(store.path), "key", ANN) == "old"


def test_a_wrong_key_and_no_key_are_told_and_tell_nothing(store: SecretFile) -> None:
    store.set("key", SecretValue("hunter2"), ANN)
    before = store.path.read_bytes()
    for key, words in ((OTHER, "the key of the test does not open"), (None, "there is no key for the secrets")):
        wrong = at(store.path, key)
        attempts: list[Callable[[], object]] = [
            partial(wrong.get, "key", ANN),
            partial(wrong.get, "no such key", BOB),
            partial(wrong.set, "key", SecretValue("x"), ANN),
            partial(wrong.remove, "key", ANN),
            wrong.entries,
            wrong.finish_rekey,
        ]
        for attempt in attempts:
            with pytest.raises(UsageError, match=words) as raised:
                attempt()
            assert "hunter2" not in str(raised.value)
            assert KEY.decode() not in str(raised.value)
    assert store.path.read_bytes() == before


def test_no_nonce_and_no_key_of_a_value_is_used_twice_and_lengths_do_not_show(store: SecretFile) -> None:
    seen: set[tuple[str, str]] = set()
    for number in range(40):
        store.set("key", SecretValue("x" * (number % 20 + 1)), ANN)
        (entry,) = json.loads(store.path.read_bytes())["entries"]
        seen.add((entry["value"]["salt"], entry["value"]["nonce"]))
        assert len(base64.b64decode(entry["value"]["data"])) == 256 + 16
    assert len(seen) == len({salt for salt, _ in seen}) == len({nonce for _, nonce in seen}) == 40


def test_while_a_rekey_goes_on_both_keys_are_valid_and_then_only_the_new_one(store: SecretFile) -> None:
    store.set("key", SecretValue("v"), ANN)
    old, new = store, at(store.path, OTHER)
    before = store.path.read_bytes()
    store.add_key(SecretKey(OTHER, "new"))
    new.set("by_new", SecretValue("n"), ANN)
    old.set("by_old", SecretValue("o"), ANN)
    for each in (old, new):
        assert dict(UserSecrets(each, ANN)) == {"key": "v", "by_new": "n", "by_old": "o"}
    with pytest.raises(UsageError, match="this is the old key"):
        old.finish_rekey()
    with pytest.raises(UsageError, match="this is the new key"):
        new.cancel_rekey()
    with pytest.raises(UsageError, match="two keys open"):
        old.add_key(SecretKey(b"another key, " * 4, "third"))
    assert new.finish_rekey() == 3
    assert dict(UserSecrets(new, ANN)) == {"key": "v", "by_new": "n", "by_old": "o"}
    with pytest.raises(UsageError, match="does not open"):
        old.get("key", ANN)
    fresh, first = json.loads(store.path.read_bytes()), json.loads(before)
    assert fresh["entries"][0]["value"] != first["entries"][0]["value"], "values are encrypted anew"
    assert fresh["entries"][0]["set_at"] == 1000.0
    new.add_key(SecretKey(KEY, "old again"))
    assert new.cancel_rekey() == 3
    with pytest.raises(UsageError, match="does not open"):
        old.get("key", ANN)
    with pytest.raises(UsageError, match="no rekey to cancel"):
        new.cancel_rekey()


def test_processes_that_write_at_once_lose_nothing(store: SecretFile) -> None:
    program = (
        "import sys, pathlib; from actum.core.user import User; from actum.core.secrets.store import SecretValue\n"
        "from actum.storage.secret_file import SecretFile\n"
        "from actum.storage.secret_key import GivenKey, SecretKey\n"
        "store = SecretFile(pathlib.Path(sys.argv[1]), GivenKey(SecretKey(sys.argv[3].encode(), 'k')))\n"
        "for n in range(8):\n"
        "    store.set(f'k{n}', SecretValue(sys.argv[2]), User('', sys.argv[2]))\n"
        "    assert store.get(f'k{n}', User('', sys.argv[2])) is not None\n"
    )
    arguments = [sys.executable, "-W", "error", "-c", program, str(store.path)]
    running = [warm.popen([*arguments, user, KEY.decode()]) for user in ("a", "b", "c")]
    assert [process.wait() for process in running] == [0, 0, 0]
    assert sorted((each.owner.principal, each.name) for each in store.entries()) == [
        (user, f"k{number}") for user in "abc" for number in range(8)
    ]


def test_a_disk_that_is_full_in_mid_write_loses_nothing_and_no_traceback_holds_a_value(store: SecretFile) -> None:
    store.set("key", SecretValue("hunter2-old"), ANN)
    before = store.path.read_bytes()
    limit, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200, hard))  # in bytes: writing more is an error, as on a full disk
    try:
        with pytest.raises(UsageError, match="can not be written") as raised:
            store.set("key", SecretValue("hunter2-new"), ANN)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    told = told_below(raised.value)
    assert "_change" in told
    assert "hunter2" not in told
    assert KEY.decode() not in told
    assert store.path.read_bytes() == before
    assert value_of(store, "key", ANN) == "hunter2-old"
    assert {path.name for path in store.path.parent.iterdir()} == {
        "secrets.json",
        "secrets.json.count",
        "secrets.json.lock",
    }


def test_a_value_is_in_no_repr_and_in_no_pickle_and_a_bad_value_is_not_told() -> None:
    value, key = SecretValue("hunter2"), SecretKey(KEY, "the test")
    shown = f"{value} {value!r} {[value]} {key} {key!r} {GivenKey(key)!r}"
    assert "hunter2" not in shown
    assert KEY.decode() not in shown
    with pytest.raises(TypeError, match="not pickled"):
        pickle.dumps(value)
    assert (value == SecretValue("hunter2"), value == SecretValue("hunter3"), value == "hunter2") == (
        True,
        False,
        False,
    )
    for bad, words in (
        ("", "is empty"),
        ("hunter2\0", "not a text"),
        ("hunter2\udc80", "not a text"),
        ("h" * 70_000, "64"),
    ):
        with pytest.raises(UsageError, match=words) as raised:
            checked_value(SecretValue(bad))
        assert "hunter2" not in told_below(raised.value)


@pytest.mark.parametrize("name", ["", "a b", "a/b", "../x", "${x}", "ключ", "x" * 129, ".x", "a\n"])
def test_a_name_that_no_configuration_can_say_is_refused(store: SecretFile, name: str) -> None:
    with pytest.raises(UsageError, match="the name of a secret"):
        store.set(name, SecretValue("v"), SHARED)
    assert not store.path.exists()


def test_the_key_of_the_environment_never_lies_beside_the_file_and_is_no_weak_one(tmp_path: Path) -> None:
    path, elsewhere = tmp_path / "state" / "secrets.json", tmp_path / "run" / "key"
    for folder in (path.parent, elsewhere.parent):
        folder.mkdir()
    (path.parent / "key").write_bytes(KEY)
    elsewhere.write_bytes(KEY + b"\n")
    (tmp_path / "run" / "link").symlink_to(path.parent / "key")

    def found(**variables: str) -> SecretKey | None:
        return EnvironmentKey({f"ACTUM_SECRETS_{name}": value for name, value in variables.items()}, path).find(
            make=True
        )

    assert found() is None
    by_file, by_word = found(KEY_FILE=str(elsewhere)), found(KEY=KEY.decode())
    assert by_file is not None
    assert by_word is not None
    assert by_file.reveal() == by_word.reveal() == KEY
    for variables, words in (
        ({"KEY_FILE": str(path.parent / "key")}, "lies beside the secrets"),
        ({"KEY_FILE": str(tmp_path / "run" / "link")}, "lies beside the secrets"),
        ({"KEY_FILE": str(tmp_path / "no such file")}, "can not be read: No such file"),
        ({"KEY_FILE": str(elsewhere), "KEY": KEY.decode()}, "are both set"),
        ({"KEY": "hunter2"}, "no safe key"),
        ({"KEY": "hunter22" * 4}, "no safe key"),
    ):
        with pytest.raises(UsageError, match=words) as raised:
            found(**variables)
        assert "hunter2" not in str(raised.value)
