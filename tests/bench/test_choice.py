"""The choice among tools with Chinese texts, by Chinese questions: see `bench/choice.py`."""

from __future__ import annotations

from bench.choice import chinese_places


async def test_of_a_hundred_chinese_questions_at_least_95_find_their_tool_among_the_first_five() -> None:
    places = await chinese_places()
    assert len(places) == 100
    assert sum(0 < place <= 5 for place in places) >= 95
