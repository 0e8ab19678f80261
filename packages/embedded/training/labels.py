"""Chinese questions in which a value stands by the name of its parameter: 帮我报修，品牌是海尔，型号BCD-220.

What a parameter is called in Chinese is read off its own name and its descriptions; where neither tells, it is not said
so.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

from actum.core.json import JsonObject

from .corpus import Asked, Maker, Parameter, Sketch, is_chinese

_FORMS = (
    "{label}是{value}",
    "{label}是{value}",
    "{label}为{value}",
    "{label}：{value}",
    "{label}:{value}",
    "{label} {value}",
    "{label}{value}",
    "{label}{value}",
    "{label}就{value}",
    "{label}写{value}",
    "{label}填{value}",
    "{label}用{value}",
    "{label}要{value}",
    "{label}设为{value}",
    "{label}叫{value}",
    "我的{label}是{value}",
)
_HEADS = (
    "{task}",
    "帮我{task}",
    "我想{task}",
    "我要{task}",
    "我需要{task}",
    "{task}一下",
    "能不能{task}",
    "麻烦{task}",
)
_LABEL = re.compile("[\u4e00-\u9fff]{2,6}")
_NO_LABEL = re.compile("[几哪吗是的要或和与]|多少|什么|如何")
SHORT = 0.3
"""How often a label of four characters or more is said by its last two: 编号 of 预定编号."""


def spelled(maker: Maker, sketch: Sketch) -> Asked | None:
    """A question that says what shall be done, and each value by the name of its parameter; None where some parameter
    that must be filled has no Chinese name.
    """
    tasks = [each.rstrip("。") for each in (*sketch.told, *sketch.names) if is_chinese(each) and len(each) <= TASK_MAX]
    said = [each for each in sketch.parameters if _may_be_said(each)]
    if not tasks or not said or any(each.required and each not in said for each in sketch.parameters):
        return None
    chance = maker.chance
    optional = [each for each in said if not each.required]
    said = [each for each in said if each.required]
    said += chance.sample(optional, chance.randint(not said, min(2, len(optional))))
    if chance.random() < 0.4:
        chance.shuffle(said)
    tool, names = maker.tool(sketch, " ".join(f"{{{each.names[0]}}}" for each in said))
    arguments: JsonObject = {}
    pieces = []
    for each in said:
        words, arguments[names[each.names[0]]] = maker.value(each, "")
        pieces.append(_FORMS[chance.randrange(len(_FORMS))].format(label=_said(each, said, chance), value=words))
    head = chance.choice(_HEADS).format(task=chance.choice(tasks))
    joint = chance.choice(("，", "，", "，", "；", "、", " "))
    told = joint.join(pieces)
    question = f"{told}，{head}" if chance.random() < 0.3 else f"{head}{chance.choice('，，，：。')}{told}"
    return Asked(question + chance.choice(("", "", "。")), (tool,), ((tool.name, arguments),))


TASK_MAX = 14


def with_more(maker: Maker, sketch: Sketch, pattern: str) -> Asked | None:
    """The pattern with an optional parameter said by its name at the end; None where there is none to say."""
    known = {name for each in re.findall(r"\{(\w+)(?:\|(\w+))?", pattern) for name in each}
    more = [each for each in sketch.parameters if not known.intersection(each.names) and _may_be_said(each)]
    if not more or not is_chinese(pattern):
        return None
    each = maker.chance.choice(more)
    tail = maker.chance.choice(_FORMS).format(
        label=_said(each, sketch.parameters, maker.chance), value=f"{{{each.names[0]}}}"
    )
    return maker.ask(sketch, f"{pattern.rstrip('。？?')}，{tail}")


def _may_be_said(parameter: Parameter) -> bool:
    chinese = not parameter.enum or all(map(is_chinese, parameter.enum))
    return bool((parameter.pools or parameter.enum) and parameter.type != "bool" and chinese and _labels(parameter))


def _labels(parameter: Parameter) -> list[str]:
    """What a parameter is called in Chinese."""
    found = [match[0] for each in (*parameter.names, *parameter.told) if (match := _LABEL.match(each))]
    return [each for each in found if not _NO_LABEL.search(each)]


def _said(parameter: Parameter, among: Sequence[Parameter], chance: random.Random) -> str:
    """One of its names, cut short where no other name ends alike."""
    label = chance.choice(_labels(parameter))
    others = [name for each in among if each is not parameter for name in _labels(each)]
    short = len(label) >= 4 and chance.random() < SHORT and not any(name.endswith(label[-2:]) for name in others)
    return label[-2:] if short else label
