"""What is asked and answered at `/v1/workflows`."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct, field

from ....core.json import JsonObject
from ....workflow.node_facts import NodeFacts
from ..definitions.bodies import DefinitionChecked
from ..fields import Cursor, Limit, ListPart, SessionId
from ..tasks.bodies import TaskBody


class WorkflowsQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Which workflows, by name.

    Attributes:
        query: words that the name or the description has, in any order; empty for all workflows.
        drafts: whether workflows that have a draft and no publication are listed, too; for callers with the scope
            `build`.
        limit: the most items of this part of the list.
        cursor: `next` of the part before.
    """

    query: Annotated[str, Meta(max_length=200)] = ""
    drafts: bool = False
    limit: Limit = 100
    cursor: Cursor = ""


class WorkflowInfo(Struct, frozen=True, kw_only=True):
    """A workflow in a list.

    Attributes:
        name: the name under which the workflow is run.
        description: what the workflow is good for.
        version: the number of the publication in use; 0 for a workflow that the operator of the server set up.
        digest: the digest of the definition.
    """

    name: str
    description: str
    version: int
    digest: str


class WorkflowPage(ListPart[WorkflowInfo], frozen=True, kw_only=True):
    """A part of the list of workflows."""


class WorkflowNodeInfo(Struct, frozen=True, kw_only=True):
    """A node of a workflow.

    Attributes:
        name: the name of the node.
        type: what the node does.
    """

    name: str
    type: str


class WorkflowDetails(WorkflowInfo, frozen=True, kw_only=True):
    """A workflow.

    Attributes:
        inputs: the JSON Schema of what the workflow is given.
        outputs: the names of what the workflow gives.
        nodes: the nodes, without those inside of containers.
        definition: the definition as JSON text; null for a key without the scope `build`, or without `admin` where the
            operator of the server set the workflow up.
    """

    inputs: JsonObject
    outputs: tuple[str, ...]
    nodes: tuple[WorkflowNodeInfo, ...]
    definition: str | None


class WorkflowChecked(DefinitionChecked, frozen=True, kw_only=True):
    """What a check of a workflow found.

    Attributes:
        nodes: what is known of each node that could be read.
    """

    nodes: tuple[NodeFacts, ...]


class WorkflowRunBody(TaskBody, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A request for a run of a workflow.

    Attributes:
        inputs: what the workflow is given; `inputs` of the workflow tells which.
        version: the number of a publication; 0 for what is in use.
        conversation: the conversation that the run belongs to, by an id that the caller chooses; empty for none. The
            workflow reads and changes the variables of the conversation.
    """

    inputs: JsonObject = field(default_factory=dict)
    version: Annotated[int, Meta(ge=0, le=2_000_000_000)] = 0
    conversation: SessionId = ""
