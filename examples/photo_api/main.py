"""An API document becomes tools: pages are read on, a photo is uploaded, and the model never sees the token.

The service is a program of its own on this machine. Its document, `photos.yaml`, is added as `actum tools add openapi`
adds one; the servers that requests may go to are those that the person confirmed.
"""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from actum import Agent, Rule, Rules, ToolCall
from actum.compose.apis import ApiChoice, DocumentSource, set_up
from actum.events import RunResult
from actum.messages import MediaPart, Request, ToolMessage
from actum.testing import Said
from actum.toolsets.http.toolset import ApiToolset
from actum.transport.egress import Egress, EgressRules

sys.path.insert(0, str(Path(__file__).parents[2]))  # so that it also runs as a file

from examples.local_services.serving import serving
from examples.own_model import own_model, own_or_scripted
from examples.photo_api.service import CLIENT, PASSWORD, PhotoService

DOCUMENT = Path(__file__).with_name("photos.yaml")
QUESTION = "Which photos are there? Add this one as fox.png, and tell me whether that went well."
FOX = MediaPart("image/png", b"\x89PNG a fox", name="fox.png")


def script(request: Request) -> Said:
    """What stands in for the model. It does what the results tell it to do next."""
    told = [message.result.text for message in request.messages if isinstance(message, ToolMessage)]
    if not told:
        return ToolCall("1", "list_photos", {})
    if len(told) == 1:
        page = re.search(r'\{"page":"(\d+)"\}', told[0])
        return ToolCall("2", "list_photos", {"page": int(page[1]) if page else 1})
    if len(told) == 2:
        return ToolCall("3", "add_photo", {"body": {"photo": "att_1", "title": "fox.png"}})
    if len(told) == 3:
        job = re.search(r'call get_job with \{"job":"(\d+)"\}', told[2])
        return ToolCall("4", "get_job", {"job": job[1] if job else ""})
    names = re.findall(r'"name":"([a-z]+)\.png"', told[0] + told[1])
    state = "was added" if '"done"' in told[3] else "was not added"
    return f"There are {', '.join(names)}; fox {state}."


async def album(model: str = "") -> tuple[RunResult, PhotoService]:
    """Ask about the photos.

    Args:
        model: a model of one's own, in the place of the script.

    Returns:
        What became of the run, and the service.
    """
    service = PhotoService()
    async with serving(service.app()) as (address,):
        egress = Egress(EgressRules(private=(address,)))  # the service runs on this machine
        text = DOCUMENT.read_text("utf-8").replace("tokenUrl: /token", f"tokenUrl: {address}/token")
        found = DocumentSource(f"{address}/photos.yaml", text.encode())
        choice = ApiChoice("photos", oauth_client=f"{CLIENT}:album_password")
        setup = await set_up(choice, "photos.yaml", found, egress)
        print("requests go to", *setup.origins)
        toolset = ApiToolset(setup.approving(), egress=egress)  # a person has looked at the operations
        agent = Agent(
            own_or_scripted(model, script),
            [toolset],
            secrets={"album_password": PASSWORD},
            policy=Rules(Rule("allow", tools="*", final=True)),  # no question, whatever the service's texts say
        )
        result = await agent.run(QUESTION, attachments=[FOX])
        await toolset.aclose()
    for call, outcome in result.calls:
        print(f"{call.name} -> {outcome.text}")
    print(result.text)
    return result, service


def main(arguments: Sequence[str] | None = None) -> None:
    """Run it."""
    asyncio.run(album(own_model(__doc__, arguments)))


if __name__ == "__main__":
    main()
