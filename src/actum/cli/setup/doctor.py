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

from msgspec import Struct
from rich.cells import set_cell_size

from ...compose.agents import list_tools, open_agents
from ...compose.apis import api_store
from ...compose.features import FoundFeature, found_features
from ...compose.journals import journal_place
from ...compose.mcp import find_servers, mcp_tokens
from ...compose.models import make_model
from ...compose.secrets import secret_file
from ...compose.settings import EMBEDDED, Settings
from ...compose.task_worker import broker_depth
from ...compose.tools import load_tools, problems_of
from ...compose.workflows import open_workflows
from ...core.errors import ActumError, ModelError, ModelRejected, UsageError
from ...core.json import JsonObject
from ...core.language.sentence import Sentence
from ...core.message import UserMessage
from ...core.model import Model, Request, default_max_tokens
from ...core.process.installed import GROUPS, installed
from ...core.run.task import DEAD, TASK_STATES, TaskFigure
from ...core.secrets.given import GIVEN
from ...core.tool import Tool
from ...journal.export import Report, check_journal
from ...journal.lists import count_interrupted
from ...journal.memory import MemoryJournal
from ...journal.mismatch import mismatch
from ...knowledge.citing.sources import pages_kept
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
from ..language import language, tr, tr_message
from ..mcp.commands import looked_at
from ..options import DialectFlag, JournalFlag, JsonFlag, McpFlag, ModelFlag, ToolsFlag
from ..show.terminal import (
    Terminal,
    duration,
    styled,
)
from ..versions import version_of
from .collection_readers import unread_collections
from .unpublished import unpublished
from .unreadable import unreadable

PARTS = ("msgspec", "jsonschema-rs", "pydantic", "httpx2", "typer", "rich")
PROXY_VARIABLES = ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy")
ENDPOINT_S_MAX = 60.0
LOCAL_SHOWN_MAX = 5
KEYS_SHOWN_MAX = 10
VERDICT_COLUMNS = 5
WAITING_S_MAX = 60.0
"""A task that could begin and has waited for longer has no worker."""
INTERRUPTED_ADVICE = Sentence(
    "actum runs list --status interrupted, then actum resume RUN to go on with one, or actum runs cancel RUN to end it"
)
BROKER_ADVICE = Sentence(
    "start the broker, or mend `broker` in the table [tasks]; tasks are accepted meanwhile, and wait"
)
CHECKED_MAX = 200
"""The most of the latest runs that are checked, from their first entry to their last."""
_DOOR = Tool(
    name="open_door",
    description="Opens the door with this number.",
    parameters={"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]},
)
_QUESTION = "Open the door with the number 7. Use the tool."
REAL_MODEL = Sentence(
    "for a real one: `actum models`, --model ollama:qwen3, or ACTUM_BASE_URL, ACTUM_MODEL and ACTUM_API_KEY"
)


class CheckFinding(Struct, frozen=True):
    """One thing that was looked at.

    Attributes:
        verdict: `ok`, `warn` for what works less well, `bad` for what will not work.
        about: what was looked at.
        found: what it is like; several sentences are told as a list with commas.
        advice: what to do; empty when there is nothing to do.
    """

    verdict: Literal["ok", "warn", "bad"]
    about: str
    found: Sentence | str | tuple[Sentence | str, ...]
    advice: Sentence | str = ""

    def for_programs(self) -> JsonObject:
        """The finding in English, without secrets."""
        advice = {"advice": GIVEN.without(str(self.advice))} if self.advice else {}
        found = ", ".join(map(str, _listed(self.found)))
        return {"verdict": self.verdict, "about": self.about, "found": GIVEN.without(found), **advice}

    def for_people(self) -> tuple[str, str]:
        """What was found and the advice in the person's language, without secrets."""
        found = "，".join if language() == "zh" else ", ".join
        return GIVEN.without(found(map(tr_message, _listed(self.found)))), GIVEN.without(tr_message(self.advice))


def _listed(found: Sentence | str | tuple[Sentence | str, ...]) -> tuple[Sentence | str, ...]:
    return found if isinstance(found, tuple) else (found,)


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
        terminal.json([each.for_programs() for each in findings])
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
        *await _unpublished(settings),
        *await _unreadable(settings),
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
    return CheckFinding(
        "ok",
        "python",
        Sentence(
            "{version} on {system}",
            version=platform.python_version(),
            system=f"{platform.system()} {platform.machine()}",
        ),
    )


def _parts() -> CheckFinding:
    return CheckFinding(
        "ok", "actum", ", ".join([version_of("actum"), *(f"{part} {version_of(part)}" for part in PARTS)])
    )


def _packages() -> CheckFinding:
    """What installed packages bring, features aside. None of it is imported."""
    try:
        brought = [each for group in GROUPS if group != "actum.features" for each in installed(group)]
    except UsageError as error:
        return CheckFinding("bad", "packages", error.sentence, Sentence("install the package anew, or uninstall it"))
    told = [f"{GROUPS[each.group]} {each.name} ({each.package})" for each in brought if each.package != "actum"]
    return CheckFinding("ok", "packages", ", ".join(told) or Sentence("no package brings tools, models or dialects"))


async def _features(settings: Settings) -> list[CheckFinding]:
    """Each feature that there is. Of one that is off, no code is run."""
    try:
        async with options.journal(settings) as opened:
            found = await found_features(settings, opened)
    except ActumError as error:
        return [CheckFinding("bad", "features", error.sentence)]
    return [_feature(each) for each in found]


def _feature(found: FoundFeature) -> CheckFinding:
    whole = f"{found.name} ({found.package})" if found.package else found.name
    match found.state:
        case "on":
            return CheckFinding("ok", "feature", Sentence("{name} is on", name=whole))
        case "off":
            advice = Sentence("to switch it on: the table {table} in actum.toml", table=f"[{found.name}]")
            return CheckFinding("ok", "feature", Sentence("{name} is found, and off", name=whole), advice)
        case "missing":
            told = Sentence(
                "{name} keeps {rows:row|rows}, and no installed package brings it", name=whole, rows=found.rows
            )
            advice = Sentence("install its package, or: actum features drop {name}", name=found.name)
            return CheckFinding("warn", "feature", told, advice)
        case _:
            advice = Sentence("mend or remove {table} in actum.toml", table=f"[{found.name}]")
            return CheckFinding("bad", "feature", found.problem, advice)


def _text() -> CheckFinding:
    encoding = (sys.stdout.encoding or "none").lower()
    if "utf" in encoding:
        return CheckFinding("ok", "text", encoding)
    return CheckFinding(
        "warn",
        "text",
        Sentence("{encoding}: Chinese can not be shown", encoding=encoding),
        Sentence("set LANG=C.UTF-8 or PYTHONUTF8=1"),
    )


def _screen(terminal: Terminal) -> CheckFinding:
    width, colours = terminal.out.width, terminal.out.color_system
    if not terminal.person:
        told = Sentence("nobody to ask, as stdin or stderr is no terminal")
        advice = Sentence("what needs approval waits for `actum resume`, or give --yes")
        return CheckFinding("ok", "terminal", told, advice)
    if colours is None:
        return CheckFinding("ok", "terminal", Sentence("{width} columns, colours: none", width=width))
    return CheckFinding("ok", "terminal", Sentence("{width} columns, colours: {kind}", width=width, kind=colours))


def _keys() -> CheckFinding:
    variables = [URL_KEY_VARIABLE, *(provider.key_variable for provider in PROVIDERS.values())]
    found = [variable for variable in variables if os.environ.get(variable)]
    return CheckFinding("ok", "keys", ", ".join(found) or Sentence("none is set"))


async def _sandbox(backend: str) -> CheckFinding:
    """What a jail holds here, as a probe in one found."""
    try:
        holder = backend_named(backend)
    except UsageError as error:
        return CheckFinding("bad", "sandbox", error.sentence, Sentence("mend {table} in actum.toml", table="[sandbox]"))
    found = await layers(holder)
    if not all(layer.is_held for layer in found):
        told = "; ".join(f"{layer.name}: {layer.found}" for layer in found if not layer.is_held)
        return CheckFinding("warn", "sandbox", Sentence("not held: {what}", what=told), advice() or INSTEAD)
    what = ", ".join(layer.name for layer in found)
    held = Sentence("all is held ({what}), by {backend}", what=what, backend=holder.name)
    place = container(os.environ)
    inside = (Sentence("in a container: {kind}", kind=place),) if place else ()
    return CheckFinding("ok", "sandbox", (held, *inside))


def _secrets() -> CheckFinding:
    """Whether secrets and logins are encrypted, and with the key of where."""
    try:
        store, tokens = secret_file(os.environ), mcp_tokens(os.environ)
        place = store.keys.place()
        if store.path.exists():
            found = Sentence(
                "{count:secret|secrets} in {path}, the key: {place}",
                count=len(store.entries()),
                path=store.path,
                place=place,
            )
            return CheckFinding("ok", "secrets", found)
    except ActumError as error:
        return CheckFinding("bad", "secrets", error.sentence, Sentence("see `actum secrets --help`"))
    if place:
        return CheckFinding("ok", "secrets", Sentence("none is set yet; the key: {place}", place=place))
    if tokens.is_plain:
        return CheckFinding(
            "warn", "secrets", Sentence("logins lie in plain text in {path}", path=tokens.path), PLAIN_ADVICE
        )
    return CheckFinding(
        "ok", "secrets", Sentence("there is no keyring and no key, so only variables hold some"), PLAIN_ADVICE
    )


def _settings(take: Callable[[CheckFinding], None], read: Callable[[], Settings]) -> Settings | None:
    try:
        settings = read()
    except ActumError as error:
        take(CheckFinding("bad", "settings", error.sentence, Sentence("mend actum.toml")))
        return None
    set_here = [Sentence("{name} by {source}", name=name, source=source) for name, source in settings.sources.items()]
    take(CheckFinding("ok", "settings", tuple(set_here) or Sentence("the defaults")))
    return settings


async def _journal(settings: Settings) -> CheckFinding:
    try:
        async with options.journal(settings) as opened, opened.claim("doctor"):
            count = len(await opened.runs(limit=10_000))
    except ActumError as error:
        return CheckFinding("bad", "journal", error.sentence, Sentence("name another with --journal or ACTUM_JOURNAL"))
    told = Sentence("{place}, {count:run|runs}", place=journal_place(settings, os.environ), count=count)
    return CheckFinding("ok", "journal", (told, Sentence("signed")) if settings.journal_key else told)


async def _record(settings: Settings) -> CheckFinding:
    """Whether the latest runs are as they were written; `actum journal verify` checks all."""
    try:
        async with options.journal(settings) as opened:
            latest = [run.run_id for run in await opened.runs(limit=CHECKED_MAX)]
            found = await mismatch(opened)
            report = await check_journal(opened, latest, pages=pages_kept) if latest else Report()
    except ActumError as error:
        return CheckFinding("bad", "record", error.sentence, "actum journal verify")
    problems = list(dict.fromkeys([*found.problems, *report.problems]))
    if problems:
        told = Sentence("{count:problem|problems}; {first_detail}", count=len(problems), first_detail=problems[0])
        return CheckFinding("bad", "record", told, "actum journal verify")
    told = Sentence("{count:run|runs} checked, the latest: nothing was changed", count=report.runs)
    return CheckFinding("ok", "record", told)


async def _tasks(settings: Settings) -> list[CheckFinding]:
    """How many tasks there are, how long they wait, whether the broker can be reached, if there is one, and how many
    runs nobody carries out any more.
    """
    found: list[CheckFinding] = []
    if settings.tasks.dispatcher == "celery":
        try:
            depth = await broker_depth(settings)
            told = Sentence("the broker can be reached, {count:message|messages}", count=depth)
            found.append(CheckFinding("ok", "broker", told))
        except UsageError as error:
            found.append(CheckFinding("bad", "broker", error.sentence, BROKER_ADVICE))
    try:
        async with options.journal(settings) as opened:
            if opened.tasks is None:
                return [*found, CheckFinding("ok", "tasks", Sentence("none: a journal in memory has no tasks"))]
            now = time.time()
            figures = await opened.tasks.figures(now)
            _, undelivered = await opened.tasks.outbox.counts()
            interrupted = await count_interrupted(opened)
    except ActumError as error:
        return [
            *found,
            CheckFinding("bad", "tasks", error.sentence, Sentence("name another with --journal or ACTUM_JOURNAL")),
        ]
    if interrupted:
        told = Sentence(
            "{count:run|runs} interrupted: the process ended, and nothing goes on by itself", count=interrupted
        )
        found.append(CheckFinding("warn", "runs", told, INTERRUPTED_ADVICE))
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
    told = [
        Sentence("{count} {state_why}", count=counts[state], state_why=Sentence(state.replace("_", " ")))
        for state in TASK_STATES
        if counts[state]
    ]
    if wait_s >= 1:
        told.append(Sentence("the oldest waits for {time}", time=duration(wait_s)))
    if undelivered:
        told.append(Sentence("{count:webhook|webhooks} given up", count=undelivered))
    words = tuple(told) or Sentence("none waits, and none failed")
    if wait_s >= WAITING_S_MAX:
        advice = Sentence("start `actum serve` or `actum worker`, or more workers")
        return CheckFinding("warn", "tasks", words, advice)
    if any(counts[state] for state in DEAD):
        advice = Sentence("actum tasks list --state failed, actum tasks retry")
        return CheckFinding("warn", "tasks", words, advice)
    return CheckFinding("warn" if undelivered else "ok", "tasks", words)


async def _tools(settings: Settings) -> CheckFinding:
    try:
        loaded = load_tools(settings, Path.cwd())
        found = await list_tools(loaded, settings.tool_labels)
    except ActumError as error:
        return CheckFinding("bad", "tools", error.sentence, Sentence("see `actum tools --help`"))
    if problems := problems_of(loaded):
        return CheckFinding("warn", "tools", "; ".join(problems), Sentence("see `actum docs sandbox`"))
    return CheckFinding(
        "ok", "tools", Sentence("{count} from {places}", count=len(found), places=", ".join(map(str, settings.tools)))
    )


def _apis() -> list[CheckFinding]:
    """The APIs that were added: how many tools each has, and what they lack."""
    store = api_store(os.environ)
    found: list[CheckFinding] = []
    for name in store.names():
        try:
            setup = store.get(name)
        except ActumError as error:
            found.append(CheckFinding("bad", "api", error.sentence, f"actum tools rm {name}"))
            continue
        held, without = setup.held(), schemes_without(setup)
        told = Sentence(
            "{name}: {count:tool|tools} at {places}",
            name=name,
            count=len(setup.api.operations) - len(held),
            places=", ".join(setup.origins),
        )
        if held:
            more = Sentence("{count} more are held, since they are new or have changed", count=len(held))
            found.append(CheckFinding("warn", "api", (told, more), f"actum tools update {name}"))
        elif without and not setup.credentials:
            lacking = Sentence("no credential is set up for {schemes}", schemes=", ".join(without))
            advice = Sentence("add it again with --secret {scheme}=SECRET", scheme=min(without))
            found.append(CheckFinding("warn", "api", (told, lacking), advice))
        else:
            found.append(CheckFinding("ok", "api", told))
    return found


async def _agent(settings: Settings, name: str) -> CheckFinding:
    """Whether an agent of the settings can be built."""
    try:
        async with open_agents(settings, os.environ, Path.cwd(), journal=MemoryJournal()) as agents:
            digest = (await agents.get(name).reference()).digest
    except ActumError as error:
        return CheckFinding(
            "bad",
            "agent",
            Sentence("{name}: {why}", name=name, why=error),
            Sentence("mend {table} in actum.toml", table=f"[agents.{name}]"),
        )
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
            Sentence(
                "{name}: all who use one of these keys share its memory at /v1/runs, and have none at the model APIs, "
                "A2A and MCP: {keys}",
                name=name,
                keys=", ".join(ids[:KEYS_SHOWN_MAX]),
            ),
            Sentence("actum keys add NAME --personal, where one person alone has the key"),
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


async def _unpublished(settings: Settings) -> list[CheckFinding]:
    """What the settings take from publications, and nobody has published."""
    try:
        found = await unpublished(settings, options.journal(settings))
    except ActumError:
        return []  # told by `_journal`, and by `_agent`
    return [CheckFinding("warn", "published", str(each), each.command) for each in found]


async def _unreadable(settings: Settings) -> list[CheckFinding]:
    """The publications in use that can not be read."""
    if not options.has_journal(settings):
        return []
    try:
        found = await unreadable(options.journal(settings))
    except ActumError:
        return []  # told by `_journal`
    return [
        CheckFinding(
            "bad",
            "published",
            Sentence("{kind} {name} can not be used: {why}", kind=each.kind.name, name=each.name, why=each.why),
            each.command,
        )
        for each in found
    ]


async def _workflow(settings: Settings, name: str) -> CheckFinding:
    """Whether a workflow of the settings can be built, and its tools are there."""
    try:
        async with open_workflows(settings, os.environ, Path.cwd(), journal=MemoryJournal()) as workflows:
            workflow = workflows.get(name)
            problems = await workflow.check(workflow.definition.text)
    except ActumError as error:
        return CheckFinding(
            "bad",
            "workflow",
            Sentence("{name}: {why}", name=name, why=error),
            Sentence("mend {table} in actum.toml", table=f"[workflows.{name}]"),
        )
    if problems:
        return CheckFinding(
            "bad",
            "workflow",
            Sentence("{name}: {why}", name=name, why=problems[0].message),
            f"actum workflow check {name}",
        )
    return CheckFinding("ok", "workflow", f"{name}, {workflow.definition.digest[:12]}")


async def _labels(settings: Settings, terminal: Terminal) -> CheckFinding:
    """What can not be meant in the operator's word on tools."""
    try:
        async with loading.tools(settings, terminal) as loaded:
            elsewhere = await loading.names_elsewhere(settings)
            problems = label_problems(await list_tools(loaded.tools), settings.tool_labels, elsewhere)
    except ActumError as error:
        return CheckFinding("bad", "labels", error.sentence, Sentence("see `actum tools lint`"))
    wrong = [f'[tools."{name}"] {problem}' for name, problem in problems if name in settings.tool_labels]
    if wrong:
        return CheckFinding("warn", "labels", "; ".join(wrong), "actum tools lint")
    return CheckFinding("ok", "labels", Sentence("{count} for tools of others", count=len(settings.tool_labels)))


async def _defences(settings: Settings) -> list[CheckFinding]:
    """Which agents are defended against orders in foreign text, and what the defence can not know of their tools."""
    found = [await _defence(each, Sentence("agent {name}", name=name)) for name, each in settings.of_agents.items()]
    return found or [await _defence(settings, Sentence("the agent"))]


async def _defence(settings: Settings, whose: Sentence) -> CheckFinding:
    if settings.defence is not None and settings.defence.mandate == "off":
        advice = Sentence('mandate = "model" in [defence] of actum.toml')
        return CheckFinding("warn", "defence", Sentence("off for {whose}", whose=whose), advice)
    try:
        listed = await list_tools(load_tools(settings, Path.cwd()), settings.tool_labels)
        has_servers = bool(find_servers(settings.mcp, os.environ).servers)
    except ActumError as error:
        told = Sentence("{whose}: {why}", whose=whose, why=error)
        return CheckFinding("warn", "defence", told, Sentence("see `actum docs security`"))
    if not (settings.defence is not None or has_servers or any(tool.foreign or tool.outside for tool in listed)):
        return CheckFinding("ok", "defence", Sentence("{whose}: no tool brings foreign text", whose=whose))
    lacks = {
        "effects": [tool.name for tool in listed if tool.effects is None],
        "sinks": [tool.name for tool in listed if not tool.reads_only and tool.sinks is None],
        "outside": [tool.name for tool in listed if tool.reads_only and not tool.foreign and tool.outside is None],
    }
    unsaid = (
        Sentence("tools without `{field}`: {names}", field=field, names=" ".join(names[:5]))
        for field, names in lacks.items()
        if names
    )
    return CheckFinding("ok", "defence", (Sentence("on for {whose}", whose=whose), *unsaid))


def _trusted_clients(settings: Settings) -> CheckFinding:
    names = ", ".join(settings.speaks_for_user)
    return CheckFinding(
        "ok", "clients", Sentence("{names}: their values count as the user's words (speaks_for_user)", names=names)
    )


def _egress(rules: EgressRules, environment: Mapping[str, str]) -> list[CheckFinding]:
    """Where the calls of tools may go."""
    listed = [("allow", rules.allow), ("deny", rules.deny), ("private", rules.private)]
    said = "; ".join(f"{name}: {', '.join(entries)}" for name, entries in listed if entries)
    found = [CheckFinding("ok", "egress", said or Sentence("the open internet over https, and the servers you set up"))]
    if rules.proxy:
        known = Sentence(
            "all goes by the proxy {proxy}, which looks names up itself: only rules by host hold",
            proxy=rules.shown_proxy,
        )
        found.append(CheckFinding("warn", "egress", known, Sentence("let the proxy refuse private addresses")))
    elif any(environment.get(name) for name in PROXY_VARIABLES):
        unused = Sentence("the proxy of the environment is not used for the calls of tools")
        found.append(CheckFinding("warn", "egress", unused, Sentence("name it as `proxy` in the table [egress]")))
    return found


async def _servers(settings: Settings, terminal: Terminal) -> list[CheckFinding]:
    """How each MCP server does. None is started that was not approved."""
    try:
        read = find_servers(settings.mcp, os.environ)
        found = [_server(told) for told in await looked_at(terminal, read.servers)]
    except ActumError as error:
        return [CheckFinding("bad", "mcp", error.sentence, Sentence("see `actum mcp --help`"))]
    free = [each.name for each in read.servers if each.unjailed and not each.no_jail]
    if free:
        told = Sentence("no jail: {names} reach all that you can reach", names=", ".join(free))
        advice = Sentence("add each again, with --read and --write, or with --no-jail if that is meant")
        found.append(CheckFinding("warn", "mcp jail", told, advice))
    return found


def _server(told: JsonObject) -> CheckFinding:
    name, state, tools, waiting = told["name"], told["state"], told["tools"], told.get("waiting")
    if state == "up":
        found = Sentence("{name}: {count:tool|tools}, {era}", name=name, count=tools, era=told["era"])
        if told["problem"]:
            return CheckFinding("warn", "mcp", (found, str(told["problem"])), f"actum mcp test {name}")
        if waiting:
            more = Sentence("{count} more wait for your approval", count=waiting)
            return CheckFinding("warn", "mcp", (found, more), f"actum mcp approve {name}")
        return CheckFinding("ok", "mcp", found)
    if state == "not approved":
        waits = Sentence("{name}: not approved, so it is not used", name=name)
        return CheckFinding("warn", "mcp", waits, f"actum mcp approve {name}")
    wrong = Sentence("{name}: {detail}", name=name, detail=told["problem"])
    return CheckFinding("bad", "mcp", wrong, f"actum mcp test {name}")


async def _local_models() -> CheckFinding:
    """Which models servers on this machine list. Nothing else is sent there."""
    found = [model.name for model in await find_local_models(os.environ)]
    if not found:
        return CheckFinding("ok", "local", NOTHING_FOUND)
    shown, more = ", ".join(found[:LOCAL_SHOWN_MAX]), len(found) - LOCAL_SHOWN_MAX
    told = Sentence("servers on this machine list {names}", names=shown)
    if more > 0:
        told = Sentence("servers on this machine list {names} and {count} more", names=shown, count=more)
    return CheckFinding("ok", "local", told, f"actum models --use {found[0]}")


async def _model(settings: Settings, terminal: Terminal) -> list[CheckFinding]:
    """Whether the model is there, and whether it calls tools by itself."""
    try:
        model = make_model(settings)
    except ActumError as error:
        return [
            CheckFinding("bad", "model", error.sentence, Sentence("see `actum run --help` for how a model is named"))
        ]
    if model.name == EMBEDDED:
        return [CheckFinding("warn", "model", Sentence("embedded: rules, no language model"), REAL_MODEL)]
    terminal.waiting.begin("asking {name}", name=model.name)
    try:
        async with asyncio.timeout(ENDPOINT_S_MAX):
            return await _asked(model)
    except TimeoutError:
        told = Sentence("{name}: no answer in {seconds} s", name=model.name, seconds=round(ENDPOINT_S_MAX))
        return [CheckFinding("bad", "model", told, Sentence("is it still loading?"))]
    except ModelError as error:
        return [CheckFinding("bad", "model", error.sentence, _what_to_do(error))]
    finally:
        terminal.waiting.end()


def _what_to_do(error: ModelError) -> Sentence:
    """What to do about a model that gives no answer. What could not be reached says so itself."""
    account, later = Sentence("see the account at the endpoint"), Sentence("try again later")
    match error.status:
        case None:
            return Sentence("start the server, or name another address or model")
        case 401:
            return Sentence("set the variable with the key of this endpoint; `keys` above lists those that are set")
        case 402:
            return account
        case 403:
            return Sentence("see at the endpoint what this key may do")
        case 404:
            return Sentence("check the model's name and the address")
        case 429:
            return account if isinstance(error, ModelRejected) else later
        case status:
            return later if status >= 500 else Sentence("see what the endpoint says")


async def _asked(model: Model) -> list[CheckFinding]:
    """Ask it to use a tool."""
    began = time.monotonic()
    reply = await model.reply(Request(messages=[UserMessage.of(_QUESTION)], tools=(_DOOR,)))
    limit = default_max_tokens(model)
    answers = Sentence("{name} answers in {time}", name=model.name, time=duration(time.monotonic() - began))
    length = (
        ()
        if limit is None
        else (Sentence("an answer has at most {count} tokens where max_tokens is not set", count=limit),)
    )
    found = CheckFinding("ok", "model", (answers, *length))
    used = getattr(model, "dialect_used", "")
    way = (Sentence("in the dialect {dialect}", dialect=used),) if used else ()
    if any(call.name == _DOOR.name and call.arguments == {"number": 7} for call in reply.calls):
        return [found, CheckFinding("ok", "calls", (Sentence("it calls tools"), *way))]
    advice = Sentence("try another --dialect (see `actum dialects`), or another model")
    return [found, CheckFinding("warn", "calls", (Sentence("it was asked to use a tool and did not"), *way), advice)]


def _show(terminal: Terminal, finding: CheckFinding) -> None:
    style = {"ok": "green", "warn": "yellow", "bad": "red"}[finding.verdict]
    found, advice = finding.for_people()
    verdict = set_cell_size(tr(finding.verdict), VERDICT_COLUMNS)
    terminal.line(tr(finding.about), styled((verdict, style), found, (f"  → {advice}" if advice else "", "dim")))
