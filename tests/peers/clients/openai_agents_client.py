"""An agent of openai-agents with our server as its tools, run by the Python it is installed in. Its model is at an
address: a chat-completions endpoint. It prints the answer.

    python openai_agents_client.py '{"url": "http://..."}' http://127.0.0.1:1/v1 'What is 2 + 3?'
"""

import asyncio
import json
import sys

from agents import Agent, OpenAIChatCompletionsModel, Runner, set_tracing_disabled
from agents.mcp import MCPServerSse, MCPServerStdio, MCPServerStreamableHttp
from openai import AsyncOpenAI


def server(target):
    """The server as that library knows it."""
    if "command" in target:
        return MCPServerStdio(params=target)
    way = MCPServerSse if target.get("transport") == "sse" else MCPServerStreamableHttp
    return way(params={"url": target["url"]})


async def main(target, model_url, question):
    """Ask the agent once."""
    set_tracing_disabled(True)
    async with server(target) as tools, AsyncOpenAI(base_url=model_url, api_key="x", max_retries=0) as client:
        model = OpenAIChatCompletionsModel(model="m", openai_client=client)
        agent = Agent(name="peer", model=model, mcp_servers=[tools])
        print(json.dumps({"text": (await Runner.run(agent, question)).final_output}))


if __name__ == "__main__":
    asyncio.run(main(json.loads(sys.argv[1]), *sys.argv[2:]))
