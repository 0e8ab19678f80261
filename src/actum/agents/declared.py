"""An agent as a definition, `actum: agent/1`, and a prompt as one. Pure.

    actum: agent/1
    name: helper
    description: Answers questions of customers.
    instructions: {prompt: desk}
    tools: [weather_api, orders@3, "knowledge:handbook"]
    agents: [books]
    model_settings: {temperature: 0.2}
    cite: mark
    limits: {steps: 10}

Nothing in the text is code, a file or an address: `tools` are names of a server and of collections of documents,
`agents` are those of the server and of its tenant, `model` is one that the server offers.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta, Struct, structs

from ..call.choice import Choice
from ..call.limits.limits import Limits
from ..core.definition import BadText, DefinitionChange, ReadDefinition, TextProblem, fields_differ
from ..core.errors import UsageError
from ..core.json import JsonObject
from ..core.model_settings import ModelSettings
from ..core.stored.definitions import checked_name, reference
from ..core.tool import SearchWay, named_tools
from ..knowledge.citing.sources import ADDRESS
from ..knowledge.collections import checked_name as checked_collection
from ..memory.memory import MemoryWord
from ..protocols.definition_text import read_struct
from ..protocols.plain_text import plain
from .citing import Cite
from .tool_choice import read_tool_choice

HEADER: Final = "agent/1"
AGENT: Final = "agent"
PROMPT: Final = "prompt"
PROMPT_CHARS_MAX = 50_000
"""A longer prompt would take long to be compared, word by word."""
ABOUT_CHARS = 200

Name = Annotated[str, Meta(min_length=1, max_length=140, description="NAME, or NAME@3 for a version.")]
ToolName = Annotated[
    str,
    Meta(min_length=1, max_length=140, description="NAME, NAME@3 for a version, or knowledge:NAME for a collection."),
]


class PromptReference(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A published prompt in the place of a text.

    Attributes:
        prompt: its name; `desk@3` for a version.
    """

    prompt: Name


StopText = Annotated[str, Meta(min_length=1, max_length=1_000)]
Most = Annotated[int, Meta(ge=1, le=1_000_000_000)]


class AgentLimits(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Limits of one run of an agent, below those of the settings; None for those of the settings.

    Attributes:
        steps: how often the model may be asked.
        calls: the number of tool calls.
        seconds: how long a run may take, waiting for persons not counted.
        tokens: the number of tokens, in and out.
    """

    steps: Most | None = None
    calls: Most | None = None
    seconds: Most | None = None
    tokens: Most | None = None

    def within(self, allowed: Limits) -> Limits:
        """These limits, each at most as high as the operator allows.

        Args:
            allowed: the limits of the settings.

        >>> within = AgentLimits(steps=10, tokens=900).within(Limits(steps=5))
        >>> within.steps, within.calls, within.tokens
        (5, 100, 900)
        """
        wanted = {name: value for name, value in structs.asdict(self).items() if value is not None}
        lower = {name: value for name, value in wanted.items() if _is_below(value, getattr(allowed, name))}
        return structs.replace(allowed, **lower)


def _is_below(value: int, allowed: float | None) -> bool:
    return allowed is None or value < allowed


class AgentModelSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """How the model of an agent is asked. What is left out is that of the settings of the operator. The text of an
    agent has neither headers nor further fields of the request: these could say anything to the endpoint.

    Attributes:
        temperature, top_p, seed, stop, tool_search: as in `ModelSettings`.
        max_tokens: likewise, at most as high as the operator allows.
    """

    temperature: Annotated[float, Meta(ge=0, le=100)] | None = None
    max_tokens: Most | None = None
    top_p: Annotated[float, Meta(gt=0, le=1)] | None = None
    seed: int | None = None
    stop: StopText | tuple[StopText, ...] = ()
    tool_search: SearchWay | None = None

    def over(self, allowed: ModelSettings) -> ModelSettings:
        """These settings, and those of the operator for what is not set here.

        Args:
            allowed: the settings of the operator.

        >>> AgentModelSettings(temperature=0.2, max_tokens=900).over(ModelSettings(max_tokens=500, seed=7))
        ModelSettings(temperature=0.2, max_tokens=500, seed=7)
        """
        said = {name: value for name, value in structs.asdict(self).items() if value not in (None, ())}
        if self.max_tokens is not None and not _is_below(self.max_tokens, allowed.max_tokens):
            said["max_tokens"] = allowed.max_tokens
        return ModelSettings(**said).over(allowed) if said else allowed


class AgentDefinition(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """An agent, as a text defines it.

    Attributes:
        name: the name.
        description: what the agent is good for.
        model: a model that the server offers; empty for the server's own.
        instructions: the system prompt, or the name of a published prompt.
        model_settings: how the model is asked.
        tools: the names of tools, as `/v1/tools` lists them; `knowledge:handbook` for the tool of a collection.
        agents: the names of agents that this agent may hand tasks to, each a tool of this name; `books@3` for a version
            of a published one.
        choose, always: as for `Agent`.
        users, roles: who may use the agent; empty for anybody.
        memory: whether the agent takes part in conversations, and remembers its users across conversations (`user`).
        cite: what no quote of a source backs is marked in an answer (`mark`) or left out (`strict`).
        tool_choice, plan, references, truncation: as for `Agent`; left out, those of the settings. `tool_choice` names
            tools of this agent.
        limits: of one run, below those of the settings.
    """

    name: str
    description: str = ""
    model: str = ""
    instructions: str | PromptReference = ""
    model_settings: AgentModelSettings = AgentModelSettings()
    tools: tuple[ToolName, ...] = ()
    agents: tuple[Name, ...] = ()
    choose: int | None = None
    always: tuple[str, ...] = ()
    users: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    memory: MemoryWord = "conversation"
    cite: Cite = ""
    tool_choice: str | tuple[str, ...] | None = None
    plan: bool | Literal["first"] | None = None
    references: bool | None = None
    truncation: Literal["auto", "disabled"] | None = None
    limits: AgentLimits = AgentLimits()


def read_agent(text: str) -> AgentDefinition:
    """The agent that a text defines.

    Args:
        text: JSON, YAML or TOML.

    Raises:
        BadText: something is wrong with it; each problem names its place and what would be right.
    """
    found = read_struct(text, HEADER, AgentDefinition)
    problems: list[TextProblem] = []

    def check(place: str, look: object) -> None:
        try:
            look()  # type: ignore[operator]  # a function without arguments
        except UsageError as error:
            problems.append(TextProblem(error.sentence, path=place))

    check("name", lambda: checked_name(found.name))
    check("tool_choice", lambda: _check_tool_choice(found))
    check("choose", lambda: Choice(found.choose, found.always))
    for number, tool in enumerate(found.tools):
        check(f"tools.{number}", lambda tool=tool: tool_reference(tool))
    for number, agent in enumerate(found.agents):
        check(f"agents.{number}", lambda agent=agent: reference(agent))
    if isinstance(found.instructions, PromptReference):
        check("instructions.prompt", lambda: reference(str(getattr(found.instructions, "prompt", ""))))
    elif plain(found.instructions) != found.instructions:
        told = "instructions have characters that nobody sees"
        problems.append(TextProblem(told, hint="take them out", path="instructions"))
    if plain(found.description) != found.description:
        told = "description has characters that nobody sees"
        problems.append(TextProblem(told, hint="take them out", path="description"))
    if len({tool_reference(tool)[0] for tool in found.tools} if not problems else found.tools) < len(found.tools):
        problems.append(TextProblem("a tool is named twice", hint="leave one of them out", path="tools"))
    callable_names = [tool_reference(each)[0] for each in (*found.tools, *found.agents)] if not problems else []
    if len(set(callable_names)) < len(callable_names):
        told = "two agents, or an agent and a tool, have the same name"
        problems.append(TextProblem(told, hint="leave one of them out", path="agents"))
    if problems:
        raise BadText(problems)
    return found


def tool_reference(tool: str) -> tuple[str, int | None]:
    """The name and the number that a name of a tool in the text of an agent stands for.

    Raises:
        UsageError: it stands for none.

    >>> tool_reference("orders@3"), tool_reference("knowledge:handbook")
    (('orders', 3), ('knowledge:handbook', None))
    """
    if tool.startswith(ADDRESS):
        return ADDRESS + checked_collection(tool.removeprefix(ADDRESS)), None
    return reference(tool)


def _check_tool_choice(agent: AgentDefinition) -> None:
    """Raises:
    UsageError: the tool choice is none, or names a tool that the agent does not name.
    """
    if agent.tool_choice is None:
        return
    choice = read_tool_choice(agent.tool_choice)
    if any(name.startswith(ADDRESS) for name in agent.tools):
        return  # the tool of a collection has a name of its own
    own = {name.partition("@")[0] for name in (*agent.tools, *agent.agents)}
    missing = [name for name in named_tools(choice) if name not in own]
    if missing:
        raise UsageError("{tool!r} is none of the tools of this agent: add it to tools", tool=missing[0])


def agents_differ(old: str, new: str) -> Sequence[DefinitionChange]:
    """How two agents differ, field by field.

    Raises:
        BadText: one of the texts is no agent.

    >>> [(each.place, each.old, each.new) for each in agents_differ("name: a", "name: a\\ntools: [add]")]
    [('tools', None, ['add'])]
    """
    return fields_differ(_fields(read_agent(old)), _fields(read_agent(new)))


def _fields(agent: AgentDefinition) -> JsonObject:
    found = msgspec.to_builtins(agent)
    return {name: [*value] if isinstance(value, tuple) else value for name, value in found.items()}


def read_prompt(text: str) -> ReadDefinition:
    """What lists tell of a prompt: its first line. The whole text is the prompt, and its name is that of its file.

    Raises:
        BadText: the text is empty, too long, or has characters that nobody sees.
    """
    if not text.strip():
        raise BadText([TextProblem("a prompt has some text")])
    if len(text) > PROMPT_CHARS_MAX:
        raise BadText([TextProblem(f"the prompt has more than {PROMPT_CHARS_MAX} characters")])
    if plain(text) != text:
        line = next((number for number, each in enumerate(text.split("\n"), 1) if plain(each) != each), 1)
        raise BadText([TextProblem("the prompt has characters that nobody sees", line, hint="take them out")])
    return ReadDefinition(about=text.strip().split("\n", 1)[0][:ABOUT_CHARS])


def prompts_differ(old: str, new: str) -> Sequence[DefinitionChange]:
    """How two prompts differ, by words.

    >>> [(each.kind, each.place, each.old, each.new) for each in prompts_differ("Be kind now.", "Be brief now.")]
    [('changed', '1', 'kind', 'brief')]
    """
    before, after = _words(old), _words(new)
    found: list[DefinitionChange] = []
    for kind, start, end, start_now, end_now in difflib.SequenceMatcher(None, before, after).get_opcodes():
        gone, come = "".join(before[start:end]).strip(), "".join(after[start_now:end_now]).strip()
        if kind == "equal" or gone == come:
            continue
        line = "".join(before[:start]).count("\n") + 1
        made: Literal["added", "removed", "changed"] = "changed" if gone and come else "added" if come else "removed"
        found.append(DefinitionChange(kind=made, what="words", place=str(line), old=gone or None, new=come or None))
    return found


def _words(text: str) -> list[str]:
    return re.findall(r"\s+|\w+|[^\w\s]", text)
