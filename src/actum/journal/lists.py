"""Pages of what a journal lists: runs and conversations. The next page is asked for by the cursor of a page.

A cursor names the last item of its page. So it stays good while new runs begin and others change: nothing is listed
twice, and nothing that was there when the first page was asked for is left out. What a cursor holds is nobody's affair
but this file's.
"""

from __future__ import annotations

import base64
import binascii
from typing import Generic, TypeVar, Unpack

import msgspec
from msgspec import Struct

from ..core.errors import UsageError
from ..core.interfaces import Journal, RunFilter
from ..core.run.summary import RunSummary
from .conversations import Conversation, as_they_stand, conversations_of

T = TypeVar("T")
Key = TypeVar("Key")

LIMIT_MAX = 1_000
"""The most items of one page."""
READ_MAX = 1_000
"""Of more interrupted runs than these, the records are not read to count them."""
_LISTED: dict[str, tuple[str, ...]] = {"interrupted": ("running",), "paused": ("paused", "running")}
"""How runs are listed that stand so: the list can not tell them from runs that somebody drives; see `as_they_stand`."""


class Page(Struct, Generic[T], frozen=True):
    """A part of a list.

    Attributes:
        items: the items.
        next: the cursor of the page behind this page; empty where this page is the last.
    """

    items: tuple[T, ...]
    next: str = ""


async def page_of_runs(
    journal: Journal, *, limit: int = 50, cursor: str = "", **wanted: Unpack[RunFilter]
) -> Page[RunSummary]:
    """Runs as they stand now, the newest first.

    Args:
        journal: the journal.
        limit: the most items. A page may have fewer, though another follows.
        cursor: `next` of the page before; empty for the first page.
        wanted: which runs; the status is the one that they have now.

    Raises:
        UsageError: the limit is no number from 1 to `LIMIT_MAX`, or the cursor is none.
    """
    behind, status = await _run_of(journal, cursor, wanted.get("tenant")), wanted.get("status")
    wanted["status"] = _LISTED.get(str(status), status or "")
    found = await journal.runs(limit=checked_limit(limit) + 1, behind=behind, **wanted)
    more = write_cursor(found[limit - 1].run_id) if len(found) > limit else ""
    now = await as_they_stand(journal, found[:limit])
    return Page(tuple(run for run in now if not status or run.status == status), more)


async def count_of_runs(journal: Journal, **wanted: Unpack[RunFilter]) -> int:
    """How many runs there are; the status is the one that they have now."""
    status = str(wanted.get("status") or "")
    if status != "running" and status not in _LISTED:
        return sum((await journal.count_runs(**wanted)).values())
    wanted["status"] = "running"
    running = await as_they_stand(journal, await journal.runs(limit=None, **wanted))
    wanted["status"] = status
    others = await journal.count_runs(**wanted) if status == "paused" else {}
    return sum(others.values()) + sum(run.status == status for run in running)


async def count_interrupted(journal: Journal) -> int:
    """How many runs are interrupted now, of all tenants; runs that are held are among them."""
    listed = ("running", "waiting", "paused") if await journal.held.is_on() else ("running",)
    count, behind = 0, ""
    while page := await journal.runs(limit=LIMIT_MAX, behind=behind, status=listed):
        behind = page[-1].run_id
        now = await as_they_stand(journal, page, reads_records=count < READ_MAX)
        count += sum(run.status == "interrupted" for run in now)
    return count


async def counts_of_runs(journal: Journal, most: int, **wanted: Unpack[RunFilter]) -> dict[str, int]:
    """How many runs there are of each status that they have now, each counted up to a number. A status that no run has
    is left out.

    Args:
        journal: the journal.
        most: the most, of each status.
        wanted: which runs.
    """
    found = await journal.count_runs(most=most, **wanted)
    if found.get("running"):
        wanted["status"] = "running"
        now = await as_they_stand(journal, await journal.runs(limit=most, **wanted))
        found["running"] = 0
        for run in now:
            found[run.status] = found.get(run.status, 0) + 1
    return {each: min(count, most) for each, count in found.items() if count}


async def page_of_conversations(
    journal: Journal, *, limit: int = 50, cursor: str = "", owner: str | None = None, tenant: str | None = None
) -> Page[Conversation]:
    """Conversations as they stand now, the one that was talked in last first.

    Args:
        journal: the journal.
        limit, cursor: as for `page_of_runs`.
        owner: whose; None for everybody's.
        tenant: of which tenant; None for all.

    Raises:
        UsageError: the limit is no number from 1 to `LIMIT_MAX`, or the cursor is none.
    """
    behind = await _run_of(journal, cursor, tenant)
    found = await journal.conversations(limit=checked_limit(limit) + 1, behind=behind, owner=owner, tenant=tenant)
    more = write_cursor(found[limit - 1].latest.run_id) if len(found) > limit else ""
    return Page(tuple(await conversations_of(journal, found[:limit])), more)


def checked_limit(limit: int) -> int:
    """The number of items of a page, if a page can have so many.

    Raises:
        UsageError: it can not.
    """
    if not 1 <= limit <= LIMIT_MAX:
        raise UsageError("limit={most!r}: give a number from 1 to {limit_max}", most=limit, limit_max=LIMIT_MAX)
    return limit


def write_cursor(key: object) -> str:
    """The cursor of a page that ends with the item of this key.

    >>> read_cursor(write_cursor("run_1"), str)
    'run_1'
    """
    return base64.urlsafe_b64encode(msgspec.json.encode(key)).decode().rstrip("=")


def read_cursor(cursor: str, kind: type[Key]) -> Key:
    """The key of the item that a page ended with.

    Raises:
        UsageError: this is no cursor.
    """
    try:
        text = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        return msgspec.json.decode(text, type=kind)
    except (binascii.Error, msgspec.MsgspecError, ValueError):
        raise bad_cursor() from None


def bad_cursor() -> UsageError:
    """The error of a cursor that is none, whatever the reason is."""
    return UsageError("this cursor is not known here: begin the list anew")


async def _run_of(journal: Journal, cursor: str, tenant: str | None) -> str:
    """The run that a cursor names, which this tenant may know of; empty for no cursor.

    Raises:
        UsageError: there is no such run (of this tenant).
    """
    if not cursor:
        return ""
    run_id = read_cursor(cursor, str)
    if not await journal.is_listed(run_id, tenant=tenant):
        raise bad_cursor()
    return run_id
