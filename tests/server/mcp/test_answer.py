"""One HTTP answer: JSON, or a stream."""

from __future__ import annotations

import asyncio
import json
from collections.abc import MutableMapping
from typing import Any

from actum.core.json import JsonObject
from actum.server.mcp.answer import PIECE_BYTES, HttpAnswer, Outbox

ONE: JsonObject = {"n": 1}
TWO: JsonObject = {"n": 2}
Sent = MutableMapping[str, Any]


class Line:
    """An ASGI server's side: what was sent, and a client that reads and hangs up when it is told to."""

    def __init__(self, *, is_cut: bool = False) -> None:
        self.sent: list[Sent] = []
        self.heard = asyncio.Event()
        self.hung_up = asyncio.Event()
        self.reads = asyncio.Event()
        self.reads.set()
        self._is_cut = is_cut

    async def receive(self) -> Sent:
        await self.hung_up.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Sent) -> None:
        if self._is_cut:
            raise OSError
        self.heard.set()
        await self.reads.wait()
        self.sent.append(message)

    def answer(self, opens_after_s: float = 15.0) -> HttpAnswer:
        return HttpAnswer(self.receive, self.send, headers=((b"x-own", b"1"),), opens_after_s=opens_after_s)

    @property
    def start(self) -> tuple[int, dict[bytes, bytes]]:
        return self.sent[0]["status"], dict(self.sent[0]["headers"])

    @property
    def body(self) -> bytes:
        return b"".join(message["body"] for message in self.sent[1:])


async def test_a_result_that_is_all_there_is_to_say_is_json_with_its_status() -> None:
    line = Line()
    await line.answer().end(ONE, 404)
    status, headers = line.start
    assert (status, headers[b"content-type"], headers[b"x-own"]) == (404, b"application/json", b"1")
    assert line.body == b'{"n":1}'
    assert headers[b"content-length"] == b"7"


async def test_what_is_told_ahead_of_the_result_opens_a_stream() -> None:
    line = Line()
    answer = line.answer()
    await answer.tell(ONE)
    await answer.end(TWO, 404)
    status, headers = line.start
    assert (status, headers[b"content-type"], headers[b"x-own"]) == (200, b"text/event-stream", b"1")
    assert line.body == b'event: message\r\ndata: {"n":1}\r\n\r\nevent: message\r\ndata: {"n":2}\r\n\r\n'
    assert [message.get("more_body") for message in line.sent[1:]] == [True, False]


async def test_nothing_is_told_after_the_end() -> None:
    line = Line()
    answer = line.answer()
    await answer.end(ONE)
    await answer.tell(TWO)
    assert line.body == b'{"n":1}'


async def test_a_client_that_waits_is_given_a_stream_lest_it_take_silence_for_the_end() -> None:
    line = Line()
    answer = line.answer(opens_after_s=0.0)
    answer.attend(lambda: None)
    await line.heard.wait()
    await answer.end(ONE)
    answer.leave()
    assert line.body.startswith(b": ping\r\n\r\n")
    assert line.body.endswith(b'data: {"n":1}\r\n\r\n')


async def test_a_client_that_hangs_up_is_noticed_and_told_nothing_more() -> None:
    line, gone = Line(), asyncio.Event()
    answer = line.answer()
    answer.attend(gone.set)
    line.hung_up.set()
    await gone.wait()
    await answer.tell(ONE)
    assert answer.is_over
    assert line.sent == []


async def test_a_line_that_is_cut_is_the_clients_going() -> None:
    answer = Line(is_cut=True).answer()
    await answer.tell(ONE)
    assert answer.is_over
    refused = Line(is_cut=True).answer()
    await refused.end(ONE, 400)
    assert refused.is_over


async def test_a_sign_of_life_that_a_slow_reader_never_got_began_no_stream() -> None:
    line = Line()
    line.reads.clear()
    answer = line.answer(opens_after_s=0.0)
    answer.attend(lambda: None)
    await line.heard.wait()
    answer.leave()
    line.reads.set()
    await answer.end(ONE, 404)
    assert line.start[0] == 404
    assert line.body == b'{"n":1}'


async def test_a_stream_stays_until_it_is_left() -> None:
    line = Line()
    answer = line.answer()
    staying = asyncio.create_task(answer.stay())
    await line.heard.wait()
    await answer.tell(ONE)
    answer.leave()
    await staying
    assert line.sent[-1] == {"type": "http.response.body", "body": b"", "more_body": False}


async def test_a_stream_stays_until_the_client_hangs_up() -> None:
    line = Line()
    answer = line.answer()
    staying = asyncio.create_task(answer.stay())
    line.hung_up.set()
    await staying
    assert answer.is_over


LONG: JsonObject = {"n": "x" * (4 * PIECE_BYTES)}


async def test_a_long_answer_comes_in_pieces_and_whole() -> None:
    line = Line()
    await line.answer().end(LONG)
    assert json.loads(line.body) == LONG
    assert max(len(message["body"]) for message in line.sent[1:]) == PIECE_BYTES
    assert [message["more_body"] for message in line.sent[1:]] == [True] * (len(line.sent) - 2) + [False]


async def test_slow_readers_keep_no_more_than_is_set_aside_for_them_and_the_slowest_is_cut() -> None:
    size = len(json.dumps(LONG))
    outbox, lines = Outbox(3 * size), [Line() for _ in range(8)]
    for line in lines:
        line.reads.clear()
    answers = [HttpAnswer(line.receive, line.send, outbox=outbox) for line in lines]
    sending: list[asyncio.Task[None]] = []
    for line, answer in zip(lines, answers, strict=True):
        line.reads.set()  # the headers
        sending.append(asyncio.create_task(answer.end(LONG)))
        await line.heard.wait()
        line.reads.clear()
        await asyncio.sleep(0)
        assert outbox.size <= 3 * size
    done, _ = await asyncio.wait(sending[:5])
    assert all(answer.is_over for answer in answers[:5]), "those that took nothing for the longest time"
    assert len(done) == 5
    for line in lines:
        line.reads.set()
    await asyncio.gather(*sending)
    assert [json.loads(line.body) == LONG if number >= 5 else None for number, line in enumerate(lines)][5:] == [
        True
    ] * 3
    assert outbox.size == 0
