"""Webhooks: told at the end, signed, through the guard, tried for a day."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from actum import Label, tool
from actum.core.call import ToolCall
from actum.core.json import JsonObject
from actum.core.run.task import TaskOptions
from actum.core.stored.webhook import signature
from actum.core.user import User
from actum.runs.options import RunOptions
from actum.runs.runner import Runner
from actum.tasks.webhook import DROP_S, WebhookSender
from actum.testing import FakeClock
from actum.transport.fetcher import Fetched, Fetcher
from actum.transport.guard import Guard
from tests.patience import HANGS_S
from tests.storage.conftest import Store

from .desk import Desk
from .office import until

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


class Receiver(Fetcher):
    """Answers what a test says, and keeps what came."""

    def __init__(self, *statuses: int) -> None:
        super().__init__(Guard())
        self.statuses = list(statuses)
        self.got: list[tuple[dict[str, str], bytes, str]] = []

    async def send(self, method: str, url: str, **about: object) -> Fetched:
        headers, body = about["headers"], about["body"]
        assert isinstance(headers, dict)
        assert isinstance(body, bytes)
        self.got.append((headers, body, str(about["redirects"])))
        return Fetched(self.statuses.pop(0), {}, b"", url)


@pytest.mark.row("P5")
async def test_the_end_of_a_task_is_told_signed_by_both_secrets_and_tried_again(store: Store) -> None:
    clock = FakeClock()
    journal = store.open(clock=clock)
    desk = Desk(journal, clock)
    line = await desk.accept(options=TaskOptions(webhook="https://hooks.example.org/t"))
    assert journal.tasks is not None
    outbox = journal.tasks.outbox
    assert await outbox.counts() == (0, 0)
    await desk.attempt(line.run_id)
    assert await outbox.counts() == (1, 0)
    (message,) = await outbox.due(clock.now())
    receiver = Receiver(500, 302, 204)
    sender = WebhookSender(journal, receiver, lambda _: [SECRET, "old"], clock=clock, labels={})
    assert not await sender.send(message.id)
    assert await outbox.due(clock.now()) == []  # it waits for its next try
    assert not await sender.send(message.id)  # a redirect is a failure
    assert await sender.send(message.id)
    assert await outbox.counts() == (0, 0)
    headers, body, redirects = receiver.got[0]
    assert redirects == "none"
    assert {each[0]["webhook-id"] for each in receiver.got} == {message.id}
    said = signature([SECRET, "old"], message.id, int(headers["webhook-timestamp"]), body)
    assert (headers["webhook-signature"], len(said.split())) == (said, 2)
    assert b"seen" not in body
    assert line.run_id.encode() in body
    record = b"".join(each.payload for each in await journal.read(line.run_id))
    assert SECRET.encode() not in record
    assert SECRET.encode() not in body


@pytest.mark.row("P5")
async def test_a_message_is_given_up_after_a_day_and_a_private_address_is_never_reached(store: Store) -> None:
    clock = FakeClock()
    journal = store.open(clock=clock)
    desk = Desk(journal, clock)
    line = await desk.accept(options=TaskOptions(webhook="http://169.254.169.254/latest"))
    await desk.attempt(line.run_id)
    assert journal.tasks is not None
    outbox = journal.tasks.outbox
    (message,) = await outbox.due(clock.now())
    fetcher = Fetcher(Guard())
    secrets = {User("", "ann"): [SECRET]}
    sender = WebhookSender(journal, fetcher, lambda user: secrets.get(user, []), clock=clock, labels={})
    tries = 0
    while (found := await outbox.find(message.id)) is not None and found.dead is None and tries < 100:
        clock.advance(max(0.0, found.due - clock.now()))
        assert not await sender.send(message.id)
        tries += 1
    assert found is not None
    assert found.dead is not None
    assert 86_400 - 3600 * 1.3 <= found.dead - found.queued <= 86_400
    assert "AddressRefused" in found.error
    assert await outbox.counts() == (0, 1)
    await fetcher.aclose()


@pytest.mark.row("P5")
async def test_many_messages_of_one_user_are_sent_as_fast_as_the_address_takes_them_four_at_a_time(
    store: Store,
) -> None:
    """The clock stands still: nothing waits for the next look at the outbox."""

    class Busy(Receiver):
        under_way = most = 0

        async def send(self, method: str, url: str, **about: object) -> Fetched:
            self.under_way += 1
            self.most = max(self.most, self.under_way)
            await asyncio.sleep(0)
            self.under_way -= 1
            return await super().send(method, url, **about)

    clock = FakeClock()
    journal = store.open(clock=clock)
    desk = Desk(journal, clock)
    for number in range(11):
        options = TaskOptions(webhook="https://hooks.example.org/t", unique_key=str(number))
        await desk.attempt((await desk.accept(options=options)).run_id)
    assert journal.tasks is not None
    outbox = journal.tasks.outbox
    receiver = Busy(*[500] * 3, *[204] * 8)
    running = asyncio.create_task(WebhookSender(journal, receiver, lambda _: [SECRET], clock=clock, labels={}).run())
    await until(lambda: len(receiver.got) == 11 and receiver.under_way == 0)
    async with asyncio.timeout(HANGS_S):
        while await outbox.counts() != (3, 0):  # noqa: ASYNC110  # the last answers are still to be noted
            await asyncio.sleep(0.005)
    assert receiver.most <= 4
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


async def test_a_message_that_was_given_up_is_dropped_by_the_first_hourly_look_after_its_time(store: Store) -> None:
    clock = FakeClock()
    journal = store.open(clock=clock)
    desk = Desk(journal, clock)
    await desk.attempt((await desk.accept(options=TaskOptions(webhook="https://hooks.example.org/t"))).run_id)
    assert journal.tasks is not None
    outbox = journal.tasks.outbox
    (message,) = await outbox.due(clock.now())
    sender = WebhookSender(journal, Receiver(410), lambda _: [SECRET], clock=clock, labels={}, kept_s=1.5 * DROP_S)
    assert not await sender.send(message.id)
    assert await outbox.counts() == (0, 1)
    running = asyncio.create_task(sender.run())
    kept_s, looks = 0.0, 0
    while True:
        looks += 1
        await until(lambda looks=looks: len(clock.slept) == looks)  # type: ignore[misc]  # the sender sleeps again
        if await outbox.counts() == (0, 0):
            break
        clock.advance(600)
        kept_s += 600
    assert kept_s == 2 * DROP_S
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


@pytest.mark.row("C9")
async def test_an_address_is_told_a_result_as_the_user_of_the_task_may_see_it(store: Store) -> None:
    @tool(effects={"read"}, labels={"salary": "personal"})
    def get_employee(name: str) -> JsonObject:
        """Look an employee up."""
        return {"name": name, "salary": 73250}

    clock = FakeClock()
    journal = store.open(clock=clock)
    labels = {"personal": Label(readers=["role:hr"])}
    desk = Desk(journal, clock)
    desk.runner = Runner([get_employee], name="api", journal=journal, clock=clock, labels=labels)
    assert journal.tasks is not None
    receiver = Receiver(204, 204)
    sender = WebhookSender(journal, receiver, lambda _: [SECRET], clock=clock, labels=labels)
    options = TaskOptions(webhook="https://hooks.example.org/t", webhook_result=True)
    call = ToolCall("call", "get_employee", {"name": "Ada"})
    for roles in ((), ("hr",)):
        line = await desk.queue.accept_call(desk.runner, call, options, RunOptions(principal="ann", roles=roles))
        await desk.attempt(line.run_id)
        (message,) = await journal.tasks.outbox.due(clock.now())
        assert await sender.send(message.id)
    told = [msgspec.json.decode(body)["data"]["result"] for _, body, _ in receiver.got]
    assert told == [{"name": "Ada", "salary": "[personal]"}, {"name": "Ada", "salary": 73250}]
