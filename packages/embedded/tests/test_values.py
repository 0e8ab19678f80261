"""A piece of the question as the schema wants it."""

from __future__ import annotations

import pytest

from actum.core.json import Json
from actum.core.tool import Tool
from actum_embedded.calls.arguments import as_object, fill
from actum_embedded.text.clauses import read
from actum_embedded.tools.selection import index
from actum_embedded.tools.values import unit_of
from packages.embedded.tests.harness import TODAY

pytestmark = pytest.mark.row("L5")


@pytest.mark.parametrize(
    ("question", "name", "description", "value"),
    [
        ("on May 4, 2026", "date", "The day, YYYY-MM-DD.", "2026-05-04"),
        ("on May 4, 2026", "date", "The day in the format MM/DD/YYYY.", "05/04/2026"),
        ("on May 4, 2026", "date", "The day in the format DD-MM-YYYY.", "04-05-2026"),
        ("on 05/04/2026", "date", "The day (e.g., DD/MM/YYYY).", "05/04/2026"),
        ("on 25/09/2026", "date", "The day, YYYY-MM-DD.", "2026-09-25"),
        ("tomorrow at 3 pm", "start", "Start, YYYY-MM-DDTHH:MM:SS.", "2026-11-21T15:00:00"),
        ("明天下午三点", "start", "开始时间，格式 YYYY-MM-DD HH:MM", "2026-11-21 15:00"),
        ("on May 4, 2026 at 3 in the afternoon", "start", "Start, DD/MM/YYYY HH:MM.", "04/05/2026 15:00"),
        ("on May 4, 2026 at 3 pm", "start", "The start. Format: %Y-%m-%d %H:%M:%S", "2026-05-04 15:00:00"),
        ("on May 4, 2026", "start", "The start. Format: %Y-%m-%d %H:%M:%S", "2026-05-04 00:00:00"),
        ("on May 4, 2026", "day", "The day, as %d/%m/%Y.", "04/05/2026"),
        ("on May 4, 2026 at 3 pm", "start", "A date-time such as 2026-01-01T08:00:00Z.", "2026-05-04T15:00:00Z"),
        ("the weather in Boston", "location", "The city and state, such as San Francisco, CA.", "Boston, MA"),
        ("the weather in Oslo", "location", "City and country, e.g. Paris, France.", "Oslo, Norway"),
        ("the weather in Boston, MA", "city", "Name of the city.", "Boston"),
        ("the weather in Boston", "location", "The location (e.g., New York, Paris, London).", "Boston"),
        ("the weather in Boston", "location", "The location (e.g., city, state, country).", "Boston"),
        ("open on Sunday", "day", "Day of the week.", "Sunday"),
        ("星期天开门吗", "day", "星期几", "星期天"),
        ("concerts in 2027-07", "month", "Month, YYYY-MM.", "2027-07"),
        ("films from the 1980s", "decade", "Decade such as 1990s", "1980s"),
    ],
)
def test_the_description_tells_the_form(question: str, name: str, description: str, value: str) -> None:
    properties: dict[str, Json] = {name: {"type": "string", "description": description}}
    offered = Tool(
        name="look_up",
        parameters={"type": "object", "properties": properties, "required": [name]},
        description="Look up.",
    )
    assert as_object(fill(index(offered), read(question, TODAY)).arguments) == {name: value}


@pytest.mark.parametrize(
    ("said", "description", "value"),
    [
        ("at 5% a year", "Yearly rate in percent, e.g. 2.5 for 2.5%.", 5),
        ("at 5% a year", "Yearly rate as a decimal.", 0.05),
        ("利率百分之五", "年利率（%）", 5),
    ],
)
def test_the_description_tells_whether_a_hundredth_is_one(said: str, description: str, value: float) -> None:
    properties: dict[str, Json] = {"rate": {"type": "number", "description": description}}
    tool = Tool(
        name="grow", parameters={"type": "object", "properties": properties, "required": ["rate"]}, description="Grows."
    )
    assert as_object(fill(index(tool), read(said, TODAY)).arguments) == {"rate": value}


def test_days_that_are_counted_back_are_negative_where_that_may_be() -> None:
    properties: dict[str, Json] = {"days": {"type": "integer", "description": "Days to add; negative for earlier."}}
    tool = Tool(
        name="add_days",
        parameters={"type": "object", "properties": properties, "required": ["days"]},
        description="Adds.",
    )
    assert as_object(fill(index(tool), read("从4月18号往前推45天是哪天", TODAY)).arguments) == {"days": -45}


@pytest.mark.parametrize(
    ("told", "unit"),
    [
        ("velocity ms Speed of the body", "m/s"),
        ("Speed in metres per second", "m/s"),
        ("in meters/second", "m/s"),
        ("in miles per hour", "mph"),
        ("Acceleration in meters per second squared", "m/s²"),
        ("gravity in m/s^2", "m/s²"),
        ("Distance in miles", "mi"),
        ("Density in kilograms per cubic meter", None),
        ("delay ms", None),
        ("Dose in mg/kg", None),
        ("剂量（毫克/公斤）", None),
    ],
)
def test_a_unit_of_two_is_one(told: str, unit: str | None) -> None:
    assert unit_of(told) == unit


@pytest.mark.parametrize(
    ("description", "value"),
    [
        ("Annual rate as a decimal, e.g. 0.05 for 5%.", 0.035),
        ("Annual rate, 5 for 5%.", 3.5),
        ("Annual rate as a decimal.", 0.035),
        ("Annual rate in percent.", 3.5),
    ],
)
def test_the_description_tells_whether_a_share_is_of_one_or_of_a_hundred(description: str, value: float) -> None:
    rate: dict[str, Json] = {"rate": {"type": "number", "description": description}}
    offered = Tool(
        name="growth", parameters={"type": "object", "properties": rate, "required": ["rate"]}, description="Growth."
    )
    assert as_object(fill(index(offered), read("growth at 3.5% a year", TODAY)).arguments) == {"rate": value}
