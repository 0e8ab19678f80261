"""What somebody meant who named a model that there is not: `gpt-5`, `opnai:gpt-5`, `qwen3:8b`. Pure."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection

_FAMILIES = (
    (r"gpt-oss", "ollama"),
    (r"gpt|o\d\b|chatgpt|codex", "openai"),
    (r"claude", "anthropic"),
    (r"gemini", "gemini"),
    (r"deepseek-(chat|reasoner)", "deepseek"),
    (r"kimi|moonshot", "moonshot"),
    (r"qwen-|qwen\d?-(max|plus|turbo|flash)", "qwen"),
    (r"(mistral|magistral|codestral|devstral|ministral)-\w+-(latest|\d{4})", "mistral"),
    (r"grok", "xai"),
    (r"glm-", "zhipu"),
    (r"\S+/\S+", "openrouter"),
    (r"qwen|llama|mistral|gemma|phi|deepseek|smollm|granite", "ollama"),
)
"""How the names of a family of models begin, and where the family is found; the first row that fits."""

_TAG = re.compile(r"latest|[\d.]+[bm](-\S+)?")
"""What stands behind the colon in the name of a model of Ollama, as in `qwen3:8b`."""


def meant(name: str, providers: Collection[str], others: Collection[str]) -> str:
    """The name that was probably meant; empty where nothing comes near.

    Args:
        name: what was said.
        providers: the names of the providers.
        others: the names of models that stand alone, such as `embedded`.
    """
    said = name.strip().lower()
    prefix, mark, model = said.partition(":") if ":" in said else said.partition("/")
    if mark and model and prefix in providers:
        return f"{prefix}:{name.strip()[len(prefix) + 1 :]}"
    if _TAG.fullmatch(model) and "ollama" in providers:
        return f"ollama:{name.strip()}"
    if near := difflib.get_close_matches(said, others, 1, 0.75):
        return near[0]
    if mark and model and (near := difflib.get_close_matches(prefix, providers, 1, 0.75)):
        return f"{near[0]}:{name.strip()[len(prefix) + 1 :]}"
    family = next((provider for begins, provider in _FAMILIES if re.match(begins, said)), "")
    return f"{family}:{name.strip()}" if family in providers else ""
