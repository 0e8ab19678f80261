"""`make train-embedded` learns new weights into `.cache/embedded`; `make promote-embedded` puts them into the package,
if they are better on held-out questions. `python -m packages.embedded.training meanings` makes the points that words
stand for anew, out of open data that it fetches; all weights have to be learned again after it.

The held-out questions are those of `packages/embedded/tests/questions_held_out.jsonl`, some that are generated from a
seed that training does not use, and stories of others (`seal_tools`). Neither the leaderboard nor the own set has a
part in it.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import random
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from actum.core.message import Transcript, UserMessage
from actum.core.model import Request
from actum.evals.promotion import Promotion
from actum_embedded import Embedded
from actum_embedded.learned.weights import (
    CHINESE,
    FILES,
    SHIPPED,
    use,
)

from . import fit, fit_chooser, fit_grouping, fit_meanings, fit_sieve, seal_tools, written
from .amounts import TODAY
from .chatter import chatted
from .corpus import Asked, is_chinese
from .questions import held_out, kept, make, nothing

CANDIDATE = Path(__file__).parents[3] / ".cache" / "embedded"
SEED, CHOOSER_SEED = 1, 7
GROUPED = 2_600
"""From so many questions for several calls, and half as many for one, is learned which values belong together."""
LEAST, LEAST_CHINESE, SCALE = 0.1, 0.15, 100
OTHERS, CHINESE_OTHERS = 0.16, 0.85
"""The shares of the English and Chinese questions about unusual tools that the ranker learns from."""
CHOOSER_OTHERS, CHOOSER_CHINESE_OTHERS = 0.06, 0.2
"""And the shares of them that the chooser learns from."""
WRITTEN = 600
"""From so many single calls of Seal-Tools is learned which tool a clause names."""
CHATTED = 200
"""From so many of them, with a sentence beside that asks for nothing, is learned what nobody asked for."""
GUESSES, KEPT = 600, 3
"""From so many questions is learned what to guess, and from those that the tests know so many times."""


def learn() -> None:
    """Learn all weights, the ranker's first: the others' rest on them."""
    CANDIDATE.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        shutil.copy(str(SHIPPED / name), CANDIDATE)
    began = time.process_time()
    gc.disable()  # a tenth of the time goes into looking for cycles, and nothing here makes any
    single, known = list(seal_tools.single_calls()), kept(KEPT)
    told = written.for_one_tool()
    choices = fit.choices_of([*make(SEED, 1, 1, others=OTHERS, chinese=CHINESE_OTHERS), *single, *told])
    half, whole = fit.learned(choices, half=True), fit.learned(choices)
    _rank(half, choices)
    strange = [each for each in make(CHOOSER_SEED, 1, 2) if each.about and not fit.is_known_to_half(each.about)]
    several = fit_grouping.sample(strange, GROUPED, GROUPED // 2)
    unknown = [each for each in single if not fit.is_known_to_half(each.about)]
    _group([*several, *unknown, *known])
    _rank(whole, choices)
    _learn_to_choose(known, single)
    _rank(half, choices)
    stories = [each for each in seal_tools.stories() if not fit.is_known_to_half(each.about)]
    talked = chatted(random.Random(SEED).sample(unknown, CHATTED), SEED)
    _sift([*stories[::3], *written.stories()[::2], *seal_tools.repeated(unknown), *talked, *known])
    _rank(whole, choices)
    print(f"learned in {time.process_time() - began:.0f} s of CPU: {CANDIDATE}")


def _learn_to_choose(known: Sequence[Asked], single: Sequence[Asked]) -> None:
    usual = list(make(CHOOSER_SEED, 1, 0, others=CHOOSER_OTHERS, chinese=CHOOSER_CHINESE_OTHERS))
    some = [each for each in usual if is_chinese(each.question)]
    some += [each for each in usual if not is_chinese(each.question)][::3]
    some += random.Random(SEED).sample(single, WRITTEN)
    _choose("chooser.json", [*some, *known], ())
    every = [each for each in make(CHOOSER_SEED, 1, 0) if each.about]
    _choose("guesser.json", [*random.Random(SEED).sample(every, GUESSES), *known], nothing())


def _sift(asked: Sequence[Asked]) -> None:
    found = [judged for each in asked for judged in fit_sieve.judged(each)]
    _write("sieve.json", fit_sieve.learned(found), 1, {"steps": len(found)})


def _rank(weights: Mapping[str, float], choices: fit.Choices) -> None:
    enough = {name: value for name, value in sorted(weights.items()) if abs(value) >= _least(name)}
    ranker = {name: round(SCALE * value) for name, value in enough.items()}
    _write("ranker.json", ranker, SCALE, {"slots": len(choices.sizes), "left out": choices.skipped})
    use(CANDIDATE)


def _least(name: str) -> float:
    """Below this a weight is left out: Chinese has as many as English, and the wheel has room for the half."""
    return LEAST_CHINESE if name.startswith(CHINESE) else LEAST


def _group(asked: Sequence[Asked]) -> None:
    def show(weights: Mapping[str, float]) -> None:
        _write("grouper.json", weights, 1, {"questions": len(asked)})
        use(CANDIDATE)

    show(fit_grouping.learned(asked, show))


def _choose(name: str, asked: Sequence[Asked], idle: Sequence[str]) -> None:
    """Learn a net for each of the tongues, by itself as with the ranker."""
    weights: dict[str, float] = {}
    choices = 0
    for tongue in ("", CHINESE):
        own = [each for each in asked if is_chinese(each.question) == bool(tongue)]
        names, posed = fit_chooser.posed(own, [said for said in idle if is_chinese(said) == bool(tongue)])
        weights |= {f"{tongue}{sign}": value for sign, value in fit_chooser.learned(names, posed).items()}
        choices += len(posed)
    _write(name, weights, 1, {"choices": choices})


def _write(name: str, weights: Mapping[str, float], scale: int, data: Mapping[str, int]) -> None:
    card = {
        "about": "Learned by `make train-embedded` from our questions and others'; docs/embedded.md has the card.",
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
    """Learn, promote what was learned, or make the points of words anew."""
    parser = argparse.ArgumentParser(prog="packages.embedded.training", description=__doc__)
    parser.add_argument("what", choices=("fit", "promote", "meanings"))
    match parser.parse_args().what:
        case "fit":
            learn()
        case "meanings":
            fit_meanings.write(Path(str(SHIPPED)))
        case _:
            sys.exit(0 if promote() else 1)


if __name__ == "__main__":
    main()
