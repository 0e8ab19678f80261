"""Times of day."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actum_embedded.text.times import find_times


@pytest.mark.parametrize(
    ("text", "times"),
    [
        ("3 pm, 6:30 am, 12 a.m., 12pm", ["15:00", "06:30", "00:00", "12:00"]),
        ("15:30 and noon", ["15:30", "12:00"]),
        ("9 o'clock in the evening", ["21:00"]),
        ("3 in the afternoon, 4:30 in the morning", ["15:00", "04:30"]),
        ("下午三点半，早上7点，晚上8点20分", ["15:30", "07:00", "20:20"]),
        ("中午12点，凌晨2:15，三点一刻", ["12:00", "02:15", "03:15"]),
        ("几点，两小时后，17:99，25:00，三点五十", ["03:50"]),
        ("half past 11 in the morning, quarter to nine in the evening", ["11:30", "20:45"]),
        ("早上七点二十，九点二，下午2点三楼", ["07:20", "14:00"]),
        ("晚上十二点半，夜里两点，夜里十点", ["00:30", "02:00", "22:00"]),
        ("下午两点到四点半，14:00-15:30", ["14:00", "16:30", "14:00", "15:30"]),
    ],
)
def test_times_are_found(text: str, times: list[str]) -> None:
    assert [time.text for time in find_times(text)] == times


@given(st.times())
def test_a_time_is_read_as_it_is_written(time: object) -> None:
    written = f"{time:%H:%M}"
    assert [found.text for found in find_times(f"at {written}")] == [written]


@given(st.text(alphabet="一二十点半刻分上午下午 0123456789:：pam.", max_size=30))
def test_no_text_breaks_it(text: str) -> None:
    for time in find_times(text):
        assert "00:00" <= time.text <= "23:59"
