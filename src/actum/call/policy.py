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
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from ..core.call import ToolCall
from ..core.errors import UsageError
from ..core.interfaces import Decision, Facts
from ..core.tool import Effects, Tool
from .authorize import Look, Require, Rule, Rules, Verdict

log = logging.getLogger("actum.call")

_HEADER = re.compile(r"^[ \t]*\[\[[ \t]*rules[ \t]*\]\]", re.MULTILINE)
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*([smhdw])")
_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}

Texts = str | list[str]


class _Rule(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A rule as it stands in a file."""

    then: Verdict
    tools: Texts = "*"
    effects: list[Effects] | Effects = []
    users: Texts = []
    roles: Texts = []
    agents: Texts = []
    keys: Texts = []
    when: str = ""
    reason: str = ""
    require: Require | None = None
    approvers: Texts = []
    quorum: int = 1
    expires: str | float | None = None


class _User(Struct, frozen=True, forbid_unknown_fields=True):
    roles: list[str] = []


class _File(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file; its rules are read one by one, so that what is wrong with one has a line."""

    rules: list[dict[str, object]] = []
    users: dict[str, _User] = {}
    delegates: dict[str, list[str]] = {}
    default: Verdict | None = None


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
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{name}: {error}") from None
    try:
        file = msgspec.convert(found, _File)
    except msgspec.ValidationError as error:
        raise UsageError(f"{name}: {error}. A policy has: {', '.join(_File.__struct_fields__)}") from None
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

    def __init__(self, path: Path, *, careful: bool = False) -> None:
        self.path = path
        self._careful = careful
        self._seen: tuple[int, int, int] | None = _stamp(path)
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
            text = self.path.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"the policy {self.path} can not be read: {error}") from None
        return read_rules(text, self.path.name, careful=self._careful)


def lint(rules: Rules, tools: Sequence[Tool]) -> list[tuple[str, str]]:
    """What can not be meant in a policy that can be read: pairs of a rule and a sentence.

    Args:
        tools: those that it is for; empty where that is not known.
    """
    found: list[tuple[str, str]] = []
    last = ""
    for place, rule in enumerate(rules.rules, 1):
        label = rule.label(place)
        if last:
            found.append((label, f"is never looked at: {last} fits every call"))
        elif rule.fits_all:
            last = label
        found += [(label, problem) for problem in (_against(rule, tools) if tools else ())]
    return found


def _against(rule: Rule, tools: Sequence[Tool]) -> Iterator[str]:
    """What speaks against a rule when these are the tools."""
    fitting = [tool for tool in tools if rule.is_about(tool)]
    if not fitting:
        yield "fits no tool there is"
    parameters = {name for tool in fitting for name in tool.property_schemas()}
    sources = [rule.when] if isinstance(rule.when, str) else []
    sources += [rule.require.when, *rule.require.args.values()] if rule.require else []
    for name in sorted({name for source in sources for name in _ARGUMENT.findall(source)} - parameters):
        if fitting:
            yield f"args.{name}: no tool that it fits has a parameter of this name"
    if rule.require is not None:
        checks = [tool for tool in tools if tool.name == rule.require.tool]
        if not checks:
            yield f"requires {rule.require.tool}, and there is no such tool"
        elif not checks[0].reads_only:
            yield f"requires {rule.require.tool}, which is not declared to read only: every call will be denied"


_ARGUMENT = re.compile(r"\bargs\.([A-Za-z_]\w*)")
_UNUSABLE = "The policy can not be read at the moment."


def _stamp(path: Path) -> tuple[int, int, int]:
    """What changes with a file.

    Raises:
        UsageError: it is not there.
    """
    try:
        facts = path.stat()
    except (OSError, ValueError) as error:
        raise UsageError(f"the policy {path} can not be read: {error}") from None
    return facts.st_mtime_ns, facts.st_size, facts.st_ino


def _rule(raw: Mapping[str, object], where: str, place: int) -> Rule:
    try:
        said = msgspec.convert(raw, _Rule)
    except msgspec.ValidationError as error:
        known = ", ".join(_Rule.__struct_fields__)
        raise UsageError(f"{where}: rule {place}: {error}. A rule has: {known}") from None
    try:
        return Rule(
            said.then,
            tools=said.tools,
            effects=frozenset([said.effects] if isinstance(said.effects, str) else said.effects),
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
            where=where,
        )
    except UsageError as error:
        raise UsageError(f"{where}: rule {place}: {error}") from None


def _seconds(said: str | float) -> float:
    """A time span: a number of seconds, or a number and its unit.

    >>> _seconds("30m"), _seconds("7d"), _seconds(5)
    (1800.0, 604800.0, 5.0)
    """
    if not isinstance(said, str):
        return float(said)
    found = _DURATION.fullmatch(said.strip())
    if found is None:
        raise UsageError(f'expires = {said!r}: write a number and its unit, such as "30m", "12h" or "7d"')
    return float(found[1]) * _SECONDS[found[2]]


def _lines(text: str, count: int) -> list[int]:
    """The lines on which the rules begin; 0 where that can not be told, as with rules that stand in a row."""
    found = [text.count("\n", 0, header.start()) + 1 for header in _HEADER.finditer(text)]
    return found if len(found) == count else [0] * count
