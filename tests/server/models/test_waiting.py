"""What waits for a person: the request is held, then answered in the API's own form, and the next request goes on."""

from __future__ import annotations

import asyncio

import anthropic
import httpx2
import openai
import pytest

from actum import tool
from actum.call.asking.inbox import answer_pending, inbox
from actum.core.call import ToolCall
from actum.core.errors import Busy
from actum.core.json import JsonObject
from actum.core.message import Reply
from actum.core.policy import Answer
from actum.core.run.record import Verdict
from tests.patience import HANGS_S
from tests.server.models.desk import Desk, desk, until
from tests.server.models.test_agents import anthropic_of, gemini_of, openai_of

PAYS = Reply.of("I pay.", [ToolCall("call_0", "pay", {"euros": 20})])


class Till:
    """A tool with a side effect, and how often it happened."""

    def __init__(self) -> None:
        self.paid: list[int] = []
        self.pay = tool(name="pay", effects={"spend"}, approval=True)(self._pay)

    def _pay(self, euros: int) -> str:
        """Pay."""
        self.paid.append(euros)
        return f"paid {euros}"


async def approve(server: Desk, verdict: Verdict = "approve") -> None:
    """A person answers what waits, once its run has let go of it."""

    async def answered() -> bool:
        waiting = await inbox(server.journal)
        try:
            await answer_pending(server.journal, waiting[0].asked.id, Answer(verdict, by="boss"))
        except (Busy, IndexError):
            return False
        return True

    await until(answered)


RECEIPT: JsonObject = {"type": "object", "required": ["paid"], "properties": {"paid": {"type": "integer"}}}


async def test_a_request_is_held_until_a_person_has_answered() -> None:
    till = Till()
    script: list[str | Reply] = [PAYS, "Done."] * 4
    async with desk(script, [till.pay], hold_s=60) as server, openai_of(server) as client, anthropic_of(server) as ant:
        asks = [
            client.chat.completions.create(model="desk", messages=[{"role": "user", "content": "Pay."}]),
            client.responses.create(model="desk", input="Pay."),
            ant.messages.create(model="desk", max_tokens=9, messages=[{"role": "user", "content": "Pay."}]),
            gemini_of(server).aio.models.generate_content(model="desk", contents="Pay."),
        ]
        for number, ask in enumerate(asks, 1):
            answer, _ = await asyncio.gather(ask, approve(server))
            assert ("Done." in str(answer), len(till.paid)) == (True, number)


async def test_responses_an_approval_counts_only_with_a_key_that_may_approve() -> None:
    till = Till()
    async with desk([PAYS, "Done."], [till.pay]) as server, openai_of(server) as client:
        first = await client.responses.create(model="desk", input="Pay.")
        asked = first.output[-1]
        assert (asked.type, asked.name, asked.arguments) == ("mcp_approval_request", "pay", '{"euros":20}')
        yes = {"type": "mcp_approval_response", "approval_request_id": asked.id, "approve": True}
        again = await client.responses.create(model="desk", input=[yes], previous_response_id=first.id)
        assert ([item.type for item in again.output], till.paid) == (["mcp_approval_request"], [])
        for key in ("bob", "ann-2"):
            async with openai_of(server, key) as other:
                with pytest.raises(openai.NotFoundError):
                    await other.responses.create(model="desk", input=[yes])
        with pytest.raises(openai.NotFoundError):
            made_up = {**yes, "approval_request_id": asked.id[:-4] + "0000"}
            await client.responses.create(model="desk", input=[made_up])
        async with openai_of(server, "boss") as boss:
            done = await boss.responses.create(model="desk", input=[yes], previous_response_id=first.id)
            assert ([item.type for item in done.output], till.paid) == (["mcp_call", "message"], [20])
            for approve_ in (True, False):
                repeated = await boss.responses.create(model="desk", input=[{**yes, "approve": approve_}])
                assert (repeated.output_text, till.paid) == ("Done.", [20])


async def test_messages_a_turn_is_paused_and_goes_on_by_the_blocks_that_come_back() -> None:
    till = Till()
    async with desk([PAYS, "Done."], [till.pay]) as server, anthropic_of(server) as client:
        messages: list[dict[str, object]] = [{"role": "user", "content": "Pay."}]
        first = await client.messages.create(model="desk", max_tokens=9, messages=messages)
        assert (first.stop_reason, [block.type for block in first.content]) == (
            "pause_turn",
            ["text", "text", "mcp_tool_use"],
        )
        messages.append({"role": "assistant", "content": [block.to_dict() for block in first.content]})
        second = await client.messages.create(model="desk", max_tokens=9, messages=messages)
        assert (second.stop_reason, till.paid) == ("pause_turn", [])
        await approve(server)
        third = await client.messages.create(model="desk", max_tokens=9, messages=messages)
        assert (third.stop_reason, third.content[-1].text, till.paid) == ("end_turn", "Done.", [20])
        async with anthropic_of(server, "bob") as other:
            with pytest.raises(anthropic.NotFoundError):
                await other.messages.create(model="desk", max_tokens=9, messages=messages)


async def test_chat_names_the_approval_and_goes_on_by_the_run_in_header_or_metadata() -> None:
    till = Till()
    async with desk([PAYS, "Done."], [till.pay]) as server, openai_of(server) as client:
        ask = {"model": "desk", "messages": [{"role": "user", "content": "Pay."}]}
        first = await client.chat.completions.with_raw_response.create(**ask)
        run = first.headers["x-actum-run"]
        (waiting,) = await inbox(server.journal)
        assert waiting.asked.id in str(first.parse().choices[0].message.content)
        async with openai_of(server, "bob") as other:
            with pytest.raises(openai.NotFoundError):
                await other.chat.completions.create(**ask, metadata={"actum_run": run})
        await approve(server)
        second = await client.chat.completions.create(**ask, extra_headers={"x-actum-run": run})
        third = await client.chat.completions.create(**ask, metadata={"actum_run": run})
        assert [each.choices[0].message.content for each in (second, third)] == ["Done.", "Done."]
        assert till.paid == [20]


async def test_the_form_of_the_answer_stands_on_record_and_holds_after_an_approval() -> None:
    form = {"type": "json_schema", "json_schema": {"name": "receipt", "schema": RECEIPT}}
    till = Till()
    async with desk([PAYS, "Paid.", '{"paid": 20}'], [till.pay]) as server, openai_of(server) as client:
        ask = {"model": "desk", "messages": [{"role": "user", "content": "Pay."}], "response_format": form}
        first = await client.chat.completions.with_raw_response.create(**ask)
        assert "paid" not in str(first.parse().choices[0].message.content)
        await approve(server)
        run = {"actum_run": first.headers["x-actum-run"]}
        done = await client.chat.completions.create(**{**ask, "response_format": {"type": "text"}}, metadata=run)
        assert (done.choices[0].message.content, till.paid) == ('{"paid":20}', [20])


async def test_a_question_to_the_user_is_answered_by_the_next_words() -> None:
    def weather(city: str) -> str:
        """Weather of a city."""
        return f"sunny in {city}"

    bare = Reply.of(calls=[ToolCall("1", "weather", {})])
    async with desk([bare, bare, "Sunny."], [weather]) as server, openai_of(server) as client:
        messages: list[dict[str, object]] = [{"role": "user", "content": "The weather?"}]
        first = await client.chat.completions.create(model="desk", messages=messages)
        messages += [first.choices[0].message.to_dict(), {"role": "user", "content": "In Bonn."}]
        second = await client.chat.completions.create(model="desk", messages=messages)
        assert second.choices[0].message.content == "Sunny."
        assert len(await server.journal.runs()) == 1


async def test_a_person_who_answers_at_our_own_api_lets_the_held_request_go_on() -> None:
    till = Till()
    async with desk([PAYS, "Done."], [till.pay], hold_s=60) as server, openai_of(server) as client:

        async def answered() -> None:
            await until(lambda: inbox(server.journal))
            (waiting,) = await inbox(server.journal)
            async with httpx2.AsyncClient(base_url=server.url, timeout=HANGS_S) as http:
                path = f"/v1/approvals/{waiting.asked.id}"
                headers = {"authorization": f"Bearer {server.keys['approver']}"}
                answer = await http.post(path, json={"verdict": "approve"}, headers=headers)
                assert answer.status_code == 200, answer.text

        stream, _ = await asyncio.gather(
            client.responses.create(model="desk", input="Pay.", stream=True), answered(), return_exceptions=False
        )
        kinds = [event.item.type async for event in stream if event.type == "response.output_item.done"]
        assert (kinds, till.paid) == (["message", "mcp_call", "message"], [20])
