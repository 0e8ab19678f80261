"""Birthdays of a few singers."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.applications import Starlette

from actum.core.json import Json

from .serving import lookup_service

BIRTHDAYS = {"周杰伦": "1979-01-18", "邓丽君": "1953-01-29", "王菲": "1969-08-08"}


def singer_service() -> Starlette:
    """`/birthday?singer=...`."""
    return lookup_service(birthday=_birthday)


def _birthday(query: Mapping[str, str]) -> Json:
    singer = query.get("singer", "")
    if singer not in BIRTHDAYS:
        raise LookupError(f"no singer called {singer!r} is known")
    return {"singer": singer, "birthday": BIRTHDAYS[singer]}
