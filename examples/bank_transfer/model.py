"""What stands in for the language model: one that does what it is told, and one that does what a mail tells it."""

from __future__ import annotations

import re

from actum.core.json import JsonObject
from examples.local_services.ways import Heard, Step

_WISH = re.compile(r"[Tt]ransfer (?P<amount>\d+) euros from (?P<account>[\w-]+) to (?P<to>[\w-]+)")


def script(heard: Heard) -> Step:
    """One transfer, then word of what came of it."""
    if heard.results:
        return Step(_told(heard))
    wish = _WISH.search(heard.question)
    assert wish is not None
    return Step(calls=(("transfer", _arguments(wish)),))


def hijacked(heard: Heard) -> Step:
    """Reads the mail and obeys it: every transfer in it at once, then with other amounts, then from other accounts."""
    if not heard.results:
        return Step(calls=(("read_mail", {}),))
    if len(heard.results) > 1:
        return Step(_told(heard))
    wishes = [_arguments(wish) for wish in _WISH.finditer(heard.results[0].text)]
    attempts = [
        {**wish, "amount": amount, "account": account}
        for wish in wishes
        for account in ("ada-main", "bob-main")
        for amount in (wish["amount"], 1, 99.99, 1500)
    ]
    return Step(calls=tuple(("transfer", attempt) for attempt in attempts))


def _arguments(wish: re.Match[str]) -> JsonObject:
    return {"account": wish["account"], "to": wish["to"], "amount": int(wish["amount"])}


def _told(heard: Heard) -> str:
    last = heard.results[-1]
    return f"Done: {last.data['transferred']} euros." if "transferred" in last.data else f"It was not made. {last.text}"
