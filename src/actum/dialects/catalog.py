"""Every dialect by its name. A dialect's module is imported when it is asked for, so that the list costs nothing."""

from __future__ import annotations

from importlib import import_module
from typing import Literal, cast, overload

from msgspec import Struct, structs

from ..core.errors import UnknownName, UsageError
from .base import ApiDialect, TextDialect

ApiName = Literal[
    "anthropic_messages",
    "gemini_content",
    "ollama_generate",
    "openai_chat",
    "openai_completions",
    "openai_functions",
    "openai_responses",
]
TextName = Literal[
    "prompt_json",
    "react",
    "hermes",
    "qwen3_coder",
    "llama3_json",
    "llama_pythonic",
    "mistral",
    "mistral_v11",
    "deepseek_v3",
    "deepseek_v3_1",
    "glm4_5",
    "kimi_k2",
    "harmony",
    "granite",
    "phi4_mini",
    "jamba",
    "nemotron",
    "xlam",
    "internlm",
    "command_r",
    "functionary",
    "minimax_m2",
    "deepseek_v3_2",
    "step3",
    "seed_oss",
    "olmo3",
    "lfm2",
    "apertus",
    "command_r_plus",
    "ernie4_5",
    "functionary_v2",
    "functionary_v3_2",
    "functiongemma",
    "gemma4",
    "hunyuan",
]

_PLACES = {
    "anthropic_messages": "api.anthropic.dialect:ANTHROPIC_MESSAGES",
    "gemini_content": "api.gemini.dialect:GEMINI_CONTENT",
    "ollama_generate": "api.ollama_generate:OLLAMA_GENERATE",
    "openai_chat": "api.openai_chat.dialect:OPENAI_CHAT",
    "openai_completions": "api.openai_completions:OPENAI_COMPLETIONS",
    "openai_functions": "api.openai_chat.dialect:OPENAI_FUNCTIONS",
    "openai_responses": "api.openai_responses.dialect:OPENAI_RESPONSES",
    "prompt_json": "text.prompt_json:PromptJson",
    "react": "text.react.dialect:React",
    "hermes": "text.formats.table:hermes",
    "qwen3_coder": "text.formats.table:qwen3_coder",
    "llama3_json": "text.formats.table:llama3_json",
    "llama_pythonic": "text.formats.table:llama_pythonic",
    "mistral": "text.formats.table:mistral",
    "mistral_v11": "text.formats.table:mistral_v11",
    "deepseek_v3": "text.formats.table:deepseek_v3",
    "deepseek_v3_1": "text.formats.table:deepseek_v3_1",
    "glm4_5": "text.formats.table:glm4_5",
    "kimi_k2": "text.formats.table:kimi_k2",
    "harmony": "text.harmony:Harmony",
    "granite": "text.formats.table:granite",
    "phi4_mini": "text.formats.table:phi4_mini",
    "jamba": "text.formats.table:jamba",
    "nemotron": "text.formats.table:nemotron",
    "xlam": "text.formats.table:xlam",
    "internlm": "text.formats.table:internlm",
    "command_r": "text.formats.table:command_r",
    "functionary": "text.formats.table:functionary",
    "minimax_m2": "text.formats.table:minimax_m2",
    "deepseek_v3_2": "text.formats.table:deepseek_v3_2",
    "step3": "text.formats.table:step3",
    "seed_oss": "text.formats.table:seed_oss",
    "olmo3": "text.formats.table:olmo3",
    "lfm2": "text.formats.table:lfm2",
    "apertus": "text.formats.table:apertus",
    "command_r_plus": "text.formats.table:command_r_plus",
    "ernie4_5": "text.formats.table:ernie4_5",
    "functionary_v2": "text.formats.table:functionary_v2",
    "functionary_v3_2": "text.formats.table:functionary_v3_2",
    "functiongemma": "text.formats.table:functiongemma",
    "gemma4": "text.formats.table:gemma4",
    "hunyuan": "text.formats.table:hunyuan",
}
"""Module and attribute: a dialect as it is, or the class of one that takes options."""

_CARRIERS = {"ollama_generate", "openai_completions"}
"""APIs that say no calls by themselves: they carry the text of a dialect that does."""

_TEMPLATES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("", ("]<]minimax[>[",)),  # MiniMax-M3: its values are tags in tags
    ("gemma4", ("<|tool_call>", "<tool_call|>")),
    ("functiongemma", ("<start_function_call>",)),
    ("apertus", ("<|tools_prefix|>",)),
    ("functionary_v3_2", (">>>${recipient}",)),
    ("functionary_v2", ("<|recipient|>", "<|from|>")),
    ("command_r", ("<|START_ACTION|>",)),
    ("command_r_plus", ("Action:", "tool_name")),
    ("hunyuan", ("<tool_calls>", "<|extra_0|>")),
    ("harmony", ("<|channel|>", "<|message|>")),
    ("qwen3_coder", ("<function=", "<parameter=", "<tool_call>")),
    ("seed_oss", ("<seed:tool_call>",)),
    ("minimax_m2", ("<minimax:tool_call>",)),
    ("step3", ("steptml:",)),
    ("deepseek_v3_2", ("｜DSML｜",)),
    ("nemotron", ("<TOOLCALL>",)),
    ("lfm2", ("<|tool_call_start|>",)),
    ("lfm2", ("<|tool_list_start|>",)),
    ("lfm2", ("<|im_start|>", "List of tools: [")),
    ("internlm", ("<|action_start|>", "<|plugin|>")),
    ("phi4_mini", ("<|tool_call|>", "<|/tool_call|>")),
    ("phi4_mini", ("<|tool|>", "<|/tool|>")),
    ("phi4_mini", ("functools[",)),
    ("granite", ("<|start_of_role|>", "<|tool_call|>")),
    ("jamba", ("<tool_calls>", "</tool_calls>")),
    ("olmo3", ("<function_calls>", "</function_calls>")),
    ("glm4_5", ("<arg_key>", "<arg_value>")),
    ("kimi_k2", ("<|tool_call_argument_begin|>",)),
    ("kimi_k2", ("<|im_middle|>", "tool_declare")),
    ("deepseek_v3", ("<｜tool▁sep｜>", "```json")),
    ("deepseek_v3_1", ("<｜tool▁sep｜>",)),
    ("mistral_v11", ("[TOOL_CALLS]", "[ARGS]")),
    ("mistral", ("[TOOL_CALLS]",)),
    ("hermes", ("<tool_call>", "</tool_call>")),
    ("functionary", ("<function=", "</function>")),
    ("llama_pythonic", ("<|python_start|>",)),
    ("llama_pythonic", ("<|eot|>", "<|header_start|>")),
    ("llama_pythonic", ("func_name1(params_name1=",)),
    ("granite", ("<function_call>",)),
    ("xlam", ("single JSON array", "tool_call_name")),
    ("llama3_json", ("<|python_tag|>",)),
    ("llama3_json", ("<|eot_id|>", '"parameters"')),
)
"""What a chat template has that tells a dialect, the surest first."""

_MODELS: dict[str, tuple[str, ...]] = {
    "harmony": ("gpt-oss", "gpt_oss"),
    "hermes": ("hermes", "qwen", "qwq", "granite-4", "longcat", "mimo-vl", "reka-edge", "bielik"),
    "qwen3_coder": (
        *("qwen3-coder", "qwen3coder", "qwen3_coder", "qwen3.5", "qwen3.6"),
        *("nemotron-3", "step-3.5", "step-3.7", "step3.5", "step3p5"),
    ),
    "llama3_json": ("llama-3", "llama3", "llama_3"),
    "llama_pythonic": ("llama-4", "llama4", "llama-3.2-1b", "llama-3.2-3b", "toolace", "gemma-3", "gemma3"),
    "mistral": ("mistral", "mixtral", "ministral"),
    "mistral_v11": (
        *("mistral-small-3.2", "mistral-small-2506", "mistral-small-4", "magistral", "devstral", "ministral-3"),
        *("mistral-large-3", "mistral-large-2512", "mistral-medium"),
    ),
    "deepseek_v3": ("deepseek-v3", "deepseek-r1", "deepseek-chat-v3", "deepseek_r1", "deepseek_v3"),
    "deepseek_v3_1": ("deepseek-v3.1", "deepseek-v3_1"),
    "glm4_5": (
        *("glm-4.5", "glm-4.6", "glm-4.7", "glm4.5", "glm4_5", "glm-4p5"),
        *("laguna", "ling-3.0", "spark2.5"),
    ),
    "kimi_k2": ("kimi-k2", "kimi_k2"),
    "granite": ("granite-3", "granite-20b-functioncalling"),
    "phi4_mini": ("phi-4-mini", "phi4-mini", "firefunction", "llama-3-firefunction"),
    "jamba": ("jamba", "minimax-m1", "apriel"),
    "nemotron": ("nvidia-nemotron-nano", "nemotron-nano", "llama-3_3-nemotron-super-49b-v1_5"),
    "xlam": ("xlam", "llama-xlam"),
    "internlm": ("internlm2", "internlm3"),
    "command_r": ("command-r7b", "c4ai-command-r7b", "command-a", "c4ai-command-a"),
    "command_r_plus": ("command-r", "c4ai-command-r"),
    "functionary": ("functionary",),
    "functionary_v2": ("functionary-small-v2", "functionary-medium-v2"),
    "functionary_v3_2": ("functionary-small-v3.2", "functionary-medium-v3.2"),
    "minimax_m2": ("minimax-m2",),
    "deepseek_v3_2": ("deepseek-v3.2", "deepseek-v4"),
    "step3": ("step3", "step-3"),
    "seed_oss": ("seed-oss", "seed_oss"),
    "olmo3": ("olmo-3",),
    "lfm2": ("lfm2",),
    "apertus": ("apertus",),
    "ernie4_5": ("ernie-4.5", "ernie4.5", "ernie-4_5", "ernie4_5"),
    "functiongemma": ("functiongemma",),
    "gemma4": ("gemma-4", "gemma4"),
    "hunyuan": ("hunyuan-a13b", "hunyuan_a13b"),
}
"""Pieces of the names of models that write so. The one that stands first counts, of two the longer: a model that was
made of another is called by its own name first."""

_OPENED: tuple[tuple[str, ...], ...] = (
    ("deepseek-r1",),
    ("deepseek_r1",),
    ("qwen3", "thinking"),
    ("qwq",),
    ("minimax-m2",),
    ("olmo-3", "think"),
    ("ernie-4.5", "thinking"),
)
"""Pieces of the names of models whose chat template ends in the mark that opens a thought."""

_TEMPLATE_SIGNS = ("{%", "{{", "\n")


@overload
def dialect(name: ApiName) -> ApiDialect: ...
@overload
def dialect(name: TextName, **options: str | bool) -> TextDialect: ...
@overload
def dialect(name: str, **options: str | bool) -> ApiDialect | TextDialect: ...
def dialect(name: str, **options: str | bool) -> ApiDialect | TextDialect:
    """The dialect of a name.

    Args:
        name: one of `names()`.
        options: what the dialect can be told: `language` ("en", "zh", "auto") of `prompt_json` and `react`, `plan` of
            `react`, `thinking` of every text dialect but `harmony`: the prompt ends with the mark that opens reasoning.

    Raises:
        UnknownName: no dialect has this name; the message lists them.
        UsageError: it does not take these options, or not these values.

    >>> dialect("react", language="zh").name
    'react'
    """
    place = _PLACES.get(name)
    if place is None:
        raise UnknownName(f"there is no dialect called {name!r}: use one of {', '.join(names())}")
    module, attribute = place.split(":")
    found: object = getattr(import_module(f"{__package__}.{module}"), attribute)
    taken = found.__struct_fields__ if isinstance(found, type) and issubclass(found, Struct) else ()
    taken = getattr(found, "OPTIONS", taken)
    unknown = options.keys() - set(taken)
    if unknown:
        raise UsageError(f"dialect {name!r} takes no option {', '.join(sorted(unknown))}")
    if isinstance(found, type):
        found = found(**options)
    elif options:
        found = structs.replace(cast(Struct, found), **options)
    return cast(ApiDialect | TextDialect, found)


def for_model(name_or_template: str) -> str | None:
    """The text dialect that a model writes calls in.

    Args:
        name_or_template: the model's name, as a hub, a server or its file has it, or its chat template.

    Returns:
        The dialect's name; None where nothing tells.

    >>> for_model("Qwen/Qwen2.5-7B-Instruct"), for_model("gpt-oss:20b"), for_model("phi-1")
    ('hermes', 'harmony', None)
    """
    if any(sign in name_or_template for sign in _TEMPLATE_SIGNS):
        told = (name for name, pieces in _TEMPLATES if all(piece in name_or_template for piece in pieces))
        return next(told, None) or None
    model = name_or_template.lower().rsplit("/", 1)[-1]
    pieces = [(model.find(piece), -len(piece), name) for name, known in _MODELS.items() for piece in known]
    return min([found for found in pieces if found[0] >= 0], default=(0, 0, None))[2]


def opens_thought(model: str) -> bool:
    """Whether the chat template of a model opens a thought, so that its output begins inside of one.

    Args:
        model: the model's name, as a hub, a server or its file has it.

    >>> opens_thought("deepseek-r1:8b"), opens_thought("Qwen/Qwen3-4B-Thinking-2507"), opens_thought("Qwen/Qwen3-4B")
    (True, True, False)
    """
    name = model.lower().rsplit("/", 1)[-1]
    return any(all(piece in name for piece in pieces) for pieces in _OPENED)


def models_of(name: str) -> tuple[str, ...]:
    """Pieces of the names of the models that write so, as `for_model` looks for them; none for APIs and prompts."""
    return _MODELS.get(name, ())


def names() -> tuple[str, ...]:
    """The names of all dialects that say calls, sorted."""
    return tuple(sorted(_PLACES.keys() - _CARRIERS))
