"""An API that gives back the credential it was sent, in each way it can think of: the credential is found nowhere."""

from __future__ import annotations

import base64
import html
import json
import re
from urllib.parse import quote, unquote

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
    "base64 for addresses without its end": base64.urlsafe_b64encode(b"ab" + UTF8).rstrip(b"="),
    "hex with colons": UTF8.hex(":").encode(),
    "each character as \\u": "".join(f"\\u{ord(sign):04x}" for sign in HUSH).encode(),
    "each character as \\u in capitals": "".join(f"\\u{ord(sign):04X}" for sign in HUSH).encode(),
    "each byte percent": "".join(f"%{byte:02x}" for byte in UTF8).encode(),
    "HTML": "".join(f"&#x{ord(sign):x};" for sign in HUSH).encode(),
    "hex": UTF8.hex().upper().encode(),
    "percent": quote(HUSH, safe="").encode(),
    "percent twice": quote(quote(HUSH, safe=""), safe="").encode(),
    "json": dumps(HUSH).encode("ascii", "backslashreplace"),
    "utf-16": HUSH.encode("utf-16-le"),
    "utf-16 the other way": HUSH.encode("utf-16-be"),
    "latin-1": HUSH.encode("latin-1"),
}
PNG = "content-type: image/png"


def _unescaped(text: bytes) -> bytes:
    return html.unescape(unquote(re.sub(r"\\+u00(..)", r"%\1", text.decode("utf-8", "replace")))).encode()


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


async def told_of(answer: bytes, secret: str) -> tuple[list[bytes], list[bytes], str]:
    """What an agent keeps and tells of this answer, its files, and the request that brought the answer."""
    async with wire_server(lambda head, body: answer) as server:
        toolset = ApiToolset(setup(server.port, {"key": SecretCredential("pets_key")}))
        journal = MemoryJournal()
        model = ScriptedModel([ToolCall("1", "keyed", {}), "done"])
        allowed = Rules(Rule("allow", tools="*"))
        agent = Agent(
            model, [toolset], secrets={"pets_key": secret}, journal=journal, policy=allowed, clock=FakeClock(auto=True)
        )
        result = await agent.run("Ask.")
        await toolset.aclose()
    records = [entry.payload for run in await journal.runs() for entry in await journal.read(run.run_id)]
    kept = [*records, msgspec.json.encode(model.requests), msgspec.json.encode(result.messages)]
    media = [part.data for call in result.calls for part in call[1].content if hasattr(part, "data")]
    return kept, media, server.heads[0]


@pytest.mark.row("T2")
async def test_a_credential_that_comes_back_as_a_number_reaches_no_model_and_no_journal() -> None:
    bodies = {
        "4711082345": (
            b"4711082345", b'{"a": [{"key": 4711082345}]}', b"[-4711082345]", b"4711082345.0", b"4.711082345e9",
            b'{"key": 99471108234500}', b'{"4711082345": 1}', b"4711082345.5", b'["4711082345"]',
        ),
        "0047110823": (b"47110823", b'{"a": 47110823.0}', b"[1, 9947110823]"),
        "4711.0823": (b"4711.0823", b"[4.7110823e3]"),
        "47110823470815230042": (b"47110823470815230042", b"4.711082347081523e19"),
        "4711": (b"4711", b"[4711.0]"),
    }  # fmt: skip
    for secret, answers_of_it in bodies.items():
        digits = secret.strip("0").replace(".", "")[:14].encode()
        for body in answers_of_it:
            kept, _, head = await told_of(said(body, "200 OK", JSON), secret)
            assert secret in head, body
            assert not any(digits in each.replace(b".", b"") for each in kept), (secret, body)
            assert any(b"[redacted: secret]" in each for each in kept), (secret, body)
    later = said(b"", "429 No", "retry-after: 4711")
    assert not any(b"4711" in each for each in (await told_of(later, "4711"))[0])
    kept, _, _ = await told_of(said(b"[471108234, 1, true, 1e999]", "200 OK", JSON), "4711082345")
    assert any(b"471108234" in each for each in kept), "another number stays"


@pytest.mark.row("T2")
async def test_a_credential_that_comes_back_in_any_form_reaches_no_model_no_journal_and_no_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("DEBUG")
    for case, answer in answers().items():
        caplog.clear()
        kept, media, head = await told_of(answer, HUSH)
        kept.append("\n".join(record.getMessage() for record in caplog.records).encode())
        assert quote(HUSH, safe="") in head, case
        assert not any(holds_secret(each, [HUSH]) for each in [*kept, *filter(None, media)]), case
        latin = json.dumps(HUSH.encode().decode("latin-1"), ensure_ascii=False).encode()
        assert not any(latin[1:-1] in each for each in kept), case
        tail = HUSH.partition("/")[2]  # found by plain words, not by what the product finds
        unpacked = [form for each in kept for form in (each, each.replace(b"\\u0000", b""), _unescaped(each))]
        sought = [
            tail.encode(),
            tail.encode().hex().encode(),
            base64.b64encode(tail.encode())[4:20],
            quote(tail, safe="").encode(),
        ]
        assert not any(one.lower() in each.lower() for one in sought for each in unpacked), case


def test_a_file_without_the_secret_is_handed_on() -> None:
    assert not holds_secret(b"\x89PNG" + bytes(range(256)) * 100, [HUSH])
    assert not holds_secret(b"abc", ["abc"]), "too short to be looked for"
    assert not holds_secret(b"anything", [])
