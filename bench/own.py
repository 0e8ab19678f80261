"""The own questions (`questions/`) as cases of an experiment, scored by their own judge.

    python -m bench.own > own.jsonl
    actum eval run own.jsonl --agent bench/own.py:embedded --score bench/own.py:right --name before

A question is asked once, and no tool is executed: each call is answered by a word that says nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache

import msgspec

from actum import Agent, Limits
from actum.core.call import ToolCall
from actum.core.interfaces import Journal
from actum.core.model import Model
from actum.core.tool import Tool
from actum.evals import Case, TriedRun
from actum.evals.case import Expected
from actum.evals.experiment import AgentOf, Experiment, carry_out
from actum.evals.records import find_experiment
from actum.evals.report import ExperimentReport, report_of
from actum.evals.scorer import scoring_of
from actum.policy.rules import Rules
from actum.testing import RecordingToolset
from actum_embedded import Embedded
from bench import questions
from bench.questions import Question

KINDS = ("one call", "several calls", "nothing to call", "something is missing")
Change = Callable[[list[Tool]], list[Tool]]
"""What is offered in the place of some tools."""


@cache
def _known() -> dict[str, Question]:
    return {question.id: question for question in questions.load()}


def kind_of(question: Question) -> str:
    """What is wanted: one of `KINDS`."""
    if question.calls:
        return KINDS[min(len(question.calls), 2) - 1]
    return KINDS[3 if question.ask else 2]


def cases() -> list[Case]:
    """The questions. A run that makes calls is stopped behind them, since the model is asked once."""
    return [
        Case(
            id=question.id,
            input=question.question,
            expected=Expected(status="stopped" if question.calls else "done"),
            results=dict.fromkeys(question.tools, "done"),
            tags=(question.language, kind_of(question)),
        )
        for question in _known().values()
    ]


def embedded(case: Case) -> Agent[object]:
    """The embedded model with the tools that a question offers."""
    return offering(lambda tools: tools)(case)


def offering(change: Change, around: Callable[[Model], Model] = lambda model: model) -> AgentOf:
    """As `embedded`, with something changed in the tools, and something around the model."""

    def agent(case: Case) -> Agent[object]:
        question = _known()[case.id]
        day = questions.now(question.language).date()
        tools = change([questions.tools()[name] for name in question.tools])
        return Agent(
            around(Embedded(today=lambda: day)),
            [RecordingToolset(tools)],
            policy=Rules(default="allow"),
            limits=Limits(steps=1),
        )

    return agent


def right(case: Case, run: TriedRun) -> bool:
    """What the judge of the questions says."""
    calls = [ToolCall(str(at), call.name, call.arguments) for at, call in enumerate(run.calls)]
    return questions.judge(_known()[case.id], calls, run.text).ok


async def tried(journal: Journal, agent: AgentOf = embedded) -> ExperimentReport:
    """An experiment with the questions.

    Args:
        journal: where its runs are written down.
        agent: gives the agent of a case.
    """
    experiment = Experiment(cases=cases(), agent=agent, scorers=[scoring_of(right)], jobs=1)
    return await report_of(journal, await find_experiment(journal, await carry_out(experiment, journal), "", ""))


if __name__ == "__main__":
    for each in cases():
        sys.stdout.buffer.write(msgspec.json.encode(each) + b"\n")
