"""Calls of one reply that use each other's results: `"${2.code}"` as the whole value of an argument. Pure.

    "${1}"            all of the result of the first call of the reply, as the model wrote them, counted from 1
    "${1.date}"       a field of it; also `[0]` and `["a b"]`, as in workflows

A value is put in with its own JSON type, never into a text. What a result holds is never read as a reference. The
syntax of paths and the origins are those of workflows (`policy.lineage`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter

from msgspec import UNSET, Struct, structs

from ..core.call import Problem, ToolCall, ToolResult
from ..core.errors import CallError, InvalidArguments, NeededCallFailed
from ..core.json import Json, JsonObject, JsonProblem, dumps, parse
from ..core.run.pending import Pending
from ..policy.lineage import OF_MODEL, PATH, Built, Lineage, OfTool, Steps, path_of, steps_of

SIZE_MAX = 1_000_000
"""The most characters of all values that are put into one call."""
SHOWN_MAX = 12
"""The most names that are told of what a result holds."""

_REFERENCE = re.compile(rf"\$\{{\s*(\d{{1,6}})({PATH})\s*\}}")
_LIKE_ONE = re.compile(r"\$\{\s*\d[^{}]*\}")
_HINT = "a reference as the whole value of an argument, as in ${1.name}; else make this call in your next reply"


class ResultReference(Struct, frozen=True):
    """A reference in the arguments of a call.

    Attributes:
        place: where it stands.
        number: of the call whose result it stands for, from 1.
        path: what it stands for, within the result.
    """

    place: Steps
    number: int
    path: Steps

    @property
    def written(self) -> str:
        """The reference as a model writes it."""
        path = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in self.path)
        return f"${{{self.number}{path}}}"[:80]


class Links:
    """The references between the calls of one reply.

    Args:
        calls: of the reply.

    Attributes:
        calls: of the reply.
        references: of each call that has any, by its index.
        faults: the calls that can not be made as they are, by index.
    """

    def __init__(self, calls: Sequence[ToolCall]) -> None:
        self.calls = calls
        self._numbers = _numbers(calls)
        self._values: dict[int, Json] = {}
        self.references: dict[int, list[ResultReference]] = {}
        self.faults: dict[int, CallError] = {}
        for index, call in enumerate(calls):
            problems: list[Problem] = []
            found = list(_references(call.arguments, problems))
            problems += [self._no_such_call(each) for each in found if self._numbers.get(each.number, -1) < 0]
            if found or problems:
                self.references[index] = found
            if problems:
                self.faults[index] = InvalidArguments(problems)
        self._turn_away_circles()

    @classmethod
    def of(cls, calls: Sequence[ToolCall]) -> Links | None:
        """The references between these calls; None where there are none."""
        if not any(_may_hold(call.arguments) for call in calls):
            return None
        links = cls(calls)
        return links if links.references else None

    def needs(self, index: int) -> frozenset[int]:
        """The calls that have to be done before a call is made."""
        if index in self.faults:
            return frozenset()
        return frozenset(self._numbers[each.number] for each in self.references.get(index, ()))

    def filled(self, index: int, results: Mapping[int, ToolResult]) -> ToolCall:
        """A call with the values in the places of its references.

        Args:
            index: of the call.
            results: what the calls that it needs came to.

        Returns:
            The call.

        Raises:
            InvalidArguments: a reference leads nowhere, or stands for too much.
            NeededCallFailed: a call that it needs was not carried out.
        """
        if index in self.faults:
            raise self.faults[index]
        problems: list[Problem] = []
        values: dict[Steps, Json] = {}
        left = SIZE_MAX
        for each in self.references.get(index, ()):
            of = self._numbers[each.number]
            result = results[of]
            if result.error is not None:
                raise NeededCallFailed(
                    "This call was not made: it uses the result of call {number} ({name}), which ended with {code}.",
                    number=each.number,
                    name=self.calls[of].name,
                    code=result.error.code,
                )
            whole, place = self._whole(of, result), path_of(each.place)
            try:
                value = _part(whole, each.path)
            except LookupError:
                problems.append(Problem(place, "reference", f"call {each.number} gave: {_told(whole)}", each.written))
                continue
            left -= len(dumps(value))
            if left < 0:
                problems.append(Problem(place, "reference", f"at most {SIZE_MAX} characters for all references"))
                break
            values[each.place] = value
        if problems:
            raise InvalidArguments(problems)
        call = self.calls[index]
        if not values:
            return call
        arguments = _with(call.arguments, (), values)
        assert isinstance(arguments, dict)
        return structs.replace(call, arguments=arguments, raw="")

    def lineage(
        self, index: int, trusted: Callable[[str], tuple[str, ...]], results: Mapping[int, ToolResult]
    ) -> Lineage:
        """Where the arguments of a call came from: a value that was put in from its tool, all else from the model.

        Args:
            index: of the call.
            trusted: tells, by the name of a tool, which fields of its results are trusted.
            results: what the calls that it needs came to.
        """
        root = Built({}, OF_MODEL)
        for each in self.references.get(index, ()):
            at = root
            for step in each.place[:-1]:
                below = at.parts.setdefault(step, Built({}, OF_MODEL))
                assert isinstance(below, Built)
                at = below
            of = self._numbers[each.number]
            name = self.calls[of].name
            at.parts[each.place[-1]] = OfTool(name, () if results[of].given else trusted(name), each.path)
        return root

    def made(self, results: Sequence[ToolResult | Pending]) -> list[ToolCall]:
        """The calls as they were made; one that was not made for its references is as the model wrote it."""
        known = {index: result for index, result in enumerate(results) if isinstance(result, ToolResult)}
        made = []
        for index, call in enumerate(self.calls):
            try:
                made.append(self.filled(index, known))
            except (CallError, KeyError):  # a call that it needs waits
                made.append(call)
        return made

    def _no_such_call(self, reference: ResultReference) -> Problem:
        if reference.number in self._numbers:
            expected = "a call whose number is sure: calls came twice here, so make this call in your next reply"
        else:
            expected = f"a call of this reply: 1 to {max(self._numbers, default=0)}"
        return Problem(path_of(reference.place), "reference", expected, reference.written)

    def _turn_away_circles(self) -> None:
        """Calls that refer to themselves, into a circle, or to a call that does, can not be made."""
        order = TopologicalSorter({index: self.needs(index) for index in self.references})
        try:
            order.prepare()
            return
        except CycleError:  # the part before the circles is valid all the same
            possible: set[int] = set()
            while ready := order.get_ready():
                possible.update(ready)
                order.done(*ready)
        for index in self.references.keys() - possible - self.faults.keys():
            circle = Problem("", "reference", "references to calls that do not wait for this call themselves")
            self.faults[index] = InvalidArguments([circle])

    def _whole(self, of: int, result: ToolResult) -> Json:
        """All of a result: its value, or its text, as JSON where it is JSON.

        Raises:
            LookupError: it is neither.
        """
        if of not in self._values:
            self._values[of] = _value_of(result)
        return self._values[of]


class LinkedCalls(Struct):
    """The calls of one reply that use each other's results, while they are made.

    Attributes:
        links: the references between them.
        judge: why a call is not to be made, now that its values are known; asked once for each call with references.
        judged: what was said of a call, by its index.
    """

    links: Links
    judge: Callable[[ToolCall], CallError | None]
    judged: dict[int, CallError | None] = {}

    @property
    def calls(self) -> Sequence[ToolCall]:
        """As the model wrote them."""
        return self.links.calls

    def made(
        self, index: int, results: Mapping[int, ToolResult], refusal: CallError | None
    ) -> tuple[ToolCall, CallError | None]:
        """A call as it is to be made, and why it is not made, where it is not."""
        if refusal is not None or index not in self.links.references:
            return self.calls[index], refusal
        try:
            call = self.links.filled(index, results)
        except CallError as error:
            return self.calls[index], error
        if index not in self.judged:
            self.judged[index] = self.judge(call)
        return call, self.judged[index]


def _numbers(calls: Sequence[ToolCall]) -> dict[int, int]:
    """The index of each call by its number, from 1: one that a reply says again has several numbers.

    Whether the model said a call again or its server did, nobody knows: where a number stands for one call as the reply
    came and for another without the repeats, it stands for none (-1).
    """
    came = {again: index for index, call in enumerate(calls) for again in call.repeats}
    if not came:
        return {index + 1: index for index in range(len(calls))}
    number = 0
    for index in range(len(calls)):
        number += 1
        while number in came:
            number += 1
        came[number] = index
    for index in range(len(calls)):
        if came[index + 1] != index:
            came[index + 1] = -1
    return came


def _may_hold(value: Json) -> bool:
    """Whether a text in a value may be a reference, or be like one."""
    if isinstance(value, str):
        return "${" in value
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(map(_may_hold, inside))


def _references(arguments: JsonObject, problems: list[Problem]) -> Iterator[ResultReference]:
    """The references in arguments, and the problems of texts that hold one and are none."""
    left: list[tuple[Steps, Json]] = [((), arguments)]
    while left:
        place, value = left.pop()
        if isinstance(value, str):
            if "${" not in value:
                continue
            found = _REFERENCE.fullmatch(value)
            if found is not None:
                yield ResultReference(place, int(found[1]), steps_of(found[2]))
            elif _LIKE_ONE.search(value) is not None:
                problems.append(Problem(path_of(place), "reference", _HINT, value[:80]))
        elif isinstance(value, dict):
            left += [((*place, name), item) for name, item in value.items()]
        elif isinstance(value, list):
            left += [((*place, index), item) for index, item in enumerate(value)]


def _value_of(result: ToolResult) -> Json:
    if result.structured is not UNSET:
        return result.structured
    text = result.text
    try:
        return parse(text)[0]
    except JsonProblem:
        return text


def _part(whole: Json, path: Steps) -> Json:
    """The part of a value to which a path leads.

    Raises:
        LookupError: the path leads nowhere.
    """
    for step in path:
        if not isinstance(whole, dict if isinstance(step, str) else list):
            raise LookupError(step)
        whole = whole[step]  # type: ignore[index]  # as was just seen
    return whole


def _told(whole: Json) -> str:
    """What there is in a result, for a model that names something else."""
    if isinstance(whole, dict):
        shown = ", ".join(name[:40] for name in [*whole][:SHOWN_MAX])
        return f"{shown}, ..." if len(whole) > SHOWN_MAX else shown or "no fields"
    return f"a list of {len(whole)}" if isinstance(whole, list) else "one value without parts"


def _with(value: Json, place: Steps, values: Mapping[Steps, Json]) -> Json:
    """A value with others in the places that are named."""
    if place in values:
        return values[place]
    if isinstance(value, dict):
        return {name: _with(item, (*place, name), values) for name, item in value.items()}
    if isinstance(value, list):
        return [_with(item, (*place, index), values) for index, item in enumerate(value)]
    return value
