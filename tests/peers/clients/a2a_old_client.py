"""The SDK of 0.2 or 0.3 as a client: sends and streams at an address. What it prints is read by a test."""

import asyncio
import json
import sys

import httpx
from a2a.client import A2ACardResolver, A2AClient
from a2a.types import MessageSendParams, SendMessageRequest, SendStreamingMessageRequest


def params(id, text):
    message = {"messageId": id, "role": "user", "parts": [{"kind": "text", "text": text}], "kind": "message"}
    return MessageSendParams(message=message)


async def main(url):
    async with httpx.AsyncClient(timeout=240) as http:
        card = await A2ACardResolver(http, url).get_agent_card()
        client = A2AClient(http, card)
        sent = await client.send_message(SendMessageRequest(id="1", params=params("py-1", "Hi")))
        told = {"url": card.url, "sent": sent.model_dump(mode="json", by_alias=True, exclude_none=True), "kinds": []}
        stream = client.send_message_streaming(SendStreamingMessageRequest(id="2", params=params("py-2", "Stream")))
        async for event in stream:
            told["kinds"].append(event.model_dump(mode="json", by_alias=True, exclude_none=True)["result"]["kind"])
        print(json.dumps(told))


asyncio.run(main(sys.argv[1]))
