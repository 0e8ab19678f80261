"""What reading a streamed call costs, in every API and the main text formats; part of `make bench`.

*floor*: 400 KB of arguments in pieces of 16 characters, each an event of its own, against the bare floor of the same
wire: split the events, decode each as JSON, take the piece out, append it. It is there twice, with the `json` of the
standard library, which is what is promised against, and with msgspec, the fastest there is. A text format comes in the
events of Chat Completions, which are its floor.

*characters*: 64 KB in pieces of one character, each fed alone.

*growth*: from 50 to 400 KB, beside those who parse the growing prefix again with each piece: `jiter` in partial mode,
and the streaming helper of the official OpenAI client with a strict tool.

CPU seconds of this process. All take turns in each round; medians, and medians of the ratios within a round.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from statistics import median
from typing import Any

import httpx2
import msgspec

from actum import Tool, ToolCall
from actum.core.event import TextDelta, joined
from actum.core.message import Reply
from actum.dialects import dialect

from .loop import Row
from .wires import CHAT, CHAT_TEXT, WIRES, Wire

NETWORK_BYTES = 16_384
"""So much comes at a time from a socket."""
PIECE = 16
TEXTS = ("hermes", "qwen3_coder", "llama_pythonic", "prompt_json", "react", "harmony")
TOOL = Tool(
    name="write",
    description="Write a text.",
    parameters={
        "type": "object",
        "properties": {"text": {"type": "string"}},
        "required": ["text"],
        "additionalProperties": False,
    },
)
SENTENCE = 'He said: "take {it} — or leave it", and\n\tleft. '
"""Quotes, brackets and line breaks, as text in arguments has them."""

Job = Callable[[], object]


def text_of(length: int) -> str:
    return (SENTENCE * (length // len(SENTENCE) + 1))[:length]


def arguments_of(length: int) -> str:
    return json.dumps({"text": text_of(length)}, ensure_ascii=False)


def cut(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


def events_of(wire: Wire, length: int, size: int = PIECE) -> list[bytes]:
    return wire.events(cut(text_of(length) if wire.plain else arguments_of(length), size))


def written(name: str, length: int) -> str:
    """What a model writes in a text format for the same call."""
    call = ToolCall("call_1", "write", {"text": text_of(length)}, raw=arguments_of(length))
    return str(dialect(name).encode_reply(Reply((call,))))


def network(events: list[bytes]) -> list[bytes]:
    stream = b"".join(events)
    return [stream[at : at + NETWORK_BYTES] for at in range(0, len(stream), NETWORK_BYTES)]


# Those who read.


def bare(decode: Callable[[bytes], Any], take: Callable[[Any], str | None], chunks: list[bytes]) -> str:
    """Split, decode, take, append."""
    pieces: list[str] = []
    rest = b""
    for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            if line.startswith(b"data: ") and line != b"data: [DONE]":
                piece = take(decode(line[6:]))
                if piece:
                    pieces.append(piece)
    return "".join(pieces)


def actum(name: str, chunks: Iterable[bytes | str]) -> Reply:
    """A dialect's decoder, which tells each piece as an event and gives the call in the end."""
    decoder = dialect(name).decoder(tools=(TOOL,))
    for chunk in chunks:
        decoder.feed(chunk)
    decoder.close()
    return decoder.reply


def actum_prompted(name: str, chunks: list[bytes]) -> Reply:
    """A text format in the events of an API, as the model behind it says it."""

    def pieces() -> Iterator[str]:
        outer = dialect("openai_chat").decoder()
        for chunk in chunks:
            for delta in joined(outer.feed(chunk)):
                if isinstance(delta, TextDelta):
                    yield delta.text

    return actum(name, pieces())


def jiter_partial(events: list[bytes]) -> str:
    """Append, and parse what there is by now."""
    import jiter

    source, value = b"", {"text": ""}
    for event in events:
        source += (CHAT.take(json.loads(event[6:])) or "").encode()
        value = jiter.from_json(source, partial_mode="trailing-strings") if source else value
    return value["text"]


def openai_helper(events: list[bytes]) -> str:
    """`chat.completions.stream` of the official client, which gives the arguments parsed so far with each event."""
    from openai import OpenAI

    function = {"name": TOOL.name, "strict": True, "parameters": TOOL.parameters}
    body = b"".join([*events, b"data: [DONE]\n\n"])
    answer = httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=body)
    http = httpx2.Client(transport=httpx2.MockTransport(lambda _: answer))
    asked: Any = {
        "messages": [{"role": "user", "content": "Write."}],
        "tools": [{"type": "function", "function": function}],
    }
    with (
        OpenAI(api_key="none", base_url="http://none/v1", http_client=http) as client,
        client.chat.completions.stream(model="m", **asked) as stream,
    ):
        for _ in stream:
            pass
        calls = stream.get_final_completion().choices[0].message.tool_calls or []
    return str(json.loads(calls[0].function.arguments)["text"])


# The tables.


def measure(jobs: dict[str, Job], rounds: int) -> dict[str, list[float]]:
    """CPU seconds of each job in each round, the jobs in turn."""
    spent: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(rounds):
        for name, job in jobs.items():
            began = time.process_time()
            job()
            spent[name].append(time.process_time() - began)
    return spent


def ratio(over: list[float], under: list[float]) -> float:
    return round(median(a / b for a, b in zip(over, under, strict=True)), 2)


def ms(seconds: list[float]) -> float:
    return round(median(seconds) * 1000, 1)


def floor_table(rounds: int, length: int = 400_000) -> list[Row]:
    rows: list[Row] = []
    jobs: dict[str, Job]
    for title, wire in WIRES.items():
        chunks = network(events_of(wire, length))
        check(actum(wire.dialect, chunks), length)
        jobs = {"actum": partial(actum, wire.dialect, chunks), **floors(wire, chunks)}
        rows.append(floor_row(title, measure(jobs, rounds)))
    for name in TEXTS:
        pieces = cut(written(name, length), PIECE)
        chunks = network(CHAT_TEXT.events(pieces))
        check(actum_prompted(name, chunks), length)
        jobs = {"actum": partial(actum_prompted, name, chunks), **floors(CHAT_TEXT, chunks)}
        rows.append(floor_row(name, measure({**jobs, "text alone": partial(actum, name, pieces)}, rounds)))
    return rows


def floors(wire: Wire, chunks: list[bytes]) -> dict[str, Job]:
    return {
        "bare": partial(bare, json.loads, wire.take, chunks),
        "bare with msgspec": partial(bare, msgspec.json.Decoder().decode, wire.take, chunks),
    }


def floor_row(title: str, spent: dict[str, list[float]]) -> Row:
    alone = spent.get("text alone")
    return {
        "400 KB by 16": title,
        "bare ms": ms(spent["bare"]),
        "actum ms": ms(spent["actum"]),
        "of it the text format": "" if alone is None else ms(alone),
        "actum × bare": ratio(spent["actum"], spent["bare"]),
        "× bare with msgspec": ratio(spent["actum"], spent["bare with msgspec"]),
    }


def check(reply: Reply, length: int) -> None:
    """What is measured is read right."""
    said = reply.calls[0].arguments["text"] if reply.calls else reply.text
    if said != text_of(length):
        raise AssertionError("a decoder reads the benchmark's call wrong")


def characters_table(rounds: int) -> list[Row]:
    rows: list[Row] = []
    sizes = (16_000, 64_000)
    for title in (*WIRES, *TEXTS):
        wire = WIRES.get(title)
        fed = {n: events_of(wire, n, 1) if wire else cut(written(title, n), 1) for n in sizes}
        name = wire.dialect if wire else title
        spent = measure({str(n): partial(actum, name, pieces) for n, pieces in fed.items()}, rounds)
        small, large = spent.values()
        rows.append(
            {
                "in single characters": title,
                "16 KB ms": ms(small),
                "64 KB ms": ms(large),
                "growth, 4 is linear": ratio(large, small),
            }
        )
    return rows


def growth_table(rounds: int) -> list[Row]:
    events = {length: events_of(CHAT, length) for length in (50_000, 400_000)}
    readers: dict[str, tuple[Callable[[list[bytes]], object], int]] = {
        "bare": (partial(bare, json.loads, CHAT.take), rounds),
        "actum": (partial(actum, "openai_chat"), rounds),
        "jiter, partial": (jiter_partial, 1),
        "openai's helper": (openai_helper, 1),
    }
    for read, _ in readers.values():
        read(events_of(CHAT, 1_000))  # first runs compile and import
    spent = {
        who: measure({str(length): partial(read, found) for length, found in events.items()}, times)
        for who, (read, times) in readers.items()
    }
    return [
        {
            "who": who,
            "50 KB ms": ms(found["50000"]),
            "400 KB ms": ms(found["400000"]),
            "growth, 8 is linear": round(median(found["400000"]) / median(found["50000"]), 1),
            "× bare at 400 KB": round(median(found["400000"]) / median(spent["bare"]["400000"]), 2),
        }
        for who, found in spent.items()
    ]
