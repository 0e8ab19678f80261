"""`python -m bench.training fit` learns new weights into `.cache/embedded`; `python -m bench.training promote` puts
them into the package, if they are better on held-out questions.

The held-out questions are those of `tests/models/embedded/questions_held_out.jsonl` and some that are generated from a
seed that training does not use. Neither the leaderboard nor the own set has a part in it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import shutil
import time
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from actum.core.interfaces import Request
from actum.core.message import Transcript, UserMessage
from actum.learn import Promotion
from actum.models.embedded import Embedded
from actum.models.embedded.weights import FILES, SHIPPED, use

from . import fit, fit_associations, fit_chooser
from .amounts import TODAY
from .corpus import Asked, held_out, make, nothing

CANDIDATE = Path(__file__).parents[2] / ".cache" / "embedded"
SEED, CHOOSER_SEED = 1, 7
LEAST, SCALE = 0.05, 100
CHOICES = 1_250
"""From so many questions of each half the chooser learns."""


def learn() -> None:
    """Learn all weights, the ranker's first: the others' rest on them.

    How much associations tell of a tool that they were not learned from is what the chooser has to know. So it learns
    from each half of the tools with associations of the other half.
    """
    CANDIDATE.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        shutil.copy(str(SHIPPED / name), CANDIDATE)
    began = time.process_time()
    choices = fit.choices_of(make(SEED, 1, 1))
    weights = fit.learned(choices)
    ranker = {name: round(SCALE * value) for name, value in sorted(weights.items()) if abs(value) >= LEAST}
    _write("ranker.json", {"slots": len(choices.sizes), "left out": choices.skipped}, scale=SCALE, weights=ranker)
    asked = [each for each in make(CHOOSER_SEED, 1, 0) if each.about and len(each.tools) == 1]
    idle, names, posed = nothing(), list[str](), list[fit_chooser.Posed]()
    for half in (0, 1):
        _write_associations([each for each in asked if _half(each) != half], idle[1 - half :: 2])
        use(CANDIDATE)
        own = [each for each in asked if _half(each) == half]
        names, more = fit_chooser.posed(random.Random(half).sample(own, CHOICES), idle[half::2])
        posed += more
    chooser = fit_chooser.learned(names, posed)
    _write("chooser.json", {"choices": len(posed)}, scale=1, weights=chooser)
    _write_associations(asked, idle)
    print(f"learned in {time.process_time() - began:.0f} s of CPU: {CANDIDATE}")


def _half(asked: Asked) -> int:
    return zlib.crc32(asked.about.encode()) % 2


def _write_associations(asked: Sequence[Asked], idle: Sequence[str]) -> None:
    found = fit_associations.learned(asked, idle)
    _write("associations.json", {"questions": len(asked), "nothing": len(idle)}, **found.as_json())


def _write(name: str, data: Mapping[str, int], **learned: object) -> None:
    card = {
        "about": "Learned by `make train-embedded` from generated questions; docs/embedded.md has the card.",
        "licence": "Apache-2.0",
        "data": dict(data),
        **learned,
    }
    (CANDIDATE / name).write_text(json.dumps(card, ensure_ascii=False, separators=(",", ":")) + "\n", "utf-8")


def promote() -> bool:
    """Put what was learned into the package, if that is deserved."""
    asked = held_out()
    use(SHIPPED)
    current = marks(asked)
    use(CANDIDATE)
    promotion = Promotion.of(current, marks(asked))
    print(promotion)
    if promotion.deserved:
        for name in FILES:
            shutil.copy(CANDIDATE / name, str(SHIPPED / name))
    return promotion.deserved


def marks(asked: Sequence[Asked]) -> list[bool]:
    """For each question whether the model makes exactly the right calls."""
    model = Embedded(today=lambda: TODAY)
    found = []
    for each in asked:
        request = Request(messages=Transcript([UserMessage.of(each.question)]), tools=each.tools)
        calls = [(call.name, call.arguments) for call in asyncio.run(model.reply(request)).calls]
        found.append(sorted(calls, key=repr) == sorted(each.calls, key=repr))
    return found


def main() -> None:
    """Learn, or promote what was learned."""
    parser = argparse.ArgumentParser(prog="bench.training", description=__doc__)
    parser.add_argument("what", choices=("fit", "promote"))
    if parser.parse_args().what == "fit":
        learn()
    elif not promote():
        raise SystemExit(1)


if __name__ == "__main__":
    main()
