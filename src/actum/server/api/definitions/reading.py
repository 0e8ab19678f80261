"""`POST /v1/definitions/read`: what somebody pastes, read as definitions that can be saved as drafts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from msgspec import Meta, Struct

from ....core.process.worker_thread import off_loop
from ....features.operation import AnswerKind, ApiReply, ApiRequest, Operation
from ....toolsets.declared.pasted import ReadPasted, read_pasted

if TYPE_CHECKING:
    from ..api import Api  # agents and workflows, which the completion of a command needs none of

WORK = 4
"""How much longer a pasted text takes to read than one that is only looked at."""


class PastedBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A text that somebody pasted.

    Attributes:
        text: a cURL line, an address, a Python function, or a declaration in JSON, YAML or TOML.
    """

    text: Annotated[str, Meta(min_length=1, max_length=1_000_000)]


async def read_definitions(api: Api, asked: ApiRequest[None, PastedBody]) -> ApiReply:
    """What was understood of a text."""
    text = asked.body.text
    return ApiReply(await off_loop(WORK * len(text), read_pasted, text))


OPERATIONS: tuple[Operation, ...] = (
    Operation(
        id="readDefinitions",
        method="post",
        path="/v1/definitions/read",
        tag="definitions",
        summary="Read a pasted text as definitions.",
        description=(
            "Nothing is kept, and no address is asked. A credential in the text is never answered: its place has the "
            "name of a secret, which is to be set."
        ),
        scopes=("build",),
        body=PastedBody,
        example={"text": "curl 'https://api.example.com/now?city=Oslo'"},
        replies={
            200: AnswerKind(
                means="What was understood, and what is unclear.",
                body=ReadPasted,
                example={
                    "items": [{"kind": "tool", "name": "now", "text": "name: now"}],
                    "unclear": [{"code": "example", "about": "city"}],
                },
            )
        },
        handler=read_definitions,
        is_recorded=True,
    ),
)
