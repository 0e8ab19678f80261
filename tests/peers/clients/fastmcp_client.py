"""FastMCP's client, run by the Python it is installed in: it lists the tools, calls one, and prints what it saw.

    python fastmcp_client.py '{"url": "http://..."}' add '{"a": 2, "b": 3}' auto

It can make several calls, one after the other by one client, and in each of several modes, with commas between them; it
prints a list then. One program and few clients, since a program and a server by stdio take long to load:

    python fastmcp_client.py '{"url": "http://..."}' '[["add", {"a": 2, "b": 3}], ["think", {}]]' auto,legacy

It gives the answers to whatever the server asks back: to an elicitation the values of `{"yes": true}`, to a sampling
request a sentence, and it writes down progress.
"""

import asyncio
import json
import sys

from fastmcp import Client
from fastmcp.client.transports import SSETransport, StdioTransport, StreamableHttpTransport


def transport(target):
    """The way to the server: a command, an address, or an address of old SSE."""
    if "command" in target:
        return StdioTransport(command=target["command"], args=target["args"], env=target.get("env"))
    way = SSETransport if target.get("transport") == "sse" else StreamableHttpTransport
    return way(target["url"])


async def talk(target, calls, mode):
    """Talk to the server; what is seen of each call."""
    found = []

    async def progress(done, total, message):
        found[-1]["progress"].append([done, total, message])

    async def elicit(message, response_type, params, context):
        found[-1]["asked"].append(message)
        return {"yes": True}

    async def sample(messages, params, context):
        found[-1]["asked"].append(messages[-1].content.text)
        return "A sampled sentence."

    client = Client(
        transport(target), mode=mode, progress_handler=progress, elicitation_handler=elicit, sampling_handler=sample
    )
    async with client:
        for name, arguments in calls:
            seen = {"progress": [], "asked": []}
            found.append(seen)
            seen["tools"] = [tool.name for tool in await client.list_tools()]
            result = await client.call_tool(name, arguments, raise_on_error=False)
            seen["error"] = result.is_error
            seen["text"] = "".join(getattr(block, "text", "") for block in result.content)
            seen["structured"] = result.structured_content
            seen["prompts"] = [prompt.name for prompt in await client.list_prompts()]
            seen["resources"] = [str(resource.uri) for resource in await client.list_resources()]
    return found


async def main(target, *name, arguments, modes):
    if name:
        (seen,) = await talk(target, [(*name, arguments)], modes)
        return seen
    return [seen for mode in modes.split(",") for seen in await talk(target, arguments, mode)]


if __name__ == "__main__":
    target, *name, arguments, modes = sys.argv[1:]
    print(json.dumps(asyncio.run(main(json.loads(target), *name, arguments=json.loads(arguments), modes=modes))))
