"""What is written of an experiment for other programs: a small file for `--against`, JUnit for a CI, Markdown. Pure.

All words of cases and answers are escaped: ids, questions and reasons are words of strangers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from xml.sax.saxutils import escape, quoteattr

import msgspec
from msgspec import Struct

from ..core.errors import UsageError
from .gate import GateVerdict
from .report import CaseReport, ExperimentReport, ScoreSummary, TryReport, names_of, summary_of
from .scorer import CORRECT

FORMAT = 1
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class ExportedCase(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A case in the file. `scores` has a list by name, a value for each try; the others are means over the tries."""

    case: str
    scores: dict[str, tuple[float | None, ...]]
    tags: tuple[str, ...] = ()
    must: bool = False
    cost: float = 0.0
    tokens: float = 0.0
    seconds: float = 0.0


class ExportedExperiment(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """An experiment in the file: digests, and the scores of cases and tries, without any words.

    Attributes:
        format: of the file.
        others: as in `ExperimentReport`.
    """

    format: int
    experiment: str
    name: str
    dataset: str
    agent: str
    agent_digest: str
    tries: int
    failed: int
    denied: int
    results: tuple[ExportedCase, ...]


def exported(report: ExperimentReport) -> bytes:
    """The small file of an experiment, to be committed: the same experiment always gives the same bytes."""
    results = tuple(
        ExportedCase(
            case=case.case,
            scores={name: tuple(each.scores.get(name) for each in case.tries) for name in names_of([case])},
            tags=case.tags,
            must=case.must,
            cost=case.mean("cost"),
            tokens=case.mean("tokens"),
            seconds=round(case.mean("seconds"), 3),
        )
        for case in report.results
    )
    made = ExportedExperiment(
        format=FORMAT,
        experiment=report.experiment,
        name=report.name,
        dataset=report.dataset,
        agent=report.agent,
        agent_digest=report.agent_digest,
        tries=report.tries,
        failed=report.failed,
        denied=report.denied,
        results=results,
    )
    return msgspec.json.format(msgspec.json.encode(made), indent=1) + b"\n"


def read_exported(content: bytes, where: str) -> ExperimentReport:
    """The report that a file was made of, without runs and questions.

    Args:
        content: the file.
        where: begins the sentence of an error.

    Raises:
        UsageError: it is no such file.
    """
    try:
        made = msgspec.json.decode(content, type=ExportedExperiment)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        why = str(error) or "nested too deeply"
        raise UsageError("{where}: no file of `actum eval export`: {why}", where=where, why=why) from None
    if made.format != FORMAT:
        raise UsageError("{where}: a newer actum wrote this file: update actum", where=where)
    results = tuple(_case(each) for each in made.results)
    scores: dict[str, ScoreSummary] = {name: summary_of(results, name) for name in names_of(results)}
    return ExperimentReport(
        experiment=made.experiment,
        name=made.name,
        dataset=made.dataset,
        agent=made.agent,
        agent_digest=made.agent_digest,
        cases=len(results),
        tries=made.tries,
        failed=made.failed,
        denied=made.denied,
        scores=scores,
        results=results,
    )


def _case(each: ExportedCase) -> CaseReport:
    count = max((len(values) for values in each.scores.values()), default=0)
    tries = tuple(
        TryReport(
            run="",
            status="done",
            scores={name: values[at] for name, values in each.scores.items() if at < len(values)},
            cost=Decimal(str(each.cost)),
            tokens=round(each.tokens),
            seconds=each.seconds,
        )
        for at in range(count)
    )
    return CaseReport(case=each.case, tags=each.tags, must=each.must, tries=tries)


def junit(report: ExperimentReport, verdict: GateVerdict, metric: str = CORRECT) -> str:
    """The experiment in the form of JUnit: a test for the gate, and one for each case that has the score."""
    failed = [case for case in report.results if (case.score(metric) or 0.0) < 1.0 and case.score(metric) is not None]
    reasons = "\n".join(str(each) for each in verdict.reasons)
    counts = f'tests="{len(report.results) + 1}" failures="{len(failed) + (verdict.verdict == "fail")}"'
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f"<testsuites><testsuite name={_attribute(report.name or report.experiment)} {counts}>",
        '<testcase classname="gate" name="gate">',
        {"fail": "<failure>", "unknown": "<skipped>", "pass": "<system-out>"}[verdict.verdict]
        + _text(f"{verdict.verdict}: {reasons}")
        + {"fail": "</failure>", "unknown": "</skipped>", "pass": "</system-out>"}[verdict.verdict],
        "</testcase>",
    ]
    for case in report.results:
        score = case.score(metric)
        lines.append(f"<testcase classname={_attribute(report.agent)} name={_attribute(case.case)}>")
        if score is not None and score < 1.0:
            runs = " ".join(each.run for each in case.tries)
            lines.append(f"<failure>{_text(f'{metric} {score:g}: {case.question} {runs}')}</failure>")
        lines.append("</testcase>")
    return "\n".join([*lines, "</testsuite></testsuites>", ""])


def markdown(report: ExperimentReport, verdict: GateVerdict, metric: str = CORRECT) -> str:
    """The experiment as a page of Markdown, for a comment in a CI."""
    lines = [f"## {_cell(report.name or report.experiment)}: {verdict.verdict}", ""]
    lines += [f"- {_cell(str(each))}" for each in verdict.reasons]
    lines += ["", "| score | mean | cases |", "|---|---|---|"]
    for name, each in report.scores.items():
        lines.append(f"| {_cell(name)} | {'' if each.mean is None else f'{each.mean:.3f}'} | {each.rated} |")
    bad = [case for case in report.results if (score := case.score(metric)) is not None and score < 1.0]
    if bad:
        lines += ["", f"| case | {_cell(metric)} | question |", "|---|---|---|"]
        lines += [f"| {_cell(case.case)} | {case.score(metric):g} | {_cell(case.question)} |" for case in bad]
    return "\n".join([*lines, ""])


def _attribute(text: str) -> str:
    return quoteattr(_NOT_XML.sub("\ufffd", text).replace("\n", " ").replace("\r", " ").replace("\t", " "))


def _text(text: str) -> str:
    return escape(_NOT_XML.sub("\ufffd", text))


def _cell(text: str) -> str:
    """A text in one cell of a table: nothing in it is markup, and nothing ends the line."""
    one_line = re.sub(r"([\\`*_{}\[\]()#+!|~-])", r"\\\1", " ".join(text.split()))
    return escape(one_line)


def names_told(names: Sequence[str], most: int = 8) -> str:
    """Some names in a line."""
    more = f", ... {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
