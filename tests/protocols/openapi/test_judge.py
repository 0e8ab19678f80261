"""Requests built from real documents, judged by openapi-core: they are valid, and say what the arguments said."""

from __future__ import annotations

import gzip
from pathlib import Path
from random import Random
from urllib.parse import parse_qsl, unquote, urlsplit

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from openapi_core import Config, OpenAPI
from openapi_core.datatypes import RequestParameters
from werkzeug.datastructures import Headers, ImmutableMultiDict

from actum.core.json import Json, JsonObject
from actum.protocols.openapi.model import ApiDocument, ApiOperation
from actum.protocols.openapi.reading import read_api
from actum.protocols.openapi.request import BuiltRequest, build_request, with_credentials
from actum.protocols.openapi.text import read_text
from actum.schema.schema import compile_schema

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


def values(schema: Json) -> st.SearchStrategy[Json]:
    """Values of a plain schema; None where the schema is not plain, so the argument is left out."""
    if not isinstance(schema, dict) or {"pattern", "allOf", "anyOf", "oneOf", "$ref"} & schema.keys():
        return st.none()
    enum = schema.get("enum")
    if isinstance(enum, list):
        return st.sampled_from(enum)
    match schema.get("type"):
        case "string" if "format" not in schema and "minLength" not in schema and "maxLength" not in schema:
            return WORDS.map(str)
        case "integer" if "maximum" not in schema:
            low = schema.get("minimum")
            return st.integers(low if isinstance(low, int) else 0, 10**6)
        case "boolean":
            return st.booleans()
        case "array":
            return st.lists(values(schema.get("items")).filter(lambda item: item is not None), min_size=1, max_size=3)
        case _:
            return st.none()


def sampled() -> list[tuple[ApiDocument, OpenAPI, ApiOperation]]:
    found = []
    for file in sorted(CORPUS.glob("*.gz")):
        document = read_text(gzip.decompress(file.read_bytes()))
        if "swagger" in document or file.name.startswith("api.github"):
            continue
        api = read_api(document)
        document["servers"] = [{"url": SERVER}]
        judge = OpenAPI.from_dict(document, config=Config(spec_validator_cls=None))
        usable = [
            operation
            for operation in api.operations
            if operation.parameters and not operation.body and not operation.servers[1:] and "#" not in operation.path
        ]
        most = len(usable) if file.name.startswith("readme") else OPERATIONS
        found += [(api, judge, operation) for operation in Random(23).sample(usable, most)]
    return found


def judge_operation(api: ApiDocument, openapi: OpenAPI, operation: ApiOperation) -> int:
    """How many requests of an operation were judged, all of them good."""
    judged = 0

    @settings(max_examples=4, derandomize=True, deadline=None, phases=[Phase.generate], database=None,
              suppress_health_check=list(HealthCheck))  # fmt: skip
    @given(st.data())
    def judge(data: st.DataObject) -> None:
        nonlocal judged
        arguments: JsonObject = {}
        for plan in operation.parameters:
            schema = operation.tool.property_schemas()[plan.argument]
            strategy = st.just("a1") if plan.where == "header" else values(schema)
            if not plan.explode and schema.get("type") == "array":
                strategy = st.none()  # the judge splits after it decodes
            value = data.draw(strategy)
            if value is not None and (plan.where != "path" or "/" not in str(value)):  # the judge decodes first
                arguments[plan.argument] = value
        if compile_schema(operation.tool.parameters, where="it").problems(arguments):
            return
        built = build_request(api, operation, arguments, SERVER)
        if built.credentials:
            slots = built.credentials[0]
            built = with_credentials(built, slots, {slot.scheme: "key:1" for slot in slots})
        read = openapi.unmarshal_request(Judged(built, operation))
        found = read.parameters
        assert not read.errors, (operation.tool.name, read.errors)
        places = {"path": dict(found.path), "query": dict(found.query), "header": dict(found.header)}
        for plan in operation.parameters:
            if plan.argument in arguments and plan.where in places:
                assert places[plan.where][plan.name] == arguments[plan.argument], (operation.tool.name, plan.name)
        judged += 1

    judge()
    return judged


# What the judge says of a document, not of a request.
@pytest.mark.filterwarnings("ignore:.*is deprecated:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:Unsupported scheme type:UserWarning")
def test_the_judge_reads_out_of_a_built_request_the_arguments_that_went_in() -> None:
    judged = sum(judge_operation(*sample) for sample in sampled())
    assert judged >= 60, judged
