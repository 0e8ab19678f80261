"""The operations of our own API: the one list that the routes and the document are made from.

Each subject has its operations, with their bodies and handlers, in a room of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import Struct, structs

from ...core.errors import UsageError
from ...core.json import Json, JsonObject
from ...core.language.sentence import Sentence
from ...core.process.worker_thread import off_loop
from ...core.secrets.redaction import DEFAULT_REDACTION, WORK
from ...features.feature import Feature, FeatureSet
from ...features.operation import ApiReply, ApiRequest, Application, Events, Operation
from ...runs.administration import put_on_record
from ..paths import TAKEN, place_of
from ..scopes import SCOPES
from . import (
    agents,
    applying,
    audit,
    connections,
    experiments,
    feed,
    keys,
    knowledge,
    memories,
    published,
    secrets,
    servers,
    session,
    sessions,
    triggers,
)
from .approvals import operations as approvals
from .definitions import reading
from .runs import comparing, files, references, scores, timeline
from .runs import operations as runs
from .tasks import operations as tasks
from .tools import kind as tool_kind
from .tools import operations as tools
from .tools import trying
from .workflows import importing
from .workflows import kind as workflow_kind
from .workflows import operations as workflows
from .workflows import trying as trying_workflows

OPERATIONS: tuple[Operation, ...] = (
    *tools.OPERATIONS,
    *tool_kind.OPERATIONS,
    *runs.OPERATIONS,
    *timeline.OPERATIONS,
    *feed.OPERATIONS,
    *comparing.OPERATIONS,
    *files.OPERATIONS,
    *scores.OPERATIONS,
    *references.OPERATIONS,
    *workflows.OPERATIONS,
    *workflow_kind.OPERATIONS,
    *importing.OPERATIONS,
    *tasks.OPERATIONS,
    *approvals.OPERATIONS,
    *sessions.OPERATIONS,
    *memories.OPERATIONS,
    *knowledge.OPERATIONS,
    *audit.OPERATIONS,
    *experiments.OPERATIONS,
    *agents.OPERATIONS,
    *published.AGENT_OPERATIONS,
    *published.PROMPT_OPERATIONS,
    *published.SERVER_OPERATIONS,
    *servers.OPERATIONS,
    *published.POLICY_OPERATIONS,
    *trying.OPERATIONS,
    *trying_workflows.OPERATIONS,
    *reading.OPERATIONS,
    *applying.OPERATIONS,
    *keys.OPERATIONS,
    *secrets.OPERATIONS,
    *connections.OPERATIONS,
    *triggers.OPERATIONS,
    *session.OPERATIONS,
)


def check_operations(feature: Feature, others: Sequence[Operation] = ()) -> None:
    """Whether the operations of somebody else's feature can stand beside ours.

    Args:
        feature: the feature.
        others: the operations of other features.

    Raises:
        UsageError: they can not.
    """
    if feature.name in SCOPES:
        raise UsageError(
            "the feature {feature!r} can not be called so: that is the name of a scope", feature=feature.name
        )
    known = [*OPERATIONS, *others]
    taken = TAKEN | {place_of(each.path) for each in known}
    ids = {each.id for each in known}
    bodies = {kind.__name__: kind for each in known for kind in _bodies(each)}
    own: set[tuple[str, str]] = set()
    for each in feature.operations:
        where = Sentence("the operation {id!r} of the feature {feature!r}", id=each.id, feature=feature.name)
        first = place_of(each.path)
        if not each.path.startswith("/v1/") or not first or "{" in first:
            raise UsageError(
                "{where_why} has the path {path!r}: write /v1/{feature}, or another name there",
                where_why=where,
                path=each.path,
                feature=feature.name,
            )
        if first in taken:
            raise UsageError(
                "{where_why} has the path {path!r}: /v1/{first} is taken; write /v1/{feature}",
                where_why=where,
                path=each.path,
                first=first,
                feature=feature.name,
            )
        if each.id in ids or (each.method, each.path) in own:
            raise UsageError(
                "{where_why} has an id, or a method and a path, that another operation has", where_why=where
            )
        for command in each.commands:
            if command.words[0] != feature.name:
                raise UsageError(
                    "{where_why} has the command {command!r}: it begins with {feature}",
                    where_why=where,
                    command=" ".join(command.words),
                    feature=feature.name,
                )
        for kind in _bodies(each):
            if bodies.setdefault(kind.__name__, kind) is not kind:
                raise UsageError(
                    "{where_why}: another body is called {kind} already; call it otherwise",
                    where_why=where,
                    kind=kind.__name__,
                )
        ids.add(each.id)
        own.add((each.method, each.path))


def _bodies(operation: Operation) -> Sequence[type[Struct]]:
    replies = [each for reply in operation.replies.values() for each in (reply.body, *reply.others)]
    return [
        kind
        for kind in (operation.query, operation.body, *replies)
        if isinstance(kind, type) and issubclass(kind, Struct)
    ]


def recorded(features: FeatureSet) -> list[Operation]:
    """The operations of features. A change by one of them is put on record, as an act of the caller."""
    return [
        each
        if each.method == "get" or each.is_recorded
        else structs.replace(each, handler=_Recorded(on.feature.name, each))
        for on in features.on
        for each in on.operations
    ]


def _body_of(body: object) -> Json:
    """The body of a request without secrets."""
    return DEFAULT_REDACTION.value(msgspec.to_builtins(body))


class _Recorded:
    """A handler whose acts are put on record, without secrets.

    Args:
        feature: the name of the feature.
        operation: the operation that is handled.
    """

    def __init__(self, feature: str, operation: Operation) -> None:
        self._act = f"{feature}.{operation.id}"
        self._operation = operation

    async def __call__(self, app: Application, asked: ApiRequest[object, object]) -> ApiReply | Events:
        answer = await self._operation.handler(app, asked)
        said: JsonObject = {**asked.names}
        if asked.body is not None:
            size = len(msgspec.json.encode(asked.body))
            said["body"] = await off_loop(WORK * size, _body_of, asked.body)
        who = asked.who
        await put_on_record(app.journal, self._act, said, principal=who.principal, key_id=who.key_id, tenant=who.tenant)
        return answer
