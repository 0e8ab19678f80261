"""Numbers in digits and in words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actum_embedded.text.numerals import find_numbers


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("1,000 and 3.5", [1000, 3.5]),
        ("-4 degrees, 10-3", [-4, 10, 3]),
        ("2 million, 5k, 3.5亿", [2_000_000, 5000, 350_000_000]),
        ("twenty-three times seventeen", [23, 17]),
        ("two hundred and five", [205]),
        ("a dozen eggs", [12]),
        ("one million two hundred thousand", [1_200_000]),
        ("二十三加一百零五", [23, 105]),
        ("一万五，两百五，一千零五", [15000, 250, 1005]),
        ("三斤，三点五，十二", [3, 3.5, 12]),
        ("二〇二四年", [2024]),
        ("张三的生日", []),
        ("which one, that one", []),
        ("18,000, I have 4,500, and 20,415,", [18000, 4500, 20415]),
        ("一共1,280，首项-5，5月-6月", [1280, -5, 5, 6]),
        ("2e30 and 5e14 Hz", [2e30, 5e14]),
        ("298 K, 10kΩ, 4000K, 95k", [298, 10, 4000, 95000]),
        ("half a dozen, a pair of shoes, twice", [6, 2, 2]),
        ("an hour and a half, four and a half stars, half a litre", [1.5, 4.5, 0.5]),
        ("the second season, a 5 second timer, second thoughts", [2, 5]),
        ("第三针，百分之八，缺俩人，已完成三成", [3, 8, 2, 30]),
        ("三公里半，一刻钟，七句话，半片", [3.5, 15, 7, 0.5]),
        ("86块5，三块五毛，八毛钱，12元8角", [86.5, 3.5, 0.8, 12.8]),
        ("三元一次方程，5块3个", [3, 1, 5, 3]),
        ("2万5，3千5百，1万2个人，2万5块", [25000, 3500, 10000, 2, 25000]),
        ("两三天，七八个人，三五天", []),
        ("no numbers here 没有", []),
        ("1" * 19, []),
    ],
)
def test_numbers_are_found(text: str, values: list[float]) -> None:
    assert [number.value for number in find_numbers(text)] == values


@given(st.integers(0, 10**12))
def test_digits_are_read_as_they_are_written(value: int) -> None:
    assert [number.value for number in find_numbers(str(value))] == [value]
    assert [number.value for number in find_numbers(f"{value:,}")] == [value]


_HAN = "零一二三四五六七八九"


def in_chinese(value: int) -> str:
    """A number below 10,000 in Chinese."""
    said, gap = "", False
    for digit, unit in zip(f"{value:04d}", ("千", "百", "十", ""), strict=True):
        if digit == "0":
            gap = bool(said)
        else:
            said += ("零" if gap else "") + _HAN[int(digit)] + unit
            gap = False
    return said


@given(st.integers(11, 9999))
def test_chinese_numbers_are_read(value: int) -> None:
    assert [number.value for number in find_numbers(in_chinese(value))] == [value]


@given(st.text(max_size=60))
def test_a_number_stands_where_it_is_said_to(text: str) -> None:
    ends = 0
    for number in find_numbers(text):
        assert ends <= number.start < number.end <= len(text)
        ends = number.end
