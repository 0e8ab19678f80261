"""Questions that tell of several things one after the other, each of which is a call: "There are two tanks. The first
has a length of 3 m and a width of 2 m, the second ...".
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from actum.core.json import JsonObject

from .corpus import FRAGMENTS, Asked, Maker, Parameter, Sketch, is_chinese

_COUNTS = ("two", "three", "four")
_ORDINALS = ("first", "second", "third", "fourth")
_THINGS = ("case", "one", "example", "option", "item", "object")
_TOLD = (
    "{head} for {count} {things}. {all}.",
    "There are {count} {things}. {all}. {head} for each of them.",
    "{head}. {all}.",
    "I have {count} {things}: {all}. {head} for both.",
    "{head} for {count} {things}: {all}.",
    "{all}. {head} for all of them.",
)
_HAS = ("The {nth} {thing} has {said}", "the {nth} with {said}", "the {nth} {thing} is {said}", "for the {nth}, {said}")
_OTHERS = ("one with {said}", "the other with {said}", "another one with {said}")
_AGAIN = (
    "{head} {said}. Do the same with {again}.",
    "{head} {said}, and then {again}.",
    "{head} {said}, and then again {again}.",
    "{head} {said}. What if it was {again}?",
    "{head} {said}; then {again}.",
    "{head} {said}. Also do that {again}.",
)


def story(maker: Maker, sketch: Sketch) -> Asked | None:
    """A question for several calls of one tool, each told by itself; None where the tool does not lend itself to it."""
    told = [each for each in sketch.told if not is_chinese(each)]
    said = [
        each for each in sketch.parameters if (each.pools or each.enum) and each.type in ("str", "int", "num", "enum")
    ]
    must = [each for each in said if each.required]
    if not told or not must or any(each.required and each not in said for each in sketch.parameters):
        return None
    chance = maker.chance
    optional = [each for each in said if not each.required]
    own = [*must, *chance.sample(optional, min(len(optional), chance.choice((0, 0, 1))))]
    shared = [each for each in own if len(own) > 1 and chance.random() < 0.25][: len(own) - 1]
    own = [each for each in own if each not in shared]
    tool, names = maker.tool(sketch, " ".join(f"{{{each.names[0]}}}" for each in [*own, *shared]))
    head = chance.choice(told).rstrip(".")
    common, always = _said(maker, shared, names)
    head = " ".join([head, *always])
    count = chance.choice((2, 2, 3, 4))
    if chance.random() < 0.35:
        first, pieces = _said(maker, own, names)
        changed = chance.sample(own, chance.randint(1, len(own)))
        second, others = _said(maker, [each for each in own if each in changed], names)
        question = chance.choice(_AGAIN).format(head=head, said=" and ".join(pieces), again=" and ".join(others))
        return Asked(question, (tool,), ((tool.name, common | first), (tool.name, common | first | second)))
    calls = [_said(maker, own, names) for _ in range(count)]
    thing = chance.choice(_THINGS)
    forms = _OTHERS if count == 2 and chance.random() < 0.3 else (chance.choice(_HAS),) * count
    parts = [
        form.format(nth=_ORDINALS[n], thing=thing, said=" and ".join(_bare(each) for each in pieces))
        for n, (form, (_, pieces)) in enumerate(zip(forms, calls, strict=False))
    ]
    all_ = chance.choice((". ", ", ", "; ", ", and ")).join(parts)
    form = chance.choice(_TOLD) if count == 2 else chance.choice(_TOLD).replace("for both", "for each")
    question = form.format(
        head=head,
        count=chance.choice((_COUNTS[count - 2], _COUNTS[count - 2], str(count))),
        things=f"{thing}s",
        all=all_,
    )
    return Asked(question, (tool,), tuple((tool.name, common | arguments) for arguments, _ in calls))


def _said(maker: Maker, parameters: Sequence[Parameter], names: dict[str, str]) -> tuple[JsonObject, list[str]]:
    """Values for these, and the words by which they are said."""
    arguments: JsonObject = {}
    pieces: list[str] = []
    for each in parameters:
        words, value = maker.value(each, "")
        arguments[names[each.names[0]]] = value
        name = re.sub(r"(?<=[a-z])(?=[A-Z])|[_.]", " ", names[each.names[0]]).lower().strip()
        pieces.append(maker.chance.choice(FRAGMENTS).format(name=name, value=words))
    return arguments, pieces


def _bare(piece: str) -> str:
    """`a radius of 5`, without the small word that joins it to what stands before."""
    return re.sub(r"^(?:with|given|for|using|whose|where|at|in) ", "", piece)
