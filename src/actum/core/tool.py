"""`Tool`: what a model and a policy need to know of a tool, as plain data. Where it runs is a toolset's business."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Literal

import msgspec
from msgspec import Struct

from .errors import BadTool
from .json import JsonObject

Effects = Literal["read", "write", "send", "spend", "destroy", "execute"]
"""What using a tool does: look, change, tell others, cost money, lose something for good, run code."""

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
"""What a tool takes that hands a task to an agent."""
ATTACHMENTS_PARAMETER: JsonObject = {
    "attachments": {
        "type": "array",
        "items": {"type": "string"},
        "description": "Handles of attachments to hand over, such as att_1.",
    }
}
"""What such a tool takes besides, in a run that has attachments."""
SEARCH = "search_tools"
"""The name of the tool by which a model finds further tools; see `runs.tool_search`."""

SearchWay = Literal["native", "plain"]
"""How a model is told of tools that it found: by what its API has for that, or in the list of tools, which grows."""

NAME = re.compile(r"[A-Za-z0-9_.\-\u0080-\U0010ffff]{1,128}")
_sorted = msgspec.json.Encoder(order="sorted")


class Tool(Struct, frozen=True, kw_only=True, tag="tool", omit_defaults=True, dict=True):
    """A tool's definition.

    Attributes:
        name: what a model calls it; letters of any language, digits, `_`, `-`, `.`; at most 128.
        description: what it does and when to use it, for the model.
        parameters: JSON Schema (2020-12 unless it says otherwise) of the arguments, an object.
        strict: the API is to hold the model to `parameters` while the model writes, where the API can. The developer
            has written `parameters` in the subset of JSON Schema that such an API accepts.
        result: JSON Schema of the structured result, where it is known.
        effects: what using it does. None: not declared, which for a foreign tool means it may do anything.
        idempotent: doing it twice with the same arguments is as good as once.
        probed: its toolset can find out whether a call that was interrupted happened.
        foreign: it comes from another party (an MCP server, an agent, an API) and its own word is not trusted.
        from_client: a client of a server sent the definition; see `paths_are_local`. No part of the digest.
        approval: every use waits for a person's approval, whatever the policy says.
        confirms: its own code asks the user before it changes anything, and shows what is meant. A policy that asks
            before every side effect does not ask a second time. Not believed of a foreign tool.
        sinks: parameters that say where something goes or who gets it; all others are content. Empty: no parameter says
            so. None: not declared, and any parameter may say so. See `journal.grant`.
        trusted: fields of the result that nobody else could have written: what they hold is no instruction of a
            stranger. `account.balance` is a field inside of a field, and `*.id` one below any name; an empty path is
            the text of the result, and no field of an object.
        sequential: must not run beside other calls of the same turn.
        polled: is meant to be asked again and again with the same arguments; loop detection lets it be.
        timeout_s: seconds one attempt may take; None for the run's default.
        title: a name for people.
        version: of the code behind the definition, in the developer's own words. The version is part of the digest, and
            so of each approval: where the version is another, a person is asked again. A model is not told.
        vouched: the operator of this program said which fields of the result are trusted, so that `trusted` is believed
            although the tool is foreign; see `toolsets.wrappers.ToolLabels`.
        background: whether calls by a model become tasks, so that the model is answered with the id of the task: always
            (True), where the model asks for it by the argument `execute_async` (`"allowed"`), or never. This needs a
            program that carries tasks out; see `tasks.background`.
        answers: the result of a call is the answer of the run, and the model is not asked again: how one agent hands a
            user over to another. A result that is a failure, or does not fit the agent's type of output, is told to the
            model as any other.
        knowledge: it is a source of knowledge and looks up what its parameter `query` asks. A `knowledge` node of a
            workflow asks no other tools.
        unjailed: a program on this machine carries out its calls, and no jail holds that program. Each call says so on
            record.
        jailed: each call runs in a jail of its own, so that an operator can limit what the processes of a call use up;
            see `core.process.process_limits`.
        outside: whether results may hold text that an outsider wrote. None: those of a foreign tool, and of a tool that
            a client brought. No part of the digest.
        operator: the names of the fields that the operator of this program has set. No part of the digest.

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
    operator: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.name):
            raise BadTool("tool name {name!r}: use 1 to 128 letters, digits, '_', '-' or '.'", name=self.name[:130])
        if not isinstance(self.parameters, Mapping) or self.parameters.get("type", "object") != "object":
            raise BadTool("tool {name!r}: parameters must be the JSON Schema of an object", name=self.name)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the definition, hexadecimal: two tools with this in common are the same to a model and a
        policy.
        """
        return hashlib.sha256(self.definition).hexdigest()

    @property
    def definition(self) -> bytes:
        """The definition as JSON, in the one form that the digest is of."""
        said = self
        if self.from_client or self.outside is not None or self.operator:
            said = msgspec.structs.replace(self, from_client=False, outside=None, operator=())
        return _sorted.encode(said)

    @property
    def paths_are_local(self) -> bool:
        """Whether paths in its arguments are of this machine, so that symbolic links are followed. Otherwise a path is
        judged by its text alone: another party would learn from each answer what lies where on this machine.
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

    @cached_property
    def reads_only(self) -> bool:
        """It is declared to change nothing."""
        return self.effects is not None and self.effects <= {"read"}

    @property
    def repeatable(self) -> bool:
        """Running it again after an unknown outcome does no harm."""
        return self.reads_only or self.idempotent

    def property_schemas(self) -> dict[str, JsonObject]:
        """Name and schema of each parameter, in the order they were declared."""
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
    """SHA-256 over the definitions of several tools, hexadecimal: what a journal keeps them under."""
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
