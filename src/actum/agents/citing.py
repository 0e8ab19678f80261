"""`Citing`: how an agent holds its answers to what it has quoted. Pure.

An answer that is not backed is refused, and the model is told which words and why: once (`mark`) or twice (`strict`).
Then `mark` leaves the answer whole and puts `[?]` behind what is not backed; `strict` leaves out whole passages, and
abstains where nothing is left.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from msgspec import Struct

from ..core.call import ToolCall, ToolResult
from ..core.errors import UsageError
from ..core.interfaces import Journal
from ..core.message import Message, UserMessage
from ..core.run.record import Started
from ..core.tool import innermost
from ..knowledge.citing.answer import CheckedAnswer, backed, checked_answer, marked, numbers_cited, what_is_wrong
from ..knowledge.citing.references import QuoteReference, reference_of, references_before
from ..knowledge.citing.sources import QUOTE, has_looked, looked_for, pages_found
from ..runs.runner import Runner
from ..runs.wording import Phrases

Cite = Literal["", "mark", "strict"]
CITES: Mapping[object, Cite] = {False: "", None: "", "": "", True: "strict", "mark": "mark", "strict": "strict"}
TOLD_MAX: Mapping[Cite, int] = {"": 0, "mark": 1, "strict": 2}
"""How often the model is told what is wrong with its answer."""
NEAREST = 3


def read_cite(said: bool | str, *, is_text: bool = True) -> Cite:
    """How an agent cites.

    Args:
        said: `mark`, `strict`, True for `strict`, False for not at all.
        is_text: whether the agent answers in text.

    Raises:
        UsageError: it is none of these, or the answers have an output type.
    """
    if not isinstance(said, bool | str) or said not in CITES:
        raise UsageError('cite=: give "mark" or "strict"; this is {value!r:.80}', value=said)
    if CITES[said] and not is_text:
        raise UsageError("cite= is for answers in text: leave out the output type, or cite=")
    return CITES[said]


def with_quote(runner: Runner, cite: Cite) -> Runner:
    """The runner of an agent that cites: with the tool `quote`, where no browser brings the tool."""
    if not cite:
        return runner
    from ..knowledge.browsing.browser import Browser, QuoteTool  # noqa: PLC0415  # loads a jail and an HTTP client

    inside = [inner for each in runner.toolsets for inner in innermost(each)]
    return (
        runner
        if any(isinstance(each, Browser | QuoteTool) for each in inside)
        else runner.with_more_tools([QuoteTool()])
    )


async def quote_name(runner: Runner) -> str:
    """What a model knows the tool as that makes references: an operator may give its tools other names."""
    tools = (await runner.catalog()).tools
    return next((each.name for each in tools if each.source_kind == "reference"), QUOTE)


class Citing(Struct, frozen=True):
    """What the answers of a run are held to.

    Attributes:
        mode: `mark` or `strict`.
        heard: the conversation, whose words of the user need no quote.
        before: the references of earlier turns, by number.
    """

    mode: Cite
    heard: Sequence[Message]
    before: Mapping[int, QuoteReference]

    @classmethod
    async def of(cls, journal: Journal, started: Started, heard: Sequence[Message]) -> Citing | None:
        """For a run; None where its agent does not cite."""
        if not started.cite:
            return None
        before = await references_before(journal, started)
        return cls(CITES[started.cite], heard, {each.number: each for each in before})

    def holds(self, calls: Sequence[tuple[ToolCall, ToolResult]]) -> bool:
        """Whether an answer is shown only when it was accepted."""
        return self.mode == "strict" or has_looked(calls)

    def wrong(self, answer: str, calls: Sequence[tuple[ToolCall, ToolResult]]) -> str:
        """What is wrong with an answer, for the model; empty where nothing is, or the model is not to mend it."""
        return what_is_wrong(self._checked(answer, calls)) if self.holds(calls) else ""

    def accepted(self, answer: str, calls: Sequence[tuple[ToolCall, ToolResult]], wording: Phrases) -> str:
        """What the user is told of an answer, right or wrong."""
        checked = self._checked(answer, calls)
        if self.mode == "mark":
            used = has_looked(calls)
            wrong = [each for each in checked.problems if used or each.kind == "unknown_reference"]
            told = marked(checked.text, wrong)
            known = {*self.before, *dict(_quoted(calls))}
            return (
                told
                if used or not known.isdisjoint(numbers_cited(checked.text)) or not told
                else f"{told}\n\n{wording.no_source()}"
            )
        cited = backed(checked)
        if not cited.text:
            near = dict.fromkeys((each.title, each.address) for each in pages_found(calls))
            return wording.abstained(looked_for(calls), list(near)[:NEAREST])
        return f"{cited.text}\n\n{wording.part_left_out()}" if cited.left_out else cited.text

    def _checked(self, answer: str, calls: Sequence[tuple[ToolCall, ToolResult]]) -> CheckedAnswer:
        return checked_answer(answer, {**self.before, **dict(_quoted(calls))}, words_of_user(self.heard))


def words_of_user(heard: Sequence[Message]) -> str:
    """The user's own words in a conversation."""
    return "\n".join(each.text for each in heard if isinstance(each, UserMessage) and each.source == "user")


def _quoted(calls: Sequence[tuple[ToolCall, ToolResult]]) -> Iterator[tuple[int, QuoteReference]]:
    for _, result in calls:
        if (found := reference_of(result)) is not None:
            yield found.number, found
