"""A signature goes to the family that made it, and travels unharmed through a client of any other."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actum.core.call import TextPart
from actum.core.json import JsonObject
from actum.core.message import Message, ReasoningPart, Reply, UserMessage
from actum.core.model import Request
from actum.dialects import dialect
from actum.dialects.api.signatures import carried, claimed
from actum.dialects.base import ApiDialect
from actum.dialects.catalog import ApiName

SIGNED = {"anthropic_messages": "anthropic", "gemini_content": "gemini", "openai_responses": "openai"}
NAMES: tuple[ApiName, ...] = (
    *("anthropic_messages", "gemini_content", "openai_responses"),
    *("openai_chat", "openai_functions"),
)
APIS: dict[str, ApiDialect] = {name: dialect(name) for name in NAMES}
MESSAGES = {"anthropic_messages": "messages", "gemini_content": "contents", "openai_responses": "input"}


def handed_back(api: ApiDialect, reply: Reply) -> Message:
    """What a server reads of its own answer when a client sends it again."""
    body = msgspec.json.decode(api.encode_reply(reply), type=JsonObject)
    match body:
        case {"candidates": [{"content": content}]}:
            said: object = [content]
        case {"output": output}:
            said = output
        case _:
            said = [{"role": "assistant", "content": body["content"]}]
    request = api.decode_request(msgspec.json.encode({MESSAGES[api.name]: said}))
    return request.messages[-1]


@pytest.mark.row("S9")
@pytest.mark.parametrize("by", SIGNED.values())
@pytest.mark.parametrize("name", APIS)
def test_a_signature_is_sent_to_the_family_that_made_it_and_to_no_other(name: str, by: str) -> None:
    said = Reply((ReasoningPart("Hm.", "c2lnbmVk", by=by), TextPart("Yes.")))
    sent = APIS[name].encode_request(Request(messages=[UserMessage.of("?"), said]))
    assert (b"c2lnbmVk" in sent) == (SIGNED.get(name) == by)
    assert b"YWN0dW06" not in sent  # wrapped, it would be refused as well
    assert b"Yes." in sent


@pytest.mark.row("S9")
@pytest.mark.parametrize("by", SIGNED.values())
@pytest.mark.parametrize("name", SIGNED)
def test_a_signature_comes_back_from_a_client_of_any_api(name: str, by: str) -> None:
    redacted = [ReasoningPart("", "cmVk", True, by)] if by == "anthropic" else []
    said = Reply((ReasoningPart("Hm.", "c2lnbmVk", by=by), *redacted, TextPart("Yes.")), id="x")
    back = handed_back(APIS[name], said)
    assert isinstance(back, Reply)
    assert back.content == said.content


def test_a_wrapped_signature_is_opaque_to_who_is_not_the_server_that_wrapped_it() -> None:
    said = Reply((ReasoningPart("Hm.", "c2lnbmVk", by="anthropic"),), id="x")
    api = APIS["gemini_content"]
    read = api.decode(api.encode_reply(said))
    (thought,) = read.content
    assert isinstance(thought, ReasoningPart)
    assert thought.by == "gemini"  # so that it goes back to where it came from
    assert claimed(read).content == said.content


@given(st.text(max_size=20), st.sampled_from(["anthropic", "gemini", "openai"]), st.booleans())
def test_what_is_wrapped_is_unwrapped(signature: str, by: str, redacted: bool) -> None:
    signature = signature.encode("utf-8", "replace").decode() or "s"
    for family in SIGNED.values():
        part = ReasoningPart("", signature, redacted, by)
        handed = ReasoningPart("", carried(part, family), redacted and family == "anthropic", family)
        assert claimed(Reply((handed,))).content == (part,)


@pytest.mark.parametrize("signature", ["YWN0dW06", "YWN0dW06!", "YWN0dW06/w==", "YWN0dW06eDp5"])
def test_what_only_looks_wrapped_is_left_as_it_is(signature: str) -> None:
    reply = Reply((ReasoningPart("", signature, by="openai"), TextPart("x")))
    assert claimed(reply) == reply
