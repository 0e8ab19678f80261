"""A run that the code of a tool begins is a child of the run whose call the code carries out."""

from __future__ import annotations

import asyncio
import contextvars
import signal
import sys
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from decimal import Decimal
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from actum import Agent, Answer, Limits, Price, Require, Rule, Rules, ToolCall, tool
from actum.core.errors import Unavailable, UsageError
from actum.core.event import RunFinished, RunResult
from actum.core.interfaces import Clock, Context, Journal
from actum.core.json import Json
from actum.core.message import Reply, ToolMessage, Usage, UserMessage
from actum.core.model import Request
from actum.core.policy import Policy
from actum.core.run.record import Started
from actum.core.trace import trace_id
from actum.journal.memory import MemoryJournal
from actum.runs.runner import Runner
from actum.storage.sqlite import SQLiteJournal
from actum.testing import FakeClock, Said, ScriptedApprover, ScriptedModel
from actum.toolsets.function.function import FunctionTool
from actum.workflow.load import read_definition
from actum.workflow.workflow import Workflow
from tests import warm

pytestmark = pytest.mark.row("C4")

DENY = Rules(Rule("deny", effects={"spend"}, reason="Nothing is spent here."), default="allow")
YES = Answer("approve", by="somebody")
PAY = ToolCall("1", "pay", {"to": "ada", "amount": 20})
FLOW = {
    "actum": "workflow/1",
    "name": "flow",
    "nodes": {"one": {"type": "tool", "tool": "pay", "with": {"to": "ada", "amount": 20}}},
}


def pays(request: Request) -> Said:
    """Pays once, whatever is said."""
    last = request.messages[-1]
    return last.result.text if isinstance(last, ToolMessage) else [PAY]


def calls(name: str, **arguments: Json) -> ScriptedModel:
    """A model that calls the tool of this name once."""

    def script(request: Request) -> Said:
        last = request.messages[-1]
        return last.result.text if isinstance(last, ToolMessage) else [ToolCall("1", name, dict(arguments))]

    return ScriptedModel(script)


Way = Callable[["Firm"], Callable[..., object]]


class Firm:
    """A boss with a tool whose code has a helper pay.

    Args:
        way: how the code begins the helper's run.
        policy: of the boss.
        helper_policy: of the helper.
        own: the helper was given a journal of its own.
        words: what the code says to the helper.
    """

    def __init__(
        self,
        way: Way,
        policy: Policy | None = DENY,
        *,
        limits: Limits | None = None,
        helper_policy: Policy | None = None,
        own: bool = False,
        words: str = "Pay",
        clock: Clock | None = None,
        approver: ScriptedApprover | None = None,
    ) -> None:
        self.paid: list[tuple[str, int]] = []
        self.journal = MemoryJournal()
        self.own_journal = MemoryJournal() if own else None
        self.later: list[Awaitable[object]] = []
        self.results: list[RunResult[object]] = []

        @tool(effects={"spend"}, idempotent=True)
        async def pay(to: str, amount: int) -> str:
            """Pay."""
            self.paid.append((to, amount))
            return "paid"

        self.pay, self.words = pay, words
        price = {"scripted": Price(input=Decimal(1), output=Decimal(1))}
        self.helper = Agent(
            ScriptedModel(pays), [pay], name="helper", policy=helper_policy, journal=self.own_journal, prices=price
        )
        self.runner = Runner([pay], name="runner", policy=helper_policy, journal=self.own_journal)
        definition = read_definition(msgspec.json.encode(FLOW))
        self.flow = Workflow(definition, [pay], policy=helper_policy, journal=self.own_journal)
        self.tool = FunctionTool(way(self), name="act", description="Act.", effects={"read"}, idempotent=True)
        self.boss = Agent(
            calls("act"),
            [self.tool],
            name="boss",
            policy=policy,
            journal=self.journal,
            limits=limits,
            prices=price,
            approver=approver,
            clock=clock,
        )

    async def run(self, **options: object) -> RunResult:
        return await self.boss.run("Act", run_id="r", **options)  # type: ignore[arg-type]

    async def children(self, journal: Journal | None = None) -> list[Started]:
        """The beginning of each run but the boss's."""
        journal = journal or self.own_journal or self.journal
        found = [line.run_id for line in await journal.runs(limit=None) if line.run_id != "r"]
        first = [(await journal.read(run_id))[0].record for run_id in found]
        return [record for record in first if isinstance(record, Started)]


# Ways ----------------------------------------------------------------------------------------------------------------


def by_await(firm: Firm) -> Callable[..., object]:
    async def act() -> str:
        return (await firm.helper.run(firm.words)).text

    return act


def by_a_task(firm: Firm) -> Callable[..., object]:
    async def act() -> str:
        async with asyncio.TaskGroup() as group:
            work = group.create_task(firm.helper.run("Pay"))
        return work.result().text

    return act


def by_a_stream(firm: Firm) -> Callable[..., object]:
    async def act() -> str:
        events = [event async for event in firm.helper.stream("Pay")]
        assert isinstance(events[-1], RunFinished)
        return events[-1].result.text

    return act


def by_a_thread(firm: Firm) -> Callable[..., object]:
    async def act() -> str:
        return (await asyncio.to_thread(firm.helper.run_sync, "Pay")).text

    return act


def by_a_plain_function(firm: Firm) -> Callable[..., object]:
    def act() -> str:
        return firm.helper.run_sync(firm.words).text

    return act


def by_a_generator(firm: Firm) -> Callable[..., object]:
    async def act() -> object:
        yield "half"
        yield (await firm.helper.run("Pay")).text

    return act


def by_a_task_in_a_thread_in_a_task(firm: Firm) -> Callable[..., object]:
    async def act() -> str:
        def again() -> str:
            return asyncio.run(in_task())

        async def in_task() -> str:
            return await asyncio.create_task(_text_of(firm.helper))

        return await asyncio.create_task(asyncio.to_thread(again))

    return act


async def _text_of(agent: Agent) -> str:
    return (await agent.run("Pay")).text


def by_a_copied_context(firm: Firm) -> Callable[..., object]:
    """The way for a tool that starts threads itself."""

    async def act() -> str:
        came: Future[RunResult] = Future()
        carried = contextvars.copy_context()

        def begin() -> None:
            try:
                came.set_result(carried.run(firm.helper.run_sync, "Pay"))
            except Exception as error:  # noqa: BLE001  # the call hears of it
                came.set_exception(error)

        threading.Thread(target=begin).start()
        return (await asyncio.wrap_future(came)).text

    return act


def by_another_agent(firm: Firm) -> Callable[..., object]:
    @tool(effects={"read"})
    async def hand_on() -> str:
        """Hand it on."""
        return (await firm.helper.run("Pay")).text

    between = Agent(calls("hand_on"), [hand_on], name="between")

    async def act() -> str:
        return (await between.run("Pay")).text

    return act


def by_an_agent_that_is_a_tool(firm: Firm) -> Callable[..., object]:
    between = Agent(calls("helper", task="Pay"), [firm.helper], name="between")

    async def act() -> str:
        return (await between.run("Pay")).text

    return act


def by_a_runner(firm: Firm) -> Callable[..., object]:
    async def act() -> str:
        return (await firm.runner.call([PAY], by="person")).calls[0][1].text

    return act


def by_a_workflow(firm: Firm) -> Callable[..., object]:
    async def act() -> str:
        return str((await firm.flow.run()).output)

    return act


def by_an_id(firm: Firm) -> Callable[..., object]:
    async def act() -> str:
        return (await firm.helper.run("Pay", run_id="mine")).text

    return act


WAYS = (
    by_await,
    by_a_task,
    by_a_stream,
    by_a_thread,
    by_a_plain_function,
    by_a_generator,
    by_a_task_in_a_thread_in_a_task,
    by_a_copied_context,
    by_another_agent,
    by_an_agent_that_is_a_tool,
    by_a_runner,
    by_a_workflow,
    by_an_id,
)


@pytest.mark.parametrize("way", WAYS)
async def test_what_the_code_of_a_tool_begins_is_bound_by_the_policy_above(way: Way) -> None:
    bound, free = Firm(way), Firm(way, None)
    assert (await bound.run()).status == (await free.run()).status == "done"
    assert (bound.paid, free.paid) == ([], [("ada", 20)])


@pytest.mark.parametrize("way", WAYS)
async def test_it_is_on_record_as_a_child_of_the_same_user_trace_and_journal(way: Way) -> None:
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    firm = Firm(way)
    await firm.run(principal="ann", tenant="acme", roles=["clerk"], trace=trace)
    children = await firm.children()
    assert children
    parents = {"r", *(line.run_id for line in await firm.journal.runs(limit=None))}
    for child in children:
        assert child.parent in parents
        assert (child.principal, child.tenant, child.roles) == ("ann", "acme", ("clerk",))
        assert trace_id("x", child.trace) == trace_id("x", trace)
        assert "boss" in child.bound
        assert {said.source for said in child.said if isinstance(said, UserMessage)} <= {"agent"}
    assert all(not other._entries for other in (firm.helper.journal,) if isinstance(other, MemoryJournal))


@pytest.mark.parametrize("way", WAYS)
async def test_it_uses_up_the_limits_above(way: Way) -> None:
    firm = Firm(way, None, limits=Limits(calls=1))
    await firm.run()
    assert firm.paid == []


async def test_an_agent_with_a_journal_of_its_own_writes_there_and_names_its_parent() -> None:
    for way in (by_await, by_a_runner, by_a_workflow):
        firm = Firm(way, own=True)
        await firm.run(tenant="acme")
        (child,) = await firm.children()
        assert (child.parent, child.bound, child.tenant) == ("r", ("boss",), "acme")
        assert firm.paid == []
        assert [line.run_id for line in await firm.journal.runs(limit=None)] == ["r"]


async def test_tokens_and_money_of_a_child_are_counted_above() -> None:
    for way in (by_await, by_a_thread):
        firm = Firm(way, None)
        spends = replace(Reply.of("done"), usage=Usage(input_tokens=200, output_tokens=100))
        firm.helper.model = ScriptedModel([spends])
        assert (await firm.run()).cost == Decimal("0.0003"), way


async def test_a_child_that_is_asked_about_above_waits_with_its_parent_and_goes_on_once_it_is_answered() -> None:
    asks = Rules(Rule("ask", effects={"spend"}, approvers=["ann"]), default="allow")
    yes = Answer("approve", by="ann")
    for way in WAYS:
        firm = Firm(way, asks)
        waiting = await firm.run()
        assert (waiting.status, firm.paid) == ("paused", []), way
        done = await firm.boss.resume("r", {waiting.pending[0].id: yes})
        assert (done.status, firm.paid) == ("done", [("ada", 20)]), way
        assert done.calls[0][1].error is None, way
        again = await firm.boss.resume("r")
        assert (again.text, len(firm.paid)) == (done.text, 1), way
        asked = Firm(way, asks, approver=ScriptedApprover(yes))
        assert ((await asked.run()).status, asked.paid) == ("done", [("ada", 20)]), way


async def test_a_child_that_policies_bind_goes_on_by_its_parent_alone() -> None:
    firm = Firm(by_await, Rules(Rule("ask", effects={"spend"}), default="allow"), own=True)
    waiting = await firm.run()
    assert firm.own_journal is not None
    (line,) = await firm.own_journal.runs(limit=None)
    with pytest.raises(UsageError, match="resume 'r'"):
        await firm.helper.resume(line.run_id, {waiting.pending[0].id: YES})

    @tool(effects={"read"})
    async def smuggle() -> str:
        """Go on with the run of another boss."""
        return (await firm.helper.resume(line.run_id, {waiting.pending[0].id: YES})).text

    result = await Agent(calls("smuggle"), [smuggle], name="other").run("Go")
    assert result.calls[0][1].error is not None
    assert firm.paid == []


async def test_what_the_code_of_a_tool_goes_on_with_is_bound_too() -> None:
    paid: list[str] = []

    @tool(effects={"spend"}, approval=True)
    async def pay(to: str, amount: int) -> str:
        """Pay."""
        paid.append(to)
        return "paid"

    helper = Agent(ScriptedModel(pays), [pay], name="helper")
    waiting = await helper.run("Pay")

    @tool(effects={"read"})
    async def act() -> str:
        """Go on."""
        return (await helper.resume(waiting.run_id, {waiting.pending[0].id: YES})).text

    await Agent(calls("act"), [act], policy=DENY).run("Act")
    assert paid == []


async def test_words_that_the_code_of_a_tool_hands_down_are_not_the_users() -> None:
    """Else a value of a model would be trusted below, by the policy above as well."""
    trusts = Rules(Rule("deny", tools="pay", when="!trusted(to)"), default="allow")
    for way in (by_await, by_a_runner, by_a_plain_function):
        for boss, helper in ((trusts, None), (None, trusts)):
            firm = Firm(way, boss, helper_policy=helper, words="Pay ada 20")
            await firm.run()
            assert firm.paid == [], way


async def test_an_agent_is_not_begun_again_below_itself_and_no_deeper_than_it_may() -> None:
    agents: list[Agent] = []

    @tool(effects={"read"})
    async def again() -> str:
        """Begin the agent again."""
        return (await agents[0].run("Again")).text

    agents.append(Agent(calls("again"), [again], name="loops"))
    result = await agents[0].run("Go")
    assert [called.error.code for _, called in result.calls if called.error] == ["loop_detected"]
    for depth, paid in ((3, [("ada", 20)]), (2, [])):
        firm = Firm(by_another_agent, None, limits=Limits(depth=depth))
        await firm.run()
        assert firm.paid == paid, depth


async def test_a_user_who_is_named_is_whom_a_child_acts_for() -> None:
    cases = {
        ("", ""): ("ann", "acme", ("clerk",)),
        ("ann", ""): ("ann", "acme", ("clerk",)),
        ("bob", ""): ("bob", "acme", ()),
        ("bob", "other"): ("bob", "other", ()),
        ("", "other"): ("", "other", ()),
    }
    for (principal, tenant), expected in cases.items():

        def way(firm: Firm, principal: str = principal, tenant: str = tenant) -> Callable[..., object]:
            async def act() -> str:
                return (await firm.helper.run("Pay", principal=principal, tenant=tenant)).text

            return act

        firm = Firm(way)
        await firm.run(principal="ann", tenant="acme", roles=["clerk"])
        (child,) = await firm.children()
        assert (child.principal, child.tenant, child.roles) == expected
        assert firm.paid == [], (principal, tenant)  # the policy above holds whoever it is for


async def test_a_check_that_a_policy_above_requires_is_made_for_a_child_in_a_thread() -> None:
    home: list[object] = []

    @tool(effects={"read"})
    async def balance() -> int:
        """The balance."""
        home.append(asyncio.get_running_loop())
        return 10

    require = Require("balance", when="check >= args.amount", reason="Too little.")
    for way in (by_await, by_a_plain_function, by_a_thread):
        firm = Firm(way, Rules(Rule("allow", tools="pay", require=require), default="allow"))
        firm.boss = firm.boss.with_tools([firm.tool, balance])
        await firm.run()
        assert firm.paid == [], way
    assert home == [asyncio.get_running_loop()] * 3


# It ends with the call ------------------------------------------------------------------------------------------------


def lazy_worker(firm: Firm) -> Callable[..., object]:
    """The first call starts a worker, which does what comes later."""

    async def act() -> str:
        jobs: asyncio.Queue[None] = asyncio.Queue()

        async def work() -> None:
            await jobs.get()
            firm.results.append(await firm.helper.run("Pay"))

        worker = asyncio.create_task(work())

        async def later() -> None:
            jobs.put_nowait(None)
            await worker

        firm.later.append(later())
        return "started"

    return act


def pooled_client(firm: Firm) -> Callable[..., object]:
    """The call opens a client whose thread and event loop stay."""

    async def act() -> str:
        opened, asked, told = threading.Event(), asyncio.Event(), list[asyncio.AbstractEventLoop]()

        async def serve() -> None:
            told.append(asyncio.get_running_loop())
            opened.set()
            await asked.wait()
            firm.results.append(await firm.helper.run("Pay"))

        client = asyncio.create_task(asyncio.to_thread(asyncio.run, serve()))
        await asyncio.to_thread(opened.wait)

        async def later() -> None:
            told[0].call_soon_threadsafe(asked.set)
            await client

        firm.later.append(later())
        return "opened"

    return act


def timer(firm: Firm) -> Callable[..., object]:
    """The call leaves a timer behind."""

    async def act() -> str:
        carried, begun = contextvars.copy_context(), list[asyncio.Task[RunResult]]()

        def ring() -> None:
            begun.append(asyncio.ensure_future(firm.helper.run("Pay")))

        async def later() -> None:
            carried.run(ring)
            firm.results.append(await begun[0])

        firm.later.append(later())
        return "set"

    return act


@pytest.mark.parametrize("way", [lazy_worker, pooled_client, timer])
async def test_what_outlives_the_call_begins_runs_of_its_own(way: Way) -> None:
    firm = Firm(way)
    await firm.run(principal="ann", tenant="acme")
    assert firm.paid == []
    for later in firm.later:
        await later
    assert [result.status for result in firm.results] == ["done"]
    assert firm.paid == [("ada", 20)]
    assert await firm.children() == []
    (own,) = await firm.children(firm.helper.journal)
    assert (own.parent, own.bound, own.principal, own.tenant) == ("", (), "", "")


async def test_a_thread_that_a_tool_starts_by_other_means_does_not_know_of_the_call() -> None:
    """The limit that the guide names."""

    def way(firm: Firm) -> Callable[..., object]:
        async def act() -> str:
            thread = threading.Thread(target=firm.helper.run_sync, args=("Pay",))
            thread.start()
            await asyncio.to_thread(thread.join)
            return "paid"

        return act

    firm = Firm(way)
    await firm.run()
    assert firm.paid == [("ada", 20)]


async def test_two_calls_side_by_side_are_each_the_parent_of_their_own() -> None:
    """Two tenants, in one event loop and at one time."""
    meets, here = list[str](), asyncio.Event()

    def way(firm: Firm) -> Callable[..., object]:
        async def act(ctx: Context) -> str:
            meets.append(ctx.tenant)
            if len(meets) == 2:
                here.set()
            await here.wait()
            return (await firm.helper.run("Pay")).text

        return act

    firm, strict = Firm(way, None), Firm(way)
    strict.boss = strict.boss.with_tools([firm.tool])
    await asyncio.gather(
        firm.boss.run("Act", run_id="one", tenant="acme", principal="ann"),
        strict.boss.run("Act", run_id="two", tenant="other", principal="bob"),
    )
    assert firm.paid == [("ada", 20)]  # by the tool of the boss who may
    for journal, run_id, tenant in ((firm.journal, "one", "acme"), (strict.journal, "two", "other")):
        children = [each for each in await firm.children(journal) if each.parent]
        assert [(each.parent, each.tenant) for each in children] == [(run_id, tenant)]


# Again ----------------------------------------------------------------------------------------------------------------


async def test_a_call_that_is_made_again_goes_on_with_the_runs_that_it_had_begun() -> None:
    tries: list[int] = []

    def way(firm: Firm) -> Callable[..., object]:
        async def act() -> str:
            tries.append(1)
            first, second = await asyncio.gather(firm.helper.run("Pay"), firm.helper.run("Pay"))
            other = await firm.runner.call([PAY], by="person")
            if len(tries) == 1:
                raise Unavailable("Come again.")
            return f"{first.text} {second.text} {len(other.calls)}"

        return act

    firm = Firm(way, None, clock=FakeClock(auto=True))
    result = await firm.run()
    assert (len(tries), result.text) == (2, "paid paid 1")
    assert firm.paid == [("ada", 20)] * 3
    assert len(await firm.children()) == 3


async def test_a_run_that_the_code_of_a_call_branches_off_is_a_child_and_is_branched_off_once() -> None:
    """What the first run did after the branch asks a person, who is asked by the run above."""
    tries: list[str] = []

    def of(name: str) -> Way:
        def way(firm: Firm) -> Callable[..., object]:
            async def act() -> str:
                whose: Agent | Workflow = getattr(firm, name)
                tries.append(await whose.fork("first", 0))
                if len(tries) == 1:
                    raise Unavailable("Come again.")
                return (await whose.resume(tries[-1])).text

            return act

        return way

    for name in ("helper", "flow"):
        for policy, paid in ((None, 2), (DENY, 1)):
            tries.clear()
            firm = Firm(of(name), policy, own=True, clock=FakeClock(auto=True))
            assert firm.own_journal is not None
            first = firm.helper.run("Pay", run_id="first") if name == "helper" else firm.flow.run({}, run_id="first")
            assert (await first).status == "done"
            result = await firm.run()
            if paid == 2:
                assert (result.status, len(firm.paid)) == ("paused", 1), name
                result = await firm.boss.resume("r", {result.pending[0].id: YES})
            assert (result.status, len(firm.paid), len(set(tries))) == ("done", paid, 1), (name, policy)
            (child,) = [each for each in await firm.children() if each.forked]
            assert (child.parent, child.forked, child.fork_at) == ("r", "first", 0), name
            assert child.bound == (("boss",) if policy is not None else ()), name
            alone = await getattr(firm, name).fork("first", 0)
            began = (await firm.own_journal.read(alone))[0].record
            assert isinstance(began, Started)
            assert began.parent == "", "a fork outside of a call is nobody's child"


KILLED = """
import asyncio, os, signal, sys
from pathlib import Path
from actum import Agent, ToolCall, tool
from actum.core.message import ToolMessage
from actum.storage.sqlite import SQLiteJournal
from actum.testing import ScriptedModel

folder, dies, idempotent = Path(sys.argv[1]), sys.argv[2], sys.argv[3] == "True"
paid = folder / "paid"

def says(*names):
    def script(request):
        done = sum(isinstance(each, ToolMessage) for each in request.messages)
        return [ToolCall(str(done), names[done], {})] if done < len(names) else "done"
    return ScriptedModel(script)

def die():
    os.kill(os.getpid(), signal.SIGKILL)

@tool(effects={"spend"})
async def pay() -> str:
    "Pay."
    with paid.open("a") as file:
        file.write("x")
    if dies == "during":
        die()
    return "paid"

@tool(effects={"read"})
async def look() -> str:
    "Look."
    if dies == "after":
        die()
    return "looked"

helper = Agent(says("pay", "look"), [pay, look], name="helper")

@tool(effects={"send"}, idempotent=idempotent)
async def act() -> str:
    "Act."
    result = await helper.run("Pay")
    if dies == "behind":
        die()
    return result.text

async def main():
    journal = SQLiteJournal(str(folder / "runs.db"))
    boss = Agent(says("act"), [act], name="boss", journal=journal)
    if dies == "never":
        result = await boss.resume("r", dict([sys.argv[4:]]) if sys.argv[4:] else {})
    else:
        result = await boss.run("Act", run_id="r")
    print(result.status, *(f"{each.id} {each.call.name}" for each in result.pending))
    await journal.close()

asyncio.run(main())
"""


@pytest.mark.row("C7")
@pytest.mark.parametrize("dies", ["during", "after", "behind"])
@pytest.mark.parametrize("idempotent", [True, False])
def test_the_run_that_a_killed_call_had_begun_is_gone_on_with(tmp_path: Path, dies: str, idempotent: bool) -> None:
    def program(dies: str, *answer: str) -> tuple[int, list[str]]:
        command = [sys.executable, "-c", KILLED, str(tmp_path), dies, str(idempotent), *answer]
        done = warm.run(command, capture_output=True, text=True, check=False)
        assert not done.stderr, done.stderr
        return done.returncode, done.stdout.split()

    assert program(dies)[0] == -signal.SIGKILL
    _, (status, *waits) = program("never")
    asked: list[str] = []
    while status == "paused":  # a person says what is to be done about a call of which nobody knows
        asked.append(waits[1])
        _, (status, *waits) = program("never", waits[0], "retry" if waits[1] == "act" else "done")
    assert status == "done"
    assert asked[:1] == ([] if idempotent else ["act"]) or asked == ["pay"]
    assert len(asked) <= 2
    assert (tmp_path / "paid").read_text() == "x"
    assert asyncio.run(_lines(tmp_path)) == [("boss", ""), ("helper", "r")]


async def _lines(folder: Path) -> list[tuple[str, str]]:
    journal = SQLiteJournal(str(folder / "runs.db"))
    lines = [(line.agent, line.parent) for line in await journal.runs(limit=None)]
    await journal.close()
    return sorted(lines)
