"""Holds JSON answers to the schemas of the document, leniently: what does not fit is told, and nothing is lost."""

from __future__ import annotations

from collections.abc import Sequence

from ...core.errors import BadTool, tell_problem
from ...core.json import Json, JsonObject
from ...protocols.openapi.schema import part_of
from ...protocols.plain_text import plain
from ...schema.schema import Schema, compile_schema

TOLD_MAX = 3
DETAILED_BYTES_MAX = 16 * 1024
WORDS_MAX = 200


class ResultSchemas:
    """The schemas of an API's answers; each is compiled when the first answer of its kind comes.

    Args:
        pool: as `protocols.openapi.reading.result_schemas` gives them.
    """

    def __init__(self, pool: JsonObject) -> None:
        self._pool = pool
        self._known: dict[str, Schema | None] = {}

    def problems(self, tool: str, status: int, value: Json, size: int, *, item: bool = False) -> Sequence[str]:
        """What is wrong with an answer, in a few short lines; nothing where the document does not say what is right.
        Fields that the document does not name are no problem.

        Args:
            tool: the tool that asked.
            status: of the answer.
            value: the answer.
            size: of the answer, in bytes. What is wrong with a long one is not told in detail: an API could make very
                many mistakes in it, and each takes time.
            item: the value is an item of a stream.
        """
        for said in (str(status), f"{status // 100}XX", "DEFAULT"):
            schema = self._schema(f"{tool} {said}{' item' if item else ''}")
            if schema is not None:
                if schema.fits(value):
                    return ()
                if size > DETAILED_BYTES_MAX:
                    return ("something in it does not fit",)
                found = [plain(tell_problem(each))[:WORDS_MAX] for each in schema.problems(value)]
                return [*found[:TOLD_MAX], *(["and more"] if len(found) > TOLD_MAX else [])]
        return ()

    def _schema(self, name: str) -> Schema | None:
        if name not in self._known:
            schema = part_of(self._pool, name)
            try:
                self._known[name] = None if schema is None else compile_schema(schema, where=name, blanks=True)
            except BadTool:
                self._known[name] = None
        return self._known[name]
