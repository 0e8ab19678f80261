"""Typed answers: the agent's `output_type` as a schema for the model, and the reading of its answer.

`str` needs nothing of this. Every other type is read by pydantic, which is loaded only then.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ..core.json import JsonProblem, dumps, parse
from .turn import Check

if TYPE_CHECKING:
    from typing_extensions import TypeForm

_FENCE = re.compile(r"^\s*```[\w-]*\s*\n(.*?)\n?\s*```\s*$", re.DOTALL)


def plain(text: str) -> tuple[object, str]:
    """The check of an agent that answers in text: the text itself."""
    return text, ""


def typed(output_type: TypeForm[object]) -> tuple[str, Check]:
    """The JSON Schema of a type as text, and the check that reads an answer as that type.

    Args:
        output_type: anything that a pydantic `TypeAdapter` takes: a model, a dataclass, `list[int]`, ...
    """
    from pydantic import TypeAdapter, ValidationError  # noqa: PLC0415  # 0.1 s to load; most answer in text

    adapter: TypeAdapter[object] = TypeAdapter(output_type)

    def check(text: str) -> tuple[object, str]:
        fenced = _FENCE.match(text)
        try:
            value, _ = parse(fenced.group(1) if fenced else text)
            return adapter.validate_json(dumps(value)), ""
        except JsonProblem as problem:
            return None, str(problem)
        except ValidationError as problems:
            return None, "; ".join(f"{_path(item['loc'])}: {item['msg']}" for item in problems.errors()[:8])

    return dumps(adapter.json_schema()), check


def _path(place: tuple[int | str, ...]) -> str:
    return ".".join(map(str, place)) or "answer"
