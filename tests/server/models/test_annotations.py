"""Official clients of an agent that cites are told where each reference leads, with a stream as with a whole answer."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import openai
import pytest
from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseOutputItemDoneEvent,
    ResponseOutputMessage,
    ResponseOutputText,
    ResponseOutputTextAnnotationAddedEvent,
)

from actum import ToolCall
from actum.core.message import Reply
from actum.knowledge.browsing.browser import KnowledgeTool
from actum.knowledge.collections import CollectionUser, make
from actum.knowledge.documents import put_document
from actum.knowledge.jailed_reader import JailedReader
from tests.server.models.desk import desk

pytestmark = pytest.mark.row("T7")
ANN = CollectionUser("", "ann")
TRAVEL = b"# Travel\n\nA hotel may cost at most 120 euros a night."
QUOTED = "A hotel may cost at most 120 euros a night"
ASKED = "What may a hotel cost?"
ANSWER = "In \u4f60\u597d \U0001f3e8 at most 120 euros [1]."
URL = {"title": "Travel", "url": "knowledge:handbook/travel.md", "start_index": 26, "end_index": 29}
LATER = {**URL, "start_index": 40, "end_index": 43}
"""Where the reference stands behind the words that the model says before its first call, as Chat Completions has it."""
TURN: list[str | Reply] = [
    Reply.of("I look it up", [ToolCall("a", "search_handbook", {"query": "hotel"})]),
    Reply.of(calls=[ToolCall("b", "quote", {"text": QUOTED})]),
    ANSWER,
]


def again(answer: str) -> list[str | Reply]:
    """A turn behind the first, which cites the first again before its calls."""
    return [Reply.of("As said [1], and once more", TURN[0].calls), TURN[1], answer]  # type: ignore[union-attr]


@pytest.fixture
async def client() -> AsyncIterator[openai.AsyncOpenAI]:
    async with client_of([*TURN, *TURN]) as made:
        yield made


@asynccontextmanager
async def client_of(script: list[str | Reply]) -> AsyncIterator[openai.AsyncOpenAI]:
    """A client of an agent that cites, whose model says what stands in a script."""
    async with desk(script, [KnowledgeTool("handbook")], cite="mark") as server:
        await make(server.journal, ANN, "handbook")
        async with JailedReader() as reader:
            await put_document(server.journal, ANN, "handbook", "travel.md", TRAVEL, reader)
        async with openai.AsyncOpenAI(base_url=f"{server.url}/v1", api_key=server.keys["personal"]) as made:
            yield made


async def test_a_stream_of_chat_completions_has_annotations_before_its_end(client: openai.AsyncOpenAI) -> None:
    kinds: list[str] = []
    async with client.chat.completions.stream(model="desk", messages=[{"role": "user", "content": ASKED}]) as stream:
        async for event in stream:
            for choice in event.chunk.choices if event.type == "chunk" else ():
                is_cited = "annotations" in (choice.delta.model_extra or {})
                kinds += ["annotations"] if is_cited else [choice.finish_reason] if choice.finish_reason else []
        streamed = (await stream.get_final_completion()).choices[0].message
    assert kinds == ["annotations", "stop"]
    whole = await client.chat.completions.create(model="desk", messages=[{"role": "user", "content": ASKED}])
    for message in (streamed, whole.choices[0].message):
        assert message.to_dict()["annotations"] == [{"type": "url_citation", "url_citation": LATER}]
        assert (message.content or "")[40:43] == "[1]"


async def test_a_stream_of_responses_tells_annotations_before_its_text_is_done(client: openai.AsyncOpenAI) -> None:
    kinds: list[str] = []
    found: list[object] = []
    items: list[ResponseOutputMessage] = []
    streamed: Response | None = None
    async for event in await client.responses.create(model="desk", input=ASKED, stream=True):
        kinds.append(event.type)
        match event:
            case ResponseOutputTextAnnotationAddedEvent(annotation_index=index, annotation=annotation):
                found.append((index, event.output_index, annotation.to_dict() if annotation else None))
            case ResponseOutputItemDoneEvent(item=ResponseOutputMessage() as item):
                items.append(item)
            case ResponseCompletedEvent(response=streamed):
                pass
            case _:
                pass
    last = kinds[::-1]
    assert last.index("response.output_text.annotation.added") == last.index("response.output_text.done") + 1
    assert streamed is not None
    place = len(streamed.output) - 1
    assert found == [(0, place, {"type": "url_citation", **URL})]
    assert items[-1] == streamed.output[place]
    whole = await client.responses.create(model="desk", input=ASKED)
    told = [("I look it up", []), (ANSWER, [{"type": "url_citation", **URL}])]
    assert annotated(streamed) == annotated(whole) == told


async def test_a_reference_of_an_earlier_turn_is_annotated_where_its_text_ends() -> None:
    items: list[ResponseOutputMessage] = []
    streamed: Response | None = None
    async with client_of([*TURN, *again("At most 120 euros [1][2].")]) as client:
        first = await client.responses.create(model="desk", input=ASKED)
        async for event in await client.responses.create(
            model="desk", input=ASKED, stream=True, previous_response_id=first.id
        ):
            match event:
                case ResponseOutputItemDoneEvent(item=ResponseOutputMessage() as item):
                    items.append(item)
                case ResponseCompletedEvent(response=streamed):
                    pass
                case _:
                    pass
        assert streamed is not None
        assert items == [each for each in streamed.output if isinstance(each, ResponseOutputMessage)]
        assert [(text, len(found)) for text, found in annotated(streamed)] == [
            ("As said [1], and once more", 1),
            ("At most 120 euros [1][2].", 2),
        ]
        assert annotated(await client.responses.retrieve(streamed.id)) == annotated(streamed)


async def test_a_number_that_the_history_of_a_client_cites_is_not_given_again() -> None:
    async with client_of(again("At most 120 euros [2].")) as client:
        told = await client.chat.completions.create(
            model="desk",
            messages=[
                {"role": "user", "content": ASKED},
                {"role": "assistant", "content": "It was 120 euros [1]."},
                {"role": "user", "content": ASKED},
            ],
        )
        message = told.choices[0].message
        assert (message.content or "").endswith("At most 120 euros [2].")
        assert [each.url_citation.title for each in message.annotations or ()] == ["Travel"]


def annotated(response: Response) -> list[tuple[str, list[object]]]:
    """The texts of a response, each with its annotations."""
    parts = [part for item in response.output if isinstance(item, ResponseOutputMessage) for part in item.content]
    texts = [each for each in parts if isinstance(each, ResponseOutputText)]
    return [(each.text, [annotation.to_dict() for annotation in each.annotations]) for each in texts]
