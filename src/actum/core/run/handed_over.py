"""What a run knows of a call of its model that it hands over to a task: see `record.CallsRequested`."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from ..provenance import Origins
from .pending import Quorum


class GivenApproval(Struct, frozen=True, omit_defaults=True):
    """A person approved a call in the run that handed the call over.

    Attributes:
        id: of the question that was answered.
        rule: the rule that asked.
        quorums: who agreed.
        version: digest of the definition of the tool.
        expires: the approval counts until then, in seconds since 1970; 0 for always.
    """

    id: str
    rule: str
    quorums: tuple[Quorum, ...]
    version: str
    expires: float = 0.0

    def covers(self, version: str, rule: str, quorums: Iterable[Quorum], now: float) -> bool:
        """Whether nobody need be asked again.

        Args:
            version: digest of the definition of the tool that is called.
            rule: the rule that asks.
            quorums: who has to agree by this rule.
            now: seconds since 1970.
        """
        if version != self.version or rule != self.rule or 0 < self.expires < now:
            return False
        return all(any(known.includes(wanted) for known in self.quorums) for wanted in quorums)


class HandedOver(Struct, frozen=True, omit_defaults=True):
    """What was known of a call of a model in the run that handed the call over to a task.

    Attributes:
        run: that run.
        values: where each value in the arguments came from, by the JSON pointer of the value (RFC 6901).
        names: where each name of a field inside an argument came from, by the JSON pointer of the field.
        approval: a person approved the call; None where nobody was asked.
    """

    run: str
    values: Origins = {}
    names: Origins = {}
    approval: GivenApproval | None = None
