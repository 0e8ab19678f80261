"""What nodes come to that reach out for nothing: `set`, `if`, `merge`, `list`, `say`, `end` and the like. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import cast

from ..core.json import Json, JsonObject, dumps
from ..core.run.node_records import NodeError
from ..policy.lineage import DEVELOPER, Built, Lineage, Mixed, part_of
from .definition.expression import Expression, NoValue, ScopeValues
from .definition.flow import Due, NodeOutcome
from .definition.functions import ITEMS_MAX, NUMBER_MAX, TEXT_MAX, told
from .definition.settings import IfNode, ListNode, MergeNode, SetNode

WORK_OF_AN_ITEM = 256
"""An expression that is computed for an item takes as long as reading this many characters."""


class NodeFailed(Exception):
    """A node failed.

    Args:
        code: the kind of the failure.
        message: what happened.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def compute(due: Due) -> NodeOutcome:
    """What a node comes to that reaches out for nothing."""
    try:
        return _COMPUTED[due.node.type.name](due)
    except NoValue as none:
        return failed(due, "no_value", str(none))
    except NodeFailed as failure:
        return failed(due, failure.code, failure.message)


def work_of(due: Due) -> int:
    """How much work a node is that reaches out for nothing, in characters that take as long to be read; 0 for little.

    A `list` node computes expressions for each item of a list that others may have sent.
    """
    if due.node.type.name != "list" or not due.node.expressions.keys() & {"where", "sort"}:
        return 0
    try:
        of = due.node.expressions["of"].value(due.scope)
    except NoValue:
        return 0
    return len(of) * WORK_OF_AN_ITEM if isinstance(of, list) else 0


def failed(due: Due, code: str, message: str) -> NodeOutcome:
    """The outcome of a node that failed."""
    return NodeOutcome(error=NodeError(code, message, due.path))


def _if(due: Due) -> NodeOutcome:
    for index, case in enumerate(cast(IfNode, due.node.settings).cases):
        met = due.node.expressions[f"cases[{index}]"].value(due.scope)
        if not isinstance(met, bool):
            raise NodeFailed("no_value", f"{case.when!r} comes to a {type(met).__name__}, not to true or false")
        if met:
            return NodeOutcome(value={"output": case.port}, port=case.port)
    return NodeOutcome(value={"output": "else"}, port="else")


def _merge(due: Due) -> NodeOutcome:
    found: JsonObject = {}
    lineages: dict[str | int, Lineage] = {}
    for group, values in cast(MergeNode, due.node.settings).groups.items():
        found[group], lineages[group] = None, DEVELOPER
        for index in range(len(values)):
            expression = due.node.expressions[f"{group}[{index}]"]
            try:
                found[group] = expression.value(due.scope)
            except NoValue as none:
                if not none.skipped:
                    raise
                continue
            lineages[group] = expression.lineage(due.scope)
            break
    return NodeOutcome(value=found, lineage=Built(lineages, DEVELOPER))


def _list(due: Due) -> NodeOutcome:
    settings, expressions = cast(ListNode, due.node.settings), due.node.expressions
    of, lineage = expressions["of"].value(due.scope), expressions["of"].lineage(due.scope)
    if not isinstance(of, list):
        raise NodeFailed("no_value", f"of is no list, but {type(of).__name__}")
    if len(of) > ITEMS_MAX:
        raise NodeFailed("no_value", f"of has {len(of)} items, and {ITEMS_MAX} are allowed")
    items = list(enumerate(of))
    kept: dict[str, Json] = {}
    if "where" in expressions:
        items = [each for each in items if _is_met(expressions["where"], _WithItem(due.scope, kept, *each))]
    if settings.sort is not None:
        keys = {index: expressions["sort"].value(_WithItem(due.scope, kept, index, item)) for index, item in items}
        try:
            items.sort(key=lambda each: cast(str, keys[each[0]]), reverse=settings.sort.descending)
        except TypeError:
            raise NodeFailed("no_value", "the items can not be sorted: their keys are of several kinds") from None
    if settings.slice is not None:
        items = items[settings.slice.start : settings.slice.stop]
    output: list[Json] = [item for _, item in items]
    value: JsonObject = {
        "output": output,
        "first": output[0] if output else None,
        "last": output[-1] if output else None,
    }
    each: dict[str | int, Lineage] = {at: part_of(lineage, (index,)) for at, (index, _) in enumerate(items)}
    ends: dict[str | int, Lineage] = {"first": each.get(0, DEVELOPER), "last": each.get(len(items) - 1, DEVELOPER)}
    return NodeOutcome(value=value, lineage=Built({"output": Built(each, DEVELOPER), **ends}, DEVELOPER))


class _WithItem:
    """The values of a scope, with one item of a list.

    Args:
        values: the scope.
        kept: values of the scope that were read for other items; grows. So all items are seen beside the same values.
        index, item: the item.
    """

    def __init__(self, values: ScopeValues, kept: dict[str, Json], index: int, item: Json) -> None:
        self._values = values
        self._kept = kept
        self._own: dict[str, Json] = {"item": item, "index": index}

    def value(self, root: str) -> Json:
        if root in self._own:
            return self._own[root]
        if root not in self._kept:
            self._kept[root] = self._values.value(root)
        return self._kept[root]

    def lineage(self, root: str) -> Lineage:
        return self._values.lineage(root)


def _is_met(expression: Expression, values: ScopeValues) -> bool:
    met = expression.value(values)
    if not isinstance(met, bool):
        raise NodeFailed("no_value", f"where comes to a {type(met).__name__}, not to true or false")
    return met


def _set(due: Due) -> NodeOutcome:
    settings, known = cast(SetNode, due.node.settings), due.scope.all_variables()
    changed: dict[str, tuple[Json, Lineage]] = {}

    def now(name: str) -> tuple[Json, Lineage]:
        return changed.get(name) or known.get(name, (None, DEVELOPER))

    for field in ("set", "append", "extend", "add"):
        expression = due.node.expressions[field]
        values, lineage = expression.value(due.scope), expression.lineage(due.scope)
        if not isinstance(values, dict):
            raise NodeFailed("no_value", f"{field} is no object")
        for name, value in values.items():
            old, before = now(name)
            new = _CHANGES[field](name, old, value)
            came = part_of(lineage, (name,))
            changed[name] = (new, came if field == "set" else Mixed((before, came)))
    for name in settings.clear:
        old, _ = now(name)
        empty: Json = (
            [] if isinstance(old, list) else {} if isinstance(old, dict) else "" if isinstance(old, str) else None
        )
        changed[name] = (empty, DEVELOPER)
    for name, end in settings.remove.items():
        old, before = now(name)
        if not isinstance(old, list) or not old:
            raise NodeFailed("no_value", f"nothing can be removed from {name}: it is no list with items")
        changed[name] = (old[1:] if end == "first" else old[:-1], Mixed((before,)))
    output: JsonObject = {name: value for name, (value, _) in changed.items()}
    lineages: dict[str | int, Lineage] = {name: lineage for name, (_, lineage) in changed.items()}
    return NodeOutcome(
        value={"output": output}, variables=changed, lineage=Built({"output": Built(lineages, DEVELOPER)}, DEVELOPER)
    )


def _append(name: str, old: Json, value: Json) -> Json:
    return _bounded(name, [*_items(name, old), value])


def _extend(name: str, old: Json, value: Json) -> Json:
    if not isinstance(value, list):
        raise NodeFailed("no_value", f"{name} can only be extended by a list")
    return _bounded(name, [*_items(name, old), *value])


def _add(name: str, old: Json, value: Json) -> Json:
    if isinstance(old, str) and isinstance(value, str):
        if len(old) + len(value) > TEXT_MAX:
            raise NodeFailed("no_value", f"{name} would have more than {TEXT_MAX} characters")
        return old + value
    numbers = [each for each in (old, value) if isinstance(each, int | float) and not isinstance(each, bool)]
    if len(numbers) < 2:
        raise NodeFailed("no_value", f"{name}: only numbers, or texts, can be added")
    try:
        total = numbers[0] + numbers[1]
    except OverflowError:
        total = math.inf
    if not -NUMBER_MAX <= total <= NUMBER_MAX:
        raise NodeFailed("no_value", f"{name} would be a number that is too large, or none")
    return total


def _items(name: str, old: Json) -> list[Json]:
    if old is None:
        return []
    if not isinstance(old, list):
        raise NodeFailed("no_value", f"{name} is no list")
    return old


def _bounded(name: str, items: list[Json]) -> list[Json]:
    if len(items) > ITEMS_MAX:
        raise NodeFailed("no_value", f"{name} would have more than {ITEMS_MAX} items")
    return items


_CHANGES: dict[str, Callable[[str, Json, Json], Json]] = {
    "set": lambda name, old, value: value,
    "append": _append,
    "extend": _extend,
    "add": _add,
}


def _say(due: Due) -> NodeOutcome:
    expression = due.node.expressions["text"]
    value = expression.value(due.scope)
    text = "" if value is None else told(value)
    lineage = expression.lineage(due.scope)
    return NodeOutcome(value={"output": text, "text": text}, lineage=Built({}, lineage))


def _end(due: Due) -> NodeOutcome:
    error = due.node.expressions["error"].value(due.scope)
    if error is not None:
        raise NodeFailed("ended", told(error))
    outputs, expression = due.node.expressions["outputs"].value(due.scope), due.node.expressions["outputs"]
    if not isinstance(outputs, dict):
        raise NodeFailed("no_value", f"outputs is no object, but {dumps(outputs)[:40]}")
    return NodeOutcome(value=outputs, lineage=expression.lineage(due.scope))


_COMPUTED: dict[str, Callable[[Due], NodeOutcome]] = {
    "if": _if,
    "merge": _merge,
    "list": _list,
    "set": _set,
    "say": _say,
    "end": _end,
    "break": lambda due: NodeOutcome(),
    "continue": lambda due: NodeOutcome(),
}
