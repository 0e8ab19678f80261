"""openai-agents as a client of our gateway, run by the Python it is installed in. It prints what it heard.

python gateway_openai_agents.py http://127.0.0.1:8000/v1 KEY
"""

import asyncio
import json
import sys

from agents import (
    Agent,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    Runner,
    function_tool,
    set_tracing_disabled,
)
from openai import AsyncOpenAI, NotFoundError
from pydantic import BaseModel


class Sum(BaseModel):
    """A sum."""

    value: int


@function_tool
def double(number: int) -> int:
    """Double a number."""
    return 2 * number


async def answer(agent, said, *, streamed):
    """What the agent says, and the conversation behind it."""
    if not streamed:
        result = await Runner.run(agent, said)
    else:
        result = Runner.run_streamed(agent, said)
        async for _ in result.stream_events():
            pass
    return result.final_output, result.to_input_list()


async def main(url, key):
    """Ask in all ways."""
    set_tracing_disabled(True)
    heard = {}
    async with AsyncOpenAI(base_url=url, api_key=key, max_retries=0) as client:
        for way, kind in (("chat", OpenAIChatCompletionsModel), ("responses", OpenAIResponsesModel)):
            agent = Agent(name="peer", model=kind(model="desk", openai_client=client), tools=[double])
            for streamed in (False, True):
                said = [{"role": "user", "content": "What is 2 + 3, doubled?"}]
                first, said = await answer(agent, said, streamed=streamed)
                said.append({"role": "user", "content": "Sure?"})
                second, _ = await answer(agent, said, streamed=streamed)
                heard[f"{way} {streamed}"] = [first, second]
        model = OpenAIChatCompletionsModel(model="fast", openai_client=client)
        structured = await Runner.run(Agent(name="peer", model=model, output_type=Sum), "What is 2 + 3?")
        heard["structured"] = structured.final_output.value
        try:
            await Runner.run(Agent(name="peer", model=OpenAIResponsesModel(model="dusk", openai_client=client)), "Hi")
        except NotFoundError as error:
            heard["error"] = str(error)
    print(json.dumps(heard))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
