"""The official clients, unmodified but for base URL and key, through the models door as the settings describe it."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from decimal import Decimal
from pathlib import Path

import anthropic
import openai
import pytest
from google import genai
from google.genai import errors as google_errors
from google.genai import types
from msgspec import structs
from pydantic import BaseModel

from actum.compose.settings import read_settings
from actum.compose.upstreams.passing import open_models_door
from actum.core.budget import Price
from actum.core.call import ToolCall
from actum.core.errors import UsageError
from actum.core.json import JsonObject
from actum.core.message import Reply, Usage
from actum.core.stored.key import Key, new_key
from actum.core.stored.passed import PassedRequests
from actum.server.access import Access
from actum.server.verifier import Keys
from actum.server.web_application import WebApplication, WebApplicationSettings
from actum.storage.sqlite import SQLiteJournal
from tests.chat_server import ChatServer, Raw
from tests.web import serving

TEXT, KEY = new_key("ana", principal="ana", scopes=("models",))
ADD: JsonObject = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}}
CALLS = [ToolCall("call_1", "add", {"a": 2, "b": 3}), ToolCall("call_2", "add", {"a": 4, "b": 5})]


def said(asked: JsonObject) -> Reply | Raw:
    """What the upstream's model says: parallel calls where there are tools, else a text in the form that was asked."""
    text = str(asked)
    is_seen = PIXEL in text or PIXEL.replace("+", "-").replace("/", "_") in text  # google-genai writes the second
    if "too much" in text:
        return Raw((b'{"error": {"message": "slow down", "type": "rate_limit_error"}}',), 429, {"retry-after": "0"})
    if "'add'" in text and "tool_call_id" not in text and "tool_use_id" not in text:
        reply = Reply.of(calls=CALLS)
    elif "schema" in text.lower():
        reply = Reply.of('{"name": "Ada", "age": 36}')
    else:
        reply = Reply.of("A picture of a cat." if is_seen else "Hello.")
    return structs.replace(reply, usage=Usage(1_000, 500), model="model-1", id="id-1")


@asynccontextmanager
async def opened(tmp_path: Path, api: str, *, key: Key = KEY) -> AsyncIterator[tuple[str, PassedRequests]]:
    """The door of a settings file, with an upstream of an API; its origin, and what it keeps."""
    with ChatServer(said) as server:
        url = server.url.replace("/v1", "/v1beta") if api == "gemini_content" else server.url
        (tmp_path / "actum.toml").write_text(
            f'[models.fast]\nupstreams = [{{ model = "{url}#model-1", api = "{api}", key = "${{UP_KEY}}" }}]\n'
            f'[models."gpt-*"]\nupstreams = [{{ model = "{url}#*", api = "{api}" }}]\n'
            '[prices.model-1]\ninput = "1"\noutput = "10"\n',
            "utf-8",
        )
        settings = read_settings(tmp_path, {}, {})
        journal = SQLiteJournal(tmp_path / f"{api}.db")
        door = open_models_door(settings, {"UP_KEY": "secret-of-the-operator"}, journal)
        assert door is not None
        application = WebApplication([door], WebApplicationSettings(access=Access(verifier=Keys([key]))))
        async with serving(application.app) as origin:
            kept = journal.passed
            assert kept is not None
            yield origin, kept
        for asked in server.requests:
            assert TEXT not in str(asked.headers) + asked.query + asked.body.decode()
        await journal.close()


class Person(BaseModel):
    """A structured answer."""

    name: str
    age: int


APIS = ("openai_chat", "openai_responses", "anthropic_messages", "gemini_content")
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


@pytest.mark.row("P1")
@pytest.mark.parametrize("api", APIS)
async def test_openai_works_unmodified(tmp_path: Path, api: str) -> None:
    async with opened(tmp_path, api) as (origin, kept), openai.AsyncOpenAI(base_url=f"{origin}/v1", api_key=TEXT) as ai:
        hello = [{"role": "user", "content": "Say hello."}]
        whole = await ai.chat.completions.create(model="fast", messages=hello)  # type: ignore[arg-type]
        assert (whole.choices[0].message.content, whole.usage and whole.usage.total_tokens) == ("Hello.", 1_500)
        async with ai.chat.completions.stream(model="gpt-4o", messages=hello) as stream:  # type: ignore[arg-type]
            events = [event.type async for event in stream]
            final = await stream.get_final_completion()
        assert ("content.delta" in events, final.choices[0].message.content) == (True, "Hello.")
        assert final.usage is None  # nobody asked
        tool = {"type": "function", "function": {"name": "add", "parameters": ADD}}
        called = await ai.chat.completions.create(model="fast", messages=hello, tools=[tool])  # type: ignore[arg-type,list-item]
        calls = called.choices[0].message.tool_calls or []
        assert [call.function.arguments.replace(" ", "") for call in calls if call.type == "function"] == [
            '{"a":2,"b":3}',
            '{"a":4,"b":5}',
        ]
        parsed = await ai.chat.completions.parse(model="fast", messages=hello, response_format=Person)  # type: ignore[arg-type]
        assert parsed.choices[0].message.parsed == Person(name="Ada", age=36)
        picture = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}
        seen = await ai.chat.completions.create(
            model="fast",
            messages=[{"role": "user", "content": [{"type": "text", "text": "What?"}, picture]}],  # type: ignore[list-item,misc]
        )
        assert seen.choices[0].message.content == "A picture of a cat."
        response = await ai.responses.create(model="fast", input="Say hello.")
        assert response.output_text == "Hello."
        async with ai.responses.stream(model="fast", input="Say hello.") as responding:
            assert (await responding.get_final_response()).output_text == "Hello."
        with pytest.raises(openai.NotFoundError, match="Did you mean fast"):
            await ai.chat.completions.create(model="fats", messages=hello)  # type: ignore[arg-type]
        with pytest.raises(openai.RateLimitError):
            await ai.with_options(max_retries=0).responses.create(model="fast", input="too much")
        with pytest.raises(openai.BadRequestError):
            await ai.post("/chat/completions", body={"model": 5}, cast_to=object)
        with pytest.raises(openai.AuthenticationError):
            await ai.with_options(api_key="ak_wrong").models.list()
        assert (await ai.models.list()).data[0].id == "fast"
        assert (await ai.models.retrieve("gpt-4o")).id == "gpt-4o"
        counted = await ai.responses.input_tokens.count(model="fast", input="Say hello.")
        assert (counted.object, 0 < counted.input_tokens < 60) == ("response.input_tokens", True)
        for absent in (
            ai.files.list(),
            ai.batches.list(),
            ai.moderations.create(input="?"),
            ai.images.generate(prompt="?"),
            ai.responses.compact(model="fast", input="Say hello."),
        ):
            with pytest.raises(openai.InternalServerError, match="This server does not serve /v1/") as told:
                await absent
            assert told.value.response.headers["x-should-retry"] == "false"
        sums = await kept.sums(0, 1e12)
        assert {each.key_id for each in sums} == {"ana"}
        priced = next(each for each in sums if each.model == "fast")
        assert priced.cost is not None
        assert priced.cost >= Price(input=Decimal(1), output=Decimal(10)).of(Usage(1_000, 500)) * 5


@pytest.mark.row("P1")
@pytest.mark.parametrize("api", APIS)
async def test_anthropic_works_unmodified(tmp_path: Path, api: str) -> None:
    async with opened(tmp_path, api) as (origin, _), anthropic.AsyncAnthropic(base_url=origin, api_key=TEXT) as ai:
        hello: list[anthropic.types.MessageParam] = [{"role": "user", "content": "Say hello."}]
        whole = await ai.messages.create(model="fast", max_tokens=99, messages=hello)
        assert (whole.content[0].type, whole.usage.output_tokens) == ("text", 500)
        assert whole.content[0].to_dict().get("citations", []) == []  # the AI SDK refuses null here
        async with ai.messages.stream(model="fast", max_tokens=99, messages=hello) as stream:
            assert "".join([text async for text in stream.text_stream]) == "Hello."
            assert (await stream.get_final_message()).stop_reason == "end_turn"
        tools: list[anthropic.types.ToolParam] = [{"name": "add", "input_schema": {"type": "object", **ADD}}]
        called = await ai.messages.create(model="fast", max_tokens=99, messages=hello, tools=tools)
        inputs = [block.input for block in called.content if block.type == "tool_use"]
        assert (inputs, called.stop_reason) == ([{"a": 2, "b": 3}, {"a": 4, "b": 5}], "tool_use")
        source: anthropic.types.Base64ImageSourceParam = {"type": "base64", "media_type": "image/png", "data": PIXEL}
        picture: anthropic.types.ImageBlockParam = {"type": "image", "source": source}
        seen = await ai.messages.create(
            model="fast", max_tokens=9, messages=[{"role": "user", "content": [picture, {"type": "text", "text": "?"}]}]
        )
        assert [block.text for block in seen.content if block.type == "text"] == ["A picture of a cat."]
        parsed = await ai.messages.parse(model="fast", max_tokens=99, messages=hello, output_format=Person)
        assert parsed.parsed_output == Person(name="Ada", age=36)
        counted = await ai.messages.count_tokens(model="fast", messages=hello) if api != APIS[2] else None
        assert counted is None or counted.input_tokens > 0
        if api != APIS[2]:  # which stores conversations by itself
            for thread in ({"type": "create"}, {"type": "continue", "previous_message_id": whole.id}):
                with pytest.raises(anthropic.BadRequestError, match="send all messages") as refused:
                    await ai.messages.create(model="fast", max_tokens=9, messages=hello, extra_body={"thread": thread})
                details: JsonObject = refused.value.body["error"]["details"]  # type: ignore[index]
                assert details["error_code"] == "thread_unsupported_request"  # by which it sends all of it instead
        with pytest.raises(anthropic.NotFoundError):
            await ai.messages.create(model="fats", max_tokens=99, messages=hello)
        with pytest.raises(anthropic.RateLimitError):
            await ai.with_options(max_retries=0).messages.create(
                model="fast", max_tokens=9, messages=[{"role": "user", "content": "too much"}]
            )
        with pytest.raises(anthropic.AuthenticationError):
            await ai.with_options(api_key="ak_wrong").messages.create(model="fast", max_tokens=9, messages=hello)
        assert (await ai.models.list()).data[0].id == "fast"
        with pytest.raises(anthropic.InternalServerError, match="not serve /v1/messages/batches") as absent:
            await ai.messages.batches.create(requests=[])
        assert absent.value.response.headers["x-should-retry"] == "false"


@pytest.mark.parametrize("api", APIS)
async def test_google_genai_works_unmodified(tmp_path: Path, api: str) -> None:
    async with opened(tmp_path, api) as (origin, _):
        for version in ("v1beta", "v1"):
            options = types.HttpOptions(base_url=origin, api_version=version)
            ai = genai.Client(api_key=TEXT, http_options=options).aio
            whole = await ai.models.generate_content(model="fast", contents="Say hello.")
            assert whole.text == "Hello."
            stream = await ai.models.generate_content_stream(model="fast", contents="Say hello.")
            assert "".join([part.text or "" async for part in stream]) == "Hello."
            tool = types.Tool(function_declarations=[types.FunctionDeclaration(name="add", parameters_json_schema=ADD)])
            called = await ai.models.generate_content(
                model="fast", contents="Say hello.", config=types.GenerateContentConfig(tools=[tool])
            )
            assert [call.args for call in called.function_calls or []] == [{"a": 2, "b": 3}, {"a": 4, "b": 5}]
            picture = types.Part.from_bytes(data=base64.b64decode(PIXEL), mime_type="image/png")
            seen = await ai.models.generate_content(
                model="fast", contents=types.Content(parts=[picture, types.Part.from_text(text="What?")])
            )
            assert seen.text == "A picture of a cat."
            form = types.GenerateContentConfig(response_mime_type="application/json", response_schema=Person)
            parsed = await ai.models.generate_content(model="fast", contents="Who?", config=form)
            assert parsed.parsed == Person(name="Ada", age=36)
            with pytest.raises(google_errors.ClientError) as refused:
                await ai.models.generate_content(model="fats", contents="Say hello.")
            assert (refused.value.code, refused.value.status) == (404, "NOT_FOUND")
            assert [each.name async for each in await ai.models.list()] == ["models/fast"]
            assert (await ai.models.get(model="fast")).name == "models/fast"
            with pytest.raises(google_errors.ClientError) as refused:
                await ai.models.get(model="fats")
            assert (refused.value.code, refused.value.status) == (404, "NOT_FOUND")
            if api != "gemini_content":  # which counts by itself
                counted = await ai.models.count_tokens(model="fast", contents="Say hello.")
                assert 0 < (counted.total_tokens or 0) < 60
            with pytest.raises(google_errors.APIError, match=r"There is nothing at this path|does not serve") as absent:
                await ai.files.list()
            assert absent.value.code in (404, 501)
            await ai.aclose()


async def test_a_key_without_the_scope_is_refused_and_a_key_for_other_models_sees_none(tmp_path: Path) -> None:
    for key, error in (
        (structs.replace(KEY, scopes=()), openai.PermissionDeniedError),
        (structs.replace(KEY, models=("other",)), openai.NotFoundError),
    ):
        async with (
            opened(tmp_path, APIS[0], key=key) as (origin, _),
            openai.AsyncOpenAI(base_url=f"{origin}/v1", api_key=TEXT) as ai,
        ):
            with pytest.raises(error):
                await ai.chat.completions.create(model="fast", messages=[{"role": "user", "content": "Hi"}])


def test_settings_that_can_not_be_are_told_at_the_start(tmp_path: Path) -> None:
    wrong = {
        '[models.a]\nagent = "desk"\nupstreams = ["openai:x"]': "means two things",
        '[models.a]\nagent = "desks"': "there is no agent 'desks'",
        "[models.a]": "needs upstreams",
        '[models.a]\nupstreams = ["http://127.0.0.1:1/v1"]': "which model",
        '[models.a]\nupstreams = ["http://u:s3cr3t@127.0.0.1:1/v1#m"]': "no address",
        '[models.a]\nupstreams = ["opnai:x"]': "there is no model called",
        '[models.a]\nupstreams = ["openai:x"]': "needs a key",
        '[models.a]\nupstreams = [{ model = "http://h/v1#m", key = "sk-s3cr3t" }]': "does not belong into a file",
        '[models.a]\nupstreams = [{ model = "http://h/v1#m", key = "${GONE}" }]': "is not there",
        '[models."a*"]\nupstreams = ["http://h/v1#*"]\n[models."ab*"]\nupstreams = ["http://h/v1#*"]': "two things",
    }
    for text, told in wrong.items():
        (tmp_path / "actum.toml").write_text(text, "utf-8")
        with pytest.raises(UsageError, match=told) as found:
            open_models_door(read_settings(tmp_path, {}, {}), {}, SQLiteJournal(tmp_path / "x.db"), ["desk"])
        assert "s3cr3t" not in str(found.value), text


async def test_thirty_clients_at_once_get_their_own_answers(tmp_path: Path) -> None:
    async with opened(tmp_path, APIS[0]) as (origin, kept):
        async with openai.AsyncOpenAI(base_url=f"{origin}/v1", api_key=TEXT) as ai:
            made = [
                ai.chat.completions.create(model="fast", messages=[{"role": "user", "content": f"Hi {number}"}])
                for number in range(30)
            ]
            assert {answer.choices[0].message.content for answer in await asyncio.gather(*made)} == {"Hello."}
        (summed,) = await kept.sums(0, 1e12)
        assert (summed.requests, summed.failed) == (30, 0)
