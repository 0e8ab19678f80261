"""Rows for Google's Gemma: calls with bare keys, see `keyed_call`.

Gemma 3 has no marks of its own and is told to write as `llama_pythonic`.
"""

from __future__ import annotations

from ... import chat_marks
from ...chat_marks import ChatMarks
from ...listing import TextListing, sign
from ..tagged.dialect import Format
from ..tagged.keyed_call import KeyedCall, write_keyed


def _gemma(
    listing: TextListing,
    quote: str,
    *,
    marks: tuple[str, ...],
    drops: tuple[str, ...],
    think: tuple[str, str] = ("<think>", "</think>"),
    ends_answer: bool = False,
    pieces: tuple[str, ...] = (),
    chat: ChatMarks,
    source: str,
) -> Format:
    """`call:f{key:value}`; `marks` stand around a tool, a call and a result, in this order.

    `pieces` are what is left of the opening mark where a server took it apart.
    """
    body = KeyedCall(quote)
    example = write_keyed({"parameter": "value", "other": 1}, quote)
    return Format(
        listing=listing,
        bodies=(body,),
        opens=(marks[2], *pieces),
        closes=(marks[3],),
        drops=drops,
        think=think,
        ends_answer=ends_answer,
        call=(marks[2], marks[3]),
        between="",
        prompt="You may call the functions below. For each call, write:\n"
        f"{marks[2]}call:function_name{example}{marks[3]}\n\n{{tools}}",
        declare=lambda tool: marks[0] + body.declare(tool) + marks[1],
        result=f"{marks[4]}response:{{name}}{{value:{quote}{{text}}{quote}}}{marks[5]}",
        chat=chat,
        source=source,
    )


FUNCTIONGEMMA = _gemma(
    TextListing(
        "functiongemma",
        "as FunctionGemma writes it: call:name{key:<escape>value<escape>}",
        "strings stand between `<escape>`; some templates put numbers there too, the schema decides",
        models=("functiongemma",),
        signs=(sign("<start_function_call>"),),
    ),
    "<escape>",
    marks=(
        *("<start_function_declaration>", "<end_function_declaration>"),
        *("<start_function_call>", "<end_function_call>"),
        *("<start_function_response>", "<end_function_response>"),
    ),
    drops=("<end_of_turn>", "<start_function_response>"),
    chat=chat_marks.GEMMA,
    source="FunctionGemma's formatting guide (Google); its template and reader in vLLM",
)
GEMMA4 = _gemma(
    TextListing(
        "gemma4",
        "as Gemma 4 writes it: call:name{key:value}",
        "reasoning is a channel; servers that drop special tokens drop the marks of strings too",
        models=("gemma-4", "gemma4"),
        signs=(sign("<|tool_call>", "<tool_call|>"),),
    ),
    '<|"|>',
    marks=("<|tool>", "<tool|>", "<|tool_call>", "<tool_call|>", "<|tool_response>", "<tool_response|>"),
    drops=("<turn|>", "<|tool_response>"),
    think=("<|channel>thought", "<channel|>"),
    ends_answer=True,
    pieces=("<call>",),
    chat=chat_marks.GEMMA4,
    source="chat template of Gemma 4 (Google)",
)
