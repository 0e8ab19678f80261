"""A question in other words finds what a user said once among hundreds of turns; one about nothing finds little."""

from __future__ import annotations

from actum.core.user import User
from actum.journal.memory import MemoryJournal

from .question_set import answered, filled

ANN = User("", "ann")


async def test_a_question_in_other_words_finds_what_was_said_and_one_about_nothing_recalls_little() -> None:
    journal = MemoryJournal()
    said = await filled(journal, ANN, "desk", 400)
    outcome = await answered(journal, ANN, "desk", said)
    assert outcome.facts >= 45  # of 50
    assert outcome.signs >= 7  # of 8
    assert outcome.fact_of_none <= 2  # of 20
    assert outcome.any_of_none <= 6
