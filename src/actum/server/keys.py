"""Keys of a server: made, revoked and put on record; and who may come in at a server that has such keys."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Literal, NamedTuple

import msgspec

from ..core.clock import SystemClock
from ..core.errors import UsageError
from ..core.interfaces import Clock, Journal
from ..core.json import JsonObject
from ..core.language.sentence import Sentence
from ..core.stored.key import Key, new_key
from ..runs.administration import put_on_record
from .access import Access, is_loopback
from .stored_keys import KeysOnceMade, StoredKeys
from .verifier import Authenticator

FIRST = "first"
"""The name of the key that the first start of a server makes."""

_SCOPE = re.compile(r"[!#-\[\]-~]{1,100}")  # RFC 6749 §3.3
_TEXT_MAX = 200
_NOT_TOLD = frozenset({"sha256", "principal", "revoked_at", "revoked_by"})


class MadeKey(NamedTuple):
    """A key that was just made.

    Attributes:
        text: what a client has to show. It is shown to a person once, and kept nowhere.
        key: what is kept.
    """

    text: str
    key: Key

    def __repr__(self) -> str:
        return f"MadeKey(key={self.key!r})"


def as_told(key: Key) -> JsonObject:
    """A key for people and programs: all but its hash."""
    told: JsonObject = msgspec.to_builtins(
        {name: value for name, value in msgspec.structs.asdict(key).items() if name not in _NOT_TOLD}
    )
    return {"id": key.id, "user": key.principal or key.id, **told, "expires_at": key.expires_at or None}


async def make_key(
    journal: Journal,
    name: str,
    *,
    by: str,
    by_key: str = "",
    user: str = "",
    roles: Sequence[str] = (),
    tenant: str = "",
    scopes: Sequence[str] = (),
    tools: Sequence[str] = (),
    models: Sequence[str] = (),
    agents: Sequence[str] = (),
    expires_at: float = 0.0,
    speaks_for: Literal["", "user", "program"] = "",
    hang_up: Literal["", "end"] = "",
    personal: bool = False,
    known: Collection[str] | None = None,
    clock: Clock | None = None,
) -> MadeKey:
    """Make a key, keep it beside a journal, and put on record who did so.

    Args:
        journal: whose server is to know the key.
        name: of the key; letters, digits and hyphens, 40 at most.
        by: who makes the key.
        by_key: the id of the key with which `by` showed who they are; empty at a terminal.
        user: whose calls the key makes; the name of the key when empty.
        roles, tenant, scopes, tools, models, agents, expires_at, speaks_for, hang_up, personal: as in `Key`.
        known: the scopes that the servers of the journal ask for, which catches a typing error. A scope with a colon
            is the operator's own, for `actum mcp serve --scope`, and is not looked up. None: every scope is accepted.
        clock: the time.

    Returns:
        The key with its text, which is kept nowhere.

    Raises:
        UsageError: the name is taken, a scope is unknown, or something is not well-formed.
        JournalError: the key could not be written.
    """
    now = (clock or SystemClock()).now()
    for scope in scopes:
        if not _SCOPE.fullmatch(scope):
            raise UsageError("the scope {scope!r}: a scope is one word, without blanks and quotes", scope=scope)
        if known is not None and scope not in known and ":" not in scope:
            raise UsageError(
                "there is no scope {scope!r} here; there are: {known}. A scope of your own, for `actum mcp serve "
                "--scope`, has a colon, such as {example}",
                example="files:read",
                scope=scope,
                known=", ".join(known),
            )
    for what, words in {"user": [user] if user else [], "tenant": [tenant] if tenant else [], "role": roles}.items():
        for word in words:
            if not word.strip() or not word.isprintable() or len(word) > _TEXT_MAX:
                raise UsageError(
                    "the {flag} {word!r}: write a name, with {most} characters at most",
                    flag=what,
                    word=word,
                    most=_TEXT_MAX,
                )
    if not all(pattern.strip() for pattern in (*tools, *models, *agents)):
        raise UsageError("an empty pattern of names fits nothing: leave it out to allow all names")
    if 0 < expires_at <= now:
        raise UsageError("a key has to end in the future")
    text, key = new_key(
        name,
        principal=user,
        roles=roles,
        scopes=scopes,
        tenant=tenant,
        tools=tools,
        models=models,
        agents=agents,
        expires_at=expires_at,
        speaks_for=speaks_for,
        hang_up=hang_up,
        personal=personal,
        made_at=now,
        made_by=by,
    )
    await journal.keys.add(key)
    told: JsonObject = {name: value for name, value in as_told(key).items() if value and not name.startswith("made_")}
    # Before anybody can use the key.
    await put_on_record(journal, "keys.add", told, principal=by, key_id=by_key, tenant=tenant)
    return MadeKey(text, key)


async def revoke_key(
    journal: Journal, name: str, *, by: str, by_key: str = "", tenant: str = "", clock: Clock | None = None
) -> bool:
    """Revoke a key, and put on record who did so. The key is dead in every process within a second.

    Args:
        journal: whose server knows the key.
        name: of the key.
        by: who revokes the key.
        by_key: the id of the key with which `by` showed who they are; empty at a terminal.
        tenant: the tenant in which this is done.
        clock: the time.

    Returns:
        False where the key had been revoked before; then nothing is put on record.

    Raises:
        UnknownName: there was never such a key.
        JournalError: it could not be written.
    """
    store = journal.keys
    if not await store.revoke(name, at=(clock or SystemClock()).now(), by=by):
        return False
    await put_on_record(journal, "keys.revoke", {"id": name}, principal=by, key_id=by_key, tenant=tenant)
    return True


class Entrance(NamedTuple):
    """Who may come in at a server, and what a person at its terminal has to be shown.

    Attributes:
        access: who may come in.
        stored: checks the keys that are kept beside the journal; None where none are wanted.
        made: the key that this first start has made; None nearly always.
    """

    access: Access
    stored: StoredKeys | None = None
    made: MadeKey | None = None


async def with_stored_keys(
    access: Access,
    journal: Journal,
    *,
    host: str,
    by: str,
    is_person: bool,
    scopes: Sequence[str] = (),
    clock: Clock | None = None,
) -> Entrance:
    """Let clients use the server who have a key that is kept beside the journal.

    Once a key was made for a journal, its servers want a key of everybody, also of programs on the same machine. A
    server that is running then wants keys within a second. That stays so when all keys were revoked or have ended: a
    revoked key opens nothing.

    A server that others than this machine can reach, and for whose journal nobody ever made a key, makes the first key
    if a person can be shown the text of the key. The output of a service or a container goes to a log, so that this is
    refused there.

    Args:
        access: who may use the server by other settings.
        journal: keeps the keys.
        host: where the server listens.
        by: the person, or the user of this process.
        is_person: a person is at the terminal, and is the only one who reads it.
        scopes: what the first key allows.
        clock: the time.

    Returns:
        Who may use the server now.

    Raises:
        UsageError: others than this machine would reach the server, and there is no key for them.
        JournalError: the keys can not be read or written.
    """
    if access.insecure and access.verifier is None:
        return Entrance(access)
    known, made = await journal.keys.all(), None
    if access.verifier is None:
        if not is_loopback(host):
            made = await _first_key(journal, known, host, by, scopes, clock, is_person=is_person)
        elif not known:
            stored = StoredKeys(journal.keys, clock=clock)
            return Entrance(msgspec.structs.replace(access, verifier=KeysOnceMade(stored)), stored)
    stored = StoredKeys(journal.keys, clock=clock)
    # A key of ours is looked at first: another verifier may show what it is given to an outside issuer.
    verifiers = [stored] if access.verifier is None else [stored, access.verifier]
    return Entrance(msgspec.structs.replace(access, verifier=Authenticator(verifiers)), stored, made)


async def _first_key(
    journal: Journal,
    known: Sequence[Key],
    host: str,
    by: str,
    scopes: Sequence[str],
    clock: Clock | None,
    *,
    is_person: bool,
) -> MadeKey | None:
    """The first key of a journal; None where there is a valid one.

    Raises:
        UsageError: no key is valid, and none may be made here.
    """
    now = (clock or SystemClock()).now()
    if any(key.is_valid(now) for key in known):
        return None
    where = host or "every address"
    if known:
        raise UsageError(
            "others than this machine reach {where}, and no key is valid any more: {make_one}",
            where=where,
            make_one=_MAKE_ONE,
        )
    if not is_person:
        raise UsageError(
            "others than this machine reach {where}, and there is no key for them yet: {make_one}",
            where=where,
            make_one=_MAKE_ONE,
        )
    try:
        return await make_key(journal, FIRST, by=by, user=by, scopes=scopes, clock=clock)
    except UsageError:
        if await journal.keys.all():  # another server of this journal has just made it
            return None
        raise


_MAKE_ONE = Sentence("`actum keys add NAME` makes a key and shows it once; --insecure lets everybody in")
