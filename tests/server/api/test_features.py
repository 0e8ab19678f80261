"""Operations of features stand beside ours: those that would take a name that is taken are refused, each by name."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest
from msgspec import Struct, structs

from actum import Context, tool
from actum.core.errors import UsageError
from actum.core.identity import Identity
from actum.core.run.noted import NO_KINDS
from actum.core.run.record import CallsRequested
from actum.features import AnswerKind, ApiReply, ApiRequest, Application, Command, Feature, Operation
from actum.features.feature import NO_FEATURES, FeatureOn, feature_set
from actum.journal.memory import MemoryJournal
from actum.runs.runner import Runner
from actum.server.api.api import Api, GivenAgents
from actum.server.api.operations import OPERATIONS, check_operations, recorded
from actum.server.api.routes import ApiRoutes, whole_document
from actum.server.paths import TAKEN
from actum.storage.place import open_journal
from actum.testing import FakeClock

from .application import Bank, application


class NewThing(Struct, frozen=True):
    name: str
    password: str = ""


OURS = next(each.body.__name__ for each in OPERATIONS if each.body is not None)
NAMESAKE = msgspec.defstruct(OURS, [("name", str)])


async def made(app: Application, asked: ApiRequest[None, NewThing]) -> ApiReply:
    return ApiReply(asked.body, status=201)


MAKE = Operation(
    id="makeThing",
    method="post",
    path="/v1/things",
    summary="Make a thing.",
    body=NewThing,
    replies={201: AnswerKind(means="It is made.", body=NewThing)},
    handler=made,
    is_open=True,
)


def thing(*operations: Operation, name: str = "things") -> Feature:
    return Feature(name=name, title="Things.", operations=operations)


@pytest.mark.parametrize(
    ("operation", "told"),
    [
        (structs.replace(MAKE, path="/v1/runs"), "/v1/runs is taken; write /v1/things"),
        (structs.replace(MAKE, path="/v1/runs/{id}/things"), "/v1/runs is taken"),
        (structs.replace(MAKE, path="/v1/responses"), "/v1/responses is taken"),
        (structs.replace(MAKE, path="/things"), "write /v1/things"),
        (structs.replace(MAKE, path="/v1/{what}"), "write /v1/things"),
        (structs.replace(MAKE, path="/v1/"), "write /v1/things"),
        (structs.replace(MAKE, path="/mcp"), "write /v1/things"),
        (structs.replace(MAKE, id=OPERATIONS[0].id), "has an id, or a method and a path, that another operation has"),
        (structs.replace(MAKE, command=Command(words=("runs", "list"))), "it begins with things"),
        (structs.replace(MAKE, body=NAMESAKE), f"another body is called {OURS} already"),
    ],
)
def test_an_operation_that_takes_what_is_taken_is_refused(operation: Operation, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        check_operations(thing(operation))


def test_two_operations_at_one_place_and_the_name_of_a_scope_are_refused() -> None:
    with pytest.raises(UsageError, match="has an id, or a method and a path"):
        check_operations(thing(MAKE, structs.replace(MAKE, id="makeAnother")))
    with pytest.raises(UsageError, match="/v1/things is taken"):
        check_operations(thing(structs.replace(MAKE, id="other"), name="others"), [MAKE])
    for name in ("admin", "runs"):
        with pytest.raises(UsageError, match="that is the name of a scope"):
            check_operations(thing(MAKE, name=name))


def test_no_path_of_ours_is_missing_among_those_that_are_taken() -> None:
    with pytest.raises(UsageError, match="taken"):
        check_operations(thing(structs.replace(MAKE, path="/v1/models/{id}")))
    ours = {each.path.removeprefix("/v1/").partition("/")[0] for each in OPERATIONS}
    assert TAKEN & ours == {"triggers"}  # whose webhooks are no operation


async def test_a_strangers_operation_needs_its_own_scope_and_what_it_changes_is_on_record_without_secrets() -> None:
    features = feature_set([FeatureOn(feature=thing(MAKE), package="acme-things")])
    (operation,) = recorded(features)
    assert (operation.scopes, operation.is_open, operation.tag) == (("things",), False, "things")
    runner = Runner(journal=MemoryJournal())
    api = Api(runner, GivenAgents({}), FakeClock(), features=features)
    who = Identity(principal="ann", tenant="north", scopes=("things",))
    asked = ApiRequest("makeThing", who, {}, None, NewThing("x", "hunter22"))
    reply = await operation.handler(api, asked)
    assert isinstance(reply, ApiReply)
    assert reply.status == 201
    (line,) = await runner.journal.runs()
    assert (line.principal, line.tenant, line.kind) == ("ann", "north", "administration")
    records = [entry.record for entry in await runner.journal.read(line.run_id)]
    (requested,) = [each for each in records if isinstance(each, CallsRequested)]
    assert requested.calls[0].name == "things.makeThing"
    assert requested.calls[0].arguments == {"body": {"name": "x", "password": "[redacted: password]"}}


async def test_a_key_may_have_the_scope_of_a_feature_that_is_on_and_of_no_other() -> None:
    features = feature_set([FeatureOn(feature=thing(MAKE), package="acme-things")])
    for on, status in ((features, 201), (NO_FEATURES, 422)):
        async with application(features=on) as it:
            made = await it.ask("POST", "/v1/keys", {"id": "ci", "scopes": ["things"]}, who="root")
            assert made.status_code == status, made.text


def test_the_document_tells_of_features_that_are_on_and_of_no_other() -> None:
    features = feature_set([FeatureOn(feature=thing(MAKE), package="acme-things")])
    document = json.loads(whole_document(features))
    assert document["paths"]["/v1/things"]["post"]["security"] == [{"key": ["things"]}]
    assert {"name": "things", "description": "Things."} in document["tags"]
    assert "`things`: Things." in document["components"]["securitySchemes"]["key"]["description"]
    assert "/v1/things" not in json.loads(whole_document())["paths"]
    door = ApiRoutes(Runner(), features=features)
    assert "/v1/things" in [getattr(route, "path", "") for route in door.routes]


class Put(Struct, frozen=True, tag="put"):
    """That a thing was put somewhere."""

    where: str


class Shed(Bank):
    """One tool, which puts a record of the feature on the record of its run."""

    @property
    def tools(self) -> Sequence[object]:
        @tool(effects=["write"])
        async def put(ctx: Context, where: str, needed: bool) -> str:
            """Put a thing somewhere."""
            ctx.note(Put(where), needed=needed)
            return "done"

        return [put]


async def test_of_two_servers_on_one_journal_one_has_the_feature_and_the_other_still_serves_its_runs(
    tmp_path: Path,
) -> None:
    feature = structs.replace(thing(MAKE), records=(Put,))
    features = feature_set([FeatureOn(feature=feature, package="acme-things")])
    journals = [open_journal(str(tmp_path / "j.db"), record_kinds=kinds) for kinds in (features.record_kinds, NO_KINDS)]
    try:
        async with (
            application(bank=Shed(), journal=journals[0], features=features) as having,
            application(bank=Shed(), journal=journals[1]) as lacking,
        ):
            for needed in (False, True):
                body = {"arguments": {"where": "shed", "needed": needed}}
                answer = await having.ask("POST", "/v1/tools/put/call", body, who="root")
                assert answer.json()["result"] == "done", answer.text
            for it, status, words in ((having, 201, "things/put"), (lacking, 404, "not read here")):
                made = await it.ask("POST", "/v1/things", {"name": "x"}, who="root")
                assert made.status_code == status, made.text
                runs = (await it.ask("GET", "/v1/runs?kind=call", who="root")).json()["items"]
                assert [each["status"] for each in runs] == ["done", "done"]
                for run in runs:
                    events = (await it.ask("GET", f"/v1/runs/{run['id']}/events", who="root")).text
                    assert words in events
            assert "/v1/things" not in (await lacking.ask("GET", "/openapi.json")).json()["paths"]
    finally:
        for journal in journals:
            await journal.close()
