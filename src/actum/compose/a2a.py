"""The door of A2A, as the settings describe it.

This file loads the official SDK, which takes more than a second: import it only where a server is to run.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from urllib.parse import urlsplit

from ..core.clock import SystemClock
from ..core.errors import UsageError
from ..core.identity import Identity
from ..core.interfaces import Journal
from ..core.secrets.store import SecretStore
from ..core.user import User
from ..runs.runner import Runner
from ..server.a2a.card import Cards, CardSettings
from ..server.a2a.grpc_server import GrpcSettings, serving_grpc
from ..server.a2a.handler import RunHandler
from ..server.a2a.push import PushSender, PushTargets
from ..server.a2a.routes import SCOPE, A2ARoutes
from ..server.a2a.service import A2ARequest, TaskService, is_structured
from ..server.a2a.signing import CardKey
from ..server.access import is_loopback
from ..server.admission import Admission
from ..server.api.api import AgentsByName, Api, Tasking
from ..server.api.connected import TenantModels
from ..server.published import PublishedOffer
from ..server.verifier import Verifier, WantedLater
from ..server.workflows import WorkflowsByName
from ..tasks.webhook import ANSWER_BYTES_MAX, SECONDS_MAX
from ..transport.fetcher import Fetcher
from ..transport.guard import Guard
from .secrets import open_secrets, secret_file
from .settings import Settings
from .settings_watch import open_egress

_NAMED = re.compile(r"\$\{(secret:)?([A-Za-z0-9_.-]+)\}")


def open_a2a_door(
    settings: Settings,
    runner: Runner,
    agents: AgentsByName,
    journal: Journal,
    environment: Mapping[str, str],
    tasking: Tasking | None = None,
    *,
    verifier: Verifier | None,
    who: Identity,
    workflows: WorkflowsByName | None = None,
    connections: TenantModels | None = None,
    published: PublishedOffer | None = None,
) -> A2ARoutes:
    """The door of A2A.

    Args:
        settings: as read.
        runner: of the server.
        agents: of the server.
        journal: the one journal of the server.
        environment: the variables of this process, which may hold secrets.
        tasking: of the server.
        verifier: checks the key that each request has to show; None where no key is wanted.
        who: the user on whose behalf clients are served where no key is wanted.
        workflows: of the server; None for none.
        connections: the models that tenants have connected; None for none.
        published: what tenants have published; by default their workflows alone.

    Raises:
        UsageError: the settings contradict themselves, or name a secret that is not there.
    """
    table, serve, clock = settings.serve.a2a, settings.serve, SystemClock()
    api = Api(runner, agents, clock, tasking, workflows, connections=connections, published=published)
    tasks = TaskService(api, input_modes=table.input_modes, repeats=table.repeats)
    if table.agent and table.agent not in agents.names:
        raise UsageError("[serve.a2a] agent: there is no agent {agent!r}", agent=table.agent)
    pushes = journal.tasks is not None
    cards = Cards(
        CardSettings(
            version=table.version,
            provider=table.provider,
            provider_url=table.provider_url,
            documentation=table.documentation,
            icon=table.icon,
            input_modes=table.input_modes,
            is_strict=table.strict_card,
            issuer=serve.issuer,
            pushes=pushes,
            grpc=_grpc_address(settings),
        ),
        clock.now(),
        verifier,
    )
    guard = Guard(egress=open_egress(settings, environment))
    push: PushTargets | None = None
    if pushes:

        async def answers_json(asked: A2ARequest) -> bool:
            return is_structured(await tasks.agent(asked))

        push = PushTargets(journal, guard, clock, _store(environment), answers_json)

    grpc_settings = _grpc(settings, agents.names, verifier, who)

    def grpc(handler: RunHandler, admission: Admission) -> AbstractAsyncContextManager[int]:
        return serving_grpc(handler, grpc_settings, admission)

    def sender(key: Callable[[], Awaitable[CardKey]], jku: str) -> PushSender:
        assert push is not None
        fetcher = Fetcher(guard, bytes_max=ANSWER_BYTES_MAX, seconds_max=SECONDS_MAX)
        return PushSender(push, journal, fetcher, key, jku, clock=clock, revive=tasks.revive, labels=settings.labels)

    return A2ARoutes(
        tasks,
        cards,
        public=serve.public.rstrip("/"),
        first=table.agent,
        key=_key(table.signing_key, environment),
        push=push,
        sender=sender if push is not None else None,
        beside=grpc if table.grpc else None,
    )


def _grpc(settings: Settings, names: Sequence[str], verifier: Verifier | None, who: Identity) -> GrpcSettings:
    """How gRPC is served.

    Raises:
        UsageError: others than this machine would reach it without TLS or without a key, or a file can not be read.
    """
    serve, place = settings.serve, settings.serve.a2a.grpc
    address = settings.serve.a2a.agent or next(iter(names))
    host = place.rpartition(":")[0]
    is_open = verifier is None or isinstance(verifier, WantedLater)
    if place and not is_loopback(host.strip("[]")) and (not serve.certificate or is_open):
        raise UsageError(
            "[serve.a2a] grpc: others than this machine would reach {place}: it needs a certificate and keys",
            place=place,
        )
    certificate, key = b"", b""
    if place and serve.certificate:
        try:
            certificate = Path(serve.certificate).read_bytes()
            key = Path(serve.key_file or serve.certificate).read_bytes()
        except OSError as error:
            raise UsageError(
                "certificate {certificate}: {why}", certificate=serve.certificate, why=error.strerror or error
            ) from None
    return GrpcSettings(
        place=place,
        agent=address,
        address=address,
        certificate=certificate,
        key=key,
        verifier=verifier,
        who=who,
        scope=SCOPE,
    )


def _grpc_address(settings: Settings) -> str:
    """The address of gRPC that the cards list; empty where they list none."""
    serve, place = settings.serve, settings.serve.a2a.grpc
    if not place or not (serve.certificate or serve.a2a.list_grpc):
        return ""
    host, _, port = place.rpartition(":")
    public = urlsplit(serve.public).hostname or host
    return f"{public}:{port}"


def _store(environment: Mapping[str, str]) -> SecretStore | None:
    """Where credentials of receivers are kept; None where there is no place."""
    try:
        return secret_file(environment)
    except UsageError:
        return None


def _key(said: str, environment: Mapping[str, str]) -> CardKey | None:
    if not said:
        return None
    named = _NAMED.fullmatch(said)
    if named is None:
        raise UsageError(
            "[serve.a2a] signing_key: write ${secret:NAME} or ${VARIABLE}; the key itself does not belong into a file"
        )
    found = open_secrets(environment).of(User()).get(named[2]) if named[1] else environment.get(named[2])
    if not found:
        raise UsageError("[serve.a2a] signing_key: {said} is not there, or is empty", said=said)
    return CardKey.of_pem(found)
