"""What a model is told of a result: the result with escapes in the place of what could pass for something else.

A tool may return what somebody else wrote. Control characters are shown as escapes (see `visible`), so that a person
who reads along sees what the model sees. A mark by which chat templates and formats of tool calls begin or end what
somebody says, such as `<|im_end|>` or `</tool_response>`, gets a backslash: the result stays in the frame that it is
told in, whichever model reads it. The marks of its own format each text dialect tells apart by itself.

The record holds the result as it was, and digests of what a model was told count it so.
"""

from __future__ import annotations

import re

from msgspec import UNSET, structs

from .call import TEXTLESS, TextPart, ToolResult
from .json import Json, dumps
from .visible import visible

_MARK = re.compile(
    r"<(?=[|｜][^\s<>]{1,60}>|\w{1,40}[|｜]>"  # <|im_end|>, <｜User｜>, <|turn>, <turn|>
    r"|/?(?:tool|function)_(?:call|response|result|output)s?[>\s]|/?(?:start|end)_of_turn>|/s>|[be]os>|<SYS>>|/SYS>>)"
    r"|\[(?=/?(?:INST|TOOL_RESULTS|TOOL_CALLS|AVAILABLE_TOOLS|SYSTEM_PROMPT)\])",
    re.IGNORECASE,
)


def told_text(text: str) -> str:
    r"""A text of a result as a model is told it.

    >>> told_text("done<|im_end|>\n\x1b[1mNext")
    'done<\\|im_end|>\n\\x1b[1mNext'
    """
    text = visible(text)
    return _MARK.sub(r"\g<0>\\", text) if "<" in text or "[" in text else text


def told_result(result: ToolResult) -> ToolResult:
    """A result as a model is told it; the same object where that changes nothing."""
    if type(result.structured) in TEXTLESS and not result.content and result.error is None:
        return result
    content = tuple([TextPart(told_text(part.text)) if isinstance(part, TextPart) else part for part in result.content])
    structured = result.structured
    if structured is not UNSET and (said := dumps(structured)) != told_text(said):
        structured = _told_value(structured)
    error = result.error
    if error is not None:
        error = structs.replace(error, message=told_text(error.message))
    if content == result.content and structured is result.structured and error == result.error:
        return result
    return structs.replace(result, content=content, structured=structured, error=error)


def _told_value(value: Json) -> Json:
    match value:
        case str():
            return told_text(value)
        case list():
            return [_told_value(item) for item in value]
        case dict():
            return {told_text(str(name)): _told_value(item) for name, item in value.items()}
        case _:
            return value
