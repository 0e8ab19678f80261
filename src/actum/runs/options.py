"""`RunOptions`: what a run is begun with beside what it is to do. `Agent.run` says what each option means."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Self, TypeVar

import msgspec
from msgspec import Struct

from ..core.event import Event
from ..core.holder import Holder
from ..core.interfaces import Peer
from ..core.policy import Approver
from ..core.trace import NO_WAY, Way, checked_traceparent, way_in
from .recorded import checked_roles, checked_text

Emit = Callable[[Event], None]
Options = TypeVar("Options", bound="RunOptions")


class RunOptions(Struct, frozen=True, kw_only=True):
    """What every run is begun with; the fields are the keywords of `Agent.run`.

    `context`, `approver`, `peer`, `holder` and `emit` are not on record: they are given anew by the caller that goes on
    with the run.
    """

    principal: str = ""
    tenant: str = ""
    roles: Sequence[str] = ()
    key_id: str = ""
    run_id: str | None = None
    context: object = None
    approver: Approver | None = None
    peer: Peer | None = None
    holder: Holder | None = None
    trace: str = ""
    tracestate: str = ""
    request: str = ""
    memory: bool = True
    emit: Emit | None = None

    @property
    def way(self) -> Way:
        """The runs above the run in other programs. A `tracestate` without a `traceparent` says nothing."""
        return way_in(self.tracestate) if checked_traceparent(self.trace) else NO_WAY

    def checked(self) -> Self:
        """The options as they can be on record.

        Raises:
            UsageError: a text is none.
        """
        return msgspec.structs.replace(
            self,
            principal=checked_text("principal", self.principal),
            tenant=checked_text("tenant", self.tenant),
            roles=checked_roles(self.roles),
            key_id=checked_text("key_id", self.key_id),
            trace=checked_traceparent(self.trace),
            tracestate=self.tracestate if self.way is not NO_WAY else "",
        )


class ConversationOptions(RunOptions, frozen=True, kw_only=True):
    """What a run is begun with that may belong to a conversation."""

    conversation: str = ""
    owner: str | None = None

    @property
    def other_owner(self) -> str | None:
        """The owner of the conversation, where it is not the principal's own."""
        return None if self.owner == self.principal else self.owner

    def checked(self) -> Self:
        """The options as they can be on record."""
        owner = None if self.owner is None else checked_text("owner", self.owner)
        whole = super().checked()
        return msgspec.structs.replace(whole, conversation=checked_text("conversation", self.conversation), owner=owner)


NO_OPTIONS = RunOptions()
