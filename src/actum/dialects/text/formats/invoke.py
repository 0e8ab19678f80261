"""Rows of the models that write a call as an `invoke` tag with the tool's name, and a tag a parameter."""

from __future__ import annotations

import re

from msgspec import structs

from ... import chat_marks
from ...chat_marks import ChatMarks
from ...listing import TextListing, sign
from ..marks import CallHead, begun, unlike
from ..tagged.bodies import JsonCall
from ..tagged.dialect import IN_TOOLS, Format, openai_tool
from ..tagged.xml_call import XmlCall


def _invoke(
    prefix: str, *, words: tuple[str, str] = ("invoke", "parameter"), typed: bool = False, lead: str = ""
) -> XmlCall:
    """`<invoke name="f"><parameter name="a">1</parameter></invoke>`.

    Args:
        prefix: before each tag's name.
        words: the names of the tags of a call and of a parameter.
        typed: each parameter says whether it is a string.
        lead: a pattern of what may stand before the call.
    """
    call, value = words
    start, parameter = f'<{prefix}{call} name="', f'<{prefix}{value} name="'
    kind = r'(?: string="(?P<string>true|false)")?' if typed else ""
    mark = ' string="{string}"' if typed else ""
    leads = ["function<"] if lead else []
    return XmlCall(
        head=CallHead(
            re.compile(rf'(?:{lead})?{start}(?P<name>[^">\n]{{1,160}})">'),
            refuse=re.compile(rf'{unlike(start, *leads)}|{start}(?:"|[^">\n]*+(?:\n|>|"[^>]))'),
        ),
        parameter=CallHead(
            re.compile(rf'{parameter}(?P<key>[^"\n]{{1,160}})"{kind}>'),
            refuse=re.compile(rf'{unlike(parameter)}|{parameter}(?:"|[^"\n]*+(?:\n|"[^ >]|" [^s]))'),
        ),
        parameter_start=parameter,
        value_end=f"</{prefix}{value}>",
        end=f"</{prefix}{call}>",
        form=(start + '{name}">\n', f"</{prefix}{call}>"),
        wrappers=("arguments", "input") if typed else (),
        parameter_form=f'{parameter}{{key}}"{mark}>{{value}}</{prefix}{value}>\n',
    )


def xml_prompt(opening: str, example: str, closing: str) -> str:
    """What a model is told that writes its calls as tags."""
    return IN_TOOLS + f"To call functions, write:\n{opening}\n{example}\n{closing}"


MINIMAX_M2 = Format(
    listing=TextListing(
        "minimax_m2",
        "as MiniMax M2 writes it",
        "MiniMax M3 writes as `minimax_m3`",
        models=("minimax-m2",),
        signs=(sign("<minimax:tool_call>"),),
        opens_thought=(("minimax-m2",),),
    ),
    bodies=(_invoke(""), JsonCall(unmarked=False)),
    opens=("<minimax:tool_call>",),
    closes=("</minimax:tool_call>",),
    drops=("[e~[", "]~b]", "]~!b["),
    call_ends_thought=True,
    section=("<minimax:tool_call>\n", "\n</minimax:tool_call>"),
    prompt=xml_prompt(
        "<minimax:tool_call>",
        '<invoke name="function_name">\n<parameter name="parameter_name">its value</parameter>\n</invoke>',
        "</minimax:tool_call>",
    ),
    declare=openai_tool,
    result="<response>{text}</response>",
    chat=chat_marks.MINIMAX,
    source="chat template of MiniMax-M2",
)


def _dsml(
    listing: TextListing, prefix: str, section: str, *, result: str, chat: ChatMarks, source: str, more: str = ""
) -> Format:
    """Parameters that say by themselves whether they are strings.

    Args:
        listing: how the catalog lists the dialect.
        prefix: stands before each tag's name.
        section: the name of the tag around all calls.
        result: how a result is told.
        chat: how the chat template marks turns.
        source: where the format is described.
        more: another name of the tag around all calls, which is read as well.
    """
    opens = tuple(f"<{prefix}{name}>" for name in (section, more) if name)
    closes = tuple(f"</{prefix}{name}>" for name in (section, more) if name)
    return Format(
        listing=listing,
        bodies=(_invoke(prefix, typed=True),),
        opens=opens,
        closes=closes,
        drops=("<｜end▁of▁sentence｜>",) if "DSML" in prefix else ("<|message_sep|>", "</s>"),
        call_ends_thought=True,
        section=(f"{opens[0]}\n", f"\n{closes[0]}"),
        prompt=xml_prompt(
            opens[0],
            f'<{prefix}invoke name="function_name">\n<{prefix}parameter name="parameter_name" string="true|false">'
            f"its value</{prefix}parameter>\n</{prefix}invoke>",
            f'{closes[0]}\nstring="true" for plain text, string="false" for JSON.',
        ),
        declare=openai_tool,
        result=result,
        chat=chat,
        source=source,
    )


DEEPSEEK_V3_2 = _dsml(
    TextListing(
        "deepseek_v3_2",
        "as DeepSeek V3.2 writes it",
        "each parameter says by itself whether it is a string; V4 names the outer mark otherwise",
        models=("deepseek-v3.2", "deepseek-v4"),
        signs=(sign("｜DSML｜"),),
    ),
    "｜DSML｜",
    "function_calls",
    more="tool_calls",
    result="<function_results>\n<result>{text}</result>\n</function_results>",
    chat=chat_marks.DEEPSEEK_V3_1,
    source="encoding of DeepSeek-V3.2; DeepSeek-V4 names the outer mark tool_calls",
)
DEEPSEEK_V4_1 = _dsml(
    TextListing(
        "deepseek_v4_1",
        "as DeepSeek V4.1 writes it: the marks of V3.2 with a space in them",
        "each parameter says by itself whether it is a string",
        models=("deepseek-v4.1", "deepseek-v4_1", "deepseek_v4_1"),
        signs=(sign("｜DSML｜ calls"), sign("｜DSML｜", " calls>")),
    ),
    "｜DSML｜ ",
    "calls",
    result="<tool_result>{text}</tool_result>",
    chat=chat_marks.DEEPSEEK_V3_1,
    source="vLLM's and SGLang's readers of DeepSeek-V4.1",
)
GIGACHAT3_5 = _dsml(
    TextListing(
        "gigachat3_5",
        "as GigaChat 3.5 writes it",
        "each parameter says by itself whether it is a string; GigaChat 3 writes as `gigachat3`",
        models=("gigachat3.5", "gigachat-3.5", "gigachat3_5", "gigachat35"),
        signs=(sign("｜GCML｜"),),
    ),
    "｜GCML｜",
    "tool_calls",
    result='<function_response name="{name}">{text}</function_response>',
    chat=chat_marks.GIGACHAT,
    source="chat template of GigaChat 3.5 (Sber)",
)

DOTS = Format(
    listing=TextListing(
        "dots",
        "as dots 3 writes it",
        "values are plain text, the schema gives their type",
        models=("dots-3", "dots3", "dots.3"),
        signs=(sign("<dots_function_call>"),),
    ),
    bodies=(_invoke(""), JsonCall(unmarked=False)),
    opens=("<dots_function_call>",),
    closes=("</dots_function_call>",),
    drops=("<|endoftext|>", "<|im_end|>"),
    call_ends_thought=True,
    section=("<dots_function_call>\n", "\n</dots_function_call>"),
    prompt=xml_prompt(
        "<dots_function_call>",
        '<invoke name="function_name">\n<parameter name="parameter_name">its value</parameter>\n</invoke>',
        "</dots_function_call>",
    ),
    declare=openai_tool,
    result="<tool_response>\n{text}\n</tool_response>",
    chat=chat_marks.PLAIN,
    source="vLLM's and SGLang's readers of dots 3 and their tests",
)

MINICPM5 = Format(
    listing=TextListing(
        "minicpm5",
        "as MiniCPM 5 writes it",
        "a value of several lines stands in a CDATA section",
        models=("minicpm5", "minicpm-5"),
        signs=(sign("<function name=", "<param name="),),
    ),
    bodies=(
        structs.replace(_invoke("", words=("function", "param")), sections=True, wrappers=("arguments", "properties")),
    ),
    opens=("<tool_call>",),
    closes=("</tool_call>",),
    drops=("<|im_end|>", "<|endoftext|>"),
    call_ends_thought=True,
    between="\n",
    prompt=IN_TOOLS
    + """\
To call functions, write for each call; a value of several lines, or with < or &, stands in <![CDATA[ and ]]>:
<function name="function_name"><param name="parameter_name">its value</param></function>""",
    declare=openai_tool,
    result="<tool_response>\n{text}\n</tool_response>",
    source="chat template of MiniCPM5 (OpenBMB); vLLM's reader of the model and its tests",
)

_NS = "]<]minimax[>["
_NS_INVOKE = f'{_NS}<invoke name="'
MINIMAX_M3 = Format(
    listing=TextListing(
        "minimax_m3",
        "as MiniMax M3 writes it: a tag a parameter, tags in tags for objects and lists",
        "values are plain text, the schema gives their type; actum writes objects and lists as JSON",
        models=("minimax-m3", "minimax_m3"),
        signs=(sign(_NS),),
    ),
    bodies=(
        XmlCall(
            head=CallHead(
                re.compile(rf'{re.escape(_NS_INVOKE)}(?P<name>[^">\n]{{1,160}})">'),
                may=re.compile(begun(_NS_INVOKE, re.compile(r'[^">\n]{1,160}'), '">')),
            ),
            parameter=CallHead(
                re.compile(rf"{re.escape(_NS)}<(?P<key>[^\s<>/]{{1,160}})>"),
                may=re.compile(begun(f"{_NS}<", re.compile(r"[^\s<>/]{1,160}"), ">")),
            ),
            parameter_start=f"{_NS}<",
            value_end=f"{_NS}</{{key}}>",
            tree=_NS,
            end=f"{_NS}</invoke>",
            form=(f'{_NS_INVOKE}{{name}}">', f"{_NS}</invoke>"),
            parameter_form=f"{_NS}<{{key}}>{{value}}{_NS}</{{key}}>",
        ),
    ),
    opens=(f"{_NS}<tool_call>",),
    closes=(f"{_NS}</tool_call>",),
    drops=("[e~[", "]~b]", "]~!b["),
    think=("<mm:think>", "</mm:think>"),
    call_ends_thought=True,
    section=(f"{_NS}<tool_call>\n", f"\n{_NS}</tool_call>"),
    prompt=xml_prompt(
        f"{_NS}<tool_call>",
        f'{_NS_INVOKE}function_name">{_NS}<parameter_name>its value{_NS}</parameter_name>{_NS}</invoke>',
        f"{_NS}</tool_call>",
    ),
    declare=openai_tool,
    result="<response>{text}</response>",
    chat=chat_marks.MINIMAX,
    source="vLLM's reader of MiniMax-M3 and its tests",
)

STEP3 = Format(
    listing=TextListing(
        "step3",
        "as Step-3 writes it",
        "Step-3.5 writes as `qwen3_coder`",
        models=("step3", "step-3"),
        signs=(sign("steptml:"),),
    ),
    bodies=(_invoke("steptml:", lead=r"function<｜tool_sep｜>[^\s<]{1,128}\s*"),),
    opens=("<｜tool_calls_begin｜>", "<｜tool_call_begin｜>"),
    closes=("<｜tool_call_end｜>", "<｜tool_calls_end｜>", "<｜tool_sep｜>"),
    drops=("<|EOT|>",),
    section=("<｜tool_calls_begin｜>", "<｜tool_calls_end｜>"),
    call=("<｜tool_call_begin｜>", "<｜tool_call_end｜>"),
    between="<｜tool_sep｜>",
    prompt=xml_prompt(
        "<｜tool_calls_begin｜><｜tool_call_begin｜>",
        '<steptml:invoke name="function_name">\n<steptml:parameter name="parameter_name">its value'
        "</steptml:parameter>\n</steptml:invoke>",
        "<｜tool_call_end｜><｜tool_calls_end｜>",
    ),
    declare=openai_tool,
    result="<｜tool_output_begin｜>{text}<｜tool_output_end｜>",
    chat=chat_marks.PLAIN,
    source="chat template of Step-3",
)
