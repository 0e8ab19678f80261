"""Questions about what a user said, in `questions.tsv`, and the other turns among which the facts were said.

A line of the file is a kind, what the user said, and a question in other words, in tabs: `fact`, or `sign` where the
two share one Chinese sign alone. A line `none` is a question about nothing that was said. A line `near` is another turn
with words of the facts, which is no fact.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from datetime import datetime
from functools import partial
from pathlib import Path

from msgspec import Struct

from actum.core.interfaces import Journal
from actum.core.stored.word_index import Space, Terms
from actum.core.user import User
from actum.memory.feature import take_into_use
from actum.memory.index import INDEX, find, terms
from actum.memory.ranking import Occasion

_DAY = 86_400.0
_TURNS_OF_CONVERSATION = 6
_ENGLISH = {
    "How do I {} in the kitchen without making a mess?": "Take your time, and clean as you go.",
    "Translate this mail about {} into French, please.": "Here is the mail in French.",
    "What should I know about {} before I buy some?": "Compare the prices, and read what others say.",
    "Write three sentences about {} for a newsletter.": "Here are three sentences.",
    "Is {} good for children of five?": "Mostly, if somebody looks after them.",
    "Explain {} as if I were ten years old.": "Imagine a large box with many small boxes inside.",
    "Which tools are needed for {}?": "A hammer, a saw and some patience.",
    "Make a list of questions about {} for an interview.": "Here are ten questions.",
    "The printer says that {} is missing. What now?": "Switch it off and on again.",
    "Summarise the article on {} in one paragraph.": "It says that things are changing fast.",
}
_ABOUT = (
    "paint",
    "wool",
    "bread",
    "wine",
    "robots",
    "insurance",
    "gardens",
    "taxes",
    "spreadsheets",
    "Python",
    "museums",
    "marathons",
    "camping",
    "violins",
    "chess",
    "photography",
    "podcasts",
    "batteries",
    "tea",
    "bicycles",
    "plastic",
    "concrete",
    "poetry",
    "volcanoes",
    "glass",
)
_CHINESE = {
    "帮我把这段关于{}的文字改得正式一点。": "好的，改好了。",
    "{}的价格最近为什么上涨？": "主要是原料贵了。",
    "请写一份{}活动的通知。": "通知如下。",
    "怎么给孩子解释{}？": "可以从身边的例子说起。",
    "{}有哪些常见的误区？": "最常见的是急于求成。",
    "列出学习{}的五个步骤。": "第一步，打好基础。",
    "这个表格里{}那一列怎么求和？": "用求和函数。",
    "把{}翻译成英文。": "翻译如下。",
    "{}和别的方案相比有什么优点？": "成本低，见效快。",
    "给我推荐几本讲{}的入门读物。": "推荐这几本。",
}
_TOPICS = (
    "茶叶",
    "机器人",
    "太阳能",
    "摄影",
    "围棋",
    "书法",
    "理财",
    "保险",
    "编程",
    "天文",
    "火山",
    "塑料",
    "瑜伽",
    "诗歌",
    "电影",
    "建筑",
    "园艺",
    "酿酒",
    "物流",
    "电池",
    "芯片",
    "陶瓷",
    "航天",
    "口语",
    "统计",
)


class Asked(Struct, frozen=True):
    """A question of the set.

    Attributes:
        kind: `fact`, `sign` or `none`.
        said: what the user said; empty for `none`.
        question: what is asked later.
    """

    kind: str
    said: str
    question: str


def asked() -> list[Asked]:
    """All questions."""
    return [Asked(kind, rest[0] if len(rest) > 1 else "", rest[-1]) for kind, *rest in _lines() if kind != "near"]


def _lines() -> list[list[str]]:
    lines = (Path(__file__).parent / "questions.tsv").read_text("utf-8").splitlines()
    return [line.split("\t") for line in lines]


def other_turns(count: int) -> list[tuple[str, str]]:
    """What else was said, and what was answered: half in English, half in Chinese, and from some number on the same
    questions with other numbers, as people ask them again. The lines `near` are among them.
    """
    near = [(rest[0], "That depends. 看情况。") for kind, *rest in _lines() if kind == "near"]
    pairs = [(said.format(about), answer) for said, answer in _ENGLISH.items() for about in _ABOUT]
    chinese = [(said.format(about), answer) for said, answer in _CHINESE.items() for about in _TOPICS]
    drawn = random.Random(41)
    drawn.shuffle(pairs)
    drawn.shuffle(chinese)
    both = [pair for two in zip(pairs, chinese, strict=False) for pair in two]
    rounds = [divmod(number, len(both)) for number in range(count - len(near))]
    return near + [(f"{both[at][0]} ({times})" if times else both[at][0], both[at][1]) for times, at in rounds]


async def filled(journal: Journal, user: User, space: str, others: int) -> Mapping[str, str]:
    """Have a memory in which the facts are said among other turns, in conversations of six turns.

    Args:
        journal: beside which the memory is.
        user, space: whose memory.
        others: how many other turns there are.

    Returns:
        What was said in each turn, by its name.
    """
    stores = await take_into_use(journal)
    turns = other_turns(others)
    facts = [each.said for each in asked() if each.said]
    drawn = random.Random(17)
    for said in facts:
        turns.insert(drawn.randrange(len(turns)), (said, "Noted." if said.isascii() else "好的，知道了。"))
    known: dict[str, Terms] = {}
    began = journal.now() - len(turns) / 10 * _DAY
    for number, (said, answer) in enumerate(turns):
        occasion = Occasion(f"conversation {number // _TURNS_OF_CONVERSATION}", began + number / 10 * _DAY)
        known[f"run_{number}"] = terms([said, answer], occasion, f"run_{number}")
    await stores.transact(user.tenant, lambda each: INDEX.put(each, Space(user.principal, space), known))
    return {f"run_{number}": said for number, (said, _) in enumerate(turns)}


async def told(journal: Journal, user: User, space: str, question: str, said: Mapping[str, str]) -> list[str]:
    """What is told by itself before a question, at most five turns, the best first."""
    stores = await take_into_use(journal)
    now = datetime.fromtimestamp(journal.now()).astimezone()
    look = partial(find, space=Space(user.principal, space), question=question, now=now, limit=20)
    hits = await stores.read(user.tenant, look)
    return [said[hit.item] for hit in hits if hit.is_own][:5]


class Outcome(Struct):
    """How the set was answered: how many facts and signs of how many, and about how many questions of nothing a fact,
    or anything, was told.
    """

    facts: int = 0
    signs: int = 0
    fact_of_none: int = 0
    any_of_none: int = 0


async def answered(journal: Journal, user: User, space: str, said: Mapping[str, str]) -> Outcome:
    """Ask all questions."""
    outcome, facts = Outcome(), {each.said for each in asked() if each.said}
    for each in asked():
        found = await told(journal, user, space, each.question, said)
        match each.kind:
            case "fact":
                outcome.facts += each.said in found
            case "sign":
                outcome.signs += each.said in found
            case _:
                outcome.fact_of_none += not facts.isdisjoint(found)
                outcome.any_of_none += bool(found)
    return outcome
