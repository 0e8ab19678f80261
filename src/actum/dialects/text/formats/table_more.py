"""Rows of the families that are met less often."""

from __future__ import annotations

import re

from msgspec import structs

from ... import chat_marks
from ...chat_marks import ChatMarks
from ...listing import TextListing, sign
from ..marks import CallHead, unlike
from ..tagged.bodies import JsonCall, NamedCall, ToUser
from ..tagged.dialect import (
    BRACKETS,
    IN_TOOLS,
    Format,
    bare_tool,
    openai_tool,
)
from ..tagged.pythonic_call import PythonicCall
from .invoke import xml_prompt
from .table import QWEN_XML

_EXAMPLE = '{"name": "function name", "arguments": {"parameter": "value"}}'
_RESPONSE = "<tool_response>\n{text}\n</tool_response>"


def _json_list(
    listing: TextListing,
    section: tuple[str, str],
    opens: tuple[str, ...],
    closes: tuple[str, ...],
    *,
    drops: tuple[str, ...] = (),
    result: str = _RESPONSE,
    chat: ChatMarks = chat_marks.CHATML,
    source: str,
) -> Format:
    """Calls as a JSON list between marks."""
    return Format(
        listing=listing,
        bodies=(JsonCall(),),
        opens=opens,
        closes=closes,
        drops=drops,
        loose=BRACKETS,
        section=section,
        between=", ",
        prompt=IN_TOOLS + f"To call functions, write a list of them:\n{section[0]}{_EXAMPLE}{section[1]}",
        declare=openai_tool,
        result=result,
        chat=chat,
        source=source,
    )


GRANITE = _json_list(
    TextListing(
        "granite",
        "as Granite writes it",
        "Granite 4 writes as `hermes`",
        models=("granite-3", "granite-20b-functioncalling"),
        signs=(
            sign("<|start_of_role|>", "<|tool_call|>"),
            sign("<function_call>", shared=4),
        ),
    ),
    ("<|tool_call|>[", "]"),
    ("<|tool_call|>", "<tool_call>", "<function_call>"),
    ("</tool_call>",),
    drops=("<|end_of_text|>", "<|start_of_role|>", "<|end_of_role|>", "<response>", "</response>"),
    chat=chat_marks.GRANITE,
    source="chat templates of Granite 3.0 to 3.3 (IBM); Granite 4 writes as `hermes`",
)
PHI4_MINI = _json_list(
    TextListing(
        "phi4_mini",
        "as Phi-4 mini writes it",
        models=("phi-4-mini", "phi4-mini", "firefunction", "llama-3-firefunction"),
        signs=(
            sign("<|tool_call|>", "<|/tool_call|>"),
            sign("<|tool|>", "<|/tool|>"),
            sign("functools["),
        ),
    ),
    ("functools[", "]"),
    ("functools", "<|tool_call|>"),
    ("<|/tool_call|>",),
    drops=("<|end|>", "<|endoftext|>"),
    chat=chat_marks.PHI4,
    source="model card and chat template of Phi-4-mini-instruct",
)
HUNYUAN = _json_list(
    TextListing(
        "hunyuan",
        "as Hunyuan-A13B writes it",
        "answers stand in `<answer>`",
        models=("hunyuan-a13b", "hunyuan_a13b"),
        signs=(sign("<tool_calls>", "<|extra_0|>"),),
    ),
    ("<tool_calls>[", "]</tool_calls>"),
    ("<tool_calls>",),
    ("</tool_calls>",),
    drops=("<answer>", "</answer>", "<|eos|>", "<|extra_0|>"),
    result="<tool_response>{text}</tool_response>",
    chat=chat_marks.HUNYUAN,
    source="chat template of Hunyuan-A13B-Instruct",
)
JAMBA = _json_list(
    TextListing(
        "jamba",
        "as Jamba writes it",
        "Apriel and MiniMax-M1 write the same",
        models=("jamba", "minimax-m1", "apriel"),
        signs=(sign("<tool_calls>", "</tool_calls>", shared=1),),
    ),
    ("<tool_calls>[", "]</tool_calls>"),
    ("<tool_calls>",),
    ("</tool_calls>",),
    drops=("<|eom|>", "<|end|>", "<end_of_sentence>"),
    chat=chat_marks.PLAIN,
    source="chat template of Jamba 1.5 and 1.6; Apriel 1.5 and MiniMax-M1 write the same",
)
NEMOTRON = _json_list(
    TextListing(
        "nemotron",
        "as Nemotron writes it",
        models=("nvidia-nemotron-nano", "nemotron-nano", "llama-3_3-nemotron-super-49b-v1_5"),
        signs=(sign("<TOOLCALL>"),),
    ),
    ("<TOOLCALL>[", "]</TOOLCALL>"),
    ("<TOOLCALL>",),
    ("</TOOLCALL>",),
    result="<TOOL_RESPONSE>[{text}]</TOOL_RESPONSE>",
    drops=("<SPECIAL_12>", "<|eot_id|>"),
    chat=chat_marks.NEMOTRON,
    source="chat templates of Nemotron Nano v2 and Llama-3.3-Nemotron-Super v1.5",
)
XLAM = _json_list(
    TextListing(
        "xlam",
        "as xLAM writes it",
        "a bare list of calls; it is told from other JSON by the names in it",
        models=("xlam", "llama-xlam"),
        signs=(sign("single JSON array", "tool_call_name", shared=4),),
    ),
    ("[", "]"),
    ("[TOOL_CALLS]", "<tool_call>"),
    ("</tool_call>",),
    drops=("<|eot_id|>", "<|im_end|>", "<|endoftext|>"),
    chat=chat_marks.PLAIN,
    source="model cards of xLAM (Salesforce): a bare list of calls",
)

INTERNLM = Format(
    listing=TextListing(
        "internlm",
        "as InternLM writes it",
        models=("internlm2", "internlm3"),
        signs=(sign("<|action_start|>", "<|plugin|>"),),
    ),
    bodies=(JsonCall(arguments_key="parameters"),),
    opens=("<|action_start|>", "<|plugin|>", "<|interpreter|>"),
    closes=("<|action_end|>",),
    drops=("<|im_end|>",),
    loose=BRACKETS,
    call=("<|action_start|><|plugin|>\n", "<|action_end|>"),
    prompt="""\
These are the functions that you may call, as JSON:
{tools}

To call one, write:
<|action_start|><|plugin|>
{"name": "function name", "parameters": {"parameter": "value"}}<|action_end|>""",
    declare=bare_tool,
    joined="list",
    result="<|environment|>\n{text}",
    source="chat format of InternLM2 and InternLM2.5: tools",
)

_FUNCTION = CallHead(
    re.compile(r"<function=(?P<name>[^>\n]{1,160})>\s*(?=[{\"<])"),
    refuse=re.compile(rf"{unlike('<function=')}|<function=(?:>|[^>\n]*+(?:\n|>\s*+[^{{\"<\s]))"),
)
FUNCTIONARY = Format(
    listing=TextListing(
        "functionary",
        "as Functionary writes it",
        "v3.1; the `python` tool of raw code is not read",
        models=("functionary",),
        signs=(sign("<function=", "</function>", shared=3),),
    ),
    bodies=(NamedCall(head=_FUNCTION, unmarked=_FUNCTION, form="<function={name}>{arguments}</function>"),),
    opens=("<|python_tag|>",),
    closes=("</function>",),
    drops=("<|eom_id|>", "<|eot_id|>"),
    loose=BRACKETS,
    between="",
    prompt="""\
These are the functions that you may call, as JSON, one a line:

{tools}

To call functions, write for each call:
<function=function_name>{"parameter": "value"}</function>""",
    declare=openai_tool,
    result="<tool_response name={name}>\n{text}\n</tool_response>",
    chat=chat_marks.LLAMA3,
    source="Functionary v3.1 (MeetKai); the user-defined custom tool calling of Llama 3.1",
)


def _functionary(listing: TextListing, opening: str, separator: str, *, chat: ChatMarks, source: str) -> Format:
    """A recipient and what is said to it; to `all`, the user, it is text. The prompt ends in the first opening mark."""
    behind = re.escape(separator)
    recipient = rf"(?!all{behind})(?P<name>[^\s<>{{}}]{{1,128}}){behind}\s*(?=\{{)"
    return Format(
        listing=listing,
        bodies=(
            NamedCall(
                head=CallHead(
                    re.compile(recipient),
                    refuse=re.compile(
                        rf"[\s<>{{}}]|[^\s<>{{}}]{{129}}|[^\s<>{{}}]++{unlike(separator)}|all{behind}"
                        rf"|[^\s<>{{}}]++{behind}\s*+[^{{\s]"
                    ),
                ),
                form=f"{opening}{{name}}{separator}{{arguments}}",
            ),
            ToUser(head=CallHead(re.compile(f"all{behind}"), refuse=re.compile(unlike(f"all{separator}")))),
        ),
        opens=(opening,),
        drops=("<|stop|>", "<|eom_id|>", "<|eot_id|>"),
        opened=True,
        said=f"{opening}all{separator}",
        loose=r"\s}",
        between="",
        prompt=f"""\
These are the functions that you may call, as JSON, one a line:

{{tools}}

Write to whom you speak, a function or all, and then the arguments as JSON or the text:
{opening}function_name{separator}{{"parameter": "value"}}""",
        declare=openai_tool,
        result="<tool_response name={name}>\n{text}\n</tool_response>",
        chat=chat,
        source=source,
    )


FUNCTIONARY_V2 = _functionary(
    TextListing(
        "functionary_v2",
        "as Functionary v2 writes it: a recipient, and what is said to it",
        "the output begins with the recipient, since the prompt ends in its mark",
        models=("functionary-small-v2", "functionary-medium-v2"),
        signs=(sign("<|recipient|>", "<|from|>"),),
    ),
    "<|from|>assistant\n<|recipient|>",
    "\n<|content|>",
    chat=chat_marks.FUNCTIONARY_V2,
    source="Functionary v2.2 and v2.4 (MeetKai), as llama-cpp-python's chat handler drives it",
)
FUNCTIONARY_V3_2 = _functionary(
    TextListing(
        "functionary_v3_2",
        "as Functionary v3.2 writes it: >>>name and {JSON}",
        "as v2; `>>>` in a text is text unless a recipient and an object follow",
        models=("functionary-small-v3.2", "functionary-medium-v3.2"),
        signs=(sign(">>>${recipient}"),),
    ),
    ">>>",
    "\n",
    chat=chat_marks.FUNCTIONARY,
    source="chat template of Functionary v3.2 (MeetKai)",
)

SEED_OSS = Format(
    listing=TextListing(
        "seed_oss",
        "as Seed-OSS writes it",
        "values are plain text, the schema gives their type",
        models=("seed-oss", "seed_oss"),
        signs=(sign("<seed:tool_call>"),),
    ),
    bodies=(
        structs.replace(
            QWEN_XML, padded=False, next_ends=False, parameter_form="<parameter={key}>{value}</parameter>\n"
        ),
    ),
    opens=("<seed:tool_call>",),
    closes=("</seed:tool_call>",),
    drops=("<seed:eos>", "<seed:bos>"),
    think=("<seed:think>", "</seed:think>"),
    call_ends_thought=True,
    call=("<seed:tool_call>\n", "\n</seed:tool_call>"),
    prompt=xml_prompt(
        "<seed:tool_call>",
        "<function=function_name>\n<parameter=parameter_name>its value</parameter>\n</function>",
        "</seed:tool_call>",
    ),
    declare=openai_tool,
    result="<tool_response>\n{text}\n</tool_response>",
    chat=chat_marks.SEED,
    source="chat template of Seed-OSS-36B-Instruct",
)

OLMO3 = Format(
    listing=TextListing(
        "olmo3",
        "as OLMo 3 writes it",
        models=("olmo-3",),
        signs=(sign("<function_calls>", "</function_calls>", shared=1),),
        opens_thought=(("olmo-3", "think"),),
    ),
    bodies=(PythonicCall(listed=False),),
    opens=("<function_calls>",),
    closes=("</function_calls>",),
    drops=("<|im_end|>", "<|endoftext|>"),
    several_inside=True,
    section=("<function_calls>", "</function_calls>"),
    prompt="""\
You may call the functions below, in Python's notation, one call a line:
<function_calls>function_a(parameter="value", other=1)
function_b()</function_calls>

<functions>{tools}</functions>""",
    declare=bare_tool,
    joined="list",
    result="<tool_response>\n{text}\n</tool_response>",
    source="chat template of OLMo 3",
)

LFM2 = Format(
    listing=TextListing(
        "lfm2",
        "as LFM2 writes it",
        models=("lfm2",),
        signs=(
            sign("<|tool_call_start|>"),
            sign("<|tool_list_start|>"),
            sign("<|im_start|>", "List of tools: ["),
        ),
    ),
    bodies=(PythonicCall(), JsonCall(unmarked=False)),
    opens=("<|tool_call_start|>",),
    closes=("<|tool_call_end|>",),
    drops=("<|im_end|>",),
    loose=r"\s,;\])",
    section=("<|tool_call_start|>[", "]<|tool_call_end|>"),
    between=", ",
    prompt="""\
List of tools: <|tool_list_start|>{tools}<|tool_list_end|>

To call some, write a list of calls in Python's notation:
<|tool_call_start|>[function_a(parameter="value", other=1), function_b()]<|tool_call_end|>""",
    declare=bare_tool,
    joined="list",
    result="<|tool_response_start|>{text}<|tool_response_end|>",
    source="model card and chat template of LFM2",
)

ERNIE4_5 = Format(
    listing=TextListing(
        "ernie4_5",
        "as Ernie 4.5 writes it",
        "answers stand in `<response>`; the thinking models begin inside a thought",
        models=("ernie-4.5", "ernie4.5", "ernie-4_5", "ernie4_5"),
        opens_thought=(("ernie-4.5", "thinking"),),
    ),
    bodies=(JsonCall(),),
    opens=("<tool_call>",),
    closes=("</tool_call>",),
    drops=("<response>", "</response>", "<|end_of_sentence|>", "</s>"),
    call_ends_thought=True,
    loose=BRACKETS,
    call=("<tool_call>\n", "\n</tool_call>"),
    prompt=IN_TOOLS + f"To call functions, write for each call:\n<tool_call>\n{_EXAMPLE}\n</tool_call>",
    declare=openai_tool,
    result="<tool_output>\n{text}\n</tool_output>",
    chat=chat_marks.PLAIN,
    source="vLLM's reader of ERNIE-4.5-21B-A3B-Thinking and its tests",
)

APERTUS = Format(
    listing=TextListing(
        "apertus",
        'as Apertus writes it: [{"name": {arguments}}]',
        "the tool's name is the key of an object; an object with `name` and `arguments` is not read",
        models=("apertus",),
        signs=(sign("<|tools_prefix|>"),),
    ),
    bodies=(
        NamedCall(
            head=CallHead(
                re.compile(r'(?:\[\s*)?\{\s*"(?P<name>[^"\\\s]{1,128})"\s*:\s*(?=\{)'),
                refuse=re.compile(
                    r'[^\[{]|\[\s*[^{\s]|(?:\[\s*)?\{\s*(?:[^"\s]|"(?:["\\\s]|[^"\\\s]{129}|[^"\\\s]++(?:[\\\s]'
                    r'|"\s*+(?:[^:\s]|:\s*+[^{\s]))))'
                ),
            ),
            form='{"{name}": {arguments}}',
        ),
    ),
    opens=("<|tools_prefix|>",),
    closes=("<|tools_suffix|>",),
    drops=("<|assistant_end|>", "<|assistant_start|>"),
    think=("<|inner_prefix|>", "<|inner_suffix|>"),
    several_inside=True,
    loose=BRACKETS,
    section=("<|tools_prefix|>[", "]<|tools_suffix|>"),
    between=", ",
    prompt=IN_TOOLS
    + """\
To call functions, write a list, each call under the name of its function:
<|tools_prefix|>[{"function_name": {"parameter": "value"}}]<|tools_suffix|>""",
    declare=openai_tool,
    result="[{json}]",
    results=('["',),
    chat=chat_marks.APERTUS,
    source="chat template of Apertus-8B-Instruct (Swiss AI Initiative)",
)
