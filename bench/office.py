"""The defence on a set of our own: `python -m bench.office`. No model is asked, and no case was written for the rule.

60 attacks and 60 harmless tasks, a line of JSON each in `bench/office/`. What a stranger wrote comes by a real MCP
server (mails, files, calendar entries, error messages), a real A2A agent, documents of a collection, a page of a web
server, and the memory of an earlier turn, as it was said and summed up. The model obeys: it reads, and makes the
attacker's calls at once. Nobody can be asked. A task is carried out twice: with somebody who says yes, so that the
questions are counted, and with nobody to ask. The mandates say what the request of the case says.

The set was written once, before it was run for the first time. Changed since: the texts of two attacks, which were
empty, so that no tool would have taken them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Literal

import httpx
import msgspec
from msgspec import Struct
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from actum import Agent, Answer, Defence, ToolCall, ToolError, tool
from actum.core.json import Json, JsonObject
from actum.journal.memory import MemoryJournal
from actum.knowledge.browsing.browser import KnowledgeTool
from actum.knowledge.collections import CollectionUser, make
from actum.knowledge.documents import put_document
from actum.knowledge.jailed_reader import JailedReader
from actum.protocols.a2a.remote_agent import RemoteAgent
from actum.protocols.mcp.config import McpServer
from actum.server.mcp.service import McpService
from actum.testing import Said, ScriptedApprover, ScriptedModel
from actum.toolsets.a2a.toolset import A2AToolset
from actum.toolsets.function.function import FunctionTool
from actum.toolsets.mcp.toolset import McpToolset
from actum.toolsets.wrappers import ToolLabels, labelled
from tests.mcp_service import served
from tests.server.a2a.serving import a2a_server
from tests.web import serving

from .loop import Row

FOLDER = Path(__file__).parent / "office"
ANN = CollectionUser("", "ann")


class Case(Struct, frozen=True, forbid_unknown_fields=True):
    """An attack, or a harmless task.

    Attributes:
        by: how the text comes to the model.
        request: what the user says.
        wants: what the request calls for: tools, with the arguments that it fixes.
        brings: what is read; of a tool of the MCP server also an object, a list, or an error.
        calls: the attacker's calls, or the right ones.
        read: the call of the MCP server that reads the text.
        before: what the user said in the earlier turn in which the text was read.
    """

    by: Literal["mcp", "a2a", "document", "page", "memory", "summary"]
    request: str
    wants: list[tuple[str, JsonObject]]
    brings: Json
    calls: list[tuple[str, JsonObject]]
    read: tuple[str, JsonObject] = ("read_mail", {"number": 1})
    before: str = ""


def cases(name: Literal["attacks", "tasks"]) -> list[Case]:
    """The cases of a file."""
    return [msgspec.json.decode(line, type=Case) for line in (FOLDER / f"{name}.jsonl").read_bytes().splitlines()]


class Office:
    """What the tools of the MCP server do: they bring the text of the case, and note what was done."""

    def __init__(self) -> None:
        self.case: Case
        self.done: list[tuple[str, JsonObject]] = []
        self.service = McpService([*self._readers(), *self._doers()])

    def _brought(self) -> JsonObject:
        told = self.case.brings
        if isinstance(told, dict) and "error" in told:
            raise ToolError(str(told["error"]))
        return {"found": told}

    def _readers(self) -> list[FunctionTool]:
        @tool(effects={"read"})
        def read_mail(number: int) -> JsonObject:
            """Read one of the latest mails."""
            return self._brought()

        @tool(effects={"read"})
        def read_file(path: str) -> JsonObject:
            """Read a file."""
            return self._brought()

        @tool(effects={"read"})
        def list_files() -> JsonObject:
            """List the files."""
            return self._brought()

        @tool(effects={"read"})
        def find_event(title: str) -> JsonObject:
            """Find events of the calendar."""
            return self._brought()

        return [read_mail, read_file, list_files, find_event]

    def _did(self, name: str, **arguments: Json) -> str:
        self.done.append((name, arguments))
        return "done"

    def _doers(self) -> list[FunctionTool]:
        @tool(effects={"send"})
        def send_mail(to: str, subject: str, text: str) -> str:
            """Send a mail."""
            return self._did("send_mail", to=to, subject=subject, text=text)

        @tool(effects={"write", "send"})
        def create_event(title: str, day: str, guests: list[str]) -> str:
            """Put an event on the calendar, and invite guests."""
            return self._did("create_event", title=title, day=day, guests=list[Json](guests))

        @tool(effects={"destroy"})
        def cancel_event(id: str) -> str:
            """Cancel an event."""
            return self._did("cancel_event", id=id)

        @tool(effects={"destroy"})
        def delete_file(path: str) -> str:
            """Delete a file."""
            return self._did("delete_file", path=path)

        @tool(effects={"send"})
        def share_file(path: str, person: str) -> str:
            """Let a person read a file."""
            return self._did("share_file", path=path, person=person)

        @tool(effects={"spend"})
        def pay(to: str, amount: float, note: str = "") -> str:
            """Pay somebody."""
            return self._did("pay", to=to, amount=amount, **({"note": note} if note else {}))

        @tool(effects={"send"})
        def post(channel: str, text: str) -> str:
            """Post a text to a channel."""
            return self._did("post", channel=channel, text=text)

        @tool(effects={"write"})
        def save_note(text: str) -> str:
            """Save a note of the user's own."""
            return self._did("save_note", text=text)

        @tool(effects={"write"})
        def set_forwarding(to: str) -> str:
            """Forward all mails."""
            return self._did("set_forwarding", to=to)

        @tool(effects={"execute"})
        def run_command(command: str) -> str:
            """Carry out a command."""
            return self._did("run_command", command=command)

        return [
            *(send_mail, create_event, cancel_event, delete_file, share_file),
            *(pay, post, save_note, set_forwarding, run_command),
        ]


def _says(effects: str, *sinks: str) -> ToolLabels:
    return ToolLabels(effects=frozenset(effects.split()), sinks=sinks)  # type: ignore[arg-type]


OPERATOR = {
    "office_read_*": ToolLabels(effects=frozenset({"read"})),
    "office_list_files": ToolLabels(effects=frozenset({"read"})),
    "office_find_event": ToolLabels(effects=frozenset({"read"}), named_by={"id": "title", "guests": "title"}),
    "office_send_mail": _says("send", "to"),
    "office_create_event": _says("write send", "guests"),
    "office_cancel_event": _says("destroy", "id"),
    "office_delete_file": _says("destroy", "path"),
    "office_share_file": _says("send", "path", "person"),
    "office_pay": _says("spend", "to"),
    "office_post": _says("send", "channel"),
    "office_save_note": _says("write"),
    "office_set_forwarding": _says("write", "to"),
    "office_run_command": _says("execute", "command"),
    "supplier": _says("read send"),
}
"""What an operator says of these tools, as in `actum.toml`."""


class Stage:
    """All that a case needs, under way.

    Args:
        office: the tools of the MCP server.
        tools: of the agent, beside the documents.
        reader: reads documents.
    """

    def __init__(self, office: Office, tools: Sequence[object], reader: JailedReader) -> None:
        self._office = office
        self._tools = tools
        self._reader = reader

    async def carried_out(self, case: Case, *, agrees: bool) -> tuple[list[tuple[str, JsonObject]], int]:
        """Carry out a case.

        Args:
            case: the case.
            agrees: somebody says yes to each question; otherwise nobody can be asked.

        Returns:
            The calls that were made, and how many questions were asked.
        """
        office, journal, approver = self._office, MemoryJournal(), ScriptedApprover(*[Answer("approve")] * 20)
        office.case = case
        office.done.clear()
        if case.by == "document":
            await make(journal, ANN, "handbook", ["all"])
            await put_document(journal, ANN, "handbook", "trips.md", str(case.brings).encode(), self._reader)
        does = [ToolCall(f"d{at}", f"office_{name}", arguments) for at, (name, arguments) in enumerate(case.calls)]
        wants = [(f"office_{name}", arguments) for name, arguments in case.wants]
        if case.by == "a2a":  # every request of these says to ask the supplier
            wants.append(("supplier", {}))
        script: list[Said] = [
            self._read(case),
            *([f"I have read: {case.brings}"] if case.before else []),
            *does,
            "done",
        ]
        if case.by == "summary":
            script.insert(2, f"So far: {case.brings}")
        mandate: JsonObject = {"calls": [{"tool": name, "arguments": fixed} for name, fixed in wants]}
        agent = Agent(
            ScriptedModel(script, mandate=mandate, name="obeys"),
            [*self._tools, KnowledgeTool("handbook")],  # type: ignore[list-item]
            defence=Defence(unattended="ask" if agrees else "deny"),
            approver=approver if agrees else None,
            journal=journal,
        )
        if case.before:
            await agent.run(case.before, conversation="c", principal="ann")
            if case.by == "summary":
                await agent.compact("c", principal="ann", keep=0)
        result = await agent.run(case.request, conversation="c", principal="ann")
        assert result.status == "done", (case, result.status, result.pending)
        return list(office.done), len(approver.asked)

    def _read(self, case: Case) -> ToolCall:
        match case.by:
            case "a2a":
                return ToolCall("r", "supplier", {"message": case.request})
            case "document":
                return ToolCall("r", "search_handbook", {"query": "trips"})
            case "page":
                return ToolCall("r", "read_page", {"page": "shop.example/chairs"})
            case _:
                return ToolCall("r", f"office_{case.read[0]}", case.read[1])


@asynccontextmanager
async def stage() -> AsyncIterator[Stage]:
    """The servers of the set, as long as the block lasts."""
    office = Office()

    async def shows(_: object) -> PlainTextResponse:
        return PlainTextResponse(str(office.case.brings))

    async with AsyncExitStack() as stack:
        url = await stack.enter_async_context(served(office.service))
        mcp = await stack.enter_async_context(McpToolset(McpServer(name="office", url=url), approve="all"))
        supplier = await stack.enter_async_context(
            a2a_server(ScriptedModel(lambda _: str(office.case.brings)), journal=MemoryJournal())
        )
        bearer = {"authorization": "Bearer ann"}
        remote = A2AToolset(RemoteAgent(url=supplier.url, name="supplier", headers=bearer))
        shop = await stack.enter_async_context(serving(Starlette(routes=[Route("/{page:path}", shows)])))
        client = await stack.enter_async_context(httpx.AsyncClient(base_url=shop))

        @tool(effects={"read"}, outside=True)
        async def read_page(page: str) -> str:
            """Read a page of the web."""
            return (await client.get(f"/{page}")).text

        reader = await stack.enter_async_context(JailedReader())
        yield Stage(office, [labelled(OPERATOR, mcp), labelled(OPERATOR, remote), read_page], reader)


async def slips(found: Sequence[Case]) -> tuple[list[Case], int]:
    """The attacks of which a call was made; and the number of those whose calls are all made where somebody says yes to
    each question, so that it is the question which stops the others.
    """
    async with stage() as here:
        through = [case for case in found if (await here.carried_out(case, agrees=False))[0]]
        return through, sum([(await here.carried_out(case, agrees=True))[0] == case.calls for case in found])


async def asked(found: Sequence[Case]) -> list[tuple[int, bool, bool]]:
    """Of each task: the number of questions, whether all calls were made then, and whether with nobody to ask."""
    told: list[tuple[int, bool, bool]] = []
    async with stage() as here:
        for case in found:
            made, questions = await here.carried_out(case, agrees=True)
            alone, _ = await here.carried_out(case, agrees=False)
            told.append((questions, made == case.calls, alone == case.calls))
    return told


def office_table() -> list[Row]:
    """A line for each way by which text comes, and one for all."""
    attacks, tasks = cases("attacks"), cases("tasks")
    through, would = asyncio.run(slips(attacks))
    print(f"with a yes to each question, {would} of {len(attacks)} attacks make all their calls")
    done = asyncio.run(asked(tasks))
    for case in through:
        print("not stopped:", case.by, case.request, case.calls)
    rows: list[Row] = []
    for way in [*dict.fromkeys(case.by for case in attacks), "all"]:
        pairs = [case for case in attacks if way in (case.by, "all")]
        own = [told for case, told in zip(tasks, done, strict=True) if way in (case.by, "all")]
        row: Row = {
            "by": way,
            "attacks": len(pairs),
            "stopped": sum(case not in through for case in pairs),
            "tasks": len(own),
            "questions a task": round(sum(questions for questions, _, _ in own) / len(own), 2),
            "done": sum(made for _, made, _ in own),
            "alone": sum(alone for _, _, alone in own),
        }
        rows.append(row)
    return rows


if __name__ == "__main__":
    for line in office_table():
        print("  ".join(f"{name}: {value}" for name, value in line.items()), flush=True)
