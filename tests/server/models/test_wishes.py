"""What a client wishes of an agent that no agent can give: refused by name, or listed in a header."""

from __future__ import annotations

import json

import httpx2
import pytest

from tests.patience import HANGS_S
from tests.server.models.desk import Desk, desk

SAID = {"messages": [{"role": "user", "content": "Hi."}]}
BODIES: dict[str, tuple[str, dict[str, object]]] = {
    "chat": ("/v1/chat/completions", {"model": "desk", **SAID}),
    "completions": ("/v1/completions", {"model": "desk", "prompt": "Hi."}),
    "responses": ("/v1/responses", {"model": "desk", "input": "Hi."}),
    "messages": ("/v1/messages", {"model": "desk", "max_tokens": 9, **SAID}),
    "gemini": ("/v1beta/models/desk:generateContent", {"contents": [{"role": "user", "parts": [{"text": "Hi."}]}]}),
}
LATER: dict[str, object] = {"name": "found", "defer_loading": True}
REFUSED: list[tuple[str, dict[str, object], str]] = [
    ("chat", {"logprobs": True}, "logprobs"),
    ("chat", {"top_logprobs": 3}, "top_logprobs"),
    ("chat", {"n": 2}, "n"),
    ("chat", {"modalities": ["text", "audio"], "audio": {"voice": "x", "format": "mp3"}}, "modalities"),
    ("completions", {"logprobs": 0}, "logprobs"),
    ("completions", {"best_of": 3}, "best_of"),
    ("completions", {"echo": True}, "echo"),
    ("completions", {"suffix": "end"}, "suffix"),
    ("responses", {"top_logprobs": 2}, "top_logprobs"),
    ("responses", {"include": ["message.output_text.logprobs"]}, "include.message.output_text.logprobs"),
    ("responses", {"prompt": {"id": "pmpt_1"}}, "prompt"),
    ("messages", {"mcp_servers": [{"type": "url", "url": "https://a.example", "name": "a"}]}, "mcp_servers"),
    ("gemini", {"generationConfig": {"responseLogprobs": True}}, "generationConfig.responseLogprobs"),
    ("gemini", {"generation_config": {"candidate_count": 2}}, "generationConfig.candidateCount"),
    ("gemini", {"generationConfig": {"responseModalities": ["IMAGE"]}}, "generationConfig.responseModalities"),
    ("gemini", {"cachedContent": "cachedContents/1"}, "cachedContent"),
]
TOO_MUCH: dict[str, object] = {"metadata": {str(number): {} for number in range(9_000)}}
REFUSED += [("responses", TOO_MUCH, "metadata"), ("chat", TOO_MUCH, "metadata"), ("messages", TOO_MUCH, "metadata")]
LOST: list[tuple[str, dict[str, object], list[str]]] = [
    ("chat", {"frequency_penalty": 0.5, "service_tier": "flex"}, ["frequency_penalty", "service_tier"]),
    ("chat", {"reasoning_effort": "high", "verbosity": "low"}, ["reasoning_effort", "verbosity"]),
    ("chat", {"metadata": {"actum_run": "", "who": "ann"}}, ["metadata"]),
    ("chat", {"a_field_of_tomorrow": "ü\r\nx: y"}, ["a_field_of_tomorrow"]),
    ("completions", {"logit_bias": {"1": 2}}, ["logit_bias"]),
    ("responses", {"reasoning": {"effort": "high"}, "text": {"verbosity": "low"}}, ["reasoning", "text.verbosity"]),
    ("responses", {"truncation": "auto", "max_tool_calls": 3}, ["max_tool_calls"]),
    ("responses", {"include": ["reasoning.encrypted_content"]}, ["include.reasoning.encrypted_content"]),
    ("messages", {"thinking": {"type": "enabled", "budget_tokens": 1024}, "top_k": 4}, ["thinking", "top_k"]),
    ("responses", {"tools": [{"type": "tool_search"}, {"type": "function", **LATER}]}, ["tool_search"]),
    ("messages", {"tools": [{"type": "tool_search_tool_bm25", "name": "tool_search_tool_bm25"}, LATER]}, ["tools"]),
    ("gemini", {"generationConfig": {"topK": 4}, "safetySettings": [{"category": "x"}]}, ["generationConfig.topK"]),
]
NOTHING: list[tuple[str, dict[str, object]]] = [
    ("chat", {"logprobs": False, "n": 1, "presence_penalty": 0, "response_format": {"type": "text"}, "user": "u"}),
    ("chat", {"temperature": 0.5, "seed": 1, "stop": ["x"], "stream_options": None, "service_tier": "auto"}),
    ("completions", {"logprobs": None, "best_of": 1, "echo": False, "n": 1}),
    ("responses", {"store": True, "metadata": {"a": "b"}, "instructions": "Be brief.", "top_logprobs": 0}),
    ("messages", {"system": "Be brief.", "stop_sequences": ["x"]}),
    ("gemini", {"generationConfig": {"candidateCount": 1, "temperature": 0, "maxOutputTokens": 9}}),
]


async def ask(server: Desk, api: str, more: dict[str, object], *, stream: bool = False) -> httpx2.Response:
    path, body = BODIES[api]
    headers = {"authorization": f"Bearer {server.keys['ann']}"}
    if stream and api == "gemini":
        path = path.replace(":generateContent", ":streamGenerateContent?alt=sse")
    elif stream:
        more = {**more, "stream": True}
    async with httpx2.AsyncClient(base_url=server.url, timeout=HANGS_S) as http:
        return await http.post(path, json={**body, **more}, headers=headers)


@pytest.mark.row("S9")
async def test_a_wish_for_something_in_the_answer_is_refused_by_name_before_anything_is_done() -> None:
    async with desk(lambda _: "Hello.") as server:
        for api, more, named in REFUSED:
            for stream in (False, True):
                answer = await ask(server, api, more, stream=stream)
                assert (answer.status_code, f"{named}:" in answer.text) == (400, True), (api, more, answer.text)
        assert not await server.journal.runs()


async def test_what_an_agent_does_not_heed_is_listed_whole_and_streamed() -> None:
    async with desk(lambda _: "Hello.") as server:
        for api, more, named in LOST:
            for stream in (False, True):
                answer = await ask(server, api, more, stream=stream)
                assert answer.status_code == 200, (api, more, answer.text)
                lost = json.loads(answer.headers["x-actum-lost"])
                assert [name for name in named if not any(each.startswith(f"{name}:") for each in lost)] == [], lost


async def test_a_field_that_asks_for_what_every_answer_has_is_not_listed() -> None:
    async with desk(lambda _: "Hello.") as server:
        for api, more in NOTHING:
            answer = await ask(server, api, more)
            assert (answer.status_code, answer.headers.get("x-actum-lost")) == (200, None), (api, more, answer.text)


async def test_a_client_that_wants_any_json_object_is_given_one() -> None:
    """LangChain's `json_mode`, instructor's `JSON` and dspy read the answer as JSON, whatever it is."""
    wishes: tuple[tuple[str, dict[str, object]], ...] = (
        ("chat", {"response_format": {"type": "json_object"}}),
        ("responses", {"text": {"format": {"type": "json_object"}}}),
        ("gemini", {"generationConfig": {"responseMimeType": "application/json"}}),
    )
    for api, more in wishes:
        for stream in (False, True):
            async with desk(["Hello.", 'Here: {"name": "Ada"}']) as server:
                answer = await ask(server, api, more, stream=stream)
                assert (answer.status_code, answer.headers.get("x-actum-lost")) == (200, None), answer.text
                assert r"{\"name\":\"Ada\"}" in answer.text, (api, stream, answer.text)
                assert not any(words in answer.text for words in ("Hello", "Here")), (api, stream, answer.text)
                assert len(server.model.requests) == 2


async def test_a_value_that_can_not_be_is_told_in_the_words_of_the_api() -> None:
    add = {"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}}
    wrong: dict[str, dict[str, object]] = {
        "max_tokens: give a whole number above 0, not -1": {"max_tokens": -1},
        "top_p: give a number above 0 and at most 1, not 0": {"top_p": 0},
        "tools: two of them are called 'add'": {"tools": [add, add]},
    }
    async with desk([]) as server:
        for words, more in wrong.items():
            answer = await ask(server, "chat", more)
            assert (answer.status_code, answer.json()["error"]["message"]) == (400, words)
