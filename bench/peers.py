"""The same job for the others: a hand-written loop as the floor, and agno as a peer. Each says the same calls in the
same order.

The job: a model that asks for `add` so and so often and then answers; the tool is an async function that adds.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import jsonschema_rs
import pydantic

SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
    "required": ["a", "b"],
    "additionalProperties": False,
}


async def add(a: int, b: int) -> int:
    """Add two numbers.

    Args:
        a: The first number.
        b: The second number.
    """
    return a + b


def spare_tools(count: int) -> list[Callable[..., Awaitable[int]]]:
    """So many further tools that nobody calls."""

    def make(number: int) -> Callable[..., Awaitable[int]]:
        async def spare(a: int, b: int) -> int:
            return a - b

        spare.__name__ = f"spare_{number}"
        spare.__doc__ = f"Spare tool number {number}.\n\nArgs:\n    a: The first number.\n    b: The second number."
        return spare

    return [make(number) for number in range(count)]


async def bare_run(steps: int, validator: jsonschema_rs.Validator) -> list[dict[str, object]]:
    """The floor: parse, validate, await, append. No policy, no record, no limits, no errors."""
    messages: list[dict[str, object]] = [{"role": "user", "content": "go"}]
    tools = {"add": add}
    step = 0
    while True:
        step += 1
        reply = await _bare_model(step, steps)
        messages.append(reply)
        calls = reply.get("tool_calls")
        if not calls:
            return messages
        for call in calls:  # type: ignore[attr-defined]
            arguments = json.loads(call["function"]["arguments"])
            if not validator.is_valid(arguments):
                raise ValueError(arguments)
            value = await tools[call["function"]["name"]](**arguments)
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": str(value)})


async def _bare_model(step: int, steps: int) -> dict[str, object]:
    if step > steps:
        return {"role": "assistant", "content": "done"}
    function = {"name": "add", "arguments": json.dumps({"a": step, "b": 1})}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c1", "type": "function", "function": function}],
    }


class Sum(pydantic.BaseModel):
    """The arguments of `add`."""

    a: int
    b: int


async def lean_run(steps: int) -> list[dict[str, object]]:
    """The leanest loop that still does its work: parse with `json`, validate with pydantic, await, append."""
    messages: list[dict[str, object]] = [{"role": "user", "content": "go"}]
    for step in range(steps):
        arguments = Sum.model_validate(json.loads(f'{{"a":{step},"b":1}}'))
        value = await add(arguments.a, arguments.b)
        messages.append({"role": "tool", "content": str(value)})
    return messages


def agno_agent(steps: int, tools: int) -> Callable[[], Awaitable[object]]:
    """One run of an agno agent, ready to be awaited."""
    from agno.agent import Agent
    from agno.models.base import Model
    from agno.models.response import ModelResponse

    class Scripted(Model):  # type: ignore[misc]  # the peer is not there when types are checked
        step = 0

        def _next(self) -> ModelResponse:
            self.step += 1
            if self.step > steps:
                self.step = 0
                return ModelResponse(role="assistant", content="done")
            function = {"name": "add", "arguments": json.dumps({"a": self.step, "b": 1})}
            return ModelResponse(
                role="assistant", tool_calls=[{"id": f"c{self.step}", "type": "function", "function": function}]
            )

        def invoke(self, *args: Any, **kwargs: Any) -> ModelResponse:
            return self._next()

        async def ainvoke(self, *args: Any, **kwargs: Any) -> ModelResponse:
            return self._next()

        def invoke_stream(self, *args: Any, **kwargs: Any) -> Iterator[ModelResponse]:
            yield self._next()

        async def ainvoke_stream(self, *args: Any, **kwargs: Any) -> AsyncIterator[ModelResponse]:
            yield self._next()

        def _parse_provider_response(self, response: Any, **kwargs: Any) -> ModelResponse:
            return response

        def _parse_provider_response_delta(self, response: Any) -> ModelResponse:
            return response

    agent = Agent(model=Scripted(id="scripted"), tools=[add, *spare_tools(tools - 1)], telemetry=False)
    return lambda: agent.arun("go")
