"""What the loop itself says to users and models, in English and Chinese. Models and tools say everything else.

Sentences for users are entries of the catalogue. Sentences for models are in this file.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..core.call import ToolCall, ToolResult
from ..core.errors import ContextOverflow, ModelGarbled, ModelRejected, ModelUnavailable
from ..core.json import dumps
from ..core.language.error_words import language_of
from ..core.language.sentence import Sentence
from ..core.language.translation import Language, in_language
from ..core.message import Reply
from ..core.run.pending import Pending
from ..core.run.record import Standing, Started
from ..core.visible import on_one_line

ARGUMENTS_MAX = 500
RESULT_MAX = 2_000
"""The most characters of a call's arguments, and of its result, that are told when the call ends in another run."""
WORD_CHARS_MAX = 60
"""The most characters that are told of an endpoint's reason for the end of a reply."""
_ORDINARY_ENDS = frozenset({"", "completed", "end_turn", "stop", "stop_sequence"})
"""Words for that which tell a person nothing."""

_STOPPED = {
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
    "access_revoked": "I stopped: the person who asked for this may not have it done any more.",
    "no_progress": "I stopped: with my plan I was getting no further.",
    "plan_open": "I stopped: steps of my plan are still open.",
    "no_reply": "I stopped: the model gave no answer, and none when it was asked again.",
    "": "I stopped: a limit was reached.",
}
"""Why a run was stopped, as users are told; the Chinese is in the catalogue."""

_FAILED = {
    **{kind.__name__: kind.told for kind in (ContextOverflow, ModelRejected, ModelGarbled, ModelUnavailable)},
    "PermissionDenied": "This user may not use this.",
    "access_revoked": "This user may not use this any more.",
    "invalid_output": "The model gave no answer of the demanded form.",
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
        "invalid_output": "Your answer could not be used: {problem}\nAnswer again with nothing but the corrected JSON.",
        "refused": "Your answer was not accepted: {problem}\nSay in one line what went wrong, then answer again.",
        "plan_told": "Your plan so far (`update_plan` changes it):\n{plan}",
        "plan_open": (
            "These steps of your plan are still open:\n{steps}\nGo on with them; or mark them with `update_plan` as "
            "done, failed, dropped or waiting for the user, with a note, before you answer."
        ),
        "plan_failed": "[Not all of this worked. If your plan has to change, say so with `update_plan`.]",
        "plan_stuck": (
            "[Your last replies brought nothing new. Change your plan with `update_plan`: try another way, drop the "
            "step with a note, or ask the user.]"
        ),
        "references": (
            "In one reply you may make calls that use each other's results. As the whole value of an argument, "
            '"${1.name}" stands for the field `name` of the result of your first call in this reply, "${2.items[0]}" '
            'for a part of the second\'s, and "${1}" for all of a result. Calls are counted from 1, in the order in '
            "which you write them. Do not put a reference inside a longer text."
        ),
        "mark": (
            "Where you say what documents or results of tools say, make a reference of the words there by `{quote}`, "
            "letter for letter, and write its number, such as [1], behind your words that it backs, in each paragraph "
            "and each item of a list."
        ),
        "strict": (
            "Answer only from the documents: search, open pages, and make a reference of each statement by `{quote}`, "
            "letter for letter. Write the number of the reference, such as [1], behind the words that it backs, in "
            "each paragraph and each item of a list. Say nothing that no quote backs. Numbers stand in the quotes. No "
            "greeting, no summary."
        ),
        "attached": "A document that came with the question, {source}:\n{text}",
        "attached_part": "The beginning of a document that came with the question, {source}:\n{text}",
        "attached_search": "[`{search}` finds more]",
        "output": (
            "When you have the answer, give it as JSON alone, without a fence, that fits this JSON Schema:\n{schema}"
        ),
        "call_demanded": "Call {tool} now: this conversation goes on with a call, and you may answer afterwards.",
        "any_tool": "a tool",
        "left_out": "[The beginning of this conversation was left out here: it is too long for you.]",
        "compact": (
            "Sum up our conversation so far, so that it can be gone on with from the summary alone: what was asked, "
            "what was found and done, what was decided, what is still open; names, numbers and ids exactly. No more."
        ),
        "summary": "Summary of our conversation so far:\n{summary}",
        "news": "Since this was last told, this became of calls of earlier turns (from the record, not from the user):",
        "call_done": "carried out. Result: {result}",
        "call_failed": "ended with an error: {message}",
        "noted": "Understood.",
        "memory": "[Earlier words of the user, from memory. They may be out of date.]\n{lines}",
        "unanswered": "I did not answer: this turn did not come to its end.",
        "turn_answered": "The turn of these calls ended with this answer: {text}",
    },
    "zh": {
        "invalid_output": "你的回答无法使用：{problem}\n请只用改正后的 JSON 重新回答。",
        "refused": "你的回答没有被接受：{problem}\n先用一行说明哪里错了，然后重新回答。",
        "plan_told": "你到目前为止的计划（用 `update_plan` 修改）：\n{plan}",
        "plan_open": (
            "你的计划里还有这些步骤没有完成：\n{steps}\n请继续完成；或者先用 `update_plan` "
            "把它们标记为完成、失败、放弃或等待用户，并写明说明，然后再回答。"
        ),
        "plan_failed": "[这里有调用没有成功。如果计划需要改变，请用 `update_plan` 说明。]",
        "plan_stuck": (
            "[你最近几次回复没有带来任何新进展。请用 `update_plan` 修改计划："
            "换一种做法，写明原因放弃这一步，或者询问用户。]"
        ),
        "references": (
            '在同一次回复里，一个调用可以使用另一个调用的结果。把整个参数值写成 "${1.name}"，'
            '就表示这次回复中第一个调用结果的 name 字段；"${2.items[0]}" 表示第二个调用结果的一部分，'
            '"${1}" 表示整个结果。调用按书写顺序从 1 开始编号。不要把引用写在更长的文字中间。'
        ),
        "mark": (
            "凡是取自文档或工具结果的内容，都用 `{quote}` 逐字引用，并在它所支持的文字后面写上引用的编号，例如 [1]，"
            "每个段落、每个列表项都要有。"
        ),
        "strict": (
            "只根据文档回答：先搜索，打开页面，再用 `{quote}` 逐字引用每一个说法。在它所支持的文字后面写上引用的编号，"
            "例如 [1]，每个段落、每个列表项都要有。没有引文支持的话不要说。数字要出现在引文里。不要问候，不要总结。"
        ),
        "attached": "随问题附上的文档，{source}：\n{text}",
        "attached_part": "随问题附上的文档的开头，{source}：\n{text}",
        "attached_search": "[用 `{search}` 查找其余内容]",
        "output": "得出答案后，只输出符合以下 JSON Schema 的 JSON，不要加代码围栏：\n{schema}",
        "call_demanded": "请现在调用{tool}：接下来必须先调用工具，然后才能回答。",
        "any_tool": "一个工具",
        "left_out": "[这段对话的开头已省略：内容太长，超出了你的上下文。]",
        "compact": (
            "请总结我们到目前为止的对话，使之后只凭这份总结就能继续：问了什么，查到和做了什么，作了哪些决定，还有什么没完成；"
            "名字、数字和编号要准确。不要写别的。"
        ),
        "summary": "到目前为止的对话总结：\n{summary}",
        "news": "前面几轮的调用有了新情况（来自运行记录，不是用户说的）：",
        "call_done": "已执行。结果：{result}",
        "call_failed": "出错结束：{message}",
        "noted": "明白了。",
        "memory": "[以下是用户以前说过的话，来自记忆，可能已经过时。]\n{lines}",
        "unanswered": "我没有回答：这一轮没有进行到底。",
        "turn_answered": "这些调用所在的那一轮最后回答了：{text}",
    },
}
"""What models are told. A resumed run makes these texts again and compares them with its record: they never change."""


def failed_words(reason: str) -> str:
    """Why a run has failed, as anybody may be told; empty where the words on record are for the operator alone.

    Args:
        reason: of `Ended`.
    """
    return _FAILED.get(reason, "")


def developers_words(started: Started) -> str:
    """What the developer says in the instructions of a run: without how references and quotes are said, and without the
    form of the answer that a client wants. Nobody is to rely on these as on words of the developer.
    """
    told, phrases = started.instructions, Phrases.for_text(started.question)
    if started.answer_schema is not None:
        told = told.removesuffix(phrases.output(dumps(started.answer_schema)))
    told = told.replace(phrases.references(), "")
    how_to_cite = re.escape(phrases.cite(started.cite, "\0")).replace("\0", "[^`]*")  # the tool has any name
    return re.sub(how_to_cite, "", told) if started.cite else told


class Phrases:
    """The loop's sentences in one language.

    Args:
        language: `en` or `zh`.
    """

    def __init__(self, language: Language) -> None:
        self._language = language
        self._sentences = _SENTENCES[language]
        self._stands = _STANDS[language]

    @classmethod
    def for_text(cls, text: str) -> Phrases:
        """In the language of what the user wrote: Chinese when it holds Han characters."""
        return cls(language_of(text))

    @property
    def _between(self) -> str:
        return "" if self._language == "zh" else " "

    def _said(self, template: str, /, **values: object) -> str:
        """What the user is told."""
        return in_language(Sentence(template, **values), self._language)

    def stopped(self, reason: str) -> str:
        """Why the run was stopped. Tools may have limits of their own, which have no sentence here."""
        return self._said(_STOPPED.get(reason, _STOPPED[""]))

    def cut_off(self, reply: Reply, max_tokens: int | None, default_max_tokens: int | None) -> str:
        """Tell the user that an answer was cut off, behind what there is of the answer.

        Args:
            reply: the model's reply, as far as it came.
            max_tokens: the limit that was set; None for none.
            default_max_tokens: the limit where none was set; None for none.
        """
        used, limit = reply.usage.output_tokens, max_tokens or default_max_tokens
        if reply.cut_off == "content_filter":
            said = self._said("The answer was broken off by the content filter of the endpoint.")
        elif reply.finish_reason.lower() == "model_context_window_exceeded":
            said = self._said("The answer was cut off: the context of the model is full.")
        elif limit is None or 0 < used < limit:
            said = self._said("The answer was cut off at the limit of its length. A larger max_tokens may allow more.")
        elif max_tokens is None:
            said = self._said(
                "The answer was cut off at {limit} tokens: that is asked for where the setting max_tokens gives no "
                "limit.",
                limit=limit,
            )
        else:
            said = self._said(
                "The answer was cut off at the {limit} tokens that the setting max_tokens allows.", limit=limit
            )
        if reply.text.strip():
            return f"{reply.text}\n\n{said}"
        return self._between.join([self._said("There is no answer."), said])

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
        template = "I need one more thing for {tool}: what is “{parameter}”?"
        return self._between.join(self._said(template, tool=tool, parameter=path) for tool, path in missing)

    def invalid_output(self, problem: str) -> str:
        """Tell the model that its answer does not have the type that was asked for."""
        return self._sentences["invalid_output"].format(problem=problem)

    def plan_told(self, plan: str) -> str:
        """Tell the model the plan that it wrote earlier in the conversation."""
        return self._sentences["plan_told"].format(plan=plan)

    def plan_open(self, steps: str) -> str:
        """Tell the model that steps of its plan are open, and that its answer does not end the run."""
        return self._sentences["plan_open"].format(steps=steps)

    def plan_failed(self) -> str:
        """Ask the model for a changed plan, behind a result that failed."""
        return self._sentences["plan_failed"]

    def plan_stuck(self) -> str:
        """Ask the model for a changed plan, since it gets no further."""
        return self._sentences["plan_stuck"]

    def references(self) -> str:
        """Tell the model how calls of one reply use each other's results."""
        return self._sentences["references"]

    def cite(self, mode: str, quote: str) -> str:
        """Tell the model how it cites, by the tool of this name; empty for a model that does not."""
        return self._sentences[mode].format(quote=quote) if mode else ""

    def attached(self, source: str, text: str) -> str:
        """Tell the model a document that came with a question."""
        return self._sentences["attached"].format(source=source, text=text)

    def attached_part(self, source: str, text: str, search: str) -> str:
        """Tell the model the beginning of a document, and the tool that finds the rest; empty where no tool does."""
        told = self._sentences["attached_part"].format(source=source, text=text)
        return f"{told}\n{self._sentences['attached_search'].format(search=search)}" if search else told

    def no_source(self) -> str:
        """Tell the user that an answer names no source at all."""
        return self._said("No source was used.")

    def part_left_out(self) -> str:
        """Tell the user that a part of an answer was left out."""
        return self._said("A part of the answer was left out, because no source backs it.")

    def abstained(self, looked_for: Sequence[str], nearest: Sequence[tuple[str, str]]) -> str:
        """Tell the user that there is no answer, what was looked for, and what is nearest: titles and addresses."""
        looked = "; ".join(map(on_one_line, looked_for))
        said = self._said("The documents hold no answer that a quote backs. Looked for: {looked}", looked=looked)
        return "\n".join([said, *(f"- {on_one_line(title)}, {on_one_line(address)}" for title, address in nearest)])

    def refused(self, problem: str) -> str:
        """Tell the model that its answer is not good enough for the agent."""
        return self._sentences["refused"].format(problem=problem)

    def call_demanded(self, names: Sequence[str]) -> str:
        """Tell the model that it has to call a tool, one of these where there are any."""
        told = ", ".join(f"`{name}`" for name in names) or self._sentences["any_tool"]
        return self._sentences["call_demanded"].format(tool=told)

    def output(self, schema: str) -> str:
        """Tell the model which type its answer must have."""
        return self._sentences["output"].format(schema=schema)

    def waiting(self, pending: Sequence[Pending]) -> str:
        """Tell the user what the run waits for."""
        doubtful = [item.call.name if item.call else "" for item in pending if item.kind == "doubt"]
        others = [item.call.name if item.call else "" for item in pending if item.kind != "doubt"]
        told = []
        if doubtful:
            told.append(
                self._said("Interrupted, and not known whether it happened: {names}.", names=", ".join(doubtful))
            )
        if others:
            told.append(self._said("Waiting for approval of: {names}.", names=", ".join(others)))
        return " ".join(told)

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
            shown: the most characters of the result, where the result was cut in its own run.
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

    def memory(self, lines: Sequence[str]) -> str:
        """What the model is told out of the memory of the user."""
        return self._sentences["memory"].format(lines="\n".join(lines))

    @property
    def unanswered(self) -> str:
        """The text in place of the answer of an earlier turn that had none."""
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
