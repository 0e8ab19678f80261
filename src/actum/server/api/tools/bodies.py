"""What is asked and answered at `/v1/tools`."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct, field

from ....core.call import MediaPart, TextPart
from ....core.json import Json, JsonObject
from ....core.tool import Effects
from ..approvals.bodies import Approval
from ..calls import CallFailure
from ..fields import Cursor, Limit, ListPart
from ..tasks.bodies import TaskBody

ToolSource = Literal["settings", "published", "workflow", "draft"]


class ToolsQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Which tools.

    Attributes:
        query: what a tool should do, in a few words; the tools that fit best come first. Empty for all tools.
        limit: the most items of this part of the list.
        cursor: `next` of the part before.
        drafts: whether tools that have a draft and no publication are listed, too. This needs the scope `build`.
    """

    query: Annotated[str, Meta(max_length=500)] = ""
    limit: Limit = 100
    cursor: Cursor = ""
    drafts: bool = False


class ToolInfo(Struct, frozen=True, kw_only=True):
    """A tool.

    Attributes:
        name: the name under which the tool is called.
        title: a name for people; may be empty.
        description: what the tool does and when to use it.
        effects: what a call does to the world; null where nobody said so.
        approval: whether every call waits for a person's approval, whatever the policy says.
        version: the number of the publication in use, of a tool that was published; 0 for others.
        source: where it comes from: the `settings` of the server, what was `published` here, a published `workflow`, or
            a `draft` that nobody has published.
    """

    name: str
    title: str
    description: str
    effects: tuple[Effects, ...] | None
    approval: bool
    version: int = 0
    source: ToolSource = "settings"


class ToolPage(ListPart[ToolInfo], frozen=True, kw_only=True):
    """A part of the list of tools."""


class ToolSchema(ToolInfo, frozen=True, kw_only=True):
    """A tool with the schemas of its arguments and its result.

    Attributes:
        parameters: the JSON Schema of the arguments.
        result: the JSON Schema of the result; null where it is not known.
        declaration: the text that was published, for callers with the scope `build`; null for other tools.
    """

    parameters: JsonObject
    result: JsonObject | None
    declaration: str | None = None


class CallBody(TaskBody, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A call of a tool.

    Attributes:
        arguments: the arguments; the schema of the tool tells which.
    """

    arguments: JsonObject = field(default_factory=dict)


class CallAnswer(Struct, frozen=True, kw_only=True):
    """What a call came to. A call whose tool failed is answered so as well: `error` says why.

    Attributes:
        run: the run that the call is on record as.
        tool: the name of the tool.
        result: the value that the tool returned, or its text where it returned no value; null where the call failed.
        content: the parts of the result: texts, and media with their bytes in Base64.
        error: why the call failed; null where it did not.
    """

    run: str
    tool: str
    result: Json
    content: tuple[TextPart | MediaPart, ...]
    error: CallFailure | None


class CallWaits(Struct, frozen=True, kw_only=True):
    """A call that waits for a person. The run of the call goes on when the person has answered.

    Attributes:
        run: the run of the call; `GET /v1/runs/{id}` tells what became of it.
        approval: the id of the first thing that waits.
        approvals: everything that waits.
    """

    run: str
    approval: str
    approvals: tuple[Approval, ...]
