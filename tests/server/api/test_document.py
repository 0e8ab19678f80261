"""The document of our own API: valid, committed, and true."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
from openapi_spec_validator import validate

from actum.server.api.operations import OPERATIONS
from actum.server.api.routes import DOCUMENT, whole_document

COMMITTED = Path(__file__).parents[3] / "docs" / "openapi.json"


def test_the_document_is_valid_and_tells_of_every_operation() -> None:
    document = json.loads(whole_document())
    validate(document)
    told = {operation["operationId"]: operation for place in document["paths"].values() for operation in place.values()}
    assert told.keys() == {each.id for each in [*OPERATIONS, DOCUMENT]}
    for operation in told.values():
        assert operation["summary"]
        for status, answer in operation["responses"].items():
            for kind, content in answer.get("content", {}).items():
                assert "example" in content, (operation["operationId"], status)
                assert (kind == "application/problem+json") == (int(status) >= 400)
        if operation["security"]:
            assert {"401", "403", "429", "500", "503"} <= operation["responses"].keys()


def test_every_example_of_the_document_is_of_its_type() -> None:
    for operation in OPERATIONS:
        if operation.body is not None:
            msgspec.convert(operation.example, operation.body)
        for reply in operation.replies.values():
            if isinstance(reply.body, type) and reply.media_type == "application/json":
                msgspec.convert(reply.example, reply.body)


def test_the_committed_document_is_the_one_that_is_served() -> None:
    """Where this fails, the API has changed: within `/v1` fields and routes are only added. Write the document anew
    with `python -m actum.server.api > docs/openapi.json`.
    """
    assert COMMITTED.read_bytes() == whole_document()
