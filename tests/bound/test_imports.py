"""The attack table through imported files of Dify and Coze, and what their reports say of it."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from msgspec import Struct, structs

from actum.core.errors import WorkflowFailed
from actum.core.json import Json, JsonObject
from actum.policy.rules import Rule, Rules
from actum.workflow.imports.coze import import_coze
from actum.workflow.imports.dify import import_dify
from actum.workflow.imports.imported import ImportedApp
from actum.workflow.load import check_text, read_definition
from actum.workflow.workflow import Workflow
from examples.local_services.serving import serving
from tests.workflow.imports.test_coze import canvas, param, text_of
from tests.workflow.imports.test_coze import node as coze_node
from tests.workflow.imports.test_dify import START, app, edge, node

from .attacks import VALUES, Receiver

pytestmark = pytest.mark.row("C1")
ALLOW = Rules(Rule("allow"))
VALUE = "{{#1.s#}}"


class FilePlace(Struct, frozen=True):
    """A place of a request in a foreign file, as in `attacks.Place`.

    Attributes:
        fields: of the node of the foreign file.
        status: what the report says of the field.
        field: what the report is asked about.
    """

    fields: JsonObject
    part: str
    drawn: Callable[[str], object]
    field: str
    status: str = "near"
    refuses: Callable[[str], bool] = lambda value: False


def _is_no_segment(value: str) -> bool:
    return value in ("", ".", "..", "../../admin", "%2e%2e") or any(ord(sign) < 32 for sign in value)


def _is_no_header(value: str) -> bool:
    return any(ord(sign) < 32 or ord(sign) > 255 for sign in value)


def _body(kind: str, text: str) -> JsonObject:
    return {"method": "post", "url": "HOST/r", "body": {"type": kind, "data": [{"type": "text", "value": text}]}}


def _form(kind: str, value: str) -> JsonObject:
    data: list[Json] = [
        {"type": "text", "key": "to", "value": "a&b"},
        {"type": "text", "key": "note", "value": value},
    ]
    return {"method": "post", "url": "HOST/r", "body": {"type": kind, "data": data}}


DIFY: dict[str, FilePlace] = {
    "path": FilePlace(
        {"url": f"HOST/r/{VALUE}/tail"},
        "path",
        lambda value: ["r", value, "tail"],
        "url",
        refuses=_is_no_segment,
    ),
    "query in the address": FilePlace(
        {"url": f"HOST/r?a=1&q={VALUE}"}, "query", lambda value: [("a", "1"), ("q", value)], "url"
    ),
    "params": FilePlace(
        {"url": "HOST/r", "params": f"q: {VALUE}!"}, "query", lambda value: [("q", f"{value}!")], "params", "same"
    ),
    "header": FilePlace(
        {"url": "HOST/r", "headers": f"X-Note: for {VALUE}!"},
        "x-note",
        lambda value: f"for {value}!",
        "headers",
        refuses=_is_no_header,
    ),
    "JSON in quotes": FilePlace(
        _body("json", f'{{"to": "ada", "note": "{VALUE}", "amount": 1}}'),
        "body",
        lambda value: [("to", "ada"), ("note", value), ("amount", 1)],
        "body.data[0].value",
    ),
    "JSON outside of quotes": FilePlace(
        _body("json", f'{{"to": "ada", "note": {VALUE}}}'),
        "body",
        lambda value: [("to", "ada"), ("note", value)],
        "body.data[0].value",
    ),
    "form": FilePlace(
        _form("x-www-form-urlencoded", f"for {VALUE}"),
        "body",
        lambda value: [("to", "a&b"), ("note", f"for {value}")],
        "body.data[1].value",
        "same",
    ),
    "form-data": FilePlace(
        _form("form-data", VALUE), "body", lambda value: [("to", "a&b"), ("note", value)], "body.data[1].value", "same"
    ),
    "raw text that is XML": FilePlace(
        {**_body("raw-text", f"<note><for>{VALUE}</for></note>"), "headers": "Content-Type: application/xml"},
        "body",
        lambda value: ["note", {}, "", [["for", {}, value.replace("\r\n", "\n"), []]]],
        "body.data[0].value",
        refuses=lambda value: "\0" in value,
    ),
}
COZE_VALUE = "{{block_output_1.s}}"


def _coze_body(kind: str, **data: Json) -> JsonObject:
    return {"method": "POST", "body": {"bodyType": kind, "bodyData": data}}


def _ref() -> Json:
    content: Json = {"source": "block-output", "blockID": "1", "name": "s"}
    return {"type": "string", "value": {"type": "ref", "content": content}}


COZE: dict[str, FilePlace] = {
    "path": FilePlace(
        {"url": f"HOST/r/{COZE_VALUE}/tail"},
        "path",
        lambda value: ["r", value, "tail"],
        "inputs.apiInfo.url",
        refuses=_is_no_segment,
    ),
    "params": FilePlace({"params": [param("q", _ref())]}, "query", lambda value: [("q", value)], "inputs.params", ""),
    "JSON in quotes": FilePlace(
        _coze_body("JSON", json=f'{{"to": "ada", "note": "for {COZE_VALUE}"}}'),
        "body",
        lambda value: [("to", "ada"), ("note", f"for {value}")],
        "inputs.body.bodyData.json",
    ),
    "JSON outside of quotes": FilePlace(
        _coze_body("JSON", json=f'{{"to": "ada", "note": {COZE_VALUE}}}'),
        "body",
        lambda value: [("to", "ada"), ("note", value)],
        "inputs.body.bodyData.json",
    ),
    "form": FilePlace(
        _coze_body("FORM_URLENCODED", formURLEncoded=[param("to", text_of("a&b")), param("note", _ref())]),
        "body",
        lambda value: [("to", "a&b"), ("note", value)],
        "inputs.body.bodyData.formURLEncoded",
        "",
    ),
    "form data": FilePlace(
        _coze_body("FORM_DATA", formData={"data": [param("to", text_of("a&b")), param("note", _ref())]}),
        "body",
        lambda value: [("to", "a&b"), ("note", value)],
        "inputs.body.bodyData.formData.data",
        "",
    ),
    "raw text that is XML": FilePlace(
        {
            **_coze_body("RAW_TEXT", rawText=f"<note><for>{COZE_VALUE}</for></note>"),
            "headers": [param("Content-Type", text_of("application/xml"))],
        },
        "body",
        lambda value: ["note", {}, "", [["for", {}, value.replace("\r\n", "\n"), []]]],
        "inputs.body.bodyData.rawText",
        refuses=lambda value: "\0" in value,
    ),
}


def dify(fields: JsonObject, host: str) -> ImportedApp:
    said = json.loads(json.dumps({"method": "get", **fields}).replace("HOST", host))
    return import_dify(app([START, node("2", "http-request", **said)], [edge("1", "2")]))


def coze(fields: JsonObject, host: str) -> ImportedApp:
    said = json.loads(json.dumps(fields).replace("HOST", host))
    url, method = said.pop("url", f"{host}/r"), said.pop("method", "GET")
    inputs: JsonObject = {"apiInfo": {"method": method, "url": url}, "body": {"bodyType": "EMPTY"}, **said}
    outputs: list[Json] = [{"name": "s", "type": "string", "required": True}]
    return import_coze(canvas([coze_node("1", "1", None, outputs), coze_node("2", "45", inputs)], ("1", "2")))


@pytest.mark.parametrize(
    ("make", "place"),
    [
        *(pytest.param(dify, place, id=f"dify: {name}") for name, place in DIFY.items()),
        *(pytest.param(coze, place, id=f"coze: {name}") for name, place in COZE.items()),
    ],
)
async def test_a_value_stays_in_its_place_and_the_report_says_what_is_sent_differently(
    make: Callable[[JsonObject, str], ImportedApp], place: FilePlace
) -> None:
    receiver, wrong = Receiver(), list[str]()
    async with serving(receiver.app) as (url,):
        imported = make(place.fields, url)
        told = [line.status for line in imported.report.lines if line.field.startswith(place.field)]
        assert not place.status or told == [place.status], imported.report.lines
        flow = Workflow(structs.replace(read_definition(imported.text), imported=""), policy=ALLOW)
        for value in filter(None, VALUES):  # the input is required, and a blank one counts as missing
            receiver.received.clear()
            try:
                await flow.run({"s": value})
            except WorkflowFailed as failure:
                if not place.refuses(value) or receiver.received or failure.code != "no_place":
                    wrong.append(f"{value!r}: {failure}")
                continue
            (received,) = receiver.received
            is_header = place.part not in received.__struct_fields__
            found = received.headers[place.part] if is_header else getattr(received, place.part)
            if place.refuses(value) or found != place.drawn(value):
                wrong.append(f"{value!r}: {found!r}")
    assert wrong == [], imported.text


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (_body("json", f'{{"n": 1{VALUE}}}'), "expected JSON around the values"),
        (_body("json", f"{{'n': '{VALUE}'}}"), "expected JSON around the values"),
        ({"url": f"{VALUE}{VALUE}"}, "expected the value at the beginning"),
        ({"url": f"https://ada:{VALUE}@example.org/"}, "expected"),
        ({**_body("raw-text", f"a({VALUE})"), "headers": "Content-Type: application/graphql"}, "is not known"),
    ],
)
def test_a_text_in_which_the_places_can_not_be_told_is_left_out_and_open(fields: JsonObject, message: str) -> None:
    imported = dify(fields, "https://example.org")
    told = [line.message for line in imported.report.lines if line.status == "open" and message in line.message]
    assert len(told) == 1, imported.report.lines
    assert imported.report.exit_code == 3
    assert not check_text(imported.text).problems


async def test_a_body_that_is_one_value_is_sent_as_it_is_and_a_person_is_told_to_look() -> None:
    receiver = Receiver()
    async with serving(receiver.app) as (url,):
        imported = dify(_body("json", VALUE), url)
        assert "${inputs.s|raw}" in imported.text
        assert [line.status for line in imported.report.lines if line.field == "body.data[0].value"] == ["open"]
        flow = Workflow(structs.replace(read_definition(imported.text), imported=""), policy=ALLOW)
        await flow.run({"s": '{"to": "ada"}'})
        with pytest.raises(WorkflowFailed, match="expected JSON"):
            await flow.run({"s": '{"to": "ada"'})
    assert [each.body for each in receiver.received] == [[("to", "ada")]]


async def test_a_value_that_has_to_be_computed_is_bound_like_any_other() -> None:
    """In Coze a missing value has a default, which only CEL can say."""
    receiver = Receiver()
    outputs: list[Json] = [{"name": "s", "type": "string", "defaultValue": "x"}]
    fields = {
        "apiInfo": {"method": "POST", "url": f"HOST/r/{COZE_VALUE}?q={COZE_VALUE}"},
        "body": {"bodyType": "JSON", "bodyData": {"json": f'{{"a": {COZE_VALUE}, "b": "{COZE_VALUE}"}}'}},
    }
    async with serving(receiver.app) as (url,):
        said = json.loads(json.dumps(fields).replace("HOST", url))
        imported = import_coze(canvas([coze_node("1", "1", None, outputs), coze_node("2", "45", said)], ("1", "2")))
        flow = Workflow(structs.replace(read_definition(imported.text), imported=""), policy=ALLOW)
        await flow.run({"s": 'a/b&c=1"'})
        await flow.run({})
    value = 'a/b&c=1"'
    assert [each.path for each in receiver.received] == [["r", value], ["r", "x"]]
    assert [each.query for each in receiver.received] == [[("q", value)], [("q", "x")]]
    assert receiver.received[0].body == [("a", value), ("b", value)]


def test_a_statement_for_a_tool_is_not_put_together_from_values() -> None:
    given: JsonObject = {
        "sql": {"type": "mixed", "value": f"select * from t where a = '{VALUE}'"},
        "name": {"type": "mixed", "value": f"for {VALUE}"},
    }
    tool = node("2", "tool", provider_id="db", provider_type="api", tool_name="query", tool_parameters=given)
    imported = import_dify(app([START, tool], [edge("1", "2")]))
    opened = [line.field for line in imported.report.lines if line.status == "open" and "parameters" in line.message]
    assert opened == ["tool_parameters.sql.value"]
    assert "select" not in imported.text
    assert "for ${inputs.s}" in imported.text


async def test_the_arguments_of_an_mcp_tool_are_bound_as_json() -> None:
    given: JsonObject = {
        "tool_name": {"type": "mixed", "value": "send"},
        "arguments": {"type": "mixed", "value": f'{{"to": "ada", "note": "{VALUE}", "n": {VALUE}}}'},
    }
    tool = node(
        "2", "tool", provider_id="mcp", provider_type="api", tool_name="mcp_sse_call_tool", tool_parameters=given
    )
    imported = import_dify(app([START, tool], [edge("1", "2")]))
    assert '{to: ada, note: "${inputs.s}", n: "${inputs.s}"}' in imported.text
    assert "near" in [line.status for line in imported.report.lines if "arguments" in line.field]
