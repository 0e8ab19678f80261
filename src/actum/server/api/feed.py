"""`/v1/events`: one stream for a whole browser, which has few connections to one server.

What is not the caller's is told by no event and by no count: each line of a run is looked at as in the list of runs,
what waits is asked for as in the list of approvals, a named run as at `/v1/runs/{id}`, and a draft as where it is got.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from ...core.identity import Identity
from ...core.run.summary import RunSummary
from ...features.operation import AnswerKind, ApiRequest, Events, Operation, StreamEvent
from ...features.refusal import Refusal
from ...journal.watch import WatchNews
from ..scopes import allows, wants
from .api import Api
from .applying import kinds_of
from .approvals.bodies import ApprovalPage, ApprovalsQuery, approval_of
from .approvals.operations import count_waiting, waiting
from .examples import RUN, RUN_INFO
from .runs.bodies import DraftNews, FeedQuery, RunDelta, RunEvent, RunGone, RunInfo
from .runs.following import followed, stream_event
from .runs.views import run_info

APPROVALS_MAX = 100
"""At most this many approvals are told with their arguments; the count tells of all."""


async def read_feed(api: Api, asked: ApiRequest[FeedQuery, None]) -> Events:
    """All that happens, as it happens."""
    query, who = asked.query, asked.who
    if query.run and not allows(who, ("runs", "tools")):
        raise wants("runs", "to follow a run")
    places: dict[str, int] = {}
    for run_id, _, after in (each.partition(":") for each in query.run):
        places[run_id] = int(after or -1)
    return _feed(api, who, places, deltas=query.deltas)


async def _feed(api: Api, who: Identity, places: dict[str, int], *, deltas: bool) -> Events:
    """The events of a feed.

    Args:
        api: the runs.
        who: the caller.
        places: the runs that are named, each with the number of the last event that the client has.
        deltas: whether words are told.
    """
    spoken = api.work.spoken if deltas else None
    async with api.watch.listening({}, who.tenant) as listener:
        with followed(api.watch, listener, spoken, partial(api.records.mask, who)) as runs:
            look = listener.next_look()
            for run_id, after in places.items():
                try:
                    recorded = await api.records.run(run_id, who)
                except Refusal as refusal:
                    yield StreamEvent("", "gone", RunGone(run=run_id, code=refusal.details.code))
                    continue
                for event in await runs.begin(recorded, after):
                    yield _placed(event)
            told: ApprovalPage | None = None
            while True:
                news = await listener.news()
                for event in await runs.events(news):
                    yield _placed(event)
                for delta in runs.deltas():
                    yield StreamEvent("", "delta", delta)
                for line in await api.records.lines_shown(_lines(news, who), who):
                    yield StreamEvent("", "run", run_info(line, who))
                for draft in _drafts(api, news, who):
                    yield StreamEvent("", "draft", draft)
                is_first = told is None and listener.looked >= look  # from here on every change is heard of
                if (is_first or news.has_asked) and (now := await _waiting(api, who)) != told:
                    told = now
                    yield StreamEvent("", "approvals", now)


def _placed(event: RunEvent) -> StreamEvent:
    """An event of a named run; its id is what a client names the run by to go on behind the event."""
    return stream_event(event, f"{event.run}:{event.number}")


def _lines(news: WatchNews, who: Identity) -> Sequence[RunSummary]:
    """The lines of runs that a caller may see."""
    if not allows(who, ("runs", "tools")):
        return ()
    sees_all = allows(who, ("admin",))
    return [run for run in news.runs if sees_all or run.principal == who.principal]


def _drafts(api: Api, news: WatchNews, who: Identity) -> Iterator[DraftNews]:
    """The changes of drafts that a caller may see."""
    kinds = {kind.name: kind for kind in kinds_of(api)} if news.drafts else {}
    for each in news.drafts:
        kind = kinds.get(each.kind)
        if kind is not None and allows(who, kind.builders) and kind.may_see(who, each.name):
            yield DraftNews(kind=each.kind, name=each.name, revision=each.revision, by=each.by, is_gone=each.is_gone)


async def _waiting(api: Api, who: Identity) -> ApprovalPage:
    """What waits for a person that the caller sees, the oldest first, and how much that is."""
    items, following = await waiting(api.records, ApprovalsQuery(limit=APPROVALS_MAX), who)
    shown = await api.records.shown_waiting(items, who)
    count = len(items) if following is None else await count_waiting(api.records, who)
    return ApprovalPage(items=tuple(map(approval_of, shown)), next=following, count=count)


OPERATIONS: tuple[Operation, ...] = (
    Operation(
        id="readFeed",
        method="get",
        path="/v1/events",
        tag="runs",
        summary="Follow all that happens: your runs, what waits for a person, and the events of runs that you name.",
        description=(
            "Server-sent events. `run` tells the `RunInfo` of a run that begins, or stands otherwise now, and "
            "`approvals` tells all that waits, as `ApprovalPage`, at first and after each change. The events of a "
            "named run are those of `GET /v1/runs/{id}/events`, with ids that can be given as `run` to go on behind "
            "them; of a run that is not there, `gone` is told. With `deltas`, a `delta` has words that a model is "
            "saying. They are on no record and come from the server that carries the run out; elsewhere the reply "
            "comes whole. Of runs the lines of the 200 latest are told. `draft` tells that somebody changed a draft "
            "that you may get, within about a second. The stream has no end of its own."
        ),
        scopes=("runs", "tools", "approve", "build"),
        query=FeedQuery,
        replies={
            200: AnswerKind(
                means="The events.",
                body=RunEvent,
                others=(RunInfo, ApprovalPage, RunDelta, RunGone, DraftNews),
                example={"event": "run", "data": f'{{"id":"{RUN}","status":"{RUN_INFO["status"]}"}}'},
                media_type="text/event-stream",
            )
        },
        handler=read_feed,
    ),
)
