"""The values that a description shows, and what follows from them for a slot."""

from __future__ import annotations

import pytest

from actum.core.json import JsonObject
from actum.core.tool import Tool
from actum_embedded.text.clauses import read
from actum_embedded.tools.candidates import candidates
from actum_embedded.tools.examples import examples, form_of, forms_shown
from actum_embedded.tools.slots import Slot, slots_of
from packages.embedded.tests.harness import TODAY

pytestmark = pytest.mark.row("L5")


def slot(name: str, description: str) -> Slot:
    parameters: JsonObject = {"type": "object", "properties": {name: {"type": "string", "description": description}}}
    return slots_of(Tool(name="act", description="Act.", parameters=parameters))[0]


@pytest.mark.parametrize(
    ("description", "shown"),
    [
        ("How often (e.g., daily, weekly, monthly).", {"daily", "weekly", "monthly"}),
        ("The file, such as 'notes.txt' or 'plan.md'", {"notes.txt", "plan.md"}),
        ("The appliance, like a fridge, etc.", {"a fridge"}),
        ("时间，例如：早上、晚上", {"早上", "晚上"}),
        ("The name of the team.", set()),
    ],
)
def test_what_a_description_shows_is_found(description: str, shown: set[str]) -> None:
    assert shown <= examples(description)
    assert bool(shown) == bool(examples(description))


def test_a_form_tells_codes_days_and_words_apart() -> None:
    assert form_of("INV-7") == form_of("ab-123") == "a-0"
    assert form_of("2024-01-05") in forms_shown("The day (e.g., YYYY-MM-DD)")
    assert form_of("January 1, 2022") in forms_shown("The day (e.g., January 1, 2022)")


@pytest.mark.parametrize(
    ("name", "description", "kind"),
    [
        ("survey_time", "When it was taken (e.g., morning, afternoon)", "string"),
        ("start_time", "When it starts (e.g., 10:30, 14:00)", "time"),
        ("exposure_time", "How long (e.g., 24 hours, 7 days)", "string"),
        ("day", "The day (e.g., YYYY-MM-DD)", "date"),
        ("compound", "The formula (e.g., water, salt)", "string"),
        ("time_period", "What period", "string"),
    ],
)
def test_values_that_are_shown_tell_the_kind(name: str, description: str, kind: str) -> None:
    assert slot(name, description).kind == kind


@pytest.mark.parametrize(
    ("description", "question", "value"),
    [
        ("When (e.g., morning, evening)", "Check the patient in the morning", "morning"),
        ("The unit (e.g., ng/dL, pmol/L)", "Tell the value in ng/dL please", "ng/dL"),
        ("Who answers (e.g., adults, boy)", "Ask the boys", "boy"),
        ("The state (e.g., 'open', 'closed')", "List the 'open' ones", "open"),
    ],
)
def test_what_is_shown_and_said_is_a_candidate_that_is_marked(description: str, question: str, value: str) -> None:
    found = candidates(slot("which", description), read(question, TODAY))
    assert [each.value for each in found if "shown" in each.kinds] == [value]
