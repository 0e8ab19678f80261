"""A chat-completions server for benchmarks, in a process of its own: asks for `add` as often as the question says, by
the API or, with `as=` and a text dialect, in its text.

The smallest thing that speaks the wire format, so that what is measured is the client. It counts the results in the
request; it does not parse it.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys

LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
STEPS = re.compile(rb"steps=(\d+)")
ANSWERED = re.compile(rb'"role": ?"tool"')
TEXT = re.compile(rb"as=(\w+)")
TEXTS: dict[bytes, tuple[re.Pattern[bytes], str]] = {
    b"prompt_json": (re.compile(rb"<result tool="), '{"tool": "add", "params": %s}'),
    b"hermes": (re.compile(rb"\\n</tool_response>"), '<tool_call>\n{"name": "add", "arguments": %s}\n</tool_call>'),
    b"react": (re.compile(rb"nObservation: \d"), "Thought: I add.\nAction: add\nAction Input: %s"),
}
"""How results stand in a request, and how a call is said."""


def reply(body: bytes) -> bytes:
    wanted, text = STEPS.search(body), TEXT.search(body)
    answered, said = TEXTS[text[1]] if text else (ANSWERED, "")
    done = len(answered.findall(body))
    message: dict[str, object] = {"role": "assistant", "content": "done"}
    if wanted and done < int(wanted.group(1)):
        arguments = json.dumps({"a": done, "b": 1})
        function = {"name": "add", "arguments": arguments}
        message = (
            {
                "role": "assistant",
                "content": said % arguments,
            }
            if said
            else {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": f"c{done}", "type": "function", "function": function}],
            }
        )
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    whole = {
        "id": "x",
        "object": "chat.completion",
        "created": 0,
        "model": "bench",
        "choices": [choice],
        "usage": usage,
    }
    return json.dumps(whole).encode()


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while True:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError:
            break
        length = LENGTH.search(head)
        body = await reader.readexactly(int(length.group(1))) if length else b""
        answer = reply(body)
        writer.write(
            b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(answer) + answer
        )
        await writer.drain()
    writer.close()


async def main() -> None:
    server = await asyncio.start_server(serve, "127.0.0.1", 0, limit=1 << 26)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)  # until whoever started it is gone


if __name__ == "__main__":
    asyncio.run(main())
