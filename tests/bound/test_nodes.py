"""The attack table through our own nodes: the receiver parses what the author drew, or nothing is sent."""

from __future__ import annotations

import gzip
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from actum.core.call import ToolCall, ToolResult
from actum.core.errors import WorkflowFailed
from actum.core.interfaces import Context
from actum.core.json import Json, JsonObject
from actum.core.run.node_records import NodeBegan
from actum.core.tool import Tool
from actum.policy.rules import Rule, Rules
from actum.storage.place import open_journal
from actum.testing import FakeClock
from actum.workflow.load import check_text, read_definition
from actum.workflow.workflow import Workflow
from examples.local_services.serving import serving
from tests.workflow.test_workflow import definition_text, workflow

from .attacks import PLACES, VALUES, Receiver, found_at, node_at
from .spliced import DEFINITION, VALUE

pytestmark = pytest.mark.row("C1")
ALLOW = Rules(Rule("allow"))


class Taker:
    """A tool that keeps the text that it is given."""

    generation = 0

    def __init__(self, schema: JsonObject) -> None:
        self._schema = schema
        self.taken: list[Json] = []

    async def list_tools(self) -> Sequence[Tool]:
        parameters: JsonObject = {"type": "object", "properties": {"text": self._schema}, "required": ["text"]}
        return [Tool(name="take", description="Take.", parameters=parameters, effects=frozenset({"read"}))]

    async def execute(self, call: ToolCall, context: Context) -> ToolResult:
        self.taken.append(call.arguments["text"])
        return ToolResult(call.id, structured="taken")


def sending(node: JsonObject, *, secrets: Mapping[str, str] | None = None) -> Workflow:
    definition: JsonObject = {
        "inputs": {"type": "object"},
        "nodes": {"send": node},
        "outputs": {"got": "${send.output.status}"},
    }
    return workflow(definition, policy=ALLOW, secrets=dict(secrets or {}))


@pytest.mark.parametrize("name", PLACES)
async def test_a_value_stays_in_its_place_or_nothing_is_sent(name: str) -> None:
    place, receiver, wrong = PLACES[name], Receiver(), list[str]()
    async with serving(receiver.app) as (url,):
        flow = sending(node_at(place, url, "inputs.v"))
        for value in VALUES:
            receiver.received.clear()
            try:
                await flow.run({"v": value, "other": "other"})
            except WorkflowFailed as failure:
                if not place.refuses(value) or receiver.received or failure.code != "no_place":
                    wrong.append(f"{value!r}: {failure.code} {failure}")
                continue
            (received,) = receiver.received
            found = found_at(place, received)
            if place.refuses(value) or found != place.drawn(value):
                wrong.append(f"{value!r}: {found!r} and not {place.drawn(value)!r}")
    assert wrong == []


async def test_a_run_of_an_older_version_goes_on_with_the_requests_that_stand_on_record(tmp_path: Path) -> None:
    recorded = gzip.decompress((Path(__file__).parent / "spliced.db.gz").read_bytes())
    for answer, told in (("deny", "approval_denied"), ("approve", "permission_denied")):  # nobody named port 44153
        path = tmp_path / f"{answer}.db"
        path.write_bytes(recorded)
        journal = open_journal(path)
        flow = Workflow(
            read_definition(DEFINITION.replace("PORT", "1")),
            journal=journal,
            policy=Rules(Rule("ask", tools="workflow_http_send"), Rule("allow")),
            clock=FakeClock(auto=True),
        )
        waiting = await flow.resume("run_spliced")
        (pending,) = waiting.pending
        assert pending.call is not None
        assert pending.call.arguments["body"] == f'{{"note": "{VALUE}"}}'
        done = await flow.resume("run_spliced", {pending.id: answer})
        assert (done.status, done.text) == ("done", told)
        await flow.aclose()
        await journal.close()


async def test_the_older_rule_holds_for_no_node_that_begins_now() -> None:
    receiver = Receiver()
    async with serving(receiver.app) as (url,):
        flow = sending(node_at(PLACES["a whole string of JSON"], url, "inputs.v"))
        done = await flow.run({"v": VALUE, "other": ""})
        began = [e.record for e in await flow.journal.read(done.run_id) if isinstance(e.record, NodeBegan)]
    assert [each.call.arguments["body"] for each in began if each.call] == [
        '{"to": "ada", "note": "' + VALUE.replace('"', '\\"') + '", "amount": 1}'
    ]


# Addresses ------------------------------------------------------------------------------------------------------------


async def test_a_value_at_the_beginning_is_an_address_and_is_judged_by_egress() -> None:
    receiver = Receiver()
    async with serving(receiver.app) as (url,):
        public = sending({"type": "http", "url": "${inputs.base}/notes/${inputs.v}?q=${inputs.v}"})
        with pytest.raises(WorkflowFailed) as caught:
            await public.run({"base": url, "v": "a/b"})
        assert caught.value.code == "permission_denied"
        named = sending({"type": "http", "url": f"{url}/r/${{inputs.v}}?next=${{inputs.base}}"})
        await named.run({"base": "https://evil.example/?x=1&y=2", "v": "a/b"})
    (received,) = receiver.received
    assert received.path == ["r", "a/b"]
    assert received.query == [("next", "https://evil.example/?x=1&y=2")]


@pytest.mark.parametrize(
    ("url", "value"),
    [
        ("https://${inputs.v}/x", "evil.example/y?"),
        ("https://${inputs.v}/x", "ada:pw@evil.example"),
        ("https://api.${inputs.v}.example.org/x", "evil.example/"),
        ("https://api.${inputs.v}.example.org/x", "a.b"),
        ("https://example.org:${inputs.v}/x", "80@evil.example"),
        ("https://example.org${inputs.v}", ".evil.example"),
        ("https://ada:${inputs.v}@example.org/", "pw"),
        ("https:${inputs.v}", "//evil.example"),
        ("${inputs.base}${inputs.v}", ".evil.example"),
    ],
)
async def test_a_value_does_not_choose_another_host_than_its_author_drew(url: str, value: str) -> None:
    definition: JsonObject = {"inputs": {"type": "object"}, "nodes": {"send": {"type": "http", "url": url}}}
    text = definition_text(definition)
    if check_text(text).problems:
        return  # it is refused before it runs
    flow = Workflow(read_definition(text), policy=ALLOW)
    with pytest.raises(WorkflowFailed, match="send: url: ") as caught:
        await flow.run({"v": value, "base": "https://example.org"})
    assert caught.value.code == "no_place"


# What an author declares ----------------------------------------------------------------------------------------------


async def test_what_its_author_declares_as_encoded_is_passed_once_and_marked() -> None:
    receiver = Receiver()
    node: JsonObject = {
        "type": "http",
        "method": "POST",
        "url": "HOST/${inputs.path|raw}?${inputs.query|query_string}",
        "headers": {"content-type": "application/json"},
        "body": "${inputs.body|raw}",
    }
    async with serving(receiver.app) as (url,):
        node["url"] = str(node["url"]).replace("HOST", url)
        flow = sending(node)
        given: JsonObject = {"path": "a/b%20c", "query": "q=1%262&z=3", "body": '{"to": "ada"}'}
        done = await flow.run(given)
        (received,) = receiver.received
        assert received.path == ["a", "b c"]
        assert received.query == [("q", "1&2"), ("z", "3")]
        assert received.body == [("to", "ada")]
        began = [e.record for e in await flow.journal.read(done.run_id) if isinstance(e.record, NodeBegan)]
        assert [each.call.arguments["raw"] for each in began if each.call] == [["url", "body"]]
        for field, value in (("query", "q=1#x"), ("query", "a b"), ("body", '{"to": "ada"'), ("body", "hi")):
            with pytest.raises(WorkflowFailed) as caught:
                await flow.run({**given, field: value})
            assert caught.value.code == "no_place"
    assert len(receiver.received) == 1


async def test_a_value_that_an_older_import_encodes_for_a_form_is_not_encoded_twice() -> None:
    receiver = Receiver()
    async with serving(receiver.app) as (url,):
        form = {"content-type": "application/x-www-form-urlencoded"}
        body = "note=${inputs.v|loose_form}&z=1"
        await sending({"type": "http", "method": "POST", "url": f"{url}/r", "headers": form, "body": body}).run(  # type: ignore[dict-item]
            {"v": "a&b=c%26"}
        )
    assert receiver.received[0].body == [("note", "a&b=c%26"), ("z", "1")]


async def test_a_value_of_json_has_its_own_type_and_a_pipe_for_texts_leaves_it() -> None:
    receiver = Receiver()
    async with serving(receiver.app) as (url,):
        body = '{"a": ${inputs.a}, "b": ${inputs.b|loose_text}, "c": "${inputs.b}", "d": ${inputs.d?}}'
        node: JsonObject = {"type": "http", "method": "POST", "url": f"{url}/r", "body": body}
        await sending({**node, "headers": {"content-type": "application/json"}}).run(
            {"a": [1, None, {"x": True}], "b": 2}
        )
    assert receiver.received[0].body == [("a", [1, None, [("x", True)]]), ("b", 2), ("c", "2"), ("d", None)]


# Secrets --------------------------------------------------------------------------------------------------------------


async def test_a_secret_is_bound_at_its_place_like_any_other_value() -> None:
    receiver, secret = Receiver(), 'p&q="x"/y #z'
    typed = {"json": "application/json", "form": "application/x-www-form-urlencoded", "xml": "application/xml"}
    bodies = {"json": '{"k": "${secret:K}", "v": ${secret:K}}', "form": "k=${secret:K}", "xml": "<k>${secret:K}</k>"}
    async with serving(receiver.app) as (url,):
        for name, body in bodies.items():
            node: JsonObject = {
                "type": "http",
                "method": "POST",
                "url": f"{url}/r/${{secret:K}}?q=${{secret:K}}",
                "headers": {"content-type": typed[name], "x-note": 'k="${secret:K}"'},
                "body": body,
            }
            await sending(node, secrets={"K": secret}).run({"v": ""})
        for received in receiver.received:
            assert received.path == ["r", secret]
            assert received.query == [("q", secret)]
            assert received.headers["x-note"] == 'k="' + secret.replace('"', '\\"') + '"'
        assert [each.body for each in receiver.received] == [
            [("k", secret), ("v", secret)],
            [("k", secret)],
            ["k", {}, secret, []],
        ]
        line: JsonObject = {"type": "http", "url": f"{url}/r", "headers": {"x-note": "for ${secret:K}"}}
        with pytest.raises(WorkflowFailed, match="A secret can not be sent at its place") as caught:
            await sending(line, secrets={"K": "one-long-secret\r\nx: 1"}).run({"v": ""})
        assert "one-long-secret" not in str(caught.value)


# Definitions ----------------------------------------------------------------------------------------------------------

JSON_TYPE: Json = {"content-type": "application/json"}


@pytest.mark.parametrize(
    ("fields", "where"),
    [
        ({"headers": JSON_TYPE, "body": '{"a": 1${inputs.v}}'}, "send.body"),
        ({"headers": JSON_TYPE, "body": '{"a": "${inputs.v}'}, "send.body"),
        ({"headers": JSON_TYPE, "body": "{${inputs.v}: 1}"}, "send.body"),
        ({"headers": JSON_TYPE, "body": '{"a": "\\\\${inputs.v}"'}, "send.body"),
        ({"headers": {"content-type": "${inputs.t}"}, "body": "a${inputs.v}"}, "send.body"),
        ({"headers": {"content-type": "application/graphql"}, "body": "{ a(b: ${inputs.v}) }"}, "send.body"),
        ({"headers": {"content-type": "application/sql"}, "body": "select '${inputs.v}'"}, "send.body"),
        ({"headers": {"content-type": "text/html"}, "body": "<script>f('${inputs.v}')</script>"}, "send.body"),
        ({"headers": {"content-type": "text/html"}, "body": "<p onclick=\"f('${inputs.v}')\">"}, "send.body"),
        ({"headers": {"content-type": "text/html"}, "body": "<p ${inputs.v}>"}, "send.body"),
        ({"headers": {"content-type": "text/xml"}, "body": "<a><!-- ${inputs.v} --></a>"}, "send.body"),
        ({"headers": {"content-type": "text/xml"}, "body": "<${inputs.v}/>"}, "send.body"),
        ({"headers": {"content-type": "multipart/form-data"}, "body": "--x${inputs.v}"}, "send.body"),
        ({"url": "https://ada:${inputs.v}@example.org/"}, "send.url"),
        ({"url": "${inputs.a}${inputs.v}"}, "send.url"),
    ],
)
def test_a_text_in_which_the_places_can_not_be_told_is_refused_where_it_is_checked(
    fields: JsonObject, where: str
) -> None:
    node: JsonObject = {"type": "http", "method": "POST", "url": "https://example.org/", **fields}
    text = definition_text({"inputs": {"type": "object"}, "nodes": {"send": node}})
    problems = check_text(text).problems
    assert [str(each.message).partition(":")[0] for each in problems] == [where]
    assert check_text(text, is_kept=True).definition is not None


# Tools ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schema", "text", "value", "drawn"),
    [
        ({"format": "uri"}, "https://example.org/${inputs.v}", "a/b?c", "https://example.org/a%2Fb%3Fc"),
        ({"x-kind": "url"}, "https://example.org/?q=${inputs.v}", "a&b", "https://example.org/?q=a%26b"),
        ({"x-kind": {"name": "path", "under": "/data"}}, "/data/${inputs.v}.md", "../../etc/passwd", None),
        ({"x-kind": "path"}, "notes/${inputs.v}/today.md", "..", None),
        ({"x-kind": "path"}, "notes/${inputs.v}/today.md", "june", "notes/june/today.md"),
        ({"format": "regex"}, "^${inputs.v}$", "a.*|b", r"^a\.\*\|b$"),
        ({"contentMediaType": "application/json"}, '{"a": "${inputs.v}"}', 'x", "b": "', '{"a": "x\\", \\"b\\": \\""}'),
        ({"contentMediaType": "text/html"}, "<p>${inputs.v}</p>", "<b>", "<p>&lt;b&gt;</p>"),
        ({"contentMediaType": "application/x-sh"}, "ls -- ${inputs.v}", "a; rm -rf x", "ls -- 'a; rm -rf x'"),
        ({"contentMediaType": "application/x-sh"}, "ls '${inputs.v}'", "a", None),
        ({"contentMediaType": "application/sql"}, "select * from t where a = '${inputs.v}'", "1", None),
        ({}, "for ${inputs.v}", "'; --", "for '; --"),
    ],
)
async def test_a_text_for_a_tool_is_bound_by_the_grammar_that_its_parameter_declares(
    schema: JsonObject, text: str, value: str, drawn: str | None
) -> None:
    taker = Taker({"type": "string", **schema})
    definition: JsonObject = {
        "inputs": {"type": "object"},
        "nodes": {"take": {"type": "tool", "tool": "take", "with": {"text": text}}},
    }
    flow = workflow(definition, [taker], policy=ALLOW)
    if drawn is None:
        with pytest.raises(WorkflowFailed) as caught:
            await flow.run({"v": value})
        assert (caught.value.code, taker.taken) == ("no_place", [])
    else:
        await flow.run({"v": value})
        assert taker.taken == [drawn]


# Templates ------------------------------------------------------------------------------------------------------------


async def test_a_template_makes_text_and_escapes_where_its_author_says_so() -> None:
    template = '<p title="{{ v }}">{{ v }}</p>'
    drawn: dict[str, str] = {
        "none": '<p title=""><b>">"><b></p>',
        "html": '<p title="&#34;&gt;&lt;b&gt;">&#34;&gt;&lt;b&gt;</p>',
    }
    for escape, text in drawn.items():
        node: JsonObject = {"type": "template", "template": template, "with": {"v": "${inputs.v}"}, "escape": escape}
        definition: JsonObject = {"inputs": {"type": "object"}, "nodes": {"t": node}, "outputs": {"t": "${t.text}"}}
        flow = workflow(definition, policy=ALLOW)
        assert (await flow.run({"v": '"><b>'})).output == {"t": text}
        await flow.aclose()
