"""The records of a workflow's nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from ..call import ToolCall
from ..json import JsonObject

if TYPE_CHECKING:
    pass


NODE_VALUE_BYTES_MAX = 64_000
"""Values of a node that are larger are kept by their digest (`Journal.keep`), and not in the record."""


class NodeError(Struct, frozen=True, omit_defaults=True):
    """Why a node of a workflow failed.

    Attributes:
        code: the kind, such as `tool_error` or `no_value`.
        message: what happened, for people.
        node: the path of the node that failed first.
        detail: more of what happened, for the operator alone.
    """

    code: str
    message: str
    node: str
    detail: str = ""

    @property
    def told(self) -> JsonObject:
        """As expressions of the workflow see the error."""
        return {"code": self.code, "message": self.message, "node": self.node}


class NodeBegan(Struct, frozen=True, kw_only=True, tag="node_began", omit_defaults=True, gc=False):
    """A node of a workflow begins that reaches out: it makes a call, or asks a model or a person.

    The number of this record identifies the call of the node, with the index 0.

    Attributes:
        path: where the node stands, such as `trips[3]/book`.
        kind: the type of the node.
        inputs: what the node was given, where it makes no call.
        call: the call that it makes, without secret values.
        kept: the digest under which the journal keeps inputs, or arguments, that are larger than
            `NODE_VALUE_BYTES_MAX`; they are left out here.
        elapsed: as in `ModelReplied`.
    """

    path: str
    kind: str
    inputs: JsonObject = {}
    call: ToolCall | None = None
    kept: str = ""
    elapsed: float = 0.0


class NodeLeft(Struct, frozen=True, kw_only=True, tag="node_left", omit_defaults=True, gc=False):
    """A node of a workflow was left.

    Attributes:
        path: as in `NodeBegan`.
        status: `again` where a container that failed is carried out anew.
        began: the number of its `NodeBegan`; -1 for a node that computes a value alone.
        port: where the workflow goes on; empty for the only port.
        value: what the node gives, by name. Empty for a node that made a call: the result of the call says it.
        kept: the digest under which the journal keeps a value larger than `NODE_VALUE_BYTES_MAX`.
        error: why the node failed.
        seconds: how long the node took.
        elapsed: as in `ModelReplied`.
        assigned: variables of the conversation that the node changed, with their new versions; the new values stand
            in `output` of the value.
    """

    path: str
    status: Literal["done", "failed", "again"] = "done"
    began: int = -1
    port: str = ""
    value: JsonObject = {}
    kept: str = ""
    error: NodeError | None = None
    seconds: float = 0.0
    elapsed: float = 0.0
    assigned: dict[str, int] = {}
