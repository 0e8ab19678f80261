"""`Local`: a model in this process, told what it may say by a grammar. Needs the extra `[local]`.

    Request ──text dialect──▶ messages ──engine.render──▶ prompt ──generate, under the grammar──▶ text ──▶ Reply

What computes the logits is an `Engine`: `local_transformers` has one for causal language models of transformers, and a
test can have one of random numbers. It works in a thread of its own; one answer at a time.

What a grammar could not hold the model to is in `loose` and in the log; the call path validates every call in any case.
"""

from __future__ import annotations

import asyncio
import codecs
import logging
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Literal, Protocol

from msgspec import structs

from ..core.call import MediaPart, TextPart
from ..core.errors import UsageError
from ..core.event import Delta
from ..core.message import Message, Reply, SystemMessage, Usage, UserMessage
from ..core.model import Request
from ..core.tool import Tool
from ..dialects.base import ApiDialect, Decoder, Dialect, TextDialect
from ..dialects.catalog import for_model, text_dialect
from ..dialects.grammar.grammar import (
    Grammar,
    constrains,
    conversation,
    grammar_of,
)
from ..dialects.loose import Loose
from ..dialects.text.marks import Marks
from ..dialects.text.prompt_json import PromptJson
from ..dialects.text.tagged.dialect import TaggedText
from ..dialects.text.thought_marks import THINK
from .constrained import Vocabulary, generate, need
from .local_transformers import Transformers

if TYPE_CHECKING:
    from .constrained import Logits

FALLBACK = "prompt_json"
MAX_TOKENS = 2048
"""The limit of an answer's length where none is asked for."""

Constrained = bool | Literal["copy"]
"""Whether a grammar binds what a model says. `copy` also binds strings in arguments to texts of the conversation."""

_log = logging.getLogger(__name__)


class Engine(Protocol):
    """What computes logits.

    Attributes:
        vocabulary: what its tokens stand for.
        template: the model's chat template, by which its way of calling is known; empty where it has none.
        temperature: where a request names none.
    """

    vocabulary: Vocabulary
    template: str
    temperature: float

    def render(self, messages: Sequence[tuple[str, str]]) -> str:
        """The prompt: roles (`system`, `user`, `assistant`) with their texts, up to where the answer begins."""

    def encode(self, prompt: str) -> list[int]:
        """The prompt as tokens, marks as theirs."""

    def next_logits(self, tokens: Sequence[int]) -> Logits:
        """A number for each token that may follow."""


class Local:
    """A `Model` in this process.

    Args:
        load: makes the engine, when the first request comes.
        name: what to call it in records.
        dialect: in which it writes calls; `auto`: by its chat template or its name, else prompt JSON.
        constrained: see `Constrained`.
        seed: for the same answers again.

    Attributes:
        name: as the argument.
        constrained: as the argument.
        loose: what the grammar of the latest request does not hold the model to.
    """

    def __init__(
        self,
        load: Callable[[], Engine],
        *,
        name: str,
        dialect: str | TextDialect = "auto",
        constrained: Constrained = True,
        seed: int | None = None,
    ) -> None:
        self.name = name
        self.constrained = constrained
        self.loose: tuple[Loose, ...] = ()
        self._load = load
        self._dialect = dialect
        self._seed = seed
        self._engine: Engine | None = None
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="actum-local")
        self._latest: tuple[tuple[Tool, ...], tuple[object, ...], Grammar] | None = None  # the steps of a run ask alike

    @property
    def default_max_tokens(self) -> int:
        """See `core.model.LengthLimited`."""
        return MAX_TOKENS

    def __repr__(self) -> str:
        return f"Local({self.name!r}, dialect={self._dialect!r}, constrained={self.constrained!r})"

    async def reply(self, request: Request, emit: Callable[[Delta], None] | None = None) -> Reply:
        """Answer a request; see `Model.reply`.

        Raises:
            UsageError: no grammar can be made of the request, or the model can not be loaded.
            ModelError: the engine broke down.
        """
        answer = _Answer(self, request, emit)
        work = self._thread.submit(answer.work)
        try:
            await answer.listen()
        finally:  # also when the run is cancelled: the engine is free again before anything else happens
            answer.over.set()
            if not work.cancel():
                await asyncio.wait([asyncio.wrap_future(work)])
        work.result()
        return answer.reply()

    def engine(self) -> Engine:
        """The engine, loaded at the first call."""
        if self._engine is None:
            self._engine = self._load()
        return self._engine

    def dialect(self) -> TextDialect:
        """The text dialect that the model is spoken to in."""
        name = self._dialect
        if name == "auto":
            name = for_model(self.engine().template or " ") or for_model(self.name) or FALLBACK
        found = text_dialect(name) if isinstance(name, str) else name
        if not constrains(found):
            raise UsageError("{name!r} has no grammar: a local model can not be held to it", name=found.name)
        return found

    def grammar(self, request: Request, dialect: TextDialect, *, thinking: bool = False) -> Grammar | None:
        """What the model may answer; None where it may answer anything."""
        if not self.constrained or not (request.tools or request.output_schema):
            return None
        copies = conversation(request.messages) if self.constrained == "copy" else None
        wishes = (request.tool_choice, request.parallel_calls, request.output_schema, thinking, copies, dialect)
        if self._latest is not None and self._latest[0] is request.tools and self._latest[1] == wishes:
            return self._latest[2]
        vocabulary = self.engine().vocabulary
        found = grammar_of(
            dialect,
            request,
            refuses=vocabulary.refuses,
            special=vocabulary.special,
            thinking=thinking,
            copies=copies,
        )
        self._latest = request.tools, wishes, found
        return found

    def _tell(self, loose: tuple[Loose, ...]) -> None:
        if loose != self.loose:
            for one in loose:
                _log.warning("%s: %s: %s (held to: %s)", self.name, one.tool or "the answer", one.why, one.kept)
        self.loose = loose


class _Answer:
    """One answer: a thread that generates, and the event loop that reads along."""

    def __init__(self, model: Local, request: Request, emit: Callable[[Delta], None] | None) -> None:
        self.over = threading.Event()
        self._model = model
        self._request = request
        self._emit = emit
        self._loop = asyncio.get_running_loop()
        self._said: asyncio.Queue[bytes | Decoder | None] = asyncio.Queue()
        self._decoder: Decoder | None = None
        self._finish = "stop"
        self._stops = Marks(request.stop)
        self._usage = Usage()

    # In the thread.

    def work(self) -> None:
        """Generate. What is said goes to the event loop, a decoder for it first."""
        try:
            self._generate()
        finally:
            self._tell(None)

    def _generate(self) -> None:
        model, request = self._model, self._request
        engine, dialect = model.engine(), model.dialect()
        asked = dialect.encode_request(request)
        self._stops = Marks(asked.stop)
        prompt = engine.render([_said(message) for message in asked.messages])
        opening = dialect.form.think[0] if isinstance(dialect, TaggedText) else THINK.opening[0]
        thinking = isinstance(dialect, TaggedText | PromptJson) and prompt.rstrip().endswith(opening)
        if isinstance(dialect, TaggedText | PromptJson) and thinking:
            dialect = structs.replace(dialect, thinking=True)
        grammar = model.grammar(request, dialect, thinking=thinking)
        model._tell(grammar.loose if grammar is not None else ())
        self._tell((grammar.dialect if grammar is not None else dialect).decoder(tools=request.tools))
        tokens = engine.encode(prompt)
        limit = MAX_TOKENS if request.max_tokens is None else request.max_tokens
        count = 0
        for token in generate(
            engine.next_logits,
            engine.vocabulary,
            tokens,
            grammar=grammar.source if grammar is not None else "",
            max_tokens=limit,
            temperature=engine.temperature if request.temperature is None else request.temperature,
            top_p=1.0 if request.top_p is None else request.top_p,
            seed=model._seed if request.seed is None else request.seed,
        ):
            count += 1
            self._tell(engine.vocabulary.bytes_of(token))
            if self.over.is_set():
                break
        self._finish = "length" if count == limit else self._finish
        self._usage = Usage(input_tokens=len(tokens), output_tokens=count)

    def _tell(self, said: bytes | Decoder | None) -> None:
        self._loop.call_soon_threadsafe(self._said.put_nowait, said)

    # In the event loop.

    async def listen(self) -> None:
        """Read along until the thread is done, or one of the texts comes at which to stop."""
        utf8, held = codecs.getincrementaldecoder("utf-8")("replace"), ""
        while (said := await self._said.get()) is not None:
            if not isinstance(said, bytes):
                self._decoder = said
                continue
            held += utf8.decode(said)
            found = self._stops.pattern.search(held)
            if found is not None:
                self._read(held[: found.start()])
                return
            sure = self._stops.hold(held, 0, len(held))
            self._read(held[:sure])
            held = held[sure:]
        self._read(held + utf8.decode(b"", True))

    def _read(self, text: str) -> None:
        if text and self._decoder is not None:
            self._pass_on(self._decoder.feed(text))

    def _pass_on(self, deltas: Sequence[Delta]) -> None:
        for delta in deltas if self._emit is not None else ():
            assert self._emit is not None
            self._emit(delta)

    def reply(self) -> Reply:
        """All that was said, now that it was."""
        assert self._decoder is not None
        self._pass_on(self._decoder.close())
        return structs.replace(
            self._decoder.reply, usage=self._usage, model=self._model.name, finish_reason=self._finish
        )


def open_local(path: str, *, dialect: str | Dialect, constrained: Constrained) -> Local:
    """The causal language model of transformers at a path, or of this name. Nothing is loaded yet.

    Raises:
        UsageError: the extra is not installed.
    """
    need("llguidance", "numpy", "torch", "transformers")

    if isinstance(dialect, ApiDialect):
        raise UsageError("{name!r} has no grammar: a local model can not be held to it", name=dialect.name)
    return Local(partial(Transformers, path), name=f"local:{path}", dialect=dialect, constrained=constrained)


def _said(message: Message) -> tuple[str, str]:
    """A message as a chat template takes it; media are described."""
    match message:
        case SystemMessage(text):
            return "system", text
        case UserMessage(content) | Reply(content):
            texts = [
                part.text if isinstance(part, TextPart) else part.describe()
                for part in content
                if isinstance(part, TextPart | MediaPart)
            ]
            return "user" if isinstance(message, UserMessage) else "assistant", "\n".join(texts)
        case _:
            return "user", message.result.text
