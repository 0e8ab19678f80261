"""An agent of pydantic-ai with our server as its tools, run by the Python it is installed in. Its model is at an
address: a chat-completions endpoint. It prints the answer.

    python pydantic_ai_client.py '{"url": "http://..."}' http://127.0.0.1:1/v1 'What is 2 + 3?'
"""

import asyncio
import json
import sys

from fastmcp.client.transports import SSETransport, StdioTransport, StreamableHttpTransport
from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider


def toolset(target):
    """The server as that library knows it."""
    if "command" in target:
        return MCPToolset(StdioTransport(command=target["command"], args=target["args"], env=target.get("env")))
    way = SSETransport if target.get("transport") == "sse" else StreamableHttpTransport
    return MCPToolset(way(target["url"]))


async def main(target, model_url, question):
    """Ask the agent once."""
    model = OpenAIChatModel("m", provider=OpenAIProvider(base_url=model_url, api_key="x"))
    agent = Agent(model, toolsets=[toolset(target)])
    async with agent:
        print(json.dumps({"text": (await agent.run(question)).output}))


if __name__ == "__main__":
    asyncio.run(main(json.loads(sys.argv[1]), *sys.argv[2:]))
