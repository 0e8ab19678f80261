"""`/v1/runs/{id}/references`: the quotes of a run, each checked once more against the text that the record keeps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

from ....core.visible import on_one_line
from ....features.command import AnswerText, Command
from ....features.operation import AnswerKind, ApiReply, ApiRequest, Operation
from ....knowledge.citing.references import CheckedReference, checked, references_in
from ..examples import ASKED_AT, RUN
from .operations import FOUND_BY

if TYPE_CHECKING:
    from ..api import Api  # agents and workflows, which the completion of a command needs none of


class RunReferences(Struct, frozen=True, kw_only=True):
    """The references of a run.

    Attributes:
        run: the id of the run.
        references: by number.
    """

    run: str
    references: tuple[CheckedReference, ...]


async def list_references(api: Api, asked: ApiRequest[None, None]) -> ApiReply:
    """The references of a run, each checked."""
    run_id = asked.names["id"]
    state = api.records.shown(await api.records.asked_for(asked, run_id), asked.who).state
    return ApiReply(
        RunReferences(run=run_id, references=tuple(await checked(api.journal, run_id, references_in(state))))
    )


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
            found_by=FOUND_BY,
            show=_shown,
            exit_code=lambda found: int(not all(each.verified for each in found.references)),
        ),
    ),
)
