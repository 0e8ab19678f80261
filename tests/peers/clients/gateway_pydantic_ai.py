"""pydantic-ai as a client of our gateway, run by the Python it is installed in. It prints what it heard.

python gateway_pydantic_ai.py http://127.0.0.1:8000/v1 KEY
"""

import asyncio
import json
import sys

from pydantic import BaseModel
from pydantic_ai import Agent, NativeOutput
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider


class Sum(BaseModel):
    """A sum."""

    value: int


def double(number: int) -> int:
    """Double a number."""
    return 2 * number


async def answer(agent, question, history, *, streamed):
    """What the agent says, and the conversation behind it."""
    if not streamed:
        result = await agent.run(question, message_history=history)
        return result.output, result.all_messages()
    async with agent.run_stream(question, message_history=history) as result:
        return await result.get_output(), result.all_messages()


async def main(url, key):
    """Ask in all ways."""
    provider = OpenAIProvider(base_url=url, api_key=key)
    heard = {}
    for way, kind in (("chat", OpenAIChatModel), ("responses", OpenAIResponsesModel)):
        agent = Agent(kind("desk", provider=provider), tools=[double])
        for streamed in (False, True):
            first, said = await answer(agent, "What is 2 + 3, doubled?", None, streamed=streamed)
            second, _ = await answer(agent, "Sure?", said, streamed=streamed)
            heard[f"{way} {streamed}"] = [first, second]
    structured = Agent(OpenAIChatModel("fast", provider=provider), output_type=NativeOutput(Sum))
    heard["structured"] = (await structured.run("What is 2 + 3?")).output.value
    try:
        await Agent(OpenAIResponsesModel("dusk", provider=provider)).run("Hi")
    except ModelHTTPError as error:
        heard["error"] = str(error)
    print(json.dumps(heard))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
