"""`/v1/approvals`: what waits for a person, and the answers.

A call that was asked for by a program is approved by a person, and not by that program: answers to approvals need the
scope `approve`. What is asked of the user of a run is answered by that user.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ....call.asking.form import fields_of, read_words
from ....call.asking.inbox import (
    InboxItem,
    answer_each,
    answered,
    find_waiting,
    look_up_waiting,
    page_of_waiting,
    read_inbox,
    record_expired,
    waiting_items,
)
from ....core.call import Problem
from ....core.errors import ActumError, Busy, JournalError, ReplayDiverged, TooLate, UnknownName, UsageError
from ....core.identity import Identity
from ....core.interfaces import RunFilter
from ....core.policy import Answer as GivenAnswer
from ....core.run.pending import AskedKind
from ....core.run.record import InputGiven, Verdict
from ....features.command import AnswerText, Command, CommandOption, FoundBy
from ....features.operation import AnswerKind, ApiReply, ApiRequest, Operation
from ....features.refusal import Refusal, not_found
from ....journal.grant import covered
from ....journal.kept_uses import with_all_uses
from ....journal.recording import MIDWAY, RunState
from ....runs.recorded import is_run_id
from ....tasks.ended_waits import is_paused, state_of
from ...scopes import allows, wants
from ..examples import APPROVAL, ASK, RUN
from ..records import Records, cursors
from .bodies import (
    AnswerBody,
    AnswerRecorded,
    Approval,
    ApprovalPage,
    ApprovalsQuery,
    OperatorAnswer,
    approval_of,
    missing,
    waiting_in,
)

if TYPE_CHECKING:
    from ..api import Api  # agents and workflows, which the completion of a command needs none of

log = logging.getLogger("actum.api")

LOOK_S = 1.0
"""Seconds between two looks for answers that were given in another process."""
COUNT_MAX = 1_000
"""What waits is counted up to here."""
LIMIT_MAX = 200
OF_THE_USER: frozenset[AskedKind] = frozenset({"answer", "elicitation", "result", "roots"})
"""What the user of a run answers without the scope `approve`."""


async def list_approvals(api: Api, asked: ApiRequest[ApprovalsQuery, None]) -> ApiReply:
    """What waits for a person, the oldest first."""
    if asked.by_operator:
        return ApiReply(await _in_journal(api, asked))
    if asked.query.run:
        found = await _of_run(api, asked.query.run, asked.who)
        return ApiReply(ApprovalPage(items=found, next=None, count=len(found) if asked.query.count else None))
    items, following = await waiting(api.records, asked.query, asked.who)
    items = await api.records.shown_waiting(items, asked.who)
    count = await count_waiting(api.records, asked.who) if asked.query.count else None
    return ApiReply(ApprovalPage(items=tuple(map(approval_of, items)), next=following, count=count))


async def _in_journal(api: Api, asked: ApiRequest[ApprovalsQuery, None]) -> ApprovalPage:
    """All that waits in a journal, for its operator: found by the runs themselves, with what can not be read."""
    found = await read_inbox(api.journal)
    if not asked.to_find:
        await record_expired(api.journal, [(one.run.run_id, one.asked) for one in found.waiting])
    run_id, tenant = asked.query.run, asked.tenant
    fitting = [one for one in found.waiting if tenant in (None, one.run.tenant) and run_id in ("", one.run.run_id)]
    fitting = await api.records.shown_waiting(fitting, asked.who)
    problems = tuple(map(str, found.unreadable))
    return ApprovalPage(items=tuple(map(approval_of, fitting)), next=None, problems=problems)


async def count_waiting(records: Records, who: Identity) -> int:
    """How many things wait that a caller sees, up to `COUNT_MAX`."""
    count, cursor = 0, ""
    while True:
        items, following = await waiting(records, ApprovalsQuery(limit=LIMIT_MAX, cursor=cursor), who)
        count += len(items)
        if following is None or count >= COUNT_MAX:
            return min(count, COUNT_MAX)
        cursor = following


async def _of_run(api: Api, run_id: str, who: Identity) -> tuple[Approval, ...]:
    """What one run waits for; nothing where there is no such run for the caller."""
    try:
        recorded = await api.records.run(run_id, who, beyond_own=("approve",))
    except Refusal:
        return ()
    return waiting_in(await api.records.summary(recorded, who), await api.records.shown(recorded, who))


async def get_approval(api: Api, asked: ApiRequest[None, None]) -> ApiReply:
    """Something that waits for a person, and what an approval of it for the whole run would cover."""
    ask_id = asked.names["id"]
    if asked.by_operator:
        item = await look_up_waiting(api.journal, ask_id, None)
    else:
        item = await waiting_under(api.records, ask_id, asked.who)
    await record_expired(api.journal, [(item.run.run_id, item.asked)])
    covers = AnswerText("with --for-run: {covers}", label="for run", values={"covers": covered(item.asked.pending)})
    told = [covers] if item.asked.pending.covers else []
    others = waiting_items(item.run, await api.journal.read(item.run.run_id)) if item.turn else []
    count = sum(each.turn == item.turn for each in others)
    if count > 1:
        values = {"count": count - 1}
        told.append(
            AnswerText(
                "and {count:other call of the same reply that waits|other calls of the same reply that wait}",
                label="--turn",
                values=values,
            )
        )
    (shown,) = await api.records.shown_waiting([item], asked.who)
    return ApiReply(approval_of(shown), told=tuple(told))


async def answer_approval(api: Api, asked: ApiRequest[None, AnswerBody]) -> ApiReply:
    """Answer something that waits, and go on with its run where that was all that it waited for. A workflow
    goes on with the branch that was answered.
    """
    ask_id, who, body = asked.names["id"], asked.who, asked.body
    if isinstance(body, OperatorAnswer):
        return await _answer_of_operator(api, ask_id, who.principal, body)
    item = await waiting_under(api.records, ask_id, who)
    if item.asked.kind not in OF_THE_USER and not allows(who, ("approve",)):
        raise wants("approve", "to answer this")
    items = await _answered_with(api, item, body, who)
    for each in items:
        _check_person(each, who, body.verdict)
    given = who.vouched(_given(item, body))
    is_complete, goes_on = await answer_and_go_on(api, item, given, who, items[1:])
    if body.verdict == "approve":
        for each in items:
            await _check_in_use(api, each)
    return ApiReply(
        AnswerRecorded(
            id=ask_id,
            run=item.run.run_id,
            verdict=body.verdict,
            is_complete=is_complete,
            goes_on=goes_on,
            answered=tuple(each.asked.id for each in items),
        )
    )


async def _answered_with(api: Api, item: InboxItem, body: AnswerBody, who: Identity | None) -> list[InboxItem]:
    """What an answer is for: what was named and, with `turn`, the other calls of its reply that wait.

    Args:
        api: the runs.
        item: what was named.
        body: the answer.
        who: the caller, for whom calls that only others may see do not count; None for the operator, who sees all.

    Raises:
        UsageError: such an answer is for one call alone.
    """
    if not body.turn:
        return [item]
    if body.verdict not in ("approve", "deny") or not item.turn:
        raise UsageError("turn belongs to the approval of calls: approve or deny")
    if body.arguments is not None or body.changes is not None or body.free:
        raise UsageError("with turn each call keeps its own arguments: leave out arguments, changes and free")
    others = waiting_items(item.run, await api.journal.read(item.run.run_id))
    return [
        item,
        *(
            each
            for each in others
            if each.turn == item.turn
            and each.asked.id != item.asked.id
            and (who is None or (_may_see if each.run.tenant == who.tenant else _is_named)(each, who))
        ),
    ]


def _given(item: InboxItem, body: AnswerBody) -> GivenAnswer:
    """The answer in a body.

    Raises:
        UsageError: what waits has no arguments that could be changed.
    """
    arguments, call = body.arguments, item.asked.pending.call
    if body.changes is not None:
        if call is None or arguments is not None:
            raise UsageError("{item} is no call: it has no arguments", item=item.asked.id)
        arguments = {**call.arguments, **body.changes}
    return GivenAnswer(body.verdict, body.text, arguments=arguments, for_run=body.for_run, free=body.free)


async def _answer_of_operator(api: Api, ask_id: str, by: str, body: OperatorAnswer) -> ApiReply:
    """Put the answer of the operator of this machine on record, and say how the run goes on. A person at a terminal
    belongs to no tenant, whatever the name.

    Raises:
        TooLate: the time to answer is over.
        UnknownName: nothing waits under this id.
        UsageError: the answer does not fit what is asked, or others have to give it.
    """
    item = await look_up_waiting(api.journal, ask_id, None)
    pending, run_id = item.asked.pending, item.run.run_id
    given = replace(_in_words(item, _given(item, body), body.words), by=by, claimed=body.by, tenant="")
    items = await _answered_with(api, item, body, None)
    try:
        await answer_each(api.journal, run_id, {each.asked.id: given for each in items})
    except TooLate as late:
        raise TooLate("{why}. To go on without it: actum resume {run}", why=late, run=run_id) from None
    told: list[AnswerText] = []
    if api.journal.is_shared and given.claimed not in ("", by):
        words = "Several persons may write to this journal: the answer counts as {by}'s."
        told.append(AnswerText(words, values={"by": by}, is_note=True))
    if given.for_run and pending.call is not None:
        told.append(AnswerText("It holds {covers}.", values={"covers": covered(pending, given.free)}, is_note=True))
    by_record = answered(ask_id, given, 0.0, is_shared=api.journal.is_shared).voter(item.run.tenant)
    agreed = (by_record,) if given.arguments is not None else (*item.voters, by_record)
    left = missing(item.asked, agreed) if given.verdict == "approve" else []
    if body.turn:
        told.append(AnswerText("It holds for {count} calls of one reply.", values={"count": len(items)}, is_note=True))
    if left:
        words = "On record. To the same arguments have to agree yet: {missing}."
        told.append(AnswerText(words, values={"missing": " and ".join(left)}, is_note=True))
    else:
        told.append(AnswerText("On record. To go on: {command}", command=("resume", run_id), is_note=True))
        told.append(AnswerText("A server that let go of the run goes on with it by itself.", is_note=True))
    body_told = AnswerRecorded(
        id=ask_id,
        run=run_id,
        verdict=given.verdict,
        is_complete=not left,
        goes_on=False,
        answered=tuple(each.asked.id for each in items),
    )
    return ApiReply(body_told, told=tuple(told))


def _in_words(item: InboxItem, given: GivenAnswer, words: Sequence[str]) -> GivenAnswer:
    """The answer that a person has typed.

    Raises:
        UsageError: the words do not fill in the form.
    """
    if not words:
        return given
    schema = item.asked.pending.schema or {}
    if item.asked.kind in MIDWAY and tuple(words) == ("cancel",):
        return replace(given, verdict="cancel")
    if item.asked.kind in MIDWAY and fields_of(schema):
        return replace(given, arguments=read_words(item.asked.id, schema, words))
    return replace(given, text=" ".join(words))


async def _check_in_use(api: Api, item: InboxItem) -> None:
    """Tell a person who has approved a call that the call is refused all the same: its tool was taken out of use.

    Raises:
        Refusal: it was.
    """
    call, run_id = item.asked.pending.call, item.run.run_id
    entries = (await api.journal.read(run_id))[:1]
    if call is None or not entries:
        return
    started = await with_all_uses(RunState(entries).beginning(), api.journal)
    if await api.published.is_withdrawn(started, call.name):
        raise Refusal(
            409,
            "unpublished",
            "The tool {tool!r} was taken out of use: its call is refused.",
            tool=call.name,
            run=run_id,
        )


async def answer_and_go_on(
    api: Api, item: InboxItem, given: GivenAnswer, who: Identity, turn: Sequence[InboxItem] = ()
) -> tuple[bool, bool]:
    """Put an answer on record, and go on with the run where that was all that it waited for, or with the branch of a
    workflow that waited for it.

    Args:
        api: the runs.
        item: what waits.
        given: the answer.
        who: may answer; an approver of another tenant, too, whom the rule names.
        turn: the other calls of the same reply that get the same answer.

    Returns:
        Whether the answer is complete (several people may have to agree), and whether the run goes on.

    Raises:
        Refusal: the arguments do not fit the tool or the form.
        UsageError: what waits takes another answer.
    """
    run_id, ask_id = item.run.run_id, item.asked.id
    ask_ids = [ask_id, *(each.asked.id for each in turn)]
    state = await _answer(api, item, given, ask_ids)
    is_workflow = bool(state.beginning().workflow)
    if is_workflow and ask_id not in state.answers:  # kept for the driver of the run, and perhaps written down since
        state = RunState(await api.journal.read(run_id))
    is_complete = all(each in state.answers for each in ask_ids)
    goes_on = is_complete and (is_workflow or not state.waiting())
    if who.tenant != item.run.tenant:
        who = Identity(principal=who.principal, tenant=item.run.tenant, scopes=("approve",))
    return is_complete, goes_on and await _go_on(api, run_id, who)


def _check_person(item: InboxItem, who: Identity, verdict: Verdict) -> None:
    """Whether this person may answer.

    Raises:
        Refusal: others have to.
    """
    pending, by = item.asked.pending, who.voter(item.run.tenant)
    if not by.is_among(pending.approvers):
        raise Refusal(
            403, "approver", "You may not answer this: {approvers} may.", approvers=", ".join(pending.approvers)
        )
    if verdict == "approve" and not pending.may_approve(by):
        raise Refusal(
            403, "approver", "You may not approve this: the run is on your behalf, and another person has to."
        )


async def _answer(api: Api, item: InboxItem, given: GivenAnswer, ask_ids: Sequence[str]) -> RunState:
    """Put an answer on record, for all that it answers.

    Raises:
        Refusal: the arguments do not fit the tool or the form.
        UsageError: what waits takes another answer.
    """
    kind = item.asked.kind
    try:
        return await answer_each(api.journal, item.run.run_id, dict.fromkeys(ask_ids, given))
    except TooLate as late:
        raise Refusal(409, "expired", "This was not answered in time: {why}.", why=late) from None
    except UnknownName:
        raise not_found("approval") from None
    except (Busy, ReplayDiverged):
        raise
    except UsageError as error:
        is_form = kind in MIDWAY and given.verdict == "answer"
        is_edit = kind == "approval" and given.verdict == "approve" and given.arguments is not None
        if not is_form and not is_edit:
            raise
        problem = Problem("arguments", "schema", str(error))
        raise Refusal(422, "invalid", "The arguments do not fit: {why}.", problems=(problem,), why=error) from None


async def go_on_with_woken(api: Api, run_id: str, tenant: str) -> None:
    """Go on with a run of a tenant that an event has woken.

    Args:
        api: the runs.
        run_id: the run.
        tenant: whose run it is.
    """
    with suppress(Refusal):  # it has ended or was forgotten meanwhile
        await _go_on(api, run_id, Identity(principal="event", tenant=tenant, scopes=("approve",)))


async def go_on_with_answered(api: Api) -> None:
    """Go on with runs that were let go of here and then answered in another process, such as by
    `actum approvals approve`. Ends when it is cancelled.

    Args:
        api: the runs.
    """
    known: dict[str, set[str]] = {}
    while True:
        await api.clock.sleep(LOOK_S)
        if not api.work.paused:
            continue
        try:
            waiting: dict[str, set[str]] = {run_id: set() for run_id in api.work.paused}
            for question in await api.journal.asked(limit=None):
                if question.run_id in waiting:
                    waiting[question.run_id].add(question.ask_id)
            for run_id, open_now in waiting.items():
                if not open_now or not known.get(run_id, open_now) <= open_now or await api.journal.posted(run_id):
                    await _go_on_with(api, run_id)
            known = waiting
        except JournalError as error:  # a database that is away comes back
            log.warning("runs that were answered elsewhere can not be read: %s", error)


async def _go_on_with(api: Api, run_id: str) -> None:
    state = state_of(run_id, await api.journal.read(run_id))
    if state is not None and state.waiting() and not state.beginning().workflow:
        return
    api.work.paused.discard(run_id)  # it goes on here, or somebody else goes on with it, or it was forgotten
    if state is None:
        return
    (tenant, principal) = state.beginning().user
    try:
        await _go_on_if_answered(api, run_id, Identity(principal=principal, tenant=tenant))
    except ActumError as error:
        log.warning("run %s was answered, and can not be gone on with: %s", run_id, error)


async def _go_on(api: Api, run_id: str, who: Identity) -> bool:
    """Go on with a run that has all its answers; False where another server has to.

    Raises:
        Refusal: the agent is not the one that the run began with.
    """
    recorded = await api.records.run(run_id, who, beyond_own=("approve",))
    if recorded.is_task:
        api.tasks.wake(run_id)
        return True
    try:
        await api.started(api.go_on(recorded))
    except Busy:  # the job that carries the run out here may have looked for answers for the last time
        api.work.when_ended(run_id, lambda: _go_on_if_answered(api, run_id, who))
    except ReplayDiverged as error:
        raise Refusal(
            409, "changed", "The answer is on record, and the run does not go on: {why}", run=run_id, why=error
        ) from None
    except UsageError:
        return False
    return True


async def _go_on_if_answered(api: Api, run_id: str, who: Identity) -> None:
    """Go on with a run that waits, and was answered as it was let go of."""
    recorded = await api.records.run(run_id, who, beyond_own=("approve",))
    entries = recorded.entries
    has_answer = isinstance(entries[-1].record, InputGiven) or await api.journal.posted(run_id)
    if is_paused(entries) and has_answer:
        with suppress(Busy):  # somebody else does
            api.go_on(recorded)


async def waiting(records: Records, query: ApprovalsQuery, who: Identity) -> tuple[list[InboxItem], str | None]:
    """A part of the list of what waits for a person in the caller's tenant, and the cursor of the next part: what
    the caller's own runs wait for, or all for a caller with the scope `approve`.

    Raises:
        Refusal: the cursor is not known.
    """
    wanted = RunFilter(tenant=who.tenant)
    if not allows(who, ("approve",)):
        wanted["owner"] = who.principal
    with cursors():
        page = await page_of_waiting(records.journal, limit=query.limit, cursor=query.cursor, **wanted)
    shown = [item for item in page.items if _may_see(item, who)]
    await record_expired(records.journal, [(item.run.run_id, item.asked) for item in shown])
    return shown, page.next or None


async def waiting_under(records: Records, ask_id: str, who: Identity) -> InboxItem:
    """What waits under an id.

    Raises:
        Refusal: nothing waits under this id for the caller.
    """
    try:
        item = await find_waiting(records.journal, ask_id if is_run_id(ask_id) else "")
    except UnknownName:
        raise not_found("approval") from None
    if not (_may_see(item, who) if item.run.tenant == who.tenant else _is_named(item, who)):
        raise not_found("approval")
    return item


def _is_named(item: InboxItem, who: Identity) -> bool:
    """Whether a rule names a caller of another tenant as an approver: `ada@north`. Nothing else is shown to them."""
    approvers = item.asked.pending.approvers
    return bool(approvers) and who.voter(item.run.tenant).is_among(approvers) and allows(who, ("approve",))


def _may_see(item: InboxItem, who: Identity) -> bool:
    """Whether a caller sees something that waits in the caller's tenant."""
    return item.run.principal == who.principal or allows(who, ("approve",))


FOUND_BY = FoundBy(operation="listApprovals", about=("tool", "message"), noun="approval", has_last=False)
_NAMES = {"id": "The id of what waits."}
_ASK = CommandOption(metavar="ASK_ID", help="What waits: its id, or the beginning of it.")
_BY = CommandOption(
    metavar="NAME",
    help="A name to keep beside your own; of a tenant's user: NAME@TENANT. It counts where the journal is your own "
    "file.",
)
_REASON = CommandOption(metavar="[REASON]", help="A word to the model.")
_FIELDS = ("text", "arguments", "changes", "for_run", "free", "turn", "words")
_FLAGS = ("for_run", "free", "turn")
_TURN = CommandOption(help="Also the other calls of the same reply that wait, each as it was asked.")


def _answering(word: str, help: str, verdict: Verdict | None = None, **said: CommandOption) -> Command:
    """A command that gives one kind of answer.

    Args:
        word: what is typed.
        help: what `--help` says.
        verdict: the answer; None where the word is the answer.
        said: the fields that a person says; options where the fields are flags, else arguments.
    """
    hidden = {name: CommandOption(is_hidden=True) for name in _FIELDS if name not in said}
    return Command(
        words=("approvals", word),
        help=help,
        arguments=tuple(name for name in said if name not in _FLAGS),
        options={**hidden, **said, "id": _ASK, "by": _BY},
        given={"verdict": verdict or word},
        body=OperatorAnswer,
        found_by=FOUND_BY,
    )


OPERATIONS: tuple[Operation, ...] = (
    Operation(
        id="listApprovals",
        method="get",
        path="/v1/approvals",
        tag="approvals",
        summary="List what waits for a person, the oldest first.",
        description="With the scope `approve` all that waits in your tenant; without it what your own runs wait for.",
        scopes=("approve", "runs", "tools"),
        query=ApprovalsQuery,
        replies={
            200: AnswerKind(
                means="What waits.", body=ApprovalPage, example={"items": [APPROVAL], "next": None, "count": None}
            )
        },
        handler=list_approvals,
        command=Command(
            words=("approvals", "list"),
            help="List what waits, the oldest first.",
            options={
                "run": CommandOption(help="Only what this run waits for."),
                "count": CommandOption(is_hidden=True),
                "limit": CommandOption(is_hidden=True),
            },
        ),
    ),
    Operation(
        id="getApproval",
        method="get",
        path="/v1/approvals/{id}",
        tag="approvals",
        summary="Get something that waits for a person.",
        scopes=("approve", "runs", "tools"),
        names=_NAMES,
        replies={200: AnswerKind(means="What waits.", body=Approval, example=APPROVAL)},
        handler=get_approval,
        command=Command(
            words=("approvals", "show"),
            help="Show what waits in full: each argument, and where it came from.",
            options={"id": _ASK},
            found_by=FOUND_BY,
        ),
    ),
    Operation(
        id="answerApproval",
        method="post",
        path="/v1/approvals/{id}",
        tag="approvals",
        summary="Approve or deny a call, or answer what is asked.",
        description=(
            "The run goes on by itself when nothing is left to be answered. Without the scope `approve` you can answer "
            "what your own runs ask of their user, and approve nothing."
        ),
        scopes=("approve", "runs", "tools"),
        names=_NAMES,
        body=AnswerBody,
        example={"verdict": "approve"},
        replies={
            200: AnswerKind(
                means="The answer is on record.",
                body=AnswerRecorded,
                example={
                    "id": ASK,
                    "run": RUN,
                    "verdict": "approve",
                    "is_complete": True,
                    "goes_on": True,
                    "answered": [ASK],
                },
            )
        },
        errors=(409,),
        handler=answer_approval,
        command=_answering(
            "approve",
            "Approve a call, exactly as it was asked.",
            for_run=CommandOption(help="Also in later calls of this run; `show` tells which."),
            free=CommandOption(
                names=("--any",),
                metavar="NAME",
                help="With --for-run: an argument that may differ. Can be repeated.",
            ),
            turn=_TURN,
        ),
        more_commands=(
            _answering("deny", "Deny a call; the model is told, with your reason.", text=_REASON, turn=_TURN),
            _answering(
                "edit",
                "Approve a call with other arguments: they are judged anew by the policy, and the model is told.",
                verdict="approve",
                changes=CommandOption(
                    metavar="NAME=VALUE", help="What to change; JSON, else a text.", form="pairs", is_required=True
                ),
            ),
            _answering(
                "answer",
                "Answer a question, fill in a form, hand in a result, or say what became of a call in doubt.",
                words=CommandOption(
                    metavar="TEXT|NAME=VALUE...",
                    help="The answer; for a call in doubt: done, not_done, retry or unknown; for a form its fields, or "
                    "cancel.",
                    is_required=True,
                ),
            ),
        ),
    ),
)
