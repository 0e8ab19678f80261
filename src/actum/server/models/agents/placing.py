"""Which run a request means: a new run, a run that goes on, or a run that an earlier request has begun.

Whatever a client shows of ours (the id of a call, of an answer, of an approval, of a run) counts only where the run
belongs to the caller, who is a principal of a tenant. For everybody else there is nothing under such an id.
"""

from __future__ import annotations

import hashlib
import hmac
from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Struct

from ....agents.conversation import answered_in
from ....core.call import TextPart
from ....core.errors import ModelError, UnknownName, UsageError
from ....core.identity import Identity
from ....core.json import JsonObject
from ....core.message import Message, Reply, ToolMessage, UserMessage
from ....core.policy import Answer
from ....core.run.ids import new_id
from ....core.run.pending import Pending
from ....core.run.record import Ended, InputGiven
from ....dialects.api.openai_chat.dialect import OPENAI_FUNCTIONS
from ....dialects.api.openai_responses.encoder import repeated
from ....dialects.error_answer import no_previous_response
from ....features.refusal import Refusal
from ...access_log import traceparent_of_request
from ...api.api import Api, Start
from ...api.records import Recorded
from ...scopes import allows
from ..refused import DO_NOT_RETRY, Refused
from ..request import ModelRequest
from ..surface import RESPONSES
from .answer import AnswerFold, Piece, Said
from .conversations import Conversations
from .history import (
    asked_before,
    claimed_history,
    history_name,
    name_of,
    own_words,
    question_name,
    request_name,
    squeezed,
    turns_of,
    up_to_answer,
)
from .ids import AskRef, read_answer_id, read_approval_id, read_call_id
from .secret import NameSecret
from .turn import AskedTurn
from .writers import last_words

REPEAT_S = 600.0
"""Seconds after the beginning of a run during which a client that repeats the request by itself joins the run."""
TURNS_MAX = 20
"""The most questions of a changed conversation, the latest ones, that are looked for on record."""
RUNS_MAX = 5
"""The most runs of one question, the latest ones, that are searched for the answer that a client tells."""
UNSTORED = "store: false"
"""The name of every run whose answer is not to be stored. It is no name of a caller: those are digests."""
GO_ON = "Go on."
"""What the model is asked where a conversation ends with something else than words of the user."""


class Begin(Struct, frozen=True, kw_only=True):
    """A new run.

    Attributes:
        start: its id, and the digest of the request where the id is made of a key.
        question: what the user says.
        told: what is said before the question.
        messages: what was said before, by the word of the client; None where the record has it.
        after: the run that this one follows.
        conversation: the conversation that it belongs to.
        names: under which the run is found again.
        disagrees: what the client says was said is not, or not all, on record.
    """

    start: Start
    question: UserMessage
    told: tuple[UserMessage, ...] = ()
    messages: tuple[Message, ...] | None = None
    after: str = ""
    conversation: str = ""
    names: tuple[str, ...] = ()
    disagrees: bool = False


class GoOn(Struct, frozen=True):
    """A run goes on.

    Attributes:
        recorded: the run.
        begins: the number of the first entry of the answer.
        answers: by the id of what was asked.
        disagrees: as in `Begin`.
    """

    recorded: Recorded
    begins: int
    answers: dict[str, Answer]
    disagrees: bool = False


class Join(Struct, frozen=True):
    """A run that was begun, or gone on with, by an earlier request; nothing is done but to wait for its answer.

    Attributes:
        recorded: the run.
        begins: the number of the first entry of the answer.
        disagrees: as in `Begin`.
    """

    recorded: Recorded
    begins: int
    disagrees: bool = False


Place = Begin | GoOn | Join


class Placing:
    """Finds out which run a request means.

    Args:
        api: the runs and the journal.
        secret: makes names that no other caller can make.
        conversations: the conversations of callers.
    """

    def __init__(self, api: Api, secret: NameSecret, conversations: Conversations) -> None:
        self._api = api
        self._secret = secret
        self._conversations = conversations

    async def place(self, asked: ModelRequest, turn: AskedTurn, agent: str) -> Place:
        """Which run a request means.

        Args:
            asked: the request.
            turn: what it says.
            agent: the name of the agent.

        Raises:
            UnknownName: the request names something that is not there for the caller.
            UsageError: it says things that do not go together.
            Refused: the run is under way, or went another way.
        """
        who = asked.identity
        start = self._start(asked)
        if start.request and (begun := await self._begun(start, who)) is not None:
            return again_from(begun)
        if found := await self._going_on(asked, turn, agent):
            return found
        secret = await self._secret.get()
        again = request_name(secret, who, asked.surface.name, asked.body)
        if not start.request and is_repeat(asked) and (known := await self._named(again, who, since_s=REPEAT_S)):
            return again_from(known[0])
        return await self._new(asked, turn, agent, start, again)

    async def own(self, run_id: str, who: Identity, what: str = "run") -> Recorded:
        """A run of the caller.

        Args:
            run_id: the run.
            who: the caller.
            what: what the caller asked for, in a word.

        Raises:
            UnknownName: there is no such run for the caller, even if another user has one.
        """
        try:
            recorded = await self._api.records.run(run_id, who)
        except Refusal as refusal:
            if refusal.details.status != 404:
                raise
            raise UnknownName("There is no such {what}.", what=what) from None
        if recorded.started.user != who.user or not who.may_use("agent", recorded.started.agent):
            raise UnknownName("There is no such {what}.", what=what)
        return recorded

    # A new run --------------------------------------------------------------------------------------------------------

    def _start(self, asked: ModelRequest) -> Start:
        """The id of the run that the request would begin: new, or made of its `Idempotency-Key` and its caller."""
        key, who = asked.header("idempotency-key").strip(), asked.identity
        if not key:
            return Start(new_id("run"), trace=traceparent_of_request())
        if len(key) > 255 or not key.isascii() or not key.isprintable():
            raise UsageError("Idempotency-Key: use 1 to 255 visible ASCII characters")
        named = name_of("key", b"models", who, [key])
        said = hashlib.sha256(asked.body).digest() + asked.surface.name.encode()
        digest = hmac.digest(key.encode(), said, "sha256").hex()[:32]
        return Start(f"run_{named.partition(':')[2][:32]}", digest, traceparent_of_request())

    async def _begun(self, start: Start, who: Identity) -> Recorded | None:
        """The run that was begun with this `Idempotency-Key`; None where there is none.

        Raises:
            Refused: it was begun by another request.
        """
        try:
            if not await self._api.was_begun(start):
                return None
        except Refusal as refusal:
            raise Refused(ModelError(refusal.details.detail, status=409), DO_NOT_RETRY) from None
        return await self.own(start.run_id, who)

    async def _new(self, asked: ModelRequest, turn: AskedTurn, agent: str, start: Start, again: str) -> Begin | GoOn:
        who, secret = asked.identity, await self._secret.get()
        if not (turn.words or turn.results or turn.history):
            raise UsageError("the messages: there is nothing to answer")
        told_before, question = words_of_turn(turn, who)
        said = [*turn.history, *turn.results, *turn.words]
        of_question = question_name(secret, who, agent, question)
        unstored = () if is_to_be_stored(asked) else (UNSTORED,)
        names = (again, history_name(secret, who, agent, said), of_question, *unstored)
        begin = Begin(start=start, question=question, told=told_before, names=names, conversation=turn.conversation)
        if turn.previous:
            before = await self._previous(turn.previous, who)
            if turn.conversation:
                raise UsageError("previous_response_id and conversation: give one of the two")
            return msgspec.structs.replace(begin, after=before.run_id)
        if turn.conversation:
            await self._conversations.check(turn.conversation, who)
        if turn.conversation or not (turn.history or turn.results):
            return begin
        before_run = await self._answered_before(turn.history, who, agent, secret)
        if before_run is not None and not turn.results:
            if question_answered := self._with_words(before_run, turn):
                return question_answered
            return msgspec.structs.replace(begin, after=before_run.run_id)
        own_tools = {tool.name for tool in await (await self._api.agent(who, agent)).list_tools()}
        told = [*turn.history, *turn.results]
        recorded = await self._recorded_turns(told, who, agent, secret)
        claims = claimed_history(told, who, own_tools, question.text, recorded)
        disagrees = any(isinstance(message, Reply | ToolMessage) for message in told)
        return msgspec.structs.replace(begin, messages=claims, disagrees=disagrees)

    async def _previous(self, id_: str, who: Identity) -> Recorded:
        """The run of the answer that a request follows.

        Raises:
            NotStored: there is none for the caller.
        """
        ref = read_answer_id(id_)
        if ref is None or not ref.is_stored:
            raise no_previous_response(id_)
        try:
            return await self.own(ref.run_id, who)
        except UnknownName:
            raise no_previous_response(id_) from None

    async def _answered_before(
        self, history: Sequence[Message], who: Identity, agent: str, secret: bytes
    ) -> Recorded | None:
        """The run that gave the last answer of a conversation, if it gave this answer to these words."""
        asked, answer = asked_before(history)
        if not asked:
            return None
        for recorded in await self._named(history_name(secret, who, agent, asked), who):
            if answer in await self._answers(recorded, who):
                return recorded
        return None

    async def _recorded_turns(
        self, said: Sequence[Message], who: Identity, agent: str, secret: bytes
    ) -> dict[int, Sequence[Message]]:
        """What the record has of a conversation that is not on record as a whole, because its client left out or
        changed a part of it: by the number of the first reply to a question, all that the run of this question said and
        did up to the answer that the client tells.
        """
        found: dict[int, Sequence[Message]] = {}
        for turn in turns_of(said)[-TURNS_MAX:]:
            name = question_name(secret, who, agent, turn.question)
            for recorded in await self._named(name, who, limit=RUNS_MAX):
                if turn.answer in await self._answers(recorded, who):
                    found[turn.begins] = up_to_answer(answered_in(recorded.state), turn)
                    break
        return found

    async def _named(self, name: str, who: Identity, since_s: float = 0.0, limit: int = 20) -> list[Recorded]:
        """The caller's runs of a name, the latest first."""
        found: list[Recorded] = []
        for run_id in await self._api.journal.named(name, limit=limit):
            try:
                recorded = await self.own(run_id, who)
            except UnknownName:
                continue
            if not since_s or recorded.entries[0].at >= self._api.clock.now() - since_s:
                found.append(recorded)
        return found

    async def _answers(self, recorded: Recorded, who: Identity) -> set[str]:
        """What a caller was told by a run: also as it was before the caller's roles changed."""
        shown = await self._api.records.shown(recorded, who)
        return answers_of(recorded) | answers_of(shown) if shown is not recorded else answers_of(recorded)

    # A run that goes on -----------------------------------------------------------------------------------------------

    async def _going_on(self, asked: ModelRequest, turn: AskedTurn, agent: str) -> GoOn | Join | None:
        """The run that goes on; None where a new run begins."""
        who = asked.identity
        refs = [read_call_id(message.result.call_id) for message in turn.results]
        if any(refs):
            return await self._with_results(asked, turn, refs)
        by_name = asked.surface.vendor == "gemini" or asked.dialect is OPENAI_FUNCTIONS
        if turn.results and by_name and (found := await self._by_function_names(turn, who, agent)) is not None:
            return found
        if turn.approvals:
            return await self._with_approvals(turn, who)
        run = turn.run
        if not run and turn.previous and (ref := read_answer_id(turn.previous)) is not None and ref.is_stored:
            run = ref.run_id
        if not run:
            return None
        try:
            recorded = await self.own(run, who)
        except UnknownName:
            if turn.previous and not turn.run:
                raise no_previous_response(turn.previous) from None
            if turn.is_named or turn.previous or turn.says_nothing:
                raise
            return None  # it is in the history, whose rest may be the caller's
        if turn.says_nothing:
            return Join(recorded, after_pause(recorded))
        if question := self._with_words(recorded, turn):
            return question
        is_answered = recorded.is_over and asked_before(turn.history)[1] in await self._answers(recorded, who)
        return Join(recorded, after_pause(recorded)) if turn.is_named and not is_answered else None

    def _with_words(self, recorded: Recorded, turn: AskedTurn) -> GoOn | None:
        """A run goes on if the words answer what it asked the user."""
        ended = recorded.state.ended
        questions = recorded.state.waiting() if ended is not None and ended.status == "paused" else []
        if len(questions) == 1 and questions[0].kind == "answer":
            text = "\n".join(word.text for word in turn.words)
            return GoOn(recorded, len(recorded.entries), {questions[0].id: Answer("answer", text)})
        return None

    async def _with_results(self, asked: ModelRequest, turn: AskedTurn, refs: Sequence[AskRef | None]) -> GoOn | Join:
        """A run goes on with what its client's calls came to."""
        who = asked.identity
        known = [ref for ref in refs if ref is not None]
        runs = {ref.run_id for ref in known}
        if len(runs) > 1 or len(known) < len(refs):
            raise UnknownName("There are no such calls in one run: send the results of one answer at a time.")
        recorded = await self.own(known[0].run_id, who, "call")
        given = {ref.ask_id: message.result.text for ref, message in zip(known, turn.results, strict=True)}
        return self._answered(recorded, given, turn, who, asked)

    def _answered(
        self,
        recorded: Recorded,
        given: Mapping[str, str],
        turn: AskedTurn,
        who: Identity,
        asked: ModelRequest | None,
    ) -> GoOn | Join:
        """Results for what a run asked its client, and what the user says beside them.

        Raises:
            UnknownName: the run did not ask for this.
            Refused: it has other results already, or is under way.
        """
        state = recorded.state
        waiting = {one.id for one in state.waiting() if one.kind == "result"}
        if any(ask not in waiting and ask not in state.answers for ask in given):
            raise UnknownName("There is no such call.")
        if other := [ask for ask, text in given.items() if ask in state.answers and state.answers[ask].text != text]:
            raise Refused(
                ModelError(
                    "{count:of these calls has another result|of these calls have other results}.",
                    status=409,
                    count=len(other),
                ),
                DO_NOT_RETRY,
            )
        answers = {ask: Answer("answer", text) for ask, text in given.items() if ask in waiting}
        if answers:
            said = tuple([own_words(word, who) for word in turn.words])
            last = list(answers)[-1]
            answers[last] = msgspec.structs.replace(answers[last], said=said)
            return GoOn(recorded, len(recorded.entries), answers)
        if not recorded.is_over and asked is not None and not is_repeat(asked):
            raise under_way()
        return Join(recorded, given_at(recorded, set(given)))

    async def _by_function_names(self, turn: AskedTurn, who: Identity, agent: str) -> GoOn | Join | None:
        """The one run of the caller that waits for results of functions of these names, after the same history."""
        asked, _ = asked_before(turn.history)
        if not asked:
            return None
        names = Counter(message.name for message in turn.results)
        fitting: list[tuple[Recorded, list[Pending]]] = []
        for recorded in await self._named(history_name(await self._secret.get(), who, agent, asked), who):
            waiting = [one.pending for one in recorded.state.waiting() if one.kind == "result" and one.pending.call]
            if names <= Counter(one.call.name for one in waiting if one.call is not None):
                fitting.append((recorded, waiting))
        if len(fitting) != 1:
            return None
        recorded, waiting = fitting[0]
        given: dict[str, str] = {}
        for message in turn.results:
            one = next(w for w in waiting if w.id not in given and w.call is not None and w.call.name == message.name)
            given[one.id] = message.result.text
        return self._answered(recorded, given, turn, who, None)

    async def _with_approvals(self, turn: AskedTurn, who: Identity) -> GoOn | Join:
        """A run goes on with what its client says of calls that wait for a person.

        The client's word counts only where its key may approve, and where this person may answer.
        """
        refs = [read_approval_id(given.id) for given in turn.approvals]
        known = [ref for ref in refs if ref is not None]
        if len(known) < len(refs) or len({ref.run_id for ref in known}) != 1:
            raise UnknownName("There is no such approval.")
        recorded = await self.own(known[0].run_id, who, "approval")
        waiting = {one.id: one.pending for one in recorded.state.waiting()}
        ids = {ref.ask_id for ref in known}
        if any(not recorded.state.is_known(id_) for id_ in ids):
            raise UnknownName("There is no such approval.")
        answers = {
            ref.ask_id: who.vouched(Answer("approve" if given.approve else "deny", given.reason))
            for ref, given in zip(known, turn.approvals, strict=True)
            if ref.ask_id in waiting and may_approve(waiting[ref.ask_id], who, approve=given.approve)
        }
        if answers:
            return GoOn(recorded, len(recorded.entries), answers)
        return Join(recorded, given_at(recorded, ids) if ids.isdisjoint(waiting) else after_pause(recorded))


def again_from(recorded: Recorded) -> GoOn | Join:
    """A request that comes again joins its run. A run that has failed goes on from where it was: what is on record is
    not done again.
    """
    ended = recorded.state.ended
    return GoOn(recorded, 0, {}) if recorded.is_over and ended and ended.status == "failed" else Join(recorded, 0)


def is_to_be_stored(asked: ModelRequest) -> bool:
    """Whether the client wants the answer kept."""
    return asked.surface is not RESPONSES or asked.fields.get("store") is not False


def is_repeat(asked: ModelRequest) -> bool:
    """Whether an official client says that it makes this request once more."""
    return asked.header("x-stainless-retry-count") not in ("", "0")


def under_way() -> Refused:
    """The refusal of a second request that would go on with one run."""
    return Refused(ModelError("Another request goes on with this run already.", status=409), DO_NOT_RETRY)


def may_approve(pending: Pending, who: Identity, *, approve: bool) -> bool:
    """Whether a caller may answer an approval, and this one."""
    by = who.voter(who.tenant)  # callers find only runs of their own tenant here
    if pending.kind != "approval" or not allows(who, ("approve",)):
        return False
    return by.is_among(pending.approvers) and (not approve or pending.may_approve(by))


def given_at(recorded: Recorded, ids: set[str]) -> int:
    """The number of the first entry that answers one of these questions: with it the next answer of the run began."""
    for entry in recorded.entries:
        if isinstance(entry.record, InputGiven) and entry.record.id in ids:
            return entry.number
    return len(recorded.entries)


def after_pause(recorded: Recorded) -> int:
    """The number of the entry behind the latest pause of a run; 0 where there was none."""
    paused = [
        entry.number
        for entry in recorded.entries
        if isinstance(entry.record, Ended) and entry.record.status == "paused"
    ]
    return paused[-1] + 1 if paused else 0


def answers_of(recorded: Recorded) -> set[str]:
    """What clients were told by a run, at its end and at each of its pauses, without white space."""
    fold, said, found = AnswerFold(recorded.run_id, until="end"), "", set[str]()
    for entry in recorded.entries:
        pieces: list[Piece] = fold.take(entry)
        said += "".join([piece.text for piece in pieces if isinstance(piece, Said)])
        if isinstance(entry.record, Ended):
            found.add(squeezed(said + last_words(fold.ending())))
    return found


def words_of_turn(turn: AskedTurn, who: Identity) -> tuple[tuple[UserMessage, ...], UserMessage]:
    """What is said before the question, and the question: each with whose words it is."""
    words = [own_words(word, who) for word in turn.words]
    if not any(isinstance(word, UserMessage) for word in turn.words):
        return tuple(words), UserMessage((TextPart(GO_ON),), "client")
    last = max(at for at, word in enumerate(turn.words) if isinstance(word, UserMessage))
    return (*words[:last], *words[last + 1 :]), words[last]


def door_fields(asked: ModelRequest) -> JsonObject:
    """What the request says of its answer, for the record."""
    if asked.surface is not RESPONSES:
        return {"surface": asked.surface.name, "model": asked.model}
    fields = asked.fields
    own = {name: value for name, value in repeated(fields).items() if name != "tools"}
    names = ("previous_response_id", "conversation", "background")
    said: JsonObject = {name: fields[name] for name in names if fields.get(name) is not None} | own
    return {
        "surface": asked.surface.name,
        "model": asked.model,
        "store": is_to_be_stored(asked),
        "stream": asked.stream,
        **said,
    }
