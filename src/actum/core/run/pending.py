"""What a run waits for: the question that a person, the program or a model at the other end is to answer."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Literal

from msgspec import Struct

from ..approver import Voter
from ..call import ToolCall
from ..json import JsonObject
from ..provenance import Origins
from .risk import Risk

AskedKind = Literal["approval", "answer", "result", "doubt", "elicitation", "sampling", "roots"]


class Quorum(Struct, frozen=True, omit_defaults=True):
    """How many persons have to agree to a call, and who they may be.

    Attributes:
        approvers: who may agree, as `core.approver` says; anybody when empty.
        needs: how many of the approvers have to agree.
        not_by: a person who does not count: the one whom the run is on behalf of. Empty where everybody counts.
    """

    approvers: tuple[str, ...] = ()
    needs: int = 1
    not_by: str = ""

    def includes(self, wanted: Quorum) -> bool:
        """Whether these persons, where they have agreed, also meet another quorum."""
        same = self.approvers == wanted.approvers or (bool(self.approvers) and {*self.approvers} <= {*wanted.approvers})
        return same and self.needs >= wanted.needs and wanted.not_by in ("", self.not_by)

    def left(self, agreed: Collection[Voter]) -> int:
        """How many more persons have to agree, when these have; 0 when no more have to."""
        counted = [each for each in agreed if each.is_among(self.approvers) and not self._keeps_out(each)]
        return max(0, self.needs - len(counted))

    def _keeps_out(self, each: Voter) -> bool:
        return bool(self.not_by) and each.own_name == self.not_by


class Pending(Struct, frozen=True, omit_defaults=True):
    """Something a run waits for.

    Attributes:
        id: what the answer is given under.
        kind: `approval` of a call by a person, an `answer` by the user, the `result` of a call that the program itself
            is to make, because its tool is a bare definition, or a `doubt`: whether a call happened that was begun and
            has no outcome. A running tool asks for an `elicitation` (a form, or a page to visit), a `sampling` (an
            answer of a model) or `roots` (directories).
        message: what to show.
        call: the call that waits, with the arguments that would be used.
        origins: where each argument of the call came from, by its path.
        approvers: who may answer, as `core.approver` says; anybody when empty.
        needs: how many of them have to agree.
        expires: seconds since 1970 after which no answer counts; 0 for never.
        schema: JSON Schema of the answer to an elicitation by form.
        url: the page to visit, of an elicitation by page.
        request: what a model is to be asked, for a sampling.
        asker: who asks, where it is another party: the name that the program gave it.
        name: what the tool calls its question, where it does.
        quorums: set where the rules of several policies ask and each names its own persons: all the quorums have to be
            met. `approvers` are then all who may answer, and `needs` is the least number of persons.
        level: for an approval that a policy asks for, how many runs stand above the run of that policy's agent (of
            several policies, the outermost). Only that run and the runs above it may answer by their `approver=`.
        sinks, parameters: as the tool of an approval declares them; `parameters` are the names.
        covers: what `Answer("approve", for_run=True)` lets through, in words: `again in this run, as long as ...`.
        not_by: who may not approve, because the run is on behalf of that person; empty where nobody is kept out.
        secrets: where the arguments of the call hold secrets, which are shown as `[secret]`. A person who changes
            arguments and leaves that word in its place leaves the value as it is.
        risk: what is risky in the call, where the defence asks; `message` says the same in English.
    """

    id: str
    kind: AskedKind
    message: str
    call: ToolCall | None = None
    origins: Origins = {}
    approvers: tuple[str, ...] = ()
    needs: int = 1
    expires: float = 0.0
    schema: JsonObject | None = None
    url: str = ""
    request: JsonObject | None = None
    asker: str = ""
    name: str = ""
    quorums: tuple[Quorum, ...] = ()
    level: int | None = None
    sinks: tuple[str, ...] | None = None
    parameters: tuple[str, ...] = ()
    covers: str = ""
    not_by: str = ""
    secrets: tuple[tuple[str, ...], ...] = ()
    risk: Risk | None = None

    @property
    def all_quorums(self) -> tuple[Quorum, ...]:
        """The quorums that have to be met: one, or one for each rule that asks for other persons."""
        return self.quorums or (Quorum(self.approvers, self.needs, self.not_by),)

    def may_approve(self, by: Voter) -> bool:
        """Whether this person may say yes, as far as the person is not the one for whom the run is."""
        return not (self.not_by and by.own_name == self.not_by)

    def is_agreed(self, agreed: Collection[Voter]) -> bool:
        """Whether all have agreed who have to, when these have."""
        return not any(quorum.left(agreed) for quorum in self.all_quorums)

    def includes(self, wanted: Sequence[Quorum]) -> bool:
        """Whether an answer to this question also meets these quorums."""
        known = self.all_quorums
        return all(any(each.includes(one) for each in known) for one in wanted)


def over_at(pending: Sequence[Pending]) -> float | None:
    """When a run goes on by itself.

    Args:
        pending: what the run waits for.

    Returns:
        Seconds since 1970; None where a person or an event may come first, or nothing comes by itself.
    """
    ends = [each.expires for each in pending if each.kind == "result" and each.call is None and not each.name]
    return min(ends) if ends and len(ends) == len(pending) and min(ends) > 0 else None


class Elicited(Struct, frozen=True):
    """The user's answer to a form or a page.

    Attributes:
        action: the user gave the answer (`accept`), refused (`decline`), or went away without a choice (`cancel`).
        content: the answer, which fits the schema.
    """

    action: Literal["accept", "decline", "cancel"]
    content: JsonObject = {}
