"""Training data is made as it should be, from the seed alone, and learning from it learns."""

from __future__ import annotations

import functools
import itertools

import pytest

from actum.schema.schema import compile_schema
from actum_embedded.learned.nets import of
from actum_embedded.learned.weights import CHINESE
from packages.embedded.training import fit_chooser, fit_grouping, fit_sieve, seal_tools, written
from packages.embedded.training.chatter import chatted
from packages.embedded.training.corpus import HERE, Asked, Maker, is_chinese, sketches
from packages.embedded.training.fit import Settings, choices_of, is_known_to_half, learned
from packages.embedded.training.labels import spelled, with_more
from packages.embedded.training.questions import held_out, kept, make
from packages.embedded.training.stories import story
from tests.endurance import share

TRAINED = ("packages/embedded/src/actum_embedded", "packages/embedded/training")


@functools.cache
def judging() -> tuple[Asked, ...]:
    """The questions that are held out, made once."""
    return tuple(held_out())


def test_the_same_seed_asks_the_same_questions() -> None:
    assert list(itertools.islice(make(3, 1, 1), 300)) == list(itertools.islice(make(3, 1, 1), 300))


@pytest.mark.endurance(*TRAINED)
def test_generated_calls_fit_the_schemas_of_their_tools() -> None:
    for asked in itertools.islice(make(5, 1, 1), 0, None, share(9, 90)):
        tools = {tool.name: tool for tool in asked.tools}
        for name, arguments in asked.calls:
            lacking = {*tools[name].required()} - arguments.keys()
            problems = compile_schema(tools[name].parameters, where=name).problems(arguments)
            assert not [each for each in problems if each.rule != "required"], asked
            assert lacking <= set(tools[name].required())


def test_no_question_that_is_held_out_is_learned_from() -> None:
    learned_from = {each.question for each in kept()}
    assert not learned_from & {each.question for each in judging()[:40]}


def test_some_questions_are_put_to_tools_that_they_are_not_about() -> None:
    by_question: dict[str, list[str]] = {}
    asked = judging()
    for each in asked:
        if each.about:
            by_question.setdefault(each.question, []).extend(tool.name for tool in each.tools)
    misplaced = [each for each in asked if each.question in by_question and not each.about]
    assert len(misplaced) > 500
    assert not any(each.calls for each in misplaced)
    about_another = [{tool.name for tool in each.tools}.isdisjoint(by_question[each.question]) for each in misplaced]
    assert sum(about_another) > 0.98 * len(misplaced)  # tools of two authors may have the same name


def test_a_choice_is_learned_and_learned_the_same_again() -> None:
    choices = choices_of(list(itertools.islice(make(1, 1, 0), 250, 410)))
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


def test_stories_of_others_call_their_own_tools_as_the_schemas_want() -> None:
    stories = seal_tools.stories()
    assert len(stories) > 1_300
    for asked in stories[::7]:
        tools = {tool.name: tool for tool in asked.tools}
        assert {name for name, _ in asked.calls} == set(tools)
        for name, arguments in asked.calls:
            problems = compile_schema(tools[name].parameters, where=name).problems(arguments)
            assert not [each for each in problems if each.rule != "required"], asked


def test_stories_written_by_hand_call_their_tools_as_the_schemas_want() -> None:
    learned_from, judging = written.stories(), written.stories(fresh=True)
    assert (len(learned_from), len(judging)) == (300, 500)
    known, fresh = ({tool.digest for each in some for tool in each.tools} for some in (learned_from, judging))
    assert not known & fresh
    for asked in (*learned_from, *judging):
        tools = {tool.name: tool for tool in asked.tools}
        for name, arguments in asked.calls:
            assert not compile_schema(tools[name].parameters, where=name).problems(arguments), asked
    for asked in written.for_one_tool():
        assert {name for name, _ in asked.calls} == {tool.name for tool in asked.tools}


def test_no_story_that_judges_is_learned_from() -> None:
    judging = {each.question for each in seal_tools.stories(fresh=True)}
    assert len(judging) > 600
    assert not judging & {each.question for each in seal_tools.stories()}


def test_a_call_is_learned_from_the_sentences_that_say_its_values() -> None:
    for asked in itertools.islice(seal_tools.single_calls(), 0, 400, 9):
        (_, arguments), *others = asked.calls
        assert not others
        assert any(seal_tools.says(asked.question, value) for value in arguments.values())


def test_a_net_learns_what_no_sum_tells() -> None:
    both = [fit_chooser.Posed([[1.0, a, b]], 0 if a == b else -1) for a in (0.0, 1.0) for b in (0.0, 1.0)] * 300
    weights = fit_chooser.learned(("any", "a", "b"), both)
    found = of(weights)
    assert all((found.worth({"any": 1.0, "a": a, "b": b}) > 0.0) == (a == b) for a in (0.0, 1.0) for b in (0.0, 1.0))


def test_of_the_steps_for_a_tool_as_many_are_right_as_were_asked_for() -> None:
    for asked in seal_tools.stories()[:40]:
        steps = fit_sieve.judged(asked)
        at_first = [each for each in steps if not each.right]
        assert len(steps) - len(at_first) <= 2 * len(asked.calls)


def test_a_chinese_question_says_each_value_by_the_name_of_its_parameter() -> None:
    file = HERE / "zh_work.txt"
    maker, every = Maker(3, file), sketches(file)
    told = [each for sketch in every if (each := spelled(maker, sketch)) is not None]
    more = [each for sketch in every if (each := with_more(maker, sketch, sketch.patterns[0])) is not None]
    assert len(told) > 20
    assert len(more) > 20
    for each in told:
        ((name, arguments),) = each.calls
        assert set(each.tools[0].required()) <= arguments.keys(), name


@pytest.mark.endurance(*TRAINED)
def test_what_is_learned_of_one_language_does_not_depend_on_how_much_there_is_of_the_other() -> None:
    made = [each for each in make(1, 1, 0) if each.about][:: share(40, 400)]
    english = [each for each in made if not is_chinese(each.question)]
    chinese = [each for each in made if is_chinese(each.question)]
    how = Settings(rounds=2, rare=1)
    both, alone = learned(choices_of([*english, *chinese]), how), learned(choices_of(english), how)
    assert chinese
    assert {name for name in both if not name.startswith(CHINESE)} == alone.keys()


def test_a_sentence_of_chatter_changes_neither_the_call_nor_the_words_that_ask_for_it() -> None:
    calls = list(itertools.islice(seal_tools.single_calls(), 60))
    talked = list(chatted(calls, 1))
    assert talked == list(chatted(calls, 1))
    for asked, told in zip(calls, talked, strict=True):
        assert asked.question in told.question != asked.question
        assert told.calls == asked.calls
        assert told.tools[0] == asked.tools[0]
        assert len({tool.name for tool in told.tools}) == len(told.tools)
    assert any(not tool.parameters["properties"] for each in talked for tool in each.tools[1:])


def test_a_question_that_counts_more_often_weighs_more() -> None:
    (asked,) = itertools.islice(make(1, 1, 0), 300, 301)
    once, often = choices_of([asked]), choices_of([asked._replace(times=3)])
    assert len(once.times) > 0
    assert list(often.times) == [3 * times for times in once.times]
    how = Settings(rounds=2, rare=1)
    assert sum(map(abs, learned(often, how).values())) > sum(map(abs, learned(once, how).values()))
