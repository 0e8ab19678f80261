"""What people are told of a call that failed, in English and Chinese: one sentence for each kind.

What a model is told stands in the failure itself. Of that, people are shown only what was written for them too: a
tool's own words, a person's reason, what is wrong with each argument.
"""

from __future__ import annotations

import re
from math import ceil

from ..call import Failure, Problem
from .translation import Language

_HAN = re.compile(r"[\u3400-\u9fff]")

SENTENCES: dict[Language, dict[str, str]] = {
    "en": {
        "unknown_tool": "There is no such tool.",
        "invalid_arguments": "The call did not fit what the tool takes.",
        "permission_denied": "This is not permitted.",
        "approval_denied": "Somebody said no to this.",
        "approval_expired": "The approval came too late, or was given for something else. It was not done.",
        "budget_exceeded": "It was not done: a limit is used up.",
        "loop_detected": "It was not done again: it came to the same every time.",
        "rate_limited": "Too many requests in a short time.",
        "unavailable": "The service can not be reached, or failed.",
        "timeout": "There was no answer in time. It may have happened all the same.",
        "in_doubt": "It was interrupted. It may or may not have happened; please check.",
        "tool_error": "It could not be done.",
        "tool_bug": "Something went wrong inside the tool.",
        "invalid_result": "The tool gave an answer that can not be used.",
        "resource_limit": "It was stopped: it took more memory, time or space than allowed.",
        "cancelled": "It was cancelled.",
    },
    "zh": {
        "unknown_tool": "没有这个工具。",
        "invalid_arguments": "调用的参数不符合工具的要求。",
        "permission_denied": "没有权限这样做。",
        "approval_denied": "有人拒绝了这次操作。",
        "approval_expired": "批准来得太晚，或者批准的不是这次操作。没有执行。",
        "budget_exceeded": "没有执行：已达到上限。",
        "loop_detected": "没有再次执行：每次的结果都一样。",
        "rate_limited": "短时间内请求太多。",
        "unavailable": "无法连接到该服务，或者该服务出错了。",
        "timeout": "没有按时得到回答，但操作也许已经执行。",
        "in_doubt": "操作中途中断，不清楚是否已经执行，请核实。",
        "tool_error": "没能完成。",
        "tool_bug": "工具内部出错了。",
        "invalid_result": "工具返回的结果无法使用。",
        "resource_limit": "已被停止：占用的内存、时间或空间超过了上限。",
        "cancelled": "已取消。",
    },
}
"""Every code of `errors.CODES` in every language."""

_BESIDE: dict[Language, dict[str, str]] = {
    "en": {"again": " Try again in {seconds} s.", "reference": " (Reference: {reference})", "join": " "},
    "zh": {"again": "请在 {seconds} 秒后再试。", "reference": "（编号：{reference}）", "join": ""},
}
_PROBLEM: dict[Language, dict[str, str]] = {
    "en": {"missing": "{path}: is missing ({expected}).", "wrong": "{path}: expected {expected}, not {received}."},
    "zh": {"missing": "{path}：缺少（{expected}）。", "wrong": "{path}：应为 {expected}，而不是 {received}。"},
}
_OWN_WORDS = frozenset({"tool_error", "approval_denied"})
"""Kinds whose message a person wrote, of the tool or for the model, and that people may read."""


def language_of(text: str) -> Language:
    """The language of what a user wrote: Chinese when it holds Han characters."""
    return "zh" if _HAN.search(text) else "en"


def told(failure: Failure, language: Language = "en") -> str:
    """What a person is told.

    >>> told(Failure("rate_limited", "Slow down.", retry_after=12.0))
    'Too many requests in a short time. Try again in 12 s.'
    """
    beside = _BESIDE[language]
    parts = [SENTENCES[language].get(failure.code, SENTENCES[language]["tool_error"])]
    parts += [_told_problem(problem, language) for problem in failure.problems]
    if failure.code in _OWN_WORDS and failure.message:
        parts.append(failure.message)
    text = beside["join"].join(parts)
    if failure.retry_after is not None:
        text += beside["again"].format(seconds=_seconds(failure.retry_after))
    if failure.reference:
        text += beside["reference"].format(reference=failure.reference)
    return text


def _seconds(seconds: float) -> str:
    """A time to wait, never told as nothing: whole seconds, and a tenth where there is less than one."""
    return f"{ceil(seconds)}" if seconds >= 1 else f"{max(0.1, seconds):.1f}"


def _told_problem(problem: Problem, language: Language) -> str:
    sentence = _PROBLEM[language]["missing" if problem.rule == "required" or not problem.received else "wrong"]
    return sentence.format(path=problem.path or "…", expected=problem.expected, received=problem.received)
