"""Rows for Cohere's Command models, which cite their sources in the text."""

from __future__ import annotations

import re

from ... import chat_marks
from ...listing import TextListing, sign
from ..marks import CallHead, unlike
from ..tagged.bodies import JsonCall
from ..tagged.dialect import BRACKETS, Format, bare_tool

_SOURCES = r"[\d,:\s\[\]]"
_CITES = (
    CallHead(
        re.compile(rf"<co(?::{_SOURCES}{{1,120}})?>"),
        refuse=re.compile(rf"{unlike('<co>', '<co:')}|<co:{_SOURCES}*+[^\d,:\s\[\]>]|<co:[^>]{{121}}"),
    ),
    CallHead(
        re.compile(rf"</co:\s*(?P<sources>{_SOURCES}{{1,120}})>"),
        refuse=re.compile(rf"{unlike('</co:')}|</co:{_SOURCES}*+[^\d,:\s\[\]>]|</co:[^>]{{121}}"),
    ),
)
"""`<co>bar</co: 0:[1,2]>`, of older models `<co: 0>bar</co: 0>`: call and results, or documents."""

COMMAND_R = Format(
    listing=TextListing(
        "command_r",
        "as Command R and A write it",
        "citations are taken out of the text and stand in `reply.extras`",
        models=("command-r7b", "c4ai-command-r7b", "command-a", "c4ai-command-a"),
        signs=(sign("<|START_ACTION|>"),),
    ),
    bodies=(JsonCall(name_key="tool_name", arguments_key="parameters", id_key="tool_call_id"), JsonCall()),
    opens=("<|START_ACTION|>",),
    closes=("<|END_ACTION|>",),
    drops=(
        *("<|START_RESPONSE|>", "<|END_RESPONSE|>", "<|START_TEXT|>", "<|END_TEXT|>"),
        *("<|END_OF_TURN_TOKEN|>", "<|CHATBOT_TOKEN|>"),
    ),
    think=("<|START_THINKING|>", "<|END_THINKING|>"),
    cites=_CITES,
    loose=BRACKETS,
    section=("<|START_ACTION|>[\n", "\n]<|END_ACTION|>"),
    between=",\n",
    prompt="""\
## Available Tools

{tools}

To call tools, write a list of calls; the answer to the user stands between <|START_RESPONSE|> and <|END_RESPONSE|>:
<|START_ACTION|>[
{"tool_call_id": "0", "tool_name": "function name", "parameters": {"parameter": "value"}}
]<|END_ACTION|>""",
    declare=bare_tool,
    joined="list",
    result='<|START_TOOL_RESULT|>[{"tool_call_id": "{id}", "results": {"0": {json}}}]<|END_TOOL_RESULT|>',
    chat=chat_marks.COMMAND,
    source="chat templates of Command R7B and Command A (Cohere)",
)

COMMAND_R_PLUS = Format(
    listing=TextListing(
        "command_r_plus",
        "as Command R and R+ of 2024 write it: Action: and a fenced list",
        "`directly_answer` means no call; the answer itself comes in a turn of its own",
        models=("command-r", "c4ai-command-r"),
        signs=(sign("Action:", "tool_name", shared=1),),
    ),
    bodies=(JsonCall(name_key="tool_name", arguments_key="parameters", fenced=True),),
    opens=("Action:",),
    drops=("<|END_OF_TURN_TOKEN|>", "<|CHATBOT_TOKEN|>"),
    cites=_CITES,
    loose=BRACKETS + "`",
    section=("Action:\n```json\n[\n", "\n]```"),
    between=",\n",
    prompt="""\
## Available Tools

{tools}

To call tools, write 'Action:' and a list of calls; none of them is needed for an answer in words:
Action:
```json
[
{"tool_name": "function name", "parameters": {"parameter": "value"}}
]```""",
    declare=bare_tool,
    joined="list",
    result="<results>\n{text}\n</results>",
    chat=chat_marks.COMMAND,
    source="tool use templates of Command R and Command R+ (Cohere), 2024",
)
