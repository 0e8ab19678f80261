"""What is taken out of a message of the broker: the id of a run, or nothing. And to which worker a message goes."""

from __future__ import annotations

import base64
import json
from contextlib import suppress

from hypothesis import given
from hypothesis import strategies as st

from actum.core.json import Json
from actum.tasks.celery import QUEUE, celery_app
from actum.tasks.celery_transport import TaskMessage, message_for_celery, read_message
from tests.broker import BrokerServer

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)


@given(JSON, JSON)
def test_whatever_stands_in_a_message_it_is_read_or_dropped(message: Json, body: Json) -> None:
    encoded = base64.b64encode(json.dumps(body).encode()).decode()
    for said in (message, {"body": message}, {"body": encoded, "properties": {"delivery_tag": "t"}}):
        read = read_message(said)
        assert read is None or isinstance(read.run_id, str)


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=200), st.text(max_size=50))
def test_what_celery_gets_says_the_run_and_the_tag_again(run_id: str, tag: str) -> None:
    message = TaskMessage(run_id, tag)
    assert read_message(message_for_celery(message, "actum")) == message


class Asking:
    """A worker's way to the broker, which asks for messages and acknowledges none."""

    def __init__(self, broker: BrokerServer) -> None:
        self.got: list[str] = []
        self._broker = broker
        self._connection = celery_app(broker.url).connection()
        self._channel = self._connection.channel()
        self._channel.basic_consume(QUEUE, False, lambda message: self.got.append(message.payload[0][0]), "tag")

    def drain(self, seconds: float = 0.02) -> None:
        """Take what comes within this time, and ask for the next message."""
        with suppress(TimeoutError):
            self._connection.drain_events(timeout=seconds)

    def ask(self, waiting: int) -> None:
        """Ask for a message; the broker then knows this number of workers that wait."""
        while self._broker.waiting() != waiting:
            self.drain()

    def close(self) -> None:
        self._channel.close()
        self._connection.release()


def message_of(run_id: str) -> bytes:
    return json.dumps(message_for_celery(TaskMessage(run_id, f"tag of {run_id}"), QUEUE)).encode()


def test_the_broker_gives_a_message_to_the_worker_that_has_waited_longest(broker: BrokerServer) -> None:
    """As where one worker drops what the other could do: it must not get the same message again and again."""
    unfit, fit = Asking(broker), Asking(broker)
    unfit.ask(1)
    fit.ask(2)
    broker.push(message_of("first"))
    while not unfit.got:
        unfit.drain()
    unfit.ask(2)
    unfit.drain(1.2)  # longer than kombu waits for a message by itself, after which it would ask anew
    broker.push(message_of("again"))
    while len(unfit.got + fit.got) < 2:
        unfit.drain()
        fit.drain()
    assert (unfit.got, fit.got) == (["first"], ["again"])
    unfit.close()
    fit.close()


def test_a_worker_that_ends_waits_for_no_message(broker: BrokerServer) -> None:
    worker = Asking(broker)
    worker.ask(1)
    with broker.hanging():  # kombu would wait until the broker counts as away, and fail
        worker.close()


def test_a_worker_that_ends_gives_back_the_message_that_has_just_come(broker: BrokerServer) -> None:
    worker = Asking(broker)
    worker.ask(1)
    broker.push(message_of("come"))
    worker.close()
    assert (worker.got, broker.depth(), broker.unacknowledged()) == (["come"], 1, 0)
