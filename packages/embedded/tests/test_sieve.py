"""A step that nobody asked for is left out of a plan; what was asked for stays."""

from __future__ import annotations

import pytest

from actum.core.json import Json, JsonObject
from actum.core.tool import Tool
from actum_embedded.calls.arguments import as_object
from actum_embedded.calls.plan import plan, unsifted
from actum_embedded.calls.sieve import sifted, signs
from actum_embedded.text.clauses import read
from actum_embedded.tools.selection import Shelf
from packages.embedded.tests.harness import TODAY

pytestmark = pytest.mark.row("L5")


def tool(name: str, description: str, **properties: Json) -> Tool:
    parameters: JsonObject = {"type": "object", "properties": properties, "required": [*properties]}
    return Tool(name=name, description=description, parameters=parameters)


HOSPITAL = tool("get_hospital_data", "Data about a hospital.", hospital={"type": "string", "description": "Its name."})
TRAFFIC = tool(
    "get_website_traffic", "Traffic of a website.", website={"type": "string", "description": "Its address."}
)
SHELF = Shelf([HOSPITAL, TRAFFIC])


def calls(question: str) -> list[tuple[str, JsonObject]]:
    return [(step.indexed.tool.name, as_object(step.arguments)) for step in plan(read(question, TODAY), SHELF)]


MAIL = tool(
    "send_email",
    "Sends an e-mail.",
    receiver={"type": "string", "description": "Address of the receiver."},
    subject={"type": "string", "description": "The subject."},
)


def test_an_address_does_not_end_the_sentence_that_offers_help() -> None:
    question = 'Can you help me send an email to john@example.com with the subject "See you."?'
    (step,) = plan(read(question, TODAY), Shelf([MAIL]))
    assert as_object(step.arguments) == {"receiver": "john@example.com", "subject": "See you."}


BOTH = "Get the data of the hospital 'Charité'. Then get the traffic of the website www.example.com."


@pytest.mark.parametrize(
    "question",
    [
        f"I need some hospital data for my research project. {BOTH}",
        f"{BOTH} All of this hospital data will be used for a comprehensive analysis.",
    ],
)
def test_a_sentence_that_announces_or_sums_up_is_no_call(question: str) -> None:
    assert calls(question) == [
        ("get_hospital_data", {"hospital": "Charité"}),
        ("get_website_traffic", {"website": "www.example.com"}),
    ]


def test_calls_that_are_asked_for_stay_however_alike() -> None:
    asked = "Get the data of the hospital 'Charité'. Then get the data of the hospital 'Mount Sinai'."
    assert calls(asked) == [
        ("get_hospital_data", {"hospital": "Charité"}),
        ("get_hospital_data", {"hospital": "Mount Sinai"}),
    ]


def test_the_last_step_is_never_left_out() -> None:
    steps = unsifted(read("hospital data for some project", TODAY), Shelf([HOSPITAL]))
    assert sifted(steps) == steps != []


def test_signs_are_the_same_for_the_same_plan() -> None:
    steps = unsifted(read("Get the data of the hospital 'Charité' and the traffic of www.example.com", TODAY), SHELF)
    assert [signs(at, steps) for at in range(len(steps))] == [signs(at, steps) for at in range(len(steps))]
