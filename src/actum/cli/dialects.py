"""`actum dialects`: the ways to say a call, and what each tells a model of a tool."""

from __future__ import annotations

from typing import cast

from ..core.interfaces import Request
from ..core.json import Json, parse
from ..core.message import SystemMessage, UserMessage
from ..core.tool import Tool
from ..dialects import dialect, names
from .options import JsonFlag
from .show.terminal import Terminal

AUTO = "auto"
LINES = {
    AUTO: "by the API where the endpoint is known or found to call tools, else by the prompt",
    "anthropic_messages": "native: tool_use and tool_result of the Messages API",
    "gemini_content": "native: functionCall and functionResponse of generateContent",
    "openai_chat": "native: tools and tool_calls of the Chat Completions API",
    "openai_functions": "native, as it was in 2023: functions and function_call",
    "openai_responses": "native: function_call items of the Responses API",
    "prompt_json": 'in the prompt: the model writes {"tool": ..., "params": {...}}',
    "react": "in the prompt: Thought, Action, Action Input, Observation, Answer",
    "hermes": "as Hermes, Qwen 2.5 and Qwen3 write it: <tool_call>{JSON}</tool_call>",
    "qwen3_coder": "as Qwen3-Coder writes it: <function=name><parameter=key>",
    "llama3_json": "as Llama 3 writes it: {JSON} alone, or behind <|python_tag|>",
    "llama_pythonic": "as Llama 3.2 and 4 write it: [name(key=value)]",
    "mistral": "as older Mistral models write it: [TOOL_CALLS][{JSON}]",
    "mistral_v11": "as newer Mistral models write it: [TOOL_CALLS]name[ARGS]{JSON}",
    "deepseek_v3": "as DeepSeek V3 and R1 write it: marks around a fenced JSON object",
    "deepseek_v3_1": "as DeepSeek V3.1 writes it: marks around name and JSON",
    "deepseek_v3_2": "as DeepSeek V3.2 writes it",
    "glm4_5": "as GLM-4.5 to 4.7 write it: <tool_call>name with <arg_key> and <arg_value>",
    "kimi_k2": "as Kimi K2 writes it: a section of calls with ids such as functions.name:0",
    "harmony": "as gpt-oss writes it: channels, and a call addressed to functions.name",
    "granite": "as Granite writes it",
    "phi4_mini": "as Phi-4 mini writes it",
    "jamba": "as Jamba writes it",
    "nemotron": "as Nemotron writes it",
    "xlam": "as xLAM writes it",
    "internlm": "as InternLM writes it",
    "command_r": "as Command R and A write it",
    "functionary": "as Functionary writes it",
    "minimax_m2": "as MiniMax M2 writes it",
    "step3": "as Step-3 writes it",
    "seed_oss": "as Seed-OSS writes it",
    "olmo3": "as OLMo 3 writes it",
    "lfm2": "as LFM2 writes it",
    "apertus": 'as Apertus writes it: [{"name": {arguments}}]',
    "command_r_plus": "as Command R and R+ of 2024 write it: Action: and a fenced list",
    "ernie4_5": "as Ernie 4.5 writes it",
    "functionary_v2": "as Functionary v2 writes it: a recipient, and what is said to it",
    "functionary_v3_2": "as Functionary v3.2 writes it: >>>name and {JSON}",
    "functiongemma": "as FunctionGemma writes it: call:name{key:<escape>value<escape>}",
    "gemma4": "as Gemma 4 writes it: call:name{key:value}",
    "hunyuan": "as Hunyuan-A13B writes it",
}
"""Each in a line. `auto` is no dialect but the choice of one."""


def dialects(as_json: JsonFlag = False) -> None:
    """List the ways a model can say a call."""
    terminal = Terminal()
    found = [AUTO, *names()]
    if as_json:
        terminal.json([{"name": name, "line": LINES[name]} for name in found])
    else:
        terminal.table("dialect", "how a model says a call", rows=[(name, LINES[name]) for name in found])


def as_told(tool: Tool, name: str) -> Json:
    """What a model is told of a tool in this dialect: the fields of an API's request, or the text of a prompt.

    Raises:
        UnknownName: there is no such dialect.
    """
    request = Request(messages=[UserMessage.of("?")], tools=(tool,))
    told = dialect(name).encode_request(request)
    if isinstance(told, bytes):
        body = cast("dict[str, Json]", parse(told)[0])
        return {field: body[field] for field in ("tools", "functions") if field in body}
    return "\n\n".join(message.text for message in told.messages if isinstance(message, SystemMessage))
