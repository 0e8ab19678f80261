"""Every request of the guide to our own API is answered as the guide says."""

from __future__ import annotations

import re
import shlex
import time
from pathlib import Path

from actum.server.login.codes import make_code
from actum.testing import ScriptedModel

from .application import WebApplication, application

GUIDE = Path(__file__).parents[3] / "docs" / "api.md"
BLOCK = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)


async def test_every_request_of_the_guide_works() -> None:
    commands = [line for block in BLOCK.findall(GUIDE.read_text("utf-8")) for line in block.splitlines()]
    assert len(commands) > 15
    model = ScriptedModel(lambda request: "It is 5.")
    async with application(model) as it:
        waits = await it.ask("POST", "/v1/tools/pay/call", {"arguments": {"to": "A", "amount": 1}}, who="root")
        names = {"KEY": "root", "ACTUM": it.url, "APPROVAL": waits.json()["approval"], "RUN": ""}
        names["CODE"] = await make_code(it.journal.sessions, "root", now=time.time())
        for command in commands:
            status, told = await sent(it, command, names)
            assert status in (200, 201, 202), (command, told)
            if status == 202:
                names["RUN"] = re.findall(r'"id":"(run_\w+)"', told)[0]
                await it.until(names["RUN"], "done")


async def sent(it: WebApplication, command: str, names: dict[str, str]) -> tuple[int, str]:
    """The status and the body that a `curl` command is answered."""
    words = shlex.split(re.sub(r"\$([A-Z]+)", lambda found: names[found[1]], command))
    assert words.pop(0) == "curl"
    method, headers, body, is_endless = "GET", {}, None, False
    while words[0].startswith("-"):
        match words.pop(0):
            case "-H":
                name, _, value = words.pop(0).partition(": ")
                headers[name] = value
            case "-d":
                method, body = "POST", words.pop(0)
            case "-X":
                method = words.pop(0)
            case "--max-time":
                is_endless = bool(words.pop(0))
            case option:
                assert option == "-N"
    async with it.client.stream(method, words.pop(0), headers=headers, content=body) as answer:
        assert not words
        text = await anext(answer.aiter_text()) if is_endless else (await answer.aread()).decode()
        return answer.status_code, text
