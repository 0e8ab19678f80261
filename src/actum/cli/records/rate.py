"""`actum rate`: how good the answer of a run was, on the record of the run."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from ...core.errors import UnknownName, UsageError
from ...core.interfaces import Journal
from ...journal.named import find_run, latest_answering
from ...scores.rating import NotOver, TooManyChanges, rate
from ...scores.score import THUMB, ScoreGiven, checked
from .. import options
from ..edge import tell
from ..exit_codes import DONE, FAILED
from ..options import JournalFlag, JsonFlag, RunArgument
from ..show.terminal import Terminal, said, who


def rate_run(
    run_id: RunArgument,
    thumb: Annotated[str, typer.Argument(metavar="[up|down]", help="Whether the answer was good or bad.")] = "",
    score: Annotated[
        float | None, typer.Option(metavar="NUMBER", help="A score from 0 to 1 in the place of up.")
    ] = None,
    name: Annotated[str, typer.Option(metavar="WORD", help="What is judged: correct, helpful, ...")] = THUMB,
    comment: Annotated[str, typer.Option(metavar="TEXT", help="Why.")] = "",
    over: Annotated[str, typer.Option(metavar="RUN", help="A run that this one is preferred to.")] = "",
    withdraw: Annotated[bool, typer.Option("--withdraw", help="Take the score back.", show_default=False)] = False,
    as_json: JsonFlag = False,
    journal: JournalFlag = "",
) -> int:
    """Say how good the answer of a run was: up or down, or a score.

    RUN may be `last`: your latest run that no call began. One score counts for each run, name and author: the latest.
    All that was said stays on record.
    """
    given = ScoreGiven(
        name=name,
        value=_value(thumb, score, withdraw=withdraw),
        explanation=said(comment),
        by=who(),
        withdrawn=withdraw,
    )
    checked(given)
    terminal = Terminal()

    async def command() -> tuple[str, bool]:
        async with options.journal(options.read(journal=journal)) as opened:
            found = await latest_run(opened) if run_id == "last" else (await find_run(opened, run_id)).run_id
            other = await _other(opened, over) if over else ""
            told = ScoreGiven(
                name=given.name,
                value=given.value,
                explanation=given.explanation,
                by=given.by,
                over=other,
                withdrawn=withdraw,
            )
            return found, await rate(opened, found, told)

    try:
        found, is_new = asyncio.run(command())
    except (NotOver, TooManyChanges) as error:
        tell(error, as_json=as_json)
        return FAILED
    if as_json:
        terminal.json({"run": found, "name": name, "value": given.value, "changed": is_new})
    elif not is_new:
        terminal.note("This is on record already.")
    elif withdraw:
        terminal.note("{run}: the score {name} is withdrawn.", run=found, name=name)
    else:
        terminal.note("{run}: {name} {value:g}", run=found, name=name, value=given.value)
    return DONE


def _value(thumb: str, score: float | None, *, withdraw: bool) -> float | None:
    """The score that a person gives; None where it is withdrawn.

    Raises:
        UsageError: the person says nothing, or two things.
    """
    if (thumb != "") + (score is not None) + withdraw != 1:
        raise UsageError("give one of: up, down, --score NUMBER, --withdraw")
    if thumb and thumb not in ("up", "down"):
        raise UsageError("{thumb!r}: say up or down", thumb=thumb)
    return {"up": 1.0, "down": 0.0}[thumb] if thumb else score


async def _other(journal: Journal, named: str) -> str:
    """The run that the rated one is preferred to.

    Raises:
        UsageError: there is none.
    """
    try:
        return (await find_run(journal, named)).run_id
    except UnknownName as error:
        raise UsageError("--over: {why}", why=error) from None


async def latest_run(journal: Journal) -> str:
    """The latest run of the person that no call began, and that is no experiment.

    Raises:
        UnknownName: there is none.
    """
    found = await latest_answering(journal, who())
    if not found:
        raise UnknownName("you have no run yet that could be rated: those of experiments do not count")
    return found
