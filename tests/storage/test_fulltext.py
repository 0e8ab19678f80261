"""Texts are found by their words in any language, and a query is never read as a language of its own."""

from __future__ import annotations

import threading

from hypothesis import given
from hypothesis import strategies as st

from actum.storage.fulltext import FullText

TEXTS = {
    "weather": ["Weather desk", "Tells whether it will rain tomorrow. 查询各地天气预报。"],
    "flights": ["Flights", "Books flights; knows the weather at airports. 预订机票"],
    "cafe": ["Café Zürich", "Serves coffee_beans and TEA-2000."],
    "thai": ["ตลาดนัด", "東京の天気"],
}


def index() -> FullText:
    made = FullText([3, 1])
    for name, texts in TEXTS.items():
        made.put(name, texts)
    return made


def test_words_are_found_by_their_beginning_and_signs_of_dense_languages_anywhere() -> None:
    found = index()
    for query, names in {
        "weather": ["weather", "flights"],
        "WEATH": ["weather", "flights"],
        "eather": [],
        "weather flights": ["flights", "weather"],
        "预报": ["weather"],
        "天气预报": ["weather"],
        "气": ["weather"],
        "天": ["thai", "weather"],
        "天气": ["weather"],
        "預": [],
        "机票": ["flights"],
        "cafe zurich": ["cafe"],
        "beans": ["cafe"],
        "tea 2000": ["cafe"],
        "ลาด": ["thai"],
        "天気": ["thai"],
        "我上周提到的预报叫什么": ["weather"],
        "": [],
        "!?": [],
    }.items():
        got = [name for name, _ in found.find(query)]
        assert got[: len(names)] == names or sorted(got) == sorted(names), (query, got)
        assert len(got) == len(names), (query, got)


def test_an_item_that_is_put_again_or_removed_is_found_as_it_is_now() -> None:
    found = index()
    found.put("weather", ["Till", "Pays."])
    assert [name for name, _ in found.find("rain")] == []
    assert [name for name, _ in found.find("till")] == ["weather"]
    found.remove("weather")
    found.remove("nobody")
    assert found.find("till") == []


@given(st.text(max_size=300))
def test_no_query_is_an_error_or_finds_what_was_not_put_in(query: str) -> None:
    for name, score in _KNOWN.find(query):
        assert name in TEXTS
        assert 1 <= score <= 100


_KNOWN = index()


@given(st.text(min_size=1, max_size=40))
def test_a_text_is_found_by_itself(text: str) -> None:
    made = FullText([1])
    made.put("it", [text])
    assert [name for name, _ in made.find(text)] == (["it"] if any(map(str.isalnum, text.casefold())) else [])


def test_threads_share_an_index() -> None:
    found, failed = index(), list[BaseException]()

    def work(number: int) -> None:
        try:
            for round_ in range(200):
                found.put(f"w{number}", [f"word{round_}", "weather"])
                assert found.find("weather")
        except BaseException as error:  # noqa: BLE001  # told below
            failed.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed


def tool_index() -> FullText:
    made = FullText([3, 2, 1], stems=True)
    made.put_all(
        {
            "close_ticket": ["close_ticket", "Closes a ticket of the help desk.", "id reason"],
            "getUserById": ["getUserById", "Reads one account.", "id"],
            "book_room": ["book_room", "Books a meeting room.", "room start end"],
            "天气": ["tianqi", "查询某个城市的天气预报", "城市 日期"],
            "火车": ["huoche", "预订火车票，支持学生票", "出发地 目的地"],
        }
    )
    return made


def test_a_question_in_whole_sentences_finds_what_it_is_about() -> None:
    found = tool_index()
    for question, name in {
        "Could you please tell me how I am closing tickets of a customer?": "close_ticket",
        "which user has this id": "getUserById",
        "I booked two meeting rooms": "book_room",
        "请问明天北京的天气怎么样？": "天气",
        "帮我买一张去上海的火车票": "火车",
    }.items():
        assert found.answering(question)[0] == name, question
    assert found.answering("What is it that you could do for me?") == []
    assert found.answering('"; DROP TABLE texts; -- NEAR(') == []
    assert len(found.answering("ticket account room", limit=2)) == 2


def test_of_a_long_question_the_beginning_and_the_end_count() -> None:
    question = "Close this ticket." + " lorem ipsum" * 100_000 + " Then book a room."
    assert set(tool_index().answering(question)) == {"close_ticket", "book_room"}
    assert tool_index().answering("lorem " * 100_000) == []
