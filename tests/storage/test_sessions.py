"""Sessions in the journal's database: hashed, dead in every process at once, and bounded."""

from __future__ import annotations

from actum.core.stored.session import SESSIONS_PER_USER_MAX, KnownSession, LoginSession

from .conftest import Store


def session(name: str, at: float = 100.0, principal: str = "ann", tenant: str = "north") -> LoginSession:
    return LoginSession(id=name, issuer="https://i", client="c", principal=principal, tenant=tenant, began_at=at)


async def test_sessions_end_are_noted_and_are_bounded_per_user(store: Store) -> None:
    kept = store.open().sessions
    await kept.add(session("a"), idle_since=0)
    assert await kept.find("a") == KnownSession(session("a"), 100.0)
    await kept.note("a", 150.0)
    await kept.note("a", 120.0)
    found = await kept.find("a")
    assert found is not None
    assert found.seen_at == 150.0
    assert (await kept.end("a"), await kept.end("a"), await kept.find("a")) == (True, False, None)
    await kept.add(session("other", principal="bob"), idle_since=0)
    for number in range(SESSIONS_PER_USER_MAX + 3):
        await kept.add(session(f"s{number}", 200.0 + number), idle_since=0)
    left = [n for n in range(SESSIONS_PER_USER_MAX + 3) if await kept.find(f"s{n}") is not None]
    assert left == list(range(3, SESSIONS_PER_USER_MAX + 3))
    assert await kept.find("other") is not None
    await kept.add(session("new", 900.0, "eve"), idle_since=500.0)
    assert await kept.find("other") is None
    assert await kept.find("s5") is None
    assert await kept.find("new") is not None


async def test_a_log_in_is_used_once_by_whatever_process_and_all_share_one_secret(shared: Store) -> None:
    one, two = shared.open().sessions, shared.open().sessions
    assert await one.use_once("state", now=0.0, ends_at=10.0)
    assert not await two.use_once("state", now=1.0, ends_at=10.0)
    assert await two.use_once("state", now=11.0, ends_at=20.0)
    assert await one.secret() == await two.secret()
    assert len(await one.secret()) == 32
    await one.add(session("a"), idle_since=0)
    assert await two.find("a") is not None
    assert await one.end("a")
    assert await two.find("a") is None
