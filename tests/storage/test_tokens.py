"""The file of tokens: whose it is, that it is never half written, and that it shows no secret."""

from __future__ import annotations

import asyncio
import stat
import sys
from pathlib import Path

import msgspec
import pytest

from actum.core.errors import UsageError
from actum.core.user import User
from actum.storage.secret_file import SecretFile
from actum.storage.secret_key import GivenKey, SecretKey
from actum.storage.tokens import Granted, Registration, TokenStore
from tests import warm

SERVER, ISSUER = "https://mcp.example.org/mcp", "https://login.example.org"


def grant(token: str = "at-secret", user: str = "", server: str = SERVER) -> Granted:
    return Granted(
        server=server,
        resource=server,
        user=user,
        issuer=ISSUER,
        token_endpoint=f"{ISSUER}/token",
        client_id="actum",
        access_token=token,
        refresh_token="rt-secret",
        scope="read",
        expires_at=5.0,
    )


def registration(secret: str = "cs-secret", user: str = "") -> Registration:
    return Registration(issuer=ISSUER, user=user, client_id="actum", client_secret=secret, method="client_secret_post")


@pytest.fixture
def store(tmp_path: Path) -> TokenStore:
    return TokenStore(tmp_path / "state" / "tokens.json")


def test_what_was_kept_is_found_again_by_another_process(store: TokenStore) -> None:
    store.keep(grant())
    store.keep(registration())
    again = TokenStore(store.path)
    assert again.granted(User(), SERVER) == grant()
    assert again.registration(User(), ISSUER) == registration()
    assert again.granted(User(), "https://other.example.org") is None


def test_users_and_servers_do_not_see_each_others_tokens(store: TokenStore) -> None:
    store.keep(grant("of-ada", "ada"))
    store.keep(grant("of-bob", "bob"))
    store.keep(grant("elsewhere", "ada", "https://other.example.org"))
    store.keep(registration("ada", "ada"))
    store.keep(grant("of-ada-2", "ada"))
    ada, bob = store.granted(User(principal="ada"), SERVER), store.granted(User(principal="bob"), SERVER)
    assert (ada and ada.access_token, bob and bob.access_token) == ("of-ada-2", "of-bob")
    assert store.granted(User(), SERVER) is None
    assert store.registration(User(principal="bob"), ISSUER) is None


@pytest.mark.parametrize("is_sealed", [False, True])
async def test_users_of_one_name_in_two_tenants_do_not_see_each_others_tokens(tmp_path: Path, is_sealed: bool) -> None:
    store = sealed(tmp_path) if is_sealed else TokenStore(tmp_path / "state" / "tokens.json")
    north, south = User("north", "ada"), User("south", "ada")
    for user in (north, south):
        store.keep(msgspec.structs.replace(grant(f"of-{user.tenant}", "ada"), tenant=user.tenant))
        store.keep(msgspec.structs.replace(registration(user.tenant, "ada"), tenant=user.tenant))
    for user in (north, south):
        kept, known = store.granted(user, SERVER), store.registration(user, ISSUER)
        assert (kept and kept.access_token, known and known.client_secret) == (f"of-{user.tenant}", user.tenant)
    assert store.granted(User("", "ada"), SERVER) is None
    store.drop(msgspec.structs.replace(grant("of-north", "ada"), tenant="north"))
    assert (store.granted(north, SERVER), bool(store.granted(south, SERVER))) == (None, True)
    async with store.turn(north, SERVER), store.turn(south, SERVER):
        """Neither waits for the other."""


def test_tokens_of_before_there_were_tenants_belong_to_the_tenant_without_a_name(store: TokenStore) -> None:
    store.keep(grant("of-ada", "ada"))
    assert b"tenant" not in store.path.read_bytes(), "the file is as it was written before"
    assert store.granted(User("", "ada"), SERVER) == grant("of-ada", "ada")
    assert store.granted(User("north", "ada"), SERVER) is None


def test_only_its_owner_can_read_the_file(store: TokenStore) -> None:
    store.keep(grant())
    store.keep(registration())
    assert stat.S_IMODE(store.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(store.path.parent.stat().st_mode) == 0o700
    assert {path.name for path in store.path.parent.iterdir()} == {"tokens.json", ".tokens.json.lock"}


def test_what_is_dropped_is_gone_unless_it_was_replaced_meanwhile(store: TokenStore) -> None:
    store.keep(grant("old"))
    store.keep(grant("new"))
    store.drop(grant("old"))
    assert store.granted(User(), SERVER) == grant("new")
    store.drop(grant("new"))
    store.keep(registration())
    store.drop(registration())
    assert (store.granted(User(), SERVER), store.registration(User(), ISSUER)) == (None, None)
    assert b"secret" not in store.path.read_bytes()


def test_nothing_secret_is_shown(store: TokenStore) -> None:
    shown = repr([grant(), registration()]) + f"{grant()} {registration()}"
    assert "secret" not in shown
    store.keep(grant())
    store.path.write_bytes(store.path.read_bytes().replace(b'"at-secret"', b'["at-secret"]'))
    with pytest.raises(UsageError, match="can not be read") as raised:
        store.granted(User(), SERVER)
    assert "at-secret" not in str(raised.value)


def test_a_damaged_file_is_not_written_over(store: TokenStore) -> None:
    store.path.parent.mkdir()
    store.path.write_bytes(b"{")
    with pytest.raises(UsageError):
        store.keep(grant())
    assert store.path.read_bytes() == b"{"


def test_a_place_that_can_not_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="can not be kept"):
        TokenStore(tmp_path / "file" / "tokens.json").keep(grant())


async def test_a_turn_is_held_by_one_at_a_time(store: TokenStore) -> None:
    seen: list[str] = []

    async def hold(name: str, other: TokenStore, server: str = SERVER) -> None:
        async with other.turn(User(), server):
            seen.append(f"{name} in")
            await asyncio.sleep(0)
            seen.append(f"{name} out")

    async with store.turn(User(), SERVER):
        waiting = asyncio.create_task(hold("b", TokenStore(store.path)))
        await hold("c", TokenStore(store.path), "https://other.example.org")
        assert seen == ["c in", "c out"]
    await waiting
    assert seen == ["c in", "c out", "b in", "b out"]


async def test_a_turn_that_fails_is_given_back(store: TokenStore) -> None:
    with pytest.raises(ConnectionError):
        async with store.turn(User(), SERVER):
            raise ConnectionError
    async with store.turn(User(), SERVER):
        pass


def test_many_processes_that_keep_at_once_lose_nothing(store: TokenStore) -> None:
    program = (
        "import sys, pathlib; from actum.storage.tokens import Granted, TokenStore\n"
        "store = TokenStore(pathlib.Path(sys.argv[1]))\n"
        "for n in range(5):\n"
        "    store.keep(Granted(server=f'https://r{n}', resource='r', user=sys.argv[2], issuer='i', token_endpoint='t',"
        " client_id='c', access_token='a'))\n"
    )
    running = [warm.popen([sys.executable, "-c", program, str(store.path), user]) for user in "abc"]
    assert [process.wait() for process in running] == [0, 0, 0]
    kept = msgspec.json.decode(store.path.read_bytes())["granted"]
    assert sorted((one["user"], one["server"][-1]) for one in kept) == [(u, n) for u in "abc" for n in "01234"]


KEY = SecretKey(b"0123456789abcdef" * 4, "the test")


def sealed(tmp_path: Path, key: SecretKey | None = KEY) -> TokenStore:
    vault = SecretFile(tmp_path / "state" / "secrets.json", GivenKey(key))
    return TokenStore(tmp_path / "state" / "tokens.json", vault=vault, warns=True)


def test_with_a_key_no_login_lies_in_plain_text(tmp_path: Path) -> None:
    store = sealed(tmp_path)
    store.keep(grant("of-ada", "ada"))
    store.keep(registration(user="ada"))
    again = sealed(tmp_path)
    assert again.granted(User(principal="ada"), SERVER) == grant("of-ada", "ada")
    assert again.registration(User(principal="ada"), ISSUER) == registration(user="ada")
    assert (again.granted(User(principal="bob"), SERVER), again.granted(User(), SERVER)) == (None, None)
    assert not again.is_plain
    whole = b"".join(path.read_bytes() for path in (tmp_path / "state").iterdir())
    assert not {word for word in (b"of-ada", b"rt-secret", b"cs-secret") if word in whole}
    again.drop(grant("another token", "ada"))
    assert store.granted(User(principal="ada"), SERVER) == grant("of-ada", "ada")
    again.drop(grant("of-ada", "ada"))
    assert store.granted(User(principal="ada"), SERVER) is None


def test_no_tool_can_ask_for_a_login(tmp_path: Path) -> None:
    store = sealed(tmp_path)
    store.keep(grant("of-ada", "ada"))
    vault = SecretFile(tmp_path / "state" / "secrets.json", GivenKey(KEY))
    assert dict(vault.of(User("", "ada"))) == {}
    assert (vault.get(SERVER, User("", "ada")), vault.entries()) == (None, [])


def test_a_plain_file_is_taken_over_once_and_its_bytes_are_overwritten(store: TokenStore, tmp_path: Path) -> None:
    store.keep(grant("at-1"))
    store.keep(registration())
    copy = tmp_path / "same bytes"
    copy.hardlink_to(store.path)
    assert sealed(tmp_path).granted(User(), SERVER) == grant("at-1")
    assert not store.path.exists()
    assert set(copy.read_bytes()) == {0}
    assert sealed(tmp_path).registration(User(), ISSUER) == registration()
    with pytest.warns(UserWarning, match="logins are kept in plain text"):
        sealed(tmp_path, None).keep(grant("at-2"))  # a process without the key
    assert sealed(tmp_path).granted(User(), SERVER) == grant("at-2"), "what was written later holds"
    assert {path.name for path in store.path.parent.iterdir()} == {
        ".tokens.json.lock",
        "secrets.json",
        "secrets.json.count",
        "secrets.json.lock",
    }


@pytest.mark.parametrize("left", ["tokens.json", ".tokens.json.taken"])
def test_whoever_is_killed_while_taking_over_leaves_what_the_next_one_finishes(
    store: TokenStore, tmp_path: Path, left: str
) -> None:
    store.keep(grant("at-1"))
    plain = store.path.read_bytes()
    sealed(tmp_path).granted(User(), SERVER)
    (tmp_path / "state" / left).write_bytes(plain)
    assert sealed(tmp_path).granted(User(), SERVER) == grant("at-1")
    assert not (tmp_path / "state" / left).exists()


def test_a_damaged_plain_file_is_neither_taken_over_nor_deleted(store: TokenStore, tmp_path: Path) -> None:
    store.path.parent.mkdir()
    store.path.write_bytes(b"{")
    with pytest.raises(UsageError, match="can not be read"):
        sealed(tmp_path).granted(User(), SERVER)
    assert store.path.read_bytes() == b"{"


def test_with_another_key_logins_are_neither_read_nor_written_in_plain_text(tmp_path: Path) -> None:
    sealed(tmp_path).keep(grant("at-1"))
    other = sealed(tmp_path, SecretKey(b"fedcba9876543210" * 4, "the test"))
    with pytest.raises(UsageError, match="does not open"):
        other.granted(User(), SERVER)
    with pytest.raises(UsageError, match="does not open"):
        other.keep(grant("at-2"))
    assert not (tmp_path / "state" / "tokens.json").exists()


def test_processes_that_take_over_at_once_lose_nothing(store: TokenStore, tmp_path: Path) -> None:
    for number in range(20):
        store.keep(grant(f"at-{number}", server=f"https://r{number}"))
    program = (
        "import sys, pathlib; from actum.storage.tokens import TokenStore\n"
        "from actum.core.user import User\n"
        "from actum.storage.secret_file import SecretFile\n"
        "from actum.storage.secret_key import GivenKey, SecretKey\n"
        "place = pathlib.Path(sys.argv[1])\n"
        "vault = SecretFile(place / 'secrets.json', GivenKey(SecretKey(sys.argv[2].encode(), 'k')))\n"
        "store = TokenStore(place / 'tokens.json', vault=vault)\n"
        "assert all(store.granted(User(), f'https://r{n}').access_token == f'at-{n}' for n in range(20))\n"
    )
    arguments = [sys.executable, "-W", "error", "-c", program, str(store.path.parent), KEY.reveal().decode()]
    running = [warm.popen(arguments) for _ in range(3)]
    assert [process.wait() for process in running] == [0, 0, 0]
