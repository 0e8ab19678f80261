"""What a run with a model has beyond the calls of its tools."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from msgspec import Struct

from ..core.budget import Price
from ..core.call import MediaPart
from ..core.message import Message, Reply
from ..core.model import Request


class ModelSide(Struct, frozen=True, kw_only=True):
    """The model's part of a run.

    Attributes:
        heard: the conversation, which grows.
        begins: the index in `heard` of the first message of the run itself.
        attachments: the media of the conversation, by handle.
        sample: has the run's own model answer a tool.
        price: the price of the model, where it is known.
        asks_mandates: as in `RunContext`.
        lets_in: whether the user of the run may use its agent now; None where that can not change.
        name: what the model is called.
    """

    heard: Sequence[Message] = ()
    begins: int = 0
    attachments: dict[str, MediaPart] = {}
    sample: Callable[[Request], Awaitable[Reply]] | None = None
    asks_mandates: bool = False
    price: Price | None = None
    lets_in: Callable[[], bool] | None = None
    name: str = ""


NO_MODEL = ModelSide()
