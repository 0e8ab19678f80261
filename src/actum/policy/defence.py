"""The defence against orders in foreign text: which calls it turns into questions, behind the policy. Pure.

It decides of calls that may change something, once the conversation is not clean (`policy.outside`):

    (a) the mandate has the tool                                        else `defence: not asked for`
    (b) each argument that the mandate fixes is as it says              else `defence: another than asked for`
    (c) every other sink was named by somebody whom the user knows      else `defence: nobody you know named NAME`
    (d) ... or by a record that the user named, or is a link on a host that the user named

What a policy denies or asks stays so, and its question then names the values of (c). A rule with `final` is the last
word for what it allows. Where no rule fits, the question that a foreign tool asks by default is lifted where (a) to (d)
hold and the operator has said what the tool does, and which parameters are sinks. A tool's own word lifts nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from urllib.parse import urlsplit

from msgspec import Struct, structs

from ..core.call import ToolCall
from ..core.json import Json, JsonObject, dumps
from ..core.policy import Decision, Facts
from ..core.provenance import Origin, Origins
from ..core.run.mandate import MandatedCall
from ..core.run.risk import VALUES_MAX, Risk, RiskyValue
from ..core.secret_values import secret_paths, shown_call
from ..core.tool import Tool
from ..core.visible import visible
from .border import lower, same_but_for_case
from .origins import INSIDE, comes_from, declared_names, inside, is_relied_on, is_user, written
from .rules import EFFECT

PREFIX = "defence: "
ASKED = f"{PREFIX}asked for"
NOT_ASKED = f"{PREFIX}not asked for"
ANOTHER = f"{PREFIX}another than asked for"
UNKNOWN = f"{PREFIX}nobody you know named "
SHOWN_MAX = 80
"""Characters of a value that are repeated in a question or a refusal."""
_PLAIN = re.compile(r"[\w@.:/+-]+")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_TIME = re.compile(r"[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?: ?(?:Z|[+-]\d{2}:?\d{2}))?", re.ASCII)
"""What stands behind a day: a time, and nothing else."""
LookUp = Callable[[JsonObject], Origins]


class Judged(Struct, frozen=True):
    """What the defence says of a call.

    Attributes:
        decision: the verdict.
        wants_mandate: a mandate could allow the call, and none was made yet.
    """

    decision: Decision
    wants_mandate: bool = False


def judge(tool: Tool, call: ToolCall, decision: Decision, facts: Facts, look_up: LookUp) -> Judged:
    """What becomes of a verdict of the policies.

    Args:
        tool: what the call is for.
        call: the call, with the arguments that the tool gets.
        decision: what the policies say.
        facts: of the run, with its mandate.
        look_up: looks origins up in the conversation, and in those of the runs above.
    """
    lifts = decision == EFFECT and tool.foreign and {"effects", "sinks"} <= set(tool.operator)
    if decision.verdict != "allow" and not lifts:
        return Judged(_with_origins(tool, call, decision, facts, look_up))
    if tool.reads_only or (decision.final and not lifts) or not (lifts or facts.outside):
        return Judged(decision)
    if facts.mandate is None:
        asks = decision if lifts else _asks(NOT_ASKED, Risk(tool.name, facts.outside, is_asked_for=False), decision)
        return Judged(asks, True)
    fault = _fault(tool, call, facts, look_up)
    if fault is not None:
        return Judged(_asks(*fault, decision) if facts.outside else decision)
    return Judged(structs.replace(decision, verdict="allow", rule=ASKED, reason="") if lifts else decision)


def _with_origins(tool: Tool, call: ToolCall, decision: Decision, facts: Facts, look_up: LookUp) -> Decision:
    """A question of the policy after foreign text, with the values that nobody named whom the user knows."""
    if decision.verdict != "ask" or not facts.outside or tool.reads_only:
        return decision
    risk = Risk(tool.name, values=_values(tool, sorted(_unknown(tool, call, facts, look_up)), call, look_up))
    return structs.replace(decision, reason=f"{decision.reason} {risk}".strip(), risk=risk) if risk.values else decision


def _asks(rule: str, risk: Risk, decision: Decision) -> Decision:
    return structs.replace(decision, verdict="ask", rule=rule, reason=str(risk), risk=risk)


def _fault(tool: Tool, call: ToolCall, facts: Facts, look_up: LookUp) -> tuple[str, Risk] | None:
    """Why a call is not what the user asked for: the rule, and the facts for a person. None where nothing is."""
    wanted = [each for each in facts.mandate or () if each.tool == tool.name]
    if not wanted:
        return NOT_ASKED, _not_asked(tool, call, facts, look_up)
    fitting = [each for each in wanted if _fits(each.arguments, call.arguments)]
    if not fitting:
        return ANOTHER, _another(tool, wanted, call, look_up)
    unknown = _unknown(tool, call, facts, look_up)
    left = [sorted(unknown.difference(each.arguments)) for each in fitting]
    names = min(left, key=len)
    if not names:
        return None
    return UNKNOWN + names[0], Risk(tool.name, values=_values(tool, names, call, look_up))


def _unknown(tool: Tool, call: ToolCall, facts: Facts, look_up: LookUp) -> set[str]:
    """The sinks of a call whose values nobody named whom the user knows."""
    declared = frozenset(declared_names(tool.parameters))
    schemas = tool.property_schemas()
    follows_links = tool.effects is not None and tool.effects <= {"read", "send"}

    def is_known(name: str, value: Json) -> bool:
        if value is None or value == []:
            return True  # names nothing
        if comes_from(value, look_up, is_relied_on, lambda: declared, name):
            return True
        if follows_links and schemas.get(name, {}).get("format") == "uri" and _is_known_link(value, look_up):
            return True
        return _is_named_record(value, facts, look_up, name)

    sinks = call.arguments if tool.sinks is None else tool.sinks
    return {name for name in sinks if name in call.arguments and not is_known(name, call.arguments[name])}


def _is_named_record(value: Json, facts: Facts, look_up: LookUp, name: str) -> bool:
    """Whether each plain value is part of a record that the user named, or is known by itself."""
    if isinstance(value, dict):
        return False
    for each in value if isinstance(value, list) else [value]:
        if isinstance(each, dict | list):
            return False
        if comes_from(each, look_up, is_relied_on, frozenset, inside(name)):
            continue
        if not any(_is_users(title, look_up) for title in facts.titles(each)):
            return False
    return True


def _is_users(text: str, look_up: LookUp) -> bool:
    return any(map(is_user, look_up({INSIDE: text}).get(INSIDE, ())))


def _is_known_link(value: Json, look_up: LookUp) -> bool:
    """Whether a link stands as a whole in what was read, and the user named its host."""
    if not isinstance(value, str) or not any(map(_is_whole_result, look_up({INSIDE: value}).get(INSIDE, ()))):
        return False
    try:
        link = urlsplit(value)
        host = link.hostname or ""
    except ValueError:
        return False
    hosts = (host, host.removeprefix("www.")) if link.scheme in ("http", "https") and "@" not in link.netloc else ()
    return any(bool(each) and _is_users(each, look_up) for each in hosts)


def _is_whole_result(origin: Origin) -> bool:
    return origin.source == "tool" and not origin.part


def _fits(fixed: Json, given: Json) -> bool:
    """Whether a value is what a mandate fixes: an object may have further fields, and a day covers a time on it."""
    if isinstance(fixed, dict):
        return isinstance(given, dict) and all(
            name in given and _fits(each, given[name]) for name, each in fixed.items()
        )
    if isinstance(fixed, list):
        if not isinstance(given, list) or len(fixed) != len(given):
            return False
        left = list(given)
        for each in fixed:
            found = next((at for at, other in enumerate(left) if _fits(each, other)), None)
            if found is None:
                return False
            del left[found]
        return True
    if isinstance(given, dict | list):
        return False
    if fixed is None or given is None or isinstance(fixed, bool) or isinstance(given, bool):
        return fixed is given
    one, other = written(fixed), written(given)
    if lower(one) == lower(other) and same_but_for_case(one, other):
        return True
    return _DAY.fullmatch(one) is not None and other.startswith(one) and _TIME.fullmatch(other, len(one)) is not None


# What a person is told ----------------------------------------------------------------------------------------------


def shown(value: Json) -> str:
    """A value in a sentence, no longer than `SHOWN_MAX`: in quotation marks where it could pass for a sentence."""
    is_plain = isinstance(value, str) and _PLAIN.fullmatch(value) is not None
    text = str(value) if is_plain else visible(dumps(value))
    return text if len(text) <= SHOWN_MAX else f'{text[: SHOWN_MAX - 2]}…"'


def _not_asked(tool: Tool, call: ToolCall, facts: Facts, look_up: LookUp) -> Risk:
    """The user did not ask for the tool: what the user asked for, and the values that nobody named."""
    calls = dict.fromkeys(_line(each) for each in facts.mandate or ())
    unknown = sorted(_unknown(tool, call, facts, look_up))
    values = _values(tool, unknown, call, look_up)
    return Risk(tool.name, facts.outside, is_asked_for=False, asked_for=tuple(calls), values=values)


def _line(wanted: MandatedCall) -> str:
    """A call of the mandate in a sentence: `send_mail (to: ada@corp.example)`."""
    fixed = ", ".join(f"{name}: {shown(value)}" for name, value in wanted.arguments.items())
    return f"{wanted.tool} ({fixed})" if fixed else wanted.tool


def _another(tool: Tool, wanted: Sequence[MandatedCall], call: ToolCall, look_up: LookUp) -> Risk:
    nearest = max(wanted, key=lambda each: sum(_fits(v, call.arguments.get(n)) for n, v in each.arguments.items()))
    differ = [name for name, value in nearest.arguments.items() if not _fits(value, call.arguments.get(name))]
    values = _values(tool, differ, call, look_up)
    fixed = shown_call(ToolCall("", tool.name, nearest.arguments), secret_paths(tool.parameters)).arguments
    return Risk(tool.name, values=tuple([structs.replace(each, fixed=shown(fixed[each.name])) for each in values]))


def _values(tool: Tool, names: Sequence[str], call: ToolCall, look_up: LookUp) -> tuple[RiskyValue, ...]:
    """Values of arguments with their origins; in the place of a secret value is `[secret]`."""
    if not names:
        return ()
    told = shown_call(call, secret_paths(tool.parameters)).arguments
    return tuple([_value(name, call.arguments.get(name), told.get(name), look_up) for name in names[:VALUES_MAX]])


def _value(name: str, value: Json, told: Json, look_up: LookUp) -> RiskyValue:
    found = [origin for origins in look_up({name: value}).values() for origin in origins]
    tools = list(dict.fromkeys(origin.tool for origin in found if origin.source == "tool"))
    if tools:
        return RiskyValue(name, shown(told), "tool", tools[0])
    if any(origin.source in ("event", "client", "agent") for origin in found):
        return RiskyValue(name, shown(told), "program")
    return RiskyValue(name, shown(told), "model")
