"""The engine of `Local` for causal language models of transformers, on a GPU where there is one. Needs the extra
`[local]`.

Only what is new since the last step is computed: what came before is kept, also from one answer to the next.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..core.errors import ModelRejected, UsageError
from .constrained import Vocabulary

if TYPE_CHECKING:
    from .constrained import Logits


class Transformers:
    """See `local.Engine`.

    Args:
        path: a folder with model and tokenizer, or a name that transformers knows.
        device: such as `cuda` or `cpu`; the GPU where there is one unless it is given.

    Raises:
        UsageError: there is no model, or no fast tokenizer, at this path.
    """

    def __init__(self, path: str, device: str = "") -> None:
        import torch  # heavy, and in the extra
        from transformers import AutoModelForCausalLM, AutoTokenizer, DynamicCache  # likewise

        try:
            self._tokenizer = AutoTokenizer.from_pretrained(path)
            self._model = AutoModelForCausalLM.from_pretrained(path, dtype="auto").eval()
        except (OSError, ValueError) as error:
            said = str(error).strip().splitlines()
            raise UsageError(
                f"local:{path} can not be loaded: {said[0][:200] if said else 'no reason given'}"
            ) from None
        self._torch, self._new_past = torch, DynamicCache
        self._device = device or ("cuda" if torch.cuda.is_available() else "cpu")
        self._model.to(self._device)
        self.template = str(self._tokenizer.chat_template or "")
        settings = self._model.generation_config
        self.temperature = float(settings.temperature or 1.0) if settings.do_sample else 0.0
        self.vocabulary = self._vocabulary(settings.eos_token_id)
        self._seen: list[int] = []
        self._past = self._new_past()

    def render(self, messages: Sequence[tuple[str, str]]) -> str:
        if not self.template:
            return plain_prompt(messages)
        import jinja2  # noqa: PLC0415  # in the extra

        try:
            return self._filled(messages)
        except jinja2.TemplateError:  # it takes no instructions: they go before what the user says
            system = "\n\n".join([text for role, text in messages if role == "system"])
            (role, first), *rest = [(role, text) for role, text in messages if role != "system"] or [("user", "")]
            return self._filled([(role, f"{system}\n\n{first}"), *rest])

    def encode(self, prompt: str) -> list[int]:
        return list(self._tokenizer(prompt, add_special_tokens=not self.template)["input_ids"])

    def next_logits(self, tokens: Sequence[int]) -> Logits:
        kept = self._kept(tokens)
        new = self._torch.tensor([list(tokens[kept:])], device=self._device)
        try:
            with self._torch.inference_mode():
                out = self._model(input_ids=new, past_key_values=self._past, use_cache=True)
        except RuntimeError as error:
            self._seen, self._past = [], self._new_past()
            raise ModelRejected(
                "the model could not compute {count} tokens: {kind}", count=len(tokens), kind=type(error).__name__
            ) from None
        self._seen = list(tokens)
        logits: Logits = out.logits[0, -1].float().cpu().numpy()
        return logits

    def _kept(self, tokens: Sequence[int]) -> int:
        """How many tokens need not be computed again; at least the last one is."""
        if list(tokens[: len(self._seen)]) == self._seen and len(tokens) > len(self._seen):
            return len(self._seen)
        same = next((at for at, pair in enumerate(zip(self._seen, tokens, strict=False)) if pair[0] != pair[1]), None)
        kept = min(len(self._seen), len(tokens) - 1) if same is None else min(same, len(tokens) - 1)
        if kept == 0 or not self._cropped(len(self._seen) - kept):
            self._past = self._new_past()
            return 0
        return kept

    def _cropped(self, count: int) -> bool:
        """Forget the last `count` tokens. False where this kind of model can not do that."""
        try:
            if count:
                self._past.crop(-count)
        except (NotImplementedError, ValueError):
            return False
        return True

    def _filled(self, messages: Sequence[tuple[str, str]]) -> str:
        chat = [{"role": role, "content": text} for role, text in messages]
        return str(self._tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True))

    def _vocabulary(self, ends: int | list[int] | None) -> Vocabulary:
        import llguidance.hf  # noqa: PLC0415  # in the extra

        listed = [ends] if isinstance(ends, int) else list(ends or [])
        if self._tokenizer.eos_token_id is not None:
            listed.append(self._tokenizer.eos_token_id)
        size = self._model.get_output_embeddings().weight.shape[0]
        try:
            engine = llguidance.hf.from_tokenizer(self._tokenizer, n_vocab=size, eos_token=list(dict.fromkeys(listed)))
        except ValueError as error:
            raise UsageError("the tokenizer can not be used: {why}", why=str(error)[:200]) from None
        known = self._tokenizer.get_added_vocab()
        return Vocabulary(engine, {text: token for text, token in known.items() if engine.is_special_token(token)})


def plain_prompt(messages: Sequence[tuple[str, str]]) -> str:
    """The prompt of a model without a chat template: roles and texts, as in a play."""
    return "".join([f"{role.title()}: {text}\n\n" for role, text in messages]) + "Assistant:"
