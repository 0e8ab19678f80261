"""`Tool`: what a model and a policy need to know of a tool, as plain data.

Where the tool runs is known to its toolset.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Literal, TypeVar

import msgspec
from msgspec import Struct

from .call import SourceKind
from .errors import BadTool
from .json import JsonObject

_Toolset = TypeVar("_Toolset")
Effects = Literal["read", "write", "send", "spend", "destroy", "execute"]
"""The effects of a tool: it looks, changes something, tells others, costs money, destroys something, or runs code."""

Background = Literal["allowed"] | bool
"""Whether a call by a model becomes a task: always, where the model asks for it, or never."""

TASK_PARAMETERS: JsonObject = {
    "type": "object",
    "properties": {
        "task": {"type": "string", "description": "What to do, with everything that must be known for it."},
    },
    "required": ["task"],
    "additionalProperties": False,
}
"""The parameters of a tool that hands a task to an agent."""
ATTACHMENTS_PARAMETER: JsonObject = {
    "attachments": {
        "type": "array",
        "items": {"type": "string"},
        "description": "Handles of attachments to hand over, such as att_1.",
    }
}
"""A further parameter of such a tool, in a run that has attachments."""
SEARCH = "search_tools"
"""The name of the tool by which a model finds further tools; see `runs.tool_search`."""

SearchWay = Literal["native", "plain"]
"""How a model is told of tools that it found: in the way of its API (`native`), or in a list of tools that grows."""

NAME = re.compile(r"[A-Za-z0-9_.\-\u0080-\U0010ffff]{1,128}")
_sorted = msgspec.json.Encoder(order="sorted")


class Tool(Struct, frozen=True, kw_only=True, tag="tool", omit_defaults=True, dict=True):
    """A tool's definition.

    Attributes:
        name: the name that a model uses; letters of any language, digits, `_`, `-`, `.`; at most 128.
        description: what the tool does and when to use it, for the model.
        parameters: JSON Schema of the arguments, an object; 2020-12 unless the schema says otherwise.
        strict: the API is to hold the model to `parameters` while the model writes, where the API can. The developer
            has written `parameters` in the subset of JSON Schema that such an API accepts.
        result: JSON Schema of the structured result, where it is known.
        effects: the effects of the tool. None: not declared; a foreign tool may then do anything.
        idempotent: to run the tool twice with the same arguments is as good as once.
        probed: the toolset can find out whether an interrupted call happened.
        foreign: the tool comes from another party (an MCP server, an agent, an API), and its declarations are not
            trusted.
        from_client: a client of a server sent the definition; see `paths_are_local`. Not part of the digest.
        approval: every call waits for a person's approval, whatever the policy says.
        confirms: the tool's own code asks the user before it changes anything, and shows the change. A policy that asks
            before every side effect does not ask a second time. This is not believed of a foreign tool.
        sinks: the parameters that say where something goes or who gets it; all others are content. Empty: there are no
            such parameters. None: not declared, so that any parameter may be one. See `journal.grant`.
        trusted: fields of the result that nobody else could have written: so their text is no instruction of a
            stranger. `account.balance` is a field inside of a field, and `*.id` a field below any name. An empty path
            is the text of the result, and not a field.
        sequential: the tool must not run beside other calls of the same turn.
        polled: the tool is meant to be called again and again with the same arguments. Loop detection ignores it.
        timeout_s: seconds that one attempt may take; None for the run's default.
        title: a name for people.
        version: the version of the code behind the definition, in the developer's own words. It is part of the digest,
            and so of each approval: when the version changes, a person is asked again. A model is not told the version.
        vouched: the operator of this program said which fields of the result are trusted, so that `trusted` is believed
            although the tool is foreign; see `toolsets.wrappers.ToolLabels`.
        background: whether calls by a model become tasks, so that the model is answered with the id of the task: always
            (True), where the model asks for it by the argument `execute_async` (`"allowed"`), or never. This needs a
            program that carries tasks out; see `tasks.background`.
        answers: the result of a call is the answer of the run, and the model is not asked again. In this way one agent
            hands a user over to another. A result that is a failure, or does not fit the agent's type of output, is
            told to the model as any other.
        knowledge: the tool is a source of knowledge and looks up what its parameter `query` asks. A `knowledge` node of
            a workflow calls no other tools.
        unjailed: a program on this machine carries out the calls, and no jail holds that program. The record of each
            call says so.
        jailed: each call runs in a jail of its own, so that an operator can limit the resources of its processes; see
            `core.process.process_limits`.
        outside: whether results may hold text that an outsider wrote. None: those of a foreign tool, and of a tool that
            a client brought. No part of the digest.
        named_by: which field of a record in the result names the record, by the fields that count as named where the
            user named the record: `{"id": "title"}`. `*` is the name under which the record stands. No part of the
            digest.
        labels: the labels of fields of the result, such as `{"salary": "personal"}`; `""` is the text of the result.
            See `policy.labels`. No part of the digest.
        operator: the names of the fields that the operator of this program has set. No part of the digest.
        source_kind: what a call answers, of a tool that reads documents; see `core.call.SourceKind`. The name under
            which the tool is shown says nothing of this. No part of the digest.

    Raises:
        BadTool: a name no model could say, or parameters that are not the schema of an object.

    >>> Tool(name="add", description="Add two numbers.", parameters={"type": "object"}).effects is None
    True
    """

    name: str
    description: str = ""
    parameters: JsonObject = msgspec.field(default_factory=lambda: {"type": "object", "properties": {}})
    strict: bool = False
    result: JsonObject | None = None
    effects: frozenset[Effects] | None = None
    idempotent: bool = False
    probed: bool = False
    foreign: bool = False
    from_client: bool = False
    approval: bool = False
    confirms: bool = False
    sinks: tuple[str, ...] | None = None
    trusted: tuple[str, ...] = ()
    sequential: bool = False
    polled: bool = False
    timeout_s: float | None = None
    title: str = ""
    version: str = ""
    vouched: bool = False
    background: Background = False
    answers: bool = False
    knowledge: bool = False
    unjailed: bool = False
    jailed: bool = False
    outside: bool | None = None
    named_by: dict[str, str] = {}
    labels: dict[str, str] = {}
    operator: tuple[str, ...] = ()
    source_kind: SourceKind = ""

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.name):
            raise BadTool("tool name {name!r}: use 1 to 128 letters, digits, '_', '-' or '.'", name=self.name[:130])
        if not isinstance(self.parameters, Mapping) or self.parameters.get("type", "object") != "object":
            raise BadTool("tool {name!r}: parameters must be the JSON Schema of an object", name=self.name)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the definition, hexadecimal: equal for tools that are the same to a model and a policy."""
        return hashlib.sha256(self.definition).hexdigest()

    @property
    def definition(self) -> bytes:
        """The definition as JSON, in the form that the digest is made of."""
        said = self
        beside = self.from_client or self.outside is not None or self.named_by or self.labels or self.operator
        if beside or self.source_kind:
            nothing: dict[str, str] = {}
            said = msgspec.structs.replace(
                self, from_client=False, outside=None, named_by=nothing, labels=nothing, operator=(), source_kind=""
            )
        return _sorted.encode(said)

    @property
    def paths_are_local(self) -> bool:
        """Whether paths in its arguments are of this machine, so that symbolic links are followed. Otherwise a path is
        judged by its text alone, or another party would learn from the answers which files this machine has.
        """
        return not (self.foreign or self.from_client)

    @cached_property
    def is_outside(self) -> bool:
        """Whether results may hold text that an outsider wrote. A foreign tool's own word that they do not counts for
        nothing: only the operator can say so.
        """
        if self.outside is None or (self.foreign and "outside" not in self.operator):
            return self.foreign or self.from_client or bool(self.outside)
        return self.outside

    @property
    def labels_believed(self) -> dict[str, str]:
        """The labels of fields of the result; of a foreign tool only what the operator said."""
        return self.labels if not self.foreign or "labels" in self.operator else {}

    @cached_property
    def reads_only(self) -> bool:
        """Whether the tool is declared to change nothing."""
        return self.effects is not None and self.effects <= {"read"}

    @property
    def repeatable(self) -> bool:
        """Whether a call may be run again after an unknown outcome without harm."""
        return self.reads_only or self.idempotent

    def property_schemas(self) -> dict[str, JsonObject]:
        """The name and schema of each parameter, in the order of declaration."""
        found = self.parameters.get("properties")
        if not isinstance(found, dict):
            return {}
        return {name: schema if isinstance(schema, dict) else {} for name, schema in found.items()}

    def required(self) -> tuple[str, ...]:
        """Names of the parameters that must be given."""
        found = self.parameters.get("required")
        return tuple(str(name) for name in found) if isinstance(found, list) else ()


def brought_by_client(tools: Iterable[Tool]) -> tuple[Tool, ...]:
    """Definitions that a client of a server sent, marked as such."""
    return tuple([msgspec.structs.replace(tool, from_client=True) for tool in tools])


def digest_of(tools: Iterable[Tool]) -> str:
    """SHA-256 over the definitions of several tools, hexadecimal: the journal keeps them under this digest."""
    return hashlib.sha256("".join(tool.digest for tool in tools).encode()).hexdigest()


class AllowedTools(Struct, frozen=True, tag="allowed"):
    """A tool choice that narrows the tools to some of them.

    Attributes:
        names: the tools that may be called.
        mode: `auto` (may call one of them) or `required` (must).
    """

    names: tuple[str, ...]
    mode: Literal["auto", "required"] = "auto"


class NamedTool(Struct, frozen=True, tag="named"):
    """A tool choice that demands this one tool."""

    name: str


ToolChoice = Literal["auto", "none", "required"] | NamedTool | AllowedTools
"""Whether a model must call a tool, and which."""


def is_demand(choice: ToolChoice) -> bool:
    """Whether the model must call a tool."""
    among = isinstance(choice, AllowedTools) and choice.mode == "required"
    return among or choice == "required" or isinstance(choice, NamedTool)


def named_tools(choice: ToolChoice) -> tuple[str, ...]:
    """The tools that a choice names."""
    match choice:
        case NamedTool(name):
            return (name,)
        case AllowedTools(names):
            return names
        case _:
            return ()


def innermost(toolset: _Toolset) -> Iterator[_Toolset]:
    """The toolsets inside all wrappers, which have them in `inside`; the toolset itself where nothing is wrapped."""
    # Each run asks: `isinstance` of a protocol costs ten times as much.
    inside: Sequence[_Toolset] = getattr(toolset, "inside", ())
    if not inside:
        yield toolset
    for inner in inside:
        yield from innermost(inner)
