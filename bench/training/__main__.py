"""`python -m bench.training fit` learns new weights into `.cache/embedded`; `python -m bench.training promote` puts
them into the package, if they are better on held-out questions.

The held-out questions are those of `tests/models/embedded/questions_held_out.jsonl` and some that are generated from a
seed that training does not use. Neither the leaderboard nor the own set has a part in it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import shutil
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from actum.core.interfaces import Request
from actum.core.message import Transcript, UserMessage
from actum.learn import Promotion
from actum.models.embedded import Embedded
from actum.models.embedded.weights import FILES, SHIPPED, use

from . import fit, fit_chooser
from .amounts import TODAY
from .corpus import Asked, held_out, is_chinese, make

CANDIDATE = Path(__file__).parents[2] / ".cache" / "embedded"
SEED, CHOOSER_SEED = 1, 7
LEAST, SCALE = 0.03, 100


def learn() -> None:
    """Learn both sets of weights, the ranker's first: the chooser's rest on them."""
    CANDIDATE.mkdir(parents=True, exist_ok=True)
    shutil.copy(str(SHIPPED / "chooser.json"), CANDIDATE)
    began = time.process_time()
    choices = fit.choices_of(make(SEED, 3, 2))
    ranker = {name: round(SCALE * value) for name, value in sorted(fit.learned(choices).items()) if abs(value) >= LEAST}
    _write("ranker.json", ranker, SCALE, {"slots": len(choices.sizes), "left out": choices.skipped})
    use(CANDIDATE)
    asked = list(make(CHOOSER_SEED, 1, 0))
    some = [each for each in asked if is_chinese(each.question)]
    some += [each for each in asked if not is_chinese(each.question)][::4]
    names, posed = fit_chooser.posed(some)
    _write("chooser.json", fit_chooser.learned(names, posed), 1, {"choices": len(posed)})
    print(f"learned in {time.process_time() - began:.0f} s of CPU: {CANDIDATE}")


def _write(name: str, weights: Mapping[str, float], scale: int, data: Mapping[str, int]) -> None:
    card = {
        "about": "Learned by `make train-embedded` from generated questions; docs/embedded.md has the card.",
        "licence": "Apache-2.0",
        "data": dict(data),
        "scale": scale,
        "weights": dict(weights),
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
