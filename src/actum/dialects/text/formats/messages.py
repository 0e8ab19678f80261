"""Rows of the models whose output is several messages, each with a head that says to whom or what kind of text it is.

In some of these families one mark ends every message, a thought as well as an answer (`Format.think_lone`).
"""

from __future__ import annotations

import re

from msgspec import structs

from ... import chat_marks
from ...listing import TextListing, sign
from ..marks import CallHead, KnownHead, begun, unlike
from ..tagged.bodies import JsonCall, NamedCall, ToUser
from ..tagged.dialect import BRACKETS, IN_TOOLS, Format, bare_tool, openai_tool
from ..tagged.xml_call import XmlCall

_TO = re.compile(r"[^\s<>]{1,128}")
_QUOTED = re.compile(r'[^"<>\n]{1,160}')
_BLANK = re.compile(r"\s*")


def _parameter(tag: str) -> tuple[CallHead, str]:
    """How a parameter begins that is a tag with a name, and the fixed beginning."""
    start = f'<{tag} name="'
    return (
        CallHead(
            re.compile(rf'{start}(?P<key>[^"\n]{{1,160}})">'),
            refuse=re.compile(rf'{unlike(start)}|{start}(?:"|[^"\n]*+(?:\n|"[^>]))'),
        ),
        start,
    )


# Muse Glimmer.

_TURN, _MESSAGE = "<|start|>assistant", "<|message|>"
_CALLS, _INVOKE = "<atem:function_calls>", '<atem:invoke name="'
_MUSE_PARAMETER, _MUSE_START = _parameter("atem:parameter")
_MUSE = XmlCall(
    head=CallHead(
        re.compile(
            rf"(?:(?:{re.escape(_TURN)})?\s?to={_TO.pattern}{re.escape(_MESSAGE)}\s*)?(?:{_CALLS}\s*)?"
            rf'{_INVOKE}(?P<name>{_QUOTED.pattern})">'
        ),
        may=re.compile(
            "|".join(
                begun(*head, _INVOKE, _QUOTED, '">')
                for head in (
                    (f"{_TURN} to=", _TO, _MESSAGE, _BLANK, _CALLS, _BLANK),
                    ("to=", _TO, _MESSAGE, _BLANK, _CALLS, _BLANK),
                    (_CALLS, _BLANK),
                    (),
                )
            )
        ),
    ),
    parameter=_MUSE_PARAMETER,
    parameter_start=_MUSE_START,
    value_end="</atem:parameter>",
    end="</atem:invoke>",
    form=(f'{_TURN} to={{name}}{_MESSAGE}{_CALLS}\n{_INVOKE}{{name}}">\n', "</atem:invoke>"),
    parameter_form=_MUSE_START + '{key}">{value}</atem:parameter>\n',
)
_NEVER = ToUser(head=CallHead(re.compile(r"(?!)"), refuse=re.compile("")))
"""No way of writing a call: no grammar holds a model to messages with heads."""

MUSE_GLIMMER = Format(
    listing=TextListing(
        "muse_glimmer",
        "as Muse Glimmer writes it: a message to the tool, with <atem:invoke> in it",
        "a thought is a message to `self`, the answer one to `user`",
        models=("muse-glimmer", "muse_glimmer", "museglimmer"),
        signs=(sign("<atem:function_calls>"),),
    ),
    bodies=(_MUSE, _NEVER),
    opens=(_CALLS,),
    closes=("</atem:function_calls>",),
    drops=(f"{_TURN} to=user{_MESSAGE}", f"to=user{_MESSAGE}", "<|eom|>", "<|eot|>"),
    think=(f"{_TURN} to=self{_MESSAGE}", "<|eom|>"),
    thoughts=((f"to=self{_MESSAGE}", "<|eom|>"), (f"to=self{_MESSAGE}", "<|eot|>")),
    think_lone=False,
    said=f"{_TURN} to=user{_MESSAGE}",
    call=("", "\n</atem:function_calls>"),
    prompt="""\
You may call the functions below, each in a message of its own that names the function:
to=function_name

<atem:function_calls>
<atem:invoke name="function_name">
<atem:parameter name="parameter_name">its value</atem:parameter>
</atem:invoke>
</atem:function_calls>

{tools}""",
    declare=bare_tool,
    result='<tool_output name="{name}">\n{text}\n</tool_output>',
    results=("<|start|>tool ",),
    chat=chat_marks.MUSE,
    source="chat template of Muse Glimmer (Meta); SGLang's reader of the model",
)


# Beam.

_CHANNEL = "<|channel|>analysis"
_BEAM_PARAMETER, _BEAM_START = _parameter("rfl:parameter")
BEAM = Format(
    listing=TextListing(
        "beam",
        "as Beam writes it: a message to the tool, with <rfl:parameter> in it",
        "thoughts and calls stand in the channel `analysis`, the answer in `final`",
        models=("beam-1",),
        signs=(sign("<rfl:parameter", "<|channel|>", "<|message|>"), sign("<rfl:parameter")),
    ),
    bodies=(
        XmlCall(
            head=CallHead(
                re.compile(
                    rf"(?:{re.escape(_TURN)})?\s?to=(?P<name>{_TO.pattern}){re.escape(_CHANNEL)}"
                    rf" <\|constrain\|>xml{re.escape(_MESSAGE)}"
                ),
                may=re.compile(
                    "|".join(
                        begun(head, _TO, f"{_CHANNEL} <|constrain|>xml{_MESSAGE}") for head in (f"{_TURN} to=", "to=")
                    )
                ),
            ),
            parameter=_BEAM_PARAMETER,
            parameter_start=_BEAM_START,
            value_end="</rfl:parameter>",
            end_stripped=True,
            padded=True,
            form=(f"{_TURN} to={{name}}{_CHANNEL} <|constrain|>xml{_MESSAGE}", ""),
            parameter_form=_BEAM_START + '{key}">\n{value}\n</rfl:parameter>',
        ),
        _NEVER,
    ),
    closes=("<|call|>",),
    drops=(f"<|channel|>final{_MESSAGE}", f"{_TURN}<|channel|>final{_MESSAGE}", "<|return|>", "<|end|>"),
    think=(f"{_TURN}{_CHANNEL}{_MESSAGE}", "<|end|>"),
    thoughts=((f"{_CHANNEL}{_MESSAGE}", "<|end|>"),),
    think_lone=False,
    said=f"{_TURN}<|channel|>final{_MESSAGE}",
    call=("", "<|call|>"),
    prompt="""\
You may call the functions below, each in a message of its own that names the function:
to=function_name<|channel|>analysis <|constrain|>xml<|message|>\
<rfl:parameter name="parameter_name">its value</rfl:parameter><|call|>

{tools}""",
    declare=bare_tool,
    result="<tool_response>\n{text}\n</tool_response>",
    chat=chat_marks.PLAIN,
    source="the response template of Beam 1.0 (Reflection), as a gateway's tests have it",
)


# Inkling.

_INVOKE_JSON = "<|content_invoke_tool_json|>"
_MODEL, _END = "<|message_model|>", "<|end_message|>"
_OBJECT = r'\s*\{\s*"name"\s*:\s*"(?P<name>[^"\\]{1,128})"\s*,\s*"args"\s*:\s*(?=\{)'
_IN_OBJECT = (_BLANK, "{", _BLANK, '"name"', _BLANK, ":", _BLANK, '"', re.compile(r'[^"\\]{1,128}'), '"')
_TO_ARGS = (_BLANK, ",", _BLANK, '"args"', _BLANK, ":", _BLANK, "{")
_INKLING = NamedCall(
    head=CallHead(re.compile(_OBJECT), may=re.compile(begun(*_IN_OBJECT, *_TO_ARGS))),
    unmarked=CallHead(
        re.compile(rf"{re.escape(_MODEL)}[^\s<>]{{0,128}}{re.escape(_INVOKE_JSON)}{_OBJECT}"),
        may=re.compile(begun(_MODEL, re.compile(r"[^\s<>]{0,128}"), _INVOKE_JSON, *_IN_OBJECT, *_TO_ARGS)),
    ),
    form=f'{_MODEL}{{name}}{_INVOKE_JSON}{{"name":"{{name}}","args":{{arguments}}',
)
INKLING = Format(
    listing=TextListing(
        "inkling",
        "as Inkling writes it: a message of the kind content_invoke_tool_json",
        "each message says its kind; the output begins behind the mark of the model's turn",
        models=("inkling",),
        signs=(sign("content_invoke_tool_json"),),
    ),
    bodies=(
        _INKLING,
        structs.replace(
            _INKLING,
            unmarked=None,
            known=KnownHead(
                re.compile(rf"[^\s<>{{}}]{{1,128}}{re.escape(_INVOKE_JSON)}{_OBJECT}"),
                may=re.compile(begun(re.compile(r"[^\s<>{}]{1,128}"), _INVOKE_JSON, *_IN_OBJECT, *_TO_ARGS)),
                word=re.compile(r"[^\s<>{}]+"),
            ),
        ),
        JsonCall(arguments_key="args", unmarked=False),
        _NEVER,
    ),
    opens=(_INVOKE_JSON,),
    closes=(_END,),
    drops=(f"{_MODEL}<|content_text|>", "<|content_text|>", "<|content_model_end_sampling|>", _END),
    think=(f"{_MODEL}<|content_thinking|>", _END),
    thoughts=(("<|content_thinking|>", _END),),
    think_lone=False,
    said=f"{_MODEL}<|content_text|>",
    loose=BRACKETS,
    call=("", "}" + _END),
    between="",
    prompt="""\
You may call the functions below. A call is a message of its own:
<|message_model|>function_name<|content_invoke_tool_json|>{"name":"function_name","args":{"parameter":"value"}}\
<|end_message|>

{tools}""",
    declare=bare_tool,
    result=f"<|message_tool|><|content_text|>{{text}}{_END}",
    chat=chat_marks.INKLING,
    source="vLLM's and SGLang's readers of Inkling",
)


# Kimi K3.

_OPEN, _CLOSE, _SEP = "<|open|>", "<|close|>", "<|sep|>"
_CALL, _ARGUMENT = f'{_OPEN}call tool="', f'{_OPEN}argument key="'
_WHOLE = f'{_OPEN}json type="object"{_SEP}'
_IN_ATTRIBUTE = re.compile(r'[^"<>\n]{1,200}')
KIMI_K3 = Format(
    listing=TextListing(
        "kimi_k3",
        "as Kimi K3 writes it: <|open|>call tool=, with an argument of each type",
        "each argument says its type; all arguments may stand in one block of JSON",
        models=("kimi-k3", "kimi_k3"),
        signs=(sign("<|open|>", "<|close|>", "<|sep|>"),),
        opens_thought=(("kimi-k3",), ("kimi_k3",)),
    ),
    bodies=(
        XmlCall(
            head=CallHead(
                re.compile(
                    rf'{re.escape(_CALL)}(?P<name>{_IN_ATTRIBUTE.pattern})"(?: index="\d{{1,6}}")?{re.escape(_SEP)}'
                ),
                may=re.compile(
                    begun(_CALL, _IN_ATTRIBUTE, '"', _SEP)
                    + "|"
                    + begun(_CALL, _IN_ATTRIBUTE, '" index="', re.compile(r"\d{1,6}"), '"', _SEP)
                ),
            ),
            parameter=CallHead(
                re.compile(
                    rf'(?:{re.escape(_ARGUMENT)}(?P<key>{_IN_ATTRIBUTE.pattern})"(?: type="(?P<type>[a-z]{{1,16}})")?'
                    rf"{re.escape(_SEP)}|(?P<whole>{re.escape(_WHOLE)}))"
                ),
                may=re.compile(
                    begun(_ARGUMENT, _IN_ATTRIBUTE, '"', _SEP)
                    + "|"
                    + begun(_ARGUMENT, _IN_ATTRIBUTE, '" type="', re.compile("[a-z]{1,16}"), '"', _SEP)
                    + "|"
                    + begun(_WHOLE)
                ),
            ),
            parameter_start=_ARGUMENT,
            value_end=f"{_CLOSE}argument{_SEP}",
            whole_end=f"{_CLOSE}json{_SEP}",
            end=f"{_CLOSE}call{_SEP}",
            escaped=True,
            form=(f'{_CALL}{{name}}"{_SEP}', f"{_CLOSE}call{_SEP}"),
            parameter_form=f'{_ARGUMENT}{{key}}" type="{{type}}"{_SEP}{{value}}{_CLOSE}argument{_SEP}',
        ),
        _NEVER,
    ),
    opens=(f"{_OPEN}tools{_SEP}",),
    closes=(f"{_CLOSE}tools{_SEP}",),
    drops=(
        *(f"{_OPEN}response{_SEP}", f"{_CLOSE}response{_SEP}", f"{_CLOSE}message{_SEP}"),
        *(f'{_OPEN}message role="assistant"{_SEP}', "<|end_of_msg|>"),
    ),
    think=(f"{_OPEN}think{_SEP}", f"{_CLOSE}think{_SEP}"),
    section=(f"{_OPEN}tools{_SEP}", f"{_CLOSE}tools{_SEP}"),
    between="",
    prompt=IN_TOOLS
    + f"""\
To call functions, write behind the answer:
{_OPEN}tools{_SEP}{_CALL}function_name"{_SEP}{_ARGUMENT}parameter_name" type="string"{_SEP}its value\
{_CLOSE}argument{_SEP}{_CLOSE}call{_SEP}{_CLOSE}tools{_SEP}
type is one of string, number, boolean, object, array, null.""",
    declare=openai_tool,
    result=f'\n{_OPEN}message role="tool" tool="{{name}}"{_SEP}{{text}}{_CLOSE}message{_SEP}<|end_of_msg|>',
    results=(f'{_OPEN}message role="tool"',),
    chat=chat_marks.KIMI_K3,
    source="chat template of Kimi-K3 (Moonshot AI)",
)


# GigaChat 3 and PLaMo 3: JSON in a message, or in marks of its own.

_FUNCTION_CALL = "function call<|role_sep|>"
GIGACHAT3 = Format(
    listing=TextListing(
        "gigachat3",
        "as GigaChat 3 writes it: a message of the role `function call`",
        "one call a turn in the models' own template; GigaChat 3.5 writes as `gigachat3_5`",
        models=("gigachat3", "gigachat-3"),
        signs=(sign("function call", "<|role_sep|>"), sign("<|function_call|>")),
    ),
    bodies=(JsonCall(),),
    opens=(_FUNCTION_CALL, "<|function_call|>"),
    drops=("<|message_sep|>", "</s>"),
    loose=BRACKETS,
    call=(f"{_FUNCTION_CALL}\n", ""),
    between="<|message_sep|>\n\n",
    prompt="""\
You may call the functions below. To call one, write a message of its own:
function call<|role_sep|>
{"name": "function name", "arguments": {"parameter": "value"}}<|message_sep|>

{tools}""",
    declare=bare_tool,
    result="function result<|role_sep|>\n{text}<|message_sep|>",
    chat=chat_marks.GIGACHAT,
    source="chat template of GigaChat3-10B-A1.8B (Sber); vLLM's reader of GigaChat 3 and 3.1",
)


def _plamo(name: str, side: str = "begin") -> str:
    return f"<|plamo:{side}_{name}:plamo|>"


_PLAMO_NAME, _PLAMO_NAME_END = _plamo("tool_name"), _plamo("tool_name", "end")
_PLAMO_ARGUMENTS, _PLAMO_JSON, _PLAMO_TEXT = _plamo("tool_arguments"), "<|plamo:constrain|>json", "<|plamo:msg|>"
PLAMO3 = Format(
    listing=TextListing(
        "plamo3",
        "as PLaMo 3 writes it: marks around a request, its name and its arguments",
        models=("plamo-3", "plamo3"),
        signs=(sign("<|plamo:begin_tool"), sign("plamo:", "tool_requests")),
    ),
    bodies=(
        NamedCall(
            head=CallHead(
                re.compile(
                    rf"{re.escape(_PLAMO_NAME)}(?P<name>{_TO.pattern}){re.escape(_PLAMO_NAME_END)}\s*"
                    rf"{re.escape(_PLAMO_ARGUMENTS)}(?:{re.escape(_PLAMO_JSON)})?(?:{re.escape(_PLAMO_TEXT)}|(?=\s*\{{))"
                ),
                may=re.compile(
                    "|".join(
                        begun(_PLAMO_NAME, _TO, _PLAMO_NAME_END, _BLANK, _PLAMO_ARGUMENTS, *constrain)
                        for constrain in (
                            (_PLAMO_JSON, _PLAMO_TEXT),
                            (_PLAMO_TEXT,),
                            (_BLANK, "{"),
                            (_PLAMO_JSON, _BLANK, "{"),
                        )
                    )
                ),
            ),
            form=f"{_PLAMO_NAME}{{name}}{_PLAMO_NAME_END}{_PLAMO_ARGUMENTS}{_PLAMO_JSON}{_PLAMO_TEXT}{{arguments}}"
            + _plamo("tool_arguments", "end"),
        ),
    ),
    opens=(_plamo("tool_requests"), _plamo("tool_request")),
    closes=tuple(_plamo(name, "end") for name in ("tool_arguments", "tool_request", "tool_requests")),
    drops=("<|plamo:tag|>",),
    think=(_plamo("think"), _plamo("think", "end")),
    loose=BRACKETS,
    section=(_plamo("tool_requests"), _plamo("tool_requests", "end")),
    call=(_plamo("tool_request"), _plamo("tool_request", "end")),
    between="",
    prompt=IN_TOOLS
    + "To call functions, write one request for each call, all between the outer marks:\n"
    + _plamo("tool_requests")
    + _plamo("tool_request")
    + f"{_PLAMO_NAME}function_name{_PLAMO_NAME_END}{_PLAMO_ARGUMENTS}{_PLAMO_JSON}{_PLAMO_TEXT}"
    + '{"parameter": "value"}'
    + "".join(_plamo(name, "end") for name in ("tool_arguments", "tool_request", "tool_requests")),
    declare=openai_tool,
    result="<tool_response>\n{text}\n</tool_response>",
    chat=chat_marks.PLAIN,
    source="vLLM's reader of PLaMo 3 and its tests",
)
