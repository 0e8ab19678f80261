"""Time as people type it."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actum.cli.show.moments import (
    iso,
    moment,
    shown,
    span,
)
from actum.core.errors import UsageError

NOW = 1_800_000_000.0


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("30s", 30), ("5m", 300), ("24h", 86_400), ("90d", 7_776_000), ("2w", 1_209_600), ("1.5H", 5400)],
)
def test_a_span_is_a_number_and_a_unit(text: str, seconds: float) -> None:
    assert span(text) == seconds
    assert moment(text, NOW) == NOW - seconds


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("2026-11-01T12:30Z", 1_793_536_200),
        ("2026-11-01T12:30+02:00", 1_793_529_000),
        ("20261101T123000Z", 1_793_536_200),
    ],
)
def test_a_moment_is_iso_8601(text: str, at: float) -> None:
    assert moment(text, NOW) == at


def test_a_date_is_midnight_here() -> None:
    assert moment("2026-11-01", NOW) == moment("2026-11-01T00:00", NOW)
    assert shown(moment("2026-11-01", NOW)) == "2026-11-01 00:00:00"


@pytest.mark.parametrize("text", ["", "soon", "24", "-3h", "3y", "2026-13-01", "0001-01-01T00:00+14:00" * 2])
def test_what_is_no_time_is_said_to_be_none(text: str) -> None:
    with pytest.raises(UsageError, match="is no time: write 24h"):
        moment(text, NOW)
    with pytest.raises(UsageError, match="is no length of time: write 30m"):
        span(text)


@given(st.text(max_size=30))
def test_any_text_is_a_time_or_a_clear_error(text: str) -> None:
    with contextlib.suppress(UsageError):
        assert isinstance(moment(text, NOW), float)


@given(st.floats())
def test_any_number_can_be_shown(at: float) -> None:
    assert shown(at)
    assert iso(at)
