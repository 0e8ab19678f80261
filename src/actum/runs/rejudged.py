"""What two policies say of the calls that are on record: which would now be allowed, asked about or denied.

Each call is judged with what the record has of it: the tool as it was, the arguments, the user, the roles, the agent
and the time. Where the arguments came from is on record of calls that may change something. A condition that wants to
know more, such as `clean`, leaves the verdict `unknown`. What a check that a rule requires would answer is not asked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Sequence

import msgspec
from msgspec import Struct

from ..core.call import ToolCall
from ..core.definition import DefinitionChange
from ..core.errors import JournalError, UnknownName
from ..core.interfaces import Journal
from ..core.json import JsonObject
from ..core.policy import Facts, Policy
from ..core.provenance import Origins
from ..core.run.record import (
    CallRefused,
    CallsRequested,
    InputRequested,
    Intended,
    ModelReplied,
    Record,
    Started,
    ToolsChanged,
)
from ..core.run.summary import records_of
from ..core.tool import Tool
from ..journal.kept_tools import kept_tools
from ..journal.recording import CallRef

CALLS_MAX = 1_000
"""The latest calls that are judged."""
RUNS_MAX = 5_000
"""The latest runs that are read for them."""
PAGE = 100
UNKNOWN = "unknown"


class RecordedCall(Struct, frozen=True):
    """A call that a policy has judged.

    Attributes:
        run: the run that made the call.
        at: when, in seconds since 1970.
        tool: its definition then; only its name where the definition is gone.
        call: what was called.
        started: the first record of the run.
        origins: where the arguments came from; empty where that is not on record.
    """

    run: str
    at: float
    tool: Tool
    call: ToolCall
    started: Started
    origins: Origins


async def recorded_calls(journal: Journal, tenant: str) -> AsyncIterator[RecordedCall]:
    """The latest calls of a tenant's runs, those of the latest run first, at most `CALLS_MAX`."""
    behind, seen, told, kept = "", 0, 0, _KeptTools(journal)
    while seen < RUNS_MAX:
        page = await journal.runs(limit=PAGE, behind=behind, tenant=tenant)
        for run in page:
            entries = await journal.read(run.run_id, tenant=tenant)
            fold = _CallsOfRun(run.run_id)
            for entry, record in zip(entries, records_of(entries), strict=True):
                if record is not None:
                    fold.take(entry.number, entry.at, record)
            for found in fold.found.values():
                yield await kept.with_definition(found)
                told += 1
                if told == CALLS_MAX:
                    return
        if len(page) < PAGE:
            return
        behind, seen = page[-1].run_id, seen + len(page)


class _Found(Struct):
    """A call as the fold found it; see `RecordedCall`.

    Attributes:
        version: the digest of the definition of the tool; empty where it is not on record.
        tools: the digest of the tools that were shown.
    """

    run: str
    at: float
    call: ToolCall
    started: Started
    origins: Origins
    version: str
    tools: str


class _CallsOfRun:
    """The calls of one run, each as it was when it was judged first."""

    def __init__(self, run: str) -> None:
        self.found: dict[CallRef, _Found] = {}
        self._run = run
        self._started: Started | None = None
        self._tools = ""
        self._said: dict[int, Sequence[ToolCall]] = {}

    def take(self, number: int, at: float, record: Record) -> None:
        match record:
            case Started():
                self._started, self._tools = record, record.tools
            case ToolsChanged():
                self._tools = record.tools
            case ModelReplied():
                self._said[number] = record.reply.calls
            case CallsRequested() if record.by != "administrator":
                self._said[number] = record.calls
            case Intended():
                call = ToolCall("", record.tool, record.arguments)
                self._add(CallRef(record.cause, record.index), at, call, record.version, record.origins)
            case InputRequested() if record.pending.kind == "approval" and record.pending.call is not None:
                place = CallRef(record.cause, record.index)
                self._add(place, at, record.pending.call, record.version, record.pending.origins)
            case CallRefused() if record.rule:
                said = self._said.get(record.cause, ())
                if record.index < len(said):
                    self._add(CallRef(record.cause, record.index), at, said[record.index], "", {})

    def _add(self, place: CallRef, at: float, call: ToolCall, version: str, origins: Origins) -> None:
        is_own = place.cause in self._said or (self._started is not None and bool(self._started.workflow))
        if self._started is not None and is_own and place not in self.found:
            self.found[place] = _Found(self._run, at, call, self._started, origins, version, self._tools)


class _KeptTools:
    """The definitions of tools that a journal keeps, each read once."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._lists: dict[str, dict[str, Tool]] = {}
        self._single: dict[str, Tool | None] = {}

    async def with_definition(self, found: _Found) -> RecordedCall:
        tool = await self._of_digest(found.version) or (await self._listed(found.tools)).get(found.call.name)
        tool = tool if tool is not None and tool.name == found.call.name else Tool(name=found.call.name)
        return RecordedCall(found.run, found.at, tool, found.call, found.started, found.origins)

    async def _of_digest(self, digest: str) -> Tool | None:
        if digest and digest not in self._single:
            try:
                self._single[digest] = msgspec.json.decode(await self._journal.kept(digest), type=Tool)
            except (UnknownName, msgspec.MsgspecError):
                self._single[digest] = None
        return self._single.get(digest)

    async def _listed(self, digest: str) -> dict[str, Tool]:
        if digest and digest not in self._lists:
            try:
                self._lists[digest] = {tool.name: tool for tool in await kept_tools(self._journal, digest)}
            except JournalError:
                self._lists[digest] = {}
        return self._lists.get(digest, {})


def verdict_on(recorded: RecordedCall, policy: Policy) -> tuple[str, str]:
    """What a policy says of a call that is on record: `allow`, `ask`, `deny` or `unknown`, and the rule."""
    is_unknown = False

    def origins(arguments: JsonObject) -> Origins:
        nonlocal is_unknown
        is_unknown = is_unknown or not recorded.origins
        return recorded.origins

    def brought() -> tuple[str, ...]:
        nonlocal is_unknown
        is_unknown = True
        return ()

    started = recorded.started
    facts = Facts(
        principal=started.principal,
        tenant=started.tenant,
        roles=started.roles,
        agent=started.agent,
        key_id=started.key_id,
        now=recorded.at,
        origins=origins,
        brought=brought,
    )
    decision = policy.decide(recorded.tool, recorded.call, facts)
    return UNKNOWN if is_unknown else decision.verdict, decision.rule


async def decisions_differ(journal: Journal, old: Policy, new: Policy, *, tenant: str) -> list[DefinitionChange]:
    """Which of the latest calls on record one policy judges otherwise than another.

    Args:
        journal: has the record.
        old, new: the policies.
        tenant: whose calls are judged.

    Returns:
        A change `decision` for each of these calls: `place` is the tool, `node` the run, `old` and `new` the verdicts,
        and `breaks` the rule where the call would not be allowed any more. Before them a change `decisions` with the
        number of calls by verdict. Nothing where no call is judged otherwise.
    """
    changes: list[DefinitionChange] = []
    was, now = Counter[str](), Counter[str]()
    async for call in recorded_calls(journal, tenant):
        (before, _), (after, rule) = verdict_on(call, old), verdict_on(call, new)
        was[before] += 1
        now[after] += 1
        if before != after:
            breaks = rule if before == "allow" or after == "deny" else ""
            changes.append(
                DefinitionChange(
                    kind="changed",
                    what="decision",
                    place=call.call.name,
                    node=call.run,
                    old=before,
                    new=after,
                    breaks=breaks,
                )
            )
    if not changes:
        return []
    place = f"last {was.total()} calls"
    counts = DefinitionChange(kind="changed", what="decisions", place=place, old=dict(was), new=dict(now))
    return [counts, *changes]
