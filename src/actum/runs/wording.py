"""What the loop itself says to users and models, in English and Chinese.

Everything else is said by models and tools.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..core.call import ToolCall, ToolResult
from ..core.json import dumps
from ..core.language.error_words import language_of
from ..core.message import Reply
from ..core.run.pending import Pending
from ..core.run.record import Standing
from ..core.visible import on_one_line

ARGUMENTS_MAX = 500
RESULT_MAX = 2_000
"""So many characters of a call's arguments, and of its result, are told when it ends in another run."""
WORD_CHARS_MAX = 60
"""So many characters are told of an endpoint's word for why a reply ended."""
_ORDINARY_ENDS = frozenset({"", "completed", "end_turn", "stop", "stop_sequence"})
"""Words for that which tell a person nothing."""

_STOPPED = {
    "en": {
        "steps": "I stopped: this took more steps than allowed.",
        "calls": "I stopped: this took more tool calls than allowed.",
        "calls_per_reply": "I stopped: single replies asked for more tool calls than allowed.",
        "requests_per_call": "I stopped: a tool asked more often than allowed.",
        "tokens": "I stopped: this used more tokens than allowed.",
        "cost": "I stopped: this cost more than allowed.",
        "seconds": "I stopped: this took longer than allowed.",
        "tool_calls": "I stopped: a tool was called more often than allowed.",
        "rate": "I stopped: a tool may only be called so often a minute, and that was not enough. Try again later.",
        "depth": "I stopped: agents handed the task on to each other deeper than allowed.",
        "result_bytes": "I stopped: results were larger than allowed.",
        "user_rate": "I stopped: you may only have so many calls made a minute. Try again in a minute.",
        "user_runs": "I did not start: you have as many runs under way as you may. Wait until one is over.",
        "user_tokens": "I stopped: you have used up your tokens of these 24 hours.",
        "user_cost": "I stopped: you have used up your budget of these 24 hours.",
        "loop_detected": "I stopped: I was making the same call again and again without getting further.",
        "cancelled": "I stopped: the run was cancelled.",
        "access_revoked": "I stopped: whoever asked for this may not have it done any more.",
        "no_reply": "I stopped: the model gave no answer, and none when it was asked again.",
        "": "I stopped: a limit was reached.",
    },
    "zh": {
        "steps": "我停下了：步骤数超过了上限。",
        "calls": "我停下了：工具调用次数超过了上限。",
        "calls_per_reply": "我停下了：单次回复中的工具调用次数超过了上限。",
        "requests_per_call": "我停下了：某个工具发出的请求次数超过了上限。",
        "tokens": "我停下了：token 用量超过了上限。",
        "cost": "我停下了：费用超过了上限。",
        "seconds": "我停下了：用时超过了上限。",
        "tool_calls": "我停下了：某个工具的调用次数超过了上限。",
        "rate": "我停下了：某个工具每分钟的调用次数有上限，这次不够用。请稍后再试。",
        "depth": "我停下了：智能体之间层层转交任务，超过了允许的层数。",
        "result_bytes": "我停下了：工具返回的结果超过了允许的大小。",
        "user_rate": "我停下了：你每分钟的调用次数已达上限。请一分钟后再试。",
        "user_runs": "我没有开始：你同时进行的任务已达上限。请等其中一个结束。",
        "user_tokens": "我停下了：你 24 小时内的 token 用量已达上限。",
        "user_cost": "我停下了：你 24 小时内的费用已达上限。",
        "loop_detected": "我停下了：我一直在重复同一个调用，没有进展。",
        "cancelled": "我停下了：运行被取消了。",
        "access_revoked": "我停下了：请求者已不再有权做这件事。",
        "no_reply": "我停下了：模型没有给出回答，再问一次也没有。",
        "": "我停下了：已达到某个上限。",
    },
}

_STANDS: dict[str, dict[Standing, str]] = {
    "en": {
        "waiting": "It waits for a person. Do not make this call again: you will be told what becomes of it.",
        "approved": "A person approved it, and it has not been carried out yet. Do not make this call again.",
        "denied": "A person said no: it was not carried out.",
        "expired": "Nobody approved it in time: it was not carried out.",
        "answered": "A person answered what it waited for, and it has not come to its end yet. Do not make it again.",
        "doubt": "It was begun, and how it ended is not known: it may or may not have happened. It was not repeated.",
        "unmade": "It has not been carried out, since its turn did not come to its end.",
    },
    "zh": {
        "waiting": "正在等待人工处理。请不要再次发起这个调用，结果出来后会告诉你。",
        "approved": "已获批准，但还没有执行。请不要再次发起这个调用。",
        "denied": "有人拒绝了，没有执行。",
        "expired": "没有人及时批准，没有执行。",
        "answered": "它等待的问题已有人回答，但它还没有结束。请不要再次发起这个调用。",
        "doubt": "已经开始执行，但结果未知：可能已经发生，也可能没有。没有重复执行。",
        "unmade": "没有执行，因为那一轮没有进行到底。",
    },
}
"""How a call of an earlier turn stands that has no outcome."""

_SENTENCES = {
    "en": {
        "ask_for": "I need one more thing for {tool}: what is “{parameter}”?",
        "ask_join": " ",
        "invalid_output": "Your answer could not be used: {problem}\nAnswer again with nothing but the corrected JSON.",
        "output": (
            "When you have the answer, give it as JSON alone, without a fence, that fits this JSON Schema:\n{schema}"
        ),
        "no_answer": "There is no answer.",
        "cut_setting": "The answer was cut off at the {limit} tokens that the setting max_tokens allows.",
        "cut_default": (
            "The answer was cut off at {limit} tokens: that is asked for where the setting max_tokens gives no limit."
        ),
        "cut_context": "The answer was cut off: the context of the model is full.",
        "cut_length": "The answer was cut off at the limit of its length. A larger max_tokens may allow more.",
        "cut_filter": "The answer was broken off by the content filter of the endpoint.",
        "left_out": "[The beginning of this conversation was left out here: it is too long for you.]",
        "waiting": "Waiting for approval of: {names}.",
        "compact": (
            "Sum up our conversation so far, so that it can be gone on with from the summary alone: what was asked, "
            "what was found and done, what was decided, what is still open; names, numbers and ids exactly. No more."
        ),
        "summary": "Summary of our conversation so far:\n{summary}",
        "doubt": "Interrupted, and not known whether it happened: {names}.",
        "news": "Since this was last told, this became of calls of earlier turns (from the record, not from the user):",
        "call_done": "carried out. Result: {result}",
        "call_failed": "ended with an error: {message}",
        "noted": "Understood.",
        "unanswered": "I did not answer: this turn did not come to its end.",
        "turn_answered": "The turn of these calls ended with this answer: {text}",
    },
    "zh": {
        "ask_for": "调用 {tool} 还缺一项信息：请问“{parameter}”是什么？",
        "ask_join": "",
        "invalid_output": "你的回答无法使用：{problem}\n请只用改正后的 JSON 重新回答。",
        "output": "得出答案后，只输出符合以下 JSON Schema 的 JSON，不要加代码围栏：\n{schema}",
        "no_answer": "没有得到回答。",
        "cut_setting": "回答在 max_tokens 设定的 {limit} 个 token 处被截断了。",
        "cut_default": "回答在 {limit} 个 token 处被截断了：没有设定 max_tokens 时使用这个上限。",
        "cut_context": "回答被截断了：模型的上下文已满。",
        "cut_length": "回答达到长度上限，被截断了。把 max_tokens 设得大一些也许有用。",
        "cut_filter": "回答被模型服务的内容过滤器中断了。",
        "left_out": "[这段对话的开头已省略：内容太长，超出了你的上下文。]",
        "waiting": "等待批准：{names}。",
        "compact": (
            "请总结我们到目前为止的对话，使之后只凭这份总结就能继续：问了什么，查到和做了什么，作了哪些决定，还有什么没完成；"
            "名字、数字和编号要准确。不要写别的。"
        ),
        "summary": "到目前为止的对话总结：\n{summary}",
        "doubt": "中途中断，不清楚是否已经执行：{names}。",
        "news": "前面几轮的调用有了新情况（来自运行记录，不是用户说的）：",
        "call_done": "已执行。结果：{result}",
        "call_failed": "出错结束：{message}",
        "noted": "明白了。",
        "unanswered": "我没有回答：这一轮没有进行到底。",
        "turn_answered": "这些调用所在的那一轮最后回答了：{text}",
    },
}


class Phrases:
    """The loop's sentences in one language.

    Args:
        language: `en` or `zh`.
    """

    def __init__(self, language: str) -> None:
        self._sentences = _SENTENCES[language]
        self._stopped = _STOPPED[language]
        self._stands = _STANDS[language]

    @classmethod
    def for_text(cls, text: str) -> Phrases:
        """In the language of what the user wrote: Chinese when it holds Han characters."""
        return cls(language_of(text))

    def stopped(self, reason: str) -> str:
        """Why the run was stopped. Tools may have limits of their own, which have no sentence here."""
        return self._stopped.get(reason, self._stopped[""])

    def cut_off(self, reply: Reply, max_tokens: int | None, default_max_tokens: int | None) -> str:
        """Tell the user that an answer was cut off, behind what there is of the answer.

        Args:
            reply: the model's reply, as far as it came.
            max_tokens: the limit that was set; None for none.
            default_max_tokens: the limit where none was set; None for none.
        """
        used, limit = reply.usage.output_tokens, max_tokens or default_max_tokens
        key = "cut_default" if max_tokens is None else "cut_setting"
        if reply.cut_off == "content_filter":
            key = "cut_filter"
        elif reply.finish_reason.lower() == "model_context_window_exceeded":
            key = "cut_context"
        elif limit is None or 0 < used < limit:
            key = "cut_length"
        sentence = self._sentences[key].format(limit=limit)
        if reply.text.strip():
            return f"{reply.text}\n\n{sentence}"
        return f"{self._sentences['no_answer']}{self._sentences['ask_join']}{sentence}"

    def no_reply(self, reply: Reply) -> str:
        """Tell the user that the model gave no answer, with the endpoint's word for why, where there is more to it."""
        word = on_one_line(reply.finish_reason)[:WORD_CHARS_MAX]
        told = self.stopped("no_reply")
        return told if word.lower() in _ORDINARY_ENDS else f"{told} ({word})"

    def left_out(self) -> str:
        """Tell the model that the beginning of a conversation was left out."""
        return self._sentences["left_out"]

    def ask_for(self, missing: Sequence[tuple[str, str]]) -> str:
        """Ask the user for values: pairs of tool and parameter."""
        sentences = [self._sentences["ask_for"].format(tool=tool, parameter=path) for tool, path in missing]
        return self._sentences["ask_join"].join(sentences)

    def invalid_output(self, problem: str) -> str:
        """Tell the model that its answer does not have the type that was asked for."""
        return self._sentences["invalid_output"].format(problem=problem)

    def output(self, schema: str) -> str:
        """Tell the model which type its answer must have."""
        return self._sentences["output"].format(schema=schema)

    def waiting(self, pending: Sequence[Pending]) -> str:
        """Tell the user what the run waits for."""
        sentences = []
        for sentence, wanted in (("doubt", True), ("waiting", False)):
            names = [item.call.name if item.call else "" for item in pending if (item.kind == "doubt") is wanted]
            if names:
                sentences.append(self._sentences[sentence].format(names=", ".join(names)))
        return " ".join(sentences)

    def compact(self) -> str:
        """Ask the model for a summary of the conversation."""
        return self._sentences["compact"]

    def summary(self, text: str) -> str:
        """Tell the model what was said before, summed up."""
        return self._sentences["summary"].format(summary=text)

    def stands(self, how: Standing) -> str:
        """Tell the model how a call stands that has no outcome."""
        return self._stands[how]

    def call_stands(self, call: ToolCall, how: Standing) -> str:
        """Tell the model that a call of an earlier turn stands otherwise than it was told."""
        return f"{_call(call)}: {self._stands[how]}"

    def call_ended(self, call: ToolCall, result: ToolResult, shown: int | None) -> str:
        """Tell the model what a call of an earlier turn came to.

        Args:
            shown: so many characters of the result at most, where it was cut in its own run.
        """
        if result.error is not None:
            said = self._sentences["call_failed"].format(message=_quoted(result.error.message))
        else:
            said = self._sentences["call_done"].format(result=_quoted(result.text, shown))
        return f"{_call(call)}: {said}"

    @property
    def noted(self) -> str:
        """The model's answer to what the program tells it in the user's place."""
        return self._sentences["noted"]

    @property
    def unanswered(self) -> str:
        """What stands in place of the answer of an earlier turn that had none."""
        return self._sentences["unanswered"]

    def turn_answered(self, text: str) -> str:
        """Tell the model how an earlier turn ended."""
        return self._sentences["turn_answered"].format(text=_quoted(text))

    def news(self, lines: Sequence[str]) -> str:
        """Tell the model what became of calls of earlier turns."""
        return "\n- ".join([self._sentences["news"], *lines])


def _call(call: ToolCall) -> str:
    return f"{call.name} {_cut(dumps(call.arguments), ARGUMENTS_MAX)}"


def _quoted(text: str, most: int | None = None) -> str:
    """A foreign text as one line, so that it can not pass for a line of ours."""
    return dumps(_cut(text, RESULT_MAX if most is None else min(most, RESULT_MAX)))


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}…"
