"""What reading a streamed call costs; part of `make bench`.

One call with arguments of 100 and 400 KB in pieces of 16 bytes, each an event of its own. The floor parses the events
and appends the pieces, and looks at nothing.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable

from actum.dialects import dialect

from .loop import Row

NETWORK_BYTES = 16_384
"""So much comes at a time from a socket."""


def wire(length: int) -> bytes:
    """The event stream of an answer with one call whose arguments have so many characters."""
    arguments = json.dumps({"text": "x" * (length - 12)})
    pieces = [arguments[at : at + 16] for at in range(0, length, 16)]
    events = [_event({"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "write", "arguments": ""}}]})]
    events += [_event({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]}) for piece in pieces]
    return b"".join([*events, _event({}, "tool_calls"), b"data: [DONE]\n\n"])


def _event(delta: dict[str, object], finish_reason: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return b"data: %b\n\n" % json.dumps({"id": "x", "model": "m", "choices": [choice]}).encode()


def bare(chunks: list[bytes]) -> int:
    """Parse and append."""
    pieces: list[str] = []
    rest = b""
    for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            if line.startswith(b"data: ") and line != b"data: [DONE]":
                delta = json.loads(line[6:])["choices"][0]["delta"]
                pieces += [call["function"]["arguments"] for call in delta.get("tool_calls") or ()]
    return len(json.loads("".join(pieces))["text"])


def actum(chunks: list[bytes]) -> int:
    """The dialect's decoder, which tells each piece as an event and gives the call in the end."""
    decoder = dialect("openai_chat").decoder()
    for chunk in chunks:
        decoder.feed(chunk)
    decoder.close()
    return len(str(decoder.reply.calls[0].arguments["text"]))


def stream_table(rounds: int) -> list[Row]:
    rows = []
    for length in (100_000, 400_000):
        stream = wire(length)
        chunks = [stream[at : at + NETWORK_BYTES] for at in range(0, len(stream), NETWORK_BYTES)]
        spent = {"bare": _best(bare, chunks, rounds), "actum": _best(actum, chunks, rounds)}
        figures: Row = {f"{name} ms": round(seconds * 1000, 1) for name, seconds in spent.items()}
        rows.append({"bytes of arguments": length, **figures, "actum × bare": round(spent["actum"] / spent["bare"], 2)})
    return rows


def _best(read: Callable[[list[bytes]], int], chunks: list[bytes], rounds: int) -> float:
    times = []
    for _ in range(rounds):
        began = time.process_time()
        read(chunks)
        times.append(time.process_time() - began)
    return min(times)
