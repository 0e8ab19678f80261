"""An API that gives back the credential it was sent, in each way it can think of: the credential is found nowhere."""

from __future__ import annotations

import base64
import json
from urllib.parse import quote

import msgspec
import pytest

from actum import Agent, ToolCall
from actum.core.json import dumps
from actum.journal.memory import MemoryJournal
from actum.policy.rules import Rule, Rules
from actum.protocols.openapi.setup import SecretCredential
from actum.testing import FakeClock, ScriptedModel
from actum.toolsets.http.answer import holds_secret
from actum.toolsets.http.toolset import ApiToolset
from tests.transport.wire_servers import said, wire_server

from .test_toolset import JSON, setup

HUSH = "hüsh/hush+4711=key"
UTF8 = HUSH.encode()
FORMS = {
    "plain": UTF8,
    "base64": base64.b64encode(b"a" + UTF8),
    "base64 for addresses": base64.urlsafe_b64encode(UTF8),
    "base64 in lines": base64.encodebytes(b"xy" + UTF8).replace(b"c", b"c\r\n"),
    "hex": UTF8.hex().upper().encode(),
    "percent": quote(HUSH, safe="").encode(),
    "percent twice": quote(quote(HUSH, safe=""), safe="").encode(),
    "json": dumps(HUSH).encode("ascii", "backslashreplace"),
    "utf-16": HUSH.encode("utf-16-le"),
    "utf-16 the other way": HUSH.encode("utf-16-be"),
    "latin-1": HUSH.encode("latin-1"),
}
PNG = "content-type: image/png"


def answers() -> dict[str, bytes]:
    """What the API says, by a name for the case."""
    header = quote(HUSH, safe="")
    cases = {
        f"file: {name}": said(b"\x89PNG\x00\xff" + form + b"\x00\xfe", "200 OK", PNG) for name, form in FORMS.items()
    }
    for name, form in FORMS.items():
        cases[f"text: {name}"] = said(form, "200 OK", "content-type: text/plain")
        cases[f"error: {name}"] = said(form, "400 No", "content-type: text/plain")
        cases[f"broken: {name}"] = said(form, "500 No", "content-type: text/plain")
        cases[f"no type: {name}"] = said(form, "200 OK")
    cases |= {
        "another character set": said(UTF8, "200 OK", "content-type: text/plain; charset=latin-1"),
        "a wrong character set": said(UTF8 + b" ", "200 OK", "content-type: text/plain; charset=utf-16"),
        "not JSON": said(b'{"a": "' + UTF8, "200 OK", JSON),
        "a name in JSON": said(dumps({HUSH: [HUSH]}).encode(), "200 OK", JSON),
        "hidden characters": said(dumps("\u200b".join(HUSH)).encode(), "200 OK", JSON),
        "an error in JSON": said(dumps({"error": {"message": "x" * 290 + HUSH}}).encode(), "422 No", JSON),
        "name of a file": said(b"\x00\x01", "200 OK", PNG, f"content-disposition: attachment; filename={header}"),
        "type of a file": said(b"\x00\x01", "200 OK", f"content-type: image/{UTF8.hex()}"),
        "etag": said(b"", "200 OK", f"etag: {header}"),
        "location": said(b"", "302 Go", f"location: /elsewhere/{header}"),
        "location elsewhere": said(b"", "307 Go", f"location: http://127.0.0.1:1/{header}"),
        "not finished": said(b"", "202 Accepted", f"location: /pets?page={header}"),
        "link": said(b"[]", "200 OK", JSON, f'link: </pets?page={header}>; rel="next"'),
        "link in the body": said(dumps({"next": f"/pets?page={header}"}).encode(), "200 OK", JSON),
        "later": said(b"", "429 No", f"retry-after: {header}"),
        "broken answer": b"HTTP/1.1 200 " + UTF8 + b"\r\ncontent-length: " + UTF8 + b"\r\n\r\n",
    }
    return cases


@pytest.mark.row("T2")
async def test_a_credential_that_comes_back_in_any_form_reaches_no_model_and_no_journal() -> None:
    for case, answer in answers().items():
        credentials = {"key": SecretCredential("pets_key")}
        async with wire_server(lambda head, body, answer=answer: answer) as server:  # type: ignore[misc]
            toolset = ApiToolset(setup(server.port, dict(credentials)))
            journal = MemoryJournal()
            model = ScriptedModel([ToolCall("1", "keyed", {}), "done"])
            allowed = Rules(Rule("allow", tools="*"))
            agent = Agent(
                model,
                [toolset],
                secrets={"pets_key": HUSH},
                journal=journal,
                policy=allowed,
                clock=FakeClock(auto=True),
            )
            result = await agent.run("Ask.")
            await toolset.aclose()
            assert quote(HUSH, safe="") in server.heads[0], case
        records = [entry.payload for run in await journal.runs() for entry in await journal.read(run.run_id)]
        kept = [*records, msgspec.json.encode(model.requests), msgspec.json.encode(result.messages)]
        media = [part.data for call in result.calls for part in call[1].content if hasattr(part, "data")]
        assert not any(holds_secret(each, [HUSH]) for each in [*kept, *filter(None, media)]), case
        latin = json.dumps(HUSH.encode().decode("latin-1"), ensure_ascii=False).encode()
        assert not any(latin[1:-1] in each for each in kept), case


def test_a_file_without_the_secret_is_handed_on() -> None:
    assert not holds_secret(b"\x89PNG" + bytes(range(256)) * 100, [HUSH])
    assert not holds_secret(b"abc", ["abc"]), "too short to be looked for"
    assert not holds_secret(b"anything", [])
