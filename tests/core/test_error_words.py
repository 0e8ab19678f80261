"""People are told of every kind of failure, in both languages, and of nothing that is not theirs to read."""

from __future__ import annotations

import pytest

from actum.core.call import Failure, Problem
from actum.core.errors import CODES
from actum.core.language.error_words import SENTENCES, language_of, told
from actum.core.language.translation import Language

pytestmark = pytest.mark.row("C2")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_kind_has_a_sentence_of_its_own(language: Language) -> None:
    assert SENTENCES.keys() == CODES.keys()
    sentences = {told(Failure(code, ""), language) for code in CODES}
    assert len(sentences) == len(CODES)
    assert all(language_of(sentence) == language for sentence in sentences)


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_what_was_said_to_the_model_is_shown_only_where_a_person_wrote_it(code: str, language: Language) -> None:
    shown = "words for the model" in told(Failure(code, "words for the model"), language)
    assert shown == (code in {"tool_error", "approval_denied"})


def test_what_can_be_done_about_it_stands_behind() -> None:
    failure = Failure("rate_limited", "", retry_after=12.3, reference="ref_1")
    assert told(failure).endswith("in a short time. Try again in 13 s. (Reference: ref_1)")
    assert told(failure, "zh") == "短时间内请求太多。请在 13 秒后再试。（编号：ref_1）"


def test_wrong_arguments_are_told_one_by_one() -> None:
    problems = (Problem("city", "required", "a string"), Problem("days", "type", "integer", '"x"'))
    failure = Failure("invalid_arguments", "Invalid arguments. ...", problems=problems)
    assert told(failure).endswith('takes. city: is missing (a string). days: expected integer, not "x".')
    assert told(failure, "zh") == '调用的参数不符合工具的要求。city：缺少（字符串）。days：应为 integer，而不是 "x"。'


def test_a_kind_that_is_newer_than_these_words_is_told_all_the_same() -> None:
    assert told(Failure("from_the_future", "?")) == SENTENCES["tool_error"]


def test_a_time_to_wait_is_never_told_as_nothing() -> None:
    for seconds, shown in ((0.2, "0.2"), (0.01, "0.1"), (1.0, "1"), (1.2, "2"), (12.0, "12")):
        assert f"Try again in {shown} s." in told(Failure("rate_limited", "", retry_after=seconds)), seconds
