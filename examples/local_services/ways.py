"""Four ways in which a language model says a call, from the model's side: how it reads a request and how it answers.

A script needs to know none of it. It is a function from what was `Heard` to a `Step`, and `endpoint` puts it behind a
chat-completions service that knows one of the ways, as models and servers of one generation do.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec
from msgspec import Struct

from actum.core.json import Json, JsonObject

from .chat import ChatService, WireCall, WireFunction, WireMessage, WireRequest


class Result(Struct, frozen=True):
    """What came back for a call."""

    tool: str
    text: str

    @property
    def data(self) -> JsonObject:
        """The text as a JSON object; empty when it is none, as for a call that failed."""
        try:
            return msgspec.json.decode(self.text, type=dict[str, Json])
        except msgspec.DecodeError:
            return {}


class Heard(Struct, frozen=True):
    """A conversation as the script reads it.

    Attributes:
        question: the user's last words.
        results: what calls came to since then, in order.
        earlier: what user and model said to each other before.
    """

    question: str
    results: tuple[Result, ...] = ()
    earlier: tuple[str, ...] = ()


class Step(Struct, frozen=True):
    """What to say next: calls, each a tool's name and its arguments, or an answer."""

    answer: str = ""
    calls: tuple[tuple[str, JsonObject], ...] = ()
    thought: str = ""


Line = Result | WireMessage
"""Something heard: a result, or words of the `user` or the `assistant`."""


class Way(Struct, frozen=True):
    """One way to say a call.

    Attributes:
        dialect: what actum calls it.
        unknown: fields of a request that an endpoint of this kind does not know.
        read: what the messages of a request say, line by line.
        write: a step as a message; the text is what makes the ids of its calls differ from those before.
    """

    dialect: str
    unknown: tuple[str, ...]
    read: Callable[[Sequence[WireMessage]], Iterator[Line]]
    write: Callable[[Step, str], WireMessage]


def endpoint(script: Callable[[Heard], Step], way: Way) -> ChatService:
    """A chat-completions service whose model knows this way, and no other."""

    def answer(request: WireRequest) -> WireMessage:
        return way.write(script(_heard(way.read(request.messages))), f"call_{len(request.messages)}")

    return ChatService(answer, way.unknown)


def _heard(lines: Iterable[Line]) -> Heard:
    said: list[str] = []
    results: tuple[Result, ...] = ()
    question, earlier = "", 0
    for line in lines:
        if isinstance(line, Result):
            results = (*results, line)
            continue
        if line.role == "user":
            question, results, earlier = line.text, (), len(said)
        said.append(line.text)
    return Heard(question, results, tuple(said[:earlier]))


# Native: `tools` in the request, `tool_calls` in the answer, results as `role: tool`. ---------------------------------


def _read_native(messages: Sequence[WireMessage]) -> Iterator[Line]:
    unanswered: dict[str, str] = {}
    for message in messages:
        if message.role == "tool":
            yield Result(unanswered.pop(message.tool_call_id), message.text)
            continue
        assert not unanswered, f"no answer to {unanswered}: a real endpoint would refuse this request"
        unanswered = {call.id: call.function.name for call in message.tool_calls}
        if message.role != "system" and message.text:
            yield message


def _write_native(step: Step, id_: str) -> WireMessage:
    calls = [WireCall(f"{id_}_{number}", _function(*call)) for number, call in enumerate(step.calls)]
    return WireMessage("assistant", step.answer or None, tool_calls=calls)


# 2023: `functions` in the request, one `function_call` in the answer, its result as `role: function`. -----------------


def _read_functions(messages: Sequence[WireMessage]) -> Iterator[Line]:
    for message in messages:
        if message.role == "function":
            yield Result(message.name, message.text)
        elif message.role != "system" and message.text:
            yield message


def _write_function(step: Step, id_: str) -> WireMessage:
    return WireMessage(
        "assistant", step.answer or None, function_call=_function(*step.calls[0]) if step.calls else None
    )


def _function(name: str, arguments: JsonObject) -> WireFunction:
    return WireFunction(name, msgspec.json.encode(arguments).decode())


# Prompt JSON: the tools stand in the prompt, calls in the text, results in the user's role. ---------------------------

_RESULT = re.compile(r'<result tool="(?P<tool>[^"]+)"[^>]*>\n(?P<text>.*?)\n</result>', re.DOTALL)
_RESULTS_SAID = re.compile(r"(以下是工具返回的结果|Results of the tools).*")


def _read_prompt_json(messages: Sequence[WireMessage]) -> Iterator[Line]:
    for message in messages:
        if message.role == "user":
            yield from (Result(found["tool"], found["text"]) for found in _RESULT.finditer(message.text))
        words = _RESULTS_SAID.sub("", _RESULT.sub("", message.text)).strip()
        if words and message.role != "system" and not words.startswith("{"):
            yield WireMessage(message.role, words)


def _write_prompt_json(step: Step, id_: str) -> WireMessage:
    lines = [msgspec.json.encode({"tool": name, "params": arguments}).decode() for name, arguments in step.calls]
    return WireMessage("assistant", "\n".join(filter(None, [step.answer, *lines])))


# ReAct, in Chinese: the conversation is one text that the model goes on with. -----------------------------------------

_MARKER = re.compile(r"^(问题|思考|行动|行动输入|观察|回答)：", re.MULTILINE)
_OBSERVED = re.compile(r"(?:\[(?P<tool>[^\]]+)\] )?(?:出错：)?(?P<text>.*)", re.DOTALL)


def _read_react(messages: Sequence[WireMessage]) -> Iterator[Line]:
    action = ""
    _, *parts = _MARKER.split(messages[-1].text)
    for marker, text in zip(parts[::2], map(str.strip, parts[1::2]), strict=True):
        match marker:
            case "问题":
                yield WireMessage("user", text)
            case "回答":
                yield WireMessage("assistant", text)
            case "行动":
                action = text
            case "观察":
                found = _OBSERVED.fullmatch(text)
                assert found is not None
                yield Result(found["tool"] or action, found["text"])
            case _:
                pass


def _write_react(step: Step, id_: str) -> WireMessage:
    lines = [f"思考：{step.thought or '信息已经足够。'}"]
    for name, arguments in step.calls:
        lines += [f"行动：{name}", f"行动输入：{msgspec.json.encode(arguments).decode()}"]
    # A model that only continues a text does not stop by itself: it goes on to make up what the tool found.
    lines += ["观察：一切正常。", "回答：一切正常。"] if step.calls else [f"回答：{step.answer}"]
    return WireMessage("assistant", "\n".join(lines))


NATIVE = Way("openai_chat", ("functions", "function_call"), _read_native, _write_native)
FUNCTIONS = Way("openai_functions", ("tools", "tool_choice", "parallel_tool_calls"), _read_functions, _write_function)
PROMPT_JSON = Way("prompt_json", ("tools", "functions"), _read_prompt_json, _write_prompt_json)
REACT = Way("react", ("tools", "functions"), _read_react, _write_react)
