"""What may be copied into arguments: pieces of texts, as a part of a grammar. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ...core.json import JsonObject, dumps
from .lark import Lark, either, pattern, quoted

_TRIMMED = pattern(r"(?s:\S(.*\S)?)")
_CHUNK = re.compile(r"[^\W\u0e00-\u0eff\u1000-\u109f\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+|.", re.DOTALL)
_WORDS_TRIED = 8


class Copies:
    """What may be copied: pieces of some texts, whole words at a time, each piece out of one text.

    Letters of scripts that are written without blanks count as words of their own.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = [_CHUNK.findall(text) for text in dict.fromkeys(texts) if text.strip()]

    def has(self, schema: JsonObject) -> bool:
        """A copy of a few words fits the length and the pattern of a schema."""
        least, most = schema.get("minLength"), schema.get("maxLength")
        try:
            regex = re.compile(str(schema.get("pattern", "")))
        except re.error:
            return False
        pieces = (
            "".join(chunks[start:end])
            for chunks in self._texts
            for start in range(len(chunks))
            for end in range(start + 1, min(len(chunks), start + _WORDS_TRIED) + 1)
        )
        return any(
            piece == piece.strip()
            and dumps(piece)[1:-1] == piece
            and not (isinstance(least, int) and len(piece) < least)
            and not (isinstance(most, int) and len(piece) > most)
            and regex.search(piece)
            for piece in pieces
        )

    def body(self, lark: Lark, *, quote: bool) -> str:
        """A copy as the body of a terminal, neither empty nor with blanks around it; `quote`: as inside of JSON.

        Where there is no text at all, it is empty.
        """
        parts = []
        for chunks in self._texts:
            written = [dumps(chunk)[1:-1] for chunk in chunks] if quote else chunks
            parts.append(lark.terminal(f"%regex {dumps({'substring_chunks': written})}"))
        return f"({either(parts)} & {_TRIMMED})" if parts else quoted("")
