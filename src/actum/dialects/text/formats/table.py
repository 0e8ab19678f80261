"""The open models' text formats, a row each; `tagged.dialect` is the engine that reads and writes them.

The facts are those of the models' chat templates and of what servers were seen to make of their output. What the model
is told is in our own words around the form it was trained on.
"""

from __future__ import annotations

import re

from ... import chat_marks
from ...chat_marks import ChatMarks
from ...listing import TextListing, sign
from ..marks import CallHead, KnownHead, unlike
from ..tagged.bodies import Body, JsonCall, NamedCall
from ..tagged.dialect import (
    BRACKETS,
    IN_TOOLS,
    Format,
    bare_tool,
    openai_tool,
)
from ..tagged.pythonic_call import PythonicCall
from ..tagged.xml_call import XmlCall

_CHATML = ("<|im_end|>", "<|endoftext|>", "<|im_start|>")
_LLAMA = ("<|eot_id|>", "<|eom_id|>", "<|end_of_text|>", "<|eot|>", "<|eom|>")

QWEN_XML = XmlCall(
    head=CallHead(
        re.compile(r"<function=(?P<name>[^>\n]{1,160})>"),
        refuse=re.compile(rf"{unlike('<function=')}|<function=(?:>|[^>\n]*\n)"),
    ),
    parameter=CallHead(
        re.compile(r"<parameter=(?P<key>[^>\n]{1,160})>"),
        refuse=re.compile(rf"{unlike('<parameter=')}|<parameter=(?:>|[^>\n]*\n)"),
    ),
    parameter_start="<parameter=",
    value_end="</parameter>",
    end="</function>",
    padded=True,
    next_ends=True,
    form=("<function={name}>\n", "</function>"),
    parameter_form="<parameter={key}>\n{value}\n</parameter>\n",
)

HERMES = Format(
    listing=TextListing(
        "hermes",
        "as Hermes, Qwen 2.5 and Qwen3 write it: <tool_call>{JSON}</tool_call>",
        "Qwen models leave out the opening tag, or write the arguments as JSON in a string",
        models=("hermes", "qwen", "qwq", "granite-4", "longcat", "mimo-vl", "reka-edge", "bielik"),
        signs=(sign("<tool_call>", "</tool_call>", shared=2),),
        opens_thought=(
            ("qwen3", "thinking"),
            ("qwq",),
        ),
    ),
    bodies=(JsonCall(), QWEN_XML),
    opens=("<tool_call>", "<tool_calls>", "<longcat_tool_call>"),
    closes=("</tool_call>", "</tool_calls>", "</longcat_tool_call>"),
    drops=(*_CHATML, "<|end_of_text|>"),
    call_ends_thought=True,
    loose=BRACKETS,
    call=("<tool_call>\n", "\n</tool_call>"),
    prompt=IN_TOOLS
    + """\
To call functions, write for each call a JSON object with its name and arguments:
<tool_call>
{"name": "function name", "arguments": {"parameter": "value"}}
</tool_call>""",
    declare=openai_tool,
    result="<tool_response>\n{text}\n</tool_response>",
    source="Hermes function calling format (NousResearch); chat templates of Qwen2.5 and Qwen3",
)

QWEN3_CODER = Format(
    listing=TextListing(
        "qwen3_coder",
        "as Qwen3-Coder writes it: <function=name><parameter=key>",
        "values are plain text, the schema gives their type; the outer tag is often missing",
        models=(
            "qwen3-coder",
            "qwen3coder",
            "qwen3_coder",
            "qwen3.5",
            "qwen3.6",
            "nemotron-3",
            "step-3.5",
            "step-3.7",
            "step3.5",
            "step3p5",
        ),
        signs=(sign("<function=", "<parameter=", "<tool_call>"),),
    ),
    bodies=(QWEN_XML, JsonCall()),
    opens=("<tool_call>",),
    closes=("</tool_call>",),
    drops=_CHATML,
    call_ends_thought=True,
    call=("<tool_call>\n", "\n</tool_call>"),
    prompt=IN_TOOLS
    + """\
To call functions, write for each call:
<tool_call>
<function=function_name>
<parameter=parameter_name>
its value, which may span
several lines
</parameter>
</function>
</tool_call>""",
    declare=openai_tool,
    result="<tool_response>\n{text}\n</tool_response>",
    source="chat template of Qwen3-Coder",
)

LLAMA3_JSON = Format(
    listing=TextListing(
        "llama3_json",
        "as Llama 3 writes it: {JSON} alone, or behind <|python_tag|>",
        "a bare object; several are divided by semicolons; `parameters`, not `arguments`",
        models=("llama-3", "llama3", "llama_3"),
        signs=(
            sign("<|python_tag|>", shared=5),
            sign("<|eot_id|>", '"parameters"', shared=5),
        ),
    ),
    bodies=(JsonCall(arguments_key="parameters"), PythonicCall(listed=False, suffix=".call")),
    opens=("<|python_tag|>",),
    drops=_LLAMA,
    loose=BRACKETS,
    between="; ",
    prompt="""\
You may call the functions below. To call one, answer with nothing but a JSON object of this form:
{"name": "function name", "parameters": {"parameter": "value"}}
Several calls are divided by a semicolon.

{tools}""",
    declare=openai_tool,
    result="<tool_response name={name}>\n{text}\n</tool_response>",
    chat=chat_marks.LLAMA3,
    source="Llama 3.1 model card and prompt formats (Meta): JSON based tool calling",
)

LLAMA_PYTHONIC = Format(
    listing=TextListing(
        "llama_pythonic",
        "as Llama 3.2 and 4 write it: [name(key=value)]",
        "values that are no literals are kept as text",
        models=("llama-4", "llama4", "llama-3.2-1b", "llama-3.2-3b", "toolace", "gemma-3", "gemma3"),
        signs=(
            sign("<|python_start|>", shared=4),
            sign("<|eot|>", "<|header_start|>", shared=4),
            sign("func_name1(params_name1=", shared=4),
        ),
    ),
    bodies=(PythonicCall(), JsonCall()),
    opens=("<|python_start|>", "<|python_tag|>"),
    closes=("<|python_end|>",),
    drops=_LLAMA,
    loose=r"\s,;\])",
    section=("[", "]"),
    between=", ",
    prompt="""\
You may call the functions below. To call some, answer with nothing but a list of calls in Python's notation:
[function_a(parameter="value", other=1), function_b()]

{tools}""",
    declare=bare_tool,
    joined="list",
    result="<tool_response name={name}>\n{text}\n</tool_response>",
    chat=chat_marks.LLAMA3,
    source="Llama 3.2 and Llama 4 model cards and prompt formats (Meta): zero-shot function calling",
)

_MISTRAL_NAME = r'[^\s\[\]{}<>"]'
_MISTRAL_NAMED = NamedCall(
    head=CallHead(
        re.compile(
            rf"(?P<name>{_MISTRAL_NAME}{{1,128}})(?:\[CALL_ID\](?P<id>[^\s\[\]{{}}]{{1,64}}))?\s*(?:\[ARGS\]|(?=\{{))"
        ),
        refuse=re.compile(rf"(?!{_MISTRAL_NAME})|{_MISTRAL_NAME}{{129}}|{_MISTRAL_NAME}+(?:\s+[^\s\[{{]|[\]}}<>\"])"),
    ),
    known=KnownHead(
        re.compile(
            rf"(?P<name>{_MISTRAL_NAME}{{1,128}})(?:\[CALL_ID\](?P<id>[^\s\[\]{{}}]{{1,64}}))?(?:\[ARGS\]|(?=\{{))"
        ),
        refuse=re.compile(rf"{_MISTRAL_NAME}++(?:{unlike('{', '[ARGS]', '[CALL_ID]')}|\[CALL_ID\].{{100}})"),
        word=re.compile(rf"{_MISTRAL_NAME}+"),
    ),
    form="[TOOL_CALLS]{name}[ARGS]{arguments}",
)

_MISTRAL_PROMPT = "[AVAILABLE_TOOLS]{tools}[/AVAILABLE_TOOLS]\n\n"

MISTRAL = Format(
    listing=TextListing(
        "mistral",
        "as older Mistral models write it: [TOOL_CALLS][{JSON}]",
        "ids have nine letters and digits in the models' own template",
        models=("mistral", "mixtral", "ministral"),
        signs=(sign("[TOOL_CALLS]", shared=1),),
    ),
    bodies=(JsonCall(), _MISTRAL_NAMED),
    opens=("[TOOL_CALLS]",),
    drops=("</s>",),
    think=("[THINK]", "[/THINK]"),
    loose=BRACKETS,
    section=("[TOOL_CALLS] [", "]"),
    between=", ",
    prompt=_MISTRAL_PROMPT
    + """\
To call functions, write:
[TOOL_CALLS] [{"name": "function name", "arguments": {"parameter": "value"}}]""",
    declare=openai_tool,
    joined="list",
    result='[TOOL_RESULTS] {"content": {json}}[/TOOL_RESULTS]',
    chat=chat_marks.MISTRAL,
    source="mistral-common, tokenizers v2 to v7; chat template of Mistral-7B-Instruct-v0.3",
)

MISTRAL_V11 = Format(
    listing=TextListing(
        "mistral_v11",
        "as newer Mistral models write it: [TOOL_CALLS]name[ARGS]{JSON}",
        "the name stands before `[ARGS]`, with an id in some versions",
        models=(
            "mistral-small-3.2",
            "mistral-small-2506",
            "mistral-small-4",
            "magistral",
            "devstral",
            "ministral-3",
            "mistral-large-3",
            "mistral-large-2512",
            "mistral-medium",
        ),
        signs=(sign("[TOOL_CALLS]", "[ARGS]"),),
    ),
    bodies=(_MISTRAL_NAMED, JsonCall()),
    opens=("[TOOL_CALLS]",),
    drops=("</s>",),
    think=("[THINK]", "[/THINK]"),
    loose=BRACKETS,
    between="",
    prompt=_MISTRAL_PROMPT
    + """\
To call functions, write for each call:
[TOOL_CALLS]function_name[ARGS]{"parameter": "value"}""",
    declare=openai_tool,
    joined="list",
    result="[TOOL_RESULTS]{text}[/TOOL_RESULTS]",
    chat=chat_marks.MISTRAL_V7,
    source="mistral-common, tokenizers v11 and v13; chat template of Mistral-Small-3.2",
)

_SEP = "<｜tool▁sep｜>"
_DEEPSEEK_NAME = r'[^\s<>{}\["`]'
_DEEPSEEK_V3 = NamedCall(
    head=CallHead(
        re.compile(
            rf"(?:{_DEEPSEEK_NAME}{{1,32}}{_SEP})?(?P<name>{_DEEPSEEK_NAME}{{1,128}})\s*```[a-z]*+\s*+(?=[^a-z])"
        ),
        refuse=re.compile(
            rf"(?!{_DEEPSEEK_NAME})|{_DEEPSEEK_NAME}{{129}}|{_DEEPSEEK_NAME}+(?:\s+[^\s`]|[>{{}}\[\"]|<[^｜])"
            rf"|{_DEEPSEEK_NAME}+{_SEP}\s*(?:[{{\[\"<]|{_DEEPSEEK_NAME}+(?:[<>{{}}\[\"]|\s+[^\s`]))"
        ),
    ),
    form="function" + _SEP + "{name}\n```json\n{arguments}\n```",
)
_DEEPSEEK_V3_1 = NamedCall(
    head=CallHead(
        re.compile(rf'(?P<name>{_DEEPSEEK_NAME}{{1,128}}){_SEP}\s*(?=[{{\["<])'),
        refuse=re.compile(
            rf"(?!{_DEEPSEEK_NAME})|{_DEEPSEEK_NAME}{{129}}|{_DEEPSEEK_NAME}+(?:[\s>{{}}\[\"`]|<[^｜])"
            rf"|{_DEEPSEEK_NAME}+{_SEP}\s*[^\s{{\[\"<]"
        ),
    ),
    form="{name}" + _SEP + "{arguments}",
)


def _deepseek(listing: TextListing, bodies: tuple[Body, ...], form: str, *, chat: ChatMarks, source: str) -> Format:
    return Format(
        listing=listing,
        bodies=bodies,
        opens=("<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>"),
        closes=("<｜tool▁call▁end｜>", "<｜tool▁calls▁end｜>"),
        drops=("<｜end▁of▁sentence｜>",),
        loose=BRACKETS + "`",
        section=("<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"),
        call=("<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>"),
        between="",
        prompt="## Tools\n\nThese are the functions that you may call, as JSON, one a line:\n\n{tools}\n\n"
        f"To call functions, write:\n<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>{form}<｜tool▁call▁end｜>"
        "<｜tool▁calls▁end｜>\nSeveral calls stand one behind the other, all between the outer marks.",
        declare=bare_tool,
        result="<｜tool▁output▁begin｜>{text}<｜tool▁output▁end｜>",
        results=("<｜tool▁outputs▁begin｜>",),
        chat=chat,
        source=source,
    )


DEEPSEEK_V3 = _deepseek(
    TextListing(
        "deepseek_v3",
        "as DeepSeek V3 and R1 write it: marks around a fenced JSON object",
        "models leave out the closing fence and the outer marks; both are borne",
        models=("deepseek-v3", "deepseek-r1", "deepseek-chat-v3", "deepseek_r1", "deepseek_v3"),
        signs=(sign("<｜tool▁sep｜>", "```json"),),
        opens_thought=(
            ("deepseek-r1",),
            ("deepseek_r1",),
        ),
    ),
    (_DEEPSEEK_V3, _DEEPSEEK_V3_1),
    'function<｜tool▁sep｜>function_name\n```json\n{"parameter": "value"}\n```',
    chat=chat_marks.DEEPSEEK,
    source="chat templates of DeepSeek-V3-0324 and DeepSeek-R1",
)
DEEPSEEK_V3_1 = _deepseek(
    TextListing(
        "deepseek_v3_1",
        "as DeepSeek V3.1 writes it: marks around name and JSON",
        models=("deepseek-v3.1", "deepseek-v3_1"),
        signs=(sign("<｜tool▁sep｜>", shared=1),),
    ),
    (_DEEPSEEK_V3_1, _DEEPSEEK_V3),
    'function_name<｜tool▁sep｜>{"parameter": "value"}',
    chat=chat_marks.DEEPSEEK_V3_1,
    source="chat template of DeepSeek-V3.1",
)

_GLM_NAME = r"[^\s<>{}]"
GLM4_5 = Format(
    listing=TextListing(
        "glm4_5",
        "as GLM-4.5 to 4.7 write it: <tool_call>name with <arg_key> and <arg_value>",
        "values are plain text, the schema gives their type; 4.7 writes no line breaks",
        models=("glm-4.5", "glm-4.6", "glm-4.7", "glm4.5", "glm4_5", "glm-4p5", "laguna", "ling-3.0", "spark2.5"),
        signs=(sign("<arg_key>", "<arg_value>"),),
    ),
    bodies=(
        XmlCall(
            head=CallHead(
                re.compile(
                    rf"(?P<name>{_GLM_NAME}{{1,128}})"
                    rf"(?:\s*(?=<arg_key>|</tool_call>)|\s*\n\s*(?=[^\s<>{{}}]{{1,128}}</arg_key>))"
                ),
                refuse=re.compile(
                    rf"(?!{_GLM_NAME})|{_GLM_NAME}{{129}}|{_GLM_NAME}+\s*[>{{}}]|{_GLM_NAME}+[^\S\n]+{_GLM_NAME}"
                    rf"|{_GLM_NAME}+\s+[^\s<>]+[\s>]|{_GLM_NAME}+\s*<(?:[^a/]|a[^r]|/[^ta])"
                ),
            ),
            parameter=CallHead(
                re.compile(r"(?:<arg_key>)?\s*(?P<key>[^<>]{1,128}?)\s*(?:</arg_key>)?\s*<arg_value>"),
                refuse=re.compile(r"(?:<arg_key>)?(?:[^<>]{160}|[^<>]*(?:<[^a/]|</[^a]|>))"),
            ),
            parameter_start="<arg_key>",
            value_start="<arg_value>",
            value_end="</arg_value>",
            form=("{name}\n", ""),
            parameter_form="<arg_key>{key}</arg_key>\n<arg_value>{value}</arg_value>\n",
            unmarked=False,
        ),
        JsonCall(unmarked=False),
    ),
    opens=("<tool_call>",),
    closes=("</tool_call>",),
    drops=("<|user|>", "<|observation|>", "<|assistant|>", "<|endoftext|>"),
    call_ends_thought=True,
    call=("<tool_call>", "</tool_call>"),
    prompt=IN_TOOLS
    + """\
To call functions, write for each call its name, then each argument as a pair:
<tool_call>function_name
<arg_key>parameter_name</arg_key>
<arg_value>its value</arg_value>
</tool_call>""",
    declare=openai_tool,
    result="<tool_response>\n{text}\n</tool_response>",
    chat=chat_marks.GLM,
    source="chat template of GLM-4.5",
)

_ARGUMENT_BEGIN = "<|tool_call_argument_begin|>"
KIMI_K2 = Format(
    listing=TextListing(
        "kimi_k2",
        "as Kimi K2 writes it: a section of calls with ids such as functions.name:0",
        "ids are `functions.name:0`, counted through the conversation; others are translated in the history",
        models=("kimi-k2", "kimi_k2"),
        signs=(
            sign("<|tool_call_argument_begin|>"),
            sign("<|im_middle|>", "tool_declare"),
        ),
    ),
    bodies=(
        NamedCall(
            head=CallHead(
                re.compile(
                    r"(?P<id>(?:functions\.)?(?P<name>[^\s:<>{}]{1,128})(?::\d{1,6})?)\s*"
                    r"(?:<\|tool_call_argument_begin\|>|(?=\{))"
                ),
                refuse=re.compile(
                    r"[\s:<>{}]|[^\s:<>{}]{140}|[^\s:<>{}]+(?:[>}]|:[^\d]|:\d{7}|(?::\d+)?\s+[^\s<{]|(?::\d+)?\s*<[^|])"
                ),
            ),
            unmarked=CallHead(
                re.compile(
                    r"(?P<id>functions\.(?P<name>[^\s:<>{}]{1,128}):\d{1,6})\s*(?:<\|tool_call_argument_begin\|>|(?=\{))"
                ),
                refuse=re.compile(
                    rf"{unlike('functions.')}|functions\.(?:[\s:<>{{}}]|[^\s:<>{{}}]{{129}}|[^\s:<>{{}}]+(?:[\s<>{{}}]|:[^\d]"
                    r"|:\d+(?:\s*[^\d\s<{]|\s+\d|\s*<[^|])|:\d{7}))"
                ),
            ),
            form="{id}" + _ARGUMENT_BEGIN + "{arguments}",
            own_id=r"functions\.[^\s:<>{}]+:\d+",
            made_id="functions.{name}:{index}",
        ),
    ),
    opens=("<|tool_calls_section_begin|>", "<|tool_call_begin|>"),
    closes=("<|tool_call_end|>", "<|tool_calls_section_end|>"),
    drops=("<|im_end|>", "[EOS]"),
    call_ends_thought=True,
    loose=BRACKETS,
    section=("<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"),
    call=("<|tool_call_begin|>", "<|tool_call_end|>"),
    between="",
    prompt="""\
# Tools

These are the functions that you may call, as JSON:
{tools}

To call functions, write, counting the calls of the conversation from 0:
<|tool_calls_section_begin|><|tool_call_begin|>functions.function_name:0<|tool_call_argument_begin|>{"parameter": \
"value"}<|tool_call_end|><|tool_calls_section_end|>""",
    declare=openai_tool,
    joined="list",
    result="## Return of {id}\n{text}",
    chat=chat_marks.KIMI,
    source="chat template and tool call guidance of Kimi-K2 (Moonshot AI)",
)
