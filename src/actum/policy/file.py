"""A policy in a file, in TOML: it makes the `Rules` of `authorize.py`, and is read again when the file has changed.

    default = "deny"

    [users.ada]
    roles = ["clerk"]

    [[rules]]
    tools = "transfer"
    roles = "clerk"
    when = "args.amount <= 100"
    then = "allow"

The fields of a rule are those of `authorize.Rule`; `expires` is a text such as `"30m"` or a number of seconds. What is
wrong is told with file, line and rule. A file that becomes unusable while it is in use denies everything until it is
mended.
"""

from __future__ import annotations

import logging
import re
import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from ..core.approver import ROLE
from ..core.call import ToolCall
from ..core.errors import UsageError
from ..core.policy import Decision, Facts
from ..core.process.named_file import read_named_text
from ..core.toml import read_toml
from ..core.tool import Effects, Tool
from .origin_condition import taken_out
from .rules import (
    Look,
    Require,
    Rule,
    Rules,
    Verdict,
)

log = logging.getLogger("actum.call")

_HEADER = re.compile(r"^[ \t]*\[\[[ \t]*rules[ \t]*\]\]", re.MULTILINE)
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*([smhdw])")
_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}

Texts = str | list[str]


class _Rule(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A rule as it stands in a file."""

    then: Verdict
    tools: Texts | None = None
    effects: list[Effects] | Effects | None = None
    users: Texts | None = None
    roles: Texts | None = None
    agents: Texts | None = None
    keys: Texts | None = None
    when: str = ""
    reason: str = ""
    require: Require | None = None
    approvers: Texts | None = None
    quorum: int = 1
    expires: str | float | None = None
    not_self: bool | None = None
    final: bool = False


class PolicyUser(Struct, frozen=True, forbid_unknown_fields=True):
    """What a policy knows of a user.

    Attributes:
        roles: the roles of the user.
    """

    roles: list[str] = []


class PolicyText(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A policy as it is written. Its rules are read one by one, so that what is wrong with one has a line.

    Attributes:
        actum: `policy/1`, by which `actum apply` knows the file.
        name: the name under which the policy is published; empty for that of its file.
        rules: the rules, the first that fits decides.
        users: what is known of users, by their names.
        delegates: who may answer for an approver.
        default: what happens where no rule fits.
    """

    actum: Literal["policy/1"] = "policy/1"
    name: str = ""
    rules: list[dict[str, object]] = []
    users: dict[str, PolicyUser] = {}
    delegates: dict[str, list[str]] = {}
    default: Verdict | None = None


def read_policy(text: str, name: str) -> PolicyText:
    """What a text of a policy says; its rules are not checked.

    Args:
        text: TOML.
        name: what the file is called, for errors.

    Raises:
        UsageError: it is no policy.
    """
    try:
        return msgspec.convert(read_toml(text), PolicyText)
    except tomllib.TOMLDecodeError as error:
        raise UsageError("{name}: {why}", name=name, why=error) from None
    except msgspec.ValidationError as error:
        known = ", ".join(PolicyText.__struct_fields__)
        raise UsageError("{file}: {why}. A policy has: {known}", file=name, why=error, known=known) from None


def read_rules(text: str, name: str, *, careful: bool = False) -> Rules:
    """The policy that a text tells.

    Args:
        text: TOML.
        name: what the file is called, for records and errors.
        careful: as in `Rules`, for a file that sets no `default`.

    Raises:
        UsageError: it is no policy; the message names the line and the rule.

    >>> read_rules("[[rules]]\\nthen = 'deny'\\ntools = 'rm_*'", "policy.toml").rules[0].where
    'policy.toml:1'
    """
    file = read_policy(text, name)
    lines = _lines(text, len(file.rules))
    rules = [
        _rule(raw, f"{name}:{line}" if line else f"{name}, rule {place}", place)
        for place, (raw, line) in enumerate(zip(file.rules, lines, strict=True), 1)
    ]
    users = {user: frozenset(facts.roles) for user, facts in file.users.items()}
    return Rules(*rules, careful=careful, default=file.default, users=users, delegates=file.delegates)


class PolicyFile:
    """A `Policy` out of a file. Before each decision it is looked whether the file has changed.

    Args:
        path: the file.
        careful: as in `Rules`, for a file that sets no `default`.

    Raises:
        UsageError: the file can not be read, or is no policy.
    """

    def __init__(self, path: Path | str, *, careful: bool = False) -> None:
        self.path = Path(path)
        self._careful = careful
        self._seen: tuple[int, int, int] | None = _stamp(self.path)
        self._rules = self._read()

    @property
    def rules(self) -> Rules:
        """The rules as the file has them now; where it can not be used, one that denies everything."""
        try:
            stamp = _stamp(self.path)
            if stamp != self._seen:
                self._seen, self._rules = stamp, self._read()
        except UsageError as error:
            log.error("%s can not be used, and everything is denied: %s", self.path, error)
            self._seen = None
            self._rules = Rules(Rule("deny", where=f"{self.path.name} can not be used", reason=_UNUSABLE))
        return self._rules

    @property
    def is_usable(self) -> bool:
        """Whether the file can be used now. While it can not, everything is denied."""
        _ = self.rules
        return self._seen is not None

    def roles_of(self, principal: str) -> frozenset[str]:
        """See `Rules.roles_of`."""
        return self.rules.roles_of(principal)

    @property
    def digest(self) -> str:
        """The digest of the rules as the file has them now; see `Rules.digest`."""
        return self.rules.digest

    def decide(self, tool: Tool, call: ToolCall, facts: Facts) -> Decision:
        """Judge a call; see `core.interfaces.Policy`."""
        return self.rules.decide(tool, call, facts)

    def bars(self, tool: Tool, facts: Facts) -> bool:
        """See `Rules.bars`."""
        return self.rules.bars(tool, facts)

    def explain(self, tool: Tool, call: ToolCall, facts: Facts) -> tuple[list[Look], Decision]:
        """See `Rules.explain`."""
        return self.rules.explain(tool, call, facts)

    def _read(self) -> Rules:
        try:
            text = read_named_text(self.path)
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError("the policy {path} can not be read: {why}", path=self.path, why=error) from None
        return read_rules(text, self.path.name, careful=self._careful)


class Finding(Struct, frozen=True):
    """What can not be meant in a policy that can be read.

    Attributes:
        rule: the rule, as it is called on record.
        problem: what is wrong with it, in a sentence.
        severe: the rule looks as if it protected something, and does not.
    """

    rule: str
    problem: str
    severe: bool = False


def lint(rules: Rules, tools: Sequence[Tool], roles: Collection[str] = ()) -> list[Finding]:
    """What can not be meant in a policy that can be read, the severe first.

    Args:
        rules: the policy.
        tools: those that it is for; empty where that is not known.
        roles: the roles that somebody is known to have, beside the users of the policy.
    """
    known = {*roles, *(role for some in rules.users.values() for role in some)}
    found: list[Finding] = []
    last = ""
    for place, rule in enumerate(rules.rules, 1):
        label = rule.label(place)
        if rule.empty:
            found.append(_never_fits(rule, label))
        elif last:
            found.append(Finding(label, f"is never looked at: {last} fits every call"))
        elif rule.fits_all:
            last = label
        found += [Finding(label, problem) for problem in _in_conditions(rule)]
        found += [Finding(label, problem) for problem in _of_nobody(rule, known)]
        found += [Finding(label, problem) for problem in (_against(rule, tools) if tools and not rule.empty else ())]
    return sorted(found, key=lambda each: not each.severe)


def _never_fits(rule: Rule, label: str) -> Finding:
    name = rule.empty[0]
    if rule.then == "deny":
        told = f"DENIES NOTHING: {name} = [] fits nothing, so this rule holds nobody back; leave {name} out to deny all"
        return Finding(label, told, severe=True)
    return Finding(label, f"never fits: {name} = [] fits nothing; leave {name} out where any will do")


def _of_nobody(rule: Rule, known: Collection[str]) -> Iterator[str]:
    """What speaks against the approvers of a rule, when somebody is known to have these roles."""
    for name in rule.approvers or ():
        role = name.removeprefix(ROLE)
        if name.startswith(ROLE) and role not in known:
            yield (
                f"approvers: nobody is known to have the role {role!r} yet: no user of this policy and no valid key; "
                "until somebody comes in with the role, by a key, a token or a log-in, nobody can answer"
            )


def _in_conditions(rule: Rule) -> Iterator[str]:
    """What speaks against the conditions of a rule, whatever the tools."""
    for source in _sources(rule):
        if _ORIGINS.search(source) and _MACRO.search(source):
            yield (
                "goes through `origins`, where one origin of many decides although the rest of the value came from "
                "elsewhere: write trusted(to) or from_user(to), or ! before it"
            )


def _sources(rule: Rule) -> list[str]:
    """The conditions of a rule, and the arguments of its check."""
    sources = [rule.when] if isinstance(rule.when, str) and rule.when else []
    return sources + ([rule.require.when, *rule.require.args.values()] if rule.require else [])


def _against(rule: Rule, tools: Sequence[Tool]) -> Iterator[str]:
    """What speaks against a rule when these are the tools."""
    fitting = [tool for tool in tools if rule.is_about(tool)]
    if not fitting:
        yield "fits no tool there is"
    parameters = {name for tool in fitting for name in tool.property_schemas()}
    sources = _sources(rule)
    for name in sorted({name for source in sources for name in _ARGUMENT.findall(source)} - parameters):
        if fitting:
            yield f"args.{name}: no tool that it fits has a parameter of this name"
    tests = {str(test): test.names[0] for source in sources for test in taken_out(source)[1].values()}
    for test, name in sorted(tests.items()):
        if fitting and name not in parameters:
            yield f"{test}: no tool that it fits has a parameter of this name, so that it is always false"
    if rule.require is not None:
        checks = [tool for tool in tools if tool.name == rule.require.tool]
        if not checks:
            yield f"requires {rule.require.tool}, and there is no such tool"
        elif not checks[0].reads_only:
            yield f"requires {rule.require.tool}, which is not declared to read only: every call will be denied"


_ARGUMENT = re.compile(r"\bargs\.([A-Za-z_]\w*)")
_ORIGINS = re.compile(r"\borigins\b")
_MACRO = re.compile(r"\.\s*(?:all|exists|exists_one|filter|map)\s*\(")
_UNUSABLE = "The policy can not be read at the moment."


def _stamp(path: Path) -> tuple[int, int, int]:
    """What changes with a file.

    Raises:
        UsageError: it is not there.
    """
    try:
        facts = path.stat()
    except (OSError, ValueError) as error:
        raise UsageError("the policy {path} can not be read: {why}", path=path, why=error) from None
    return facts.st_mtime_ns, facts.st_size, facts.st_ino


def _rule(raw: Mapping[str, object], where: str, place: int) -> Rule:
    try:
        said = msgspec.convert(raw, _Rule)
    except msgspec.ValidationError as error:
        known = ", ".join(_Rule.__struct_fields__)
        raise UsageError(
            "{place}: rule {number}: {why}. A rule has: {known}", place=where, number=place, why=error, known=known
        ) from None
    try:
        return Rule(
            said.then,
            tools=said.tools,
            effects=None
            if said.effects is None
            else frozenset([said.effects] if isinstance(said.effects, str) else said.effects),
            users=said.users,
            roles=said.roles,
            agents=said.agents,
            keys=said.keys,
            when=said.when,
            reason=said.reason,
            require=said.require,
            approvers=[said.approvers] if isinstance(said.approvers, str) else said.approvers,
            quorum=said.quorum,
            expires_s=None if said.expires is None else _seconds(said.expires),
            not_self=said.not_self,
            final=said.final,
            where=where,
        )
    except UsageError as error:
        raise UsageError("{place}: rule {number}: {why}", place=where, number=place, why=error) from None


def _seconds(said: str | float) -> float:
    """A time span: a number of seconds, or a number and its unit.

    >>> _seconds("30m"), _seconds("7d"), _seconds(5)
    (1800.0, 604800.0, 5.0)
    """
    if not isinstance(said, str):
        return float(said)
    found = _DURATION.fullmatch(said.strip())
    if found is None:
        raise UsageError('expires = {said!r}: write a number and its unit, such as "30m", "12h" or "7d"', said=said)
    return float(found[1]) * _SECONDS[found[2]]


def _lines(text: str, count: int) -> list[int]:
    """The lines on which the rules begin; 0 where that can not be told, as with rules that stand in a row."""
    found: list[int] = []
    line, seen = 1, 0
    for header in _HEADER.finditer(text):
        line, seen = line + text.count("\n", seen, header.start()), header.start()
        found.append(line)
    return found if len(found) == count else [0] * count
