"""How a conversation is written as one text, for a model behind an endpoint that only continues a text. Pure.

A base model, or any model asked past its server's chat template (`/v1/completions`, llama.cpp), sees only the prompt.
So the marks between turns are ours to write, and the end of a turn is ours to tell, as a stop text. The mark that
begins every text (BOS) is left to the server, which adds it by itself.

    CHATML.render(messages)     <|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from ..core.message import Message, Reply, SystemMessage, ToolMessage, UserMessage
from .reply_text import spoken

_BLANK = "{text}"


class ChatMarks(Struct, frozen=True):
    """The marks of a family's chat template; `{text}` is filled in.

    Attributes:
        user: a turn of the user.
        model: a turn of the model.
        reply: how the model's next turn begins.
        stops: what ends it.
        system: the instructions; empty where they stand at the beginning of the user's first turn.
    """

    user: str
    model: str
    reply: str
    stops: tuple[str, ...]
    system: str = ""

    def render(self, messages: Sequence[Message]) -> str:
        """The conversation as one text that ends where the model is to go on.

        Marks in what somebody said are written as they are, as chat templates do it. Media are described in words.
        """
        return "".join(self._turns(messages)) + self.reply

    def _turns(self, messages: Sequence[Message]) -> Iterator[str]:
        waiting = ""
        for message in messages:
            match message:
                case SystemMessage(text) if self.system:
                    yield self.system.replace(_BLANK, text)
                case SystemMessage(text):
                    waiting += text + "\n\n"
                case UserMessage(content):
                    yield self.user.replace(_BLANK, waiting + spoken(Reply(content)))
                    waiting = ""
                case ToolMessage():
                    yield self.user.replace(_BLANK, waiting + message.result.text)
                    waiting = ""
                case Reply():
                    yield self.model.replace(_BLANK, spoken(message, refusal=True))
        if waiting:
            yield self.user.replace(_BLANK, waiting.rstrip())


def _alike(
    turn: str, *, stops: tuple[str, ...], roles: tuple[str, str, str] = ("system", "user", "assistant")
) -> ChatMarks:
    """Marks that differ by the name of the role alone, which stands for `{role}`."""
    system, user, model = (turn.replace("{role}", role) for role in roles)
    return ChatMarks(user=user, model=model, reply=model.split(_BLANK)[0], stops=stops, system=system)


PLAIN = ChatMarks(
    user="User: {text}\n\n",
    model="Assistant: {text}\n\n",
    reply="Assistant:",
    stops=("\nUser:",),
    system="{text}\n\n",
)
"""For a base model, which was trained on no marks."""

CHATML = _alike("<|im_start|>{role}\n{text}<|im_end|>\n", stops=("<|im_end|>", "<|endoftext|>"))
LLAMA3 = _alike("<|start_header_id|>{role}<|end_header_id|>\n\n{text}<|eot_id|>", stops=("<|eot_id|>", "<|eom_id|>"))
LLAMA4 = _alike("<|header_start|>{role}<|header_end|>\n\n{text}<|eot|>", stops=("<|eot|>", "<|eom|>"))
MISTRAL = ChatMarks("[INST] {text}[/INST]", " {text}</s>", "", ("</s>",))
MISTRAL_V7 = ChatMarks("[INST]{text}[/INST]", "{text}</s>", "", ("</s>",), "[SYSTEM_PROMPT]{text}[/SYSTEM_PROMPT]")
DEEPSEEK = ChatMarks(
    "<｜User｜>{text}",
    "<｜Assistant｜>{text}<｜end▁of▁sentence｜>",
    "<｜Assistant｜>",
    ("<｜end▁of▁sentence｜>",),
    "{text}",
)
DEEPSEEK_V3_1 = ChatMarks(
    "<｜User｜>{text}",
    "<｜Assistant｜></think>{text}<｜end▁of▁sentence｜>",
    "<｜Assistant｜></think>",
    ("<｜end▁of▁sentence｜>",),
    "{text}",
)
"""Without thinking, which its prompt turns off by ending the thought at once."""
GLM = _alike("<|{role}|>\n{text}", stops=("<|user|>", "<|observation|>", "<|endoftext|>"))
KIMI = ChatMarks(
    user="<|im_user|>user<|im_middle|>{text}<|im_end|>",
    model="<|im_assistant|>assistant<|im_middle|>{text}<|im_end|>",
    reply="<|im_assistant|>assistant<|im_middle|>",
    stops=("<|im_end|>",),
    system="<|im_system|>system<|im_middle|>{text}<|im_end|>",
)
GRANITE = _alike("<|start_of_role|>{role}<|end_of_role|>{text}<|end_of_text|>\n", stops=("<|end_of_text|>",))
PHI4 = _alike("<|{role}|>{text}<|end|>", stops=("<|end|>", "<|endoftext|>"))
COMMAND = _alike(
    "<|START_OF_TURN_TOKEN|><|{role}_TOKEN|>{text}<|END_OF_TURN_TOKEN|>",
    stops=("<|END_OF_TURN_TOKEN|>",),
    roles=("SYSTEM", "USER", "CHATBOT"),
)
GEMMA = ChatMarks(
    "<start_of_turn>user\n{text}<end_of_turn>\n",
    "<start_of_turn>model\n{text}<end_of_turn>\n",
    "<start_of_turn>model\n",
    ("<end_of_turn>", "<start_function_response>"),
)
GEMMA4 = _alike(
    "<|turn>{role}\n{text}<turn|>\n", stops=("<turn|>", "<|tool_response>"), roles=("system", "user", "model")
)
NEMOTRON = ChatMarks(
    user="<SPECIAL_11>User\n{text}\n",
    model="<SPECIAL_11>Assistant\n{text}\n<SPECIAL_12>\n",
    reply="<SPECIAL_11>Assistant\n",
    stops=("<SPECIAL_12>",),
    system="<SPECIAL_10>System\n{text}\n\n",
)
MINIMAX = _alike("]~b]{role}\n{text}[e~[\n", stops=("[e~[",), roles=("system", "user", "ai"))
MUSE = ChatMarks(
    user="<|start|>user<|message|>{text}<|eot|>",
    model="<|start|>assistant to=user<|message|>{text}<|eot|>",
    reply="<|start|>assistant",
    stops=("<|eot|>",),
    system="<|start|>system<|message|>{text}<|eot|>",
)
INKLING = ChatMarks(
    user="<|message_user|><|content_text|>{text}<|end_message|>",
    model="<|message_model|><|content_text|>{text}<|end_message|><|content_model_end_sampling|>",
    reply="<|message_model|>",
    stops=("<|content_model_end_sampling|>",),
    system="<|message_system|><|content_text|>{text}<|end_message|>",
)
KIMI_K3 = ChatMarks(
    user='<|open|>message role="user"<|sep|>{text}<|close|>message<|sep|><|end_of_msg|>',
    model='<|open|>message role="assistant"<|sep|><|open|>response<|sep|>{text}<|close|>message<|sep|><|end_of_msg|>',
    reply='<|open|>message role="assistant"<|sep|><|open|>response<|sep|>',
    stops=("<|end_of_msg|>",),
    system='<|open|>message role="system"<|sep|>{text}<|close|>message<|sep|><|end_of_msg|>',
)
"""Without thinking, which its prompt turns off by opening the answer at once."""
GIGACHAT = _alike("{role}<|role_sep|>\n{text}<|message_sep|>\n\n", stops=("<|message_sep|>", "</s>"))
K2_HORIZON = _alike("<|ifm|im_start|>{role}\n{text}<|ifm|im_end|>", stops=("<|ifm|im_end|>",))
SEED = _alike("<seed:bos>{role}\n{text}<seed:eos>", stops=("<seed:eos>",))
APERTUS = _alike("<|{role}_start|>{text}<|{role}_end|>", stops=("<|assistant_end|>",))
HUNYUAN = ChatMarks("{text}<|extra_0|>", "{text}<|eos|><|startoftext|>", "", ("<|eos|>",), "{text}<|extra_4|>")
FUNCTIONARY = ChatMarks(LLAMA3.user, LLAMA3.model, LLAMA3.reply + ">>>", LLAMA3.stops, LLAMA3.system)
FUNCTIONARY_V2 = ChatMarks(
    user="<|from|>user\n<|recipient|>all\n<|content|>{text}\n",
    model="{text}<|stop|>\n",
    reply="<|from|>assistant\n<|recipient|>",
    stops=("<|stop|>",),
    system="<|from|>system\n<|recipient|>all\n<|content|>{text}\n",
)
