"""How a model is asked: what can be set, which of several settings holds, and what of them is on record."""

from __future__ import annotations

import msgspec
import pytest

from actum.core.errors import UsageError
from actum.core.model import Request
from actum.core.model_settings import UNSET, ModelSettings


def test_a_value_of_the_wrong_kind_is_refused_by_its_name() -> None:
    wrong: list[tuple[str, object]] = [
        ("temperature", -0.1),
        ("temperature", float("nan")),
        ("temperature", True),
        ("temperature", "0.2"),
        ("max_tokens", 0),
        ("max_tokens", 1.5),
        ("max_tokens", True),
        ("top_p", 0),
        ("top_p", 1.1),
        ("seed", "7"),
        ("stop", [""]),
        ("stop", [1]),
        ("stop", 5),
        ("timeout_s", 0),
        ("timeout_s", float("inf")),
        ("parallel_calls", 0),
        ("headers", ["X-Team"]),
        ("headers", {"X Team": "blue"}),
        ("headers", {"X-Team": "blue\r\nAuthorization: Bearer mine"}),
        ("headers", {"Content-Length": "3"}),
        ("extras", ["top_k"]),
    ]
    for name, value in wrong:
        with pytest.raises(UsageError, match=name):
            ModelSettings(**{name: value})  # type: ignore[arg-type]
            pytest.fail(f"{name}={value!r} was taken")


def test_what_is_set_nearer_holds_and_headers_and_extras_are_put_together() -> None:
    agent = ModelSettings(
        temperature=0.2, seed=1, stop="END", headers={"X-Team": "a", "x-b": "b"}, extras={"n": 1, "k": 2}
    )
    run = ModelSettings(temperature=0, parallel_calls=False, headers={"x-team": "c"}, extras={"n": 3})
    both = run.over(agent)
    assert both == ModelSettings(
        temperature=0,
        seed=1,
        stop="END",
        parallel_calls=False,
        headers={"x-team": "c", "x-b": "b"},
        extras={"n": 3, "k": 2},
    )
    assert UNSET.over(agent) is agent
    asked = both.fill(Request(messages=(), temperature=0.9, extras={"n": 4}))
    assert (asked.temperature, asked.seed, asked.stop, asked.extras) == (0.9, 1, ("END",), {"n": 4, "k": 2})
    assert asked.parallel_calls is False


def test_no_value_of_a_header_is_shown_or_recorded() -> None:
    settings = ModelSettings(max_tokens=5, stop=["a", "b"], headers={"X-Key": "open sesame"})
    assert "open sesame" not in repr(settings)
    assert settings.recorded == {"max_tokens": 5, "stop": ["a", "b"]}
    assert msgspec.convert(settings.recorded, ModelSettings) == ModelSettings(max_tokens=5, stop=["a", "b"])
    with pytest.raises(UsageError) as caught:
        ModelSettings(headers={"X-Key": "open\nsesame"})
    assert "sesame" not in str(caught.value)
