"""Requests built from real documents, judged by openapi-core: they are valid, and say what the arguments said."""

from __future__ import annotations

import gzip
import subprocess
from collections import Counter
from pathlib import Path
from random import Random
from urllib.parse import parse_qsl, unquote, urlsplit

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from openapi_core import Config, OpenAPI
from openapi_core.datatypes import RequestParameters
from openapi_core.validation.request.exceptions import SecurityValidationError
from werkzeug.datastructures import Headers, ImmutableMultiDict

from actum.core.json import Json, JsonObject, dumps
from actum.protocols.openapi.model import ApiDocument, ApiOperation
from actum.protocols.openapi.reading import read_api
from actum.protocols.openapi.request import BuiltRequest, build_request, with_credentials
from actum.protocols.openapi.text import read_text
from actum.schema.schema import compile_schema
from tests.patience import HANGS_S
from tests.peers.install import node, node_modules, npm_bin

CORPUS = Path(__file__).parents[2] / "corpus" / "openapi"
SERVER = "https://judge.example.com"
OPERATIONS = 6
"""So many of each large document, the same ones in each run; of small ones all."""

WORDS = st.sampled_from(["a", "ü/ß", "50%&more=1", "a+b c", "x#y?z", "日本", "true", "7"])


class Judged:
    """A request as openapi-core takes one."""

    def __init__(self, request: BuiltRequest, operation: ApiOperation) -> None:
        parts = urlsplit(request.url)
        headers = Headers(list(request.headers))
        self.host_url = SERVER
        self.path = unquote(parts.path)
        self.full_url_pattern = SERVER + operation.path
        self.method = request.method.lower()
        self.content_type = headers.get("Content-Type", "")
        self.body = request.body
        wanted = operation.path.split("/")
        path = {
            name[1:-1]: unquote(part)
            for name, part in zip(wanted, parts.path.split("/"), strict=True)
            if name.startswith("{") and name.endswith("}")
        }
        query = ImmutableMultiDict(parse_qsl(parts.query, keep_blank_values=True))
        self.parameters = RequestParameters(query=query, header=headers, cookie=ImmutableMultiDict(), path=path)


class Made:
    """Makes values that fit a JSON Schema; None where it does not know how, so that the value is left out.

    Args:
        root: the schema with the `$defs`.
    """

    def __init__(self, root: JsonObject) -> None:
        defs = root.get("$defs")
        self._defs = defs if isinstance(defs, dict) else {}

    def of(self, schema: Json, depth: int = 0) -> st.SearchStrategy[Json]:
        if not isinstance(schema, dict) or depth > 5:
            return st.none()
        schema = self._merged(schema)
        enum, kind = schema.get("enum"), schema.get("type")
        if isinstance(enum, list):
            return st.sampled_from(enum) if None not in enum else st.none()
        if {"pattern", "not", "const", "if"} & schema.keys():
            return st.none()
        match kind[0] if isinstance(kind, list) and kind else kind:
            case "string" if schema.get("format") in (None, "uri", "email", "date", "uuid"):
                return self._text(schema)
            case "integer":
                low, high = schema.get("minimum", 0), schema.get("maximum", 10**6)
                return st.integers(low, high) if isinstance(low, int) and isinstance(high, int) else st.none()
            case "number" if not {"minimum", "maximum", "multipleOf"} & schema.keys():
                return st.sampled_from([0.5, 2, 1e6])
            case "boolean":
                return st.booleans()
            case "array" if schema.get("minItems", 1) in (0, 1):
                items = self.of(schema.get("items"), depth + 1).filter(lambda item: item is not None)
                return st.lists(items, min_size=1, max_size=2, unique_by=str)
            case "object" if isinstance(schema.get("properties"), dict):
                return self._object(schema, depth)
            case _:
                return st.none()

    def _merged(self, schema: JsonObject) -> JsonObject:
        """A schema with what it refers to and its first alternatives in it."""
        merged: JsonObject = {}
        parts: list[Json] = [schema]
        for part in parts:
            if not isinstance(part, dict) or len(parts) > 20:
                continue
            ref = part.get("$ref")
            parts += [self._defs[ref.rpartition("/")[2]]] if isinstance(ref, str) else []
            for key in ("allOf", "anyOf", "oneOf"):
                found = part.get(key)
                if isinstance(found, list):
                    parts += found if key == "allOf" else found[:1]
            for key, value in part.items():
                before = merged.get(key)
                if isinstance(before, dict) and isinstance(value, dict):
                    merged[key] = {**value, **before}
                elif isinstance(before, list) and isinstance(value, list) and key == "required":
                    merged[key] = [*before, *value]
                else:
                    merged.setdefault(key, value)
        return {key: value for key, value in merged.items() if key not in ("$ref", "allOf", "anyOf", "oneOf")}

    def _text(self, schema: JsonObject) -> st.SearchStrategy[Json]:
        kinds = {"uri": "https://a.example/\u00fc?a=1&b=2", "email": "ann@example.com", "date": "2026-11-23",
                 "uuid": "123e4567-e89b-12d3-a456-426614174000"}  # fmt: skip
        written = kinds.get(str(schema.get("format")))
        low, high = schema.get("minLength", 0), schema.get("maxLength", 100)
        if written is not None or not isinstance(low, int) or not isinstance(high, int) or low > 20:
            return st.just(written) if written is not None and "minLength" not in schema else st.none()
        return WORDS.map(lambda word: (word + "x" * low)[:high])

    def _object(self, schema: JsonObject, depth: int) -> st.SearchStrategy[Json]:
        properties, required = schema["properties"], schema.get("required")
        assert isinstance(properties, dict)
        names = {name: self.of(each, depth + 1) for name, each in properties.items()}
        must = required if isinstance(required, list) else []

        @st.composite
        def made(draw: st.DrawFn) -> Json:
            found: JsonObject = {}
            for name, strategy in names.items():
                if name in must or draw(st.integers(0, 2)) == 0:
                    value = draw(strategy)
                    if value is not None:
                        found[name] = value
            return found if all(name in found for name in must) else None

        return made()


def converted(documents: dict[str, JsonObject], folder: Path) -> dict[str, JsonObject]:
    """Documents of Swagger 2.0 as documents of OpenAPI 3.0, by another's hand."""
    found = {}
    for name, document in documents.items():
        (folder / f"{name}.json").write_text(dumps(document), "utf-8")
        program = [
            str(node()),
            str(npm_bin("swagger2openapi")),
            f"{name}.json",
            "--outfile",
            f"{name}-3.json",
            "--patch",
        ]
        done = subprocess.run(program, cwd=folder, capture_output=True, text=True, timeout=HANGS_S, check=False)
        assert done.returncode == 0, done.stderr[-500:]
        found[name] = read_text((folder / f"{name}-3.json").read_bytes())
    return found


def for_the_judge(document: JsonObject) -> OpenAPI:
    """The judge of a document: all operations at one server, without what the judge can not follow."""
    todo: list[Json] = [document]
    for value in todo:
        if isinstance(value, dict):
            discriminator = value.get("discriminator")
            mapping = discriminator.get("mapping") if isinstance(discriminator, dict) else {}
            # A mapping to files that the publisher left out leads the judge nowhere.
            if not isinstance(mapping, dict) or any(not str(each).startswith("#") for each in mapping.values()):
                del value["discriminator"]
            value.pop("servers", None)
            if "default" in value and value["default"] is None:
                del value["default"]  # the judge would put it in, and then refuse it
            todo += value.values()
        elif isinstance(value, list):
            todo += value
    document["servers"] = [{"url": SERVER}]
    return OpenAPI.from_dict(document, config=Config(spec_validator_cls=None))


def documents() -> dict[str, JsonObject]:
    found = {file.name: read_text(gzip.decompress(file.read_bytes())) for file in sorted(CORPUS.glob("*.gz"))}
    netlify = node_modules() / "@netlify" / "open-api" / "dist" / "swagger.json"
    return found | {"netlify": read_text(netlify.read_bytes())}


def sampled(folder: Path) -> list[tuple[ApiDocument, OpenAPI, ApiOperation]]:
    found = []
    known = documents()
    apis = {name: read_api(document) for name, document in known.items()}
    assert (len(apis["netlify"].operations), apis["netlify"].refused) == (181, ())
    known |= converted({name: document for name, document in known.items() if "swagger" in document}, folder)
    for name, document in known.items():
        judge = for_the_judge(document)
        usable = [
            operation
            for operation in apis[name].operations
            if (operation.parameters or operation.body)
            and "#" not in operation.path
            and (operation.body is None or operation.body.kind in ("json", "form"))
        ]
        plain = [operation for operation in usable if not operation.body]
        bodies = [operation for operation in usable if operation.body]
        for each in (plain, bodies):
            most = len(each) if name.startswith("readme") else min(OPERATIONS, len(each))
            found += [(apis[name], judge, operation) for operation in Random(23).sample(each, most)]
    return found


def drawn(data: st.DataObject, operation: ApiOperation) -> JsonObject:
    """Arguments of an operation; some that it needs may be missing."""
    members, made = operation.tool.property_schemas(), Made(operation.tool.parameters)
    arguments: JsonObject = {}
    for plan in operation.parameters:
        schema = members[plan.argument]
        strategy = st.just("a1") if plan.where == "header" else made.of(schema)
        is_split = schema.get("type") == "object" or (not plan.explode and schema.get("type") == "array")
        if is_split or {"allOf", "anyOf", "oneOf"} & schema.keys():
            strategy = st.none()  # the judge splits after it decodes, and takes a text for no other type then
        value = data.draw(strategy)
        if value is not None and (plan.where != "path" or "/" not in str(value)):  # the judge decodes first
            arguments[plan.argument] = value
    for name in of_body(operation):
        value = data.draw(made.of(members[name]))
        if value is not None:
            arguments[name] = value
    return arguments


def of_body(operation: ApiOperation) -> list[str]:
    """The arguments that become the body."""
    body = operation.body
    return [] if body is None else list(body.fields) if body.flat else [body.argument]


def judge_operation(api: ApiDocument, openapi: OpenAPI, operation: ApiOperation, judged: Counter[str]) -> None:
    """Have requests of an operation judged; count them and their bodies. All have to be good."""

    @settings(max_examples=4, derandomize=True, deadline=None, phases=[Phase.generate], database=None,
              suppress_health_check=list(HealthCheck))  # fmt: skip
    @given(st.data())
    def judge(data: st.DataObject) -> None:
        arguments = drawn(data, operation)
        if compile_schema(operation.tool.parameters, where="it").problems(arguments):
            return
        built = build_request(api, operation, arguments, SERVER)
        if built.credentials and built.credentials[0]:
            slots = built.credentials[0]
            built = with_credentials(built, slots, {slot.scheme: "key:1" for slot in slots})
        read = openapi.unmarshal_request(Judged(built, operation))
        problems = [each for each in read.errors if not isinstance(each, SecurityValidationError)]
        found, what = read.parameters, (operation.tool.name, arguments, problems)
        assert not problems, what
        places = {"path": dict(found.path), "query": dict(found.query), "header": dict(found.header)}
        for plan in operation.parameters:
            if plan.argument in arguments and plan.where in places:
                assert holds(places[plan.where][plan.name], arguments[plan.argument]), (plan.name, *what)
        judged["requests"] += 1
        said = {name: arguments[name] for name in of_body(operation) if name in arguments}
        if said and not read.errors:
            whole = said if operation.body is not None and operation.body.flat else next(iter(said.values()))
            assert holds(read.body, whole), (read.body, *what)
            judged["bodies"] += 1

    judge()


def holds(read: object, said: Json) -> bool:
    """Whether what a judge read is what was said, but for the values that a document gives where nothing is said."""
    if isinstance(said, dict):
        return isinstance(read, dict) and all(name in read and holds(read[name], each) for name, each in said.items())
    if isinstance(said, list):
        return isinstance(read, list) and len(read) == len(said) and all(map(holds, read, said))
    return read == said if isinstance(said, bool | int | float | None) else str(read) == said


# What the judge says of a document, not of a request.
@pytest.mark.filterwarnings("ignore:.*is deprecated:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:Unsupported scheme type:UserWarning")
def test_the_judge_reads_out_of_a_built_request_the_arguments_that_went_in(tmp_path: Path) -> None:
    judged: Counter[str] = Counter()
    of_swagger: Counter[str] = Counter()
    for api, openapi, operation in sampled(tmp_path):
        judge_operation(api, openapi, operation, of_swagger if api.version == "2.0" else judged)
    assert judged["requests"] >= 250, judged
    assert judged["bodies"] >= 60, judged
    assert of_swagger["requests"] >= 30, of_swagger
    assert of_swagger["bodies"] >= 8, of_swagger
