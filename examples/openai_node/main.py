"""A program in Node.js, written for OpenAI, at the address of `actum serve`: nothing in the program is changed.

The program asks twice. As `gpt-4o` its requests are passed on to the endpoint of a model. As `desk` an agent answers: a
tool of the agent runs on the server, the program makes its own call, and the run is on record.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # so that it also runs as a file

from examples.local_services.clients import node_with_openai
from examples.local_services.gateway import calls_on_record, gateway
from examples.local_services.serving import serving
from examples.local_services.ways import NATIVE, endpoint
from examples.local_services.weather import weather_service
from examples.openai_node.model import script, script_with_air
from examples.own_model import own_model
from examples.watch import heading

HERE = Path(__file__).parent
SETTINGS = """
model = "{desk}"
dialect = "{dialect}"

[models.gpt-4o]
upstreams = ["{upstream}"]

[agents.desk]
tools = ["tools.py"]
"""


def ask(model: str, base_url: str, weather_url: str) -> str:
    """Run the program.

    Args:
        model: the model that the program asks for.
        base_url: where the program finds OpenAI's API.
        weather_url: where the program asks for the weather.

    Returns:
        What the program prints.
    """
    node, packages = node_with_openai()
    environment = {
        **os.environ,
        "NODE_PATH": str(packages),
        "OPENAI_BASE_URL": base_url,
        "OPENAI_API_KEY": "any",
        "WEATHER_URL": weather_url,
    }
    command = [str(node), str(HERE / "weather.cjs"), model]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=60)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return done.stdout.strip()


async def run(folder: Path, own: str = "") -> tuple[list[str], list[str]]:
    """Run the program with both models.

    Args:
        folder: for the settings and the journal.
        own: a model of one's own, in the place of the script.

    Returns:
        What the program printed each time, and what the record of the agent's run says of its calls.
    """
    shutil.copy(HERE / "tools.py", folder)
    plain, with_air = endpoint(script, NATIVE), endpoint(script_with_air, NATIVE)
    async with serving(weather_service(), plain.app, with_air.app) as (weather_url, plain_url, air_url):
        settings = SETTINGS.format(
            upstream=own or f"{plain_url}/v1#gpt-4o",
            desk=own or f"{air_url}/v1#gpt-4o",
            dialect="auto" if own else "openai_chat",
        )
        with gateway(folder, settings) as url:
            said = [await asyncio.to_thread(ask, model, f"{url}/v1", weather_url) for model in ("gpt-4o", "desk")]
    for model, text in zip(("gpt-4o", "desk"), said, strict=True):
        heading(f"The program asks for {model}")
        print(text)
    heading("The calls of the agent's run, on record")
    calls = await calls_on_record(folder)
    print("\n".join(calls))
    return said, calls


def main(arguments: Sequence[str] | None = None) -> None:
    """Run it."""
    own = own_model(__doc__, arguments)
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(run(Path(folder), own))


if __name__ == "__main__":
    main()
