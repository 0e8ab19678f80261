"""The settings of a program: from the person's own file, then `actum.toml` of the folder, then the environment, then
the caller. A later place overrules an earlier one.

`ACTUM_API_KEY` is not a setting: the key is read where a model is opened, and is in no object that is printed.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import msgspec
from msgspec import Meta, Struct

from ..call.limits.limits import Limits
from ..core.budget import Price
from ..core.errors import UnknownName, UsageError
from ..core.json import Json, JsonObject
from ..core.language.sentence import Sentence, names_or_none
from ..core.model_settings import UNSET, ModelSettings
from ..core.policy import Defence
from ..core.secret_values import is_secret_name
from ..core.stored.passed import ALL_TROUBLE, Trouble
from ..core.toml import read_toml
from ..memory.memory import Memory, MemoryWord
from ..policy.labels import READER, Label
from ..protocols.a2a.remote_agent import RemoteAgent
from ..sandbox.jail import Jail, JailLimits, host_rules
from ..storage.folders import settings_path
from ..storage.place import SCHEMES
from ..storage.postgres import address
from ..telemetry.settings import TelemetryTable
from ..toolsets.wrappers import ToolLabels
from ..transport.egress import EgressRules
from ..triggers.settings import TriggerTable
from .dialect_table import DialectTable
from .mistakes import Fault, Mistake, faults_in, located, meant, placed, unreadable
from .tables.serve import LoginTable, ServeLimits, ServeSettings

EMBEDDED = "embedded"
EVERYDAY = "everyday"
MINE = "mine"
FINDER = "mcp"
CODE = "code"
MEMORY = "memory"
PUBLISHED = "published:"
"""In `tools`: a tool that the caller's tenant has published, or `*` for all of them."""
PROMPT = "prompt:"
"""In the place of `instructions`: a prompt that the caller's tenant has published."""
SETTINGS_FILE = "actum.toml"
ENVIRONMENT = {
    "ACTUM_MODEL": "model",
    "ACTUM_BASE_URL": "base_url",
    "ACTUM_JOURNAL": "journal",
    "ACTUM_JOURNAL_KEY_FILE": "journal_key",
    "ACTUM_POLICY": "policy",
    "ACTUM_BROKER": "tasks.broker",
}
"""The setting that each variable sets; of a table, one of its fields."""
MCP_WAIT_S = 5.0


class ToolSource(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """An entry of `tools` that takes the tools of a place under other names, or only some of them.

    Attributes:
        source: the place, `from` in the file: `everyday`, `file.py`, `file.py:name` or `module:name`.
        only: patterns of the names that are taken, as the place has them; empty for all.
        rename: new names, each with the place's own name of the tool.
        prefix: a text that is put before each name, after renaming.
    """

    source: str = msgspec.field(name="from")
    only: tuple[str, ...] = ()
    rename: dict[str, str] = {}
    prefix: str = ""

    def __str__(self) -> str:
        return f"{self.source} as {self.prefix}*" if self.prefix else self.source


class AgentTable(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """An agent that is known by a name: `[agents.NAME]`. What is not set is taken from the settings around the table.

    Attributes:
        python: `package.module:agent` or `file.py:agent`, an `Agent` that is defined in code. Only `description`,
            `users`, `roles` and `memory` can be set beside it.
        description: what the agent is good for, for agents that may hand tasks to it.
        agents: the names of agents that this agent may hand tasks to.
        output: `file.py:name` or `module:name` of the type of its answers; empty for text.
        memory: `user` where it remembers users across conversations, `conversation` where it may take part in
            conversations, `none` where runs are independent of each other; or a table, as `actum.memory.Memory`.
        users: patterns of the users who may use the agent.
        roles: roles; a user must have one of them. With neither users nor roles, anybody may use the agent.
        model, base_url, tools, mcp, dialect, instructions, model_settings, truncation, choose, always, tool_choice,
        plan, references, cite, policy, limits: as in `SettingsFile`. Of the tables `model_settings` and `limits` only
            what is named here is changed.
    """

    python: str = ""
    description: str = ""
    agents: tuple[str, ...] = ()
    output: str = ""
    memory: Memory | MemoryWord | None = None
    users: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    model: str = ""
    base_url: str = ""
    tools: tuple[str | ToolSource, ...] = ()
    mcp: tuple[str, ...] = ()
    dialect: str | DialectTable = ""
    instructions: str = ""
    model_settings: ModelSettings = UNSET
    truncation: Literal["auto", "disabled"] = "disabled"
    choose: int | None = None
    always: tuple[str, ...] = ()
    tool_choice: str | tuple[str, ...] = "auto"
    plan: bool | Literal["first"] = False
    references: bool = False
    cite: bool | Literal["mark", "strict"] = False
    policy: str = ""
    limits: Limits = Limits()


class WorkflowTable(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A workflow that is known by a name: `[workflows.NAME]`. What is not set is taken from the settings around the
    table.

    Attributes:
        file: the definition: `name.workflow.yaml` or JSON, from the folder of the settings.
        tools: what the nodes may call, as `tools` in `SettingsFile`.
        models: the models that the nodes name, each by its name in the definition: `fast = "openai:gpt-5-mini"`.
        description: what the workflow is good for; by default the definition says so.
    """

    file: str
    tools: tuple[str | ToolSource, ...] = ()
    models: dict[str, str] = {}
    description: str = ""


BESIDE_PYTHON = ("python", "description", "users", "roles", "memory")
"""What can be set of an agent that is defined in code."""


class UpstreamTable(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """An entry of `upstreams` that says more than the place of the model.

    Attributes:
        model: `provider:model`, or an address with `#name`; `*` in the place of the name means the name that was asked
            for.
        weight: how many users begin here, beside the other entries with a weight: for an A/B test. The other entries
            are asked only when those with a weight give no answer.
        api: the API there: `auto` for that of the provider, and OpenAI's Chat Completions for an address.
        key: `${secret:NAME}` or `${VARIABLE}`, instead of the provider's variable. An address is sent no other key.
        headers: further headers of each request.
        timeout_s: for how many seconds the upstream may be silent.
        trace: the upstream is sent a `traceparent`, so that its own spans hang below those of this server.
    """

    model: str
    weight: Annotated[float, Meta(ge=0)] = 0.0
    api: str = "auto"
    key: str = ""
    headers: dict[str, str] = {}
    timeout_s: Annotated[float, Meta(gt=0)] | None = None
    trace: bool = False


class ModelTable(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A model that clients of `actum serve` may ask for: `[models.NAME]`. The name may be a pattern, such as `gpt-*`.

    Attributes:
        upstreams: the places to which requests are passed on, in order: names, or entries as `UpstreamTable`.
        agent: the agent that answers, instead of upstreams.
        fallback: the kinds of trouble after which the next upstream is asked; all by default.
        keep_bodies: keep the bodies of requests and answers on record.
    """

    upstreams: tuple[str | UpstreamTable, ...] = ()
    agent: str = ""
    fallback: tuple[Trouble, ...] = ALL_TROUBLE
    keep_bodies: bool = False


class SandboxTable(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What code and scripts that run as tools may do; the table `[sandbox]`.

    Attributes:
        read: files and folders that they may read, beside the system's programs.
        write: folders that they may write.
        hosts: hosts that they may reach by HTTP, as in `allow` of `[egress]`; none where this is empty.
        read_only_hosts: those of `hosts` that a script may reach and still count as a script that only reads.
        environment: the environment variables that they are given.
        limits: the resources that one call may use.
        python: what runs the Python code of a model: `cpython`, or `monty`, a faster subset of Python.
        backend: the backend of the jail, by its name in an installed package; empty for that of actum.
    """

    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    read_only_hosts: tuple[str, ...] = ()
    environment: dict[str, str] = {}
    limits: JailLimits = JailLimits()
    python: Literal["cpython", "monty"] = "cpython"
    backend: str = ""

    def __post_init__(self) -> None:
        host_rules(self.hosts)

    def jail(self, folder: Path) -> Jail:
        """Make the jail of a call.

        Args:
            folder: the folder that paths are relative to.
        """

        def whole(paths: tuple[str, ...]) -> tuple[str, ...]:
            return tuple(str((folder / Path(path).expanduser()).absolute()) for path in paths)

        return Jail(
            read=whole(self.read),
            write=whole(self.write),
            hosts=self.hosts,
            environment=self.environment,
            limits=self.limits,
            backend=self.backend,
        )


class TaskSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How tasks are carried out; the table `[tasks]`.

    Attributes:
        dispatcher: `local` for child processes of `actum serve`; `celery` for workers of `actum worker`.
        broker: the address of the broker of Celery, such as `redis://127.0.0.1:6379/0`.
        workers: how many tasks run at a time, in each server or worker.
        tasks_per_child: how many tasks a child process carries out before it is replaced.
        child_memory_bytes: the most memory that a child process may use after a task; with more it is replaced.
        queued: the most tasks of one user that may wait to be begun; more are refused.
        queued_per_tenant: the same for the tasks of one tenant.
        running: the most tasks of one user that may run at a time; 0 for no limit.
        running_per_tenant: the same for the tasks of one tenant; 0 for no limit.
        kept_days: for how many days the list keeps a task after its end, and a webhook after it was given up. The run
            of the task stays in the journal.
        webhook_secrets: the names of the secrets that messages about ended tasks are signed with. Name two while the
            secret is being changed: receivers may check either.
    """

    dispatcher: Literal["local", "celery"] = "local"
    broker: str = ""
    workers: Annotated[int, Meta(ge=1, le=1000)] = 4
    tasks_per_child: Annotated[int, Meta(ge=1)] = 100
    child_memory_bytes: Annotated[int, Meta(ge=1)] = 1 << 30
    queued: Annotated[int, Meta(ge=1)] = 10_000
    queued_per_tenant: Annotated[int, Meta(ge=1)] = 100_000
    running: Annotated[int, Meta(ge=0)] = 0
    running_per_tenant: Annotated[int, Meta(ge=0)] = 0
    kept_days: Annotated[float, Meta(gt=0)] = 30.0
    webhook_secrets: Annotated[tuple[str, ...], Meta(min_length=1, max_length=2)] = ("webhook",)


class SettingsFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All settings.

    Attributes:
        model: a model's name, an address with `#name`, or `file.py:name` of a `Model` object; empty for the embedded
            model.
        base_url: the OpenAI-compatible endpoint at which `model` is a name.
        tools: `everyday`, `file.py`, `file.py:name` or `module:name`; `code` for tools that run code, `folder/` for the
            scripts of a folder, both in a sandbox; `none` for no tools. `mcp` for the two tools by which a model finds
            the tools of MCP servers itself, instead of being shown all of them. A table takes the tools of a place
            under other names; see `ToolSource`. In a file with tables `[tools."pattern"]` the list is at `use` in
            `[tools]`.
        mcp: MCP servers: `mine` for those that were added with `actum mcp add`, the name of one of them, an address, or
            a file of them; `none` for none.
        dialect: the form in which the model says a call: a name, or a table of a name and options; see `DialectTable`.
        instructions: the system prompt.
        model_settings: how the model is asked: temperature, length, headers and more.
        truncation: whether a too long conversation is told without its beginning: `auto`, or `disabled`.
        choose, always: how many of the tools the model is shown at a time, and the tools that are always among them; as
            for `Agent`.
        tool_choice: whether a run must call a tool, and which: `auto`, `none`, `required`, a tool's name, or the names
            of the only tools that it may call.
        plan: the model writes down a plan, and the state of each step; as for `Agent`.
        references: the calls of one reply may use each other's results.
        cite: what no quote of a source backs is marked in an answer (`mark`) or left out (`strict`, or true).
        journal: the journal's file, or a `postgresql://` address; `memory` for none; empty for the person's own.
        journal_key: the file that holds the key with which the journal's heads are signed; empty to sign none.
        policy: the policy's file, or `published:NAME` for the one that each tenant has published under this name; empty
            for the policy that asks before every declared side effect.
        limits: how much a run may use.
        prices: what models cost, by their names.
        mcp_wait: seconds for which a run waits for MCP servers that are not known yet, all side by side.
        speaks_for_user: clients of `actum mcp serve` that say only what their user said, so that rules take their
            values as the user's: `local` for programs without a key, `shared` for clients with the key of `--key-env`,
            or the id of a client of `--issuer`.
        defence: against orders in foreign text; see `core.policy.Defence`.
        labels: what the labels of fields of results mean; see `policy.labels`.
        egress: where the calls of tools may go: `allow`, `deny`, `private`, `proxy`.
        sandbox: what code and scripts that run as tools may do.
        agents: agents by their names; see `AgentTable`.
        workflows: workflows by their names; see `WorkflowTable`.
        tool_labels: what the operator says of tools, by a name or a pattern of names: the tables `[tools."pattern"]`.
        tool_modules: patterns of the modules whose functions a published tool may name: `modules` in `[tools]`.
        tenant_claim: the claim that names the tenant of a user, in the tokens of `--issuer` and of `[serve.login]`;
            dots lead inside. A token without this claim is not accepted then. Empty where all users belong to one
            tenant.
        serve: how `actum serve` is reached.
        tasks, telemetry: how tasks are carried out; where the spans of runs are sent, None for nowhere.
        models: the models that clients of `actum serve` may ask for, by their names; see `ModelTable`.
        a2a: remote agents by their names here, for `tools = ["a2a:NAME"]`; see `RemoteAgent`.
        triggers: what begins runs by itself, by name; see `TriggerTable`.
        features: the tables of features, such as `[bookmarks]`, by the names of the features; see `compose.features`.
    """

    model: str = ""
    base_url: str = ""
    tools: tuple[str | ToolSource, ...] = (EVERYDAY,)
    mcp: tuple[str, ...] = (MINE,)
    dialect: str | DialectTable = "auto"
    instructions: str = ""
    model_settings: ModelSettings = UNSET
    truncation: Literal["auto", "disabled"] = "disabled"
    choose: int | None = None
    always: tuple[str, ...] = ()
    tool_choice: str | tuple[str, ...] = "auto"
    plan: bool | Literal["first"] = False
    references: bool = False
    cite: bool | Literal["mark", "strict"] = False
    journal: str = ""
    journal_key: str = ""
    policy: str = ""
    limits: Limits = Limits()
    prices: dict[str, Price] = {}
    mcp_wait: float = MCP_WAIT_S
    speaks_for_user: tuple[str, ...] = ()
    defence: Defence | None = None
    labels: dict[str, Label] = {}
    egress: EgressRules = EgressRules()
    sandbox: SandboxTable = SandboxTable()
    agents: dict[str, AgentTable] = {}
    workflows: dict[str, WorkflowTable] = {}
    tool_labels: dict[str, ToolLabels] = {}
    tool_modules: tuple[str, ...] = ()
    tenant_claim: str = ""
    serve: ServeSettings = ServeSettings()
    tasks: TaskSettings = TaskSettings()
    telemetry: TelemetryTable | None = None
    models: dict[str, ModelTable] = {}
    a2a: dict[str, RemoteAgent] = {}
    triggers: dict[str, TriggerTable] = {}
    features: dict[str, JsonObject] = {}


def model_table_name(settings: SettingsFile, name: str) -> str | None:
    """The name of the table `[models.NAME]` that a model's name means: its own, or a pattern such as `gpt-*` that fits;
    None for none.
    """
    if name in settings.models:
        return name
    fits = (each for each in settings.models if re.fullmatch(".*".join(map(re.escape, each.split("*"))), name))
    return next(fits, None)


class SettingsOrigin(Struct, frozen=True, kw_only=True):
    """The inputs from which settings were read, so that they can be read again.

    Attributes:
        folder: where `actum.toml` may lie.
        said: the settings of the caller.
    """

    folder: str
    said: dict[str, str | list[str] | dict[str, Json]] = {}


class Settings(SettingsFile, frozen=True, kw_only=True):
    """The settings of a program, as they were read.

    Attributes:
        sources: where each setting comes from: the path of the person's own file, `actum.toml`, a variable, or `flag`.
            It has only settings that were set.
        agent: the name of the agent whose settings these are; empty for those around all agents.
        of_agents: the settings of each agent: the settings of its table, which overrule those around it.
        origin: how the settings were read; None for settings that a program has made.
    """

    sources: dict[str, str] = {}
    origin: SettingsOrigin | None = None
    agent: str = ""
    of_agents: dict[str, Settings] = {}

    def __repr__(self) -> str:  # the address of a journal may hold a password, and a header a key
        return f"Settings({', '.join(f'{name}={value!r}' for name, value in shown_settings(self).items())})"


def read_settings(
    folder: Path, environment: Mapping[str, str], said: Mapping[str, str | bool | Sequence[str] | JsonObject | None]
) -> Settings:
    """Read the settings of the person, the folder, the environment and the caller; a later one overrules the earlier.

    Args:
        folder: where `actum.toml` may lie.
        environment: the variables of the process; they also say where the person's own file is.
        said: the settings of the caller; None and empty values count as not set. A table sets only the fields that it
            names.

    Raises:
        UsageError: a file is not TOML, or sets something that is not a setting.
    """
    own = settings_path(environment)
    layers = [_Layer(str(own), read_settings_file(own))] if own is not None else []
    layers.append(_Layer(SETTINGS_FILE, read_settings_file(folder / SETTINGS_FILE)))
    origin = SettingsOrigin(
        folder=str(folder), said=msgspec.to_builtins({name: value for name, value in said.items() if value})
    )
    layers += [
        _Layer(variable, {table: {field: environment[variable]} if field else environment[variable]})
        for variable, name in ENVIRONMENT.items()
        for table, _, field in [name.partition(".")]
        if environment.get(variable)
    ]
    enforced = [layer for layer in layers if layer.source in _ENFORCED and "agents" not in layer.values]
    flags = _Layer("flag", {name: value for name, value in said.items() if value})
    around = _merged([*layers, flags], own)
    of_agents: dict[str, Settings] = {}
    for layer in layers:
        tables = layer.values.get("agents")
        for name, table in tables.items() if isinstance(tables, dict) else ():
            set_here = {key: value for key, value in table.items() if key in _OF_SETTINGS}
            merged = _merged([*layers, _Layer(layer.source, set_here), *enforced, flags], own)
            of_agents[name] = msgspec.structs.replace(merged, agent=name, origin=origin)
    _check_agents(around.agents)
    _check_workflows(around)
    return msgspec.structs.replace(around, of_agents=of_agents, origin=origin)


def settings_files(folder: Path, environment: Mapping[str, str]) -> tuple[Path, ...]:
    """The files of settings that `read_settings` reads, whether they are there or not."""
    own = settings_path(environment)
    return (*([own] if own is not None else []), folder / SETTINGS_FILE)


_ENFORCED = frozenset({"ACTUM_POLICY"})
"""The variables that overrule the tables of agents, too: there the operator of a program says who may call what."""


class _Layer(NamedTuple):
    source: str
    values: Mapping[str, object]


def _merged(layers: Sequence[_Layer], own: Path | None) -> Settings:
    """The settings of several layers; the later ones win."""
    found: dict[str, object] = {}
    sources: dict[str, str] = {}
    for layer in layers:
        if "base_url" in layer.values and own is not None and sources.get("model") == str(own):
            del found["model"], sources["model"]  # the model of the person's own file is at another address
        for name, value in layer.values.items():
            before, sources[name] = found.get(name), layer.source
            if name != "dialect" and isinstance(before, dict) and isinstance(value, dict):
                found[name] = before | value
            else:
                found[name] = value
            if name == "egress" and isinstance(before, dict) and isinstance(value, dict):
                found[name] = before | value | _denied(before, value)
    return Settings(**msgspec.structs.asdict(_checked(found, "the settings")), sources=sources)


def _denied(before: Mapping[str, object], later: Mapping[str, object]) -> dict[str, object]:
    """The table `[egress]` of two layers, with all that either denies: no folder allows what the own file denies."""
    lists = [table["deny"] for table in (before, later) if isinstance(table.get("deny"), list)]
    return {"deny": [entry for entries in lists if isinstance(entries, list) for entry in entries]}


_OF_SETTINGS = frozenset(AgentTable.__struct_fields__) & frozenset(SettingsFile.__struct_fields__) - {"agents"}
"""The settings that an agent's table may overrule."""
_WORKFLOW_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
"""Names of workflows are names of tools, since a workflow is served as a tool."""
_AGENT_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


def shown_settings(settings: Settings) -> dict[str, Json]:
    """Each setting by its name, as it may be shown: without passwords, headers, and values that are named like keys."""
    plain: dict[str, Json] = msgspec.to_builtins(settings, order="deterministic", enc_hook=str)
    labels, agents, workflows = plain.pop("tool_labels"), plain.pop("agents"), plain.pop("workflows")
    features = plain.pop("features")
    shown = {name: _hidden(name, plain[name]) for name in SettingsFile.__struct_fields__ if name in plain}
    shown |= {f"tools.{_toml_text(pattern)}": table for pattern, table in _items(labels)}
    shown |= {f"agents.{name}": _hidden("", table) for name, table in _items(agents)}
    shown |= {f"workflows.{name}": _hidden("", table) for name, table in _items(workflows)}
    return shown | {name: _hidden("", table) for name, table in _items(features)}


def _items(value: Json) -> list[tuple[str, Json]]:
    return list(value.items()) if isinstance(value, dict) else []


def _hidden(name: str, value: Json) -> Json:
    """A setting's value as it may be shown."""
    if isinstance(value, dict):
        is_header = name == "headers"
        return {key: HIDDEN if is_header or is_secret_name(key) else _hidden(key, each) for key, each in value.items()}
    if isinstance(value, list):
        return [_hidden(name, each) for each in value]
    return address(value) if isinstance(value, str) and "://" in value and name in _ADDRESSES else value


HIDDEN = "[hidden]"
_ADDRESSES = frozenset({"base_url", "broker", "journal", "mcp", "model", "proxy"})


def read_settings_file(path: Path) -> dict[str, object]:
    """The settings of a file; none where there is no such file.

    Raises:
        UsageError: the file can not be read, or there is a mistake in it; the error names the first mistake, with its
            line.
    """
    found, mistakes = _look(path)
    if mistakes:
        more = f" ({len(mistakes) - 1} more: `actum config check`)" if len(mistakes) > 1 else ""
        raise UsageError("{mistakes}{more}", mistakes=mistakes[0].text, more=more)
    return _sorted_out(found)


def settings_texts(folder: Path, environment: Mapping[str, str]) -> dict[str, str]:
    """The settings files that are there, with their texts; a later one overrules the earlier."""
    own = settings_path(environment)
    files = [*([own] if own is not None else []), folder / SETTINGS_FILE]
    return {str(file): file.read_text("utf-8-sig") for file in files if file.is_file()}


@contextmanager
def at_their_lines(folder: Path, environment: Mapping[str, str]) -> Iterator[None]:
    """A block whose refusals of the settings are told with file and line, where they say which setting they mean.

    Raises:
        UsageError: a setting can not be.
    """
    try:
        yield
    except UsageError as error:
        mistake = located(str(error), settings_texts(folder, environment))
        if not mistake.line:
            raise
        raise UsageError("{mistakes}{more}", mistakes=mistake.text, more="") from None


def find_mistakes(path: Path) -> list[Mistake]:
    """All mistakes in a settings file; none where there is no such file."""
    return _look(path)[1]


def _look(path: Path) -> tuple[dict[str, object], list[Mistake]]:
    """A settings file as TOML reads it, and its mistakes."""
    try:
        text = path.read_text("utf-8-sig") if path.is_file() else ""
    except (OSError, ValueError) as error:
        return {}, [Mistake(str(path), 0, f"can not be read: {error}")]
    try:
        found: dict[str, object] = read_toml(text)
    except tomllib.TOMLDecodeError as error:
        return {}, [unreadable(str(path), text, error)]
    return found, placed(str(path), text, list(_faults(found)))


def _faults(found: Mapping[str, object]) -> Iterator[Fault]:
    """The mistakes in a settings file, as TOML reads it."""
    plain = {name: value for name, value in found.items() if name != "tools" or not isinstance(value, dict)}
    plain = {name: value for name, value in plain.items() if not _is_feature(name, value)}
    for internal in ("tool_labels", "tool_modules", "sources", "features"):
        if plain.pop(internal, None) is not None:
            yield Fault((internal,), f"unknown field `{internal}`", 'What tools do is said by [tools."name"]')
    yield from faults_in(SettingsFile, plain, "settings")
    yield from _bad_readers(found.get("labels"))
    yield from _bad_tools(found.get("tools"), found.get("labels"))
    agents = found.get("agents")
    for name, table in agents.items() if isinstance(agents, dict) else ():
        if not _AGENT_NAME.fullmatch(name):
            told = "an agent's name has 1 to 64 letters, digits, `_`, `-` or `.`"
            yield Fault(("agents", name), f"the agent {name!r} can not be called so", told)
        beside = [key for key in table if key not in BESIDE_PYTHON] if isinstance(table, dict) else []
        if beside and "python" in table:
            told = f"The agent stands in code, with its own {beside[0]}. Beside python: {', '.join(BESIDE_PYTHON[1:])}"
            yield Fault(("agents", name, beside[0]), f"`{beside[0]}` beside `python`", told)

    workflows = found.get("workflows")
    for name in workflows if isinstance(workflows, dict) else ():
        if not _WORKFLOW_NAME.fullmatch(name):
            told = "a workflow's name has 1 to 64 letters, digits, `_` or `-`"
            yield Fault(("workflows", name), f"the workflow {name!r} can not be called so", told)
        elif isinstance(agents, dict) and name in agents:
            told = "a name means one thing: rename one of the two"
            yield Fault(("workflows", name), f"{name!r} is an agent, and a workflow", told)


def _bad_tools(tools: object, labels: object) -> Iterator[Fault]:
    """The mistakes in `[tools]`."""
    for name, value in tools.items() if isinstance(tools, dict) else ():
        if isinstance(value, dict):
            yield from faults_in(ToolLabels, value, f"fields of [tools.{_toml_text(name)}]", ("tools", name))
            yield from _unknown_labels(name, value.get("labels"), labels)
        elif name in (USE, MODULES):
            field = "tools" if name == USE else "tool_modules"
            yield from faults_in(SettingsFile, {field: value}, "settings", ())
        elif name == "watch":
            told = "A folder of scripts is always read again when a script is added, changed or removed"
            yield Fault(("tools", name), "`watch` is no setting", f"{told}: leave the line out")
        else:
            hint = f'[tools] has {USE} = [...], and tables such as [tools."crm_*"]{meant(name, [USE])}'
            yield Fault(("tools", name), f"unknown field `{name}`", hint)


def _is_feature(name: str, table: object) -> bool:
    """Whether a table of a file counts as that of a feature: no setting has this name, or nearly this name. Whether
    there is such a feature is not checked here, since that takes a search through all installed packages.
    """
    known = Settings.__struct_fields__
    if name in known or not isinstance(table, dict) or not _FEATURE_NAME.fullmatch(name):
        return False
    if not str(meant(name, known)):
        return True
    from ..core.process.installed import installed  # noqa: PLC0415  # a search that most settings do not need

    return any(each.name == name for each in installed("actum.features"))


def _bad_readers(labels: object) -> Iterator[Fault]:
    """The readers of labels that are none."""
    for name, table in labels.items() if isinstance(labels, dict) else ():
        readers = table.get("readers") if isinstance(table, dict) else None
        for reader in readers if isinstance(readers, list) else ():
            if isinstance(reader, str) and not READER.fullmatch(reader):
                yield Fault(
                    ("labels", name, "readers"), f"{reader!r:.80} is no reader", "Write user:NAME, role:NAME or all"
                )


def _unknown_labels(tool: str, fields: object, declared: object) -> Iterator[Fault]:
    """The labels of a tool's fields that nobody declared."""
    known = declared if isinstance(declared, dict) else {}
    for field, label in fields.items() if isinstance(fields, dict) else ():
        if isinstance(label, str) and label not in known:
            yield Fault(
                ("tools", tool, "labels", field), f"there is no label `{label}`", f"Declare it: [labels.{label}]"
            )


_FEATURE_NAME = re.compile(r"[a-z][a-z0-9_]{0,23}")


USE = "use"
"""In `[tools]`: the list of places, where there are tables as well."""
MODULES = "modules"
"""In `[tools]`: the modules whose functions published tools may name."""


def _sorted_out(found: dict[str, object]) -> dict[str, object]:
    """The settings of a file: tables of `[tools]` apart from the list of places, and tables of features together."""
    features = {name: found.pop(name) for name in list(found) if _is_feature(name, found[name])}
    found |= {"features": features} if features else {}
    tools = found.pop("tools", None)
    if not isinstance(tools, dict):
        return found if tools is None else found | {"tools": tools}
    labels = {name: table for name, table in tools.items() if isinstance(table, dict)}
    found |= {"tool_labels": labels} if labels else {}
    found |= {"tool_modules": tools[MODULES]} if MODULES in tools and MODULES not in labels else {}
    return found | ({"tools": tools[USE]} if USE in tools and USE not in labels else {})


def _check_agents(agents: Mapping[str, AgentTable]) -> None:
    """Check that each agent hands tasks only to agents that exist, and that no chain of agents is a circle.

    Raises:
        UsageError: an agent is unknown, or a chain of agents is circular.
    """

    known_good: set[str] = set()

    def follow(name: str, way: tuple[str, ...]) -> None:
        if name in known_good:
            return
        if name in way:
            circle = " -> ".join([*way[way.index(name) :], name])
            raise UsageError(
                "agents hand tasks to each other in a circle, and each would wait for itself: {circle}", circle=circle
            )
        for other in agents[name].agents:
            if other not in agents:
                known = names_or_none(each for each in agents if each != name)
                raise UsageError(
                    "[agents.{name}]: there is no agent {other!r}; there are: {known}{meant}",
                    name=name,
                    other=other,
                    known=known,
                    meant=meant(other, list(agents)),
                )
            follow(other, (*way, name))
        known_good.add(name)

    for name in agents:
        follow(name, ())


RESERVED = ("api", "mcp", "agent", "call")
"""Names that runs of this program itself have on record: no workflow may have one."""


def _check_workflows(settings: Settings) -> None:
    """Check that the name of a workflow means nothing else. Names may come from the files of several folders.

    Raises:
        UsageError: the name has another meaning.
    """
    for name in settings.workflows:
        if name in settings.agents:
            raise UsageError("{name!r} means two things: [agents.{name}] and [workflows.{name}]", name=name)
        if name in settings.models:
            raise UsageError("{name!r} means two things: [models.{name}] and [workflows.{name}]", name=name)
        if name in RESERVED:
            raise UsageError(
                "[workflows.{name}]: runs of this program itself are called {name!r}: take another name", name=name
            )


def _checked(found: Mapping[str, object], where: object) -> SettingsFile:
    try:
        return msgspec.convert(found, SettingsFile)
    except msgspec.ValidationError as error:
        kinds: dict[str, type[Struct]] = {
            "serve.login": LoginTable,
            "serve.limits": ServeLimits,
            "serve": ServeSettings,
            "limits": Limits,
            "tasks": TaskSettings,
            "model_settings": ModelSettings,
            "egress": EgressRules,
            "sandbox.limits": JailLimits,
            "sandbox": SandboxTable,
        }
        what = next((name for name in kinds if f"$.{name}" in str(error)), "settings")
        known = ", ".join(kinds.get(what, SettingsFile).__struct_fields__)
        raise UsageError(
            "{file}: {why}. The {what} are: {known}", file=where, why=error, what=what.replace("_", " "), known=known
        ) from None


def _toml_text(text: str) -> str:
    """A basic string of TOML. A JSON string without escaped surrogates is one."""
    return json.dumps(text, ensure_ascii=False)


def shown_journal(word: str) -> str:
    """The setting `journal` as it may be shown: an address without its password."""
    return address(word) if word.startswith(SCHEMES) else word


def table_of(settings: Settings, name: str) -> AgentTable:
    """The table of the agent of this name.

    Raises:
        UnknownName: there is no such agent; the message says which was probably meant.
    """
    table = settings.agents.get(name)
    if table is None:
        known = ", ".join(settings.agents) or Sentence("none, since the settings have no [agents.{name}]", name=name)
        raise UnknownName(
            "there is no agent {name!r}; there are: {known}{meant}",
            name=name,
            known=known,
            meant=meant(name, list(settings.agents)),
        )
    return table


def choose_agent(settings: Settings, name: str) -> Settings:
    """The settings of the agent of this name.

    Raises:
        UnknownName: there is no such agent; the message says which was probably meant.
    """
    table_of(settings, name)
    return msgspec.structs.replace(settings.of_agents[name], of_agents=settings.of_agents)
