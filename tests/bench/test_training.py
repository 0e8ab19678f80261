"""Training data is made as it should be, from the seed alone, and learning from it learns."""

from __future__ import annotations

import itertools

from actum.core.schema import compile_schema
from bench.training.corpus import held_out, kept, make
from bench.training.fit import Settings, choices_of, learned


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
