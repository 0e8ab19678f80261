"""`actum doctor`: what is there, what is missing, and what to do about it."""

from __future__ import annotations

import asyncio
import os
import platform
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal

from msgspec import Struct, structs
from rich.cells import set_cell_size

from ...compose.agents import list_tools, open_agents
from ...compose.apis import api_store
from ...compose.features import FoundFeature, found_features
from ...compose.journals import journal_place
from ...compose.mcp import find_servers, mcp_tokens
from ...compose.models import make_model
from ...compose.secrets import secret_file
from ...compose.settings import EMBEDDED, SETTINGS_FILE, Settings
from ...compose.task_worker import broker_depth
from ...compose.tools import load_tools, problems_of
from ...compose.workflows import open_workflows
from ...core.errors import ActumError, ModelError, ModelRejected, UsageError
from ...core.json import JsonObject
from ...core.message import UserMessage
from ...core.model import Model, Request, default_max_tokens
from ...core.process.installed import GROUPS, installed
from ...core.run.task import DEAD, TASK_STATES, TaskFigure
from ...core.secrets.given import GIVEN
from ...core.tool import Tool
from ...journal.export import Report, check_journal
from ...journal.memory import MemoryJournal
from ...journal.mismatch import mismatch
from ...memory.memory import remembers_users
from ...models.catalog import PROVIDERS, URL_KEY_VARIABLE
from ...models.local_servers import find_local_models
from ...sandbox.backend import backend_named
from ...sandbox.container import advice, container
from ...sandbox.layers import INSTEAD, layers
from ...server.verifier import identity_of_key
from ...storage.tokens import PLAIN_ADVICE
from ...toolsets.http.credentials import schemes_without
from ...toolsets.wrappers import label_problems
from ...transport.egress import EgressRules
from .. import loading, options
from ..conversation.models import NOTHING_FOUND
from ..exit_codes import DONE, FAILED
from ..language import tr, tr_finding
from ..mcp.commands import looked_at
from ..options import DialectFlag, JournalFlag, JsonFlag, McpFlag, ModelFlag, ToolsFlag
from ..show.terminal import (
    Terminal,
    counted,
    duration,
    styled,
)
from ..versions import version_of
from .collection_readers import unread_collections

PARTS = ("msgspec", "jsonschema-rs", "pydantic", "httpx2", "typer", "rich")
PROXY_VARIABLES = ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy")
ENDPOINT_S_MAX = 60.0
LOCAL_SHOWN_MAX = 5
KEYS_SHOWN_MAX = 10
VERDICT_COLUMNS = 5
WAITING_S_MAX = 60.0
"""A task that could begin and has waited for longer has no worker."""
BROKER_ADVICE = "start the broker, or mend `broker` in the table [tasks]; tasks are accepted meanwhile, and wait"
CHECKED_MAX = 200
"""The most of the latest runs that are checked, from their first entry to their last."""
_DOOR = Tool(
    name="open_door",
    description="Opens the door with this number.",
    parameters={"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]},
)
_QUESTION = "Open the door with the number 7. Use the tool."
REAL_MODEL = "for a real one: `actum models`, --model ollama:qwen3, or ACTUM_BASE_URL, ACTUM_MODEL and ACTUM_API_KEY"


class CheckFinding(Struct, frozen=True, omit_defaults=True):
    """One thing that was looked at.

    Attributes:
        verdict: `ok`, `warn` for what works less well, `bad` for what will not work.
        about: what was looked at.
        found: what it is like.
        advice: what to do; empty when there is nothing to do.
    """

    verdict: Literal["ok", "warn", "bad"]
    about: str
    found: str
    advice: str = ""


def doctor(
    model: ModelFlag = "",
    tools: ToolsFlag = None,
    mcp: McpFlag = None,
    dialect: DialectFlag = "",
    as_json: JsonFlag = False,
    journal: JournalFlag = "",
) -> int:
    """Say what is set up here, and what is missing."""
    terminal = Terminal()
    findings: list[CheckFinding] = []

    def take(finding: CheckFinding) -> None:
        found, advice = GIVEN.without(finding.found), GIVEN.without(finding.advice)
        finding = structs.replace(finding, found=found, advice=advice)
        findings.append(finding)
        if not as_json:
            _show(terminal, finding)

    for look in (_python, _parts, _packages, _text, lambda: _screen(terminal), _keys, _secrets):
        take(look())
    settings = _settings(
        take, lambda: options.read(model=model, tools=tools, mcp=mcp, dialect=dialect, journal=journal)
    )
    if settings is not None:
        asyncio.run(_look_at(settings, terminal, take))
    if as_json:
        terminal.json(findings)
    return FAILED if any(finding.verdict == "bad" for finding in findings) else DONE


async def _look_at(settings: Settings, terminal: Terminal, take: Callable[[CheckFinding], None]) -> None:
    """Look at everything that settings decide."""
    for finding in await _features(settings):
        take(finding)
    take(await _sandbox(settings.sandbox.backend))
    take(await _journal(settings))
    take(await _record(settings))
    for finding in await _tasks(settings):
        take(finding)
    take(await _tools(settings))
    for finding in _apis():
        take(finding)
    for finding in _egress(settings.egress, os.environ):
        take(finding)
    for finding in [
        *[await _agent(settings, name) for name in settings.agents],
        *await _memories(settings),
        *await _collections(settings),
        *await _defences(settings),
    ]:
        take(finding)
    for name in settings.workflows:
        take(await _workflow(settings, name))
    if settings.tool_labels:
        take(await _labels(settings, terminal))
    if settings.speaks_for_user:
        take(_trusted_clients(settings))
    for finding in await _servers(settings, terminal):
        take(finding)
    if terminal.person and not (settings.model or settings.base_url):
        take(await _local_models())
    for finding in await _model(settings, terminal):
        take(finding)


def _python() -> CheckFinding:
    return CheckFinding("ok", "python", f"{platform.python_version()} on {platform.system()} {platform.machine()}")


def _parts() -> CheckFinding:
    return CheckFinding(
        "ok", "actum", ", ".join([version_of("actum"), *(f"{part} {version_of(part)}" for part in PARTS)])
    )


def _packages() -> CheckFinding:
    """What installed packages bring, features aside. None of it is imported."""
    try:
        brought = [each for group in GROUPS if group != "actum.features" for each in installed(group)]
    except UsageError as error:
        return CheckFinding("bad", "packages", str(error), "install the package anew, or uninstall it")
    told = [f"{GROUPS[each.group]} {each.name} ({each.package})" for each in brought if each.package != "actum"]
    return CheckFinding("ok", "packages", ", ".join(told) or "none brings anything")


async def _features(settings: Settings) -> list[CheckFinding]:
    """Each feature that there is. Of one that is off, no code is run."""
    try:
        async with options.journal(settings) as opened:
            found = await found_features(settings, opened)
    except ActumError as error:
        return [CheckFinding("bad", "features", str(error))]
    return [_feature(each) for each in found]


def _feature(found: FoundFeature) -> CheckFinding:
    whole = f"{found.name} ({found.package})" if found.package else found.name
    match found.state:
        case "on":
            return CheckFinding("ok", "feature", f"{whole} is on")
        case "off":
            advice = f"to switch it on: the table [{found.name}] in {SETTINGS_FILE}"
            return CheckFinding("ok", "feature", f"{whole} is found, and off", advice)
        case "missing":
            told = f"{whole} keeps {counted(found.rows, 'row')}, and no installed package brings it"
            return CheckFinding("warn", "feature", told, f"install its package, or: actum features drop {found.name}")
        case _:
            return CheckFinding("bad", "feature", found.problem, f"mend or remove [{found.name}] in {SETTINGS_FILE}")


def _text() -> CheckFinding:
    encoding = (sys.stdout.encoding or "none").lower()
    if "utf" in encoding:
        return CheckFinding("ok", "text", encoding)
    return CheckFinding("warn", "text", f"{encoding}: Chinese can not be shown", "set LANG=C.UTF-8 or PYTHONUTF8=1")


def _screen(terminal: Terminal) -> CheckFinding:
    kind = f"{terminal.out.width} columns, colours: {terminal.out.color_system or 'none'}"
    if terminal.person:
        return CheckFinding("ok", "terminal", kind)
    advice = "what needs approval waits for `actum resume`, or give --yes"
    return CheckFinding("ok", "terminal", "nobody to ask, as stdin or stderr is no terminal", advice)


def _keys() -> CheckFinding:
    variables = [URL_KEY_VARIABLE, *(provider.key_variable for provider in PROVIDERS.values())]
    found = [variable for variable in variables if os.environ.get(variable)]
    return CheckFinding("ok", "keys", ", ".join(found) or "none is set")


async def _sandbox(backend: str) -> CheckFinding:
    """What a jail holds here, as a probe in one found."""
    try:
        holder = backend_named(backend)
    except UsageError as error:
        return CheckFinding("bad", "sandbox", str(error), f"mend [sandbox] in {SETTINGS_FILE}")
    found = await layers(holder)
    told = ", ".join(f"{layer.name} {layer.found}" for layer in found)
    if all(layer.is_held for layer in found):
        place = container(os.environ)
        return CheckFinding("ok", "sandbox", f"{told} ({holder.name}{f', in a container: {place}' if place else ''})")
    return CheckFinding("warn", "sandbox", told, advice() or INSTEAD)


def _secrets() -> CheckFinding:
    """Whether secrets and logins are encrypted, and with the key of where."""
    try:
        store, tokens = secret_file(os.environ), mcp_tokens(os.environ)
        place = store.keys.place()
        if store.path.exists():
            found = f"{counted(len(store.entries()), 'secret')} in {store.path}, the key: {place}"
            return CheckFinding("ok", "secrets", found)
    except ActumError as error:
        return CheckFinding("bad", "secrets", str(error), "see `actum secrets --help`")
    if place:
        return CheckFinding("ok", "secrets", f"none is set yet; the key: {place}")
    if tokens.is_plain:
        return CheckFinding("warn", "secrets", f"logins lie in plain text in {tokens.path}", PLAIN_ADVICE)
    return CheckFinding("ok", "secrets", "there is no keyring and no key, so only variables hold some", PLAIN_ADVICE)


def _settings(take: Callable[[CheckFinding], None], read: Callable[[], Settings]) -> Settings | None:
    try:
        settings = read()
    except ActumError as error:
        take(CheckFinding("bad", "settings", str(error), f"mend {SETTINGS_FILE}"))
        return None
    set_here = [f"{name} by {source}" for name, source in settings.sources.items()]
    take(CheckFinding("ok", "settings", ", ".join(set_here) or "the defaults"))
    return settings


async def _journal(settings: Settings) -> CheckFinding:
    try:
        async with options.journal(settings) as opened, opened.claim("doctor"):
            count = len(await opened.runs(limit=10_000))
    except ActumError as error:
        return CheckFinding("bad", "journal", str(error), "name another with --journal or ACTUM_JOURNAL")
    signed = ", signed" if settings.journal_key else ""
    return CheckFinding("ok", "journal", f"{journal_place(settings, os.environ)}, {counted(count, 'run')}{signed}")


async def _record(settings: Settings) -> CheckFinding:
    """Whether the latest runs are as they were written; `actum journal verify` checks all."""
    try:
        async with options.journal(settings) as opened:
            latest = [run.run_id for run in await opened.runs(limit=CHECKED_MAX)]
            found = await mismatch(opened)
            report = await check_journal(opened, latest) if latest else Report()
    except ActumError as error:
        return CheckFinding("bad", "record", str(error), "actum journal verify")
    problems = list(dict.fromkeys([*found.problems, *report.problems]))
    if problems:
        return CheckFinding("bad", "record", f"{len(problems)} problems; {problems[0]}", "actum journal verify")
    return CheckFinding("ok", "record", f"{counted(report.runs, 'run')} checked, the latest: nothing was changed")


async def _tasks(settings: Settings) -> list[CheckFinding]:
    """How many tasks there are, how long they wait, and whether the broker can be reached, if there is one."""
    found: list[CheckFinding] = []
    if settings.tasks.dispatcher == "celery":
        try:
            depth = await broker_depth(settings)
            found.append(CheckFinding("ok", "broker", f"the broker can be reached, {counted(depth, 'message')}"))
        except UsageError as error:
            found.append(CheckFinding("bad", "broker", str(error), BROKER_ADVICE))
    try:
        async with options.journal(settings) as opened:
            if opened.tasks is None:
                return [*found, CheckFinding("ok", "tasks", "none: a journal in memory has no tasks")]
            now = time.time()
            figures = await opened.tasks.figures(now)
            _, undelivered = await opened.tasks.outbox.counts()
    except ActumError as error:
        return [*found, CheckFinding("bad", "tasks", str(error), "name another with --journal or ACTUM_JOURNAL")]
    return [*found, _task_figures(figures, undelivered, now)]


def _task_figures(figures: Sequence[TaskFigure], undelivered: int, now: float) -> CheckFinding:
    """What the figures of the list of tasks mean.

    Args:
        figures: of the list.
        undelivered: how many webhooks were given up.
        now: the time.
    """
    counts = Counter[str]()
    for figure in figures:
        counts[figure.state] += figure.count
    wait_s = max((now - figure.since for figure in figures if figure.since is not None), default=0.0)
    told = [f"{counts[state]} {state.replace('_', ' ')}" for state in TASK_STATES if counts[state]]
    if wait_s >= 1:
        told.append(f"the oldest waits for {duration(wait_s)}")
    if undelivered:
        told.append(f"{counted(undelivered, 'webhook')} given up")
    words = ", ".join(told) or "none waits, and none failed"
    if wait_s >= WAITING_S_MAX:
        return CheckFinding("warn", "tasks", words, "start `actum serve` or `actum worker`, or more workers")
    if any(counts[state] for state in DEAD):
        return CheckFinding("warn", "tasks", words, "actum tasks list --state failed, actum tasks retry")
    return CheckFinding("warn" if undelivered else "ok", "tasks", words)


async def _tools(settings: Settings) -> CheckFinding:
    try:
        loaded = load_tools(settings, Path.cwd())
        found = await list_tools(loaded, settings.tool_labels)
    except ActumError as error:
        return CheckFinding("bad", "tools", str(error), "see `actum tools --help`")
    if problems := problems_of(loaded):
        return CheckFinding("warn", "tools", "; ".join(problems), "see `actum docs sandbox`")
    return CheckFinding("ok", "tools", f"{len(found)} from {', '.join(map(str, settings.tools))}")


def _apis() -> list[CheckFinding]:
    """The APIs that were added: how many tools each has, and what they lack."""
    store = api_store(os.environ)
    found: list[CheckFinding] = []
    for name in store.names():
        try:
            setup = store.get(name)
        except ActumError as error:
            found.append(CheckFinding("bad", "api", str(error), f"actum tools rm {name}"))
            continue
        held, without = setup.held(), schemes_without(setup)
        told = f"{name}: {counted(len(setup.api.operations) - len(held), 'tool')} at {', '.join(setup.origins)}"
        if held:
            told = f"{told}; {len(held)} more are held, since they are new or have changed"
            found.append(CheckFinding("warn", "api", told, f"actum tools update {name}"))
        elif without and not setup.credentials:
            advice = f"add it again with --secret {min(without)}=SECRET"
            found.append(
                CheckFinding("warn", "api", f"{told}; no credential is set up for {', '.join(without)}", advice)
            )
        else:
            found.append(CheckFinding("ok", "api", told))
    return found


async def _agent(settings: Settings, name: str) -> CheckFinding:
    """Whether an agent of the settings can be built."""
    try:
        async with open_agents(settings, os.environ, Path.cwd(), journal=MemoryJournal()) as agents:
            digest = (await agents.get(name).reference()).digest
    except ActumError as error:
        return CheckFinding("bad", "agent", f"{name}: {error}", f"mend [agents.{name}]")
    return CheckFinding("ok", "agent", f"{name}, {digest[:12]}")


async def _memories(settings: Settings) -> list[CheckFinding]:
    """The agents that remember their users and can be used with keys behind which there may be many people."""
    remembering = [name for name, agent in settings.agents.items() if remembers_users(agent.memory)]
    if not remembering:
        return []
    try:
        async with options.journal(settings) as opened:
            now = time.time()
            keys = [key for key in await opened.keys.all() if key.is_valid(now) and not key.personal]
    except ActumError:
        return []  # told by `_journal`
    reaching = {name: [key.id for key in keys if identity_of_key(key).may_use("agent", name)] for name in remembering}
    return [
        CheckFinding(
            "warn",
            "memory",
            f"{name}: all who use one of these keys share its memory at /v1/runs, and have none at the model APIs: "
            f"{', '.join(ids[:KEYS_SHOWN_MAX])}",
            "actum keys add NAME --personal, where one person alone has the key",
        )
        for name, ids in reaching.items()
        if ids
    ]


async def _collections(settings: Settings) -> list[CheckFinding]:
    """The agents whose callers can not all read a collection that the agent has."""
    try:
        found = await unread_collections(settings, options.journal(settings))
    except ActumError:
        return []  # told by `_journal`
    return [CheckFinding("warn", "knowledge", str(each), each.command) for each in found]


async def _workflow(settings: Settings, name: str) -> CheckFinding:
    """Whether a workflow of the settings can be built, and its tools are there."""
    try:
        async with open_workflows(settings, os.environ, Path.cwd(), journal=MemoryJournal()) as workflows:
            workflow = workflows.get(name)
            problems = await workflow.check(workflow.definition.text)
    except ActumError as error:
        return CheckFinding("bad", "workflow", f"{name}: {error}", f"mend [workflows.{name}]")
    if problems:
        return CheckFinding("bad", "workflow", f"{name}: {problems[0].message}", f"actum workflow check {name}")
    return CheckFinding("ok", "workflow", f"{name}, {workflow.definition.digest[:12]}")


async def _labels(settings: Settings, terminal: Terminal) -> CheckFinding:
    """What can not be meant in the operator's word on tools."""
    try:
        async with loading.tools(settings, terminal) as loaded:
            elsewhere = await loading.names_elsewhere(settings)
            problems = label_problems(await list_tools(loaded.tools), settings.tool_labels, elsewhere)
    except ActumError as error:
        return CheckFinding("bad", "labels", str(error), "see `actum tools lint`")
    wrong = [f'[tools."{name}"] {problem}' for name, problem in problems if name in settings.tool_labels]
    if wrong:
        return CheckFinding("warn", "labels", "; ".join(wrong), "actum tools lint")
    return CheckFinding("ok", "labels", f"{len(settings.tool_labels)} for tools of others")


async def _defences(settings: Settings) -> list[CheckFinding]:
    """Which agents are defended against orders in foreign text, and what the defence can not know of their tools."""
    found = [await _defence(each, f"agent {name}") for name, each in settings.of_agents.items()]
    return found or [await _defence(settings, "the agent")]


async def _defence(settings: Settings, whose: str) -> CheckFinding:
    if settings.defence is not None and settings.defence.mandate == "off":
        return CheckFinding("warn", "defence", f"off for {whose}", f'mandate = "model" in [defence] of {SETTINGS_FILE}')
    try:
        listed = await list_tools(load_tools(settings, Path.cwd()), settings.tool_labels)
        has_servers = bool(find_servers(settings.mcp, os.environ).servers)
    except ActumError as error:
        return CheckFinding("warn", "defence", f"{whose}: {error}", "see `actum docs security`")
    if not (settings.defence is not None or has_servers or any(tool.foreign or tool.outside for tool in listed)):
        return CheckFinding("ok", "defence", f"{whose}: no tool brings foreign text")
    lacks = {
        "effects": [tool.name for tool in listed if tool.effects is None],
        "sinks": [tool.name for tool in listed if not tool.reads_only and tool.sinks is None],
        "outside": [tool.name for tool in listed if tool.reads_only and not tool.foreign and tool.outside is None],
    }
    told = "; ".join(f"no {name}: {', '.join(names[:5])}" for name, names in lacks.items() if names)
    told = f"on for {whose}" + (f". What tools do not say: {told}" if told else "")
    return CheckFinding("ok", "defence", told)


def _trusted_clients(settings: Settings) -> CheckFinding:
    names = ", ".join(settings.speaks_for_user)
    return CheckFinding("ok", "clients", f"{names}: their values count as the user's words (speaks_for_user)")


def _egress(rules: EgressRules, environment: Mapping[str, str]) -> list[CheckFinding]:
    """Where the calls of tools may go."""
    listed = [("allow", rules.allow), ("deny", rules.deny), ("private", rules.private)]
    said = "; ".join(f"{name}: {', '.join(entries)}" for name, entries in listed if entries)
    found = [CheckFinding("ok", "egress", said or "the open internet over https, and the servers you set up")]
    if rules.proxy:
        known = f"all goes by the proxy {rules.shown_proxy}, which looks names up itself: only rules by host hold"
        found.append(CheckFinding("warn", "egress", known, "let the proxy refuse private addresses"))
    elif any(environment.get(name) for name in PROXY_VARIABLES):
        unused = "the proxy of the environment is not used for the calls of tools"
        found.append(CheckFinding("warn", "egress", unused, "name it as `proxy` in the table [egress]"))
    return found


async def _servers(settings: Settings, terminal: Terminal) -> list[CheckFinding]:
    """How each MCP server does. None is started that was not approved."""
    try:
        read = find_servers(settings.mcp, os.environ)
        found = [_server(told) for told in await looked_at(terminal, read.servers)]
    except ActumError as error:
        return [CheckFinding("bad", "mcp", str(error), "see `actum mcp --help`")]
    free = [each.name for each in read.servers if each.unjailed and not each.no_jail]
    if free:
        told = f"no jail: {', '.join(free)} reach all that you can reach"
        advice = "add each again, with --read and --write, or with --no-jail if that is meant"
        found.append(CheckFinding("warn", "mcp jail", told, advice))
    return found


def _server(told: JsonObject) -> CheckFinding:
    name, state, tools, waiting = told["name"], told["state"], told["tools"], told.get("waiting")
    if state == "up":
        found = f"{name}: {tools} tools, {told['era']}"
        if told["problem"]:
            return CheckFinding("warn", "mcp", f"{found}; {told['problem']}", f"actum mcp test {name}")
        return (
            CheckFinding("warn", "mcp", f"{found}; {waiting} more wait", f"actum mcp approve {name}")
            if waiting
            else CheckFinding("ok", "mcp", found)
        )
    if state == "not approved":
        return CheckFinding("warn", "mcp", f"{name}: not approved, so it is not used", f"actum mcp approve {name}")
    return CheckFinding("bad", "mcp", f"{name}: {told['problem']}", f"actum mcp test {name}")


async def _local_models() -> CheckFinding:
    """Which models servers on this machine list. Nothing else is sent there."""
    found = [model.name for model in await find_local_models(os.environ)]
    if not found:
        return CheckFinding("ok", "local", NOTHING_FOUND)
    more = f" and {len(found) - LOCAL_SHOWN_MAX} more" if len(found) > LOCAL_SHOWN_MAX else ""
    shown = ", ".join(found[:LOCAL_SHOWN_MAX]) + more
    return CheckFinding("ok", "local", f"servers on this machine list {shown}", f"actum models --use {found[0]}")


async def _model(settings: Settings, terminal: Terminal) -> list[CheckFinding]:
    """Whether the model is there, and whether it calls tools by itself."""
    try:
        model = make_model(settings)
    except ActumError as error:
        return [CheckFinding("bad", "model", str(error), "see `actum run --help` for how a model is named")]
    if model.name == EMBEDDED:
        return [CheckFinding("warn", "model", "embedded: rules, no language model", REAL_MODEL)]
    terminal.waiting.begin("asking {name}", name=model.name)
    try:
        async with asyncio.timeout(ENDPOINT_S_MAX):
            return await _asked(model)
    except TimeoutError:
        return [
            CheckFinding("bad", "model", f"{model.name}: no answer in {ENDPOINT_S_MAX:.0f} s", "is it still loading?")
        ]
    except ModelError as error:
        return [CheckFinding("bad", "model", str(error), _what_to_do(error))]
    finally:
        terminal.waiting.end()


def _what_to_do(error: ModelError) -> str:
    """What to do about a model that gives no answer. What could not be reached says so itself."""
    if error.status is None:
        return "start the server, or name another address or model"
    advice = {
        401: "set the variable with the key of this endpoint; `keys` above lists those that are set",
        403: "see at the endpoint what this key may do",
        404: "check the model's name and the address",
        402: "see the account at the endpoint",
        429: "see the account at the endpoint" if isinstance(error, ModelRejected) else "try again later",
    }
    return advice.get(error.status, "try again later" if error.status >= 500 else "see what the endpoint says")


async def _asked(model: Model) -> list[CheckFinding]:
    """Ask it to use a tool."""
    began = time.monotonic()
    reply = await model.reply(Request(messages=[UserMessage.of(_QUESTION)], tools=(_DOOR,)))
    limit = default_max_tokens(model)
    length = f"; an answer has at most {limit} tokens where max_tokens is not set" if limit is not None else ""
    found = CheckFinding("ok", "model", f"{model.name} answers in {duration(time.monotonic() - began)}{length}")
    used = getattr(model, "dialect_used", "")
    way = f" in the dialect {used}" if used else ""
    if any(call.name == _DOOR.name and call.arguments == {"number": 7} for call in reply.calls):
        return [found, CheckFinding("ok", "calls", f"it calls tools{way}")]
    advice = "try another --dialect (see `actum dialects`), or another model"
    return [found, CheckFinding("warn", "calls", f"it was asked to use a tool{way} and did not", advice)]


def _show(terminal: Terminal, finding: CheckFinding) -> None:
    style = {"ok": "green", "warn": "yellow", "bad": "red"}[finding.verdict]
    advice = f"  → {tr_finding(finding.advice)}" if finding.advice else ""
    verdict = set_cell_size(tr(finding.verdict), VERDICT_COLUMNS)
    terminal.line(tr(finding.about), styled((verdict, style), tr_finding(finding.found), (advice, "dim")))
