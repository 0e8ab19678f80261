"""Questions made from patterns, each with the tool that it is about and the arguments that are right.

The files of `sketches` hold tools that were thought up for this, with patterns of questions in English (`en_*`) and
Chinese (`zh_*`), and `pools.txt` what is put into them; a file may have pools of its own. A tool comes out under one of
several names, with some of its optional parameters and in another order, so that what is learned is how a question goes
with a schema and not this schema. Everything follows from the seed.
"""

from __future__ import annotations

import json
import random
import re
from itertools import product
from pathlib import Path
from typing import NamedTuple

from actum.core.json import Json, JsonObject
from actum.core.tool import Tool

from .amounts import MADE, NUMBERS, Made

HERE = Path(__file__).parent / "sketches"
_PARAMETER = re.compile(
    r"(?P<names>[^\s!:]+)(?P<must>!)?:"
    r"(?P<type>\w+)(?:\((?P<enum>[^)]*)\))?(?:\s+@(?P<pools>[\w,]+))?\s*(?:\"(?P<told>.*)\")?$"
)
_PLACE = re.compile(r"\{(\w+)(?:\|(\w+))?(?::([^}=]+))?(?:=([^}]*))?\}")
_LEFT_OUT = re.compile(
    r"\s(?:(?:in|for|at|on|to|from|of|with|by|about|near|is|called|named|under|like) )?\{\w+(?:\|\w+)?(?::[^}]+)?\}"
    r"(?=[.?!,]|$)"
    r"|(?<=[帮我查一下看订买的在给])\{\w+\}(?=[的在到去发转飞]|$)"
)
_TYPES = {"str": "string", "int": "integer", "num": "number", "bool": "boolean", "enum": "string"}


class Asked(NamedTuple):
    """A question, the tools on offer, and the calls that are right; the sketch that it was made of, and for how many
    questions it counts.
    """

    question: str
    tools: tuple[Tool, ...]
    calls: tuple[tuple[str, JsonObject], ...]
    about: str = ""
    times: int = 1


class Parameter(NamedTuple):
    """A parameter of a tool that was thought up: its names, the first of which the patterns use."""

    names: tuple[str, ...]
    required: bool
    type: str
    enum: tuple[str, ...]
    pools: tuple[str, ...]
    told: tuple[str, ...]


class Sketch(NamedTuple):
    """A tool that was thought up, and how people ask for it."""

    names: tuple[str, ...]
    told: tuple[str, ...]
    parameters: tuple[Parameter, ...]
    patterns: tuple[str, ...]


def sketches(file: Path) -> list[Sketch]:
    """The tools of a file."""
    found: list[Sketch] = []
    for line in file.read_text("utf-8").splitlines():
        if line.startswith("== "):
            names, _, told = line[3:].partition(" | ")
            found.append(Sketch(tuple(names.split("/")), tuple(told.split(" / ")), (), ()))
        elif line.startswith("> "):
            found[-1] = found[-1]._replace(patterns=(*found[-1].patterns, line[2:]))
        elif line and not line.startswith(("#", _POOL)):
            found[-1] = found[-1]._replace(parameters=(*found[-1].parameters, _parameter(line)))
    return found


def _parameter(line: str) -> Parameter:
    match = _PARAMETER.match(line)
    assert match, line
    return Parameter(
        tuple(match["names"].rstrip("_").split("/")),
        bool(match["must"]),
        match["type"],
        tuple(match["enum"].split(",")) if match["enum"] else (),
        tuple(match["pools"].split(",")) if match["pools"] else (),
        tuple((match["told"] or "").split(" / ")),
    )


_POOL = "pool "


def pools(*files: Path) -> dict[str, list[tuple[str, str]]]:
    """What can be put in, by kind: as it is said, and what it means.

    Args:
        files: whose own pools count as well.
    """
    found: dict[str, list[tuple[str, str]]] = {}
    lines = (HERE / "pools.txt").read_text("utf-8").splitlines()
    for file in files:
        lines += [line.removeprefix(_POOL) for line in file.read_text("utf-8").splitlines() if line.startswith(_POOL)]
    for line in lines:
        name, _, values = line.partition(": ")
        if not line.startswith("#") and values and not values.startswith("="):
            pairs = [value.split(" => ") for value in values.split(" | ")]
            found[name] = [(pair[0], pair[-1]) for pair in pairs]
    return found


class Maker:
    """Makes questions.

    Args:
        seed: where chance begins.
        file: of the tools that the questions are about.
    """

    def __init__(self, seed: int, file: Path) -> None:
        self.chance = random.Random(seed)
        self.pools = pools(file)

    def ask(self, sketch: Sketch, pattern: str) -> Asked:
        """One question for one call."""
        tool, names = self.tool(sketch, pattern)
        question, arguments = self.question(sketch, pattern, names)
        return Asked(question, (tool,), ((tool.name, arguments),))

    def ask_several(self, sketch: Sketch, pattern: str) -> Asked | None:
        """One question for several calls of one tool; None where the pattern does not lend itself to it."""
        way = self.chance.choice((self._in_a_row, self._in_a_row, self._respectively, self._tails, self._twice))
        return way(sketch, pattern)

    def ask_lacking(self, sketch: Sketch, pattern: str) -> Asked | None:
        """A question that leaves something out: "What is the weather?"; None where that would read badly."""
        places = [match for match in _LEFT_OUT.finditer(pattern) if not match[0].endswith("name}")]
        if not places:
            return None
        place = self.chance.choice(places)
        return self.ask(sketch, pattern[: place.start()] + pattern[place.end() :])

    def ask_spelled(self, sketch: Sketch) -> Asked:
        """A question in which each value stands by the name of its parameter, after what the tool does."""
        chance = self.chance
        told = [each for each in sketch.told if not is_chinese(each)] or list(sketch.told)
        optional = [each for each in sketch.parameters if not each.required and (each.pools or each.enum)]
        said = [each for each in sketch.parameters if each.required and (each.pools or each.enum)]
        said += chance.sample(optional, chance.randint(0, min(2, len(optional))))
        if chance.random() < 0.3:
            chance.shuffle(said)
        tool, names = self.tool(sketch, " ".join(f"{{{each.names[0]}}}" for each in said))
        arguments: JsonObject = {}
        pieces: list[str] = []
        for each in said:
            words, value = self.value(each, chance.choice(("", "b")) if each.type == "ints" else "")
            arguments[names[each.names[0]]] = value
            near = _BY_POOL.get(each.pools[0], ()) if each.pools and chance.random() < 0.5 else ()
            name = re.sub(r"(?<=[a-z])(?=[A-Z])|[_.]", " ", names[each.names[0]]).lower().strip()
            pieces.append(chance.choice(near or FRAGMENTS).format(name=name, value=words))
        head = chance.choice(told).rstrip(".")
        head = chance.choice(
            (head, head, f"I want to {head[:1].lower()}{head[1:]}", f"Can you {head[:1].lower()}{head[1:]}")
        )
        joint = chance.choice((" ", " ", ", ", " and "))
        question = (
            f"{head} {pieces[0]}"
            + "".join(
                (chance.choice((" and ", ", and ", ", ", joint)) if at else "") + piece
                for at, piece in enumerate(pieces[1:], 1)
            )
            if pieces
            else head
        )
        return Asked(
            self._varied(re.sub(r"\band and\b", "and", question) + chance.choice((".", "", "?"))),
            (tool,),
            ((tool.name, arguments),),
        )

    def ask_more(self, sketch: Sketch, pattern: str) -> Asked | None:
        """The pattern with an optional parameter told at its end."""
        chance = self.chance
        said = {name for found in _PLACE.findall(pattern) for name in found[:2]}
        more = [each for each in sketch.parameters if each.names[0] not in said and each.pools and each.type != "bool"]
        if not more or is_chinese(pattern):
            return None
        each = chance.choice(more)
        near = _BY_POOL.get(each.pools[0], ()) if chance.random() < 0.5 else ()
        spelled = each.names[0].replace("_", " ")
        tail = chance.choice(near or FRAGMENTS).format(name=spelled, value=f"{{{each.names[0]}}}")
        end = pattern[-1] if pattern[-1] in ".?" else ""
        return self.ask(sketch, f"{pattern.rstrip('.?')}{chance.choice((' ', ' ', ', ', ' and '))}{tail}{end}")

    def _repeatable(self, sketch: Sketch, pattern: str) -> list[str]:
        """The places of a pattern where several values may stand side by side."""
        kinds = {each.names[0]: each for each in sketch.parameters}
        return [
            match[0]
            for match in _PLACE.finditer(pattern)
            if match[1] in kinds
            and kinds[match[1]].type in ("str", "int", "num", "enum")
            and match[3] not in ("name", "Cap")
            and match[4] is None
            and not {"text", "message", "phrase", "topics"} & set(kinds[match[1]].pools)
        ]

    def _rows(self, sketch: Sketch, pattern: str, places: list[str], count: int, tail: str) -> Asked:
        """The pattern with `count` values side by side at these places."""
        tool, names = self.tool(sketch, pattern)
        question, common = self.question(sketch, _without(pattern, places), names, vary=False)
        calls: list[tuple[str, JsonObject]] = [(tool.name, dict(common)) for _ in range(count)]
        for number, place in enumerate(places):
            made: list[str] = []
            for at in range(count):
                said, arguments = self.question(sketch, place, names, vary=False)
                made.append(said)
                calls[at][1].update(arguments)
            question = question.replace(_hole(number), self._joined(made, chinese=is_chinese(pattern)), 1)
        return Asked(self._varied(question + tail), (tool,), tuple(calls))

    def _in_a_row(self, sketch: Sketch, pattern: str) -> Asked | None:
        places = self._repeatable(sketch, pattern)
        if not places:
            return None
        return self._rows(sketch, pattern, [self.chance.choice(places)], self.chance.choice((2, 2, 3)), "")

    def _respectively(self, sketch: Sketch, pattern: str) -> Asked | None:
        places = self._repeatable(sketch, pattern)
        if len(places) < 2:
            return None
        chosen = sorted(self.chance.sample(places, 2), key=pattern.index)
        kinds = {each.names[0]: each.type for each in sketch.parameters}
        named = all(kinds[match[1]] in ("str", "enum") for each in chosen if (match := _PLACE.match(each)))
        if named and self.chance.random() < 0.4:
            return self._crossed(sketch, pattern, chosen)
        said = named or self.chance.random() < 0.7
        tail = (" 分别" if is_chinese(pattern) else " respectively") if said else ""
        return self._rows(
            sketch,
            pattern.rstrip(".?"),
            chosen,
            self.chance.choice((2, 2, 3)),
            tail.strip() if is_chinese(pattern) else tail,
        )

    def _crossed(self, sketch: Sketch, pattern: str, places: list[str]) -> Asked:
        """The pattern with two values at each of two places: each of the one with each of the other."""
        asked = self._rows(sketch, pattern, places, 2, "")
        (name, one), (_, other) = asked.calls
        changed = [key for key in one if one[key] != other[key]]
        calls = [
            one | {key: source[key] for key, source in zip(changed, chosen, strict=True)}
            for chosen in product((one, other), repeat=len(changed))
        ]
        return asked._replace(calls=tuple((name, each) for each in calls))

    def _tails(self, sketch: Sketch, pattern: str) -> Asked | None:
        """`..., and for Rome on Monday`: what stands before the first place is not said again."""
        first = _PLACE.search(pattern)
        if first is None or is_chinese(pattern):
            return None
        head = pattern[: first.start()].split()
        tail = " ".join([*head[-self.chance.choice((1, 1, 2)) :], pattern[first.start() :]]).rstrip(".?")
        joint = self.chance.choice((" and ", ", and also ", ", and ", "; then ", " and then again ", ". Also "))
        return self._parts(sketch, [pattern.rstrip(".?"), tail], joint)

    def _twice(self, sketch: Sketch, pattern: str) -> Asked | None:
        other = self.chance.choice(sketch.patterns)
        joint = self.chance.choice(("，另外", "。", "，还有", "，") if is_chinese(pattern) else _JOINTS)
        if joint[0] == " " or joint[0] == ",":
            pattern, other = pattern.rstrip(".?"), other[:1].lower() + other[1:]
        return self._parts(sketch, [pattern, other], joint)

    def _parts(self, sketch: Sketch, patterns: list[str], joint: str) -> Asked:
        tool, names = self.tool(sketch, " ".join(patterns))
        said = [self.question(sketch, each, names, vary=False) for each in patterns]
        common = said[0][1]
        calls = [(tool.name, common | arguments if number else arguments) for number, (_, arguments) in enumerate(said)]
        return Asked(self._varied(joint.join(each for each, _ in said)), (tool,), tuple(calls))

    def _joined(self, said: list[str], *, chinese: bool) -> str:
        if chinese:
            return "、".join(said[:-1]) + self.chance.choice(("和", "、", "以及")) + said[-1]
        last = self.chance.choice((" and ", " and ", ", and ", " and also "))
        return ", ".join(said[:-1]) + last + said[-1]

    def tool(self, sketch: Sketch, pattern: str) -> tuple[Tool, dict[str, str]]:
        """The tool in one of its forms, and what each parameter is called in it."""
        chance = self.chance
        style = chance.randrange(len(sketch.names))
        said = {match for found in _PLACE.findall(pattern) for match in found[:2]}
        shown = [each for each in sketch.parameters if each.required or each.names[0] in said or chance.random() < 0.75]
        if chance.random() < 0.3:
            chance.shuffle(shown)
        names = {each.names[0]: chance.choice(each.names) for each in sketch.parameters}
        properties: JsonObject = {names[each.names[0]]: self._schema(each) for each in shown}
        required: list[Json] = [
            names[each.names[0]]
            for each in shown
            if each.required or (each.names[0] in said and chance.random() < 0.25 and not each.enum)
        ]
        tool = Tool(
            name=sketch.names[style],
            description=chance.choice(sketch.told),
            parameters={"type": "object", "properties": properties, "required": required},
        )
        return tool, names

    def _schema(self, parameter: Parameter) -> JsonObject:
        schema: JsonObject
        if parameter.type in ("ints", "strs"):
            whole = _IN_PARTS.isdisjoint(parameter.pools)
            item = (
                "string"
                if parameter.type == "strs"
                else self.chance.choice(("integer" if whole else "number", "number"))
            )
            schema = {"type": "array", "items": {"type": item}}
        else:
            type_ = _TYPES[parameter.type]
            if type_ == "number" and self.chance.random() < 0.3 and "pct" not in ",".join(parameter.pools):
                type_ = "number"
            schema = {"type": type_}
        if parameter.enum:
            schema["enum"] = list(parameter.enum)
        schema["description"] = self.chance.choice(parameter.told) + self._shown(parameter)
        return schema

    def _shown(self, parameter: Parameter) -> str:
        """Examples for the description, now and then."""
        pool = parameter.pools[0] if parameter.pools else ""
        if parameter.type != "str" or pool not in self.pools or self.chance.random() > 0.2:
            return ""
        values = [value for _, value in self.chance.sample(self.pools[pool], min(3, len(self.pools[pool])))]
        form = self.chance.choice(
            (" e.g. '{0}'.", " (e.g., {0}, {1})", " Such as {0}, {1} or {2}.", " For example '{0}' or '{1}'.")
        )
        return form.format(*values, *values, *values)

    def question(
        self, sketch: Sketch, pattern: str, names: dict[str, str], *, vary: bool = True
    ) -> tuple[str, JsonObject]:
        """The words, and the arguments that they mean."""
        known = {each.names[0]: each for each in sketch.parameters}
        known |= {name: each for each in sketch.parameters for name in each.names if name not in known}
        arguments: JsonObject = {}

        def fill(match: re.Match[str]) -> str:
            parameter = known[match[1]]
            if match[3] == "name":
                return names[parameter.names[0]].replace("_", " ")
            said, value = self.value(parameter, match[3] or "") if match[4] is None else _given(parameter, match[4])
            arguments[names[parameter.names[0]]] = value
            return said

        question = _PLACE.sub(fill, pattern)
        return self._varied(question) if vary else question, arguments

    def _varied(self, question: str) -> str:
        chance = self.chance
        roll = chance.random()
        if is_chinese(question):
            return chance.choice(("请", "麻烦", "你好，", "请问")) + question if roll < 0.12 else question
        if roll < 0.12:
            return chance.choice(_OPENINGS) + question[:1].lower() + question[1:]
        if roll < 0.2:
            return question.rstrip(".?") + chance.choice(_CLOSINGS)
        if roll < 0.26:
            return chance.choice(_BEFORE) + question
        if roll < 0.32:
            count = chance.choice(("two", "three", "four", "2", "a few", "five"))
            things = chance.choice(_THINGS)
            form = chance.choice(
                ("There are {0} {1}. ", "I have {0} {1}. ", "We need this for {0} {1}. ", "Imagine {0} different {1}. ")
            )
            return form.format(count, things) + question
        if roll < 0.4:
            return question.rstrip(".?") + chance.choice(".?") + chance.choice(_AFTER)
        return question

    def value(self, parameter: Parameter, form: str) -> tuple[str, Json]:
        """What is said, and the value it means."""
        if parameter.enum:
            value = self.chance.choice(parameter.enum)
            said = value.replace("_", " ")
            return (said.capitalize() if form == "Cap" else said), value
        pool = self.chance.choice(parameter.pools)
        if parameter.type in ("ints", "strs"):
            return self._listed(pool, form, texts=parameter.type == "strs")
        if pool in NUMBERS or pool in MADE:
            said, number = (NUMBERS | MADE)[pool](self.chance)
            if form == "$" and pool in ("money", "float"):
                said = self.chance.choice((f"${said}", f"${said}", f"{said} dollars"))
            return said, int(number) if parameter.type == "int" and isinstance(number, float) else number
        said, meant = self.chance.choice(self.pools[pool])
        if parameter.type in ("int", "num"):
            return said, json.loads(meant)
        if said == meant and pool not in _NEVER_QUOTED and self.chance.random() < 0.12:
            said = self.chance.choice(("'{}'", '"{}"', "“{}”", "'{}'")).format(said)
        elif pool in _LOWERED and self.chance.random() < 0.1:
            said = said.lower()
        return said, meant

    def _listed(self, pool: str, form: str, *, texts: bool) -> tuple[str, Json]:
        count = self.chance.choice((1, 2, 2, 3, 3, 4)) if texts else self.chance.randint(2, 6)
        pairs: list[Made]
        if texts:
            pairs = [*self.chance.sample(self.pools[pool], min(count, len(self.pools[pool])))]
        elif pool in NUMBERS:
            made = [NUMBERS[pool](self.chance) for _ in range(count)]
            pairs = [(words.replace(",", ""), value) for words, value in made]
        else:
            own = [(words, json.loads(value)) for words, value in self.pools[pool] if words == value]
            pairs = self.chance.sample(own, min(count, len(own)))
        said = [pair[0] for pair in pairs]
        values: list[Json] = [pair[1] for pair in pairs]
        if form == "b":
            return "[" + ", ".join(said) + "]", values
        chinese = any("\u4e00" <= sign <= "\u9fff" for sign in "".join(said)) or pool.endswith("_zh")
        if chinese:
            return (
                self.chance.choice(("、", "，", "和")).join(said)
                if len(said) < 3
                else "、".join(said[:-1]) + "和" + said[-1]
            ), values
        last = self.chance.choice((" and ", " and ", ", and ", ", "))
        return (", ".join(said[:-1]) + last + said[-1] if len(said) > 1 else said[0]), values


_BEFORE = (
    "I have two questions. ",
    "I am planning a trip with my family. ",
    "For my homework I need help. ",
    "My boss asked me for one thing. ",
    "We are a group of friends. ",
    "I'm new here. ",
    "This is for a school project. ",
    "I want to try something today. ",
    "Here is the first problem. ",
    "I am writing a report on this. ",
)
_AFTER = (
    " Show me the results in detail.",
    " I need it for a report.",
    " Use the best method.",
    " Thank you so much!",
    " It is for my second lesson.",
    " Tell me the answer in one sentence.",
    " Make it quick.",
    " My friend wants to know.",
)
_THINGS = [
    "objects",
    "cars",
    "cities",
    "people",
    "friends",
    "tests",
    "questions",
    "options",
    "numbers",
    "circles",
    "tasks",
    "balls",
    "students",
    "rooms",
    "companies",
    "charges",
]
_OPENINGS = ("Can you ", "Please ", "Hi, ", "I want to know: ", "Could you please ", "Hey, ", "I'd like you to ")
_CLOSINGS = (" please?", ", please.", "? Thanks!", " for me.", " right now?", "!")

_IN_PARTS = {"float", "pct", "prob", "rating", "neg"}
"""Pools of numbers that may have decimals."""

_NEVER_QUOTED = {"text", "message", "phrase", "arithmetic", "sqltext", "arithmetic_zh"}
_LOWERED = {"city", "country", "person", "company", "team", "artist", "movie", "language", "cuisine"}
FRAGMENTS = (
    "with a {name} of {value}",
    "with {name} {value}",
    "with the {name} {value}",
    "{name} {value}",
    "{name}: {value}",
    "{name} = {value}",
    "whose {name} is {value}",
    "given a {name} of {value}",
    "for the {name} {value}",
    "where the {name} is {value}",
    "and {value} as the {name}",
    "using {value} as {name}",
    "the {name} is {value}",
    "the {name} should be {value}",
    "with {value} {name}",
    "for a {name} of {value}",
    "and a {name} of {value}",
    "and its {name} as {value}",
    "and {name} {value}",
    "having {name} {value}",
    "{value} {name}",
)
_BY_POOL = {
    "city": ("in {value}", "near {value}", "for {value}", "at {value}", "from {value}"),
    "citystate": ("in {value}", "near {value}", "for {value}", "around {value}"),
    "country": ("in {value}", "for {value}", "of {value}"),
    "state": ("in {value}", "for {value}"),
    "place": ("in {value}", "near {value}", "at {value}"),
    "date": ("on {value}", "for {value}", "{value}", "dated {value}"),
    "time": ("at {value}", "by {value}", "around {value}"),
    "year": ("in {value}", "for {value}", "for the year {value}", "of {value}", "since {value}"),
    "person": ("by {value}", "for {value}", "with {value}", "of {value}"),
    "artist": ("by {value}", "of {value}"),
    "money": ("under ${value}", "below {value} dollars", "of ${value}", "for ${value}"),
    "language": ("in {value}", "into {value}"),
    "unit_len": ("in {value}", "measured in {value}"),
    "color": ("in {value}", "with {value} color"),
    "material": ("made of {value}", "of {value}"),
    "genre": ("{value}", "in the {value} genre"),
    "brand": ("from {value}", "by {value}", "made by {value}"),
    "company": ("of {value}", "from {value}", "at {value}"),
    "platform": ("on {value}", "for {value}"),
    "rating": ("with a rating above {value}", "rated at least {value}"),
    "cuisine": ("{value}", "with {value} food"),
    "season": ("in {value}",),
    "month": ("in {value}",),
    "weekday": ("on {value}", "on a {value}"),
    "league": ("in the {value}", "of {value}"),
    "team": ("of {value}", "for {value}"),
    "airline": ("with {value}", "by {value}"),
    "ecosystem": ("in the {value}",),
    "soil": ("in {value} soil",),
    "diet": ("for a {value} diet", "that is {value}"),
}
_JOINTS = (". ", ". Also, ", " and ", ", and ", ". Then ", " and also ", "; ")


def _given(parameter: Parameter, text: str) -> tuple[str, Json]:
    """A value that stands in the pattern itself: `{days=two weeks=>14}`; semicolons are between the items of a list."""
    said, _, meant = text.partition("=>")
    meant = meant or said
    match parameter.type:
        case "int" | "num":
            value: Json = json.loads(meant.replace(",", ""))
        case "bool":
            value = meant == "true"
        case "ints":
            value = [json.loads(each) for each in meant.split(";")]
        case "strs":
            value = [each.strip() for each in meant.split(";")]
        case _:
            value = meant
    return said, value


def is_chinese(text: str) -> bool:
    """Whether there is Chinese in a text."""
    return re.search("[\u4e00-\u9fff]", text) is not None


def _hole(number: int) -> str:
    return f"\x00{number}\x00"


def _without(pattern: str, places: list[str]) -> str:
    for number, place in enumerate(places):
        pattern = pattern.replace(place, _hole(number), 1)
    return pattern
