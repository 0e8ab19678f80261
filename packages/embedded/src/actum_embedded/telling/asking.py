"""Questions to the user for what a call needs and nobody said."""

from __future__ import annotations

from collections.abc import Sequence

from ..calls.step import Step
from ..text.lexicon import is_han
from ..text.words import spaced
from ..tools.slots import Slot
from .voice import Voice

CHOICES_MAX = 8
ARGUMENT_MAX = 60
"""So many characters of an argument are shown where the user is asked whether a call is wanted."""
_WHICH = frozenset(
    {
        "city",
        "country",
        "place",
        "timezone",
        "unit",
        "currency",
        "language",
        "folder",
        "file",
        "person",
        "id",
        "email",
        "url",
        "command",
    }
)
"""Kinds that are asked for with "which": there are many of them, and each has a name."""

_MOMENTS = ("date", "time", "datetime")
"""Kinds that have a question of their own."""


def questions(wanting: Sequence[tuple[Step, tuple[Slot, ...]]], voice: Voice) -> list[str]:
    """A question for each slot that has to be filled, each once.

    Args:
        wanting: steps, each with the slots it lacks.
        voice: in which language.
    """
    waiting = [(step, slots) for step, slots in wanting if slots]
    several = len({step.indexed.tool.name for step, _ in wanting}) > 1
    asked: list[str] = []
    for step, slots in waiting:
        for slot in slots:
            question = _question(slot, step.indexed.slots, voice)
            asked.append(
                voice.say("ask_for", topic=voice.topic(step.indexed), question=question) if several else question
            )
    return list(dict.fromkeys(asked))


def _question(slot: Slot, slots: Sequence[Slot], voice: Voice) -> str:
    asked = _asked(slot, slots, voice)
    more = voice.say("list").join(each for each in _more(slot, voice) if each not in asked)
    return asked + voice.say("aside", text=more) if more else asked


def confirmation(step: Step, voice: Voice) -> str:
    """The question whether a call is wanted that the user's own words speak against."""
    given = voice.say("list").join(f"{each.slot.name} = {str(each.value)[:ARGUMENT_MAX]}" for each in step.arguments)
    tool = step.indexed.tool.name
    call = tool + voice.say("aside", text=given) if given else tool
    return voice.say("held_back", words=step.against, call=call)


def _asked(slot: Slot, slots: Sequence[Slot], voice: Voice) -> str:
    noun = voice.noun(slot.kind, slot.name)
    if slot.enum:
        values = voice.say("list").join(voice.choice(str(value), slot.name) for value in slot.enum[:CHOICES_MAX])
        return voice.say("ask_choice", noun=noun, values=values)
    if slot.kind in _MOMENTS:
        return voice.say(f"ask_{slot.kind}")
    if slot.kind in _WHICH:
        twins = any(each.kind == slot.kind and each.path != slot.path for each in slots)
        if twins and "source" in slot.roles:
            return voice.say("ask_from", noun=noun)
        if twins and "target" in slot.roles:
            return voice.say("ask_to_place" if slot.kind in ("city", "country", "place") else "ask_to", noun=noun)
        return voice.say("ask_which", noun=noun)
    return voice.say("ask_number" if slot.kind == "number" else "ask_text", noun=noun)


def _more(slot: Slot, voice: Voice) -> Sequence[str]:
    """What tells the slot from others of its kind: its description where that is in the user's language, else its name
    in both languages; nothing where the name is that of the kind.
    """
    name, named = spaced(slot.name).lower(), slot.kind in _WHICH or slot.kind in _MOMENTS
    if name in (slot.kind, voice.noun(slot.kind, slot.name)) and named:
        return ()
    description = slot.description.strip().rstrip(".。")
    if description and is_han(description) == voice.chinese and (voice.chinese or not named):
        return (description,)
    return () if name == slot.kind else tuple(dict.fromkeys((voice.label(slot.name), name)))
