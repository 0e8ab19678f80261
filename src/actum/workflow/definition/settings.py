"""What the definition of a workflow may say of each node, as values. The JSON Schema of the format is made of them.

A field that may hold expressions is named in `TEMPLATES` of its class, a field that holds a CEL condition in
`CONDITIONS`. `nodes.py` says what a node does with its settings.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from msgspec import Meta, Struct, field

from ...core.json import Json, JsonObject

Expressible = Annotated[Json, Meta(description="A value in which ${node.output} and {cel: ...} may stand.")]
Cel = Annotated[str, Meta(description="A condition in CEL.", min_length=1)]
Attempts = Annotated[int, Meta(ge=1, le=20)]
Seconds = Annotated[float, Meta(ge=0)]
Duration = Annotated[float | str, Meta(description="Seconds, or a text such as 90s, 10m, 2h, 3d.")]


class Default(Struct, frozen=True, forbid_unknown_fields=True):
    """What a failed node is taken to have come to.

    Attributes:
        default: by the names of what the node gives, such as `output`.
    """

    default: JsonObject


OnError = Literal["stop", "branch"] | Default
"""What becomes of a workflow where a node fails: it stops, goes on at the port `error`, or goes on with a value."""


class RetryRule(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How often a node that failed is tried again. The call path retries calls by itself.

    Attributes:
        attempts: the most attempts, the first counted.
        base_s: seconds before the second attempt.
        factor: each further wait is longer by this factor.
        cap_s: the longest wait, in seconds.
        only: the codes of the errors that are worth another attempt; empty for all.
    """

    attempts: Attempts
    base_s: Seconds = 1.0
    factor: Annotated[float, Meta(ge=1, le=10)] = 2.0
    cap_s: Seconds = 60.0
    only: tuple[str, ...] = ()

    def delay(self, attempt: int) -> float:
        """Seconds to wait behind this attempt, which is numbered from 1."""
        return min(self.cap_s, self.base_s * self.factor ** (attempt - 1))


class NodeSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="type", omit_defaults=True):
    """What every node has.

    Attributes:
        title: what a person calls the node.
        on_error: what happens where the node fails.
    """

    TEMPLATES: ClassVar[tuple[str, ...]] = ()
    CONDITIONS: ClassVar[tuple[str, ...]] = ()

    title: str = ""
    on_error: OnError = "stop"


class ToolNode(NodeSettings, frozen=True, kw_only=True, tag="tool"):
    """Calls a tool."""

    TEMPLATES = ("with_",)
    tool: str
    with_: Expressible = field(name="with", default_factory=dict)


class AgentNode(NodeSettings, frozen=True, kw_only=True, tag="agent"):
    """Hands a task to an agent."""

    TEMPLATES = ("task",)
    agent: str
    task: Expressible


class WorkflowNode(NodeSettings, frozen=True, kw_only=True, tag="workflow"):
    """Runs another workflow: a tool of the program, or what is published under `name` or `name@3`."""

    TEMPLATES = ("with_",)
    workflow: str
    with_: Expressible = field(name="with", default_factory=dict)


class KnowledgeNode(NodeSettings, frozen=True, kw_only=True, tag="knowledge"):
    """Asks a tool that declares itself a source of knowledge."""

    TEMPLATES = ("query", "with_")
    tool: str
    query: Expressible
    with_: Expressible = field(name="with", default_factory=dict)


class CodeNode(NodeSettings, frozen=True, kw_only=True, tag="code"):
    """Runs code in the sandbox: Python `main(**inputs)`, JavaScript `main({a, b})`, or a shell script."""

    TEMPLATES = ("with_",)
    language: Literal["python", "javascript", "shell"] = "python"
    code: str
    with_: Expressible = field(name="with", default_factory=dict)
    outputs: JsonObject | None = None


class HttpNode(NodeSettings, frozen=True, kw_only=True, tag="http"):
    """Sends a request. `${secret:NAME}` may stand in what is sent."""

    TEMPLATES = ("url", "query", "headers", "body")
    method: Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"] = "GET"
    url: Expressible
    query: Expressible = field(default_factory=dict)
    headers: Expressible = field(default_factory=dict)
    body: Expressible = None


class PromptMessage(Struct, frozen=True, forbid_unknown_fields=True):
    """A message that a model is told."""

    role: Literal["system", "user", "assistant"]
    text: Expressible


TURNS_MAX = 100


class MemoryWindow(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How much of the conversation before this run a model is told. The latest turns come first into the window.

    Attributes:
        turns: the most earlier turns: what was asked, and what was answered.
        tokens: the most tokens, estimated. A turn that does not fit ends the window.
    """

    turns: Annotated[int, Meta(ge=1, le=TURNS_MAX)] = 10
    tokens: Annotated[int, Meta(ge=1, le=1_000_000)] = 4_000


class ModelNode(NodeSettings, frozen=True, kw_only=True, tag="model"):
    """Asks a model."""

    TEMPLATES = ("prompt", "system", "messages", "files")
    model: str
    prompt: Expressible = ""
    system: Expressible = ""
    messages: Expressible = field(default_factory=list)
    files: Expressible = field(default_factory=list)
    output_schema: JsonObject | None = None
    settings: JsonObject = {}
    memory: MemoryWindow | None = None
    retry: RetryRule | None = None


class ClassifyNode(NodeSettings, frozen=True, kw_only=True, tag="classify"):
    """Has a model choose a class; each class is a port."""

    TEMPLATES = ("text", "instructions")
    model: str
    text: Expressible
    classes: Annotated[dict[str, str], Meta(min_length=1)]
    instructions: Expressible = ""
    retry: RetryRule | None = None


class ExtractNode(NodeSettings, frozen=True, kw_only=True, tag="extract"):
    """Has a model read values out of a text; required values that are missing are asked for."""

    TEMPLATES = ("text", "instructions")
    model: str
    text: Expressible
    schema: JsonObject
    instructions: Expressible = ""
    ask: bool = True
    retry: RetryRule | None = None


class TemplateNode(NodeSettings, frozen=True, kw_only=True, tag="template"):
    """Writes a text with Jinja2. With `escape: html`, values are escaped as text and in quoted attributes."""

    TEMPLATES = ("with_",)
    template: str
    escape: Literal["none", "html"] = "none"
    with_: Expressible = field(name="with", default_factory=dict)


class SetNode(NodeSettings, frozen=True, kw_only=True, tag="set"):
    """Changes variables."""

    TEMPLATES = ("set", "append", "extend", "add")
    set: Expressible = field(default_factory=dict)
    append: Expressible = field(default_factory=dict)
    extend: Expressible = field(default_factory=dict)
    add: Expressible = field(default_factory=dict)
    clear: tuple[str, ...] = ()
    remove: dict[str, Literal["first", "last"]] = {}


class MergeNode(NodeSettings, frozen=True, kw_only=True, tag="merge"):
    """For each group, the first value that was not skipped."""

    groups: dict[str, list[Json]]


class SortRule(Struct, frozen=True, forbid_unknown_fields=True):
    """How a list is sorted."""

    by: Cel = "item"
    descending: bool = False


class SliceRule(Struct, frozen=True, forbid_unknown_fields=True):
    """Which items of a list are taken."""

    start: int = 0
    stop: int | None = None


class ListNode(NodeSettings, frozen=True, kw_only=True, tag="list"):
    """Filters, sorts and cuts a list. In `where` and `sort.by`, `item` is one item."""

    TEMPLATES = ("of",)
    CONDITIONS = ("where",)
    of: Expressible
    where: Cel | None = None
    sort: SortRule | None = None
    slice: SliceRule | None = None


class SwitchCase(Struct, frozen=True, forbid_unknown_fields=True):
    """A case of an `if` node."""

    port: str
    when: Cel


class IfNode(NodeSettings, frozen=True, kw_only=True, tag="if"):
    """Goes on at the port of the first case that is true, else at `else`."""

    cases: Annotated[tuple[SwitchCase, ...], Meta(min_length=1)]


class HumanNode(NodeSettings, frozen=True, kw_only=True, tag="human"):
    """Asks a person: to fill in a form, or to choose; each choice is a port."""

    TEMPLATES = ("message", "approvers")
    message: Expressible
    form: JsonObject | None = None
    choices: tuple[str, ...] = ()
    approvers: Expressible = field(default_factory=list)
    expires: Duration | None = None


class WaitNode(NodeSettings, frozen=True, kw_only=True, tag="wait"):
    """Waits: for a time, until a time, or for an event that is told by its token."""

    TEMPLATES = ("for_", "until", "event")
    for_: Expressible = field(name="for", default=None)
    until: Expressible = None
    event: Expressible = None
    expires: Duration | None = None


class SayNode(NodeSettings, frozen=True, kw_only=True, tag="say"):
    """Tells the user something."""

    TEMPLATES = ("text",)
    text: Expressible


class EndNode(NodeSettings, frozen=True, kw_only=True, tag="end"):
    """Gives outputs of the workflow, or ends the workflow with an error."""

    TEMPLATES = ("outputs", "error")
    outputs: Expressible = field(default_factory=dict)
    error: Expressible = None


class BreakNode(NodeSettings, frozen=True, kw_only=True, tag="break"):
    """Ends the container that holds the node."""


class ContinueNode(NodeSettings, frozen=True, kw_only=True, tag="continue"):
    """Ends this pass of the container that holds the node."""


class NoteNode(NodeSettings, frozen=True, kw_only=True, tag="note"):
    """A note for people; nothing is done."""

    text: str = ""


class EachNode(NodeSettings, frozen=True, kw_only=True, tag="each"):
    """Carries out the nodes inside for each item of a list."""

    TEMPLATES = ("over", "output")
    over: Expressible
    parallel: Annotated[int, Meta(ge=1, le=64)] = 1
    on_error: Literal["stop", "null", "drop", "branch"] | Default = "stop"  # type: ignore[assignment]  # two more words
    flatten: bool = False
    nodes: dict[str, Json]
    edges: list[str] = field(default_factory=list)
    output: Expressible = None
    retry: RetryRule | None = None


class LoopNode(NodeSettings, frozen=True, kw_only=True, tag="loop"):
    """Carries out the nodes inside again and again, until a condition is true."""

    TEMPLATES = ("vars", "output")
    CONDITIONS = ("until",)
    vars: Expressible = field(default_factory=dict)
    until: Cel | None = None
    max: Annotated[int, Meta(ge=1, le=10_000)] = 100
    nodes: dict[str, Json]
    edges: list[str] = field(default_factory=list)
    output: Expressible = None
    retry: RetryRule | None = None


AnySettings = (
    ToolNode
    | AgentNode
    | WorkflowNode
    | KnowledgeNode
    | CodeNode
    | HttpNode
    | ModelNode
    | ClassifyNode
    | ExtractNode
    | TemplateNode
    | SetNode
    | MergeNode
    | ListNode
    | IfNode
    | HumanNode
    | WaitNode
    | SayNode
    | EndNode
    | BreakNode
    | ContinueNode
    | NoteNode
    | EachNode
    | LoopNode
)


class WorkflowLimits(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a workflow may use.

    Attributes:
        steps: the most nodes that are carried out, those in containers counted each time.
        seconds: the longest time, without the time that the workflow waits for persons.
        parallel: the most nodes that are under way at a time.
    """

    steps: Annotated[int, Meta(ge=1, le=1_000_000)] = 500
    seconds: Annotated[float, Meta(gt=0)] = 1_200.0
    parallel: Annotated[int, Meta(ge=1, le=1_000)] = 16


Imported = Annotated[
    str,
    Meta(
        description="From which format a program made this file, such as dify; empty where a person wrote the file. "
        "The literals of an imported file are a stranger's until a person has published the file.",
        max_length=64,
    ),
]


class WorkflowText(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A definition as it is written, before its nodes are read."""

    actum: Literal["workflow/1"]
    name: Annotated[str, Meta(pattern=r"^[A-Za-z_][\w-]{0,63}$(?!\n)")]
    description: str = ""
    imported: Imported = ""
    inputs: JsonObject = {}
    env: JsonObject = {}
    vars: JsonObject = {}
    conversation: JsonObject = {}
    limits: WorkflowLimits = WorkflowLimits()
    nodes: dict[str, AnySettings]
    edges: list[str] = field(default_factory=list)
    outputs: dict[str, Expressible] = {}
    view: JsonObject = {}
