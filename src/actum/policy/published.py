"""Policies that tenants have published: `policy = "published:house"` in `actum.toml`, one policy for each tenant.

A published policy holds as a policy in a file does: each call is judged by the policy that is in use at that moment,
also in runs that began before the policy was published. The rule on record names the publication: `house@3:12`, the
line 12 of publication 3. A tenant that has not published the policy is denied every call.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from ..core.call import ToolCall
from ..core.definition import BadText, DefinitionChange, ReadDefinition, TextProblem, fields_differ
from ..core.errors import UsageError
from ..core.json import JsonObject
from ..core.policy import Decision, Facts, Policy
from ..core.process.worker_thread import off_loop
from ..core.stored.definitions import Definitions, reference
from ..core.tool import Tool
from .file import PolicyText, read_policy, read_rules
from .rules import Rule, Rules

POLICY: Final = "policy"
"""The kind of these definitions."""
PUBLISHED: Final = "published:"
TENANTS_MAX = 1_000
"""The number of tenants whose policies are kept."""
POLICY_CHARS_MAX = 200_000
"""A longer policy would hold up the calls that it judges."""

_LINE = re.compile(r"\Apolicy:(\d+)|\(at line (\d+), column (\d+)\)")


def policy_named(setting: str) -> str:
    """The published policy that the setting `policy` names; empty for a file.

    Args:
        setting: the value in `actum.toml`.

    Raises:
        UsageError: the name is none, or has a version.

    >>> policy_named("published:house"), policy_named("policy.toml")
    ('house', '')
    """
    if not setting.startswith(PUBLISHED):
        return ""
    name, number = reference(setting.removeprefix(PUBLISHED))
    if number is not None:
        raise UsageError(
            "policy = {setting!r}: a policy is always the one in use; write published:{name}",
            setting=setting,
            name=name,
        )
    return name


class PublishedPolicy:
    """The policy of a name that each tenant has published; a `Policy`.

    Args:
        name: the name.
        definitions: keeps the texts; None where nothing is judged.
        careful: as in `Rules`, for a text that sets no `default`.
    """

    def __init__(self, name: str, definitions: Definitions | None, *, careful: bool = False) -> None:
        self.name = name
        self._definitions = definitions
        self._careful = careful
        self._known: dict[str, tuple[int, Rules]] = {}
        where = f"{PUBLISHED}{name}"
        self._none = Rules(Rule("deny", where=where, reason=f"No policy {name!r} is published."))

    @property
    def digest(self) -> str:
        """What tells the policy from others. A run goes on when another version is in use."""
        return PUBLISHED + self.name

    async def look(self, tenant: str) -> Rules:
        """Look which policy is in use for a tenant; what is judged from now on is judged by that policy.

        Args:
            tenant: the tenant.

        Returns:
            The rules; where the tenant has none that can be used, one that denies everything.

        Raises:
            JournalError: the journal does not answer.
        """
        assert self._definitions is not None, "the texts are kept in a journal"
        made = await self._definitions.publications_made(POLICY, tenant=tenant)
        known = self._known.get(tenant)
        if known is None or known[0] != made:
            known = made, await self._read(self._definitions, tenant)
            while len(self._known) >= TENANTS_MAX:
                del self._known[next(iter(self._known))]
            self._known[tenant] = known
        return known[1]

    async def _read(self, definitions: Definitions, tenant: str) -> Rules:
        found = await definitions.published(POLICY, self.name, tenant=tenant)
        if found is None:
            return self._none
        where = f"{found.name}@{found.number}"
        try:
            return await off_loop(len(found.text), _rules_of, found.text, where, self._careful)
        except UsageError:  # an earlier version of the program could read the text
            return Rules(Rule("deny", where=f"{where} can not be used", reason="The policy can not be read."))

    def _rules(self, facts: Facts) -> Rules:
        return self._known.get(facts.tenant, (0, self._none))[1]

    def decide(self, tool: Tool, call: ToolCall, facts: Facts) -> Decision:
        """Judge a call by the policy of its tenant that `look` found last; see `core.policy.Policy`."""
        return self._rules(facts).decide(tool, call, facts)

    def bars(self, tool: Tool, facts: Facts) -> bool:
        """See `Rules.bars`."""
        return self._rules(facts).bars(tool, facts)


async def look_at(policy: Policy, tenant: str) -> None:
    """Look which version of a policy is in use for a tenant, where the policy is a published one."""
    if isinstance(policy, PublishedPolicy):
        await policy.look(tenant)


def _rules_of(text: str, where: str, careful: bool) -> Rules:
    return read_rules(text, where, careful=careful)


def read_published(text: str) -> ReadDefinition:
    """What lists tell of a policy: the number of its rules.

    Raises:
        BadText: it is no policy, or too long.

    >>> read_published("[[rules]]\\nthen = 'deny'").about
    '1 rule'
    """
    if len(text) > POLICY_CHARS_MAX:
        raise BadText([TextProblem(f"the policy has more than {POLICY_CHARS_MAX} characters")])
    try:
        policy, rules = read_policy(text, POLICY), read_rules(text, POLICY)
    except UsageError as error:
        raise BadText([_problem(str(error))]) from None
    if not rules.rules and policy.default is None:
        raise BadText([TextProblem("a policy has rules or a default", hint='write default = "ask"')])
    count = len(rules.rules)
    return ReadDefinition(name=policy.name, about=f"{count} rule" if count == 1 else f"{count} rules")


def _problem(told: str) -> TextProblem:
    found = _LINE.search(told)
    line, column = (int(found[1] or found[2]), int(found[3] or 1)) if found is not None else (1, 1)
    message = re.sub(r"\Apolicy(?:, rule \d+|:\d+)?: | \(at line \d+, column \d+\)\Z", "", told)
    return TextProblem(message, line, column)


def policies_differ(old: str, new: str) -> Sequence[DefinitionChange]:
    """How two policies differ, rule by rule.

    Raises:
        BadText: one of the texts is no policy.

    >>> [(each.place, each.old, each.new) for each in policies_differ("default = 'ask'", "default = 'deny'")]
    [('default', 'ask', 'deny')]
    """
    for text in (old, new):
        read_published(text)
    was, now = read_policy(old, POLICY), read_policy(new, POLICY)
    return [*_rules_differ(was, now), *fields_differ(_fields(was), _fields(now))]


def _rules_differ(was: PolicyText, now: PolicyText) -> Iterator[DefinitionChange]:
    before, after = ([json.dumps(rule, sort_keys=True, default=str) for rule in each.rules] for each in (was, now))
    for _, start, end, start_now, end_now in difflib.SequenceMatcher(None, before, after, False).get_opcodes():
        if before[start:end] == after[start_now:end_now]:
            continue
        for step in range(max(end - start, end_now - start_now)):
            at, at_now = start + step, start_now + step
            gone = json.loads(before[at]) if at < end else None
            come = json.loads(after[at_now]) if at_now < end_now else None
            place = f"rules.{(at_now if come is not None else at) + 1}"
            if gone is not None and come is not None:
                yield DefinitionChange(kind="changed", what="rule", place=place, old=gone, new=come)
            elif come is not None:
                yield DefinitionChange(kind="added", what="rule", place=place, new=come)
            else:
                yield DefinitionChange(kind="removed", what="rule", place=place, old=gone)


def _fields(policy: PolicyText) -> JsonObject:
    """What a policy says beside its rules, with a field for each user."""
    found: JsonObject = {"default": policy.default} if policy.default is not None else {}
    tables: Mapping[str, Mapping[str, Sequence[str]]] = {
        "users": {name: user.roles for name, user in policy.users.items()},
        "delegates": policy.delegates,
    }
    for table, entries in tables.items():
        found |= {f"{table}.{name}": [*names] for name, names in entries.items()}
    return found
