"""An official client raises its right exception at what we answer; our own client reads the same error."""

from __future__ import annotations

import anthropic
import openai
import pytest
from google.genai import errors as google

from actum.core.errors import (
    ActumError,
    BudgetExceeded,
    JournalError,
    ModelError,
    ModelGarbled,
    ModelRejected,
    ModelUnavailable,
    PermissionDenied,
    UnknownName,
    UsageError,
)
from actum.core.event import CallDelta, TextDelta
from actum.dialects import dialect
from actum.dialects.base import ApiDialect
from actum.dialects.catalog import ApiName
from actum.dialects.error_answer import status_of
from tests.chat_server import ChatServer, Raw
from tests.official_clients import official_client

NAMES: tuple[ApiName, ...] = ("anthropic_messages", "gemini_content", "openai_chat", "openai_responses")
APIS: dict[str, ApiDialect] = {name: dialect(name) for name in NAMES}

SLOW = ModelUnavailable("Slow down.", status=429, retry_after=6.2)
ERRORS: list[tuple[ActumError, str]] = [
    (SLOW, "RateLimitError"),
    (UsageError("messages[0]: no"), "BadRequestError"),
    (ModelRejected("No such key.", status=401), "AuthenticationError"),
    (PermissionDenied("Not you."), "PermissionDeniedError"),
    (UnknownName("There is no model m."), "NotFoundError"),
    (ModelGarbled("?"), "InternalServerError"),
]


async def raised_by(name: str, answer: Raw, *, streamed: bool) -> Exception:
    """The exception of the official client."""
    with ChatServer([answer]) as server:
        async with official_client(name, server.url) as ask:
            with pytest.raises((openai.APIError, anthropic.APIError, google.APIError)) as raised:
                await ask(streamed=streamed)
    return raised.value


@pytest.mark.row("S9")
@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize(("error", "kind"), ERRORS, ids=[kind for _, kind in ERRORS])
@pytest.mark.parametrize("name", APIS)
async def test_the_official_client_raises_its_right_exception(
    name: str, error: ActumError, kind: str, streamed: bool
) -> None:
    answer = APIS[name].encode_error(error)
    raised = await raised_by(name, Raw((answer.body,), answer.status, answer.headers), streamed=streamed)
    assert str(error) in str(raised)
    if isinstance(raised, google.APIError):
        assert type(raised) is (google.ClientError if status_of(error) < 500 else google.ServerError)
        assert raised.code == status_of(error)
    else:
        module = anthropic if name == "anthropic_messages" else openai
        assert isinstance(raised, getattr(module, kind))
        assert isinstance(raised, openai.APIStatusError | anthropic.APIStatusError)
        assert raised.response.headers.get("retry-after") == ("7" if error is SLOW else None)


@pytest.mark.parametrize("name", APIS)
def test_our_own_client_reads_the_error_that_was_meant(name: str) -> None:
    answer = APIS[name].encode_error(SLOW)
    error = APIS[name].decode_error(answer.status, None, answer.body)
    assert isinstance(error, ModelUnavailable)
    assert (error.status, error.retry_after) == (429, 6.2 if name == "gemini_content" else None)
    assert "Slow down." in str(error)


@pytest.mark.row("S9")
@pytest.mark.parametrize("began", [False, True])
@pytest.mark.parametrize("name", APIS)
async def test_an_error_in_mid_stream_is_raised_by_the_official_client_and_by_ours(name: str, began: bool) -> None:
    encoder = APIS[name].encoder(id_="x", model="m")
    told = encoder.feed(TextDelta("I look.")) + encoder.feed(CallDelta(0, "f", '{"a"', "c")) if began else b""
    wire = told + encoder.fail(ModelUnavailable("The model is too busy.", status=503))
    answer = Raw((wire,), headers={"content-type": "text/event-stream"})
    assert "The model is too busy." in str(await raised_by(name, answer, streamed=True))
    decoder = APIS[name].decoder()
    with pytest.raises(ModelUnavailable, match="too busy"):
        decoder.feed(wire)


@pytest.mark.parametrize("name", ["ollama_generate", "openai_completions"])
def test_an_api_that_says_no_calls_tells_its_client_of_an_error_too(name: str) -> None:
    api = dialect(name)
    assert isinstance(api, ApiDialect)
    answer = api.encode_error(SLOW)
    error = api.decode_error(answer.status, None, answer.body)
    assert (type(error), error.status, "Slow down." in str(error)) == (ModelUnavailable, 429, True)
    with pytest.raises(ModelError, match=r"Slow down\."):
        api.decoder().feed(api.encoder().feed(TextDelta("I look.")) + api.encoder().fail(SLOW))


async def test_an_error_in_mid_stream_tells_anthropic_which_exception_it_is() -> None:
    wire = APIS["anthropic_messages"].encoder().fail(SLOW)
    raised = await raised_by(
        "anthropic_messages", Raw((wire,), headers={"content-type": "text/event-stream"}), streamed=True
    )
    assert isinstance(raised, anthropic.APIStatusError)
    assert isinstance(raised.body, dict)
    assert raised.body["error"] == {"type": "rate_limit_error", "message": "Slow down."}


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (ModelError("?"), 500),
        (ModelUnavailable("?"), 503),
        (ModelGarbled("?", status=200), 502),
        (ModelRejected("?", status=413), 413),
        (BudgetExceeded("?"), 429),
        (JournalError("?"), 500),
    ],
)
def test_an_error_without_a_status_gets_that_of_its_kind(error: ActumError, status: int) -> None:
    assert status_of(error) == status


@pytest.mark.parametrize("name", APIS)
def test_an_error_of_our_own_house_is_not_told_outside(name: str) -> None:
    answer = APIS[name].encode_error(JournalError("can't write /home/ada/runs.db"))
    assert b"ada" not in answer.body
    assert b"internal error" in answer.body
