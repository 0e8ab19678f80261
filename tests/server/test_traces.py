"""The trace of a caller goes through this server: in at every API, out to the upstreams that are told of traces."""

from __future__ import annotations

from contextlib import ExitStack

import httpx2
import pytest

from actum.core.json import JsonObject
from actum.core.stored.passed import passed_key
from actum.core.trace import span_id, span_in, trace_id
from actum.journal.timeline import Timeline
from actum.server.models.upstream import ModelRoute
from tests.chat_server import ChatServer
from tests.patience import HANGS_S
from tests.server.models.desk import desk
from tests.server.models.gateway import gateway, upstream

pytestmark = pytest.mark.row("A6")

TRACE = "0af7651916cd43dd8448eb211c80319c"
CALLER = f"00-{TRACE}-b7ad6b7169203331-01"


def add(a: int, b: int) -> int:
    """Add."""
    return a + b


CHAT: JsonObject = {"model": "desk", "messages": [{"role": "user", "content": "Hi."}]}
REQUESTS: dict[str, JsonObject] = {
    "/v1/runs": {"agent": "desk", "question": "Hi."},
    "/v1/chat/completions": CHAT,
    "/v1/messages": {**CHAT, "max_tokens": 9},
    "/v1/responses": {"model": "desk", "input": "Hi."},
    "/v1/threads/runs": {"assistant_id": "desk", "thread": {"messages": [{"role": "user", "content": "Hi."}]}},
}


async def test_the_trace_of_a_caller_is_that_of_the_run_at_every_api_and_what_is_no_traceparent_is_left_aside() -> None:
    seen: dict[str, str] = {}
    async with desk(lambda _: "Done.", [add]) as it, httpx2.AsyncClient(trust_env=False, timeout=HANGS_S) as client:

        async def began(path: str, *told: str) -> str:
            """What is on record of the run that a request begins."""
            headers = [("authorization", f"Bearer {it.keys['ann']}"), *(("traceparent", each) for each in told)]
            answer = await client.post(f"{it.url}{path}", json=REQUESTS[path], headers=headers)
            assert answer.status_code in (200, 202), answer.text
            (run,) = [each for each in await it.journal.runs(limit=None) if each.run_id not in seen]
            started = Timeline(await it.journal.read(run.run_id)).started
            assert started is not None
            seen[run.run_id] = started.trace
            return seen[run.run_id]

        for path in REQUESTS:
            assert await began(path, CALLER) == CALLER, path
        for wrong in (CALLER[:-1], CALLER.upper(), f"00-{'0' * 32}-b7ad6b7169203331-01", "x" * 4_000, "00-" * 99, ""):
            assert not await began("/v1/runs", wrong), wrong
        assert not await began("/v1/runs", CALLER, CALLER), "nobody can tell which of two is meant"


async def test_a_trace_of_another_tenant_links_and_reads_nothing() -> None:
    async with desk(lambda _: "Done.") as it, httpx2.AsyncClient(trust_env=False, timeout=HANGS_S) as client:
        runs = {}
        for key in ("ann", "ann-2"):
            headers = {"authorization": f"Bearer {it.keys[key]}", "traceparent": CALLER}
            begun = await client.post(f"{it.url}/v1/runs", json=REQUESTS["/v1/runs"], headers=headers)
            runs[key] = begun.json()["id"]
        for key, other in (("ann", "ann-2"), ("ann-2", "ann")):
            headers = {"authorization": f"Bearer {it.keys[key]}"}
            for path in ("", "/timeline", "/conversation", "/events"):
                hidden = await client.get(f"{it.url}/v1/runs/{runs[other]}{path}", headers=headers)
                own = await client.get(f"{it.url}/v1/runs/{runs[key]}{path}", headers=headers)
                assert hidden.status_code == 404, path
                assert runs[other] not in own.text, path
            listed = await client.get(f"{it.url}/v1/runs", headers=headers)
            assert runs[key] in listed.text
            assert runs[other] not in listed.text


async def test_an_upstream_is_told_of_a_trace_where_the_settings_say_so_and_never_sent_what_the_client_wrote() -> None:
    with ExitStack() as stack:
        told, bare = (stack.enter_context(ChatServer(["Hi."] * 4)) for _ in range(2))
        routes = {"told": ModelRoute([upstream(told.url, trace=True)]), "bare": ModelRoute([upstream(bare.url)])}
        async with gateway(routes) as it:
            for model in routes:
                for trace in (CALLER, "00-" + "x" * 400):
                    for path, body in (("chat/completions", CHAT), ("messages", {**CHAT, "max_tokens": 9})):
                        answer = await it.client.post(
                            f"/v1/{path}", json={**body, "model": model}, headers={"traceparent": trace}
                        )
                        assert answer.status_code == 200, answer.text
            lines = it.lines.kept
        sent = [each.headers["traceparent"] for each in told.requests]
        assert not [each for each in bare.requests if "traceparent" in each.headers]
        for line, each in zip(lines, sent, strict=False):
            key = passed_key(line.request_id, line.at)
            assert (trace_id("", each), span_in(each)) == (line.trace_id, span_id(key))
        assert [line.trace for line in lines[:4]] == [CALLER, CALLER, "", ""]
        assert {line.trace_id for line in lines[:2]} == {TRACE}
        assert len({line.trace_id for line in lines}) == 5, "a request without a trace has one of its own"
        assert len({span_in(each) for each in sent}) == 4
