"""The references that belong to a run: those that it made, and those of earlier turns that its answer cites again."""

from __future__ import annotations

from collections.abc import Sequence

from ...core.interfaces import Journal
from ...journal.recording import RunState
from .answer import numbers_cited
from .references import CheckedReference, QuoteReference, checked, references_in, turns_before


async def references_of(journal: Journal, run_id: str, state: RunState) -> list[tuple[str, QuoteReference]]:
    """The references of a run by number, each with the run that made the reference.

    Args:
        journal: has the earlier turns of the conversation.
        run_id: the run.
        state: of the run.
    """
    found = {each.number: (run_id, each) for each in references_in(state)}
    missing = set(numbers_cited("" if state.ended is None else state.ended.text)) - found.keys()
    if missing and state.beginning().cite:
        async for earlier, turn in turns_before(journal, state.beginning()):
            again = [each for each in references_in(turn) if each.number in missing]
            found.update({each.number: (earlier, each) for each in again})
            if not (missing := missing - found.keys()):
                break
    return [found[number] for number in sorted(found)]


async def quoted_in(journal: Journal, run_id: str) -> list[QuoteReference]:
    """The references of a run on record, as `references_of` finds them, by number."""
    found = await references_of(journal, run_id, RunState(await journal.read(run_id)))
    return [reference for _, reference in found]


async def checked_anew(journal: Journal, found: Sequence[tuple[str, QuoteReference]]) -> list[CheckedReference]:
    """References with the runs that made them, each checked against the text that the record keeps."""
    runs = dict.fromkeys(run for run, _ in found)
    several = [await checked(journal, run, [each for made, each in found if made == run]) for run in runs]
    return sorted((each for some in several for each in some), key=lambda each: each.number)
