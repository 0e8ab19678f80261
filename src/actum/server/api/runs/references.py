"""`/v1/runs/{id}/references`: the quotes of a run, each checked once more against the text that the record keeps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct, structs

from ....core.visible import on_one_line
from ....features.command import AnswerText, Command
from ....features.operation import AnswerKind, ApiReply, ApiRequest, Operation
from ....features.refusal import not_found
from ....journal.named import find_run, latest_answering
from ....knowledge.citing.cited import checked_anew, references_of
from ....knowledge.citing.references import CheckedReference, text_around
from ....knowledge.collections import CollectionUser
from ..examples import ASKED_AT, RUN
from .operations import FOUND_BY as RUN_FOUND_BY

if TYPE_CHECKING:
    from ..api import Api  # agents and workflows, which the completion of a command needs none of


class RunReferences(Struct, frozen=True, kw_only=True):
    """The references of a run.

    Attributes:
        run: the id of the run.
        references: by number; those of earlier turns that the answer cites as well.
    """

    run: str
    references: tuple[CheckedReference, ...]


async def list_references(api: Api, asked: ApiRequest[None, None]) -> ApiReply:
    """The references of a run, each checked."""
    run_id = asked.names["id"]
    state = (await api.records.shown(await api.records.asked_for(asked, run_id), asked.who)).state
    found = await references_of(api.journal, run_id, state)
    return ApiReply(RunReferences(run=run_id, references=tuple(await checked_anew(api.journal, found))))


class ReferenceText(Struct, frozen=True, kw_only=True):
    """The kept text around a quote, to read on.

    Attributes:
        reference: the reference, checked once more.
        before, behind: the text before the quote and behind it, a few thousand characters each.
    """

    reference: CheckedReference
    before: str
    behind: str


async def get_reference(api: Api, asked: ApiRequest[None, None]) -> ApiReply:
    """A reference of a run with the kept text around its quote."""
    run_id, who = asked.names["id"], asked.who
    recorded = await api.records.asked_for(asked, run_id)
    state, mask = recorded.state, await api.records.mask_of(run_id, recorded.entries, who)
    all_of_run = await references_of(api.journal, run_id, state)
    found = [(run, each) for run, each in all_of_run if str(each.number) == asked.names["number"]]
    user = CollectionUser(who.tenant, who.principal, who.roles, "admin" in who.scopes)
    around = await text_around(api.journal, *found[0], user) if found else None
    if around is None:
        raise not_found("reference")
    (reference,) = await checked_anew(api.journal, found)
    told = ReferenceText(reference=reference, before=around[0], behind=around[1])
    return ApiReply(msgspec.convert(mask.value(msgspec.to_builtins(told)), ReferenceText))


def _shown(found: RunReferences, names: Mapping[str, str]) -> list[AnswerText]:
    if not found.references:
        return [AnswerText("This run quoted nothing.", is_note=True, values={"run": found.run})]
    told: list[AnswerText] = []
    for each in found.references:
        place = each.place
        where = f" #{place.page}" if place.page else f":{place.lines[0]}-{place.lines[1]}" if place.lines else ""
        told.append(
            AnswerText(
                f"{on_one_line(each.title)}  {on_one_line(each.address)}{where}", f"[{each.number}]", each.read_at
            )
        )
        told.append(AnswerText(f"“{on_one_line(' '.join(each.quote.split()))}”"))
        if each.verified:
            told.append(AnswerText("verified: the words stand in the kept text", values={"number": each.number}))
        else:
            told.append(
                AnswerText(
                    "[{number}] failed: {why}", is_problem=True, values={"number": each.number, "why": each.problem}
                )
            )
    return told


async def _look_up(api: Api, named: str) -> str:
    """The run that a person names; `last` is no call by itself, such as that of `actum knowledge update`."""
    latest = await latest_answering(api.journal) if named == "last" else ""
    return latest or (await find_run(api.journal, named)).run_id


_FOUND_BY = structs.replace(RUN_FOUND_BY, look_up=_look_up)
_REFERENCE = {
    "number": 1,
    "title": "Travel",
    "address": "knowledge:handbook/rules/travel.md",
    "quote": "A hotel may cost 120 euros a night",
    "sentence": "A hotel may cost 120 euros a night.",
    "place": {"page": None, "lines": [12, 12], "start": 240, "end": 274},
    "digest": "b0a3f1c2",
    "read_at": ASKED_AT,
    "call": None,
    "verified": True,
    "problem": "",
}
OPERATIONS: tuple[Operation, ...] = (
    Operation(
        id="listReferences",
        method="get",
        path="/v1/runs/{id}/references",
        tag="runs",
        summary="List the quotes of a run. Each is checked against the text that the record keeps.",
        scopes=("runs", "tools"),
        names={"id": "The id of a run."},
        replies={
            200: AnswerKind(
                means="The references.", body=RunReferences, example={"run": RUN, "references": [_REFERENCE]}
            )
        },
        handler=list_references,
        command=Command(
            words=("references",),
            help=(
                "Check the quotes of a run against the text that was read. Exit code 1 where one does not stand there."
            ),
            found_by=_FOUND_BY,
            show=_shown,
            exit_code=lambda found: int(not all(each.verified for each in found.references)),
        ),
    ),
    Operation(
        id="getReference",
        method="get",
        path="/v1/runs/{id}/references/{number}",
        tag="runs",
        summary="Get a reference of a run with the kept text around its quote.",
        description="Text of a collection is answered to those alone who may read the collection now.",
        scopes=("runs", "tools"),
        names={"id": "The id of a run.", "number": "The number of the reference."},
        replies={
            200: AnswerKind(
                means="The reference.",
                body=ReferenceText,
                example={"reference": _REFERENCE, "before": "# Travel\n\n", "behind": "."},
            )
        },
        handler=get_reference,
    ),
)
