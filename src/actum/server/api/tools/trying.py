"""`POST /v1/tools/{name}/try`: the draft of a tool is tried before it is published."""

from __future__ import annotations

from msgspec import Struct, field

from ....core.json import JsonObject
from ....core.stored.definitions import number_of_text
from ....features.operation import AnswerKind, ApiReply, ApiRequest, Operation
from ..api import Api
from ..definitions.bodies import Number
from ..definitions.operations import TRY_TOLD, draft_to_try
from ..examples import APPROVAL, ASK, RUN
from .bodies import CallAnswer, CallWaits
from .kind import TOOLS
from .operations import make_call


class TryToolBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A call of the draft of a tool.

    Attributes:
        revision: the revision of the draft that the caller has looked at; null for whatever the draft is now.
        arguments: the arguments; the parameters that the draft declares tell which.
    """

    revision: Number | None = None
    arguments: JsonObject = field(default_factory=dict)


async def try_tool(api: Api, asked: ApiRequest[None, TryToolBody]) -> ApiReply:
    """Make a call of a draft."""
    name, body = asked.names["name"], asked.body
    draft = await draft_to_try(TOOLS, api, asked, body.revision)
    runner = await api.published.runner_of_draft(api.runner, asked.who.tenant, name, number_of_text(draft.digest))
    return await make_call(api, asked, runner, body.arguments)


OPERATIONS: tuple[Operation, ...] = (
    Operation(
        id="tryToolDraft",
        method="post",
        path="/v1/tools/{name}/try",
        tag="tools",
        summary="Try the draft of a tool with a call.",
        description=f"{TRY_TOLD} Code, and what names a secret, need the scope `admin`, as to publish it.",
        scopes=TOOLS.builders,
        names={"name": "The name of a tool."},
        body=TryToolBody,
        takes_key=True,
        example={"revision": 3, "arguments": {"a": 2, "b": 3}},
        replies={
            200: AnswerKind(
                means="The call has its outcome.",
                body=CallAnswer,
                example={"run": RUN, "tool": "add", "result": 5, "content": [], "error": None},
            ),
            202: AnswerKind(
                means="The call waits for a person, and `Location` names its run.",
                body=CallWaits,
                example={"run": RUN, "approval": ASK, "approvals": [APPROVAL]},
                has_location=True,
            ),
        },
        errors=(409,),
        handler=try_tool,
        is_recorded=True,
    ),
)
