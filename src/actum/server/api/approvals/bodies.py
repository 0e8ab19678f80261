"""What waits for a person: what is asked and answered at `/v1/approvals`."""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated

from msgspec import Meta, Struct

from ....call.asking.inbox import VERDICTS, InboxItem, waiting_items
from ....core.approver import Voter
from ....core.json import JsonObject
from ....core.provenance import Origins
from ....core.run.pending import AskedKind
from ....core.run.record import InputRequested, Verdict
from ....core.run.risk import Risk
from ....core.run.summary import RunSummary
from ..fields import CheckedPart, Cursor, Limit, Name
from ..records import Recorded


class ApprovalsQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Which of the things that wait, the oldest first.

    Attributes:
        run: only what this run waits for.
        count: whether the answer says how many there are, beyond this part of the list.
        limit: the most items of this part of the list.
        cursor: `next` of the part before.
    """

    run: Name = ""
    count: bool = False
    limit: Limit = 50
    cursor: Cursor = ""


class Approval(Struct, frozen=True, kw_only=True):
    """Something that waits for a person.

    Attributes:
        id: what the answer is given under.
        kind: `approval` of a call, an `answer` to a question, the `result` of a call that the program makes itself, a
            `doubt` about a call that may have happened, or something that a running tool asks for.
        run: the run that waits.
        agent: the agent of the run.
        principal: on whose behalf the run acts.
        message: what is asked.
        tool: the tool of the call that waits; empty where no call waits.
        arguments: the arguments of that call.
        origins: where each argument came from, by its path.
        asked_at: when it was asked, in seconds since 1970.
        expires: until when it can be answered, in seconds since 1970; null for ever.
        verdicts: what can be answered.
        approvers: who may answer; empty for everybody who may answer approvals.
        needs: how many persons have to agree.
        agreed: who has agreed so far.
        missing: who has to agree yet, in words: of each group of approvers that is not complete, how many of whom.
        schema: the JSON Schema of the answer, for a form.
        url: the page to visit, where the answer is given there.
        request: what a model is to be asked, where a running tool wants that.
        question: the words that the run began with.
        turn: the same for all calls of one reply that wait for approval, so that they can be shown as one question and
            answered together; empty for what is no approval.
        risk: what is risky in the call, where the defence against orders in foreign text asks; `message` says the same
            in English.
    """

    id: str
    kind: AskedKind
    run: str
    agent: str
    principal: str
    message: str
    tool: str
    arguments: JsonObject | None
    origins: Origins
    asked_at: float
    expires: float | None
    verdicts: tuple[Verdict, ...]
    approvers: tuple[str, ...]
    needs: int
    agreed: tuple[str, ...]
    missing: tuple[str, ...]
    schema: JsonObject | None
    url: str
    request: JsonObject | None
    question: str
    turn: str
    risk: Risk | None


class ApprovalPage(CheckedPart[Approval], frozen=True, kw_only=True):
    """A part of the list of what waits.

    Attributes:
        items: what waits, the oldest first.
        next: the cursor of the next part; null at the end of the list.
        count: how many there are, 1,000 at most; null where nobody asked for the count.
    """

    count: int | None = None


class AnswerBody(Struct, frozen=True, forbid_unknown_fields=True):
    """The answer to something that waits.

    Attributes:
        verdict: `approve` or `deny` a call, or `answer` what is asked; `verdicts` of what waits tells what fits.
        text: the answer, or a word to the model.
        arguments: with `approve`, the arguments that the call is to be made with instead; with `answer`, a form filled
            in.
        changes: with `approve`, the arguments that are to be others; the rest stays as it was asked. Leave `arguments`
            out.
        for_run: with `approve`, later calls of this run like this call need no approval.
        free: with `for_run`, the arguments that may differ in those calls.
        turn: with `approve` or `deny`, the answer holds for all calls of the same reply that wait (`turn` of what
            waits), each with its own arguments. All are answered, or none.
    """

    verdict: Verdict
    text: str = ""
    arguments: JsonObject | None = None
    changes: JsonObject | None = None
    for_run: bool = False
    free: Annotated[tuple[Name, ...], Meta(max_length=100)] = ()
    turn: bool = False


class OperatorAnswer(AnswerBody, frozen=True, forbid_unknown_fields=True):
    """The answer of the operator of this machine, who gives it on the command line.

    Attributes:
        by: a name to keep beside the operator's own; of a tenant's user: `NAME@TENANT`. It counts where the journal is
            the operator's own file.
        words: the answer as it was typed: a text, or the fields of a form as `NAME=VALUE`.
    """

    by: str = ""
    words: tuple[str, ...] = ()


class AnswerRecorded(Struct, frozen=True, kw_only=True):
    """An answer is on record.

    Attributes:
        id: what was answered.
        run: the run that waited.
        verdict: the answer.
        is_complete: whether the answer counts already; false where more persons have to agree.
        goes_on: whether this server goes on with the run now.
        answered: all that was answered: with `turn`, each call of the reply that waited.
    """

    id: str
    run: str
    verdict: Verdict
    is_complete: bool
    goes_on: bool
    answered: tuple[str, ...] = ()


def approval_of(item: InboxItem) -> Approval:
    """What waits for a person."""
    pending = item.asked.pending
    return Approval(
        id=pending.id,
        kind=pending.kind,
        run=item.run.run_id,
        agent=item.run.agent,
        principal=item.run.principal,
        message=pending.message,
        tool=pending.call.name if pending.call is not None else "",
        arguments=pending.call.arguments if pending.call is not None else None,
        origins=pending.origins,
        asked_at=item.at,
        expires=pending.expires or None,
        verdicts=VERDICTS[pending.kind],
        approvers=pending.approvers,
        needs=pending.needs,
        agreed=item.agreed,
        missing=tuple(missing(item.asked, item.voters)),
        schema=pending.schema,
        url=pending.url,
        request=pending.request,
        question=item.run.question,
        turn=item.turn,
        risk=pending.risk,
    )


def missing(asked: InputRequested, agreed: Collection[Voter]) -> list[str]:
    """Who has to agree yet: of each quorum that is not met, how many of whom."""
    told = []
    for quorum in asked.pending.all_quorums:
        who_may, left = ", ".join(quorum.approvers) or "anybody", quorum.left(agreed)
        if left:
            who_may += f" but {quorum.not_by}" if quorum.not_by and not quorum.approvers else ""
            told.append(who_may if quorum.needs == 1 else f"{left} of {who_may}")
    return told


def waiting_in(line: RunSummary, recorded: Recorded) -> tuple[Approval, ...]:
    """All that a run waits for."""
    return tuple(map(approval_of, waiting_items(line, recorded.entries)))
