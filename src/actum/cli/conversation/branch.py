"""`actum journal fork`: another way from some point on; and how `compare` shows two runs.

`fork` is no operation: it goes on at the terminal, with the model and the tools of this command, as `actum run` does.
`POST /v1/runs/{id}/fork` goes on with the agent of a server.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Annotated

import typer
from rich.text import Text

from ...compose.settings import choose_agent
from ...core.event import RunResult
from ...journal.comparison import Moment, Outcome
from ...journal.named import find_run
from ...runs.options import Emit
from ...server.api.runs.comparing import RunComparison
from .. import loading, options
from ..language import tr
from ..options import (
    DialectFlag,
    InstructionsFlag,
    JournalFlag,
    JsonFlag,
    ModelFlag,
    RunArgument,
    ToolsFlag,
    VerboseFlag,
    YesFlag,
)
from ..show.terminal import (
    Terminal,
    duration,
    said,
    shorten,
    styled,
)
from ..show.trace import RESULT_MAX, Trace, value_text
from .approve import TerminalApprover
from .run import as_recorded, carry_out, named_agent, view_of


def fork(
    run_id: RunArgument,
    at: Annotated[
        int, typer.Option("--at", min=0, help="The last record that is taken over; `journal show` numbers them.")
    ],
    result: Annotated[str, typer.Option(metavar="TEXT", help="Another result in the place of the one there.")] = "",
    question: Annotated[str, typer.Option(metavar="TEXT", help="Another question; only with --at 0.")] = "",
    model: ModelFlag = "",
    tools: ToolsFlag = None,
    dialect: DialectFlag = "",
    instructions: InstructionsFlag = "",
    verbose: VerboseFlag = False,
    as_json: JsonFlag = False,
    yes: YesFlag = False,
    journal: JournalFlag = "",
) -> int:
    """Branch off from a run: take over its records up to one, and go on from there with another model, tools or result.

    The run itself stays as it is. What it did after that point may have changed the world: those tools ask again.
    """
    settings = options.read(model=model, tools=tools, dialect=dialect, instructions=instructions, journal=journal)
    terminal = Terminal()

    async def command() -> int:
        async with options.journal(settings) as opened:
            found = await find_run(opened, run_id)
            name = await named_agent(opened, found.run_id, settings, accept=True)  # a branch may have another agent
            unnamed = settings if name or model else as_recorded(settings, found.model)
            chosen = choose_agent(settings, name) if name else unnamed
            async with loading.agent(chosen, opened, TerminalApprover(terminal, yes=yes), terminal) as agent:
                new = await agent.fork(found.run_id, at, question=said(question) or None, result=said(result) or None)
                if not as_json:
                    terminal.note("{branch} branches off from {run} at {at}", branch=new, run=found.run_id, at=at)
                view = view_of(terminal, agent.model, verbose=verbose, as_json=as_json)
                if isinstance(view, Trace):
                    view.question(said(question) or found.question)

                async def go(emit: Emit) -> RunResult:
                    return await agent.resume(new, emit=emit)

                return await carry_out(terminal, agent, chosen, view, go, as_json=as_json)

    return asyncio.run(command())


def show_comparison(terminal: Terminal, found: RunComparison, names: Mapping[str, str]) -> None:
    """Show a person where two runs first part, and what each came to."""
    comparison = found.comparison
    for name, mine, yours in comparison.begun:
        terminal.line("begun", styled((f"{name}  ", "bold"), _words(mine), (" | ", "dim"), _words(yours)))
    terminal.line("alike", tr("{count} moments from the beginning", count=comparison.alike))
    if comparison.parts == (None, None):
        terminal.line("parts", tr("nowhere"))
    for label, moment in zip(("parts", ""), comparison.parts, strict=True):
        if comparison.parts != (None, None):
            terminal.line(label, _moment(moment))
    rows = [(name, *values) for name, *values in _side_by_side(*comparison.outcomes)]
    terminal.table("", *found.runs, rows=[("", "", ""), *rows])


def _side_by_side(one: Outcome, other: Outcome) -> list[tuple[str, str, str]]:
    def of(outcome: Outcome) -> tuple[str, ...]:
        failed = f" ({outcome.failed_calls} failed)" if outcome.failed_calls else ""
        return (
            outcome.status or "not ended",
            shorten(outcome.answer, RESULT_MAX),
            str(outcome.steps),
            f"{outcome.calls}{failed}",
            f"{outcome.tokens:,}",
            duration(outcome.seconds),
        )

    names = ("status", "answer", "steps", "calls", "tokens", "time")
    return list(zip(names, of(one), of(other), strict=True))


def _moment(moment: Moment | None) -> Text:
    if moment is None:
        return styled(("(it had ended)", "dim"))
    return styled((f"step {moment.step}, {moment.what}  ", "bold"), shorten(moment.text, RESULT_MAX))


def _words(value: object) -> str:
    return shorten(value if isinstance(value, str) else value_text(None), 200, 1) or "(nothing)"
