"""What a remote agent says holds up nobody, however large it is: its card, its answers, its events, its refusals.

Work on the loop is counted, as in `tests/server/test_large_bodies.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import pytest
from starlette.responses import Response

from actum.core.errors import CallError, UsageError
from actum.core.json import Json, JsonObject, dumps
from actum.toolsets.a2a.toolset import A2AToolset
from tests.effort import turns_counted
from tests.toolsets.a2a.remote_servers import ScriptedAgent, scripted_agent
from tests.toolsets.a2a.test_attacks import answer, news, task
from tests.toolsets.a2a.test_signing import signed
from tests.toolsets.a2a.test_toolset import configured, outcome

SIZE = 200_000
HELD_MAX = 30_000
SHAPES: dict[str, Json] = {
    "names": {f"name{n}": n for n in range(SIZE // 16)},
    "objects": [{"b": "xy"} for _ in range(SIZE // 12)],
    "texts": ["x"] * (SIZE // 4),
    "one text": "x\u200b" * (SIZE // 8),
}


def rpc(result: Json, kind: str = "application/json") -> Response:
    said = dumps({"jsonrpc": "2.0", "id": 1, "result": result})
    return Response(f"data: {said}\n\n" if kind == "text/event-stream" else said, media_type=kind)


def done(parts: list[Json]) -> JsonObject:
    return {**task(state="COMPLETED"), "artifacts": [{"artifactId": "a", "parts": parts}]}


Told = Callable[[ScriptedAgent, Json], None]


def in_its_card(field: str) -> Told:
    def told(agent: ScriptedAgent, value: Json) -> None:
        agent.card = {}
        agent.card = Response(dumps({**agent.whole_card(), field: value}), media_type="application/json")

    return told


def in_a_signed_card(agent: ScriptedAgent, value: Json) -> None:
    agent.card = {}
    whole = {**agent.whole_card(), "signatures": signed()["signatures"], "extensions": value}
    agent.card = Response(dumps(whole), media_type="application/json")


def in_its_answer(made: Callable[[Json], Json], kind: str = "application/json") -> Told:
    def told(agent: ScriptedAgent, value: Json) -> None:
        said = rpc(made(value), kind)
        agent.card = {}
        agent.says["SendStreamingMessage"] = agent.says["SendMessage"] = lambda params: said

    return told


def in_a_refusal(agent: ScriptedAgent, value: Json) -> None:
    said = dumps({"jsonrpc": "2.0", "id": 1, "error": {"code": -32000, "message": "no", "data": value}})
    agent.card = {}
    agent.says["SendStreamingMessage"] = lambda params: Response(said, 400, media_type="application/json")


def in_many_events(agent: ScriptedAgent, value: Json) -> None:
    each = dumps({"jsonrpc": "2.0", "id": 1, "result": news()})
    said = f"data: {each}\n\n" * (1_000 if value != "small" else 1)
    agent.card = {}
    agent.says["SendStreamingMessage"] = lambda params: Response(said, media_type="text/event-stream")


WAYS: dict[str, tuple[Told, tuple[str, ...]]] = {
    "card": (in_its_card("extensions"), ("names", "objects", "texts")),
    "name": (in_its_card("name"), ("one text",)),
    "skills": (in_its_card("skills"), ("objects", "texts")),
    "interfaces": (in_its_card("supportedInterfaces"), ("objects",)),
    "signatures": (in_its_card("signatures"), ("objects",)),
    "signed card": (in_a_signed_card, ("names", "texts")),
    "parts": (in_its_answer(lambda value: {"task": done([{"text": "Hi"}] * len(value))}), ("objects",)),  # type: ignore[arg-type]
    "data": (in_its_answer(lambda value: {"task": done([{"data": value}])}), ("names", "objects", "texts")),
    "metadata": (in_its_answer(lambda value: {"task": {**task(), "metadata": value}}), ("names",)),
    "no event": (in_its_answer(lambda value: {"x": value}), ("names",)),
    "text": (in_its_answer(lambda value: {"task": done([{"text": value}])}), ("one text",)),
    "event": (in_its_answer(lambda value: {"task": done([{"data": value}])}, "text/event-stream"), ("names",)),
    "words": (in_its_answer(lambda value: answer(str(value)), "text/event-stream"), ("one text",)),
    "refusal": (in_a_refusal, ("names", "texts")),
    "events": (in_many_events, ("names",)),
}


@pytest.mark.parametrize("way", WAYS)
async def test_whatever_a_remote_agent_says_leaves_the_loop_to_others(way: str) -> None:
    told, shapes = WAYS[way]
    held: dict[str, int] = {}
    async with scripted_agent() as agent:
        for shape in shapes:
            small: Json = "small" if isinstance(SHAPES[shape], str) else [{}]
            for value in (small, SHAPES[shape]):
                told(agent, value)
                agent.says["CancelTask"] = lambda params: task(state="CANCELED")
                async with turns_counted() as turns, A2AToolset(configured(agent.origin)) as toolset:
                    with suppress(CallError, UsageError):
                        await toolset.survey()
                        await outcome(toolset, "hello")
                held[shape] = turns.held  # of the large value: what is loaded at the first is loaded by then
    assert {shape: calls for shape, calls in held.items() if calls >= HELD_MAX} == {}
