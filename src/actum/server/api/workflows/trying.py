"""`POST /v1/workflows/{name}/try`: the draft of a workflow, or one node of the draft, is tried before it is published.

A run that waits goes on with the definition with which it began, also where the draft has another text by then.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct, field

from ....core.call import Problem
from ....core.definition import BadText
from ....core.errors import UnknownName, UsageError
from ....core.json import JsonObject
from ....core.process.worker_thread import off_loop
from ....core.stored.definitions import number_of_text
from ....features.operation import ApiReply, ApiRequest, Operation
from ....features.refusal import Refusal, not_found
from ....workflow.load import read_definition
from ....workflow.only import MissingPin, OnlyNode, only_node
from ..api import Api
from ..definitions.bodies import Number
from ..definitions.operations import draft_to_try
from ..runs.operations import REPLY_BEGUN
from .kind import WORKFLOWS
from .operations import WORKFLOW_NAME, begin_workflow


class TryWorkflowBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A run of the draft of a workflow.

    Attributes:
        revision: the revision of the draft that the caller has looked at; null for whatever the draft is now.
        inputs: what the workflow is given; `inputs` of the draft tells which.
        only: the one node that is carried out, such as `book`, or `trips/price` inside of a container; empty for the
            whole workflow.
        pins: with `only`: what other nodes have given, by their names, such as `{"find": {"output": []}}`; also `item`
            and `vars`.
    """

    revision: Number | None = None
    inputs: JsonObject = field(default_factory=dict)
    only: Annotated[str, Meta(max_length=1_000)] = ""
    pins: JsonObject = field(default_factory=dict)


async def try_workflow(api: Api, asked: ApiRequest[None, TryWorkflowBody]) -> ApiReply:
    """Begin a run of a draft."""
    body, tenant = asked.body, asked.who.tenant
    draft = await draft_to_try(WORKFLOWS, api, asked, body.revision)
    published = await api.workflows.published(tenant)
    if published is None:
        raise not_found("draft")
    definition, inputs = await off_loop(len(draft.text), read_definition, draft.text), body.inputs
    if body.pins and not body.only:
        raise Refusal(422, "invalid", "`pins` are for one node: say in `only` which.")
    try:
        if body.only:
            only: OnlyNode = await off_loop(len(draft.text), only_node, definition, body.only, inputs, body.pins)
            definition, inputs = only.definition, only.inputs
        workflow = await published.tried(definition, number_of_text(draft.digest))
    except MissingPin as missing:
        pin = str(missing.sentence.values["path"])
        raise Refusal(
            422,
            "missing_pin",
            "The node {node} reads {pin}, and `pins` has no value for that.",
            problems=(Problem(f"pins.{pin}", "required", "what the other node would have given"),),
            node=body.only,
            pin=pin,
        ) from None
    except BadText as bad:
        raise Refusal(422, "invalid", "{why}", why=bad.problems[0].message) from None
    except UnknownName as unknown:
        raise Refusal(422, "unknown_name", "{why}", why=unknown) from None
    except UsageError as error:
        raise Refusal(422, "invalid", "{why}", why=error) from None
    return await begin_workflow(api, asked, workflow, inputs)


OPERATIONS: tuple[Operation, ...] = (
    Operation(
        id="tryWorkflowDraft",
        method="post",
        path="/v1/workflows/{name}/try",
        tag="workflows",
        summary="Try the draft of a workflow, or one node of the draft.",
        description=(
            "What it does is done: it has your rights, the policy judges it, and it waits for a person where the "
            "published one would. It is on record, and the `draft` of its run names what was tried. 409 with the code "
            "`stale`: the draft is another by now. A run that waits goes on with the text with which it began. With "
            "`only` one node is carried out, and what it reads of other nodes comes from `pins`; 422 with the code "
            "`missing_pin` names in `problems` what is missing."
        ),
        scopes=WORKFLOWS.builders,
        names=WORKFLOW_NAME,
        body=TryWorkflowBody,
        takes_key=True,
        example={"revision": 3, "inputs": {"budget": 2000}},
        replies={202: REPLY_BEGUN},
        errors=(409,),
        handler=try_workflow,
        is_recorded=True,
    ),
)
