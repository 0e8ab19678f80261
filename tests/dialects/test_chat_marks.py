"""What is expected stands in the published chat templates: this is what they render of the same conversation."""

from __future__ import annotations

import pytest

from actum.core.call import MediaPart, TextPart, ToolCall, ToolResult
from actum.core.message import Message, Reply, SystemMessage, ToolMessage, UserMessage
from actum.core.tool import Tool
from actum.dialects import chat_marks
from actum.dialects.catalog import text_dialect
from actum.dialects.chat_marks import PLAIN, ChatMarks
from actum.dialects.text.invented_results import turn_marks

SAID: list[Message] = [SystemMessage("SYS"), UserMessage.of("U1"), Reply.of("A1"), UserMessage.of("U2")]
RENDERED = {
    "CHATML": (
        "<|im_start|>system\nSYS<|im_end|>\n<|im_start|>user\nU1<|im_end|>\n<|im_start|>assistant\nA1"
        "<|im_end|>\n<|im_start|>user\nU2<|im_end|>\n<|im_start|>assistant\n"
    ),
    "LLAMA4": (
        "<|header_start|>system<|header_end|>\n\nSYS<|eot|><|header_start|>user<|header_end|>\n\nU1"
        "<|eot|><|header_start|>assistant<|header_end|>\n\nA1"
        "<|eot|><|header_start|>user<|header_end|>\n\nU2"
        "<|eot|><|header_start|>assistant<|header_end|>\n\n"
    ),
    "MISTRAL_V7": "[SYSTEM_PROMPT]SYS[/SYSTEM_PROMPT][INST]U1[/INST]A1</s>[INST]U2[/INST]",
    "DEEPSEEK": "SYS<｜User｜>U1<｜Assistant｜>A1<｜end▁of▁sentence｜><｜User｜>U2<｜Assistant｜>",
    "KIMI": (
        "<|im_system|>system<|im_middle|>SYS<|im_end|><|im_user|>user<|im_middle|>U1"
        "<|im_end|><|im_assistant|>assistant<|im_middle|>A1"
        "<|im_end|><|im_user|>user<|im_middle|>U2<|im_end|><|im_assistant|>assistant<|im_middle|>"
    ),
    "GRANITE": (
        "<|start_of_role|>system<|end_of_role|>SYS"
        "<|end_of_text|>\n<|start_of_role|>user<|end_of_role|>U1"
        "<|end_of_text|>\n<|start_of_role|>assistant<|end_of_role|>A1"
        "<|end_of_text|>\n<|start_of_role|>user<|end_of_role|>U2"
        "<|end_of_text|>\n<|start_of_role|>assistant<|end_of_role|>"
    ),
    "GEMMA": (
        "<start_of_turn>user\nSYS\n\nU1<end_of_turn>\n<start_of_turn>model\nA1"
        "<end_of_turn>\n<start_of_turn>user\nU2<end_of_turn>\n<start_of_turn>model\n"
    ),
    "SEED": (
        "<seed:bos>system\nSYS<seed:eos><seed:bos>user\nU1<seed:eos><seed:bos>assistant\nA1"
        "<seed:eos><seed:bos>user\nU2<seed:eos><seed:bos>assistant\n"
    ),
}


@pytest.mark.parametrize("name", RENDERED)
def test_a_conversation_is_marked_as_the_family_s_template_does_it(name: str) -> None:
    marks = getattr(chat_marks, name)
    assert marks.render(SAID) == RENDERED[name]


ALL = [value for value in vars(chat_marks).values() if isinstance(value, ChatMarks)]


@pytest.mark.parametrize("marks", ALL)
def test_the_prompt_ends_where_the_model_s_turn_begins(marks: ChatMarks) -> None:
    assert marks.render(SAID[:2]).endswith(marks.reply)
    assert marks.stops
    assert all(text in marks.render(SAID) for text in ("SYS", "U1", "A1", "U2"))


def test_what_is_no_text_is_described() -> None:
    picture = MediaPart("image/png", b"1234", name="plan.png")
    asked: list[Message] = [
        UserMessage((TextPart("See: "), picture)),
        ToolMessage("f", ToolResult("c", (TextPart("ok"),))),
    ]
    assert PLAIN.render(asked) == "User: See: [attachment: image/png, plan.png, 4 bytes]\n\nUser: ok\n\nAssistant:"


@pytest.mark.parametrize("name", ["prompt_json", "react"])
def test_a_turn_that_a_model_makes_up_ends_its_reply_in_every_chat_template(name: str) -> None:
    """`LLAMA4` too, which no row names: a Llama 4 that is told to write a prompt's format makes up turns as well."""
    tool = Tool(name="now")
    call = text_dialect(name).encode_reply(Reply.of(calls=[ToolCall("", "now", {})]))
    for marks in ALL:
        made_up = marks.user.replace("{text}", "It is noon.")
        if not turn_marks(marks):
            continue
        found = text_dialect(name).decode(f"{call}\n{made_up}\n{call}", tools=(tool,))
        assert len(found.calls) == 1, marks


def test_instructions_without_a_place_of_their_own_begin_the_first_turn() -> None:
    marks = ChatMarks("[INST] {text}[/INST]", " {text}</s>", "", ("</s>",))
    assert marks.render(SAID[:2]) == "[INST] SYS\n\nU1[/INST]"
    assert marks.render(SAID[:1]) == "[INST] SYS[/INST]"
