"""Who may call what: a policy as a short list of rules, and the two that ship. Pure; no I/O, no clock.

The first rule that fits decides. Where none does, the tool's own words do, and only as far as they are to be trusted:

- A function that a developer passed in `tools=` runs. Passing it is the permission.
- A foreign tool (MCP, A2A, OpenAPI) that only reads runs; one that declares a side effect, or declares nothing, asks.
- A tool that is declared `approval` always asks; only a `deny` is stronger.

`CAREFUL` also asks before every declared side effect of a local tool. The command line uses it, because there nobody
passed the tools in code.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from fnmatch import fnmatchcase
from typing import Literal, get_args

from msgspec import Struct

from ..core.call import ToolCall
from ..core.errors import UsageError
from ..core.interfaces import Decision
from ..core.tool import Effects, Tool

Verdict = Literal["allow", "ask", "deny"]


class Rule(Struct, frozen=True, omit_defaults=True):
    """One line of a policy.

    Attributes:
        verdict: what happens to calls that fit.
        tools: a tool's name, or a pattern of names with `*`.
        effects: fits only tools that declare at least one of these; empty fits all.
        principals: fits only these; empty fits all.
        reason: told to the model and the user.

    >>> Rule("deny", tools="delete_*", reason="Nothing is deleted here.").verdict
    'deny'
    """

    verdict: Verdict
    tools: str = "*"
    effects: AbstractSet[Effects] = frozenset()
    principals: AbstractSet[str] = frozenset()
    reason: str = ""

    def __post_init__(self) -> None:
        wrong = [
            name
            for name, right in {
                "verdict": self.verdict in get_args(Verdict),
                "tools": isinstance(self.tools, str),
                "effects": isinstance(self.effects, AbstractSet) and self.effects <= set(get_args(Effects)),
                "principals": isinstance(self.principals, AbstractSet),
                "reason": isinstance(self.reason, str),
            }.items()
            if not right
        ]
        if wrong:
            raise UsageError(
                f"Rule({wrong[0]}={getattr(self, wrong[0])!r}): a verdict is one of {', '.join(get_args(Verdict))}; "
                f"effects are a set of {', '.join(get_args(Effects))}; principals are a set; tools is a name or pattern"
            )

    def fits(self, tool: Tool, principal: str) -> bool:
        """Whether this rule has a say about this tool in the hands of this principal."""
        return (
            (self.tools == "*" or fnmatchcase(tool.name, self.tools))
            and (not self.effects or bool(self.effects & (tool.effects or frozenset())))
            and (not self.principals or principal in self.principals)
        )


class Rules:
    """A policy: rules in order, then the default that this module's docstring tells.

    Args:
        rules: the first that fits decides.
        careful: ask before declared side effects of local tools too.
    """

    def __init__(self, *rules: Rule, careful: bool = False) -> None:
        self.rules = rules
        self._careful = careful
        self._made = [
            Decision(rule.verdict, f"rule {place}: {rule.verdict} {rule.tools}", rule.reason)
            for place, rule in enumerate(rules, 1)
        ]

    def decide(self, tool: Tool, call: ToolCall, principal: str) -> Decision:
        """Judge a call; see `core.interfaces.Policy`."""
        decision = self._by_rule(tool, principal) or self._by_default(tool)
        if tool.approval and decision.verdict == "allow":
            return _DECLARED
        return decision

    def _by_rule(self, tool: Tool, principal: str) -> Decision | None:
        for rule, decision in zip(self.rules, self._made, strict=True):
            if rule.fits(tool, principal):
                return decision
        return None

    def _by_default(self, tool: Tool) -> Decision:
        if not tool.foreign and not self._careful:
            return _PASSED
        if tool.reads_only:
            return _READS
        if tool.effects is None:
            return _UNDECLARED if tool.foreign else _PASSED
        return _EFFECT


_PASSED = Decision("allow", "default: passed by the developer")
_READS = Decision("allow", "default: only reads")
_EFFECT = Decision("ask", "default: a side effect", "This changes something outside the conversation.")
_UNDECLARED = Decision("ask", "default: undeclared foreign tool", "This tool does not say what it changes.")
_DECLARED = Decision("ask", "declared: needs approval", "This tool asks for approval every time.")

DEFAULT = Rules()
CAREFUL = Rules(careful=True)
