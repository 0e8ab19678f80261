"""Training data is made as it should be, from the seed alone, and learning from it learns."""

from __future__ import annotations

import itertools

from actum.core.schema import compile_schema
from bench.training import fit_grouping
from bench.training.corpus import HERE, Maker, sketches
from bench.training.fit import Settings, choices_of, is_known_to_half, learned
from bench.training.questions import held_out, kept, make
from bench.training.stories import story


def test_the_same_seed_asks_the_same_questions() -> None:
    assert list(itertools.islice(make(3, 1, 1), 300)) == list(itertools.islice(make(3, 1, 1), 300))


def test_generated_calls_fit_the_schemas_of_their_tools() -> None:
    for asked in itertools.islice(make(5, 1, 1), 0, None, 9):
        tools = {tool.name: tool for tool in asked.tools}
        for name, arguments in asked.calls:
            lacking = {*tools[name].required()} - arguments.keys()
            problems = compile_schema(tools[name].parameters, where=name).problems(arguments)
            assert not [each for each in problems if each.rule != "required"], asked
            assert lacking <= set(tools[name].required())


def test_no_question_that_is_held_out_is_learned_from() -> None:
    learned_from = {each.question for each in kept()}
    assert not learned_from & {each.question for each in held_out()[:40]}


def test_a_choice_is_learned_and_learned_the_same_again() -> None:
    choices = choices_of(list(itertools.islice(make(1, 1, 0), 250, 330)))
    how = Settings(rounds=4, rare=1)
    weights = learned(choices, how)
    assert weights == learned(choices, how)
    assert max(weights.values()) > 0.5


def test_which_values_belong_together_is_learned_from_questions_for_several_calls() -> None:
    asked = list(itertools.islice((each for each in make(1, 1, 1) if each.about), 160))
    shown: list[dict[str, float]] = []
    weights = fit_grouping.learned(asked, lambda known: shown.append(dict(known)), shares=(1,))
    assert shown == [fit_grouping.FIRST]
    assert weights["lacking"] < 0.0 < weights["gain"]


def test_weights_that_know_half_of_the_tools_know_about_half() -> None:
    known = [is_known_to_half(f"tool {n}") for n in range(1_000)]
    assert 450 < sum(known) < 550


def test_a_story_tells_of_as_many_things_as_there_are_calls() -> None:
    maker, every = Maker(3, HERE / "en_science.txt"), sketches(HERE / "en_science.txt")
    told = [each for sketch in every if (each := story(maker, sketch)) is not None]
    assert len(told) > 20
    assert all(1 < len(each.calls) <= 4 and len({name for name, _ in each.calls}) == 1 for each in told)
