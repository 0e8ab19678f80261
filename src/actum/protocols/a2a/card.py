"""The card of a remote agent, of any version, as a client needs it. Pure.

A card of April 2025 or of 0.2 has one `url`; 0.3 has `additionalInterfaces` and `preferredTransport`; 1.0 has
`supportedInterfaces`. A card may hold the fields of several versions; then those of 1.0 count, unless none of their
addresses can be used here.

A card is a stranger's word. What a person approves is the whole card; see `pinned`.

Source: A2A 1.0, section 8; A2A 0.3.0, section 5.5; schema 0.1.0 (April 2025), `AgentCard`.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping
from itertools import islice
from typing import Literal
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from ...core.json import Json, JsonObject
from ..plain_text import plain

RemoteDialect = Literal["1.0", "0.3", "0.2-or-older"]
"""How an address is spoken to. A card that says no version is one of 0.2 or of April 2025: only a request tells."""
Binding = Literal["JSONRPC", "HTTP+JSON", "GRPC"]

SKILLS_MAX = 200
INTERFACES_MAX = 20
DESCRIPTION_CHARS_MAX = 4_000
SKILL_CHARS_MAX = 400
_ID = re.compile(r"[^\s\x00-\x1f\x7f]{1,128}")


class UnreadableCard(ValueError):
    """A card that can not be used. The message says why, for a person."""


class RemoteInterface(Struct, frozen=True):
    """An address of an agent.

    Attributes:
        url: the address.
        binding: how requests are written there.
        dialect: which version is spoken there.
        tenant: that requests have to name; empty for none.
    """

    url: str
    binding: Binding
    dialect: RemoteDialect
    tenant: str = ""


class RemoteSkill(Struct, frozen=True):
    """Something that an agent says it can do. Texts are plain; the id is as the agent wrote it."""

    id: str
    name: str
    description: str
    tags: tuple[str, ...] = ()


class RemoteCard(Struct, frozen=True):
    """What an agent says of itself.

    Attributes:
        name, description, version: in its own words, plain.
        interfaces: where it is reached, in its order, as far as they are understood here.
        skills: what it can do.
        streams: it tells of a task while it works.
        pushes: it sends news of a task to an address.
        schemes: the names of the security schemes that it wants.
        raw: the whole card, as it came.
    """

    name: str
    description: str
    version: str
    interfaces: tuple[RemoteInterface, ...]
    skills: tuple[RemoteSkill, ...]
    streams: bool
    pushes: bool
    schemes: tuple[str, ...]
    raw: JsonObject


def read_card(raw: Json) -> RemoteCard:
    """Read a card.

    Args:
        raw: as parsed; size and depth were looked at before.

    Raises:
        UnreadableCard: it is none, or names no address that can be reached from here.

    >>> read_card({"name": "Old", "url": "https://a.example/", "skills": []}).interfaces[0].dialect
    '0.2-or-older'
    """
    if not isinstance(raw, dict) or not isinstance(raw.get("name"), str):
        raise UnreadableCard("it is no agent card: it has no name")
    interfaces = _interfaces(raw)
    if not interfaces:
        raise UnreadableCard("its card names no address with a binding and a version that are known here")
    capabilities = raw.get("capabilities")
    security = raw.get("securitySchemes")
    return RemoteCard(
        name=_shown(str(raw["name"]), 200),
        description=_shown(_words(raw, "description"), DESCRIPTION_CHARS_MAX),
        version=_shown(_words(raw, "version"), 100),
        interfaces=interfaces,
        skills=_skills(raw),
        streams=isinstance(capabilities, dict) and capabilities.get("streaming") is True,
        pushes=isinstance(capabilities, dict) and capabilities.get("pushNotifications") is True,
        schemes=tuple(_shown(name, 100) for name in islice(security, 50)) if isinstance(security, dict) else (),
        raw=raw,
    )


def pinned(card: JsonObject) -> JsonObject:
    """What of a card a person approves: all of it but its signatures, which may be renewed."""
    return {name: value for name, value in card.items() if name != "signatures"}


def card_digest(card: JsonObject) -> str:
    """SHA-256 of what is approved of a card, hexadecimal, whatever the order of its keys."""
    return hashlib.sha256(msgspec.json.encode(pinned(card), order="sorted")).hexdigest()


def _interfaces(raw: JsonObject) -> tuple[RemoteInterface, ...]:
    listed = raw.get("supportedInterfaces")
    found: list[RemoteInterface] = []
    if isinstance(listed, list) and listed:
        for each in listed[:INTERFACES_MAX]:
            if isinstance(each, dict):
                dialect = _dialect(_words(each, "protocolVersion") or "1.0")
                found += _interface(_words(each, "url"), _words(each, "protocolBinding"), dialect, each)
    if found:
        return tuple(found)
    dialect = _dialect(_words(raw, "protocolVersion")) if raw.get("protocolVersion") else "0.2-or-older"
    found += _interface(_words(raw, "url"), _words(raw, "preferredTransport") or "JSONRPC", dialect, {})
    more = raw.get("additionalInterfaces")
    for each in more[:INTERFACES_MAX] if isinstance(more, list) else ():
        if isinstance(each, dict):
            found += _interface(_words(each, "url"), _words(each, "transport"), dialect, {})
    return tuple(dict.fromkeys(found))


def _interface(
    url: str, binding: str, dialect: RemoteDialect | None, said: Mapping[str, Json]
) -> list[RemoteInterface]:
    """The interface, where it is understood: HTTP+JSON and gRPC only of 1.0, since 0.3 writes other bodies there."""
    tenant = said.get("tenant")
    if not url or dialect is None:
        return []
    if binding.upper() == "JSONRPC":
        return [RemoteInterface(url, "JSONRPC", dialect, tenant if isinstance(tenant, str) else "")]
    if binding.upper() == "HTTP+JSON" and dialect == "1.0":
        return [RemoteInterface(url, "HTTP+JSON", dialect, tenant if isinstance(tenant, str) else "")]
    if binding.upper() == "GRPC" and dialect == "1.0":
        return [RemoteInterface(url, "GRPC", dialect, tenant if isinstance(tenant, str) else "")]
    return []


def _dialect(version: str) -> RemoteDialect | None:
    major, _, rest = version.partition(".")
    minor = rest.partition(".")[0]
    if major == "1":
        return "1.0"
    if major == "0" and minor in ("2", "3"):
        return "0.3"
    return "0.2-or-older" if major == "0" else None


def _skills(raw: JsonObject) -> tuple[RemoteSkill, ...]:
    listed, found = raw.get("skills"), []
    for each in listed[:SKILLS_MAX] if isinstance(listed, list) else ():
        if not isinstance(each, dict) or not _ID.fullmatch(_words(each, "id")):
            continue
        tags = each.get("tags")
        found.append(
            RemoteSkill(
                id=_words(each, "id"),
                name=_shown(_words(each, "name"), 100),
                description=_shown(_words(each, "description"), SKILL_CHARS_MAX),
                tags=tuple(_shown(tag, 50) for tag in tags[:20] if isinstance(tag, str))
                if isinstance(tags, list)
                else (),
            )
        )
    return tuple({skill.id: skill for skill in found if plain(skill.id) == skill.id}.values())


def _shown(text: str, chars_max: int) -> str:
    """The beginning of a text without what is hidden: ten times as much of the text is looked at."""
    return plain(text[: 10 * chars_max])[:chars_max]


def _words(found: JsonObject, name: str) -> str:
    value = found.get(name)
    return value if isinstance(value, str) else ""


# Signatures -----------------------------------------------------------------------------------------------------------


class CardSignature(Struct, frozen=True):
    """A signature on a card (RFC 7515, in its JSON form).

    Attributes:
        protected, signature: as they stand in the card, in base64url.
        algorithm, key_id, key_url: what the protected header says; empty where it does not.
    """

    protected: str
    signature: str
    algorithm: str
    key_id: str
    key_url: str


def signatures_of(card: JsonObject) -> tuple[CardSignature, ...]:
    """The signatures on a card; those that can not be read are left out."""
    listed, found = card.get("signatures"), []
    for each in listed[:10] if isinstance(listed, list) else ():
        if not isinstance(each, dict):
            continue
        protected, signature = _words(each, "protected"), _words(each, "signature")
        head = _header(protected)
        if head is not None and signature:
            found.append(
                CardSignature(protected, signature, _words(head, "alg"), _words(head, "kid"), _words(head, "jku"))
            )
    return tuple(found)


def says_it_is_signed(card: JsonObject) -> bool:
    """The card has a field for signatures that is not empty, whether they can be read or not."""
    return bool(card.get("signatures"))


def _header(protected: str) -> JsonObject | None:
    try:
        found = msgspec.json.decode(_unpadded(protected))
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and "crit" not in found else None


def _unpadded(text: str) -> bytes:
    from_url = text.encode("ascii", "replace")
    return msgspec.convert((from_url + b"=" * (-len(from_url) % 4)).translate(_URL_SAFE).decode(), bytes)


_URL_SAFE = bytes.maketrans(b"-_", b"+/")


def signed_forms(card: JsonObject) -> tuple[bytes, ...]:
    """The bytes that a signature may be over: the card without its signatures, in canonical JSON (RFC 8785); as it
    came, and without what is empty, as the official SDK signs it.

    Raises:
        UnreadableCard: it holds a number that has no agreed form.
    """
    whole = pinned(card)
    return tuple(dict.fromkeys([_canonical(whole), _canonical(_without_empty(whole))]))


def _canonical(value: Json) -> bytes:
    return json.dumps(_ordered(value), ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def _ordered(value: Json) -> Json:
    """The value with its keys in the order of their UTF-16 units, as RFC 8785 section 3.2.3 wants."""
    match value:
        case dict():
            return {
                key: _ordered(value[key]) for key in sorted(value, key=lambda key: key.encode("utf-16-be", "replace"))
            }
        case list():
            return [_ordered(each) for each in value]
        case float():
            if value.is_integer() and abs(value) < 1e15:
                return int(value)
            if not math.isfinite(value) or "e" in repr(value):
                raise UnreadableCard("it holds a number that has no one way to be written, so no signature fits it")
            return value
        case _:
            return value


def _without_empty(value: Json) -> Json:
    match value:
        case dict():
            kept = {key: _without_empty(each) for key, each in value.items()}
            return {key: each for key, each in kept.items() if not _is_empty(each)}
        case list():
            return [each for each in map(_without_empty, value) if not _is_empty(each)]
        case _:
            return value


def _is_empty(value: Json) -> bool:
    return value is None or value in ("", [], {})


def host_of(url: str) -> str:
    """The host of an address, with its port where one is said; empty for no address."""
    try:
        return urlsplit(url).netloc.rpartition("@")[2].lower()
    except ValueError:
        return ""
