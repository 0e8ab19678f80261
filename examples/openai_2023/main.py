"""A program on openai==0.28, unmodified, at the address of `actum serve`, with a model of today behind it.

The program says its functions as `functions` and `function_call`. The endpoint of the model knows only what came after
(`tools`), and refuses a request with `functions` in it. Between the two is an agent: the functions are its client's own
tools, and each question is a run on record.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # so that it also runs as a file

from examples.functions_2023.model import script
from examples.local_services.chat import ChatService
from examples.local_services.clients import python_with_openai_0
from examples.local_services.gateway import calls_on_record, gateway
from examples.local_services.news import news_service
from examples.local_services.serving import serving
from examples.local_services.ways import NATIVE, endpoint
from examples.local_services.weather import weather_service
from examples.own_model import own_model
from examples.watch import heading

PROGRAM = Path(__file__).with_name("program.py")
SETTINGS = """
model = "{model}"
dialect = "{dialect}"

[agents.desk]

[models."gpt-3.5-*"]
agent = "desk"
"""


def ask(base_url: str, weather_url: str, news_url: str) -> str:
    """Run the program in an environment that has openai 0.28; what it prints."""
    environment = {
        **os.environ,
        "OPENAI_API_BASE": base_url,
        "OPENAI_API_KEY": "any",
        "WEATHER_URL": weather_url,
        "NEWS_URL": news_url,
    }
    command = [str(python_with_openai_0()), str(PROGRAM)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=60)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return done.stdout.strip()


async def run(folder: Path, own: str = "") -> tuple[str, list[str], ChatService]:
    """Run the program.

    Args:
        folder: for the settings and the journal.
        own: a model of one's own, in the place of the script.

    Returns:
        What the program printed, the calls on record, and the endpoint of the model.
    """
    model = endpoint(script, NATIVE)
    async with serving(weather_service(), news_service(), model.app) as (weather_url, news_url, model_url):
        settings = SETTINGS.format(
            model=own or f"{model_url}/v1#model-of-today", dialect="auto" if own else "openai_chat"
        )
        with gateway(folder, settings) as url:
            said = await asyncio.to_thread(ask, f"{url}/v1", weather_url, news_url)
    print(said)
    heading("The calls of both runs, on record")
    calls = await calls_on_record(folder)
    print("\n".join(calls))
    return said, calls, model


def main(arguments: Sequence[str] | None = None) -> None:
    """Run it."""
    own = own_model(__doc__, arguments)
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(run(Path(folder), own))


if __name__ == "__main__":
    main()
