"""The questions that are learned from, and those that are held out: made from the sketches, kept by the tests, or
asking for no tool at all.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterator

from actum.core.json import JsonObject
from actum.core.tool import Tool
from actum.toolsets.everyday import everyday_tools

from . import seal_tools, written
from .corpus import HERE, Asked, Maker, Sketch, is_chinese, sketches
from .labels import spelled as spelled_in_chinese
from .labels import with_more
from .stories import story

KEPT_TIMES = 6
KEPT = HERE.parents[1] / "tests"


HELD_OUT_SEEDS = (20_261_120, 20_261_121)


def held_out() -> list[Asked]:
    """Questions that nothing was learned from: those of the tests, generated ones of other seeds, stories of others.

    All but the first are about tools that training never sees. A tenth of the generated ones are put once more, to
    tools of others, which none of them asks for: who calls something whatever is said shall not win by it.
    """
    asked = [each for seed in HELD_OUT_SEEDS for each in make(seed, 1, 1, fresh=True)]
    chance = random.Random(HELD_OUT_SEEDS[0])
    idle = [
        Asked(said, tuple(chance.choice(asked).tools[0] for _ in range(OFFERED)), ()) for said in nothing(fresh=True)
    ]
    spoken = {chinese: [each for each in asked if is_chinese(each.question) == chinese] for chinese in (False, True)}
    misplaced = [
        Asked(each.question, _others(each, spoken[is_chinese(each.question)], chance), ())
        for each in asked[::MISPLACED]
    ]
    told = [*seal_tools.stories(fresh=True), *written.stories(fresh=True)]
    return [*_of_tests("questions_held_out"), *asked, *idle, *misplaced, *told]


OFFERED, MISPLACED = 3, 10
"""So many tools are on offer where nothing is asked for, and each question of so many is put to tools of others."""


def _others(own: Asked, asked: list[Asked], chance: random.Random) -> tuple[Tool, ...]:
    """Tools that a question is not about, of questions in its language."""
    others = [each for each in asked if each.about != own.about]
    return tuple({tool.name: tool for each in chance.sample(others, OFFERED) for tool in each.tools[:1]}.values())


def kept(times: int = 1) -> list[Asked]:
    """The questions that the tests know by heart, about tools that people really use.

    Args:
        times: for how many questions each of them counts.
    """
    return [each._replace(times=times) for each in [*_of_tests("questions"), *_of_tests("questions_mixed")]]


def _of_tests(name: str) -> list[Asked]:
    groups = json.loads((KEPT / "tools.json").read_text("utf-8"))
    tools = {
        tool["name"]: Tool(name=tool["name"], description=tool["description"], parameters=tool["parameters"])
        for group in groups.values()
        for tool in group
    }
    tools |= {tool.definition.name: tool.definition for tool in everyday_tools(HERE)}
    found: list[Asked] = []
    for line in (KEPT / f"{name}.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        calls = tuple((called, _settled(arguments)) for called, arguments in row["calls"])
        offered = tuple(tools[called] for called in dict.fromkeys(called for called, _ in calls))
        if offered:
            found.append(Asked(row["ask"], offered, calls))
    return found


def _settled(arguments: JsonObject) -> JsonObject:
    """Where several values are right, the first."""
    settled: JsonObject = {}
    for name, value in arguments.items():
        several = value.get("any") if isinstance(value, dict) else None
        settled[name] = several[0] if isinstance(several, list) else value
    return settled


def make(
    seed: int,
    times: int,
    several: int,
    *,
    fresh: bool = False,
    others: float = 1.0,
    chinese: float | None = None,
) -> Iterator[Asked]:
    """Questions from each pattern of both languages.

    Args:
        seed: where chance begins.
        times: so many for one call.
        several: so many for several calls, where the pattern lends itself to it.
        fresh: those about the tools of which nothing is learned, instead of the others.
        others: the share that is taken of the questions about tools outside of the first files; these stand once.
        chinese: the share of those in Chinese, where it is another.
    """
    if not fresh:
        yield from kept(KEPT_TIMES)
    chance = random.Random(seed)
    for file in sorted(HERE.glob("??_*.txt")):
        maker, first = Maker(seed, file), file.stem.endswith(_FIRST)
        how = (times, several) if first else (1, min(several, 1))
        share = others if chinese is None or file.name.startswith("en") else chinese
        for sketch in sketches(file):
            if is_fresh(sketch) == fresh and (first or share):
                for each in _asked(maker, sketch, *how, spelled=file.name.startswith("en")):
                    if first or chance.random() < share:
                        yield each._replace(about=f"{file.stem}/{sketch.names[0]}")


_FIRST = "_first"
"""These files are about what most people ask; the others widen them, and would drown them if all of it were taken."""


def nothing(*, fresh: bool = False) -> list[str]:
    """What asks for no tool; a tenth of it is kept for judging."""
    lines = (HERE / "nothing.txt").read_text("utf-8").splitlines()
    said = [line for line in lines if line and not line.startswith("#")]
    return [line for line in said if _is_tenth(line) == fresh]


def is_fresh(sketch: Sketch) -> bool:
    """Nothing is learned of these, a tenth of all: what is learned of the others is judged by them."""
    return _is_tenth(sketch.names[0])


def _is_tenth(text: str) -> bool:
    return hashlib.sha256(text.encode()).digest()[0] % 10 == 0


def _asked(maker: Maker, sketch: Sketch, times: int, several: int, *, spelled: bool) -> Iterator[Asked]:
    if spelled:
        yield from (maker.ask_spelled(sketch) for _ in range(6 * times))
        yield from (told for _ in range(2 * several) if (told := story(maker, sketch)) is not None)
    else:
        yield from (told for _ in range(4 * times) if (told := spelled_in_chinese(maker, sketch)) is not None)
    for pattern in sketch.patterns:
        for _ in range(times):
            yield maker.ask(sketch, pattern)
        made = [maker.ask_lacking(sketch, pattern), *(maker.ask_more(sketch, pattern) for _ in range(times))]
        made += [with_more(maker, sketch, pattern)]
        yield from (each for each in made if each is not None)
        for _ in range(several):
            asked = maker.ask_several(sketch, pattern)
            if asked is not None:
                yield asked
