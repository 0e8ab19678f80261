"""The own set of questions is consistent and frozen, and its judge lets pass what is right and nothing else."""

from __future__ import annotations

import hashlib
from collections import Counter

import msgspec
import pytest

from actum.core.call import ToolCall
from actum.core.json import Json
from bench.questions import HERE, ExpectedCall, Question, Verdict, judge, load, now, problems_of, right_arguments, tools

FROZEN = {
    "questions.jsonl": "0256b49e7c8bd8b70344695619474d19aa5e9f8d63bcd81f3bfd2b22c5daf9a2",
    "tools.json": "1724b0bd852653ee5b8ba222364a71591939b23ca283b2d6720737d13fac6381",
}
"""SHA-256 of the files. A score is only worth something as long as these stay: a change is a new set."""

QUESTIONS = load()


def calling(name: str, /, **arguments: Json) -> ToolCall:
    return ToolCall(id="1", name=name, arguments=arguments)


def expecting(name: str, /, **choices: list[Json]) -> Question:
    return Question("en-000", "en", "…", (name,), calls=(ExpectedCall(name, choices),))


@pytest.mark.parametrize("name", FROZEN)
def test_the_set_is_the_one_that_was_frozen(name: str) -> None:
    assert hashlib.sha256((HERE / name).read_bytes()).hexdigest() == FROZEN[name]


def test_there_are_enough_questions_of_each_language_and_kind() -> None:
    languages = Counter(question.language for question in QUESTIONS)
    assert languages["zh"] >= 200
    assert languages["en"] >= 100
    for language, count in languages.items():
        mine = [question for question in QUESTIONS if question.language == language]
        assert sum(len(question.calls) > 1 for question in mine) >= 0.10 * count
        assert sum(not question.calls and not question.ask for question in mine) >= 0.09 * count
        assert sum(bool(question.ask) for question in mine) >= 0.06 * count


def test_no_question_comes_twice() -> None:
    assert len({question.id for question in QUESTIONS}) == len(QUESTIONS)
    assert len({question.question for question in QUESTIONS}) == len(QUESTIONS)
    assert all(question.id.startswith(question.language + "-") for question in QUESTIONS)


def test_every_tool_is_the_right_one_somewhere() -> None:
    assert {call.name for question in QUESTIONS for call in question.calls} == tools().keys()
    assert len(tools()) == 41


def test_all_are_asked_on_a_wednesday_morning() -> None:
    assert [now("zh").isoformat(), now("en").isoformat()] == ["2026-03-11T09:30:00+08:00", "2026-03-11T09:30:00+01:00"]
    assert now("zh").isoweekday() == 3


def test_the_right_answer_is_right_and_a_call_more_or_less_is_not() -> None:
    for question in QUESTIONS:
        calls = [calling(call.name, **next(right_arguments(call.arguments))) for call in question.calls]
        text = " ".join(question.ask)
        assert judge(question, calls, text) == Verdict(True), question.id
        assert judge(question, calls[::-1], text) == Verdict(True), question.id
        assert not judge(question, [*calls, calling("calculate", expression="0")], text).ok, question.id
        assert not (calls and judge(question, calls[1:], text).ok), question.id


def test_every_choice_that_is_listed_is_right() -> None:
    for question in QUESTIONS:
        for call in question.calls:
            alone = msgspec.structs.replace(question, calls=(call,))
            for arguments in right_arguments(call.arguments):
                assert judge(alone, [calling(call.name, **arguments)], "").ok, (question.id, arguments)


@pytest.mark.parametrize(
    "question",
    [
        expecting("no_such_tool"),
        expecting("calculate", expression=[3]),
        expecting("weekday"),
        expecting("play_music", genre=["jazz", "polka"]),
        expecting("play_music", mood=["calm"]),
        expecting("ship_parcel", weight_kg=[1], recipient=[{"name": ["Li"], "city": ["Rome", 5]}]),
        msgspec.structs.replace(expecting("play_music"), ask={"song": ()}),
        msgspec.structs.replace(expecting("weekday", date=["2026-01-01"]), ask={"date": ()}),
        msgspec.structs.replace(expecting("weekday", date=["2026-01-01"]), tools=("calculate",)),
    ],
    ids=lambda question: str(question.calls[0]),
)
def test_an_expectation_that_no_schema_allows_is_found(question: Question) -> None:
    assert list(problems_of(question))


HOTEL = expecting("book_hotel", city=["Rome"], check_in=["2026-05-01"], nights=[2], guests=[1, {"$absent": True}])
ROME: dict[str, Json] = {"city": "Rome", "check_in": "2026-05-01", "nights": 2}


@pytest.mark.parametrize("also", [{}, {"guests": 1}, {"breakfast": False}, {"city": " rome "}, {"nights": 2.0}])
def test_what_may_be_left_out_and_what_is_the_default_make_no_difference(also: dict[str, Json]) -> None:
    assert judge(HOTEL, [calling("book_hotel", **(ROME | also))], "").ok


@pytest.mark.parametrize(
    ("also", "why"),
    [
        ({"guests": 3}, "guests is 3, not 1 or"),
        ({"nights": "2"}, 'nights is "2", not 2'),
        ({"nights": True}, "nights is true, not 2"),
        ({"breakfast": True}, "breakfast was not asked for"),
        ({"stars": 5}, "stars was not asked for"),
    ],
)
def test_a_wrong_argument_is_told(also: dict[str, Json], why: str) -> None:
    assert why in judge(HOTEL, [calling("book_hotel", **(ROME | also))], "").why


def test_what_may_be_left_out_may_be_given_as_its_default() -> None:
    question = expecting("play_music", shuffle=[True, {"$absent": True}])
    for arguments in ({}, {"shuffle": False}, {"shuffle": True}):
        assert judge(question, [calling("play_music", **arguments)], "").ok


def test_a_missing_argument_and_another_tool_are_told() -> None:
    assert judge(HOTEL, [calling("book_hotel", city="Rome", nights=2)], "").why == "check_in is missing"
    assert judge(HOTEL, [calling("get_weather", city="Rome")], "").why == "not book_hotel but get_weather"


def test_an_expression_is_judged_by_its_result() -> None:
    question = expecting("calculate", expression=[{"$result": 391}])
    assert judge(question, [calling("calculate", expression="23×17")], "").ok
    assert not judge(question, [calling("calculate", expression="17+23")], "").ok
    assert not judge(question, [calling("calculate", expression="seventeen")], "").ok


def test_free_text_is_judged_by_its_words() -> None:
    question = expecting("write_note", text=[{"$has": ["buy", "milk"], "$lacks": ["note"]}])
    assert judge(question, [calling("write_note", text="Buy some milk")], "").ok
    assert not judge(question, [calling("write_note", text="Note: buy milk")], "").ok
    assert not judge(question, [calling("write_note", text="buy bread")], "").ok


def test_times_that_are_the_same_and_lists_without_an_order_are_right() -> None:
    question = expecting(
        "create_calendar_event", title=["x"], start=["2026-03-12T15:00"], attendees=[["a@b.c", "d@e.f"]]
    )
    same = calling("create_calendar_event", title="x", start="2026-03-12 15:00:00", attendees=["d@e.f", "a@b.c"])
    assert judge(question, [same], "").ok
    other = calling("create_calendar_event", title="x", start="2026-03-12T15:30", attendees=["d@e.f", "a@b.c"])
    assert not judge(question, [other], "").ok


def test_one_call_can_not_stand_for_two() -> None:
    question = Question("en-000", "en", "…", ("time_in",), calls=(wanted("Rome"), wanted("Oslo")))
    rome, oslo = calling("time_in", place="Rome"), calling("time_in", place="Oslo")
    assert judge(question, [oslo, rome], "").ok
    assert judge(question, [rome, rome], "").why == 'place is "Rome", not "Oslo"'


def wanted(place: str) -> ExpectedCall:
    return ExpectedCall("time_in", {"place": [place]})


def test_where_something_is_missing_the_text_must_ask_for_it() -> None:
    question = Question("en-000", "en", "Ship it", ("ship_parcel",), ask={"weight_kg": ("how heavy",)})
    assert judge(question, [], "How heavy is it?").ok
    assert judge(question, [], "Please give me: weight kg").ok
    assert not judge(question, [], "Done.").ok
    assert not judge(question, [calling("ship_parcel", weight_kg=1)], "How heavy is it?").ok
