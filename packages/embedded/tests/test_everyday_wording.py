"""How people say amounts, lengths, files and addresses in everyday life."""

from __future__ import annotations

import pytest

from actum.core.json import Json, JsonObject
from actum.core.tool import Tool
from actum_embedded.calls.arguments import as_object, fill
from actum_embedded.text.clauses import read
from actum_embedded.text.numerals import find_numbers
from actum_embedded.text.spans import plain_spans
from actum_embedded.tools.candidates import View
from actum_embedded.tools.selection import index
from packages.embedded.tests.harness import TODAY

pytestmark = pytest.mark.row("L5")


def slot(type_: str, description: str, **more: Json) -> Json:
    return {"type": type_, "description": description, **more}


def found(name: str, description: str, properties: dict[str, Json], said: str) -> JsonObject:
    parameters: JsonObject = {"type": "object", "properties": properties, "required": list(properties)}
    return as_object(
        fill(index(Tool(name=name, parameters=parameters, description=description)), read(said, TODAY)).arguments
    )


@pytest.mark.parametrize(
    ("said", "arguments"),
    [
        ("把报价单.docx打印三份", {"file": "报价单.docx", "copies": 3}),
        ("print agenda.docx 3 times", {"file": "agenda.docx", "copies": 3}),
    ],
)
def test_a_measure_word_tells_what_a_number_counts(said: str, arguments: JsonObject) -> None:
    properties = {"file": slot("string", "File name"), "copies": slot("integer", "Number of copies")}
    assert found("print_document", "Print a document.", properties, said) == arguments


def test_people_are_no_minutes() -> None:
    properties = {"duration_minutes": slot("integer", "Length in minutes"), "attendees": slot("integer", "People")}
    assert found("book_room", "Book a meeting room.", properties, "订个会议室，开一个小时，8个人") == {
        "duration_minutes": 60,
        "attendees": 8,
    }


@pytest.mark.parametrize(("said", "days"), [("20天前是几号", -20), ("what date was it 20 days ago", -20)])
def test_days_ago_are_less_than_none_for_a_tool_that_adds_days(said: str, days: int) -> None:
    properties = {
        "date": slot("string", "The date to start from, YYYY-MM-DD."),
        "days": slot("integer", "How many days later; negative for earlier."),
    }
    arguments = found("add_days", "Tell which date it is a number of days after a date.", properties, said)
    assert arguments == {"date": TODAY.isoformat(), "days": days}


@pytest.mark.parametrize(
    ("said", "position"), [("卧室窗帘拉开一半", 50), ("open the bedroom curtains halfway", 50), ("把卧室窗帘关上", 0)]
)
def test_a_half_and_the_ends_of_a_scale_are_numbers(said: str, position: int) -> None:
    properties = {"position": slot("integer", "How far open, 0 closed to 100 open")}
    assert found("set_curtains", "Open or close the curtains.", properties, said) == {"position": position}


@pytest.mark.parametrize(("said", "value"), [("3分半", 3.5), ("一个小时", 1), ("一个星期", 1)])
def test_lengths_of_time_are_numbers(said: str, value: float) -> None:
    assert [number.value for number in find_numbers(said)] == [value]


def test_a_number_is_told_by_what_it_is() -> None:
    properties = {"card_last_four": slot("string", "Last four digits of the card")}
    assert found("repay_card", "Repay a credit card.", properties, "尾号6688的信用卡还款") == {"card_last_four": "6688"}


@pytest.mark.parametrize(("said", "pattern"), [("所有的py文件", "*.py"), ("all csv files", "*.csv")])
def test_files_of_a_kind_are_a_pattern(said: str, pattern: str) -> None:
    assert [span.value for span in plain_spans(said, TODAY) if span.kind == "file"] == [pattern]


@pytest.mark.parametrize("said", ["记下来，周三交水电费", "记一下：周三交水电费"])
def test_what_follows_a_command_and_a_sign_is_the_text(said: str) -> None:
    properties = {"text": slot("string", "What to write down.")}
    assert found("write_note", "Write down a note.", properties, said) == {"text": "周三交水电费"}


def test_an_address_with_street_and_number_is_taken_whole() -> None:
    properties = {"address": slot("string", "Delivery address")}
    said = "寄一份文件，地址是成都市高新区天府大道100号"
    assert found("create_shipment", "Send a package.", properties, said) == {"address": "成都市高新区天府大道100号"}


@pytest.mark.parametrize("said", ["remind me tomorrow at 9", "remind me at 9 tomorrow"])
def test_a_bare_hour_beside_a_day_is_a_time(said: str) -> None:
    assert [span.value for span in plain_spans(said, TODAY) if span.kind == "time"] == ["09:00"]


@pytest.mark.parametrize("said", ["at 9 percent", "tomorrow at 9 degrees", "sell at 9"])
def test_other_numbers_after_at_are_no_times(said: str) -> None:
    assert not [span for span in plain_spans(said, TODAY) if span.kind == "time"]


@pytest.mark.parametrize(
    "said", ["100到200元的保温杯", "thermos cups for 100 to 200 yuan", "thermos cups, 100-200 yuan"]
)
def test_the_ends_of_a_range_go_where_least_and_most_are_wanted(said: str) -> None:
    properties = {"max_price": slot("number", "Upper limit"), "min_price": slot("number", "Lower limit")}
    assert found("search_products", "Search the catalog.", properties, said) == {"max_price": 200, "min_price": 100}


def test_what_is_said_is_taken_to_its_end() -> None:
    properties = {"contact": slot("string", "Name of the contact"), "text": slot("string", "Message text")}
    arguments = found("send_message", "Send a chat message to a contact.", properties, "跟赵敏说合同已经发过去了")
    assert arguments == {"contact": "赵敏", "text": "合同已经发过去了"}


def test_a_company_is_taken_by_its_full_name() -> None:
    properties = {"customer_name": slot("string", "Company name on the invoice")}
    said = "开一张发票，抬头是北京星辰贸易有限公司"
    assert found("issue_invoice", "Issue an invoice.", properties, said) == {"customer_name": "北京星辰贸易有限公司"}


def test_a_living_room_is_no_living() -> None:
    properties = {"room": slot("string", "Room where the light is")}
    assert found("control_light", "Turn a light on or off.", properties, "turn on the living room light") == {
        "room": "living room"
    }


def test_a_language_after_in_is_no_part_of_the_text() -> None:
    properties = {
        "text": slot("string", "Text to translate"),
        "target_language": slot("string", "Target language", enum=["en", "fr"]),
    }
    said = "how do you say good morning in French"
    assert found("translate_text", "Translate text into another language.", properties, said) == {
        "text": "good morning",
        "target_language": "fr",
    }


def test_what_somebody_is_told_is_what_follows_the_name() -> None:
    properties = {"contact": slot("string", "Name of the contact"), "text": slot("string", "Message text")}
    arguments = found("send_message", "Send a chat message to a contact.", properties, "告诉王芳我到了")
    assert arguments == {"contact": "王芳", "text": "我到了"}


def test_a_measure_is_given_in_the_unit_that_is_wanted() -> None:
    properties = {"weight_kg": slot("number", "Weight of the package in kilograms")}
    assert found("create_shipment", "Send a package.", properties, "寄个3斤的包裹") == {"weight_kg": 1.5}


@pytest.mark.parametrize("said", ["明天下午两点到三点半要间会议室", "Book a meeting room from 2 pm to 3:30 pm"])
def test_from_one_time_to_another_tells_how_long(said: str) -> None:
    properties = {"start": slot("string", "Start time, HH:MM"), "minutes": slot("integer", "Duration in minutes")}
    assert found("book_room", "Book a meeting room.", properties, said) == {"start": "14:00", "minutes": 90}


def test_a_month_is_told_in_the_form_that_the_description_shows() -> None:
    properties = {"month": slot("string", "Month in YYYY-MM format")}
    assert found("get_payslip", "Download a payslip.", properties, "把十月份的工资条发我") == {"month": "2026-10"}


def test_a_word_that_points_at_what_was_said_before_is_no_value() -> None:
    properties = {"path": slot("string", "File path")}
    assert found("delete_file", "Delete a file.", properties, "然后把这个文件删了") == {}


def test_a_clause_that_ends_inside_of_a_word_has_no_part_of_it_as_a_value() -> None:
    clause = read("阿莫西林吃半个月，一天两次", TODAY)
    cut = clause.part(0, clause.text.index("天"))
    assert all(first < last for first, last in View.of(cut).typed)
