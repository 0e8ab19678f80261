"""fasta2a as a client: sends, streams and gets at an address. What it prints is read by a test."""

import asyncio
import json
import sys

from fasta2a.client import A2AClient


def message(id, text):
    return {"role": "user", "kind": "message", "message_id": id, "parts": [{"kind": "text", "text": text}]}


async def main(url):
    client = A2AClient(url)
    told = {}
    for what in ("sent", "streamed", "got"):
        try:
            if what == "sent":
                told[what] = await client.send_message(message("f-1", "Hi"))
            elif what == "streamed":
                told[what] = [event async for event in client.stream_message(message("f-2", "Stream"))]
            else:
                task = told["sent"]["result"]
                told[what] = await client.get_task((task.get("task") or task)["id"])
        except Exception as error:
            told[what] = f"{type(error).__name__}: {error}"
    print(json.dumps(told, default=str))


asyncio.run(main(sys.argv[1]))
