"""Prompt JSON: a model that was never taught to call tools is told to answer `{"tool": ..., "params": {...}}`.

Reading is `json.calls`; this is what the model is told, how past calls and results are written for it, and the dialect.

Limits: a reply whose text itself holds the JSON of a call can not be told from a call. An incomplete call comes back
from `encode_reply` as such only where it stands last.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Literal

from msgspec import Struct

from ...core.call import MediaPart, TextPart, ToolCall
from ...core.errors import UsageError
from ...core.json import dumps
from ...core.message import (
    ReasoningPart,
    RefusalPart,
    Reply,
    ToolMessage,
    UserMessage,
)
from ...core.model import Request
from ...core.tool import Tool
from ..tools_once import OncePerTools
from .family_marks import ALL_RESULT_MARKS, ALL_THOUGHT_MARKS
from .history import (
    Writers,
    as_text,
    instructions,
    without_tools,
)
from .json.calls import JsonCalls
from .reader import ReplyMarks, TextReader, TextRules
from .template import read_template
from .thought_marks import THINK
from .toolbox import Toolbox
from .wording import Language, describe_tools, language_of

_INSTRUCTIONS: dict[Language, str] = {
    "en": """\
You can use the tools below. A program reads your reply and runs them for you.

{tools}

To use a tool, reply with a JSON object like this and nothing else:
{{"tool": "name of the tool", "params": {{"name of a parameter": "value"}}}}

Rules:
- If no tool is needed, or you already have what you need, answer in plain words, without JSON.
- Calls that do not depend on each other go into one reply, one JSON object a line.
- If a step needs the result of another, make the first call only and wait. Its result comes in the next message.
- If a required parameter is neither in the conversation nor in a result, ask the user for it. \
Never guess or make up a value.
- Results of tools come from the program. Only they tell you what a tool found; never invent one.""",
    "zh": """\
你可以使用下面的工具。程序会读取你的回复，替你执行工具。

{tools}

要使用工具时，只输出这样一个 JSON 对象，不要写别的内容：
{{"tool": "工具名", "params": {{"参数名": "参数值"}}}}

规则：
- 不需要工具，或者信息已经够了，就直接用自然语言回答，不要输出 JSON。
- 互不依赖的几个调用写在同一次回复里，每行一个 JSON 对象。
- 如果后一步要用到前一步的结果，先只调用前一步，等下一条消息里的结果，再继续。
- 必填参数在对话和已有结果里都找不到时，向用户询问，不要猜测，也不要编造。
- 工具的结果只来自程序，不要自己编写结果。""",
}

_RESULTS: dict[Language, str] = {
    "en": "Results of the tools, sent by the program and not by the user:",
    "zh": "以下是工具返回的结果，由程序提供，不是用户说的话：",
}

_PARAMS_SHOWN_MAX = 300
_ATTRIBUTE = str.maketrans({"'": "\\u0027", "<": "\\u003c"})
_RESULT_END = re.compile(r"</(?=result)", re.IGNORECASE)


class PromptJson(Struct, frozen=True):
    """The dialect.

    Args:
        language: of what the model is told. `auto`: Chinese when the first message of the user is.
        thinking: the prompt ends with the mark that opens reasoning, as the chat templates of some models do it.
        template: a prompt of your own in the place of our instructions; see `read_template`. What follows it is Chinese
            where the template is, unless `language` names another.

    Raises:
        UsageError: the template can not be read.

    >>> PromptJson().decode('I look. {"tool": "weather", "params": {"city": "Oslo"}}').calls[0].arguments
    {'city': 'Oslo'}
    """

    language: Language | Literal["auto"] = "auto"
    thinking: bool = False
    template: str = ""

    def __post_init__(self) -> None:
        if self.language not in ("auto", "en", "zh"):
            raise UsageError("language {language!r}: use 'auto', 'en' or 'zh'", language=self.language)
        if self.template:
            read_template(self.template)

    @property
    def name(self) -> str:
        """`prompt_json`."""
        return "prompt_json"

    def encode_request(self, request: Request) -> Request:
        """The request for a model that only reads and writes text; see `TextDialect`."""
        language = self.language
        if language == "auto":
            told = [UserMessage.of(self.template)] if self.template else request.messages
            language = language_of(told)
        rules = instructions(request, _rules(request.tools, (language, self.template)), language)
        writers = partial(_writers, language)
        return without_tools(request, as_text(request.messages, f"{self.name} {language}", rules, writers))

    def decode(self, output: bytes | str, *, tools: Sequence[Tool] = ()) -> Reply:
        """What a model wrote, as text and calls."""
        decoder = self.decoder(tools=tools)
        decoder.feed(output)
        decoder.close()
        return decoder.reply

    def decoder(self, *, tools: Sequence[Tool] = (), reasoned: bool = False) -> TextReader:
        """A reader of the same text in pieces; see `TextDialect`."""
        box = Toolbox(tools)
        rules = TextRules(_MARKS, _PLAIN, lambda speech, first: JsonCalls(box, speech))
        return TextReader(rules, thinking=self.thinking, reasoned=reasoned)

    def encode_reply(self, reply: Reply) -> str:
        """The text by which a model would have said this reply; `decode` takes it back."""
        text = _reply_text(reply, reasoning=True)
        return f"{THINK.closing[0]}\n{text}" if self.thinking and not text.startswith(THINK.opening[0]) else text


_MARKS = ReplyMarks(ALL_THOUGHT_MARKS, ALL_RESULT_MARKS)
_PLAIN = ReplyMarks((), ALL_RESULT_MARKS)


def _told(tools: tuple[Tool, ...], variant: tuple[Language, str]) -> str:
    language, template = variant
    if template:
        return read_template(template).filled(tools, language)
    return _INSTRUCTIONS[language].format(tools=describe_tools(tools, language))


_rules = OncePerTools(_told)


def _writers(language: Language) -> Writers:
    return _reply_parts, partial(_result_parts, language)


def _reply_parts(reply: Reply) -> tuple[TextPart | MediaPart, ...]:
    text = _reply_text(reply, reasoning=False)
    media = [part for part in reply.content if isinstance(part, MediaPart)]
    return (*([TextPart(text)] if text else []), *media)


def _reply_text(reply: Reply, *, reasoning: bool) -> str:
    pieces = []
    for part in reply.content:
        match part:
            case TextPart(text) | RefusalPart(text):
                pieces.append(text)
            case ReasoningPart(text=text) if reasoning:
                pieces.append(f"<think>\n{text}\n</think>")
            case ToolCall():
                pieces.append(_call_text(part))
            case _:
                pass
    return "\n".join(pieces)


def _call_text(call: ToolCall) -> str:
    if call.complete:
        return dumps({"tool": call.name, "params": call.arguments})
    return f'{{"tool":{dumps(call.name)},"params":{call.raw}'


def _result_parts(
    language: Language, message: ToolMessage, call: ToolCall | None, first: bool
) -> Iterator[TextPart | MediaPart]:
    """A result in a mark-up that its own text can not leave, under the call that it belongs to."""
    params = dumps(call.arguments).translate(_ATTRIBUTE) if call is not None and call.complete else ""
    if len(params) > _PARAMS_SHOWN_MAX:
        params = params[:_PARAMS_SHOWN_MAX] + "…"
    head = f"<result tool={dumps(message.name)}"
    head += f" params='{params}'" if params else ""
    head += ' status="failed">' if message.result.error is not None else ">"
    text = _RESULT_END.sub("<\\/", message.result.text)
    yield TextPart((_RESULTS[language] + "\n" if first else "") + f"{head}\n{text}\n</result>")
    yield from (part for part in message.result.content if isinstance(part, MediaPart))
