"""Strings become models, and what is missing is said at once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from actum.core.call import TextPart, ToolCall, ToolResult
from actum.core.errors import ModelError, ModelRejected, ModelUnavailable, UnknownName, UsageError
from actum.core.event import Delta
from actum.core.json import JsonObject
from actum.core.message import Reply, ToolMessage, UserMessage
from actum.core.model import Model, Request, default_max_tokens
from actum.core.tool import Tool
from actum.dialects.api.openai_chat.dialect import OpenAiChat
from actum.models import open_model
from actum.models.catalog import PROVIDERS
from actum.models.endpoint import Endpoint
from actum.models.prompted import Auto, Prompted, Recognising
from actum.testing import ScriptedModel
from tests.chat_server import ChatServer, Raw

NOW = Tool(name="now")
ASKED = Request(messages=[UserMessage.of("What time is it?")], tools=(NOW,))


def endpoint_of(model: Model) -> Endpoint:
    inner = model.endpoint if isinstance(model, Auto) else getattr(model, "model", None)
    assert isinstance(inner, Endpoint)
    return inner


@pytest.mark.row("S3")
@pytest.mark.parametrize("name", [name for name, provider in PROVIDERS.items() if provider.key_needed])
def test_a_provider_is_opened_with_the_key_in_its_variable(name: str) -> None:
    provider = PROVIDERS[name]
    with pytest.raises(UsageError, match=provider.key_variable):
        open_model(f"{name}:some-model", environment={})
    model = open_model(f"{name}:some/model:tag", environment={provider.key_variable: "sk-secret"})
    endpoint = endpoint_of(model)
    assert (model.name, endpoint.model, endpoint.url) == (f"{name}:some/model:tag", "some/model:tag", provider.url)
    assert "sk-secret" not in repr(model)


@pytest.mark.row("S3")
@pytest.mark.parametrize(
    ("name", "url"),
    [
        ("ollama", "http://127.0.0.1:11434/v1"),
        ("vllm", "http://127.0.0.1:8000/v1"),
        ("llamacpp", "http://127.0.0.1:8080/v1"),
        ("sglang", "http://127.0.0.1:30000/v1"),
        ("lmstudio", "http://127.0.0.1:1234/v1"),
    ],
)
def test_a_server_of_ones_own_needs_no_key(name: str, url: str) -> None:
    assert endpoint_of(open_model(f"{name}:m")).url == url


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("0.0.0.0", "http://127.0.0.1:11434/v1"),
        ("0.0.0.0:80", "http://127.0.0.1:80/v1"),
        ("gpu", "http://gpu:11434/v1"),
        (":9000", "http://127.0.0.1:9000/v1"),
        ("[::1]:9000", "http://[::1]:9000/v1"),
        ("https://gpu.example/", "https://gpu.example/v1"),
    ],
)
def test_the_host_variable_is_read_as_its_server_reads_it(host: str, url: str) -> None:
    assert endpoint_of(open_model("ollama:qwen3", environment={"OLLAMA_HOST": host})).url == url


def test_a_host_that_is_none_is_told() -> None:
    with pytest.raises(UsageError, match="gpu:x"):
        open_model("ollama:qwen3", environment={"OLLAMA_HOST": "gpu:x"})


def test_a_providers_address_can_be_changed_and_is_then_probed() -> None:
    endpoint = endpoint_of(open_model("openai:gpt-5", environment={"OPENAI_BASE_URL": "http://proxy/v1"}))
    assert (endpoint.url, endpoint.native) == ("http://proxy/v1", None)


def test_a_server_with_one_model_need_not_be_told_its_name() -> None:
    assert endpoint_of(open_model("llamacpp:")).model == "default"


@pytest.mark.row("S3")
async def test_an_address_is_a_model_with_its_own_key_and_no_other() -> None:
    keys = {"OPENAI_API_KEY": "sk-not-for-you"}
    with ChatServer(["10:00", "10:01"]) as server:
        await open_model(f"{server.url}#my/model:tag", environment=keys).reply(ASKED)
        keys["ACTUM_API_KEY"] = "sk-for-you"
        await open_model(f"{server.url}#my/model:tag", environment=keys).reply(ASKED)
    first, second = server.requests
    assert first.json["model"] == "my/model:tag"
    assert "authorization" not in first.headers
    assert second.headers["authorization"] == "Bearer sk-for-you"


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("gpt-5", "openai:name"),
        ("", "embedded"),
        ("nobody:m", "http://host/v1#name"),
        ("vllm:", "vllm:name"),
        ("http://host/v1", "http://host/v1#name"),
    ],
)
def test_a_name_that_no_model_has_is_told_what_there_is(name: str, told: str) -> None:
    with pytest.raises(UnknownName) as raised:
        open_model(name)
    assert told in str(raised.value)


def test_a_secret_in_an_address_is_refused_and_not_repeated() -> None:
    for name in ("http://user:hunter2@host/v1#m", "http://user:hunter2@host/v1"):
        with pytest.raises(UsageError) as raised:
            open_model(name)
        assert "hunter2" not in str(raised.value)


@pytest.mark.row("S8")
@pytest.mark.parametrize(
    ("dialect", "kind", "used"),
    [
        ("auto", Auto, "openai_chat"),
        ("native", Recognising, "openai_chat"),
        ("openai_chat", Recognising, "openai_chat"),
        ("openai_functions", Recognising, "openai_functions"),
        ("anthropic_messages", Recognising, "anthropic_messages"),
        ("gemini_content", Recognising, "gemini_content"),
        ("react", Prompted, "openai_chat"),
        ("prompt_json", Prompted, "openai_chat"),
    ],
)
def test_one_flag_says_how_calls_are_said(dialect: str, kind: type, used: str) -> None:
    model = open_model("ollama:qwen3", dialect=dialect)
    assert type(model) is kind
    assert endpoint_of(model).dialect.name == used
    if isinstance(model, Prompted):
        assert model.dialect.name == dialect


def test_a_model_whose_template_opens_a_thought_is_known_to_begin_in_one() -> None:
    for name, thinks in {
        "deepseek-r1:8b": True,
        "DeepSeek-R1-Distill-Qwen-7B": True,
        "Qwen/Qwen3-4B-Thinking-2507": True,
        "QwQ-32B": True,
        "qwen3:4b": False,
        "deepseek-v3": False,
    }.items():
        for dialect in ("prompt_json", "react", "hermes"):
            model = open_model(f"http://127.0.0.1:1/v1#{name}", dialect=dialect)
            assert isinstance(model, Prompted)
            assert getattr(model.dialect, "thinking") is thinks, name  # noqa: B009
        assert open_model(f"vllm:{name}", dialect="harmony") is not None
        raw = open_model(f"http://127.0.0.1:1/v1/completions#{name}", dialect="hermes")  # its prompt is ours
        assert isinstance(raw, Prompted)
        assert getattr(raw.dialect, "thinking") is False  # noqa: B009


@pytest.mark.row("S8")
@pytest.mark.parametrize("native", [True, False])
async def test_by_itself_a_model_is_driven_as_its_endpoint_allows(native: bool) -> None:
    call = Reply.of(calls=[ToolCall("a", "now", {}, raw="{}")])
    with ChatServer([call if native else 'OK. {"tool": "now", "params": {}}'], native=native) as server:
        model = open_model(f"{server.url}#m")
        assert [call.name for call in (await model.reply(ASKED)).calls] == ["now"]
    assert ("tools" in server.requests[0].json) is native
    assert isinstance(model, Auto)
    assert model.dialect_used == ("openai_chat" if native else "prompt_json")


@pytest.mark.row("S4")
async def test_one_flag_speaks_to_a_server_of_2023() -> None:
    with ChatServer([Reply.of(calls=[ToolCall("a", "now", {}, raw="{}")])]) as server:
        reply = await open_model(f"{server.url}#m", dialect="openai_functions").reply(ASKED)
    assert [call.name for call in reply.calls] == ["now"]
    assert server.requests[0].json["functions"] == [{"name": "now", "parameters": {"type": "object", "properties": {}}}]


async def test_openai_is_told_the_limit_by_its_new_name() -> None:
    with ChatServer(["ok"]) as server:
        model = open_model("openai:gpt-5", dialect="native", environment={"OPENAI_BASE_URL": server.url})
        await model.reply(Request(messages=[], max_tokens=5))
    assert server.requests[0].json == {"model": "gpt-5", "messages": [], "max_completion_tokens": 5}


@pytest.mark.parametrize("name", ["deepseek", "moonshot"])
def test_models_that_want_their_reasoning_back_get_it(name: str) -> None:
    dialect = PROVIDERS[name].dialect
    assert isinstance(dialect, OpenAiChat)
    assert dialect.reasoning_field == "reasoning_content"


HOSTS = {
    "anthropic:claude-opus-5-5": ("/v1/messages", "/v1/messages", "", "x-api-key"),
    "gemini:gemini-3-pro": (
        "/v1beta/models/gemini-3-pro:generateContent",
        "/v1beta/models/gemini-3-pro:streamGenerateContent",
        "alt=sse",
        "x-goog-api-key",
    ),
}


def at(server: ChatServer, key: str = "sk-secret-1234") -> dict[str, str]:
    """The environment in which these providers answer at a server."""
    root = server.url.removesuffix("/v1")
    keys = {"ANTHROPIC_API_KEY": key, "GEMINI_API_KEY": key}
    return {"ANTHROPIC_BASE_URL": root, "GEMINI_BASE_URL": f"{root}/v1beta/", **keys}


@pytest.mark.row("S5")
@pytest.mark.parametrize("name", HOSTS)
@pytest.mark.parametrize("streamed", [False, True])
async def test_another_api_is_another_model_string(name: str, streamed: bool) -> None:
    whole, stream, query, key_header = HOSTS[name]
    call = ToolCall("a", "now", {"zone": "北京"}, raw='{"zone":"北京"}')
    first = Reply((TextPart("I look."), call))
    answer = ToolMessage("now", ToolResult("a", structured="10:00"))
    heard: list[Delta] = []
    with ChatServer([first, "It is 10:00."]) as server:
        model = open_model(name, dialect="native", environment=at(server))
        reply = await model.reply(ASKED, heard.append if streamed else None)
        again = msgspec.structs.replace(ASKED, messages=[*ASKED.messages, reply, answer])
        assert (await model.reply(again, heard.append if streamed else None)).text == "It is 10:00."
    assert (reply.content, bool(heard)) == (first.content, streamed)
    for asked in server.requests:
        assert (asked.path, asked.query) == ((stream, query) if streamed else (whole, ""))
        assert asked.headers[key_header] == "sk-secret-1234"
        assert "authorization" not in asked.headers
    assert "10:00" in server.requests[1].body.decode()


@pytest.mark.row("S8")
@pytest.mark.parametrize("name", HOSTS)
async def test_another_api_at_another_address_is_asked_whether_it_calls_tools(name: str) -> None:
    with ChatServer([Reply.of(calls=[ToolCall("a", "now", {})])]) as server:
        reply = await open_model(name, environment=at(server)).reply(ASKED)
    assert (server.probes, reply.calls[0].name) == (1, "now")


@pytest.mark.parametrize("name", HOSTS)
@pytest.mark.parametrize(
    ("status", "kind"), [(401, ModelRejected), (413, ModelRejected), (529, ModelUnavailable), (503, ModelUnavailable)]
)
async def test_a_key_that_another_api_quotes_is_not_repeated(name: str, status: int, kind: type[ModelError]) -> None:
    said = Raw((b'{"error": {"message": "not with hunter2-key, of all keys"}}',), status, {"retry-after": "100"})
    with ChatServer(lambda _: said) as server, pytest.raises(kind) as raised:
        await open_model(name, dialect="native", environment=at(server, "hunter2-key")).reply(ASKED)
    assert (raised.value.status, raised.value.retry_after) == (status, 100.0)
    assert "hunter2" not in str(raised.value)


@pytest.mark.parametrize("name", HOSTS)
async def test_a_stream_of_another_api_that_ends_too_soon_is_known_to_have(name: str) -> None:
    folder = {"anthropic": "anthropic_messages", "gemini": "gemini_content"}[name.split(":")[0]]
    wire = (Path(__file__).parents[1] / "corpus" / folder / "stream_text.wire").read_bytes()
    last = (
        b"event: message_delta"
        if b"event: message_delta" in wire
        else b'data: {"candidates": [{"content": {"parts": [{"text": "!"'
    )
    heard: list[Delta] = []
    cut = Raw((wire[: wire.index(last)],))
    with ChatServer([cut]) as server, pytest.raises(ModelUnavailable, match="broke off"):
        await open_model(name, dialect="native", environment=at(server)).reply(ASKED, heard.append)
    assert heard


async def test_an_address_that_speaks_another_api_is_named_with_its_dialect() -> None:
    with ChatServer(["ok"]) as server:
        asked = Request(messages=ASKED.messages, temperature=0.5)
        await open_model(f"{server.url}#m", dialect="anthropic_messages", environment={}).reply(asked)
    assert server.requests[0].path == "/v1/messages"
    assert server.requests[0].json["temperature"] == 0.5


async def test_anthropic_itself_is_sent_no_temperature() -> None:
    with ChatServer(["ok"]) as server:
        model = open_model("anthropic:claude-opus-5-5", dialect="native", environment=at(server))
        await model.reply(Request(messages=ASKED.messages, temperature=0.5))
    assert "temperature" not in server.requests[0].json
    assert server.requests[0].headers["anthropic-version"] == "2026-10-21"


@pytest.mark.row("S3")
async def test_a_hosted_model_is_told_names_that_it_takes_and_a_local_server_any() -> None:
    weather = Tool(name="查天气")
    said: list[JsonObject] = []

    def answer(asked: JsonObject) -> Reply:
        (tool,) = msgspec.convert(asked["tools"], list[JsonObject])
        function = msgspec.convert(tool["function"], JsonObject)
        said.append(function)
        return Reply.of(calls=[ToolCall("a", str(function["name"]), {}, raw="{}")])

    with ChatServer(answer) as server:
        for name, environment in (("openai:gpt-5", {"OPENAI_BASE_URL": server.url}), (f"{server.url}#m", {})):
            model = open_model(name, dialect="native", environment=environment)
            reply = await model.reply(Request(messages=[], tools=(weather,)))
            assert [call.name for call in reply.calls] == ["查天气"]
    assert [str(function["name"]).isascii() for function in said] == [True, False]


def test_a_model_is_passed_through_or_driven_by_text() -> None:
    model = ScriptedModel(["a"])
    assert open_model(model) is model
    assert open_model(model, dialect="native") is model
    prompted = open_model(model, dialect="react")
    assert isinstance(prompted, Prompted)
    assert prompted.model is model
    with pytest.raises(UsageError, match="openai_functions"):
        open_model(model, dialect="openai_functions")


def test_a_dialect_that_does_not_exist_is_told() -> None:
    for model in ("ollama:qwen3", ScriptedModel([])):
        with pytest.raises(UnknownName, match="react"):
            open_model(model, dialect="klingon")


def test_the_http_client_is_loaded_only_for_a_model_that_needs_it() -> None:
    code = (
        "import sys; from actum.models import open_model; from actum.testing import ScriptedModel\n"
        "open_model(ScriptedModel([]), dialect='react'); assert 'httpx2' not in sys.modules\n"
        "open_model('ollama:a'); assert 'httpx2' in sys.modules"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.row("S3")
@pytest.mark.parametrize("heard", [False, True])
async def test_one_flag_speaks_the_responses_api_to_a_provider_or_an_address(heard: bool) -> None:
    tool = Tool(name="查天气")

    def answer(asked: JsonObject) -> Reply:
        (written,) = msgspec.convert(asked["tools"], list[JsonObject])
        return Reply.of(calls=[ToolCall("a", str(written["name"]), {}, raw="{}")])

    with ChatServer(answer) as server:
        for name in ("openai:gpt-5", f"{server.url}#gpt-5"):
            model = open_model(name, dialect="openai_responses", environment={"OPENAI_BASE_URL": server.url})
            deltas: list[Delta] = []
            reply = await model.reply(Request(messages=[], tools=(tool,)), deltas.append if heard else None)
            assert [call.name for call in reply.calls] == ["查天气"]
            assert bool(deltas) is heard
    assert [asked.path for asked in server.requests] == ["/v1/responses"] * 2
    assert [asked.body.count("查天气".encode()) for asked in server.requests] == [1, 1]
    assert [b'"name":"tool_' in asked.body for asked in server.requests] == [True, False]


def test_a_key_and_an_address_are_given_by_hand() -> None:
    keys = {"OPENAI_API_KEY": "from the environment", "ACTUM_API_KEY": "of addresses"}
    placed = [
        ("openai:gpt-5", {"key": "mine"}, "https://api.openai.com/v1", "gpt-5", "mine"),
        ("openai:gpt-5", {"base_url": "http://proxy/v1"}, "http://proxy/v1", "gpt-5", "from the environment"),
        ("openai:gpt-5", {"base_url": "http://proxy/v1", "key": "mine"}, "http://proxy/v1", "gpt-5", "mine"),
        ("anthropic:claude", {"base_url": "http://proxy", "key": "mine"}, "http://proxy/v1", "claude", "mine"),
        ("qwen3:8b", {"base_url": "http://here/v1"}, "http://here/v1", "qwen3:8b", "of addresses"),
        ("http://here/v1#qwen3", {"key": "mine"}, "http://here/v1", "qwen3", "mine"),
    ]
    for name, given, url, model, key in placed:
        endpoint = endpoint_of(open_model(name, environment=keys, **given))  # type: ignore[arg-type]
        assert (endpoint.url, endpoint.model, endpoint._key) == (url, model, key), (name, given)
    endpoint = endpoint_of(open_model("ollama:qwen3", timeout_s=7, headers={"X-Team": "blue"}, environment={}))
    assert (endpoint.timeout_s, endpoint._headers["x-team"]) == (7, "blue")


def test_a_key_or_an_address_where_it_has_no_meaning_is_refused() -> None:
    wrong: list[tuple[object, dict[str, object], str]] = [
        ("embedded", {"key": "mine"}, "embedded is at no endpoint"),
        ("embedded", {"base_url": "http://here/v1"}, "embedded is at no endpoint"),
        (ScriptedModel(["x"]), {"timeout_s": 5}, "scripted is at no endpoint"),
        ("local:model", {"headers": {"X-Team": "blue"}}, "local:model is at no endpoint"),
        ("qwen3", {"key": "mine"}, "qwen3 is at no endpoint"),
        ("http://here/v1#qwen3", {"base_url": "http://there/v1"}, "has an address already"),
        ("qwen3", {"base_url": "http://here/v1#other"}, "base_url has a '#'"),
        ("openai:gpt-5", {"key": "mine", "headers": {"X Team": "blue"}}, "X Team"),
    ]
    for name, given, words in wrong:
        with pytest.raises(UsageError, match=words):
            open_model(name, environment={}, **given)  # type: ignore[arg-type]


def test_claude_says_how_long_an_answer_may_be_where_nothing_is_set() -> None:
    keys = {"ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "k"}
    assert default_max_tokens(open_model("anthropic:claude", environment=keys)) == 8192
    assert default_max_tokens(open_model("openai:gpt-5", environment=keys)) is None
    assert default_max_tokens(ScriptedModel(["x"])) is None


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("gpt-5", "openai:gpt-5"),
        ("opnai:gpt-5", "openai:gpt-5"),
        ("openai/gpt-5", "openai:gpt-5"),
        ("OpenAI:gpt-5", "openai:gpt-5"),
        ("o3", "openai:o3"),
        ("claude-opus-5-5", "anthropic:claude-opus-5-5"),
        ("qwen3:8b", "ollama:qwen3:8b"),
        ("olama:qwen3:8b", "ollama:qwen3:8b"),
        ("embeded", "embedded"),
    ],
)
def test_a_name_that_comes_near_one_is_asked_about(name: str, near: str) -> None:
    with pytest.raises(UnknownName, match=f"Did you mean {near}\\?"):
        open_model(name)


def test_a_name_that_is_near_to_none_is_not_asked_about() -> None:
    for name in ("", "nobody:m", ":", "x", "日本"):
        with pytest.raises(UnknownName) as raised:
            open_model(name)
        assert "Did you mean" not in str(raised.value), name
