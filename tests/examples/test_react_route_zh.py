from __future__ import annotations

import pytest

from actum.core.run.record import Intended
from examples.local_services.chat import ChatService
from examples.react_route_zh import main as example


@pytest.fixture
async def ran() -> tuple[str, list[Intended], ChatService]:
    result, intents, model = await example.run()
    return result.text, intents, model


Ran = tuple[str, list[Intended], ChatService]


@pytest.mark.row("S2")
def test_the_route_and_then_the_rules_of_entry_lead_to_the_answer(ran: Ran) -> None:
    text, intents, _ = ran

    assert [intent.tool for intent in intents] == ["check_route", "entry_requirements"]
    assert intents[1].arguments == {"country": "韩国"}
    assert text == "需要护照：从东京去首尔要进入韩国，日本旅客停留 90 天以内免签。"


@pytest.mark.row("C1")
def test_the_argument_by_another_name_is_mended_and_the_journal_says_so(ran: Ran) -> None:
    _, (route, entry), _ = ran

    assert route.arguments == {"origin": "东京", "dest": "首尔"}
    assert route.repairs == ("destination taken as dest",)
    assert entry.repairs == ()


@pytest.mark.row("S2")
def test_the_model_reads_one_text_in_chinese_and_is_stopped_before_it_makes_up_an_observation(ran: Ran) -> None:
    *_, model = ran

    first, second, third = model.asked()
    assert [message.role for message in first.messages] == ["system", "user"]
    assert "思考：" in first.messages[0].text
    assert first.messages[1].text.strip() == "问题：从东京去首尔需要护照吗？"
    assert "\n观察：" in first.stop
    lines = third.messages[1].text.splitlines()
    assert [line.split("：")[0] for line in lines if line] == [
        *("问题", "思考", "行动", "行动输入", "观察", "思考", "行动", "行动输入", "观察"),
    ]
    assert '观察：{"origin_country":"日本","dest_country":"韩国","international":true}' in lines
    assert "一切正常" not in second.messages[1].text + third.messages[1].text
