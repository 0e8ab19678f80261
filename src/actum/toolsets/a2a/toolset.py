"""`A2AToolset`: a remote agent as one tool, spoken to by A2A of any version.

The agent's card is a stranger's word: a person looks at it before the first use, the whole card is pinned, and a card
that changed is kept back until a person has looked again (`actum a2a approve`). Without a store of approvals the card
counts that was seen first.

What the agent says is content and never an instruction: the tool is `foreign`, its words are cleaned of what nobody
sees. Credentials are those of the user on whose behalf the call is made, and leave for the configured origin alone.
Where a program serves several tenants, a call of a tenant needs the card that was approved for this very tenant.

How the agent is spoken to is the affair of `connection`, how a call goes of `remote_call`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Literal, Self

import msgspec
from msgspec import Struct

from ...core.call import ToolCall, ToolResult
from ...core.clock import SystemClock
from ...core.errors import (
    BudgetExceeded,
    CallError,
    CallTimeout,
    PermissionDenied,
    RateLimited,
    ToolError,
    Unavailable,
    UnknownName,
    UnknownTool,
    UsageError,
)
from ...core.interfaces import Clock, Context, ProbeResult
from ...core.json import Json, JsonObject, size_of_json
from ...core.process.worker_thread import WALKED, off_loop
from ...core.tool import Tool
from ...protocols.a2a.card import RemoteCard, card_digest, pinned, read_card, says_it_is_signed
from ...protocols.a2a.followed_task import ReadTask
from ...protocols.a2a.later import UnreadableAnswer
from ...protocols.a2a.remote_agent import RemoteAgent, with_secrets
from ...protocols.definition_changes import differences
from ...protocols.plain_text import plain
from ...storage.pins import PinStore
from ...storage.tokens import TokenStore
from ...transport.egress import Egress
from ...transport.fetcher import Fetcher
from ...transport.guard import Guard, origin
from ..http.agent_credentials import AgentCredentials
from .connection import A2AConnection, RequestTerms
from .error import RemoteAgentError, malformed
from .news import NewsAddress
from .remote_call import CallTerms, HandleStore, RemoteCall, RestingTask, ShownToAgent, rest, resting_task

WATCH_S = 2.0
"""Seconds after which a person who watches a task sees it anew."""
CARD_HOLDS_S = 300.0
"""Seconds for which a card that was fetched counts as the agent's card."""
DESCRIPTION_CHARS_MAX = 6_000
SKILLS_SHOWN_MAX = 40
TIMEOUT_S = 90_000.0
"""Longer than any `RemoteAgent.wait_s`, which ends an attempt. One number, so that a run can be resumed after a person
changed that setting."""
PINNED_NAME = "card"
TOKEN_BYTES_MAX = 1024 * 1024


class CardSurvey(Struct, frozen=True):
    """What a person is shown before an agent is used.

    Attributes:
        card: as it is now.
        state: `approved` as it is; `new` where no card was approved; `changed` where another one was.
        changes: what is not as it was approved, in lines.
        signature: what is known of the card's signature, in words.
        signature_state: the same for a program; see `signing.SignatureState`.
        elsewhere: the card's addresses that are not of the configured origin. They get no credentials.
    """

    card: RemoteCard
    state: Literal["approved", "new", "changed"]
    changes: tuple[str, ...]
    signature: str
    signature_state: Literal["verified", "unsigned", "unknown_key", "wrong"]
    elsewhere: tuple[str, ...]


class KnownCard:
    """What is known of the agent's card on behalf of one tenant.

    Args:
        pins: what was approved for the tenant; None where the card counts that was seen first.
        tenant: whose.

    Attributes:
        card: as it was when it was looked at last; None before that.
        etag: of that card.
        looked_at: when that was.
        first: the card that was seen first, where there are no pins.
    """

    def __init__(self, pins: PinStore | None, tenant: str = "") -> None:
        self.pins = pins.of_tenant(tenant) if pins is not None else None
        self.tenant = tenant
        self.card: RemoteCard | None = None
        self.etag = ""
        self.looked_at = float("-inf")
        self.first: JsonObject | None = None

    def approved(self, agent: RemoteAgent) -> tuple[JsonObject, ...]:
        """The cards that count as approved, the latest last."""
        if self.pins is None:
            return (self.first,) if self.first is not None else ()
        found = self.pins.approved(agent.identity).get(PINNED_NAME, ())
        return tuple(card for each in found if isinstance(card := each.get("card"), dict))


class A2AToolset:
    """A remote agent as a tool.

    Args:
        agent: its address, or the agent as it is configured.
        pins: what was approved, on disk; where it is given, the card must have been approved there.
        handles: keeps the handles of tasks outside of this process, so that a call whose process was killed joins its
            task.
        egress: the operator's rules for outgoing calls.
        guard: decides where requests may go; by default one that lets the configured agent through.
        clock: time.
        logins: what users were granted who logged in at the agent.
        public: the address of a server of ours (`actum serve`) that has the same journal: the agent sends there news of
            a task that outlives its call. Empty for none.

    Attributes:
        agent: as it is configured.
        credentials: what shows to the agent who asks.
        ends_when_cancelled: the call path need not close a call that goes on after it was cancelled: it has the task
            stopped first, for a few seconds.
    """

    ends_when_cancelled = True

    def __init__(
        self,
        agent: RemoteAgent | str,
        *,
        pins: PinStore | None = None,
        handles: HandleStore | None = None,
        egress: Egress | None = None,
        guard: Guard | None = None,
        clock: Clock | None = None,
        logins: TokenStore | None = None,
        public: str = "",
    ) -> None:
        try:
            self.agent = RemoteAgent(url=agent) if isinstance(agent, str) else agent
        except ValueError as error:
            raise UsageError("A2AToolset: {why}", why=error) from None
        self._pins = pins
        self._handles = handles
        self._clock: Clock = clock or SystemClock()
        self._news = NewsAddress(public, self._clock) if public else None
        self._connection = A2AConnection(self.agent, egress=egress, guard=guard)
        self._tokens = Fetcher(guard or Guard(self.agent.url, egress=egress), bytes_max=TOKEN_BYTES_MAX)
        self.credentials = AgentCredentials(self.agent, self._tokens, self._clock, logins)
        self._known: dict[str, KnownCard] = {}
        self._stamp: tuple[int, ...] = ()
        self._generation = 0
        self._tool: Tool | None = None

    # Tools ------------------------------------------------------------------------------------------------------------

    @property
    def generation(self) -> int:
        """Changes when the tool does, and when something else was approved."""
        if self._pins is not None and self._pins.stamp != self._stamp:
            self._stamp = self._pins.stamp
            self._generation += 1
        return self._generation

    async def list_tools(self) -> Sequence[Tool]:
        """The agent as a tool. Where its card was approved nothing is asked for that.

        Raises:
            PermissionDenied: nobody approved the agent.
            CallError: without a store of approvals, the card can not be had.
        """
        known = self._known_for("")
        approved = known.approved(self.agent)
        if approved:
            card = read_card(approved[-1])
        elif self._pins is not None:
            raise self._not_approved(known)
        else:
            card = await self._current(RequestTerms(), known)
        tool = tool_of(self.agent, card, probed=self._handles is not None)
        if tool != self._tool:
            self._tool = tool
            self._generation += 1
        return (tool,)

    async def execute(self, call: ToolCall, context: Context) -> ToolResult:
        """Ask the agent, and wait for its answer.

        Raises:
            PermissionDenied: the agent, or its card as it is now, was not approved.
            BudgetExceeded: agents would stand too deep one under another.
            CallError: the agent can not be reached, refuses, or says that it failed.
            InputRequired: the agent asks what nobody can answer now, or is still at work.
        """
        if call.name != self.agent.called:
            raise UnknownTool("There is no tool {call!r}.", call=call.name)
        request = self._terms(context)
        try:
            card = await self._current(request, self._known_for(context.tenant))
        except CallError as error:
            begun = resting_task(context.state) or await self._kept(context.key)
            if begun is None:
                raise
            if isinstance(error, Unavailable | CallTimeout | RateLimited):
                words = f"{self.agent.called} can not be reached at the moment."
                raise rest(begun, call, self.agent.called, words) from None
            error.effect = "unknown"  # the task was begun
            raise
        if self.agent.credentials and self._pins is None:
            raise PermissionDenied(
                "The call was not made: credentials go to {called} as its card wants them, and no "
                "person has approved its card. Give A2AToolset pins=PinStore(...).",
                called=self.agent.called,
            )
        shown = ShownToAgent(self.credentials, card, context, request)
        await shown.now()  # or nothing is begun
        terms = CallTerms(
            connection=self._connection,
            card=card,
            request=shown,
            asker=self.agent.called,
            clock=self._clock,
            wait_s=self.agent.wait_s,
            handles=self._handles,
            agent=self.agent,
            news=self._news,
        )
        return await RemoteCall(terms, call, context).run()

    async def probe(self, call: ToolCall, context: Context) -> ProbeResult:
        """Whether a call that was interrupted began a task. Where it did the call is made anew, and joins the task."""
        return ProbeResult("not_done" if await self._kept(context.key) is not None else "unknown")

    async def _kept(self, key: str) -> RestingTask | None:
        """The task that a call began in a process that was killed."""
        return resting_task(await asyncio.to_thread(self._handles.get, key)) if self._handles is not None else None

    async def watch(self, task_id: str, secrets: Mapping[str, str] | None = None) -> AsyncIterator[ReadTask]:
        """Look at a task of the agent until it is over, or waits for somebody. Nothing is said to the agent.

        Args:
            task_id: as the agent calls it.
            secrets: for the headers.

        Raises:
            PermissionDenied: the agent, or its card as it is now, was not approved.
            CallError: the agent can not be reached, or knows no such task.
        """
        terms = self._terms_of(secrets or {})
        card = await self._current(terms, self._known_for(""))
        task, refused = ReadTask(task_id), None
        for handle in self._connection.handles(card):
            known = msgspec.structs.replace(handle, task_id=task_id)
            try:
                while not task.is_settled:
                    task.take(await self._connection.get(known, terms))
                    yield task
                    if not task.is_settled:
                        await self._clock.sleep(WATCH_S)
            except UnreadableAnswer as problem:
                raise malformed(problem) from None
            except RemoteAgentError as error:  # an older server may know the task by its older protocol
                refused = refused or error
            else:
                return
        raise refused or UnknownTool("{called} has no address to ask.", called=self.agent.called)

    async def aclose(self) -> None:
        """Close the connections that are kept."""
        await self._connection.aclose()
        await self._tokens.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def _terms(self, context: Context) -> RequestTerms:
        """The credentials of the call's own user, and the place of the call in its trace.

        Raises:
            ToolError: a secret is not set.
            BudgetExceeded: agents would be nested too deep.
        """
        trace = {"traceparent": context.traceparent} if context.traceparent else {}
        if context.budget is not None:
            way = context.budget.way_down(shares_calls=True)
            if way.left is not None and way.left <= 0:
                raise BudgetExceeded(
                    "Agents may stand {depth} deep, one under another, and do. Do it without this tool.",
                    limit="depth",
                    depth=way.depth,
                )
            trace["tracestate"] = way.tracestate
        try:
            secrets = {name: context.secret(name) for name in self.agent.secret_names}
        except UnknownName:
            raise ToolError(
                "A secret that {called} needs is not set. A person sets it with `actum secrets set`: {secret_names}.",
                called=self.agent.called,
                secret_names=", ".join(self.agent.secret_names),
            ) from None
        try:
            credentials = with_secrets(self.agent.headers, secrets)
        except UsageError as problem:
            raise ToolError(
                "A secret that {called} needs can not be used: {why}.", called=self.agent.called, why=problem
            ) from None
        context.conceal(*(value.rpartition(" ")[2] for value in credentials.values()))
        return RequestTerms(credentials, trace)

    def _terms_of(self, secrets: Mapping[str, str]) -> RequestTerms:
        """For a person at the keyboard: the credentials, where all the secrets that they need are there."""
        names = self.agent.secret_names
        return RequestTerms(with_secrets(self.agent.headers, secrets) if all(name in secrets for name in names) else {})

    # The card ---------------------------------------------------------------------------------------------------------

    def _known_for(self, tenant: str) -> KnownCard:
        # Without approvals there is nothing that tenants could differ in: the first card counts for all.
        name = tenant if self._pins is not None else ""
        if name not in self._known:
            self._known[name] = KnownCard(self._pins, name)
        return self._known[name]

    async def survey(self, secrets: Mapping[str, str] | None = None, *, tenant: str = "") -> CardSurvey:
        """The card as it is now, approved or not: for a person who is about to decide.

        Args:
            secrets: for the headers, where the card is shown only to those who are known.
            tenant: for which tenant a person decides.

        Raises:
            CallError: it can not be had.
        """
        found = await self._connection.fetch_card(self._terms_of(secrets or {}))
        assert found is not None
        card, _ = found
        approved = self._known_for(tenant).approved(self.agent)
        is_known = any(card_digest(each) == card_digest(card.raw) for each in approved)
        size = WALKED * size_of_json(card.raw)
        changed = approved and not is_known
        changes = await off_loop(size, differences, approved[-1], pinned(card.raw)) if changed else ()
        state, words = await signature_of(card, self.agent, self._connection)
        home = origin(self.agent.url)
        return CardSurvey(
            card=card,
            state="approved" if is_known else ("changed" if approved else "new"),
            changes=changes,
            signature=words,
            signature_state=state,
            elsewhere=tuple(dict.fromkeys(each.url for each in card.interfaces if origin(each.url) != home)),
        )

    async def approved_card(self, secrets: Mapping[str, str] | None = None, *, tenant: str = "") -> RemoteCard:
        """The card as it is now, which a person approved.

        Args:
            secrets: for the headers, where the card is shown only to those who are known.
            tenant: for which tenant.

        Raises:
            PermissionDenied: it was not approved.
            CallError: it can not be had.
        """
        return await self._current(self._terms_of(secrets or {}), self._known_for(tenant))

    async def approve(self, survey: CardSurvey, *, by: str = "", tenant: str = "") -> None:
        """A person agrees to a card.

        Args:
            survey: what the person was shown.
            by: who.
            tenant: for which tenant.

        Raises:
            UsageError: there is nowhere to keep that, or its signature is wrong.
        """
        known = self._known_for(tenant)
        if known.pins is None:
            raise UsageError("A2AToolset: approve needs pins=PinStore(...)")
        if survey.signature_state == "wrong":
            raise UsageError(
                "{called} can not be approved. {signature}", called=self.agent.called, signature=survey.signature
            )
        definition: JsonObject = {"name": PINNED_NAME, "card": pinned(survey.card.raw)}
        # One card is approved at a time: an agent that goes back to an earlier card is looked at again.
        await asyncio.to_thread(known.pins.withdraw, self.agent.identity)
        await asyncio.to_thread(known.pins.approve, self.agent.identity, [definition], by=by)
        known.looked_at = float("-inf")

    async def _current(self, terms: RequestTerms, known: KnownCard) -> RemoteCard:
        """The card as it is now, which was approved.

        Raises:
            PermissionDenied: it was not.
            CallError: it can not be had.
        """
        approved = known.approved(self.agent)
        if not approved and known.pins is not None:
            raise self._not_approved(known)
        card = known.card
        if (
            card is None
            or self._clock.monotonic() - known.looked_at >= CARD_HOLDS_S
            or all(card_digest(each) != card_digest(card.raw) for each in approved)
        ):
            found = await self._connection.fetch_card(terms, etag=known.etag if card is not None else "")
            if found is not None:
                card, known.etag = found
                await self._check(card, approved, known)
            assert card is not None
            known.card, known.looked_at = card, self._clock.monotonic()
        if known.pins is None and known.first is None:
            known.first = pinned(card.raw)
        return card

    async def _check(self, card: RemoteCard, approved: Sequence[JsonObject], known: KnownCard) -> None:
        if approved and all(card_digest(each) != card_digest(card.raw) for each in approved):
            known.card, known.etag = None, ""
            raise PermissionDenied(
                "The call was not made: the card of {called} is not what it was when it was "
                "approved. A person looks at it with `{command}`.",
                called=self.agent.called,
                command=self._command(known),
            )
        state, words = await signature_of(card, self.agent, self._connection)
        if state == "wrong":
            raise PermissionDenied("The call was not made: {why}", why=words)

    def _not_approved(self, known: KnownCard) -> PermissionDenied:
        called, whom = self.agent.called, f" for the tenant {known.tenant!r}" if known.tenant else ""
        return PermissionDenied(
            "The remote agent {called!r} was not approved{whom}: `{command}` shows what it is.",
            called=called,
            whom=whom,
            command=self._command(known),
        )

    def _command(self, known: KnownCard) -> str:
        tenant = f" --tenant {known.tenant}" if known.tenant else ""
        return f"actum a2a approve {self.agent.name or self.agent.url}{tenant}"


async def signature_of(
    card: RemoteCard, agent: RemoteAgent, connection: A2AConnection
) -> tuple[Literal["verified", "unsigned", "unknown_key", "wrong"], str]:
    """What is known of the signature of a card, and the same in words.

    Args:
        card: of the agent.
        agent: says whose keys are trusted.
        connection: fetches the keys.

    Raises:
        CallError: the keys can not be had.
    """
    if not says_it_is_signed(card.raw):
        return "unsigned", "The card is not signed."
    try:
        from .signing import key_addresses, verify_card  # noqa: PLC0415 - heavy, and of the extra [a2a]
    except ModuleNotFoundError:
        return "unknown_key", "The card is signed; to verify that needs: pip install 'actum[a2a]'."
    hosts = agent.key_hosts
    keys: dict[str, Json] = {url: await connection.fetch_keys(url) for url in key_addresses(card.raw, hosts)}
    verdict = await off_loop(WALKED * size_of_json(card.raw), verify_card, card.raw, keys, hosts)
    return verdict.state, verdict.words


def tool_of(agent: RemoteAgent, card: RemoteCard, *, probed: bool = False) -> Tool:
    """The tool that an agent is.

    Args:
        agent: as it is configured: its name is the tool's.
        card: as it was approved.
        probed: whether its toolset can tell of an interrupted call that it began a task.
    """
    lines = [f"Ask the remote agent {card.name!r}: {card.description}".rstrip(": ")]
    if card.skills:
        lines.append("What it says it can do:")
        lines += [f"- {skill.id}: {skill.description or skill.name}" for skill in card.skills[:SKILLS_SHOWN_MAX]]
    properties: JsonObject = {
        "message": {
            "type": "string",
            "description": "What to ask or to do, with everything that must be known for it.",
        },
        "files": {
            "type": "array",
            "items": {"type": "string"},
            "description": "Handles of attachments to send along, such as att_1.",
        },
        "conversation": {
            "type": "string",
            "description": "To go on with an earlier conversation: the id that stands behind the agent's answer.",
        },
    }
    if card.skills:
        ids: list[Json] = [skill.id for skill in card.skills[:SKILLS_SHOWN_MAX]]
        properties["skill"] = {"type": "string", "enum": ids, "description": "Which of its skills is meant."}
    return Tool(
        name=agent.called,
        description=plain("\n".join(lines))[:DESCRIPTION_CHARS_MAX],
        parameters={
            "type": "object",
            "properties": properties,
            "required": ["message"],
            "additionalProperties": False,
        },
        foreign=True,
        probed=probed,
        title=card.name,
        timeout_s=TIMEOUT_S,
    )
