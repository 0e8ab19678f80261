"""Who may call what: a policy as a list of rules, and the two that ship. Pure but for the links of local paths.

The first rule that fits decides. A condition that has no value denies: nobody knows whether the rule fits. Where no
rule fits, the policy's own `default` does, and where it has none the tool's own words, as far as they are to be
trusted:

- A function that a developer passed in `tools=` runs. Passing it is the permission.
- A foreign tool (MCP, A2A, OpenAPI) that only reads runs; one that declares a side effect, or declares nothing, asks.
- A tool that is declared `approval` always asks; only a `deny` is stronger.

`CAREFUL` also asks before every declared side effect of a local tool. The command line uses it, because there nobody
passed the tools in code; so does an agent without a policy whose model is supervised (`core.model.Supervised`).
How a policy is read from a file stands in `policy.py`.
"""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from collections.abc import Set as AbstractSet
from datetime import UTC, datetime
from fnmatch import translate
from functools import cached_property
from typing import Literal, Protocol, get_args, runtime_checkable

import msgspec
from msgspec import Struct

from ..core.approver import AT, ROLE, USER, is_approver, voter
from ..core.call import ToolCall
from ..core.errors import UsageError
from ..core.json import Json, JsonObject
from ..core.policy import Decision, Facts, Requirement
from ..core.tool import Effects, Tool
from .condition import VARIABLES, Condition, ConditionFailed, check_bounds
from .origin_condition import OriginTest
from .origins import (
    comes_from,
    declared_names,
    inside,
    is_relied_on,
    is_user,
    values_at,
)

log = logging.getLogger("actum.call")

Verdict = Literal["allow", "ask", "deny"]
Patterns = str | Collection[str]
"""A pattern of names, or several; a name fits where one of them does, so that an empty list fits none."""
Predicate = Callable[[ToolCall, Facts], bool]
"""A condition in Python: whether a rule fits this call."""

DEFAULT_LABEL = "default"


class Require(Struct, frozen=True, forbid_unknown_fields=True):
    """A call that only reads, made and put on record before the call that a rule is about, and again after approval.

    Attributes:
        tool: the tool; it must be declared to read only.
        args: its arguments, each a CEL expression of what a rule's condition may speak of.
        when: a CEL condition that must hold; `check` is what the tool returned.
        reason: told to the model and the user when it does not hold; else the rule's own is.
        parallel: calls under this check may be made side by side. Else calls of one run that stand under a check of the
            same tool, and may change something, are made one after the other, each with its own check right before it.
    """

    tool: str
    when: str
    args: Mapping[str, str] = {}
    reason: str = ""
    parallel: bool = False


class Rule(Struct, frozen=True, omit_defaults=True):
    """One line of a policy. What is None fits all, an empty list fits nothing; a pattern may hold `*`.

    Attributes:
        then: what happens to calls that fit: `allow`, `ask` a person, or `deny`.
        tools: names of tools, or patterns of them.
        effects: fits only tools that declare at least one of these.
        users: fits only when one of these patterns is on whose behalf the run acts.
        roles: fits only who has one of these roles.
        agents: fits only agents of these names.
        keys: fits only when the run was asked for with an API key of these ids.
        when: a CEL condition, or a Python predicate of the call and the facts.
        reason: told to the model and the user.
        require: a check that comes first.
        approvers: with `ask`, who may answer, each in a form of `core.approver`: `ada`, `role:boss`, `ada@north`; None
            for anybody.
        quorum: how many of them have to agree.
        expires_s: seconds in which they have to; None for the run's default.
        not_self: with `ask`, the person whom the run is on behalf of may not approve. None: that person may, unless
            `quorum` is above one. Where the rule says `not_self` and nobody knows whom the run is on behalf of, the
            call is denied.
        final: with `allow`, the last word: the defence asks nobody about these calls; see `policy.defence`.
        where: the place in a file, for the record.

    >>> Rule("deny", tools="delete_*", reason="Nothing is deleted here.").then
    'deny'
    """

    then: Verdict
    tools: Patterns | None = None
    effects: AbstractSet[Effects] | None = None
    users: Patterns | None = None
    roles: Patterns | None = None
    agents: Patterns | None = None
    keys: Patterns | None = None
    when: str | Predicate = ""
    reason: str = ""
    require: Require | None = None
    approvers: Collection[str] | None = None
    quorum: int = 1
    expires_s: float | None = None
    not_self: bool | None = None
    final: bool = False
    where: str = ""

    def __post_init__(self) -> None:
        wrong = [
            name
            for name, right in {
                "then": self.then in get_args(Verdict),
                "effects": self.effects is None
                or (isinstance(self.effects, AbstractSet) and self.effects <= set(get_args(Effects))),
                "when": isinstance(self.when, str) or callable(self.when),
                "reason": isinstance(self.reason, str),
                "require": self.require is None or isinstance(self.require, Require),
                "approvers": self.approvers is None
                or (_are_patterns(self.approvers) and not isinstance(self.approvers, str)),
                "quorum": isinstance(self.quorum, int) and not isinstance(self.quorum, bool) and self.quorum > 0,
                "not_self": self.not_self is None or isinstance(self.not_self, bool),
                "expires_s": self.expires_s is None or self.expires_s > 0,
                **{name: _are_patterns(getattr(self, name)) for name in _GIVEN},
            }.items()
            if not right
        ]
        if wrong:
            raise UsageError(
                "Rule({wrong}={given!r}): `then` is one of {known}; effects are a set of "
                "{other_known}; tools, users, roles, agents and keys are a pattern or several; "
                "quorum and expires_s are above 0",
                wrong=wrong[0],
                given=getattr(self, wrong[0]),
                known=", ".join(get_args(Verdict)),
                other_known=", ".join(get_args(Effects)),
            )
        if self.approvers is not None and not self.approvers:
            raise UsageError("approvers = []: nobody could ever answer; leave approvers out where anybody may")
        if unclear := [name for name in self.approvers or () if not is_approver(name)]:
            raise UsageError("approvers: {name!r}: write a user, user:NAME, NAME@TENANT or role:ROLE", name=unclear[0])
        if self.then != "ask" and (
            self.approvers is not None or self.quorum != 1 or self.expires_s is not None or self.not_self
        ):
            raise UsageError("approvers, quorum, expires_s and not_self belong to a rule that asks")
        if self.quorum > 1 and self.not_self is False:
            raise UsageError(
                "quorum = {quorum}, not_self = false: where several have to agree, whoever began the "
                "run is never one of them; leave not_self out",
                quorum=self.quorum,
            )
        if self.final and self.then != "allow":
            raise UsageError("final belongs to a rule that allows: what a rule asks or denies stays so in any case")
        if self.then == "deny" and self.require is not None:
            raise UsageError("a rule that denies requires nothing to be looked up first")

    def label(self, number: int) -> str:
        """What it is called on record; `number` is its place among the rules, from 1."""
        names = "*" if self.tools is None else " ".join(_several(self.tools)) or "[]"
        return f"{self.where or f'rule {number}'}: {self.then} {names}"

    @property
    def fits_all(self) -> bool:
        """There is no call that it does not fit."""
        patterns = [getattr(self, name) for name in _GIVEN]
        return (
            self.effects is None and not self.when and all(each is None or "*" in _several(each) for each in patterns)
        )

    @property
    def empty(self) -> tuple[str, ...]:
        """The fields that are empty lists, by which the rule fits no call at all."""
        return tuple(name for name in (*_GIVEN, "effects") if _is_empty(getattr(self, name)))

    def is_about(self, tool: Tool) -> bool:
        """Whether it can fit calls of this tool."""
        if self.effects is not None and self.effects.isdisjoint(tool.effects or ()):
            return False
        return self.tools is None or bool(_compiled(_several(self.tools))(tool.name))


class Look(Struct, frozen=True):
    """What came of looking at a rule; see `Rules.explain`.

    Attributes:
        rule: the rule, as it is called on record; `default` where none fits.
        why_not: why it does not fit, or nobody knows whether it does; empty where it does.
    """

    rule: str
    why_not: str = ""


@runtime_checkable
class Barring(Protocol):
    """A policy that can tell of a tool alone that it is denied."""

    def bars(self, tool: Tool, facts: Facts) -> bool:
        """Whether every call of a tool would be denied, whatever its arguments."""


class Rules:
    """A policy: rules in order, then the default that this module's docstring tells.

    Args:
        rules: the first that fits decides.
        careful: ask before declared side effects of local tools too.
        default: what happens where no rule fits, instead.
        users: the roles that users have, beside those that a run is started with.
        delegates: who may answer for an approver.

    Raises:
        UsageError: a condition is no CEL; approvers are nobody, or users alone and fewer than the quorum.
    """

    def __init__(
        self,
        *rules: Rule,
        careful: bool = False,
        default: Verdict | None = None,
        users: Mapping[str, Collection[str]] | None = None,
        delegates: Mapping[str, Collection[str]] | None = None,
    ) -> None:
        if default is not None and default not in get_args(Verdict):
            raise UsageError(
                "default={default!r}: it is one of {known}", default=default, known=", ".join(get_args(Verdict))
            )
        self.rules = rules
        self.users = {name: frozenset(roles) for name, roles in (users or {}).items()}
        self._delegates = delegates or {}
        self._careful = careful
        self._default = default and Decision(default, f"default: {default}", _DEFAULT_REASONS[default])
        self._ready = [self._prepared(rule, rule.label(place)) for place, rule in enumerate(rules, 1)]
        for place, rule in enumerate(rules, 1):
            if rule.then == "deny" and rule.empty:
                log.warning("%s denies nothing: %s = [] fits nothing", rule.label(place), rule.empty[0])

    def roles_of(self, principal: str) -> frozenset[str]:
        """The roles that the policy knows a user to have, beside those that a run is started with."""
        return self.users.get(principal, frozenset())

    @cached_property
    def digest(self) -> str:
        """SHA-256 of what the policy decides by, hexadecimal: the same in every process, wherever its file lies. Of a
        condition in Python only the name of the function is covered.
        """
        rules = [msgspec.structs.replace(rule, where="") for rule in self.rules]
        delegates = {name: sorted(others) for name, others in self._delegates.items()}
        said = [rules, self._careful, self._default, self.users, delegates]
        plain = msgspec.to_builtins(said, order="deterministic", enc_hook=_named)
        return hashlib.sha256(msgspec.json.encode(plain)).hexdigest()

    def decide(self, tool: Tool, call: ToolCall, facts: Facts) -> Decision:
        """Judge a call; see `core.interfaces.Policy`."""
        decision = self._judge(_Case(tool, call, facts, self.users))[1]
        if tool.approval and decision.verdict == "allow":
            return msgspec.structs.replace(decision, verdict="ask", rule=DECLARED, reason=_DECLARED_REASON)
        return decision

    def bars(self, tool: Tool, facts: Facts) -> bool:
        """Whether every call of a tool would be denied, whatever its arguments; nobody needs to be shown it."""
        case = _Case(tool, ToolCall(id="", name=tool.name, arguments={}), facts, self.users)
        for ready in self._ready:
            verdict = ready.outright(case)
            if verdict is not None:
                return verdict == "deny"
        return self._by_default(tool).verdict == "deny"

    def explain(self, tool: Tool, call: ToolCall, facts: Facts) -> tuple[list[Look], Decision]:
        """Judge a call, and tell which rules were looked at, the one that fits last."""
        case = _Case(tool, call, facts, self.users)
        number, decision = self._judge(case)
        looks = [Look(ready.label, ready.why_not(case)) for ready in self._ready[:number]]
        label = self._ready[number].label if number < len(self._ready) else DEFAULT_LABEL
        failed = decision.rule.removeprefix(f"{label}: ") if number < len(self._ready) else ""
        return [*looks, Look(label, "" if failed == label else failed)], self.decide(tool, call, facts)

    def _judge(self, case: _Case) -> tuple[int, Decision]:
        """What the first rule that fits says, and its place from 0; the number of rules where none fits."""
        for place, ready in enumerate(self._ready):
            decision = ready.judge(case)
            if decision is not None:
                return place, decision
        return len(self._ready), self._by_default(case.tool)

    def _prepared(self, rule: Rule, label: str) -> _Ready:
        try:
            return _Ready(rule, label, self._approvers(rule))
        except UsageError as error:
            raise UsageError("{label}: {why}", label=label, why=error) from None

    def _approvers(self, rule: Rule) -> tuple[str, ...] | None:
        """Those that may answer, delegates and users whom this policy knows to have a role included; None for anybody.

        A role stays among them: who comes in with the role is known when an answer comes.
        """
        if rule.approvers is None:
            return None
        named: list[str] = []
        for name in rule.approvers:
            named.append(_plain(name))
            if name.startswith(ROLE):
                named += [user for user, roles in self.users.items() if name.removeprefix(ROLE) in roles]
        standing_in = [other for name in named for other in self._delegates.get(name, ())]
        if standing_in and rule.quorum > 1:
            raise UsageError(
                "quorum = {quorum}: {standing_in} would count beside those they stand in for; name "
                "all who may answer as approvers instead",
                quorum=rule.quorum,
                standing_in=", ".join(standing_in),
            )
        found = tuple(dict.fromkeys([*named, *standing_in]))
        if not _has_role(found) and len(found) < rule.quorum:
            raise UsageError("quorum = {quorum}: there are {count} approvers", quorum=rule.quorum, count=len(found))
        return found

    def _by_default(self, tool: Tool) -> Decision:
        if self._default:
            return self._default
        if not tool.foreign and not self._careful:
            return _PASSED
        if tool.reads_only:
            return _READS
        if tool.effects is None:
            return _UNDECLARED if tool.foreign else _PASSED
        return _PASSED if tool.confirms and not tool.foreign else EFFECT


def _plain(name: str) -> str:
    """An approver in the shortest of its forms, so that nobody is counted twice."""
    short = name.removeprefix(USER)
    return name if AT in short or short.startswith((ROLE, USER)) else short


def _has_role(approvers: Iterable[str]) -> bool:
    """Whether nobody can tell how many persons these are."""
    return any(name.startswith(ROLE) for name in approvers)


def _named(thing: object) -> str:
    """A condition in Python, as far as another process knows it too."""
    return str(getattr(thing, "__qualname__", type(thing).__qualname__))


class _Case(Struct, dict=True):
    """A call to be judged, in the shapes in which rules look at it."""

    tool: Tool
    call: ToolCall
    facts: Facts
    users: Mapping[str, AbstractSet[str]]

    @cached_property
    def roles(self) -> AbstractSet[str]:
        return self.users.get(self.facts.principal, frozenset()) | set(self.facts.roles)

    @cached_property
    def _declared(self) -> frozenset[str]:
        return frozenset(declared_names(self.tool.parameters))

    @cached_property
    def _plain(self) -> dict[str, object]:
        return {
            "args": self.call.arguments,
            "user": self.facts.principal,
            "roles": sorted(self.roles),
            "agent": self.facts.agent,
            "key": self.facts.key_id,
            "tool": self.tool.name,
            "effects": sorted(self.tool.effects or ()),
            "now": datetime.fromtimestamp(self.facts.now, UTC),
        }

    def variables(self, condition: Condition) -> dict[str, object]:
        """What a condition speaks of. Origins are looked up only for a condition that speaks of them.

        Raises:
            ConditionFailed: the arguments hold too many values, or origins are not known of all of them.
        """
        found: dict[str, object] = {} if "clean" not in condition.names else {"clean": not self.facts.outside}
        if "origins" not in condition.names and not condition.tests:
            return self._plain | found if found else self._plain
        check_bounds({"args": self.call.arguments})
        found |= {name: self._passes(test) for name, test in condition.tests.items()}
        if "origins" in condition.names:
            origins = self.facts.origins(self.call.arguments)
            if any(origin.unsearched for some in origins.values() for origin in some):
                raise ConditionFailed("the arguments hold too much to find out where each value came from")
            found["origins"] = {
                path: [msgspec.structs.asdict(origin) for origin in some] for path, some in origins.items()
            }
        return self._plain | found

    def _passes(self, test: OriginTest) -> bool:
        accept = is_relied_on if test.function == "trusted" else is_user
        values = values_at(self.call.arguments, test.names)
        name = test.names[0] if len(test.names) == 1 else inside(test.names[-1])
        return all(comes_from(value, self.facts.origins, accept, lambda: self._declared, name) for value in values)


_GIVEN: dict[str, Callable[[_Case], Collection[str]]] = {
    "tools": lambda case: (case.tool.name,),
    "users": lambda case: (case.facts.principal,),
    "roles": lambda case: case.roles,
    "agents": lambda case: (case.facts.agent,),
    "keys": lambda case: (case.facts.key_id,),
}
"""What each field of patterns is held against."""


class _Ready:
    """A rule with its patterns and conditions compiled."""

    def __init__(self, rule: Rule, label: str, approvers: tuple[str, ...] | None) -> None:
        self.label = label
        self._rule = rule
        self._patterns = [
            (name, given, _compiled(patterns))
            for name, given in _GIVEN.items()
            if (said := getattr(rule, name)) is not None and "*" not in (patterns := _several(said))
        ]
        self._decision = Decision(
            rule.then, label, rule.reason, approvers, rule.quorum, rule.expires_s, final=rule.final
        )
        self._not_self = rule.then == "ask" and (rule.not_self or rule.quorum > 1)
        self._is_demanded = bool(rule.not_self)
        self._effects = rule.effects
        self._when = None if not rule.when else Condition(rule.when) if isinstance(rule.when, str) else rule.when
        self._required = _Required(rule.require, rule.reason) if rule.require else None

    def judge(self, case: _Case) -> Decision | None:
        """What the rule says of a call; None where it does not fit."""
        try:
            if self.misfit(case):
                return None
            if self._required is None and not self._not_self:
                return self._decision
            require = None if self._required is None else self._required.of(case)
            return self._by_another(msgspec.structs.replace(self._decision, require=require), case.facts)
        except ConditionFailed as failed:
            return Decision("deny", f"{self.label}: its condition has no value: {failed}", _FAILED_REASON)

    def _by_another(self, decision: Decision, facts: Facts) -> Decision:
        """The decision, which another person than the run's own has to take where the rule wants that."""
        if not self._not_self:
            return decision
        principal = facts.principal
        if not principal and self._is_demanded:
            return Decision("deny", f"{self.label}: nobody knows whom the run is on behalf of", _NOBODY_KNOWN)
        own = voter(principal, tenant=facts.tenant, run_tenant=facts.tenant).names
        others = None if decision.approvers is None else tuple(n for n in decision.approvers if n not in own)
        if others is not None and not _has_role(others) and len(others) < decision.quorum:
            return Decision("deny", f"{self.label}: {principal} may not approve, and no others are left", _NO_OTHERS)
        return msgspec.structs.replace(decision, approvers=others, not_by=principal)

    def outright(self, case: _Case) -> Verdict | None:
        """What can come of the rule for any call of a tool: None where it fits none, or denies only some."""
        if self._unfit(case):
            return None
        if self._when is None:
            return self._decision.verdict
        return None if self._decision.verdict == "deny" else self._decision.verdict

    def misfit(self, case: _Case) -> str:
        """The field by which the rule does not fit; empty where it does.

        Raises:
            ConditionFailed: nobody knows.
        """
        return self._unfit(case) or ("" if self._when is None or self._holds(self._when, case) else "when")

    def _unfit(self, case: _Case) -> str:
        """The same, but for its condition."""
        for name, given, fits in self._patterns:
            for value in given(case):
                if fits(value):
                    break
            else:
                return name
        if self._effects is not None and self._effects.isdisjoint(case.tool.effects or ()):
            return "effects"
        return ""

    def why_not(self, case: _Case) -> str:
        """Why the rule does not fit, in words."""
        name = self.misfit(case)
        if name == "when":
            return f"when: {self._rule.when} is false"
        if name in self._rule.empty:
            return f"{name}: an empty list fits nothing"
        given = (case.tool.effects or ()) if name == "effects" else _GIVEN[name](case)
        return f"{name}: {_listed(given)} is none of {_listed(_several(getattr(self._rule, name)))}"

    def _holds(self, when: Condition | Predicate, case: _Case) -> bool:
        if isinstance(when, Condition):
            return when.holds(case.variables(when), local=case.tool.paths_are_local)
        try:
            held = when(case.call, case.facts)
        except Exception as error:  # a predicate of the program's own: the record hears of it, and the call is denied
            raise ConditionFailed(type(error).__name__) from error
        if not isinstance(held, bool):
            raise ConditionFailed(f"it comes to a {type(held).__name__}, not to true or false")
        return held


class _Required:
    """A `Require` with its expressions compiled."""

    def __init__(self, require: Require, reason: str) -> None:
        self._tool = require.tool
        self._reason = require.reason or reason
        self._parallel = require.parallel
        self._args = {name: Condition(source) for name, source in require.args.items()}
        self._when = Condition(require.when, (*VARIABLES, "check"))

    def of(self, case: _Case) -> Requirement:
        """The check for one call.

        Raises:
            ConditionFailed: one of its arguments has no value.
        """
        local = case.tool.paths_are_local
        values = {name: each.value(case.variables(each), local=local) for name, each in self._args.items()}

        def fault(check: Json) -> str:
            try:
                held = self._when.holds(case.variables(self._when) | {"check": check}, local=local)
            except ConditionFailed as failed:
                return f"{self._when.source} has no value: {failed}"
            return "" if held else f"{self._when.source} is false"

        arguments: JsonObject = msgspec.to_builtins(values)  # a moment in time becomes its text
        return Requirement(self._tool, arguments, fault, self._reason, self._parallel)


def _several(patterns: Patterns) -> Collection[str]:
    return (patterns,) if isinstance(patterns, str) else patterns


def _is_empty(given: Collection[str] | None) -> bool:
    return given is not None and not isinstance(given, str) and not given


def _compiled(patterns: Collection[str]) -> Callable[[str], object]:
    """Tells whether a name fits one of the patterns; none fits where there are none."""
    return re.compile("|".join(map(translate, patterns)) or "(?!)").match


def _are_patterns(value: object) -> bool:
    if value is None or isinstance(value, str):
        return True
    return isinstance(value, list | tuple | AbstractSet) and all(isinstance(item, str) for item in value)


def _listed(values: Collection[str]) -> str:
    return ", ".join(sorted(value or "(nobody)" for value in values)) or "(none)"


_NOBODY_KNOWN = (
    "Another person than the one who began this has to approve it, and who began it is not known: give `principal=`."
)
_NO_OTHERS = "Another person than the one who began this has to approve it, and there are not enough others who may."
_PASSED = Decision("allow", "default: passed by the developer")
_READS = Decision("allow", "default: only reads")
EFFECT = Decision("ask", "default: a side effect", "This changes something outside the conversation.")
"""The question of a tool that declares a side effect, where no rule fits."""
_UNDECLARED = Decision("ask", "default: undeclared foreign tool", "This tool does not say what it changes.")
DECLARED = "declared: needs approval"
"""The rule on record of a call that nobody but the tool itself wants approved."""
_DECLARED_REASON = "This tool asks for approval every time."
_FAILED_REASON = "The policy could not judge this call."
_DEFAULT_REASONS: dict[Verdict, str] = {
    "allow": "",
    "ask": "No rule allows this without a person.",
    "deny": "Nothing allows it.",
}

DEFAULT = Rules()
CAREFUL = Rules(careful=True)
