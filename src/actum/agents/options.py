"""The keywords of `Agent.run`, as they are handed on below it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypedDict

from ..core.call import MediaPart
from ..core.holder import Holder
from ..core.interfaces import Peer
from ..core.json import JsonObject
from ..core.message import Message, UserMessage
from ..core.model_settings import ModelSettings
from ..core.policy import Approver
from ..policy.mandate import Mandate
from ..runs.options import ConversationOptions
from .tool_choice import ChosenTools


class RunKeywords(TypedDict, total=False):
    """The keywords of `Agent.run`, for those that pass them on."""

    messages: Sequence[Message] | None
    conversation: str
    owner: str | None
    after: str
    context: object
    principal: str
    tenant: str
    roles: Sequence[str]
    key_id: str
    run_id: str | None
    attachments: Sequence[MediaPart]
    approver: Approver | None
    peer: Peer | None
    trace: str
    tracestate: str
    request: str
    names: Sequence[str]
    door: JsonObject | None
    told: Sequence[UserMessage]
    holder: Holder | None
    settings: ModelSettings | None
    tool_choice: ChosenTools | None
    memory: bool
    parent: str
    mandate: Mandate | JsonObject | None


class AgentOptions(ConversationOptions, frozen=True, kw_only=True):
    """The keywords of `Agent.run` below it."""

    messages: Sequence[Message] | None = None
    after: str = ""
    attachments: Sequence[MediaPart] = ()
    names: Sequence[str] = ()
    door: JsonObject | None = None
    told: Sequence[UserMessage] = ()
    settings: ModelSettings | None = None
    tool_choice: ChosenTools | None = None
    parent: str = ""
    mandate: Mandate | JsonObject | None = None

    @classmethod
    def among(cls, given: Mapping[str, object]) -> AgentOptions:
        """The options that stand among other names, such as the arguments of a function."""
        return cls(**{name: given[name] for name in cls.__struct_fields__})  # type: ignore[arg-type]


class AgentFields(TypedDict, total=False):
    """The fields of `Started` that an agent with a name fills in."""

    agent_digest: str
    agent_parts: dict[str, str]
