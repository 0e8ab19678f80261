"""What a program gives an agent, looked at before the agent is made: a mistake is told by the name of the argument.

A type checker finds the same; many programs have none. The model, the tools and the settings say themselves what they
are not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from inspect import iscoroutinefunction
from pathlib import Path
from typing import NamedTuple

from ..call.limits.limits import Limits
from ..core.budget import Price
from ..core.errors import UsageError
from ..core.secrets.redaction import Redaction


class _Argument(NamedTuple):
    """What an argument has to be.

    Attributes:
        fits: whether a value is that; None is not asked about.
        example: how it is written.
    """

    fits: Callable[[object], bool]
    example: str


def _is(*kinds: type) -> Callable[[object], bool]:
    return lambda value: isinstance(value, kinds)


def _has(*methods: str) -> Callable[[object], bool]:
    return lambda value: all(callable(getattr(value, method, None)) for method in methods)


def _either(*rules: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda value: any(rule(value) for rule in rules)


def _is_plain_function(value: object) -> bool:
    return callable(value) and not iscoroutinefunction(value)


_ARGUMENTS = {
    "instructions": _Argument(_either(_is(str), callable), "a text, or a function that returns one"),
    "name": _Argument(_is(str), "a text"),
    "policy": _Argument(_has("decide"), 'Rules(Rule("ask", "pay")), or PolicyFile("policy.toml")'),
    "limits": _Argument(_is(Limits), "Limits(steps=20)"),
    "prices": _Argument(_is(Mapping), '{"openai:gpt-5": Price(input=1, output=8)}'),
    "journal": _Argument(_either(_is(str, Path), _has("append", "read")), '"runs.db"'),
    "approver": _Argument(_has("ask"), "an object with a method `ask`"),
    "dialect": _Argument(_either(_is(str), _has("encode_request", "decode")), '"auto", or dialect("react", plan=True)'),
    "extra_arguments": _Argument(lambda value: value in ("refuse", "drop"), '"refuse" or "drop"'),
    "secrets": _Argument(_either(_is(Mapping), _has("of")), "os.environ"),
    "redaction": _Argument(_is(Redaction), "Redaction(...)"),
    "clock": _Argument(_has("now", "sleep"), "an object with the methods `now` and `sleep`"),
    "truncation": _Argument(lambda value: value in ("auto", "disabled"), '"auto" or "disabled"'),
    "references": _Argument(_is(bool), "True or False"),
    "check": _Argument(_is_plain_function, "a function of one `Answered` that returns text, and is not async"),
    "tries": _Argument(lambda value: type(value) is int and value >= 1, "a whole number from 1 on"),
    "always": _Argument(lambda value: isinstance(value, Sequence) and not isinstance(value, str), '["search"]'),
}
_NEVER_NONE = frozenset(
    {"instructions", "name", "dialect", "extra_arguments", "redaction", "truncation", "references", "tries", "always"}
)


def check_arguments(given: Mapping[str, object]) -> None:
    """Refuse what can not be meant.

    Args:
        given: the arguments by their names; others may stand beside them.

    Raises:
        UsageError: an argument is none of its kind.

    >>> check_arguments({"limits": Limits(steps=3), "journal": "runs.db"})
    """
    for name, argument in _ARGUMENTS.items():
        value = given.get(name)
        is_left_out = name not in given or (value is None and name not in _NEVER_NONE)
        if not is_left_out and not argument.fits(value):
            raise UsageError(
                "{argument}=: give {example}; this is {kind}",
                argument=name,
                example=argument.example,
                kind="None" if value is None else type(value).__name__,
            )


def check_prices(limits: Limits, model: str, prices: Mapping[str, Price]) -> None:
    """Refuse a limit to the cost of a model without a price.

    Raises:
        UsageError: there is such a limit, and no price of the model.
    """
    if (limits.cost is not None or limits.users.cost_per_day is not None) and model not in prices:
        raise UsageError(
            "there is a limit to the cost, and no price of {model!r}: Agent(prices={{{model!r}: "
            "Price(input=..., output=...)}})",
            model=model,
        )
