"""Questions with a sentence beside them that tells of the same things and asks for nothing: "I'm writing a blog post
about jokes. Can you find one on sports?"
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence

from actum.core.tool import Tool
from actum_embedded.text.words import spaced

from .corpus import Asked

_BEFORE = (
    "I'm working on a project about {topic}.",
    "I'm curious about {topic}.",
    "I'm writing a blog post about {topic} and need your help.",
    "We are preparing a presentation on {topic}.",
    "I was reading about {topic} yesterday.",
    "My friend told me a lot about {topic}.",
    "I need some {topic} for my research.",
    "I've heard that there are some changes to {topic}.",
    "I'm trying to learn more about {topic} at the moment.",
    "As a teacher, I often talk about {topic} with my students.",
)
_AFTER = (
    "I want to know more about {topic} later.",
    "It's for my {topic} project.",
    "That would help me a lot with {topic}.",
    "I'm also interested in {topic} in general.",
)
_VERBS = re.compile(
    r"^(?:get|find|search|list|fetch|retrieve|calculate|check|create|add|update|analyze|identify|evaluate|determine)\s+",
    re.IGNORECASE,
)
_LISTS = ("list_{name}", "get_all_{name}", "{name}_random_get", "available_{name}", "get_{name}")
BARE = 0.5
"""The share of questions that a tool which needs nothing is on offer for as well."""


def chatted(calls: Sequence[Asked], seed: int) -> Iterator[Asked]:
    """Each question with such a sentence, put to its own tool and to some that go by like names.

    Args:
        calls: English questions for one call each.
        seed: where chance begins.
    """
    chance = random.Random(seed)
    tools = {each.tools[0].name: each.tools[0] for each in calls}
    by_word: dict[str, list[Tool]] = {}
    for tool in tools.values():
        for word in _topic(tool).split():
            by_word.setdefault(word, []).append(tool)
    for each in calls:
        own = each.tools[0]
        alike = {other.name: other for word in _topic(own).split() for other in by_word[word] if other.name != own.name}
        others = chance.sample(sorted(alike.values(), key=lambda tool: tool.name), min(2, len(alike)))
        topic = chance.choice([_topic(own), *map(_topic, others)])
        if chance.random() < BARE:
            others.append(_bare(topic, chance))
        before = chance.choice(_BEFORE).format(topic=topic)
        after = chance.choice(_AFTER).format(topic=topic) if chance.random() < 1 / 3 else ""
        question = f"{before} {each.question} {after}".strip()
        yield each._replace(question=question, tools=(own, *others))


def _topic(tool: Tool) -> str:
    """What a tool is about, by its name."""
    return _VERBS.sub("", spaced(tool.name)).lower() or tool.name.lower()


def _bare(topic: str, chance: random.Random) -> Tool:
    """A tool about something that needs nothing."""
    name = chance.choice(_LISTS).format(name=topic.replace(" ", "_"))
    return Tool(name=name, description=f"Get {topic}.", parameters={"type": "object", "properties": {}})
