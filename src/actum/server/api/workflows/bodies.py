"""What is asked and answered at `/v1/workflows`."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct, field

from ....core.json import Json, JsonObject
from ..fields import Cursor, Limit, ListPart, SessionId
from ..tasks.bodies import TaskBody


class WorkflowsQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Which workflows.

    Attributes:
        limit: so many at most.
        cursor: `next` of the part before.
    """

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
        definition: the definition as JSON text; null for a key without the scope `admin`.
    """

    inputs: JsonObject
    outputs: tuple[str, ...]
    nodes: tuple[WorkflowNodeInfo, ...]
    definition: str | None


class WorkflowVersionQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Which version of a workflow.

    Attributes:
        version: the number of a publication; 0 for what is in use.
    """

    version: Annotated[int, Meta(ge=0, le=2_000_000_000)] = 0


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


class WorkflowCheckBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A definition that is to be checked.

    Attributes:
        text: the definition as YAML or JSON; null for the definition that the server has under this name.
    """

    text: Annotated[str, Meta(max_length=1_000_000)] | None = None


class WorkflowProblem(Struct, frozen=True, kw_only=True):
    """Something that is wrong with a definition.

    Attributes:
        message: what is wrong.
        line, column: where, from 1 on.
        hint: what to do about it; may be empty.
        place: the names that lead to the place, such as `nodes.book.with`; may be empty.
    """

    message: str
    line: int
    column: int
    hint: str
    place: str


class WorkflowChecked(Struct, frozen=True, kw_only=True):
    """What a check of a definition found.

    Attributes:
        problems: all that is wrong; nothing where the definition can be run.
    """

    problems: tuple[WorkflowProblem, ...]


class DraftBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A draft that is to be saved.

    Attributes:
        text: the whole definition as YAML or JSON; mistakes are allowed.
        revision: the revision of the draft that the text was made of; 0 for a new draft.
    """

    text: Annotated[str, Meta(max_length=1_000_000)]
    revision: Annotated[int, Meta(ge=0, le=2_000_000_000)] = 0


class DraftText(Struct, frozen=True, kw_only=True):
    """The draft of a workflow.

    Attributes:
        name: the name of the workflow.
        text: the definition.
        revision: counts the changes of the draft.
        at: when the draft was saved, in seconds since 1970.
        by: who saved the draft.
        published: the number of the publication in use; 0 where nothing was published.
    """

    name: str
    text: str
    revision: int
    at: float
    by: str
    published: int


class PublishBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A request to publish a draft.

    Attributes:
        revision: the revision that the caller has looked at; null to publish whatever the draft is now.
    """

    revision: Annotated[int, Meta(ge=0, le=2_000_000_000)] | None = None


class RollbackBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A request to publish an older publication anew.

    Attributes:
        number: the number of the older publication.
    """

    number: Annotated[int, Meta(ge=1, le=2_000_000_000)]


class WorkflowVersion(Struct, frozen=True, kw_only=True):
    """A publication of a workflow.

    Attributes:
        number: counts the publications of this name.
        digest: the digest of the text.
        at: when the text was published, in seconds since 1970.
        by: who published the text.
        again: the number of the older publication of which this is a copy; 0 where the text comes from the draft.
    """

    number: int
    digest: str
    at: float
    by: str
    again: int


class UnpublishedWorkflow(Struct, frozen=True, kw_only=True):
    """A workflow that was taken out of use.

    Attributes:
        number: the publication that was in use.
        used_by: published workflows whose nodes name the workflow without a number: these nodes fail from now on.
    """

    number: int
    used_by: tuple[str, ...]


class WorkflowVersions(Struct, frozen=True, kw_only=True):
    """The publications of a workflow.

    Attributes:
        items: the publications, the latest first.
    """

    items: tuple[WorkflowVersion, ...]


class WorkflowDiffQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Which two versions of a workflow.

    Attributes:
        old: the number of a publication; 0 for what is in use.
        new: the number of a publication; 0 for the draft.
    """

    old: Annotated[int, Meta(ge=0, le=2_000_000_000)] = 0
    new: Annotated[int, Meta(ge=0, le=2_000_000_000)] = 0


class WorkflowChange(Struct, frozen=True, kw_only=True):
    """One difference between two versions.

    Attributes:
        kind: what was done.
        what: to what.
        place: where, such as `trips/price` or `book.with.flight`.
        node: the node that a field belongs to; may be empty.
        old: what was there before.
        new: what is there now.
    """

    kind: Literal["added", "removed", "changed"]
    what: Literal["node", "edge", "field"]
    place: str
    node: str
    old: Json
    new: Json


class WorkflowDifference(Struct, frozen=True, kw_only=True):
    """What differs between two versions; positions and formatting do not count.

    Attributes:
        changes: the differences.
    """

    changes: tuple[WorkflowChange, ...]
