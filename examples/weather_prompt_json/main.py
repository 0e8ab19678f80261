"""Weather by prompt JSON: a model that was never taught to call tools is told in its prompt how to ask for one."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

from actum import Agent
from actum.core.json import Json
from actum.events import RunResult

sys.path.insert(0, str(Path(__file__).parents[2]))  # so that it also runs as a file

from examples.local_services.chat import ChatService
from examples.local_services.client import ask
from examples.local_services.serving import serving
from examples.local_services.ways import PROMPT_JSON, endpoint
from examples.local_services.weather import weather_service
from examples.own_model import own_model
from examples.watch import heading, watch
from examples.weather_prompt_json.model import script

QUESTION = "今天北京的天气怎么样？"


async def run(question: str = QUESTION, dialect: str = "prompt_json", own: str = "") -> tuple[RunResult, ChatService]:
    """Ask, and show what happens. The endpoint answers a request that has `tools` in it with status 400.

    Args:
        question: what the user asks.
        dialect: how the script says its call.
        own: a model of one's own, in the place of the script.
    """
    model = endpoint(script, PROMPT_JSON)
    async with serving(weather_service(), model.app) as (weather_url, model_url):

        async def weather(city: str) -> Json:
            """查询一个城市今天的天气。

            Args:
                city: 城市名，例如“北京”。
            """
            return await ask(weather_url, "weather", city=city)

        agent = Agent(
            own or f"{model_url}/v1#base-model",
            tools=[weather],
            instructions="你是一个天气助手，回答要简短。",
            dialect="auto" if own else dialect,
        )
        result = await watch(agent, question)
    return result, model


def main(arguments: Sequence[str] | None = None) -> None:
    """Run it, then show the system prompt that was made of the tool."""
    own = own_model(__doc__, arguments)
    _, model = asyncio.run(run(own=own))
    if not own:
        heading("The system prompt that the model was given")
        print(model.asked()[0].messages[0].text)


if __name__ == "__main__":
    main()
