"""Two steps that build on each other, and a required value that nobody gave: it becomes a question, never a guess."""

from __future__ import annotations

import asyncio
import datetime
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from actum import Agent
from actum.core.json import Json
from actum.events import RunResult

sys.path.insert(0, str(Path(__file__).parents[2]))  # so that it also runs as a file

from examples.local_services.client import ask
from examples.local_services.serving import serving
from examples.local_services.singers import singer_service
from examples.local_services.ways import PROMPT_JSON, endpoint
from examples.local_services.weather import weather_service
from examples.own_model import own_model
from examples.two_steps_missing_city.model import script, stubborn
from examples.watch import heading, watch

TWO_STEPS = "周杰伦生日那天台北的天气怎么样？"
NO_CITY = "今天天气怎么样？"
CITY = "深圳"


def tools(singer_url: str, weather_url: str) -> list[Callable[..., Awaitable[Json]]]:
    """The two tools, each of which asks a service."""

    async def birthday(singer: str) -> Json:
        """查询歌手的生日。

        Args:
            singer: 歌手的姓名。
        """
        return await ask(singer_url, "birthday", singer=singer)

    async def weather(city: str, date: datetime.date | None = None) -> Json:
        """查询城市某一天的天气。

        Args:
            city: 城市名，例如“北京”。
            date: 日期；不写就是今天。
        """
        return await ask(weather_url, "weather", city=city, date=date.isoformat() if date else "")

    return [birthday, weather]


async def converse(agent: Agent) -> list[RunResult]:
    """The two steps; then a question without a city, and the user's answer to what the model asks back."""
    return [
        await watch(agent, TWO_STEPS),
        await watch(agent, NO_CITY, conversation="today"),
        await watch(agent, CITY, conversation="today"),
    ]


async def run() -> list[RunResult]:
    """With a model that is driven by its prompt."""
    model = endpoint(script, PROMPT_JSON)
    async with serving(singer_service(), weather_service(), model.app) as (singer_url, weather_url, model_url):
        agent = Agent(f"{model_url}/v1#base-model", tools=tools(singer_url, weather_url), dialect="prompt_json")
        return await converse(agent)


async def run_stubborn() -> list[RunResult]:
    """With a model that does not ask: then the loop does. The run waits, for minutes or weeks, and is resumed."""
    model = endpoint(stubborn, PROMPT_JSON)
    async with serving(weather_service(), model.app) as (weather_url, model_url):
        agent = Agent(f"{model_url}/v1#base-model", tools=tools("", weather_url)[1:], dialect="prompt_json")
        paused = await watch(agent, NO_CITY)
        (question,) = paused.pending
        print(f"the user answers: {CITY}")
        done = await agent.resume(paused.run_id, {question.id: CITY})
        print(done.text)
    return [paused, done]


async def run_model(model: str = "embedded") -> list[RunResult]:
    """With a model that has no script: the one that ships with actum, or your own."""
    async with serving(singer_service(), weather_service()) as (singer_url, weather_url):
        return await converse(Agent(model, tools=tools(singer_url, weather_url)))


def main(arguments: Sequence[str] | None = None) -> None:
    """All three, one after the other; or a model of your own."""
    if own := own_model(__doc__, arguments):
        asyncio.run(run_model(own))
        return
    heading("A model driven by prompt JSON")
    asyncio.run(run())
    heading("A model that does not ask by itself")
    asyncio.run(run_stubborn())
    heading("The embedded model")
    asyncio.run(run_model())


if __name__ == "__main__":
    main()
