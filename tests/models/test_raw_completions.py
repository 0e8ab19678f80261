"""A model behind an endpoint that only goes on with a text calls tools, in its family's own marks."""

from __future__ import annotations

import pytest

from actum import Agent, tool
from actum.core.errors import UsageError
from actum.core.event import CallSaid, Delta
from actum.core.message import UserMessage
from actum.core.model import Request
from actum.core.tool import Tool
from actum.models import open_model
from tests.chat_server import ChatServer

WEATHER = Tool(
    name="get_weather",
    description="The weather in a city.",
    parameters={"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)
ASKED = Request(messages=[UserMessage.of("How is the weather in Oslo?")], tools=(WEATHER,))
SAID = {
    "Qwen2.5-7B": ('<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>', "<|im_end|>"),
    "functionary-small-v3.2": ('get_weather\n{"city": "Oslo"}', "<|eot_id|>"),
    "gemma-4-9b": ('<|tool_call>call:get_weather{city:<|"|>Oslo<|"|>}<tool_call|>', "<turn|>"),
    "DeepSeek-V3.1-Base": (
        '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>{"city": "Oslo"}<｜tool▁call▁end｜>',
        "<｜end▁of▁sentence｜>",
    ),
    "some-base": (' {"tool": "get_weather", "params": {"city": "Oslo"}}', "\nUser:"),
}


@pytest.mark.row("S6")
@pytest.mark.parametrize("name", SAID)
async def test_a_model_that_only_goes_on_with_a_text_calls_a_tool(name: str) -> None:
    text, stop = SAID[name]
    with ChatServer([text, text]) as server:
        model = open_model(f"{server.url}/completions#{name}")
        whole = await model.reply(ASKED)
        heard: list[Delta] = []
        streamed = await model.reply(ASKED, heard.append)
    assert [(call.name, call.arguments) for call in whole.calls] == [("get_weather", {"city": "Oslo"})]
    assert streamed.calls == whole.calls
    assert [delta.call for delta in heard if isinstance(delta, CallSaid)] == list(whole.calls)
    assert [asked.path for asked in server.requests] == ["/v1/completions"] * 2
    body = server.requests[0].json
    assert "get_weather" in str(body["prompt"])
    assert stop in str(body["stop"]).replace("\\n", "\n")
    assert "tools" not in body


@pytest.mark.row("S6")
async def test_an_agent_works_on_a_base_model() -> None:
    @tool
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    with ChatServer(['{"tool": "add", "params": {"a": 2, "b": 3}}', "It is 5."]) as server:
        result = await Agent(f"{server.url}/completions#base", tools=[add]).run("What is 2 + 3?")
    assert result.text == "It is 5."
    prompt = str(server.requests[1].json["prompt"])
    assert prompt.endswith("Assistant:")
    assert prompt.index("What is 2 + 3?") < prompt.rindex('"params"') < prompt.rindex("\n5\n")


@pytest.mark.row("S6")
async def test_ollama_is_asked_past_its_template() -> None:
    text, stop = SAID["Qwen2.5-7B"]
    with ChatServer([text, text]) as server:
        model = open_model(f"{server.url}/api/generate#qwen2.5:7b")
        whole = await model.reply(ASKED)
        heard: list[Delta] = []
        streamed = await model.reply(ASKED, heard.append)
    assert [(call.name, call.arguments) for call in whole.calls] == [("get_weather", {"city": "Oslo"})]
    assert streamed.calls == whole.calls
    assert [delta.call for delta in heard if isinstance(delta, CallSaid)] == list(whole.calls)
    body = server.requests[0].json
    assert (server.requests[0].path, body["raw"]) == ("/v1/api/generate", True)
    assert str(body["prompt"]).endswith("<|im_start|>assistant\n")
    assert stop in str(body["options"])


async def test_the_api_can_be_named_for_any_endpoint() -> None:
    with ChatServer(["Hello."]) as server:
        model = open_model("vllm:Qwen2.5", dialect="openai_completions", environment={"VLLM_BASE_URL": server.url})
        reply = await model.reply(Request(messages=[UserMessage.of("Hi")]))
    assert reply.text == "Hello."
    assert str(server.requests[0].json["prompt"]).endswith("<|im_start|>assistant\n")


def test_ollama_s_own_api_is_beside_its_version() -> None:
    assert "'http://127.0.0.1:11434'" in repr(open_model("ollama:qwen3", dialect="ollama_generate"))


def test_a_text_dialect_can_be_named_at_such_an_address() -> None:
    assert "'react'" in repr(open_model("http://localhost:1/v1/completions#qwen", dialect="react"))


@pytest.mark.parametrize(("model", "dialect"), [("base", "native"), ("base", "openai_chat"), ("gpt-oss-20b", "auto")])
def test_what_such_an_endpoint_can_not_speak_is_said_at_once(model: str, dialect: str) -> None:
    with pytest.raises(UsageError):
        open_model(f"http://localhost:1/v1/completions#{model}", dialect=dialect)


def test_a_model_without_an_address_has_no_such_api() -> None:
    with pytest.raises(UsageError, match="provider or address"):
        open_model("embedded", dialect="openai_completions")


def test_an_address_of_chat_completions_is_no_such_address() -> None:
    assert repr(open_model("http://localhost:1/v1/chat/completions#m")).startswith("Auto(")
