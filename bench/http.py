"""What the agent costs over real HTTP; part of `make bench`.

A server in another process; CPU of this process, the best of several rounds. The floor does by hand what everybody
does: post the whole conversation as JSON, read the answer, call, append. It uses the same HTTP client.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import httpx2
import jsonschema_rs

from actum import Agent, Limits

from .loop import Job, Row, cpu
from .peers import SCHEMA, add, spare_tools

TOOLS = [
    {
        "type": "function",
        "function": {"name": "add", "description": "Add two numbers.", "parameters": SCHEMA},
    }
]


@contextmanager
def server() -> Iterator[str]:
    """The address of a running chat-completions server."""
    command = [sys.executable, "-m", "bench.chat_server"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
        process.terminate()


def bare(url: str, steps: int) -> Job:
    validator = jsonschema_rs.Draft202012Validator(SCHEMA)
    tools = {"add": add}
    clients: list[httpx2.AsyncClient] = []

    async def run() -> None:
        if not clients:
            clients.append(httpx2.AsyncClient())
        (client,) = clients
        messages: list[Row] = [{"role": "user", "content": f"steps={steps}"}]
        while True:
            request = {"model": "bench", "messages": messages, "tools": TOOLS}
            answer = await client.post(f"{url}/chat/completions", json=request)
            reply = answer.json()["choices"][0]["message"]
            messages.append(reply)
            if not reply.get("tool_calls"):
                return
            for call in reply["tool_calls"]:
                arguments = json.loads(call["function"]["arguments"])
                if not validator.is_valid(arguments):
                    raise ValueError(arguments)
                value = await tools[call["function"]["name"]](**arguments)
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": str(value)})

    return run


def actum(url: str, steps: int, dialect: str = "native", tools: int = 1) -> Job:
    many: list[Callable[..., object]] = [add, *spare_tools(tools - 1)]
    agent = Agent(f"{url}#bench", many, limits=Limits(steps=None), dialect=dialect)
    return lambda: agent.run(f"steps={steps}" + ("" if dialect == "native" else f" as={dialect}"))


def http_table(rounds: int) -> list[Row]:
    found: list[Row] = []
    with server() as url:
        for steps in (20, 100, 400):
            spent = cpu({"bare": bare(url, steps), "actum": actum(url, steps)}, rounds, {"bare": 1, "actum": 1})
            step = {name: seconds / (steps + 1) * 1e6 for name, seconds in spent.items()}
            ratio = round(step["actum"] / step["bare"], 2)
            found.append(
                {"steps": steps, **{f"{n} µs a step": round(v) for n, v in step.items()}, "actum × bare": ratio}
            )
    return found


def prompted_table(rounds: int) -> list[Row]:
    """The same run by a model that says its calls in text; the floor still says them by the API."""
    found: list[Row] = []
    with server() as url:
        for steps, tools in [(20, 1), (400, 1), (100, 1), (100, 2000)]:
            jobs = {"bare": bare(url, steps)}
            jobs |= {name: actum(url, steps, name, tools) for name in ("native", "prompt_json", "hermes", "react")}
            spent = cpu(jobs, rounds, dict.fromkeys(jobs, 1))
            found.append(
                {
                    "steps": steps,
                    "tools": tools,
                    **{f"{name} µs a step": round(seconds / (steps + 1) * 1e6) for name, seconds in spent.items()},
                }
            )
    return found
