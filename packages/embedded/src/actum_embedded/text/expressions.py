"""Arithmetic in a text, in signs or in words, as an expression that a calculator reads: `17乘以23` -> `17*23`.

The text is cut into *pieces*: numbers, operators, brackets, functions, each with what it is written as. A run of
pieces with nothing but space between them that reads as a formula is an expression. Knows nothing of values: it does
not calculate.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from .numerals import FoundNumber, find_numbers


class Expression(NamedTuple):
    """An expression and where it stands.

    Attributes:
        text: as a calculator reads it, without spaces.
        operators: the operations by name (`add`, `multiply`, ...), in order.
        operands: the numbers, in order.
    """

    start: int
    end: int
    text: str
    operators: tuple[str, ...]
    operands: tuple[int | float, ...]


class _Piece(NamedTuple):
    start: int
    end: int
    text: str
    kind: str  # number, operator, open, close, function, postfix
    name: str = ""
    value: int | float = 0


_HAN_NUMBER = r"(?:\d+(?:\.\d+)?|[零一二两三四五六七八九十百千万亿]+)"
_WORDS: list[tuple[str, str, str, str]] = [
    # pattern, text, kind, name
    (r"(?:the\s+)?square\s+root\s+of|√", "sqrt(", "wrap", "square root"),
    (r"(?:the\s+)?cube\s+root\s+of", "cbrt(", "wrap", "root"),
    (r"half\s+of", "0.5*", "prefix", "multiply"),
    (r"的?\s*平方根", ")", "unwrap sqrt(", "square root"),
    (r"的\s*平方(?!根|米|公里)|\bsquared\b", "**2", "postfix", "power"),
    (r"的\s*立方(?!根|米)|\bcubed\b", "**3", "postfix", "power"),
    (r"\bto\s+the\s+power\s+of\b|\*\*|\^", "**", "operator", "power"),
    (r"(?:percent|per\s+cent|[%％])\s*(?:of\b|的)(?:\s+the\b)?", "/100*", "operator", "percent"),
    (r"percent|per\s+cent|[%％](?!\s*[\d(])", "/100", "postfix", "percent"),
    (r"(?:multiplied\s+by|times|乘以|乘上|乘|×|✕|·|\*|(?<=\d)\s*[xX](?=\s*\d))", "*", "operator", "multiply"),
    (r"(?:divided\s+by|除以|÷|//)", "/", "operator", "divide"),
    (r"(?:plus|added\s+to|加上|加|\+|＋)", "+", "operator", "add"),
    (r"(?:minus|减去|减|(?<!\d)[-−–](?=\s)|[-−–])", "-", "operator", "subtract"),
    (r"/", "/", "operator", "divide"),
    (r"[%％]|\bmod(?:ulo)?\b", "%", "operator", "remainder"),
    (r"\b(?:sqrt|sin|cos|tan|log|ln|exp|abs)\s*\(", "", "function", ""),
    (r"[(（]", "(", "open", ""),
    (r"[)）]", ")", "close", ""),
]
_SIGN = re.compile("|".join(f"(?P<r{index}>{row[0]})" for index, row in enumerate(_WORDS)), re.IGNORECASE)
_REVERSED = re.compile(
    rf"({_HAN_NUMBER})\s*的\s*百分之\s*({_HAN_NUMBER})|百分之\s*({_HAN_NUMBER})(\s*的\s*(?={_HAN_NUMBER}))?"
)
_NTH_POWER = re.compile(rf"的\s*({_HAN_NUMBER})\s*次方")
_DISCOUNT = re.compile(r"打?(\d+(?:\.\d+)?|[一二三四五六七八九]{1,2}|对)折(?!扣|叠|断|价)")
_LISTED = re.compile(r"\b(sum|product|total)\s+of\b", re.IGNORECASE)


def find_expressions(text: str, numbers: Sequence[FoundNumber], masked: Sequence[tuple[int, int]]) -> list[Expression]:
    """The expressions of a text.

    Args:
        text: the text.
        numbers: its numbers.
        masked: places that are something else: dates, addresses, codes.
    """
    pieces = _pieces(text, numbers, masked)
    found: list[Expression] = []
    run: list[_Piece] = []
    for piece in pieces:
        between = text[run[-1].end : piece.start].strip() if run else ""
        if between and _goes_on(between, piece):
            run = _enclosed(run, piece)
        elif between:
            found += _read(run)
            run = []
        run.append(piece)
    found += _read(run)
    return found + _listed(text, numbers)


def _goes_on(between: str, piece: _Piece) -> bool:
    """What was said before a piece belongs to it, though there are words between."""
    if piece.kind == "postfix" and piece.name == "multiply":
        return _OF_A_PRICE.fullmatch(between) is not None
    return piece.kind == "operator" and _GOES_ON.fullmatch(between) is not None


_GOES_ON = re.compile("[，,]?(?:然后|接着|之后|以后|完|后|得数|结果)?再|的(?:和|差|积|商)")
_OF_A_PRICE = re.compile(r"(?:块钱?|元)?[^\d零一二三四五六七八九十百千]{0,10}")
"""What stands between a price and what is taken off it: 1299的大衣，打六五折."""

"""What goes on with all that was said before: 三加五，再乘以二."""


def _enclosed(run: list[_Piece], then: _Piece) -> list[_Piece]:
    """The run, in brackets where the operator that follows would bind closer than one in it."""
    if then.text in "+-" or not any(piece.text in "+-" and piece.kind == "operator" for piece in run):
        return run
    start, end = run[0].start, run[-1].end
    return [_Piece(start, start, "(", "open"), *run, _Piece(end, end, ")", "close")]


def _pieces(text: str, numbers: Sequence[FoundNumber], masked: Sequence[tuple[int, int]]) -> list[_Piece]:
    pieces = _percentages(text, numbers)
    covered = bytearray(len(text))

    def cover(start: int, end: int) -> None:
        covered[start:end] = b"\1" * (end - start)

    for start, end in (*masked, *((piece.start, piece.end) for piece in pieces)):
        cover(start, end)
    for match in _NTH_POWER.finditer(text):
        inside = [number for number in numbers if match.start(1) <= number.start < match.end(1)]
        if inside and not any(covered[match.start() : match.end()]):
            pieces.append(_Piece(match.start(), match.end(), f"**{inside[0].value}", "postfix", "power"))
            cover(*match.span())
    for match in _DISCOUNT.finditer(text):
        said = find_numbers(match[1] + "个")[0].value if match[1] != "对" else 5
        pieces.append(_Piece(*match.span(), f"*{_written(said / (10 if said < 10 else 100))}", "postfix", "multiply"))
        cover(*match.span())
    for number in numbers:
        start = number.start + (text[number.start] in "-−" and text[: number.start].rstrip()[-1:].isalnum())
        glued = not number.words and re.search(r"[A-Za-z_]$", text[:start]) is not None
        if not glued and not any(covered[start : number.end]):
            value = abs(number.value) if start > number.start else number.value
            pieces.append(_Piece(start, number.end, _written(value), "number", "", value))
            cover(start, number.end)
    for match in _SIGN.finditer(text):
        if not any(covered[match.start() : match.end()]):
            _, written, kind, name = _WORDS[int((match.lastgroup or "r0")[1:])]
            pieces.append(_Piece(*match.span(), written or match[0].strip().replace(" ", ""), kind, name))
    return sorted(pieces)


def _percentages(text: str, numbers: Sequence[FoundNumber]) -> list[_Piece]:
    """百分之十五 and 80的百分之十五, which say the number after its sign."""
    pieces = []
    for match in _REVERSED.finditer(text):
        values = [
            [n for n in numbers if match.start(g) <= n.start < match.end(g)] if match[g] else [] for g in (1, 2, 3)
        ]
        if values[0] and values[1]:
            whole, part = values[0][0].value, values[1][0].value
            written = f"{_written(whole)}*{_written(part)}/100"
            pieces.append(_Piece(*match.span(), written, "formula", "percent", whole))
        elif values[2]:
            written = f"{_written(values[2][0].value)}/100" + "*" * bool(match[4])
            kind = "prefix" if match[4] else "formula"
            pieces.append(_Piece(*match.span(), written, kind, "percent", values[2][0].value))
    return pieces


def _read(run: list[_Piece]) -> list[Expression]:
    """The run as an expression, after cutting off pieces at its ends that can not belong to one."""
    pieces = list(run)
    while pieces and pieces[0].kind in ("operator", "postfix", "close", "unwrap sqrt("):
        signed = pieces[0].text == "-" and len(pieces) > 1 and pieces[1].kind in ("number", "open", "function")
        if signed:
            break
        pieces.pop(0)
    while pieces and pieces[-1].kind in ("operator", "open", "function", "wrap", "prefix"):
        pieces.pop()
    operators = tuple(piece.name for piece in pieces if piece.name)
    operands = tuple(piece.value for piece in pieces if piece.kind in ("number", "formula"))
    worth = len(operands) > 1 or any(piece.kind not in ("number", "operator", "open", "close") for piece in pieces)
    text = _write(pieces)
    kinds = [piece.kind for piece in pieces]
    broken = any(pair in _APART for pair in pairwise(kinds)) or text.count("(") != text.count(")")
    if not (worth and operands and text.strip("0123456789.")) or broken:
        return []
    return [Expression(pieces[0].start, pieces[-1].end, text, operators, operands)]


_OPEN = ("operator", "open", "wrap", "prefix", "function")
_CLOSED = ("number", "close", "postfix", "formula", "unwrap sqrt(")
_APART = {(left, right) for left in _OPEN for right in ("operator", "postfix", "close", "unwrap sqrt(")}
_APART |= {(left, right) for left in _CLOSED for right in ("number", "open", "wrap", "function", "formula", "prefix")}
_APART |= {("wrap", right) for right in ("wrap", "prefix", "function", "formula")}
"""Kinds of pieces that do not follow one another in a formula."""


def _write(pieces: list[_Piece]) -> str:
    written = ""
    for index, piece in enumerate(pieces):
        if piece.kind == "wrap":
            bracketed = index + 1 < len(pieces) and pieces[index + 1].kind == "open"
            written += piece.text.rstrip("(") if bracketed else piece.text
        elif piece.kind.startswith("unwrap"):
            head = re.search(r"[\d.]+$|\([^()]*\)$", written)
            start = head.start() if head else 0
            written = written[:start] + "sqrt(" + written[start:] + ")"
        else:
            written += piece.text
        if index and pieces[index - 1].kind == "wrap" and piece.kind == "number":
            written += ")"
    return written


def _listed(text: str, numbers: Sequence[FoundNumber]) -> list[Expression]:
    """`the sum of 3, 4 and 5`."""
    found = []
    for match in _LISTED.finditer(text):
        listed: list[FoundNumber] = []
        end = match.end()
        for number in numbers:
            if number.start >= end and re.fullmatch(r"\s*(?:,|and|,\s*and)?\s*", text[end : number.start]):
                listed.append(number)
                end = number.end
        if len(listed) > 1:
            sign, name = ("*", "multiply") if match[1].lower() == "product" else ("+", "add")
            written = sign.join(_written(number.value) for number in listed)
            values = tuple(number.value for number in listed)
            found.append(Expression(match.start(), end, written, (name,), values))
    return found


def _written(value: float) -> str:
    return f"{value:.15g}" if isinstance(value, float) else str(value)
