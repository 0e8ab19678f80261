"""Rows of the models that write a call as the tool's name, then each argument as a pair of tags: GLM's way, renamed.

The row of GLM itself is in `table`: its models leave out tags so often that its heads are patterns of their own.
"""

from __future__ import annotations

import re

from ... import chat_marks
from ...listing import TextListing, sign
from ..marks import CallHead, begun
from ..tagged.bodies import JsonCall
from ..tagged.dialect import IN_TOOLS, Format, openai_tool
from ..tagged.xml_call import XmlCall

_NAME = re.compile(r"[^\s<>{}]{1,128}")
_KEY = re.compile(r"[^<>]{1,128}")
_BLANK = re.compile(r"\s*")


def _pairs(before: str, behind: str, *, separator: str = "") -> XmlCall:
    """`name<arg_key>city</arg_key><arg_value>Oslo</arg_value>`.

    Args:
        before: stands before the name of each tag.
        behind: stands behind the name of each tag.
        separator: the mark between the tool's name and the arguments, which models sometimes leave out.
    """
    key, key_end = f"<{before}arg_key{behind}>", f"</{before}arg_key{behind}>"
    kind, kind_end = f"<{before}arg_type{behind}>", f"</{before}arg_type{behind}>"
    value, value_end = f"<{before}arg_value{behind}>", f"</{before}arg_value{behind}>"
    call_end = f"</{before}tool_call{behind}>"
    follows = "|".join(map(re.escape, (key, call_end)))
    name_ends = rf"(?:{re.escape(separator)}|(?={follows}))" if separator else f"(?={follows})"
    kinds = re.compile(r"[^<>]{1,80}")
    return XmlCall(
        head=CallHead(
            re.compile(rf"(?P<name>{_NAME.pattern})\s*{name_ends}"),
            may=re.compile("|".join([begun(_NAME, _BLANK, mark) for mark in (separator, key, call_end) if mark])),
        ),
        parameter=CallHead(
            re.compile(
                rf"{re.escape(key)}(?P<key>{_KEY.pattern}){re.escape(key_end)}\s*"
                rf"(?:{re.escape(kind)}\s*(?P<type>[a-z]{{1,16}})[^<>]{{0,64}}{re.escape(kind_end)}\s*)?{re.escape(value)}"
            ),
            may=re.compile(
                begun(key, _KEY, key_end, _BLANK, value)
                + "|"
                + begun(key, _KEY, key_end, _BLANK, kind, kinds, kind_end, _BLANK, value)
            ),
        ),
        parameter_start=key,
        value_start=value,
        value_end=value_end,
        form=("{name}" + separator + "\n", ""),
        parameter_form=f"{key}{{key}}{key_end}\n{value}{{value}}{value_end}\n",
        unmarked=False,
    )


HUNYUAN_V3 = Format(
    listing=TextListing(
        "hunyuan_v3",
        "as Hunyuan V3 writes it: <tool_call>name<tool_sep> with <arg_key> and <arg_value>",
        "in the released models every mark ends in `:opensource`; both are read, and V4's form without the separator",
        models=("hunyuan-v3", "hunyuan_v3", "hy3", "hy-v3", "hy_v3", "hy4", "hy-v4", "hy_v4"),
        signs=(sign("<tool_sep", "<arg_key"), sign("tool_sep", "arg_key", "tool_calls")),
    ),
    bodies=(
        _pairs("", ":opensource", separator="<tool_sep:opensource>"),
        _pairs("", "", separator="<tool_sep>"),
    ),
    opens=("<tool_calls:opensource>", "<tool_call:opensource>", "<tool_calls>", "<tool_call>"),
    closes=("</tool_call:opensource>", "</tool_calls:opensource>", "</tool_call>", "</tool_calls>"),
    drops=("<｜hy_eos｜>", "<|hy_eos|>", "<|hy_eos:opensource|>", "<｜hy_eos:opensource｜>"),
    thoughts=(("<think:opensource>", "</think:opensource>"),),
    call_ends_thought=True,
    section=("<tool_calls:opensource>\n", "\n</tool_calls:opensource>"),
    call=("<tool_call:opensource>", "</tool_call:opensource>"),
    prompt=IN_TOOLS
    + """\
To call functions, write for each call its name, then each argument as a pair:
<tool_calls:opensource>
<tool_call:opensource>function_name<tool_sep:opensource>
<arg_key:opensource>parameter_name</arg_key:opensource>
<arg_value:opensource>its value</arg_value:opensource>
</tool_call:opensource>
</tool_calls:opensource>""",
    declare=openai_tool,
    result="<tool_response>\n{text}\n</tool_response>",
    chat=chat_marks.PLAIN,
    source="vLLM's readers of Hunyuan V3 and V4 and their tests",
)

K2_HORIZON = Format(
    listing=TextListing(
        "k2_horizon",
        "as K2-Horizon writes it: <ifm|tool_call>name with <ifm|arg_key> and <ifm|arg_value>",
        "the chat template can ask for types beside the values, or for JSON; all three are read",
        models=("k2-horizon", "k2_horizon"),
        signs=(sign("<ifm|tool_call"),),
        opens_thought=(("k2-horizon",),),
    ),
    bodies=(_pairs("ifm|", ""), JsonCall(unmarked=False)),
    opens=("<ifm|tool_calls>", "<ifm|tool_call>"),
    closes=("</ifm|tool_call>", "</ifm|tool_calls>"),
    drops=("<|ifm|im_end|>", "<|ifm|im_start|>"),
    think=("<ifm|think>", "</ifm|think>"),
    thoughts=(("<ifm|think_fast>", "</ifm|think_fast>"), ("<ifm|think_faster>", "</ifm|think_faster>")),
    call_ends_thought=True,
    section=("<ifm|tool_calls>\n", "\n</ifm|tool_calls>"),
    call=("<ifm|tool_call>", "</ifm|tool_call>"),
    prompt=IN_TOOLS
    + """\
To call functions, write for each call its name, then each argument as a pair:
<ifm|tool_calls>
<ifm|tool_call>function_name
<ifm|arg_key>parameter_name</ifm|arg_key>
<ifm|arg_value>its value</ifm|arg_value>
</ifm|tool_call>
</ifm|tool_calls>""",
    declare=openai_tool,
    result="<tool_response>\n{text}\n</tool_response>",
    chat=chat_marks.K2_HORIZON,
    source="vLLM's reader of K2-Horizon and its tests",
)
