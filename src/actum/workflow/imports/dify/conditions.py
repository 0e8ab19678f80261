"""The conditions of a Dify file, as CEL with the loose comparisons of `workflow/definition/loose.py`."""

from __future__ import annotations

from ....core.json import Json
from ...definition.expression import SOURCE_MAX
from ..ref import Ref, cel_literal
from ..report import FieldReader
from .references import Place, References

OPERATORS: dict[str, str] = {
    "contains": "loose_contains",
    "not contains": "loose_not_contains",
    "start with": "loose_starts_with",
    "end with": "loose_ends_with",
    "is": "loose_is",
    "is not": "loose_is_not",
    "empty": "loose_empty",
    "not empty": "loose_not_empty",
    "in": "loose_in",
    "not in": "loose_not_in",
    "all of": "loose_all_of",
    "=": "loose_equal",
    "≠": "loose_not_equal",
    ">": "loose_greater",
    "<": "loose_less",
    "≥": "loose_at_least",
    "≤": "loose_at_most",
    "null": "loose_null",
    "not null": "loose_not_null",
    "exists": "loose_not_null",
    "not exists": "loose_null",
}
"""Our functions by the operators of Dify."""

_ALONE = frozenset({"empty", "not empty", "null", "not null", "exists", "not exists"})
_NEVER = "false"


def joined(conditions: list[FieldReader], operator: str, references: References, place: Place) -> str:
    """Several conditions as one in CEL. No condition at all is true with `and`, and false with `or`, as in Dify."""
    parts = [_condition(each, references, place) for each in conditions]
    if not parts:
        return "false" if operator == "or" else "true"
    text = (" || " if operator == "or" else " && ").join(parts)
    if len(text) > SOURCE_MAX:
        conditions[0].lost("", f"the conditions together have more than {SOURCE_MAX} characters")
        return _NEVER
    return text


def _condition(condition: FieldReader, references: References, place: Place) -> str:
    condition.editor_only("id", "varType", "key", "variable_type")
    selector = condition.texts("variable_selector")
    operator = condition.text("comparison_operator")
    function = OPERATORS.get(operator)
    value = condition.raw("value")
    for field in ("sub_variable_condition", "numberVarType"):
        if condition.raw(field) not in (None, "", "constant", "variable"):
            condition.lost(field, "conditions on the attributes of files are not there")
            return _NEVER
    if function is None:
        condition.lost("comparison_operator", f"there is no operator {operator[:40]!r}")
        return _NEVER
    found = references.find(selector, place)
    if found is None or found.secret:
        condition.lost("variable_selector", f"{'.'.join(selector)[:80] or 'nothing'} is not there, or not upstream")
        return _NEVER
    condition.near("comparison_operator", f"{operator} is the function {function}, which compares as Dify does")
    shown = found.in_cel()
    if operator in _ALONE:
        return f"{function}({shown})"
    return f"{function}({shown}, {expected(value, references, place, condition, 'value')})"


def expected(value: Json, references: References, place: Place, reader: FieldReader, field: str) -> str:
    """What a condition compares with, in CEL: a text with references, a list, or a constant."""
    if not isinstance(value, str):
        return cel_literal(value)
    parts = references.parts(value, place, reader, field)
    written: list[str] = []
    for part in parts:
        if isinstance(part, str):
            written.append(cel_literal(part))
        elif part.secret:
            references.of_ref(part, reader, field)
        else:
            written.append(part_in_cel(part))
    return " + ".join(written) or '""'


def part_in_cel(part: Ref) -> str:
    """A reference as text in CEL."""
    return part.in_cel() if part.type == "string" and not part.optional else f"loose_text({part.in_cel()})"
