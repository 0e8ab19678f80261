"""ReAct in Chinese, and an argument by the wrong name: mended, and on record."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

from actum import Agent
from actum.core.json import Json
from actum.core.run.record import Intended
from actum.events import RunResult

sys.path.insert(0, str(Path(__file__).parents[2]))  # so that it also runs as a file

from examples.local_services.chat import ChatService
from examples.local_services.client import ask
from examples.local_services.serving import serving
from examples.local_services.travel import travel_service
from examples.local_services.ways import REACT, endpoint
from examples.own_model import own_model
from examples.react_route_zh.model import script
from examples.watch import heading, watch

QUESTION = "从东京去首尔需要护照吗？"


async def run(own: str = "") -> tuple[RunResult, list[Intended], ChatService]:
    """Ask, and read from the journal what the tools were really given; `own` is a model in the script's place."""
    model = endpoint(script, REACT)
    async with serving(travel_service(), model.app) as (travel_url, model_url):

        async def check_route(origin: str, dest: str) -> Json:
            """查询一段路程是否出境。

            Args:
                origin: 出发城市。
                dest: 到达城市。
            """
            return await ask(travel_url, "route", origin=origin, dest=dest)

        async def entry_requirements(country: str) -> Json:
            """查询一个国家的入境规定。

            Args:
                country: 国家名。
            """
            return await ask(travel_url, "entry", country=country)

        name, dialect = (own, "auto") if own else (f"{model_url}/v1#base-model", "react")
        agent = Agent(name, tools=[check_route, entry_requirements], dialect=dialect)
        result = await watch(agent, QUESTION)
        records = [entry.record for entry in await agent.journal.read(result.run_id)]
    return result, [record for record in records if isinstance(record, Intended)], model


def main(arguments: Sequence[str] | None = None) -> None:
    """Run it, then show what the journal has."""
    _, intents, _ = asyncio.run(run(own_model(__doc__, arguments)))
    heading("The journal: what each tool was given, and what was mended for it")
    for intent in intents:
        print(intent.tool, intent.arguments, *(f"  mended: {repair}" for repair in intent.repairs))


if __name__ == "__main__":
    main()
