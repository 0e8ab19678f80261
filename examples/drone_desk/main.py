"""The drone desk: four calls in one turn, a blank city that is asked for, and an answer about another drone that is not
passed off. In each of the four ways in which a model may say a call, and with the embedded model."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from actum import Agent
from actum.core.json import Json
from actum.events import RunResult

sys.path.insert(0, str(Path(__file__).parents[2]))  # so that it also runs as a file

from examples.drone_desk.desk import desk
from examples.drone_desk.model import script
from examples.local_services.drones import drone_service
from examples.local_services.pages import page_service
from examples.local_services.serving import serving
from examples.local_services.ways import FUNCTIONS, NATIVE, PROMPT_JSON, REACT, Way, endpoint
from examples.local_services.weather import weather_service
from examples.own_model import own_model
from examples.watch import heading, watch

WAYS = (NATIVE, FUNCTIONS, PROMPT_JSON, REACT)
QUESTION = "无人机1001的状态，天气怎么样，什么是无人机，它的飞控是什么？先搜索再回答。"
CITY = "上海"


@asynccontextmanager
async def opened(*lost: str) -> AsyncIterator[list[Callable[..., Awaitable[Json]]]]:
    """The desk's tools, with their services running; `lost` are drones that the drone service has lost sight of."""
    async with serving(drone_service(*lost), weather_service(), page_service()) as urls:
        yield desk(*urls)


async def run(way: Way) -> list[RunResult]:
    """Ask, and answer what is asked back."""
    async with opened() as tools, serving(endpoint(script, way).app) as (model_url,):
        agent = Agent(f"{model_url}/v1#model", tools=tools, dialect=way.dialect)
        return [await watch(agent, said, conversation="desk") for said in (QUESTION, CITY)]


async def run_mixed_up(way: Way) -> RunResult:
    """Ask while the drone service has lost sight of 1001. It answers about 101 instead, and does not say so."""
    async with opened("1001") as tools, serving(endpoint(script, way).app) as (model_url,):
        return await watch(Agent(f"{model_url}/v1#model", tools=tools, dialect=way.dialect), QUESTION)


async def run_model(*lost: str, model: str = "embedded") -> list[RunResult]:
    """Ask a model that has no script: the one that ships with actum, or your own."""
    async with opened(*lost) as tools:
        agent = Agent(model, tools=tools)
        return [await watch(agent, said, conversation="desk") for said in (QUESTION, CITY)]


async def everything() -> None:
    """All ways, one after the other."""
    for way in WAYS:
        heading(f"Said by {way.dialect}")
        await run(way)
    heading("The service answers about another drone")
    await run_mixed_up(NATIVE)
    heading("The embedded model")
    await run_model()


def main(arguments: Sequence[str] | None = None) -> None:
    """Run it."""
    own = own_model(__doc__, arguments)
    asyncio.run(run_model(model=own) if own else everything())


if __name__ == "__main__":
    main()
