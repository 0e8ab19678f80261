"""What a client is told of a definition in which something is wrong."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ....core.call import Problem
from ....core.definition import BadText, NameTaken, OperatorOnly, TextProblem, UnderstatedEffects
from ....core.errors import UnknownName, UsageError
from ....core.language.sentence import Sentence
from ....core.language.translation import Language, in_language
from ....core.stored.definitions import CanaryInUse, StaleDraft
from ....features.operation import ApiRequest
from ....features.refusal import Refusal, not_found
from .bodies import DefinitionProblem


@contextmanager
def refusing(asked: ApiRequest[Any, Any], missing: str = "publication") -> Iterator[None]:
    """A block whose errors a client is told as refusals. The operator is told the errors themselves.

    Raises:
        Refusal: something is wrong with the text, or it is not the one that the caller knows.
    """
    try:
        yield
    except (BadText, CanaryInUse, NameTaken, StaleDraft, UnknownName) as error:
        if asked.by_operator:
            raise
        raise _refusal(error, missing) from None


def _refusal(error: UsageError, missing: str) -> Refusal:
    match error:
        case BadText():
            return bad_definition(error)
        case NameTaken():
            return Refusal(409, "name_taken", error)
        case CanaryInUse():
            return Refusal(409, "in_use", error)
        case StaleDraft():
            now = error.current.text if error.current is not None else ""
            return Refusal(409, "stale", error, current=now, text=error.text or "")
        case _:
            return not_found(missing)


def bad_definition(bad: BadText) -> Refusal:
    """The refusal of a definition in which something is wrong."""
    problems = tuple(
        Problem(f"line {each.line}, column {each.column}", "definition", str(each.message)) for each in bad.problems
    )
    code = "effects" if isinstance(bad, UnderstatedEffects) else "definition"
    code = "operator_only" if isinstance(bad, OperatorOnly) else code
    told = [each.message for each in bad.problems]
    words = "Something is wrong with the definition: {why}."
    return Refusal(422, code, words, problems=problems, told=told, why=bad.problems[0])


def told_remarks(remarks: Sequence[Sentence | str], language: Language) -> tuple[str, ...]:
    """What a publisher should know, though nothing is wrong.

    Args:
        remarks: of `ReadDefinition`.
        language: of the person who reads it.
    """
    return tuple(in_language(each, language, "message") for each in remarks)


def told_problems(problems: Sequence[TextProblem], language: Language) -> tuple[DefinitionProblem, ...]:
    """What is wrong with a definition, as a client is told of it.

    Args:
        problems: each thing that is wrong.
        language: of the person who reads it.
    """
    return tuple(
        DefinitionProblem(
            message=in_language(each.message, language, "message"),
            line=each.line,
            column=each.column,
            hint=in_language(each.hint, language, "hint"),
            place=each.path,
        )
        for each in problems
    )
