"""The catalog's entries: agents and MCP servers that somebody registered, what they say of themselves and how that
changed, and how an entry is found and told to others. Pure.

The document of the web is that of the AI Catalog draft, the answer to a search that of the ARD draft (v0.9). Both are
drafts: their form may change with them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Literal
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from ..core.json import Json, JsonObject
from .definition_changes import differences
from .plain_text import plain

CatalogKind = Literal["a2a", "mcp"]
CatalogHealth = Literal["unknown", "well", "failing"]
VERSIONS_MAX = 20
AI_CATALOG_VERSION = "1.0-draft"
MEDIA_TYPES: dict[CatalogKind, str] = {
    "a2a": "application/a2a-agent-card+json",
    "mcp": "application/mcp-server-card+json",
}
_ROLE = "role:"


class CatalogVersion(Struct, frozen=True, omit_defaults=True):
    """What an entry said of itself from some moment on.

    Attributes:
        document: the card of an agent, or what an MCP server lists; as it came.
        digest: SHA-256 of the document without its signatures.
        seen: when it was first seen, in seconds since 1970.
        changes: what is not as it was before, in lines.
    """

    document: JsonObject
    digest: str
    seen: float
    changes: tuple[str, ...] = ()


class CatalogCheck(Struct, frozen=True, omit_defaults=True):
    """What came of one step of a check.

    Attributes:
        step: `card`, `send`, `stream`, `cancel` or `tools`.
        passed: it did what it should.
        words: what happened, for a person.
    """

    step: str
    passed: bool
    words: str = ""


class CatalogEntry(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One agent or MCP server.

    Attributes:
        name: what it is called here.
        kind: what it is.
        url: its address.
        users: who may see it: patterns of users, as `ann` or `*@example.com`, and `role:NAME`. Empty: everybody.
        tenant: whose users may see it; empty for all tenants.
        tags: a person's own words for it.
        versions: what it said of itself, the oldest first.
        etag: of the latest document.
        signature: what is known of the card's signature; see `toolsets.a2a.signing`.
        health: how the last look at it went.
        problem: why it is failing; empty where it is not.
        looked: when it was last looked at, in seconds since 1970.
        last_seen: when it last answered.
        checks: what the last check found.
        checked: when that was.
    """

    name: str
    kind: CatalogKind
    url: str
    users: tuple[str, ...] = ()
    tenant: str = ""
    tags: tuple[str, ...] = ()
    versions: tuple[CatalogVersion, ...] = ()
    etag: str = ""
    signature: str = ""
    health: CatalogHealth = "unknown"
    problem: str = ""
    looked: float = 0.0
    last_seen: float = 0.0
    checks: tuple[CatalogCheck, ...] = ()
    checked: float = 0.0

    @property
    def document(self) -> JsonObject:
        """What it says of itself now."""
        return self.versions[-1].document if self.versions else {}

    @property
    def description(self) -> str:
        """In its own words, plain."""
        said = self.document.get("description")
        return plain(said[:20_000])[:2_000] if isinstance(said, str) else ""

    @property
    def identifier(self) -> str:
        """Its name for the world.

        >>> CatalogEntry(name="weather", kind="a2a", url="https://agents.example.com/w").identifier
        'urn:air:agents.example.com:a2a:weather'
        """
        return f"urn:air:{urlsplit(self.url).hostname or 'localhost'}:{self.kind}:{self.name}"

    @property
    def is_public(self) -> bool:
        """Everybody may see it, also who is not known."""
        return not self.users and not self.tenant

    def is_seen_by(self, user: str, roles: Sequence[str] = (), tenant: str = "") -> bool:
        """Whether a user may see it."""
        if self.tenant and self.tenant != tenant:
            return False
        if not self.users:
            return True
        wanted_roles = [each.removeprefix(_ROLE) for each in self.users if each.startswith(_ROLE)]
        wanted = [each for each in self.users if not each.startswith(_ROLE)]
        by_name = bool(user) and any(fnmatchcase(user, pattern) for pattern in wanted)
        return by_name or any(fnmatchcase(role, pattern) for role in roles for pattern in wanted_roles)

    def with_document(self, document: JsonObject, now: float, etag: str = "") -> CatalogEntry:
        """The entry after it was seen: with another version where the document is another one."""
        whole = {name: value for name, value in document.items() if name != "signatures"}
        digest = hashlib.sha256(msgspec.json.encode(whole, order="sorted")).hexdigest()
        versions = self.versions
        if not versions or versions[-1].digest != digest:
            before = {name: value for name, value in self.document.items() if name != "signatures"}
            changes = differences(before, whole) if versions else ()
            versions = (*versions, CatalogVersion(document, digest, now, changes))[-VERSIONS_MAX:]
        return msgspec.structs.replace(
            self, versions=versions, etag=etag, health="well", problem="", looked=now, last_seen=now
        )

    def failing(self, problem: str, now: float) -> CatalogEntry:
        """The entry after it could not be seen."""
        return msgspec.structs.replace(self, health="failing", problem=plain(problem)[:500], looked=now)


WEIGHTS = (3, 3, 2, 1)
"""How much a word counts in each of the texts of an entry."""


def texts_of(entry: CatalogEntry) -> tuple[str, ...]:
    """What an entry is found by: its names, its tags, what it says of itself, and its address.

    >>> texts_of(CatalogEntry(name="weather", kind="a2a", url="https://x.example"))[0]
    'weather'
    """
    document = entry.document
    skills = [each for name in ("skills", "tools") for each in _objects(document.get(name))]
    tags = [tag for each in skills for tag in _strings(each.get("tags"))]
    names = [entry.name, *_strings([document.get("name")]), *_strings([each.get("name") for each in skills])]
    about = [entry.description, *_strings([each.get("description") for each in skills])]
    return tuple("\n".join(said) for said in (names, [*entry.tags, *tags], about, [entry.url, entry.kind]))


def _objects(value: Json) -> list[JsonObject]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _strings(value: Json | list[Json]) -> list[str]:
    return [plain(each) for each in value if isinstance(each, str)] if isinstance(value, list) else []


def ai_catalog(entries: Sequence[CatalogEntry], host: str) -> JsonObject:
    """The document at `/.well-known/ai-catalog.json`, after the draft.

    Args:
        entries: those that may be seen by everybody.
        host: whose catalog it is.
    """
    return {
        "specVersion": AI_CATALOG_VERSION,
        "host": {"displayName": host},
        "entries": [_entry(each) for each in entries],
    }


def search_answer(found: Sequence[tuple[CatalogEntry, int]], size: int, start: int = 0) -> JsonObject:
    """The answer to a search, after the draft.

    Args:
        found: the entries with their scores, the best first.
        size: the most entries that are told.
        start: how many entries were told before.
    """
    page = found[start : start + size]
    answer: JsonObject = {"results": [{**_entry(entry), "score": score} for entry, score in page]}
    if start + size < len(found):
        answer["pageToken"] = str(start + size)
    return answer


def _entry(entry: CatalogEntry) -> JsonObject:
    document = entry.document
    version = document.get("version")
    told: dict[str, Json] = {
        "identifier": entry.identifier,
        "displayName": plain(str(document.get("name") or entry.name)[:2_000])[:200],
        "type": MEDIA_TYPES[entry.kind],
        "url": entry.url,
        "description": entry.description,
        "tags": list[Json](entry.tags),
        "version": plain(version[:1_000])[:100] if isinstance(version, str) else "",
        "metadata": {"health": entry.health, "lastSeen": entry.last_seen, "signature": entry.signature},
    }
    return {name: value for name, value in told.items() if value}
