"""`/v1/runs/{id}/scores`: how good an answer was, by the caller's word or that of the caller's end user."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta, Struct

from ....core.errors import TooLate, UsageError
from ....core.identity import Identity
from ....core.run.ending import last_entry
from ....core.run.record import Forgotten
from ....features.operation import AnswerKind, ApiReply, ApiRequest, Operation
from ....features.refusal import Refusal
from ....scores.rating import NotOver, TooManyChanges, rate
from ....scores.score import (
    EXPLANATION_CHARS_MAX,
    NAME_PATTERN,
    ScoreGiven,
    ScoreOnRecord,
    Scorer,
    checked,
    standing_scores,
)
from ..examples import ASKED_AT, RUN
from ..fields import Name
from ..records import Recorded

if TYPE_CHECKING:
    from ..api import Api  # agents and workflows, which the completion of a command needs none of

_ANSWER_ID = re.compile(r"(?:chatcmpl-|resp_|msg_)?([0-9a-f]{20,32})_\d{1,9}t?")
"""The ids of answers that clients of model APIs are told, with the id of the run in them; see `models.agents.ids`."""
ScoreName = Annotated[str, Meta(pattern=NAME_PATTERN)]


class ScoreBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How good the answer of a run was.

    Attributes:
        name: what is judged, in a word: `thumb`, `correct`, `helpful`.
        value: from 0 to 1; a thumb is 1 for up or 0 for down.
        label: the value in a word, such as `polite`.
        comment: why.
        user: your own id of the end user who says so. One score counts for each run, name and author.
        over: another run that this one is preferred to.
        scorer: who judged: a person, a function (`code`) or a model.
        version: the digest of the function, or of the model and its rubric.
    """

    name: ScoreName
    value: Annotated[float, Meta(ge=0, le=1)]
    label: Name = ""
    comment: Annotated[str, Meta(max_length=EXPLANATION_CHARS_MAX)] = ""
    user: Name = ""
    over: Name = ""
    scorer: Scorer = "person"
    version: Name = ""


class ScoreQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Which score is taken back.

    Attributes:
        name: the name of the score.
        user: the end user who is its author; empty for the caller.
    """

    name: ScoreName
    user: Name = ""


class RunScore(Struct, frozen=True, kw_only=True):
    """A score of a run. The fields are those of `ScoreBody`, and:

    Attributes:
        by: the principal that gave the score.
        at: when it was given, in seconds since 1970.
    """

    name: str
    value: float
    label: str
    comment: str
    by: str
    user: str
    over: str
    scorer: Scorer
    version: str
    at: float


class RunScores(Struct, frozen=True, kw_only=True):
    """The scores of a run that count: of each name and author the latest.

    Attributes:
        run: the id of the run.
        items: the scores, the oldest first.
    """

    run: str
    items: tuple[RunScore, ...]


async def list_scores(api: Api, asked: ApiRequest[None, None]) -> ApiReply:
    """The scores of a run that count."""
    return _scores(await _rated(api, asked.names["id"], asked.who))


async def give_score(api: Api, asked: ApiRequest[None, ScoreBody]) -> ApiReply:
    """Say how good the answer of a run was."""
    who, body = asked.who, asked.body
    recorded = await _rated(api, asked.names["id"], who)
    given = ScoreGiven(
        name=body.name,
        value=body.value,
        label=body.label,
        explanation=body.comment,
        by=who.principal,
        user=body.user,
        over=run_of(body.over),
        scorer=body.scorer,
        version=body.version,
    )
    if given.over:
        try:
            await api.records.run(given.over, who)
        except Refusal:
            raise Refusal(422, "invalid", "over: there is no such run.") from None
    return _scores(await _put(api, recorded, given))


async def withdraw_score(api: Api, asked: ApiRequest[ScoreQuery, None]) -> ApiReply:
    """Take a score back. A score that is not there needs no taking back."""
    recorded = await _rated(api, asked.names["id"], asked.who)
    query = asked.query
    given = ScoreGiven(name=query.name, by=asked.who.principal, user=query.user, withdrawn=True)
    await _put(api, recorded, given)
    return ApiReply(None, 204)


async def _put(api: Api, recorded: Recorded, given: ScoreGiven) -> Recorded:
    """Put a score on the record of a run, which is read again."""
    try:
        checked(given)
    except UsageError as error:
        raise Refusal(422, "invalid", "{why}.", why=error) from None
    try:
        await rate(api.journal, recorded.run_id, given, clock=api.clock, tenant=recorded.started.tenant)
    except NotOver:
        raise Refusal(409, "not_over", "The run is not over.", run=recorded.run_id, retry_after=1.0) from None
    except TooManyChanges as error:
        raise Refusal(429, "rate_limited", "{why}.", why=error, retry_after=error.retry_after) from None
    except TooLate:
        raise _forgotten(recorded.run_id) from None
    return await api.records.again(recorded)


async def _rated(api: Api, id_: str, who: Identity) -> Recorded:
    """The run that the caller may rate, by its id or by the id of an answer of it.

    Raises:
        Refusal: there is no such run for the caller, or it was forgotten.
    """
    run_id = run_of(id_)
    entries = await api.records.entries(run_id, who)
    if entries and not entries[0].payload and isinstance(last_entry(entries[-1:]).record, Forgotten):
        raise _forgotten(run_id)
    return await api.records.run(run_id, who)


def run_of(id_: str) -> str:
    """The id of the run that an id of a run or of an answer names.

    >>> run_of("chatcmpl-" + 20 * "a" + "_0"), run_of("run_x")
    ('run_aaaaaaaaaaaaaaaaaaaa', 'run_x')
    """
    found = _ANSWER_ID.fullmatch(id_)
    return f"run_{found[1]}" if found is not None else id_


def _forgotten(run_id: str) -> Refusal:
    return Refusal(410, "forgotten", "The run was forgotten, and can not be rated any more.", run=run_id)


def _scores(recorded: Recorded) -> ApiReply:
    items = tuple(_shown(each) for each in standing_scores(recorded.entries))
    return ApiReply(RunScores(run=recorded.run_id, items=items))


def _shown(score: ScoreOnRecord) -> RunScore:
    given = score.given
    return RunScore(
        name=given.name,
        value=given.value or 0.0,
        label=given.label,
        comment=given.explanation,
        by=given.by,
        user=given.user,
        over=given.over,
        scorer=given.scorer,
        version=given.version,
        at=score.at,
    )


_NAME = {"id": "The id of a run, or of an answer that a model API gave: `chatcmpl-...`, `resp_...`, `msg_...`."}
_SCORE = {
    "name": "thumb",
    "value": 0.0,
    "label": "",
    "comment": "wrong day",
    "by": "ann",
    "user": "",
    "over": "",
    "scorer": "person",
    "version": "",
    "at": ASKED_AT,
}
_ALL = AnswerKind(means="The scores of the run that count.", body=RunScores, example={"run": RUN, "items": [_SCORE]})
_SCOPES = ("runs", "tools", "models")
OPERATIONS: tuple[Operation, ...] = (
    Operation(
        id="listScores",
        method="get",
        path="/v1/runs/{id}/scores",
        tag="runs",
        summary="List the scores of a run: of each name and author the latest.",
        scopes=_SCOPES,
        names=_NAME,
        replies={200: _ALL},
        errors=(410,),
        handler=list_scores,
    ),
    Operation(
        id="giveScore",
        method="post",
        path="/v1/runs/{id}/scores",
        tag="runs",
        summary="Say how good the answer of a run was.",
        description=(
            "The run has to be over; otherwise the answer is 409. One score counts for each run, name and author: the "
            "latest. The same score again changes nothing. 410: the run was forgotten."
        ),
        scopes=_SCOPES,
        names=_NAME,
        body=ScoreBody,
        example={"name": "thumb", "value": 0, "comment": "wrong day"},
        replies={200: _ALL},
        errors=(409, 410),
        handler=give_score,
    ),
    Operation(
        id="withdrawScore",
        method="delete",
        path="/v1/runs/{id}/scores",
        tag="runs",
        summary="Take a score back. What was said stays on record.",
        scopes=_SCOPES,
        names=_NAME,
        query=ScoreQuery,
        replies={204: AnswerKind(means="The score does not count any more.")},
        errors=(409, 410),
        handler=withdraw_score,
    ),
)
