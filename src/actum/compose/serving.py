"""Servers as the settings describe them: the doors, the application around them, and where it listens.

`open_doors` is the list of what one `actum.toml` serves under one address: a new protocol is one more entry there.

This file loads a web server: import it only where one is to run.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
from prometheus_client import Metric

from ..agents.agent import Agent
from ..core.clock import SystemClock
from ..core.errors import JournalError, UsageError
from ..core.identity import Identity
from ..core.interfaces import Journal
from ..core.json import Json, JsonObject
from ..core.secrets.private_paths import keep_private
from ..policy.file import PolicyFile
from ..runs.administration import put_on_record
from ..runs.given_tools import Toolish
from ..server.access import Access
from ..server.access_log import AccessLog
from ..server.api.api import ASSISTANT, AgentsByName, Api, GivenAgents
from ..server.api.approvals.operations import go_on_with_woken
from ..server.api.routes import ApiRoutes
from ..server.attempts import Attempts, recorded_in
from ..server.catalog import CatalogRoutes
from ..server.journal_metrics import journal_figures
from ..server.keys import Entrance
from ..server.login.browser_sessions import BrowserSessions
from ..server.login.provider import LoginSettings
from ..server.login.routes import LOGIN, LoginRoutes
from ..server.mcp.service import McpService
from ..server.metrics import CountedAttempts, Metrics, counted
from ..server.models.agents.executor import AgentExecutor, AgentServing
from ..server.news import NewsRoutes
from ..server.open_streams import Endings, OpenStreams
from ..server.proxies import Proxies
from ..server.published import PublishedOffer
from ..server.route_group import RouteGroup
from ..server.stored_keys import StoredKeys
from ..server.studio import StudioRoutes
from ..server.task_metrics import TaskMetrics
from ..server.triggers import TriggerRoutes
from ..server.verifier import Verifier, wants_token
from ..server.web import Beside, ConnectionLimits, Connections, RefusedRequests, metrics_app, serve, tls
from ..server.web_application import NotReady, WebApplication, WebApplicationSettings, request_id
from ..tasks.dispatcher import Dispatcher, DispatcherState
from ..tasks.queue import TaskQueue
from ..transport.guard import is_here
from ..triggers.watch import Watcher
from .agents import (
    UNNAMED,
    make_agent,
    open_agents,
    open_policy,
    policy_files,
    prompt_named,
    takes_published,
    with_background,
)
from .catalog import catalog_files
from .connections import ModelConnections, open_connections
from .deploy.telemetry import telemetry_sent
from .extras import install, missing_extras
from .features import features_of
from .mcp import mcp_keys, secrets_of
from .models import make_model
from .published.collection_agents import calling_parts
from .published.offer import published_offer
from .published.tools import DeclaredTools
from .secrets import kept_secrets, open_secrets
from .settings import EMBEDDED, Settings
from .settings_watch import SettingsWatch, open_egress
from .tables.serve import LoginTable, ServeSettings
from .task_queue import open_queue
from .tasks import open_tasking, tasks_carried_out
from .tools import load_tools, memory_spaces, with_labels
from .triggers import open_resources, open_senders, open_triggers
from .upstreams.passing import open_models_door
from .workflows import Workflows, open_workflows

try:
    import uvloop
except ImportError:  # not on every system
    uvloop = None  # type: ignore[assignment]

log = logging.getLogger("actum.server")

TOOLS_SCOPE, ADMIN = "tools", "admin"
BROKER_AWAY = "the broker of tasks can not be reached: tasks are accepted, and wait"
"""What `/readyz` adds. A client of `/readyz` needs no key, so the address of the broker is not told."""
JOURNAL_AWAY = "the journal can not be read: no key can be checked, and nobody comes in"
NO_VALID_KEY = "no key is valid any more: nobody comes in by a key until a new one is made"
POLICY_UNUSABLE = "a policy can not be read: every call under it is denied"
API = "api"
"""What runs of direct calls by our own API are called."""


def open_doors(
    settings: Settings,
    tools: Sequence[Toolish],
    agents: AgentsByName,
    journal: Journal,
    who: Identity,
    dispatcher: Dispatcher | None = None,
    *,
    verifier: Verifier | None = None,
    workflows: Workflows | None = None,
    browsers: BrowserSessions | None = None,
    declared: DeclaredTools | None = None,
) -> list[RouteGroup]:
    """What is served under one address.

    Args:
        settings: as read.
        tools: of `load_tools`.
        agents: of `served_agents`.
        journal: the one journal of the server.
        who: the user on whose behalf clients are served where no key is wanted.
        dispatcher: is told of new tasks; None where only other processes carry tasks out.
        verifier: checks the key that each request has to show; None where no key is wanted.
        workflows: of the settings; each is also a tool here, and `served_agents` has each as an agent. None for none.
        browsers: the sessions of browsers; None where no key is wanted.
        declared: the published tools, where `agents` take some; by default they are opened here.

    Raises:
        UsageError: the policy can not be read, a workflow can not be built, or the key that seals calls can not be
            kept.
    """
    kept = kept_secrets(os.environ)
    connections = open_connections(settings, os.environ, journal, kept)
    own = [*tools, *(workflows.tools if workflows is not None else [])]
    offer = None
    if workflows is not None:
        declared = declared or DeclaredTools(settings, os.environ, Path.cwd(), journal=journal, workflows=workflows)
        declared.agents = agents
        offer = _offer(settings, declared, workflows, journal, own, connections)
    mcp = McpService(
        with_labels(own, settings.tool_labels),
        instructions="" if prompt_named(settings.instructions) else settings.instructions,
        policy=open_policy(settings, journal),
        limits=settings.limits,
        secrets=open_secrets(os.environ),
        journal=journal,
        who=who,
        keys=mcp_keys(settings, os.environ),
        offer=offer,
        labels=settings.labels,
    )
    runner = mcp.runner.known_as(API)  # all doors use one runner, so that limits are counted together
    tasking = open_tasking(settings, journal, os.environ, dispatcher)
    api = ApiRoutes(
        runner,
        agents,
        tasking=tasking,
        workflows=workflows,
        features=features_of(settings).checked(),
        secrets=kept,
        browsers=browsers,
        connections=connections,
        published=offer,
    )
    api.api.calling = calling_parts(settings, Path.cwd(), agents.get)
    api.api.spaces = memory_spaces(settings)
    executor = AgentExecutor(
        Api(runner, agents, SystemClock(), workflows=workflows, connections=connections, published=offer),
        AgentServing(hold_s=settings.serve.hold_s),
    )
    models = open_models_door(settings, os.environ, journal, agents.names, executor, connections)
    catalog = [CatalogRoutes(catalog_files(os.environ))] if settings.serve.catalog else []
    # Before our own API, which answers at all that is left below /v1.
    doors: list[RouteGroup] = [mcp.door(sse=settings.serve.sse, scopes=(TOOLS_SCOPE,))]
    if workflows is not None:
        doors.append(_trigger_routes(settings, workflows, agents, tasking.queue, journal, api.api))
    if settings.serve.public:  # where remote agents can reach this server
        doors.append(NewsRoutes(api.api, open_egress(settings, os.environ)))
    if serves_a2a(settings, agents):
        from .a2a import open_a2a_door  # noqa: PLC0415  # the official SDK takes more than a second to load

        doors.append(
            open_a2a_door(
                settings,
                runner,
                agents,
                journal,
                os.environ,
                tasking,
                verifier=verifier,
                who=who,
                workflows=workflows,
                connections=connections,
                published=offer,
            )
        )
    return [*doors, models, *catalog, api]


def _offer(
    settings: Settings,
    declared: DeclaredTools,
    workflows: Workflows,
    journal: Journal,
    own: Sequence[Toolish],
    connections: ModelConnections,
) -> PublishedOffer:
    """What was published while the server runs, for callers of each journal."""

    def workflows_in(kept: Journal) -> Workflows:
        return workflows if kept is journal else Workflows(settings, os.environ, Path.cwd(), journal=kept)

    return published_offer(declared, workflows_in, own, connections)


def _trigger_routes(
    settings: Settings, workflows: Workflows, agents: AgentsByName, queue: TaskQueue, journal: Journal, api: Api
) -> TriggerRoutes:
    """The webhooks of the triggers, beside what watches files, schedules and resources."""
    go_on = partial(go_on_with_woken, api)
    intake = open_triggers(settings, os.environ, workflows, agents, queue, journal, go_on)
    api.triggers = intake.states
    watcher = Watcher(intake, Path.cwd(), open_resources(settings, os.environ))
    return TriggerRoutes(intake, open_senders(settings, os.environ, intake, SystemClock()), watcher)


@asynccontextmanager
async def built(
    settings: Settings,
    opened: Journal,
    entered: Entrance,
    login: LoginRoutes | None,
    who: Identity,
    reread: Callable[[], ServeSettings] | None = None,
) -> AsyncIterator[tuple[Serving, AgentsByName]]:
    """A block with a server of these settings that does not listen yet, and with its agents.

    Args:
        settings: as read.
        opened: the one journal of the server.
        entered: who may use the server.
        login: the routes at which people log in; None where there are none.
        who: the user on whose behalf a caller without a key is served.
        reread: reads the settings anew when the process is told to; None where nothing can change.

    Raises:
        UsageError: something that the settings name is not there, or can not be used.
    """
    environment, folder, counts = os.environ, Path.cwd(), Metrics(model_labels(settings))
    loaded = load_tools(settings, folder)
    journal = counted(opened, counts)
    async with (
        telemetry_sent(settings, environment, journal, counts.spans),
        tasks_carried_out(settings, journal, environment, folder, CountedAttempts(opened, counts)) as dispatcher,
        open_workflows(settings, environment, folder, journal=journal) as workflows,
        AsyncExitStack() as stack,
    ):
        declared = DeclaredTools(settings, environment, folder, journal=journal, workflows=workflows)
        agents = await stack.enter_async_context(
            served_agents(settings, environment, folder, loaded, journal, dispatcher, workflows, declared)
        )
        stored, browsers = entered.stored, None
        if stored is not None:
            attempts, public = Attempts(recorded_in(journal)), settings.serve.public
            browsers = BrowserSessions(
                journal,
                stored,
                scopes=(ADMIN,),
                public=public,
                attempts=attempts,
                login=login.settings if login is not None else None,
            )
            if login is not None:
                login.browsers = browsers
        doors = open_doors(
            settings,
            loaded,
            agents,
            journal,
            who,
            dispatcher,
            verifier=entered.access.verifier,
            workflows=workflows,
            browsers=browsers,
            declared=declared,
        )
        serving = Serving(
            [*doors, *([login] if login is not None else []), _studio(settings)],
            settings.serve,
            entered.access,
            who=who,
            journal=journal,
            metrics=counts,
            stored=entered.stored,
            login=login,
            browsers=browsers,
            reread=reread,
            dispatcher=dispatcher,
            troubles=troubles_of(settings, environment),
        )
        yield serving, agents


def _studio(settings: Settings) -> StudioRoutes:
    """The pages, where they are installed."""
    issuer = settings.serve.login.issuer
    return StudioRoutes(built_pages(), login=LOGIN if issuer else "", provider=urlsplit(issuer).hostname or "")


def built_pages() -> Path | None:
    """The folder of the built pages of the studio; None where they are not there."""
    try:
        package = import_module("actum_studio")
    except ModuleNotFoundError:
        return None
    found: Path | None = package.bundle()
    return found


def left_out(settings: Settings, agents: AgentsByName) -> list[str]:
    """What the settings name and is not served here, a line each."""
    is_wanted = bool(agents.names) and settings.serve.a2a.enabled
    if not is_wanted or serves_a2a(settings, agents):
        return []
    return [f"  left out: A2A, which needs a package that is not installed: {install('a2a')}"]


def serves_a2a(settings: Settings, agents: AgentsByName) -> bool:
    """Whether agents are served by A2A: there are some, the settings want it, and the package is installed."""
    return bool(agents.names) and settings.serve.a2a.enabled and not missing_extras({"a2a"})


@asynccontextmanager
async def served_agents(
    settings: Settings,
    environment: Mapping[str, str],
    folder: Path,
    tools: Sequence[Toolish],
    journal: Journal,
    dispatcher: Dispatcher | None = None,
    workflows: Workflows | None = None,
    declared: DeclaredTools | None = None,
) -> AsyncIterator[AgentsByName]:
    """The agents that callers may run: those of `[agents.*]`, or `assistant`, the one of the settings, where there are
    no tables. An agent for each workflow stands beside them, for doors that know agents only.

    `assistant` also goes on with runs that `actum run` began, whose agent has no name of its own.

    The one agent has no MCP servers of the person who started the server: they would lend the person's log-ins to every
    caller. An agent of a table has the servers that its table, or the settings around the table, name.

    Args:
        settings: as read.
        environment: the variables of this process.
        folder: where the everyday tools may look at files.
        tools: of `load_tools`.
        journal: the one journal of the server.
        dispatcher: is told of the tasks that models begin; None where only other processes carry tasks out.
        workflows: of the settings; None for none.
        declared: the published tools, which agents may take; None where nobody can publish any.

    Raises:
        UsageError: an agent or a workflow can not be built, or the name of a workflow means two things.
    """
    speaking: dict[str, Agent[object]] = {}
    if workflows is not None:
        await workflows.check_names(tools, tuple(settings.agents))
        await workflows.look_at_published()
        speaking = {name: workflows.agent(name) for name in workflows.names}
    if not settings.agents:
        made = make_agent(
            settings,
            make_model(settings),
            tools,
            name=ASSISTANT,
            journal=journal,
            approver=None,
            secrets=open_secrets(environment),
        )
        direct = made.runner.known_as(API)  # under this name other processes build it
        assistant = with_background(settings, made, direct, open_queue(settings, journal, dispatcher))
        if declared is not None and takes_published(settings):
            assistant = assistant.completed_by(declared.completing(settings))
        yield GivenAgents({ASSISTANT: assistant, **speaking}, {UNNAMED: assistant})
        return
    async with open_agents(settings, environment, folder, journal=journal, dispatcher=dispatcher) as agents:
        agents.completing = declared.completing if declared is not None else None
        for name in agents.names:
            agents.get(name)  # what is wrong with it is told at the start
        yield GivenAgents({name: agents.get(name) for name in agents.names} | speaking)


def open_login(
    settings: Settings, journal: Journal, environment: Mapping[str, str], attempts: Attempts | None = None
) -> LoginRoutes | None:
    """The door at which people log in with a browser; None where nobody set one up.

    Args:
        settings: as read.
        journal: keeps the sessions.
        environment: variables, for the secrets that the settings name.
        attempts: slows down those whose log-ins fail; by default it is one of its own.

    Raises:
        UsageError: the settings lack something, name a secret that is not there, or hold one.
    """
    table = settings.serve.login
    if not table.issuer:
        if table != LoginTable():
            raise UsageError("[serve.login] needs an issuer: the OpenID provider at which people log in")
        return None
    if not _is_issuer(table.issuer):
        raise UsageError("[serve.login] issuer: write an address, such as https://accounts.example.org")
    if table.issuer.lower().startswith("http://") and not is_here(table.issuer):
        raise UsageError("[serve.login] issuer: its address has to begin with https://")
    if not table.client_id:
        raise UsageError("[serve.login] needs a client_id: the name of this server at the issuer")
    made = LoginSettings(
        issuer=table.issuer,
        client_id=table.client_id,
        client_secret=_named_secret(table.client_secret, environment),
        asks=table.asks,
        scopes=table.scopes,
        principal_claim=table.principal_claim,
        roles_claim=table.roles_claim,
        tenant_claim=settings.tenant_claim,
        idle_s=table.idle_s,
        session_s=table.session_s,
    )
    attempts = attempts or Attempts(recorded_in(journal))
    return LoginRoutes(made, journal, public=settings.serve.public, attempts=attempts)


def _is_issuer(text: str) -> bool:
    """Whether a text is the address of an issuer: without a query, a fragment or a password."""
    try:
        address = urlsplit(text)
        address.port  # noqa: B018  # raises an error where the port is no number
    except ValueError:
        return False
    is_web = address.scheme in ("https", "http") and bool(address.hostname)
    return is_web and not address.query and not address.fragment and "@" not in address.netloc


def _named_secret(said: str, environment: Mapping[str, str]) -> str:
    """The value of `${secret:NAME}` or `${NAME}`; empty where nothing is said."""
    if not said:
        return ""
    named = _SECRET.fullmatch(said)
    if named is None:
        raise UsageError(
            "[serve.login] client_secret: write ${secret:NAME} or ${VARIABLE}; the password itself does not belong "
            "into a file of settings"
        )
    found = secrets_of(environment).get(named[2]) if named[1] else environment.get(named[2])
    if not found:
        raise UsageError("[serve.login] client_secret: {said} is not there, or is empty", said=said)
    return found


_SECRET = re.compile(r"\$\{(secret:)?([A-Za-z0-9_.-]+)\}")


class Serving:
    """A server, as the settings describe it.

    Args:
        doors: what is served.
        serve: how it is reached.
        access: who may use the server, beside what `serve` says of names and origins.
        who: the user on whose behalf clients are served where no key is wanted.
        journal: is looked at for `/readyz`, and keeps what an administrator does; None for neither.
        metrics: counts; None for no `/metrics`.
        stored: the keys that are kept beside the journal; None where none are wanted.
        login: the route group where people log in; None where there is none.
        browsers: the sessions of browsers; None where no key is wanted.
        reread: reads the settings anew when the process is told to; None where nothing can change.
        dispatcher: has tasks carried out; `/readyz` says what is wrong with it. None where only other processes do so.
        troubles: each says what works less well now, in a sentence for `/readyz`; empty where nothing does.

    Raises:
        UsageError: the settings contradict themselves, or the certificate can not be read.
    """

    def __init__(
        self,
        doors: Sequence[RouteGroup],
        serve: ServeSettings,
        access: Access,
        *,
        who: Identity | None = None,
        journal: Journal | None = None,
        metrics: Metrics | None = None,
        stored: StoredKeys | None = None,
        login: LoginRoutes | None = None,
        browsers: BrowserSessions | None = None,
        reread: Callable[[], ServeSettings] | None = None,
        dispatcher: Dispatcher | None = None,
        troubles: Sequence[Callable[[], str]] = (),
    ) -> None:
        self._serve, self._access, self._who = serve, access, who or Identity()
        self._journal, self._reread, self._metrics = journal, reread, metrics
        self._dispatcher, self._stored, self._troubles = dispatcher, stored, troubles
        self._access_log: AccessLog | None = None
        if serve.access_log:
            self._access_log = AccessLog(serve.access_log, metrics.lost_line if metrics is not None else _nobody_counts)
        if metrics is not None and journal is not None:
            watch_journal(metrics, journal, dispatcher)
        self._context = _tls(serve)
        self._login, self._browsers = login, browsers
        known: list[Endings | None] = [stored, login.sessions if login else None, browsers]
        endings = [each for each in known if each is not None]
        own_address = bool(serve.metrics)
        self.application = WebApplication(
            doors,
            _application_settings(serve, access),
            who=who,
            ready=self._look if journal is not None else None,
            metrics=metrics,
            shows_metrics=not own_address,
            attempts=Attempts(recorded_in(journal) if journal is not None else None),
            streams=OpenStreams(endings, wants_keys=partial(wants_token, access.verifier)) if endings else None,
            access_log=self._access_log,
        )
        refused = RefusedRequests(metrics, self._access_log, SystemClock())
        self._connections = Connections(_connection_limits(serve), _proxies(serve), refused)
        self._listeners: list[socket.socket] = []
        self._reading: set[asyncio.Task[None]] = set()

    @contextmanager
    def listening(self) -> Iterator[str]:
        """Listen until the block ends.

        Returns:
            The address.

        Raises:
            UsageError: a place is no address and port, or is taken; or the access log can not be written.
        """
        with ExitStack() as stack:
            if self._access_log is not None:
                stack.enter_context(self._access_log.opened())
            places = [self._serve.http, *([self._serve.metrics] if self._serve.metrics else [])]
            self._listeners = [stack.enter_context(listener(place)) for place in places]
            host, port = place_of(self._serve.http)[0], self._listeners[0].getsockname()[1]
            scheme = "https" if self._context else "http"
            yield f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"

    async def run(self) -> int:
        """Serve until the process is told to end; within `listening`.

        Returns:
            The number of the signal that ended it.
        """
        main, *others = self._listeners
        beside = [
            Beside(metrics_app(self._metrics, place_of(self._serve.metrics)[0]), other)
            for other in others
            if self._metrics is not None
        ]
        return await serve(
            self.application,
            main,
            connections=self._connections,
            context=self._context,
            end_s=self._serve.end_s,
            reload=self._told_to_reread if self._reread is not None else None,
            beside=beside,
        )

    async def _look(self) -> Sequence[str]:
        """What works less well.

        Raises:
            NotReady: the journal, or the keys in it, can not be read.
        """
        assert self._journal is not None
        looking = asyncio.ensure_future(self._dispatcher.look() if self._dispatcher is not None else _no_dispatcher())
        try:
            await self._journal.runs(limit=1)
            is_shut = self._stored is not None and not await self._stored.any_valid()
            state = await looking
        except JournalError:
            log.exception("the journal can not be read")
            raise NotReady(JOURNAL_AWAY) from None
        finally:
            looking.cancel()
        notes = [BROKER_AWAY] if state.broker is False else []
        notes += [NO_VALID_KEY] if is_shut else []
        return notes + [trouble for look in self._troubles if (trouble := look())]

    # Settings read anew -----------------------------------------------------------------------------------------------

    def _told_to_reread(self) -> None:
        if self._access_log is not None:
            self._access_log.reopen()
        reading = asyncio.create_task(self.reread())
        self._reading.add(reading)
        reading.add_done_callback(self._reading.discard)

    async def reread(self) -> None:
        """Read the settings anew. Broken ones change nothing: the server goes on with the old ones, and the log says
        what is wrong.

        What can change while the server runs: public, names, origins, proxies, proxy_header, certificate and key_file
        (also new files under the old names), and limits. All else needs a new start; the log says so.
        """
        assert self._reread is not None
        try:
            new = self._reread()
            application, connections = _application_settings(new, self._access), _connection_limits(new)
            proxies, context = _proxies(new), _tls(new)
            if (context is None) != (self._context is None):
                raise UsageError("certificate: TLS begins or ends with a new start only")
            self.application.change(application)
        except UsageError as error:
            log.error("the settings were not read anew, the old ones hold: %s", error)  # for a person
            return
        self._connections.limits, self._connections.proxies = connections, proxies
        if self._login is not None:
            self._login.public = new.public
        if self._browsers is not None:
            self._browsers.public = new.public
        if self._context is not None:
            keep_private(new.key_file or new.certificate)
            self._context.load_cert_chain(new.certificate, new.key_file or None)
        changed = [name for name in new.__struct_fields__ if getattr(new, name) != getattr(self._serve, name)]
        later = [name for name in changed if name in _AT_START]
        kept = {name: getattr(self._serve, name) for name in _AT_START}
        self._serve = msgspec.structs.replace(new, **kept)
        log.warning("the settings were read anew; changed: %s", ", ".join(changed) or "nothing")
        if later:
            log.warning("these need a new start: %s", ", ".join(later))
        if self._journal is not None:
            names: list[Json] = [*changed]
            arguments: JsonObject = {"changed": names}
            await put_on_record(self._journal, "settings.read", arguments, principal=self._who.principal)


def troubles_of(settings: Settings, environment: Mapping[str, str]) -> list[Callable[[], str]]:
    """What `/readyz` asks after: the files of the settings and of the policies. Each says what is wrong, or nothing.

    Args:
        settings: as read.
        environment: the variables of this process.

    Raises:
        UsageError: a policy can not be read.
    """
    watch = SettingsWatch(settings, environment)
    policies = [PolicyFile(Path(path).expanduser()) for path in policy_files(settings)]

    def policy() -> str:
        return "" if all(each.is_usable for each in policies) else POLICY_UNUSABLE

    return [watch.trouble, policy]


def watch_journal(metrics: Metrics, journal: Journal, dispatcher: Dispatcher | None = None) -> None:
    """Have metrics tell what waits in a journal, too.

    Args:
        metrics: tells it.
        journal: whose figures.
        dispatcher: carries tasks out in this process; None where only others do so.
    """
    clock = SystemClock()
    tasks = TaskMetrics(journal.tasks, dispatcher, clock) if journal.tasks is not None else None

    async def look() -> Sequence[Metric]:
        return [*(await tasks.figures() if tasks is not None else ()), *await journal_figures(journal, clock)]

    metrics.watch(look, clock)


def model_labels(settings: Settings) -> dict[str, str]:
    """The names under which models are counted, which are those of the settings, by the names that records say.

    >>> model_labels(Settings(model="http://127.0.0.1:8080/v1#qwen3"))["qwen3@127.0.0.1:8080"]
    'http://127.0.0.1:8080/v1#qwen3'
    """
    tables = settings.models.values()
    upstreams = {each if isinstance(each, str) else each.model for table in tables for each in table.upstreams}
    agents = {each.model or EMBEDDED for each in (settings, *settings.of_agents.values())}
    names = {*settings.models, *upstreams, *agents}
    return {name: name for name in names} | {_recorded(name): name for name in sorted(names) if "://" in name}


def _recorded(name: str) -> str:
    """What records call a model that the settings name by its address, as `models.endpoint` does."""
    url, _, model = name.partition("#")
    return f"{model}@{urlsplit(url).netloc}"


def _nobody_counts() -> None:
    """Nobody counts the lines that are lost."""


async def _no_dispatcher() -> DispatcherState:
    return DispatcherState()


_AT_START = ("http", "metrics", "access_log", "issuer", "sse", "end_s", "login", "a2a")
"""What of `[serve]` counts when a server starts."""


def place_of(place: str) -> tuple[str, int]:
    """The address and the port in `127.0.0.1:8000`, `[::1]:8000` or `:8000`, which is this machine alone.

    Raises:
        UsageError: it is of another form.
    """
    host, colon, port = place.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65_535:
        raise UsageError("{place}: write an address and a port, as in --http 127.0.0.1:8000", place=place)
    return host.strip("[]") or "127.0.0.1", int(port)


def listener(place: str) -> socket.socket:
    """A socket that listens.

    Raises:
        UsageError: the place is no address and port, or is taken.
    """
    host, port = place_of(place)
    try:
        made = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        raise UsageError("{place}: {why}", place=place, why=error.strerror or error) from None
    # asyncio does this only for sockets that it made itself. Without it each further piece of an answer waits until the
    # client has acknowledged the piece before, which takes up to 40 ms.
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return made


def _application_settings(serve: ServeSettings, access: Access) -> WebApplicationSettings:
    limits = serve.limits
    return WebApplicationSettings(
        access=msgspec.structs.replace(
            access, names=(*access.names, *serve.names), origins=(*access.origins, *serve.origins)
        ),
        host=place_of(serve.http)[0],
        public=serve.public,
        proxies=serve.proxies,
        proxy_header=serve.proxy_header,
        body_bytes_max=limits.body_bytes,
        body_s=limits.body_s,
        header_bytes_max=limits.header_bytes,
        requests_max=limits.requests,
        requests_per_caller_max=limits.requests_per_caller,
    )


def _connection_limits(serve: ServeSettings) -> ConnectionLimits:
    limits = serve.limits
    return ConnectionLimits(
        connections_max=limits.connections,
        connections_per_address_max=limits.connections_per_address,
        headers_s=limits.headers_s,
        header_bytes_max=limits.header_bytes,
    )


def _proxies(serve: ServeSettings) -> Proxies:
    return Proxies(serve.proxies, serve.proxy_header)


def _tls(serve: ServeSettings) -> ssl.SSLContext | None:
    if not serve.certificate:
        if serve.key_file:
            raise UsageError("key_file needs a certificate")
        return None
    try:
        keep_private(serve.key_file or serve.certificate)
        return tls(serve.certificate, serve.key_file)
    except (OSError, ssl.SSLError) as error:
        told = getattr(error, "reason", None) or error.strerror or type(error).__name__
        raise UsageError(
            "certificate {file}: it can not be used with its key: {why}", file=serve.certificate, why=told
        ) from None


class _RequestIds(logging.Filter):
    """Writes the id of the request that is answered into each line of the log."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.request_id = request_id.get() or "-"
        return True


def run_server(main: Coroutine[object, object, int]) -> int:
    """Run a server in an event loop of its own: uvloop's where that is installed, which takes a third less time.

    Args:
        main: the server, to its end.

    Returns:
        What `main` returns.
    """
    with asyncio.Runner(loop_factory=None if uvloop is None else uvloop.new_event_loop) as runner:
        return runner.run(main)


def log_to_stderr() -> None:
    """Have what the server says told on stderr, each line with the id of its request."""
    handler = logging.StreamHandler()
    handler.addFilter(_RequestIds())
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s [%(request_id)s] %(message)s"))
    logging.getLogger("actum").addHandler(handler)
