"""How a run that ended otherwise than done is told at every model API, whole and streamed, by the official clients with
their default retries: no answer makes a client send its request again, so each ending has one run and one effect.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import anthropic
import httpx2
import openai
import pytest
from google import genai
from google.genai import errors as google_errors
from msgspec import Struct, structs

from actum import tool
from actum.call.limits.limits import Limits
from actum.core.call import ToolCall
from actum.core.errors import ContextOverflow, ModelGarbled, ModelUnavailable
from actum.core.message import Reply, ToolMessage
from actum.core.model import Request
from actum.policy.rules import Rule, Rules
from actum.testing import ScriptedModel
from tests.patience import HANGS_S
from tests.server.models.desk import Desk, desk
from tests.server.models.test_agents import AnyClient, anthropic_of, openai_of

SCHEMA = {"type": "object", "required": ["paid"], "properties": {"paid": {"type": "integer"}}}
FORM: dict[str, dict[str, Any]] = {
    "chat": {
        "response_format": {"type": "json_schema", "json_schema": {"name": "x", "strict": True, "schema": SCHEMA}}
    },
    "responses": {"text": {"format": {"type": "json_schema", "name": "x", "strict": True, "schema": SCHEMA}}},
    "messages": {"output_config": {"format": {"type": "json_schema", "schema": SCHEMA}}},
    "gemini": {"config": {"response_mime_type": "application/json", "response_json_schema": SCHEMA}},
}
ASK = [{"role": "user", "content": "Pay."}]
ADDRESS = "http://10.9.8.7:8123/v1"


class Ending(Struct, frozen=True):
    """A way in which a run ends.

    Attributes:
        says: what the model says once it has paid, again and again.
        status: what the header says.
        told: by API, why the answer ends; `error` for an error of the API.
        limits: of the agent.
        form: the client demands a form.
        policy: of the agent.
        hangs: the tool waits until its run is cancelled.
    """

    says: str | Reply | Exception
    status: str
    told: dict[str, str]
    limits: Limits | None = None
    form: bool = False
    policy: Rules | None = None
    hangs: bool = False


def ends(chat: str, responses: str, messages: str, gemini: str) -> dict[str, str]:
    """Why an answer ends, by API."""
    same = dict.fromkeys(("chat", "completions", "functions"), chat)
    return {**same, "responses": responses, "messages": messages, "gemini": gemini}


PAYS = Reply.of("I pay.", [ToolCall("call_0", "pay", {"euros": 20})])
LOOK = Reply.of("I look.", [ToolCall("call_0", "look", {})])
DONE = ends("stop", "completed", "end_turn", "STOP")
LIMIT = ends("length", "incomplete max_output_tokens", "max_tokens", "MAX_TOKENS")
FILTER = ends("content_filter", "incomplete content_filter", "refusal", "SAFETY")
CANCELLED = ends("length", "cancelled ", "max_tokens", "OTHER")
PAUSED = ends("length", "completed", "pause_turn", "OTHER")
ERROR = ends("error", "error", "error", "error")
ENDINGS = {
    "done": Ending("Paid.", "done", DONE),
    "a limit of steps": Ending("Paid.", "stopped", LIMIT, limits=Limits(steps=1)),
    "a limit of calls": Ending(PAYS, "stopped", LIMIT, limits=Limits(calls=1, repeats=1)),
    "a limit and a form": Ending("Paid.", "stopped", LIMIT, limits=Limits(steps=1), form=True),
    "a loop": Ending(LOOK, "stopped", LIMIT),
    "cut off": Ending(structs.replace(Reply.of("Paid, and"), finish_reason="max_tokens"), "stopped", LIMIT),
    "filtered": Ending(structs.replace(Reply.of("Paid"), finish_reason="SAFETY"), "stopped", FILTER),
    "no form": Ending("Paid in full.", "failed", ERROR, form=True),
    "unavailable": Ending(ModelUnavailable(f"{ADDRESS} is away", status=503), "failed", ERROR),
    "slow down": Ending(ModelUnavailable(f"{ADDRESS} says: slow down", status=429), "failed", ERROR),
    "garbled": Ending(ModelGarbled(f"{ADDRESS} talks nonsense", status=502), "failed", ERROR),
    "too long": Ending(ContextOverflow(f"{ADDRESS} reads no more", status=400), "failed", ERROR),
    "a bug": Ending(RuntimeError(f"a bug at {ADDRESS}"), "failed", ERROR),
    "waits": Ending("Paid.", "paused", PAUSED, policy=Rules(Rule("ask", ["pay"]))),
    "waits, with a form": Ending("Paid.", "paused", PAUSED, policy=Rules(Rule("ask", ["pay"])), form=True),
    "cancelled": Ending("Paid.", "cancelled", CANCELLED, hangs=True),
}


class Heard(NamedTuple):
    """What a client understood.

    Attributes:
        why: why the answer ended; `error` where the client raised one.
        text: all words, of an error too.
        headers: of a whole answer.
        status: of HTTP.
    """

    why: str
    text: str
    headers: Any = None
    status: int = 200


class Asking(NamedTuple):
    """One way to ask."""

    api: str
    stream: bool
    ask: Callable[[Desk, dict[str, Any]], Awaitable[Heard]]


async def _chat(server: Desk, more: dict[str, Any]) -> Heard:
    async with openai_of(server) as client:
        raw = await client.chat.completions.with_raw_response.create(model="desk", messages=ASK, **more)
        choice = raw.parse().choices[0]
        return Heard(choice.finish_reason, choice.message.content, raw.headers)


async def _chat_streamed(server: Desk, more: dict[str, Any]) -> Heard:
    async with openai_of(server) as client:
        text, why = "", ""
        try:
            async for chunk in await client.chat.completions.create(model="desk", messages=ASK, stream=True, **more):
                text += chunk.choices[0].delta.content or ""
                why = chunk.choices[0].finish_reason or why
        except openai.APIError as error:
            return Heard("error", text + str(error))
        return Heard(why, text)


async def _functions(server: Desk, more: dict[str, Any]) -> Heard:
    return await _chat(server, {**more, "functions": [{"name": "f", "parameters": {"type": "object"}}]})


async def _completions(server: Desk, more: dict[str, Any]) -> Heard:
    async with openai_of(server) as client:
        raw = await client.completions.with_raw_response.create(model="desk", prompt="Pay.")
        return Heard(raw.parse().choices[0].finish_reason, raw.parse().choices[0].text, raw.headers)


async def _completions_streamed(server: Desk, more: dict[str, Any]) -> Heard:
    async with openai_of(server) as client:
        text, why = "", ""
        try:
            async for chunk in await client.completions.create(model="desk", prompt="Pay.", stream=True):
                if chunk.choices:
                    text, why = text + chunk.choices[0].text, chunk.choices[0].finish_reason or why
        except openai.APIError as error:
            return Heard("error", text + str(error))
        return Heard(why, text)


def _of_response(response: AnyClient) -> str:
    details = response.incomplete_details
    reason = f" {details.reason if details else ''}" if response.status in ("incomplete", "cancelled") else ""
    return f"{response.status}{reason}"


async def _responses(server: Desk, more: dict[str, Any]) -> Heard:
    async with openai_of(server) as client:
        raw = await client.responses.with_raw_response.create(model="desk", input="Pay.", **more)
        response = raw.parse()
        return Heard(_of_response(response), str(response.output), raw.headers)


async def _responses_streamed(server: Desk, more: dict[str, Any]) -> Heard:
    async with openai_of(server) as client:
        text, last = "", None
        try:
            async for event in await client.responses.create(model="desk", input="Pay.", stream=True, **more):
                text += str(event)
                last = event
        except openai.APIError as error:
            return Heard("error", text + str(error))
        assert last is not None
        assert (last.type == "response.completed") == (last.response.status == "completed")
        return Heard(_of_response(last.response), text)


async def _messages(server: Desk, more: dict[str, Any]) -> Heard:
    async with anthropic_of(server) as client:
        raw = await client.messages.with_raw_response.create(model="desk", max_tokens=99, messages=ASK, **more)
        message = await raw.parse()
        return Heard(message.stop_reason, str(message.content), raw.headers)


async def _messages_streamed(server: Desk, more: dict[str, Any]) -> Heard:
    async with anthropic_of(server) as client:
        text, why = "", ""
        try:
            stream = await client.messages.create(model="desk", max_tokens=99, messages=ASK, stream=True, **more)
            async for event in stream:
                text += str(event)
                why = event.delta.stop_reason if event.type == "message_delta" else why
        except anthropic.APIError as error:
            return Heard("error", text + str(error))
        return Heard(why, text)


RETRYING = genai.types.HttpRetryOptions(initial_delay=0.01, max_delay=0.01)
"""The client's own retries, at once: by default it makes none."""


@asynccontextmanager
async def _google(server: Desk) -> AsyncIterator[AnyClient]:
    options = genai.types.HttpOptions(base_url=server.url, retry_options=RETRYING)
    client = genai.Client(api_key=server.keys["ann"], http_options=options).aio
    try:
        yield client
    finally:
        await client.aclose()


async def _gemini(server: Desk, more: dict[str, Any]) -> Heard:
    async with _google(server) as client:
        answer = await client.models.generate_content(model="desk", contents="Pay.", **more)
        return Heard(answer.candidates[0].finish_reason.value, answer.text or "", answer.sdk_http_response.headers)


async def _gemini_streamed(server: Desk, more: dict[str, Any]) -> Heard:
    text, why = "", ""
    async with _google(server) as client:
        try:
            pieces = await client.models.generate_content_stream(model="desk", contents="Pay.", **more)
            async for piece in pieces:
                text += piece.text or ""
                why = piece.candidates[0].finish_reason.value if piece.candidates[0].finish_reason else why
        except google_errors.APIError as error:
            return Heard("error", text + str(error))
    return Heard(why, text)


ASKING = (
    Asking("chat", stream=False, ask=_chat),
    Asking("chat", stream=True, ask=_chat_streamed),
    Asking("functions", stream=False, ask=_functions),
    Asking("completions", stream=False, ask=_completions),
    Asking("completions", stream=True, ask=_completions_streamed),
    Asking("responses", stream=False, ask=_responses),
    Asking("responses", stream=True, ask=_responses_streamed),
    Asking("messages", stream=False, ask=_messages),
    Asking("messages", stream=True, ask=_messages_streamed),
    Asking("gemini", stream=False, ask=_gemini),
    Asking("gemini", stream=True, ask=_gemini_streamed),
)


class Paying:
    """A server whose agent pays and then ends in one way.

    Attributes:
        paid: what was paid.
    """

    def __init__(self, ending: Ending) -> None:
        self.paid: list[int] = []
        self._ending = ending
        self._begun = asyncio.Event()

    async def _pay(self, euros: int) -> str:
        """Pay."""
        self.paid.append(euros)
        self._begun.set()
        if self._ending.hangs:
            await asyncio.Event().wait()
        return f"paid {euros}"

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[Desk]:
        def look() -> str:
            """Look."""
            return "nothing"

        def says(request: Request) -> str | Reply | Exception:
            is_paid = any(isinstance(message, ToolMessage) for message in request.messages)
            return self._ending.says if is_paid else PAYS

        model = ScriptedModel(says)
        tools: list[Callable[..., object]] = [tool(name="pay", effects={"spend"})(self._pay), look]
        policy = self._ending.policy or Rules(Rule("allow", ["*"]))
        async with desk([], tools, policy=policy, model=model, limits=self._ending.limits) as server:
            yield server

    async def cancel(self, server: Desk) -> None:
        """Somebody cancels the run while it pays."""
        await self._begun.wait()
        (run,) = await server.journal.runs()
        headers = {"authorization": f"Bearer {server.keys['ann']}"}
        async with httpx2.AsyncClient(base_url=server.url, timeout=HANGS_S) as http:
            assert (await http.post(f"/v1/runs/{run.run_id}/cancel", json={}, headers=headers)).status_code == 200


async def heard_by(asking: Asking, server: Desk, more: dict[str, Any]) -> Heard:
    """What a client hears; of an error before the answer the status, the headers and the body."""
    try:
        return await asking.ask(server, more)
    except (openai.APIStatusError, anthropic.APIStatusError) as error:
        return Heard("error", error.response.text, error.response.headers, error.status_code)
    except google_errors.APIError as error:
        return Heard("error", str(error.details), error.response.headers, error.code)


@pytest.mark.row("S9")
@pytest.mark.parametrize("name", ENDINGS)
async def test_an_ending_is_told_in_the_words_of_each_api_and_no_client_asks_again(name: str) -> None:
    ending = ENDINGS[name]
    for asking in ASKING:
        if ending.form and asking.api not in FORM:
            continue
        paying, case = Paying(ending), (name, asking.api, asking.stream)
        more = FORM[asking.api] if ending.form else {}
        async with paying.serving() as server:
            if ending.hangs:
                heard, _ = await asyncio.gather(heard_by(asking, server, more), paying.cancel(server))
            else:
                heard = await heard_by(asking, server, more)
            assert heard.why == ending.told[asking.api], (case, heard)
            assert heard.status in (200, 400, 422), (case, heard)
            assert len(await server.journal.runs()) == 1, case
            assert paying.paid == ([] if ending.status == "paused" else [20]), case
            if not asking.stream:
                assert heard.headers["x-actum-status"] == ending.status, (case, heard.headers)
                assert (heard.headers.get("x-should-retry") == "false") == (heard.why == "error"), case
            if not (ending.form and heard.why != "error"):
                assert "I pay." in heard.text or ending.form, (case, heard.text)
            if heard.why == "error" and not asking.stream:
                assert "paid 20" in heard.text, (case, heard.text)  # what was called is told as well
            if ending.form and heard.why == "error":
                assert "Paid in full." in heard.text, (case, heard.text)
            seen = re.sub("[0-9a-f]{16,}", "", f"{heard.text} {heard.headers}")  # an id may hold any digits
            for word in ("10.9.8.7", "8123", "://"):
                assert word not in seen, (case, seen)
