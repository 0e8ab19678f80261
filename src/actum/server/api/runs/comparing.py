"""`/v1/runs/{id}/comparison`: two runs side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from ....features.command import Command, CommandOption
from ....features.operation import AnswerKind, ApiReply, ApiRequest, Operation
from ....journal.comparison import Comparison, compare
from ..examples import RUN
from ..fields import Name
from .operations import FOUND_BY

if TYPE_CHECKING:
    from ..api import Api  # agents and workflows, which the completion of a command needs none of


class ComparisonQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """What a run is compared with.

    Attributes:
        other: the id of the other run.
    """

    other: Name


class RunComparison(Struct, frozen=True, kw_only=True):
    """Where two runs first part, and what each came to.

    Attributes:
        runs: the ids of the two runs.
        comparison: how they differ.
    """

    runs: tuple[str, str]
    comparison: Comparison


async def compare_runs(api: Api, asked: ApiRequest[ComparisonQuery, None]) -> ApiReply:
    """Two runs side by side."""
    one, other = [
        await api.records.shown(await api.records.asked_for(asked, name, beyond_own=("audit",)), asked.who)
        for name in (asked.names["id"], asked.query.other)
    ]
    return ApiReply(RunComparison(runs=(one.run_id, other.run_id), comparison=compare(one.entries, other.entries)))


_OUTCOME = {
    "status": "done",
    "answer": "5",
    "steps": 2,
    "calls": 1,
    "failed_calls": 0,
    "tokens": 48,
    "seconds": 0.4,
}
OPERATIONS: tuple[Operation, ...] = (
    Operation(
        id="compareRuns",
        method="get",
        path="/v1/runs/{id}/comparison",
        tag="runs",
        summary="Compare two runs: where they first part, and what each came to.",
        description=(
            "The instructions and the models of the runs are told, which a run's owner is not shown elsewhere: this "
            "needs the scope `audit`."
        ),
        scopes=("audit",),
        names={"id": "The id of a run."},
        query=ComparisonQuery,
        replies={
            200: AnswerKind(
                means="The two runs.",
                body=RunComparison,
                example={
                    "runs": [RUN, RUN],
                    "comparison": {
                        "begun": [],
                        "alike": 2,
                        "parts": [None, None],
                        "outcomes": [_OUTCOME, _OUTCOME],
                    },
                },
            )
        },
        handler=compare_runs,
        command=Command(
            words=("journal", "compare"),
            help="Show where two runs first part, and what each came to.",
            arguments=("other",),
            options={
                "id": CommandOption(metavar="RUN", help="A run."),
                "other": CommandOption(metavar="RUN", help="Another, such as a branch of it.", found_by=FOUND_BY),
            },
            found_by=FOUND_BY,
        ),
    ),
)
