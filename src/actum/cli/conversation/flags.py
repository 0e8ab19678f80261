"""Groups of flags: what several commands take is declared here once.

A command that is decorated with `spread` takes a group as one parameter:

    @spread
    def run(question: str, *, parts: AgentFlags, how: RunFlags) -> int: ...
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable

import msgspec
from msgspec import Struct

from ...compose.settings import Settings
from ...core.json import Json, JsonObject
from ...core.model_settings import ModelSettings
from .. import options
from ..options import (
    AfterFlag,
    AgentFlag,
    AttachFlag,
    ConversationFlag,
    DialectFlag,
    ExtraFlag,
    HeaderFlag,
    InstructionsFlag,
    JournalFlag,
    JsonFlag,
    LimitFlag,
    MaxTokensFlag,
    McpFlag,
    ModelFlag,
    NoMemoryFlag,
    OwnerFlag,
    PlanFlag,
    PolicyFlag,
    SeedFlag,
    StopFlag,
    TemperatureFlag,
    TimeoutFlag,
    ToolChoiceFlag,
    ToolsFlag,
    TopPFlag,
    TruncationFlag,
    VerboseFlag,
    YesFlag,
)


class FlagGroup(Struct, frozen=True, kw_only=True):
    """Flags that belong together. Each field is a flag, with the flag's default."""


class AgentFlags(FlagGroup, frozen=True, kw_only=True):
    """The agent, or its parts."""

    agent: AgentFlag = ""
    model: ModelFlag = ""
    tools: ToolsFlag = None
    mcp: McpFlag = None
    dialect: DialectFlag = ""


class ModelFlags(FlagGroup, frozen=True, kw_only=True):
    """How the model is asked."""

    temperature: TemperatureFlag = None
    max_tokens: MaxTokensFlag = None
    top_p: TopPFlag = None
    seed: SeedFlag = None
    stop: StopFlag = None
    timeout: TimeoutFlag = None
    header: HeaderFlag = None
    extra: ExtraFlag = None
    truncation: TruncationFlag = ""
    tool_choice: ToolChoiceFlag = ""
    plan: PlanFlag = False

    @property
    def said(self) -> JsonObject:
        """The model settings that these flags set."""
        said: dict[str, Json] = {
            "temperature": self.temperature,
            "max_tokens": self.max_tokens,
            "top_p": self.top_p,
            "seed": self.seed,
            "stop": list(self.stop or []) or None,
            "timeout_s": self.timeout,
            "headers": dict(map(options.header, self.header or [])) or None,
            "extras": dict(map(options.extra, self.extra or [])) or None,
        }
        return {name: value for name, value in said.items() if value is not None}

    @property
    def settings(self) -> ModelSettings:
        """The same as model settings."""
        return msgspec.convert(self.said, ModelSettings)


class ConversationFlags(FlagGroup, frozen=True, kw_only=True):
    """Where a new turn belongs, the files that go along with it, and the system prompt."""

    conversation: ConversationFlag = ""
    owner: OwnerFlag = None
    after: AfterFlag = ""
    instructions: InstructionsFlag = ""
    attach: AttachFlag = None
    no_memory: NoMemoryFlag = False


class RunFlags(FlagGroup, frozen=True, kw_only=True):
    """How a run is shown, what it may do without a person, and where it is recorded."""

    verbose: VerboseFlag = False
    as_json: JsonFlag = False
    yes: YesFlag = False
    limit: LimitFlag = None
    journal: JournalFlag = ""
    policy: PolicyFlag = ""


def settings_of(parts: AgentFlags, asking: ModelFlags, how: RunFlags, *, instructions: str = "") -> Settings:
    """The settings of a command that takes these flags: flags over environment over `actum.toml`.

    Raises:
        UsageError: a setting is not of its form, or there is no agent of the name.
    """
    return options.read(
        model=parts.model,
        tools=parts.tools,
        mcp=parts.mcp,
        dialect=parts.dialect,
        instructions=instructions,
        journal=how.journal,
        policy=how.policy,
        limits=how.limit,
        model_settings=asking.said,
        truncation=asking.truncation,
        tool_choice=asking.tool_choice,
        plan=asking.plan,
        agent=parts.agent,
    )


def spread(command: Callable[..., int]) -> Callable[..., int]:
    """The command as typer wants it: in place of each group among its parameters stand the flags of the group."""
    parameters: list[inspect.Parameter] = []
    groups: dict[str, type[FlagGroup]] = {}
    for parameter in inspect.signature(command, eval_str=True).parameters.values():
        kind = parameter.annotation
        if isinstance(kind, type) and issubclass(kind, FlagGroup):
            groups[parameter.name] = kind
            parameters += [
                inspect.Parameter(flag.name, parameter.KEYWORD_ONLY, default=flag.default, annotation=flag.type)
                for flag in msgspec.structs.fields(kind)
            ]
        else:
            parameters.append(parameter.replace(kind=parameter.KEYWORD_ONLY))

    @functools.wraps(command)
    def gathered(**said: object) -> int:
        taken = {
            name: kind(**{flag: said.pop(flag) for flag in kind.__struct_fields__}) for name, kind in groups.items()
        }
        return command(**said, **taken)

    gathered.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # typer reads this
    return gathered
