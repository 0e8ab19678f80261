"""Other arguments for a call that was turned down for the ones it had. One try; what can not be mended is told to the
user.
"""

from __future__ import annotations

import re
from difflib import get_close_matches

from actum.core.call import Failure, Problem
from actum.core.json import Json, JsonObject

from ..text.lexicon import fold, is_han, lexicon
from ..text.numerals import find_numbers
from ..tools.choices import chosen_values
from ..tools.slots import Slot
from ..weighing.ranker import rank
from .arguments import as_object
from .step import Step

_EXPECTED_VALUES = re.compile(r"[\"'“]([^\"'”]+)[\"'”]|\b([\w./-]+)\b")
_NOT_VALUES = frozenset({"one", "of", "or", "a", "an", "in", "all", "expected"})


def repaired(step: Step, arguments: JsonObject, error: Failure) -> JsonObject | None:
    """Arguments to try instead.

    Args:
        step: what the call was made for.
        arguments: what it was made with.
        error: what came back.

    Returns:
        None when there is nothing else to try, or trying again would do no good.
    """
    match error.code:
        case "invalid_arguments":
            changed = _mended(step, arguments, error.problems)
        case "tool_error" if step.indexed.tool.reads_only:
            changed = _renamed(step, arguments)
        case _:
            return None
    return changed if changed != arguments else None


def _mended(step: Step, arguments: JsonObject, problems: tuple[Problem, ...]) -> JsonObject:
    changed = dict(arguments)
    for problem in problems:
        name = problem.path.split("[")[0].split(".")[0]
        slot = next((each for each in step.indexed.slots if each.path == (name,)), None)
        if problem.rule == "additionalProperties":
            changed.pop(name, None)
        elif slot is not None:
            value = _value_instead(slot, changed.get(name), problem, step)
            if value is not None:
                changed[name] = value
    return changed


def _value_instead(slot: Slot, old: Json, problem: Problem, step: Step) -> Json | None:
    if problem.rule in ("enum", "const"):
        return _among(slot, old, problem.expected, step)
    if problem.rule == "type" and old is not None:
        return _converted(old, problem.expected)
    if problem.rule == "pattern" and isinstance(old, str):
        pattern = str(slot.schema.get("pattern") or "")
        variants = (old.upper(), old.lower(), re.sub(r"\s", "", old), re.sub(r"\D", "", old), re.sub(r"[^\w]", "", old))
        return next((variant for variant in variants if variant and _matches(pattern, variant)), None)
    return _second_best(slot, old, step)


def _among(slot: Slot, old: Json, expected: str, step: Step) -> Json | None:
    """The allowed value that is meant, by the words of the question or by likeness to the one that was tried."""
    allowed = list(slot.enum) or [
        quoted or word for quoted, word in _EXPECTED_VALUES.findall(expected) if word not in _NOT_VALUES
    ]
    meant = chosen_values(slot._replace(schema={**slot.schema, "enum": allowed}), frozenset(), step.clause)
    if meant:
        return meant[0][0]
    by_name = {str(value).casefold(): value for value in allowed}
    near = get_close_matches(str(old).casefold(), by_name, n=1, cutoff=0.5)
    return by_name[near[0]] if near else None


def _converted(old: Json, expected: str) -> Json | None:
    if "array" in expected:
        return [old]
    if "integer" in expected or "number" in expected:
        numbers = find_numbers(str(old))
        return numbers[0].value if numbers else None
    return str(old) if "string" in expected and not isinstance(old, dict | list) else None


def _matches(pattern: str, text: str) -> bool:
    try:
        return re.search(pattern, text) is not None
    except re.error:
        return False


def _second_best(slot: Slot, old: Json, step: Step) -> Json | None:
    """Another piece of the clause that fits, if there is one that was not used."""
    ranking = rank(slot, step.indexed, step.clause, [each.span for each in step.arguments])
    return next((each.candidate.value for each in ranking.ranked if each.candidate.value != old), None)


def _renamed(step: Step, arguments: JsonObject) -> JsonObject:
    """The same place by its name in the other language."""
    changed = as_object(step.arguments) | arguments
    for argument in step.arguments:
        if argument.span.kind in ("city", "country") and len(argument.slot.path) == 1:
            other = _other_name(str(argument.value))
            if other:
                changed[argument.slot.name] = other
    return changed


def _other_name(name: str) -> str:
    """`北京` for `Beijing` and the other way round; empty when no other name is known."""
    known = lexicon().names.get(fold(name), ())
    keys = {each.key for each in known if each.kind in ("city", "country")}
    if is_han(name):
        return min(keys, default="")
    return next(
        (word for word, names in lexicon().names.items() if is_han(word) and keys & {each.key for each in names}), ""
    )
