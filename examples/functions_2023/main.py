"""Calls as they were said in 2023: `functions` and `function_call`, to an endpoint that knows nothing newer."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

from actum import Agent
from actum.core.json import Json
from actum.events import RunResult

sys.path.insert(0, str(Path(__file__).parents[2]))  # so that it also runs as a file

from examples.functions_2023.model import script
from examples.local_services.chat import ChatService
from examples.local_services.client import ask
from examples.local_services.news import news_service
from examples.local_services.serving import serving
from examples.local_services.ways import FUNCTIONS, endpoint
from examples.local_services.weather import weather_service
from examples.own_model import own_model
from examples.watch import watch

QUESTIONS = ("What is the weather in Beijing, and what is the news there?", "And Shanghai?")


async def run(own: str = "") -> tuple[list[RunResult], ChatService]:
    """Ask both questions in one conversation. The endpoint answers a request that has `tools` in it with status 400.

    Args:
        own: a model of one's own, in the place of the script.
    """
    model = endpoint(script, FUNCTIONS)
    async with serving(weather_service(), news_service(), model.app) as (weather_url, news_url, model_url):

        async def get_current_weather(city: str) -> Json:
            """Get the weather of a city as it is now.

            Args:
                city: Name of the city.
            """
            return await ask(weather_url, "weather", city=city)

        async def get_news(city: str, count: int = 5) -> Json:
            """Get the latest headlines about a city.

            Args:
                city: Name of the city.
                count: How many headlines.
            """
            return await ask(news_url, "news", city=city, count=count)

        agent = Agent(
            own or f"{model_url}/v1#gpt-3.5-turbo-0613",
            tools=[get_current_weather, get_news],
            dialect="auto" if own else "openai_functions",
        )
        results = [await watch(agent, question, conversation="c1") for question in QUESTIONS]
    return results, model


def main(arguments: Sequence[str] | None = None) -> None:
    """Run it."""
    asyncio.run(run(own_model(__doc__, arguments)))


if __name__ == "__main__":
    main()
