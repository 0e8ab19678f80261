"""`/v1/events`: one stream for a whole browser, and the words of models before they are on record."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from actum import Agent
from actum.core.event import Delta, ReplyFinished, TextDelta, ThoughtEnded
from actum.core.message import Reply
from actum.core.model import Request
from actum.journal.memory import MemoryJournal
from actum.journal.watch import JournalWatch
from actum.server.api.spoken import SpokenWords
from actum.storage.place import open_journal
from actum.testing import FakeClock
from tests.patience import HANGS_S
from tests.server.test_matrix import served

from .application import Bank, WebApplication, answering, application
from .test_runs import calls

pytestmark = pytest.mark.row("F2")

PAY = {"arguments": {"to": "A", "amount": 1}}


class SpeakingModel:
    """A model that says what a test has it say, piece by piece."""

    name = "speaking"
    tells_usage = True

    def __init__(self) -> None:
        self._said: asyncio.Queue[Delta | Reply] = asyncio.Queue()

    def say(self, *said: Delta | Reply | str) -> None:
        """The next pieces; a `Reply` ends the reply."""
        for each in said:
            self._said.put_nowait(TextDelta(each) if isinstance(each, str) else each)

    async def reply(self, request: Request, emit: Callable[[Delta], None] | None = None) -> Reply:
        while not isinstance(said := await self._said.get(), Reply):
            if emit is not None:
                emit(said)
        return said


class Reader:
    """Reads a stream of events.

    Attributes:
        told: the events so far: the name, the id, and the data.
    """

    def __init__(self, lines: AsyncIterator[str]) -> None:
        self._lines = lines
        self.told: list[tuple[str, str, dict[str, Any]]] = []

    async def next(self, *names: str) -> dict[str, Any]:
        """The data of the next event of one of these names; of any name where none is given."""
        fields: dict[str, str] = {}
        async with asyncio.timeout(HANGS_S):
            async for line in self._lines:
                if line:
                    name, _, value = line.partition(": ")
                    fields[name] = value
                elif "data" in fields:
                    self.told.append((fields["event"], fields.get("id", ""), json.loads(fields["data"])))
                    fields = {}
                    if not names or self.told[-1][0] in names:
                        return self.told[-1][2]
                else:
                    fields = {}
        raise AssertionError(f"the stream ended behind {self.told}")

    async def rest(self) -> list[str]:
        """The names of the events up to the end of the stream."""
        try:
            while True:
                await self.next()
        except AssertionError:
            return [name for name, _, _ in self.told]


@asynccontextmanager
async def reading(it: WebApplication, path: str, who: str = "ann") -> AsyncIterator[Reader]:
    async with it.client.stream("GET", path, headers={"authorization": f"Bearer {who}"}) as answer:
        assert answer.status_code == 200, await answer.aread()
        assert answer.headers["content-type"] == "text/event-stream"
        yield Reader(answer.aiter_lines())


async def ask(it: WebApplication, question: str, who: str = "ann", **more: object) -> str:
    """The run of a question."""
    begun = await it.ask("POST", "/v1/runs", {"question": question, **more}, who=who)
    assert begun.status_code == 202, begun.text
    return str(begun.json()["id"])


async def test_words_come_as_they_are_said_and_never_take_the_place_of_an_entry() -> None:
    model = SpeakingModel()
    async with application(model) as it:
        run = await ask(it, "Add.")
        model.say("Let me ")
        async with reading(it, f"/v1/runs/{run}/events?deltas=true") as early:
            assert await early.next("delta") == {"run": run, "text": "Let me ", "is_anew": True}
            model.say("add.")
            assert await early.next("delta") == {"run": run, "text": "add.", "is_anew": False}
            path = f"/v1/events?deltas=true&run={run}:0"
            async with reading(it, path) as late, reading(it, f"/v1/runs/{run}/events?after=0") as plain:
                assert await late.next("delta") == {"run": run, "text": "Let me add.", "is_anew": True}
                model.say("?", calls("add", a=2, b=3), "It is ")
                for each in (early, late):
                    while "It is " not in (await each.next("delta"))["text"]:
                        pass
                model.say("5", Reply.of("It is 5."))
                names = await early.rest()
                while (await late.next("model_replied", "ended", "delta")).get("type") != "ended":
                    pass
                assert await plain.rest() == [name for name in names[1:] if name != "delta"]
                for told in (early.told, late.told):
                    kinds = [name for name, _, _ in told]
                    for at, (name, id_, data) in enumerate(told):
                        if name != "delta":
                            continue
                        assert id_ == ""
                        is_second = data["text"] in ("It is ", "5")  # told behind the entry of the first reply
                        assert ("model_replied" in kinds[:at]) == is_second
                count = len(await it.journal.read(run))
                assert [id_ for _, id_, _ in early.told if id_] == [str(number) for number in range(count)]
                assert [id_ for _, id_, _ in late.told if id_] == [f"{run}:{number}" for number in range(1, count)]
        assert all("Let me" not in str(entry.payload) for entry in await it.journal.read(run))


async def test_a_server_that_does_not_carry_the_run_out_tells_entries_alone(tmp_path: Path) -> None:
    model, near, far = SpeakingModel(), open_journal(tmp_path / "j.db"), open_journal(tmp_path / "j.db")
    async with application(model, journal=near) as it, application(journal=far) as two:
        run = await ask(it, "Hello?")
        async with reading(two, f"/v1/events?run={run}&deltas=true") as reader:
            await reader.next("started")
            model.say("Hel", "lo.", Reply.of("Hello."))
            assert (await reader.next("ended"))["status"] == "done"
            assert "delta" not in [name for name, _, _ in reader.told]
            assert (await reader.next("run"))["status"] == "done"
    await near.close()
    await far.close()


async def test_each_caller_is_told_of_the_runs_and_approvals_that_lists_show_them_and_of_no_others() -> None:
    async with application(answering(*["Hi."] * 9)) as it:
        first = (await it.ask("POST", "/v1/tools/pay/call", PAY)).json()
        path = f"/v1/events?run={first['run']}&run=run_none:7"
        async with (
            reading(it, path) as ann,
            reading(it, path, "bob") as bob,
            reading(it, path, "north") as north,
            reading(it, path, "root") as root,
            reading(it, "/v1/events", "eve") as eve,
        ):
            seen = {"ann": ann, "bob": bob, "north": north, "root": root, "eve": eve}
            counts = {who: (await each.next("approvals"))["count"] for who, each in seen.items()}
            assert counts == {"ann": 1, "bob": 0, "north": 0, "root": 1, "eve": 1}
            second = (await it.ask("POST", "/v1/tools/pay/call", PAY)).json()
            for each in (ann, root, eve):
                told = await each.next("approvals")
                assert [waits["id"] for waits in told["items"]] == [first["approval"], second["approval"]]
            answered = await it.ask("POST", f"/v1/approvals/{first['approval']}", {"verdict": "approve"}, who="eve")
            assert answered.json()["goes_on"]
            for each in (ann, root):
                while (await each.next("run"))["status"] != "done":
                    pass
            for each in (ann, root, eve):
                while (await each.next("approvals"))["count"] != 1:
                    pass
            for who, question in (("bob", "for bob"), ("north", "for north")):
                run = await ask(it, question, who)
                assert (await seen[who].next("run"))["id"] == run
            gone = {who: [data["run"] for name, _, data in each.told if name == "gone"] for who, each in seen.items()}
            both = [first["run"], "run_none"]
            assert gone == {"ann": both[1:], "root": both[1:], "bob": both, "north": both, "eve": []}
            assert (
                {name for name, _, _ in bob.told} == {name for name, _, _ in north.told} == {"gone", "approvals", "run"}
            )
            assert {name for name, _, _ in eve.told} == {"approvals"}
            assert "for bob" not in str(ann.told + north.told + eve.told)
            assert "for north" not in str(ann.told + bob.told + root.told + eve.told)


async def test_a_feed_takes_64_runs_and_says_what_else_does_not_fit() -> None:
    async with application() as it:
        many = "&".join(f"run=r{number}" for number in range(64))
        async with reading(it, f"/v1/events?{many}") as reader:
            for _ in range(64):
                assert (await reader.next())["code"] == "not_found"
        for query, code in ((many + "&run=x", 422), ("run=a:b", 422), ("run=:1", 422), ("deltas=x", 422), ("x=1", 422)):
            assert (await it.ask("GET", f"/v1/events?{query}")).status_code == code, query
        assert (await it.ask("GET", "/v1/runs?status=done&status=failed")).status_code == 422
        assert (await it.ask("HEAD", "/v1/events")).status_code == 200
        assert (await it.ask("GET", "/v1/events", who="none")).status_code == 403
        assert (await it.ask("GET", "/v1/events?run=r", who="eve")).json()["scope"] == ["runs"]
        run = await ask(it, "Hello?")
        await it.until(run, "done")
        assert (await it.ask("GET", f"/v1/runs/{run}/events?after=99&deltas=true")).status_code == 204
        assert (await it.ask("GET", f"/v1/runs/{run}/events?after=x")).status_code == 422


async def test_a_feed_ends_with_its_key(tmp_path: Path) -> None:
    async with served(tmp_path) as it:
        await it.add_keys()
        headers = {"authorization": f"Bearer {it.keys['ann']}"}
        async with it.client.stream("GET", "/v1/events", headers=headers) as answer:
            reader = Reader(answer.aiter_lines())
            assert (await reader.next())["count"] == 0
            await it.journal.keys.revoke("ann", at=1.0, by="root")
            assert await reader.rest() == ["approvals"]


SAID: Mapping[str, tuple[list[object], list[tuple[str, bool] | None]]] = {
    "words that came before the entry was seen wait": (["a", "b", "look"], [None, None, ("ab", True)]),
    "what a reply said is dropped when it ends": (
        ["look", "a", "end", "b", "look"],
        [None, ("a", True), None, None, ("b", True)],
    ),
    "a thought is taken back": (["look", "a", "thought", "b"], [None, ("a", True), ("", True), ("b", False)]),
    "a thought that nobody was told is nothing": (["look", "thought", "a"], [None, None, ("a", True)]),
    "a run that is left says nothing more": (["look", "a", "leave", "look"], [None, ("a", True), None, None]),
}


@pytest.mark.parametrize("claim", SAID)
async def test_words_are_told_in_their_place(claim: str) -> None:
    clock = FakeClock()
    watch, spoken = JournalWatch(MemoryJournal(clock), clock), SpokenWords()
    spoken.begin("r")
    spoken.hear("r", TextDelta(""))
    async with watch.listening({}) as listener:
        words, told = spoken.listen("r", listener), []
        for step in SAID[claim][0]:
            match step:
                case "look":
                    clock.advance(1.0)
                    for _ in range(20):
                        await asyncio.sleep(0)
                case "end":
                    spoken.hear("r", ReplyFinished(Reply.of("x"), 0.1))
                case "thought":
                    spoken.hear("r", ThoughtEnded())
                case "leave":
                    spoken.end("r")
                case text:
                    spoken.hear("r", TextDelta(str(text)))
            told.append(words.take())
        assert told == SAID[claim][1]
        spoken.leave("r", words)


class Office(Bank):
    """A bank with an agent that has the bank's tools, and one above that."""

    @property
    def tools(self) -> Sequence[object]:
        clerk = Agent(answering(calls("add", a=2, b=3), calls("slow"), "Five."), super().tools, name="clerk")  # type: ignore[arg-type]
        lead = Agent(answering(calls("clerk", task="Add."), "It is five."), [clerk], name="lead")
        return [*super().tools, lead]


@pytest.mark.row("A5")
async def test_the_events_of_a_run_come_with_those_of_the_runs_below_where_a_client_wants_them() -> None:
    model = answering(calls("lead", task="Do it."), "Done.")
    async with application(model, bank=Office()) as it:
        run = await ask(it, "Go.")
        await it.bank.entered.wait()
        path = f"/v1/runs/{run}/events"
        async with reading(it, f"{path}?below=true") as early, reading(it, path) as plain:
            while (await early.next("intended"))["tool"] != "slow":
                pass
            it.bank.is_open.set()
            await it.until(run, "done")
            await early.rest()
            await plain.rest()
        async with reading(it, f"{path}?below=true") as late:
            await late.rest()
        below = {line.run_id: line.agent for line in await it.journal.runs(limit=None) if line.run_id != run}
        assert sorted(below.values()) == ["clerk", "lead"]
        for reader in (early, late):
            told = [(data["run"], data["number"], id_) for _, id_, data in reader.told]
            assert [number for of, number, id_ in told if of == run and id_ == str(number)] == [
                data["number"] for _, _, data in plain.told
            ]
            for child in below:
                numbers = [number for of, number, id_ in told if of == child and not id_]
                assert numbers == list(range(len(await it.journal.read(child))))
        assert {data["run"] for _, _, data in plain.told} == {run}
        whole = (await it.ask("GET", f"/v1/runs/{run}")).json()
        assert whole["usage"] == whole["own_usage"]  # the scripted models say no tokens
        for who in ("bob", "north"):
            assert (await it.ask("GET", f"{path}?below=true", who=who)).status_code == 404
