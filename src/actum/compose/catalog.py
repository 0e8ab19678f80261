"""The catalog of agents and MCP servers: an entry is added by its address, looked at again, and checked on demand.

A look asks for no more than the entry's own description. A check sends a message, and so may cost something: a person
asks for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence

import msgspec

from ..core.errors import ActumError, CallError, UsageError
from ..core.interfaces import Clock
from ..core.json import Json, JsonObject
from ..core.user import User
from ..protocols.a2a.followed_task import ReadTask
from ..protocols.a2a.later import UnreadableAnswer
from ..protocols.a2a.model import A2AMessage, A2AText
from ..protocols.a2a.remote_agent import RemoteAgent, host_name, with_secrets
from ..protocols.catalog import CatalogCheck, CatalogEntry, CatalogKind
from ..protocols.mcp.config import McpServer
from ..storage.catalog import CatalogFiles
from ..storage.folders import state_folder
from ..toolsets.a2a.connection import A2AConnection, RequestTerms, TaskHandle
from ..toolsets.a2a.error import RemoteAgentError
from ..toolsets.a2a.toolset import signature_of
from ..transport.egress import Egress
from .mcp import open_server
from .secrets import open_secrets

CHECK_S = 30.0
"""How long one step of a check may take."""
CHECK_MESSAGE = "This is a check of your connection. Please answer with one word."
TASK_ENDED = frozenset({-32002, -32001})
"""How an agent says that a task can not be cancelled any more."""


def catalog_files(environment: Mapping[str, str]) -> CatalogFiles:
    """The catalog of the person who runs this program."""
    return CatalogFiles(state_folder(environment) / "catalog")


class CatalogKeeper:
    """Adds to a catalog and looks at what is in it.

    Args:
        files: the catalog.
        agents: the tables `[a2a.NAME]` of the settings: an entry at the address of one is reached as it says there.
        environment: for secrets.
        egress: the operator's rules for outgoing calls.
        clock: time.
    """

    def __init__(
        self,
        files: CatalogFiles,
        agents: Mapping[str, RemoteAgent],
        environment: Mapping[str, str],
        *,
        egress: Egress,
        clock: Clock,
    ) -> None:
        self._files = files
        self._agents = agents
        self._environment = environment
        self._egress = egress
        self._clock = clock

    async def add(
        self,
        url: str,
        *,
        name: str = "",
        kind: CatalogKind = "a2a",
        users: Sequence[str] = (),
        tenant: str = "",
        tags: Sequence[str] = (),
    ) -> CatalogEntry:
        """Register an agent or an MCP server by its address. It has to answer.

        Raises:
            UsageError: another entry has this name, or the address can not be.
            CallError: it does not answer, or its description can not be read.
        """
        try:
            name = name or RemoteAgent(url=url).called
        except ValueError as error:
            raise UsageError("{url}: {why}", url=url, why=error) from None
        fresh = CatalogEntry(name=name, kind=kind, url=url, users=tuple(users), tenant=tenant, tags=tuple(tags))
        looked = await self.looked(fresh)

        def added(before: CatalogEntry | None) -> CatalogEntry:
            if before is not None and (before.url, before.kind) != (url, kind):
                raise UsageError(
                    "the catalog has another {name!r} already, at {place}; give it another --name",
                    name=name,
                    place=before.url,
                )
            return looked if before is None else _taken_over(before, looked)

        return await asyncio.to_thread(self._files.change, name, added)

    async def look(self, name: str) -> CatalogEntry:
        """Look at an entry again. What could not be reached is kept, with the reason.

        Raises:
            UnknownName: there is none of this name.
        """
        entry = await asyncio.to_thread(self._files.get, name)
        try:
            looked = await self.looked(entry)
        except ActumError as error:
            now, words = self._clock.now(), str(error)
            return await self._keep(name, lambda known: known.failing(words, now))
        return await self._keep(name, lambda known: _taken_over(known, looked))

    async def check(self, name: str) -> CatalogEntry:
        """Look at an entry, and try what it should be able to do.

        Raises:
            UnknownName: there is none of this name.
        """
        entry = await self.look(name)
        if entry.health == "failing":
            checks: tuple[CatalogCheck, ...] = (CatalogCheck("card", False, entry.problem),)
        elif entry.kind == "mcp":
            count = len(found) if isinstance(found := entry.document.get("tools"), list) else 0
            checks = (CatalogCheck("tools", True, f"It lists {count} tools."),)
        else:
            checks = (
                CatalogCheck("card", entry.signature != "wrong", entry.signature),
                *await self._checks_of_agent(self._agent(entry)),
            )
        now = self._clock.now()
        return await self._keep(name, lambda known: msgspec.structs.replace(known, checks=checks, checked=now))

    # Looking ----------------------------------------------------------------------------------------------------------

    async def _keep(self, name: str, changed: Callable[[CatalogEntry], CatalogEntry]) -> CatalogEntry:
        def kept(before: CatalogEntry | None) -> CatalogEntry:
            if before is None:
                raise UsageError("{name!r} was removed from the catalog meanwhile", name=name)
            return changed(before)

        return await asyncio.to_thread(self._files.change, name, kept)

    async def looked(self, entry: CatalogEntry) -> CatalogEntry:
        """The entry as it is now.

        Raises:
            ActumError: it can not be reached, or its description can not be read.
        """
        now = self._clock.now()
        if entry.kind == "mcp":
            document, faults = await self._listed(entry)
            # A list that is not whole takes nothing out that was seen before.
            seen = entry if faults and entry.versions else entry.with_document(document, now)
            return seen.failing(faults, now) if faults else seen
        agent = self._agent(entry)
        connection = A2AConnection(agent, egress=self._egress)
        try:
            found = await connection.fetch_card(self._terms(agent), etag=entry.etag)
            if found is None:
                return entry.with_document(entry.document, now, entry.etag)
            card, etag = found
            state, _ = await signature_of(card, agent, connection)
            return msgspec.structs.replace(entry.with_document(card.raw, now, etag), signature=state)
        finally:
            await connection.aclose()

    async def _listed(self, entry: CatalogEntry) -> tuple[JsonObject, str]:
        """What an MCP server lists, and why that is not whole; empty where it is."""
        toolset = open_server(
            McpServer(name=entry.name, url=entry.url), self._environment, egress=self._egress, unseen=True
        )
        async with toolset:
            listing = await toolset.survey()
            facts = await toolset.facts()
        tools: list[Json] = [
            {name: each[name] for name in ("name", "description") if name in each} for each in listing.sound
        ]
        return {"name": entry.name, **facts.info, "tools": tools}, " ".join(toolset.faults)

    def _agent(self, entry: CatalogEntry) -> RemoteAgent:
        named = next((each for each in self._agents.values() if each.url == entry.url), None)
        return named or RemoteAgent(url=entry.url, name=host_name(entry.url))

    def _terms(self, agent: RemoteAgent) -> RequestTerms:
        secrets = open_secrets(self._environment).of(User())
        known = all(name in secrets for name in agent.secret_names)
        return RequestTerms(with_secrets(agent.headers, secrets) if known else {})

    # Checking ---------------------------------------------------------------------------------------------------------

    async def _checks_of_agent(self, agent: RemoteAgent) -> list[CatalogCheck]:
        connection, terms = A2AConnection(agent, egress=self._egress), self._terms(agent)
        try:
            found = await connection.fetch_card(terms)
            assert found is not None
            checks, begun = [], None
            for streams in (False, True) if found[0].streams else (False,):
                check, handle = await self._sent(connection, connection.handles(found[0]), terms, streams=streams)
                checks.append(check)
                begun = handle or begun
            if begun is not None:
                checks.append(await self._cancelled(connection, begun, terms))
        except ActumError as error:
            return [CatalogCheck("send", False, str(error)[:300])]
        else:
            return checks
        finally:
            await connection.aclose()

    async def _sent(
        self, connection: A2AConnection, handles: Sequence[TaskHandle], terms: RequestTerms, *, streams: bool
    ) -> tuple[CatalogCheck, TaskHandle | None]:
        step = "stream" if streams else "send"
        words = "It has no address to send to."
        for number, way in enumerate(handles):
            made = f"check-{int(self._clock.now() * 1000)}-{step}-{number}"
            handle = msgspec.structs.replace(way, task_id=made) if way.spoken == "legacy" else way
            message = A2AMessage(role="user", parts=(A2AText(text=CHECK_MESSAGE),), id=made)
            task = ReadTask(handle.task_id)
            try:
                async with (
                    self._clock.timeout(CHECK_S),
                    connection.send(handle, message, terms, streams=streams) as events,
                ):
                    async for event in events:
                        task.take(event)
                        break
                begun = msgspec.structs.replace(handle, task_id=task.task_id, context_id=task.context_id)
                return CatalogCheck(step, True, f"It answered: {task.state}."), begun if task.task_id else None
            except TimeoutError:
                words = f"It did not answer in {CHECK_S:.0f} seconds."
            except (CallError, UnreadableAnswer) as error:
                words = str(error)[:300]
        return CatalogCheck(step, False, words), None

    async def _cancelled(self, connection: A2AConnection, handle: TaskHandle, terms: RequestTerms) -> CatalogCheck:
        try:
            async with self._clock.timeout(CHECK_S):
                task = await connection.cancel(handle, terms)
        except TimeoutError:
            return CatalogCheck("cancel", False, f"It did not answer in {CHECK_S:.0f} seconds.")
        except RemoteAgentError as error:
            ended = error.rpc_code in TASK_ENDED
            return CatalogCheck("cancel", ended, "The task had ended." if ended else str(error)[:300])
        except CallError as error:
            return CatalogCheck("cancel", False, str(error)[:300])
        return CatalogCheck(
            "cancel", task.status.state in ("canceled", "completed"), f"The task is {task.status.state}."
        )


def _taken_over(known: CatalogEntry, looked: CatalogEntry) -> CatalogEntry:
    """The entry as it is kept now, with what a look found: another process may have looked meanwhile."""
    seen = known.with_document(looked.document, looked.looked, looked.etag)
    if looked.problem:
        seen = known.failing(looked.problem, looked.looked)
    return msgspec.structs.replace(
        seen,
        signature=looked.signature,
        users=looked.users or known.users,
        tenant=looked.tenant or known.tenant,
        tags=looked.tags or known.tags,
    )
