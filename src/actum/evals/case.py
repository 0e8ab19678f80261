"""`Case`: a question, and what is right to do about it; and the reading of files of cases. Pure, but for the file.

A file of cases is JSON lines, a case a line, or CSV with the columns `id,input,expected,tags`.
"""

from __future__ import annotations

import csv
import hashlib
import io
import unicodedata
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from ..core.errors import UsageError
from ..core.json import Json, JsonObject
from ..core.message import Message, UserMessage
from ..core.process.named_file import open_named
from ..dialects.transcode.messages import read_messages
from .pattern import check_pattern, check_patterns

CASE_BYTES_MAX = 60_000
"""The longest case, as JSON: an experiment holds its cases as records of a feature."""
CASES_MAX = 100_000
FILE_BYTES_MAX = 512 * 1024 * 1024
CSV_COLUMNS = ("id", "input", "expected", "tags")
CaseId = Annotated[str, Meta(min_length=1, max_length=200)]
Split = Literal["train", "held_out"]


class CaseCall(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A call that the model is to ask for.

    Attributes:
        name: of the tool.
        arguments: a value may be `{"$any": [...]}`, `{"$matches": "..."}` or `{"$anything": true}`. What has a default
            in the schema of the tool may be left out.
    """

    name: str
    arguments: JsonObject = {}


class CaseText(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What the text of an answer is to be.

    Attributes:
        equals: the whole text, without white space around it.
        contains: a text, or several texts that are all there; upper and lower case are the same.
        matches: a pattern that is found in the text. Matching is linear; a pattern looks neither ahead nor back.
        number: a number that the text says.
        within: how far the number may be away.
    """

    equals: str | None = None
    contains: str | tuple[str, ...] | None = None
    matches: str | None = None
    number: float | None = None
    within: float = 0.0


class Expected(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What is right. All that is said must hold.

    Attributes:
        calls: the model asked for these calls, carried out or not, and for no others, in any order.
        order: the calls came in this order.
        others: `read`: further calls that only read are no fault.
        no_calls: no tool was called.
        text: about the text of the answer.
        output: the typed output is equal to this JSON.
        status: how the run ended.
    """

    calls: tuple[CaseCall, ...] | None = None
    order: bool = False
    others: Literal["none", "read"] = "none"
    no_calls: bool = False
    text: CaseText | None = None
    output: Json | UnsetType = UNSET
    status: Literal["done", "paused", "stopped"] | None = None

    @property
    def says_nothing(self) -> bool:
        """Whether anything at all can be right."""
        nothing = self.calls is None and self.text is None and self.status is None and self.output is UNSET
        return nothing and not self.no_calls


class Case(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A question, and what is right to do about it.

    Attributes:
        id: names the case within its set.
        input: what the user says; or a conversation, as `read_messages` reads it, that ends with the user's words.
        expected: what is right.
        results: what a tool answers instead of being executed, by the name of the tool: the result of every call, or a
            list of `{"arguments": ..., "result": ...}` for some calls.
        tags: by which results are told apart.
        must: a gate fails where this case is not right in all tries.
    """

    id: CaseId
    input: str | tuple[JsonObject, ...]
    expected: Expected = Expected()
    results: dict[str, Json] = {}
    tags: tuple[str, ...] = ()
    must: bool = False

    @property
    def messages(self) -> Sequence[Message]:
        """The conversation, with the question at its end.

        Raises:
            UsageError: it is no conversation, or does not end with words of the user.
        """
        if isinstance(self.input, str):
            return [UserMessage.of(self.input)]
        found = read_messages(list(self.input), "openai")
        if not found or not isinstance(found[-1], UserMessage):
            raise UsageError("input: a conversation ends with what the user says")
        return found

    @property
    def question(self) -> str:
        """What the user says last."""
        return self.input if isinstance(self.input, str) else self.messages[-1].text  # type: ignore[union-attr]

    @property
    def split(self) -> Split:
        """`held_out` for a fifth of all questions, by a hash of the question: the same question is always on one
        side.
        """
        words = " ".join(unicodedata.normalize("NFKC", self.question).casefold().split())
        first = hashlib.sha256(words.encode("utf-8", "replace")).digest()[0:8]
        return "held_out" if int.from_bytes(first) % 5 == 0 else "train"

    @property
    def digest(self) -> str:
        """Of all that the case says, SHA-256 as hexadecimal digits."""
        return hashlib.sha256(msgspec.json.encode(self, order="sorted")).hexdigest()


def digest_of_cases(cases: Sequence[Case]) -> str:
    """Of a set of cases: the order of the cases counts for nothing."""
    return hashlib.sha256("".join(sorted(case.digest for case in cases)).encode()).hexdigest()


def read_cases(path: Path) -> list[Case]:
    """The cases of a file.

    Args:
        path: JSON lines, or CSV where the name ends with `.csv`.

    Raises:
        UsageError: the file can not be read, or a case is none; the sentence begins with the file and the line.
    """
    try:
        if path.stat().st_size > FILE_BYTES_MAX:
            raise UsageError("{path}: a file of cases has at most {most} bytes", path=path, most=FILE_BYTES_MAX)
        with open_named(path) as file:
            rows = list(_csv(path, file.read()) if path.suffix == ".csv" else _lines(path, file))
    except OSError as error:
        raise UsageError("{path} can not be read: {why}", path=path, why=error.strerror or error) from None
    seen: dict[str, int] = {}
    for line, case in rows:
        if case.id in seen:
            first = seen[case.id]
            raise UsageError(
                "{path}:{line}: the id {id!r} is that of line {first}", path=path, line=line, id=case.id, first=first
            )
        seen[case.id] = line
    if len(rows) > CASES_MAX:
        raise UsageError("{path}: at most {most} cases", path=path, most=CASES_MAX)
    return [case for _, case in rows]


def _lines(path: Path, file: io.BufferedReader) -> Iterator[tuple[int, Case]]:
    number = 0
    while line := file.readline(CASE_BYTES_MAX + 1):
        number += 1
        if len(line) > CASE_BYTES_MAX and not line.endswith(b"\n"):
            raise UsageError(
                "{path}:{line}: a case has at most {most} bytes", path=path, line=number, most=CASE_BYTES_MAX
            )
        if line.strip():
            yield number, read_case(line, f"{path}:{number}")


def read_case(text: bytes, where: str) -> Case:
    """A case as JSON.

    Args:
        text: the JSON.
        where: begins the sentence of an error, such as `desk.jsonl:3`.

    Raises:
        UsageError: it is none.
    """
    try:
        case = msgspec.json.decode(text, type=Case)
        _ = case.messages
        _check(case.expected)
        check_patterns(case.results, "results")
    except (msgspec.MsgspecError, ValueError) as error:  # UsageError among them
        raise UsageError("{where}: {why}", where=where, why=error) from None
    except RecursionError:
        raise UsageError("{where}: {why}", where=where, why="nested too deeply") from None
    return case


def _check(expected: Expected) -> None:
    """Refuse what can not be meant.

    Raises:
        UsageError: it begins with the field.
    """
    for at, call in enumerate(expected.calls or ()):
        check_patterns(call.arguments, f"expected.calls[{at}].arguments")
    if expected.no_calls and expected.calls:
        raise UsageError("expected: give calls or no_calls")
    if expected.text is not None and expected.text.matches is not None:
        check_pattern(expected.text.matches, "expected.text.matches")


def _csv(path: Path, content: bytes) -> Iterator[tuple[int, Case]]:
    try:
        rows = csv.DictReader(io.StringIO(content.decode("utf-8-sig"), newline=""), strict=True)
        if tuple(rows.fieldnames or ()) != CSV_COLUMNS:
            raise UsageError("{path}:1: the columns are {columns}", path=path, columns=",".join(CSV_COLUMNS))
        for row in rows:
            if None in row or None in row.values():
                raise UsageError(
                    "{path}:{line}: a line has {count} values", path=path, line=rows.line_num, count=len(CSV_COLUMNS)
                )
            expected: JsonObject = {"text": {"contains": row["expected"]}} if row["expected"] else {}
            tags = [tag for tag in row["tags"].replace(";", " ").split() if tag]
            case: JsonObject = {"id": row["id"], "input": row["input"], "expected": expected, "tags": [*tags]}
            yield rows.line_num, read_case(msgspec.json.encode(case), f"{path}:{rows.line_num}")
    except (UnicodeDecodeError, csv.Error) as error:
        raise UsageError("{where}: {why}", where=path, why=error) from None
