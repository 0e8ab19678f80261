"""ReAct: thought, action, observation, in plain lines that even a base model can go on with.

The conversation is told as one scratchpad in one message, so that the model only has to continue it; the instructions
are a form to follow and two short examples. Reading is `react.reader`.

Limits: a thought or an answer that itself has a line like `Action: ...` reads back as that. An incomplete call comes
back from `encode_reply` as such only where it stands last.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Literal

from msgspec import Struct, structs

from ....core.call import MediaPart, TextPart, ToolCall
from ....core.errors import UsageError
from ....core.json import dumps
from ....core.message import (
    Message,
    ReasoningPart,
    RefusalPart,
    Reply,
    SystemMessage,
    ToolMessage,
    Transcript,
    UserMessage,
)
from ....core.model import Request
from ....core.tool import Tool
from ...tools_once import OncePerTools
from ..family_marks import ALL_RESULT_MARKS, ALL_THOUGHT_MARKS
from ..history import instructions, with_instructions, without_tools
from ..reader import ReplyMarks, TextReader, TextRules
from ..template import read_template
from ..thought_marks import THINK
from ..toolbox import Toolbox
from ..wording import (
    Language,
    describe_tools,
    has_han,
    language_of,
)
from .markers import WORDS as MARKERS
from .markers import Marker, find_marker
from .reader import ReactReader


class _Words(Struct, frozen=True, kw_only=True):
    """What the parts of a step are called, and what the model is told."""

    question: str
    thought: str
    action: str
    input: str
    observation: str
    answer: str
    system: str
    failed: str
    stop: tuple[str, ...]
    plan: str
    instructions: str


WORDS: dict[Language, _Words] = {
    "en": _Words(
        question="Question: ",
        thought="Thought: ",
        action="Action: ",
        input="Action Input: ",
        observation="Observation: ",
        answer="Answer: ",
        system="System: ",
        failed="Error: ",
        stop=("\nObservation:", "\nObservation：", "\n观察："),
        plan="Plan: the steps that lead to the answer, in one line; say it once, before the first Thought\n",
        instructions="""\
Answer the question. You can use these tools:

{tools}

Write in this form:

{plan}Thought: what you know and what you still need
Action: the name of one tool
Action Input: its parameters as a JSON object on one line
Observation: what the tool returned
... (Thought, Action, Action Input and Observation may come several times)
Thought: I have what I need
Answer: your answer to the user

Rules:
- Stop after Action Input. The program writes the Observation; never write one yourself.
- If a step needs the result of another, wait for that Observation first.
- Calls that do not depend on each other may go together: several pairs of Action and Action Input.
- If no tool is needed, write a Thought and then the Answer.
- If a required parameter is neither in the conversation nor in an Observation, ask the user for it in the Answer. \
Never guess or make up a value.

Two examples. Their tools are made up; do not use them.

Question: Is the library near Oak School still open?
Thought: First I have to find out which library that is.
Action: find_place
Action Input: {{"kind": "library", "near": "Oak School"}}
Observation: Park Street Library
Thought: Now I need its opening hours.
Action: opening_hours
Action Input: {{"place": "Park Street Library"}}
Observation: Open until 18:00. It is 17:10 now.
Thought: It is before 18:00. I have what I need.
Answer: Yes, the Park Street Library is open until 18:00.

Question: When does the pharmacy close?
Thought: I do not know which pharmacy, and I must not guess.
Answer: Which pharmacy do you mean?""",
    ),
    "zh": _Words(
        question="问题：",
        thought="思考：",
        action="行动：",
        input="行动输入：",
        observation="观察：",
        answer="回答：",
        system="系统：",
        failed="出错：",
        stop=("\n观察：", "\n观察:", "\nObservation:"),
        plan="计划：用一行写出解决问题的步骤，只在第一次思考之前写一次\n",
        instructions="""\
请回答问题。你可以使用这些工具：

{tools}

按下面的格式书写：

{plan}思考：已经知道什么，还需要什么
行动：一个工具的名字
行动输入：该工具的参数，写成一行 JSON 对象
观察：工具返回的结果
……（思考、行动、行动输入、观察可以重复多次）
思考：信息已经足够
回答：给用户的回答

规则：
- 写完“行动输入”就停下。“观察”由程序填写，不要自己写。
- 如果后一步要用到前一步的结果，先等到那一步的“观察”。
- 互不依赖的调用可以写在一起：连续写几组“行动”和“行动输入”。
- 不需要工具时，写一行“思考”，接着写“回答”。
- 必填参数在对话和“观察”里都找不到时，在“回答”里向用户询问，不要猜测，也不要编造。

下面是两个例子，其中的工具是虚构的，不要使用。

问题：橡树小学旁边的图书馆现在还开着吗？
思考：先要弄清楚是哪一家图书馆。
行动：find_place
行动输入：{{"kind": "图书馆", "near": "橡树小学"}}
观察：公园路图书馆
思考：接下来查它的开放时间。
行动：opening_hours
行动输入：{{"place": "公园路图书馆"}}
观察：开放到 18:00，现在是 17:10。
思考：还没到 18:00，信息已经足够。
回答：还开着，公园路图书馆开放到 18:00。

问题：药店几点关门？
思考：不知道是哪一家药店，不能乱猜。
回答：请问您说的是哪一家药店？""",
    ),
}


class React(Struct, frozen=True):
    """The dialect.

    Args:
        language: of what the model is told. `auto`: Chinese when the first message of the user is.
        plan: ask for a line with a plan before the first step. One that comes unasked is read all the same.
        thinking: the prompt ends with the mark that opens reasoning, as the chat templates of some models do it.
        template: a prompt of your own in the place of our instructions; see `read_template`. Its language is the one of
            its `Action:`, unless `language` names another.

    Raises:
        UsageError: the template can not be read, or has no line that begins with a mark for the action.

    >>> React().decode('Action: weather\\nAction Input: {"city": "Oslo"}').calls[0].arguments
    {'city': 'Oslo'}
    """

    language: Language | Literal["auto"] = "auto"
    plan: bool = False
    thinking: bool = False
    template: str = ""

    def __post_init__(self) -> None:
        if self.language not in ("auto", "en", "zh"):
            raise UsageError("language {language!r}: use 'auto', 'en' or 'zh'", language=self.language)
        if self.template and self.plan:
            raise UsageError("plan is a line of our instructions: a template says by itself that the model is to plan")
        if self.template and not _action_line(self.template):
            raise UsageError(
                "a template of react shows the form of a step, with a line that begins with one of: {marks}",
                marks=", ".join(f"{word.capitalize()}:" for word in MARKERS["action"]),
            )

    @property
    def name(self) -> str:
        """`react`."""
        return "react"

    def encode_request(self, request: Request) -> Request:
        """The request for a model that only reads and writes text; see `TextDialect`.

        Without tools and calls, now or before, it is an ordinary conversation and stays as it is.
        """
        if not request.tools and not any(isinstance(message, ToolMessage) for message in request.messages):
            return request
        language = self.language
        if language == "auto":
            language = _language_of_template(self.template) if self.template else language_of(request.messages)
        rules = instructions(request, _rules(request.tools, (language, self.plan, self.template)), language)
        own = list(takewhile(lambda message: isinstance(message, SystemMessage), request.messages))
        source = request.messages if isinstance(request.messages, Transcript) else Transcript(request.messages)
        pad = source.follow(self.name, language, lambda: _Scratchpad(WORDS[language], len(own)))
        messages = with_instructions([*own, pad.message], rules) if rules else [*own, pad.message]
        stop = tuple(dict.fromkeys((*request.stop, *WORDS[language].stop)))
        return structs.replace(without_tools(request, tuple(messages)), stop=stop)

    def decode(self, output: bytes | str, *, tools: Sequence[Tool] = ()) -> Reply:
        """What a model wrote, as text, reasoning and calls."""
        decoder = self.decoder(tools=tools)
        decoder.feed(output)
        decoder.close()
        return decoder.reply

    def decoder(self, *, tools: Sequence[Tool] = (), reasoned: bool = False) -> TextReader:
        """A reader of the same text in pieces; see `TextDialect`."""
        box = Toolbox(tools)
        rules = TextRules(_MARKS, _PLAIN, lambda speech, first: ReactReader(box, speech))
        return TextReader(rules, thinking=self.thinking, reasoned=reasoned)

    def encode_reply(self, reply: Reply) -> str:
        """The text by which a model would have said this reply; `decode` takes it back."""
        chinese = has_han(reply.text + reply.reasoning) if self.language == "auto" else self.language == "zh"
        words = WORDS["zh" if chinese else "en"]
        text = "\n".join(_steps(reply, words, aside=words.answer))
        return f"{THINK.closing[0]}\n{text}" if self.thinking else text


_MARKS = ReplyMarks(ALL_THOUGHT_MARKS, ALL_RESULT_MARKS, opening_begins_line=True)
_PLAIN = ReplyMarks((), ALL_RESULT_MARKS)


def _instructions(tools: tuple[Tool, ...], variant: tuple[Language, bool, str]) -> str:
    language, plan, template = variant
    if template:
        return read_template(template).filled(tools, language)
    words = WORDS[language]
    return words.instructions.format(tools=describe_tools(tools, language), plan=words.plan if plan else "")


_rules = OncePerTools(_instructions)


def _action_line(template: str) -> str:
    """The first line of a template that begins with a mark for the action; empty where there is none."""
    for line in read_template(template).lines:
        mark = find_marker(line, 0, last=True)
        if isinstance(mark, Marker) and mark.kind == "action":
            return line[: mark.end]
    return ""


def _language_of_template(template: str) -> Language:
    return "zh" if has_han(_action_line(template)) else "en"


class _Scratchpad:
    """The conversation as the model would have written it so far, and what was attached to it.

    Lines that were written once stay; only the text, which must be one, is put together for each request.
    """

    def __init__(self, words: _Words, skip: int) -> None:
        self._words = words
        self._skip = skip
        self._lines: list[str] = []
        self._media: list[MediaPart] = []
        self._calls = 0

    def extend(self, messages: Sequence[Message]) -> None:
        for message in messages[self._skip :]:
            if isinstance(message, Reply):
                self._calls = len(message.calls)
            self._lines += _lines(message, self._calls, self._words)
            self._media += [part for part in _content(message) if isinstance(part, MediaPart)]
        self._skip = 0

    @property
    def message(self) -> UserMessage:
        return UserMessage((TextPart("\n".join(self._lines)), *self._media))


def _content(message: Message) -> Sequence[object]:
    match message:
        case ToolMessage(result=result):
            return result.content
        case SystemMessage():
            return ()
        case _:
            return message.content


def _lines(message: Message, calls: int, words: _Words) -> Iterator[str]:
    match message:
        case UserMessage():
            shown = [part.text if isinstance(part, TextPart) else part.describe() for part in message.content]
            yield words.question + "\n".join(shown)
        case SystemMessage(text):
            yield words.system + text
        case ToolMessage(name, result):
            which = f"[{name}] " if calls > 1 else ""
            failed = words.failed if result.error is not None else ""
            # Indented, so that no line of a result passes for a marker.
            yield words.observation + which + failed + result.text.replace("\n", "\n  ")
        case Reply():
            yield from _steps(message, words, aside=words.thought)
            if not message.calls:
                yield ""


def _steps(reply: Reply, words: _Words, *, aside: str) -> Iterator[str]:
    """The lines of a reply; `aside` is the marker for text beside calls."""
    for part in reply.content:
        match part:
            case ReasoningPart(text=text):
                yield words.thought + text
            case TextPart(text) | RefusalPart(text):
                yield (aside if reply.calls else words.answer) + text
            case ToolCall():
                yield words.action + part.name
                yield words.input + (dumps(part.arguments) if part.complete else part.raw)
            case MediaPart():
                yield (aside if reply.calls else words.answer) + part.describe()
