"""a2a-cli as a client: sends, streams and gets by the methods of April 2025. What it prints is read by a test."""

import asyncio
import json
import sys

from a2a_cli.a2a_client import A2AClient
from a2a_json_rpc.spec import Message, Role, TaskQueryParams, TaskSendParams, TextPart


def params(id, text):
    message = Message(role=Role.user, parts=[TextPart(type="text", text=text)])
    return TaskSendParams(id=id, session_id="s", message=message)


async def main(url):
    client = A2AClient.over_http(url)
    told = {"streamed": []}
    try:
        told["sent"] = (await client.send_task(params("cli-1", "Hi"))).model_dump(mode="json")
        told["got"] = (await client.get_task(TaskQueryParams(id="cli-1"))).model_dump(mode="json")
        async for event in client.send_subscribe(params("cli-2", "Stream")):
            told["streamed"].append(event if isinstance(event, dict) else event.model_dump(mode="json"))
            if told["streamed"][-1].get("final"):
                break
    except Exception as error:
        told["error"] = f"{type(error).__name__}: {error}"
    print(json.dumps(told))


asyncio.run(main(sys.argv[1]))
