"""A native call to the last byte: what has to go over the wire stands in `wire/`, and is compared with what does."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from actum import Agent
from actum.core.json import Json
from actum.events import RunResult

sys.path.insert(0, str(Path(__file__).parents[2]))  # so that it also runs as a file

from examples.local_services.chat import ChatService, WireRequest
from examples.local_services.client import ask
from examples.local_services.serving import serving
from examples.local_services.weather import weather_service
from examples.watch import heading

QUESTION = "What is the weather in Boston?"
WIRE = Path(__file__).parent / "wire"


def recorded(name: str) -> bytes:
    """The bytes of a file in `wire/`."""
    return (WIRE / name).read_bytes()


def script(request: WireRequest) -> bytes:
    """The recorded call to the question, the recorded answer to its result."""
    return recorded("2_response.json" if request.messages[-1].role == "tool" else "1_response.json")


async def run() -> tuple[RunResult, ChatService]:
    """Ask, with nobody watching, so that nothing is streamed."""
    model = ChatService(script)
    async with serving(weather_service(), model.app) as (weather_url, model_url):

        async def get_weather(location: str) -> Json:
            """Get the current weather.

            Args:
                location: The city.
            """
            return await ask(weather_url, "weather", city=location)

        agent = Agent(f"{model_url}/v1#gpt-4", tools=[get_weather], dialect="openai_chat")
        result = await agent.run(QUESTION)
    return result, model


def main() -> None:
    """Run it, and show what went over the wire."""
    result, model = asyncio.run(run())
    for number, sent in enumerate(model.requests, 1):
        heading(f"Request {number}")
        print(sent.decode())
        print("the same as in the file" if sent == recorded(f"{number}_request.json") else "NOT AS IN THE FILE")
        heading(f"Response {number}")
        print(recorded(f"{number}_response.json").decode())
    heading("The answer")
    print(result.text)


if __name__ == "__main__":
    main()
