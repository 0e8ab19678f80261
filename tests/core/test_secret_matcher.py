"""A known secret is found in every encoding that is promised, wherever the text is cut, and nothing else is."""

from __future__ import annotations

import base64
import html
import json
import random
import time
from collections.abc import Callable
from itertools import pairwise
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actum.core.call import TextPart, ToolResult
from actum.core.json import Json
from actum.core.redaction import NO_REDACTION, RedactedStream
from actum.core.secret_matcher import ENCODED_LENGTH_MIN, SecretMatcher

pytestmark = pytest.mark.row("C7")

MARK = "[redacted: secret]"

ENCODINGS: dict[str, Callable[[str], str]] = {
    "as it is": lambda text: text,
    "JSON": lambda text: json.dumps(text, ensure_ascii=False)[1:-1],
    "JSON, ASCII only": lambda text: json.dumps(text)[1:-1],
    "JSON, slashes escaped": lambda text: json.dumps(text)[1:-1].replace("/", "\\/"),
    "JSON, all escaped": lambda text: "".join(
        f"\\u{int.from_bytes(pair, 'big'):04x}" for pair in _pairs(text.encode("utf-16-be"))
    ),
    "percent": lambda text: quote(text, safe=""),
    "percent, all, lower case": lambda text: "".join(f"%{byte:02x}" for byte in text.encode()),
    "percent, cases mixed": lambda text: "".join(
        f"%{byte:02x}" if place % 2 else f"%{byte:02X}" for place, byte in enumerate(text.encode())
    ),
    "form": quote_plus,
    "HTML": html.escape,
    "HTML, decimal": lambda text: "".join(f"&#{ord(sign)};" for sign in text),
    "HTML, hexadecimal": lambda text: "".join(f"&#x{ord(sign):X};" for sign in text),
    "hex": lambda text: text.encode().hex(),
    "HEX": lambda text: text.encode().hex().upper(),
    "hex, apart": lambda text: text.encode().hex(":"),
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "base64, URL": lambda text: base64.urlsafe_b64encode(text.encode()).decode(),
    "base64, no padding": lambda text: base64.urlsafe_b64encode(text.encode()).decode().rstrip("="),
    "base64 in lines": lambda text: base64.encodebytes(b"-" * 50 + text.encode()).decode(),
    "UTF-16 in base64": lambda text: base64.b64encode(text.encode("utf-16-le")).decode(),
}
WRAPPINGS: dict[str, Callable[[str], str]] = {
    "": lambda text: text,
    "in a link": lambda text: quote(text, safe=""),
    "in JSON": json.dumps,
    "in HTML": html.escape,
    "in JSON in JSON": lambda text: json.dumps(json.dumps(text)),
}


def _pairs(data: bytes) -> list[bytes]:
    return [data[at : at + 2] for at in range(0, len(data), 2)]


def cleaned(text: str, *known: str) -> str:
    return NO_REDACTION.clean(ToolResult("1", (TextPart(text),)), known).text


@pytest.mark.parametrize(
    "secret", ['open "sesame"&<plé>/ 42+', "hunter", "k3y-with_/+%41&amp;\\n", "密码是芝麻开门", "🔑🔑🔑🔑🔑🔑"]
)
def test_a_secret_is_kept_out_in_every_encoding_behind_and_before_anything(secret: str) -> None:
    for name, encode in ENCODINGS.items():
        for wrapping, wrap in WRAPPINGS.items():
            for before in ("", "u", "us", "use", "user:"):
                for behind in ("", "s", "ss", "sss"):
                    text = wrap(encode(before + secret + behind))
                    clean = cleaned(f"Got: {text} .", secret)
                    where = f"{name}, {wrapping}, between {before!r} and {behind!r}: {clean}"
                    assert clean.startswith("Got: "), where
                    assert clean.endswith(" ."), where
                    assert MARK in clean, where
                    assert not SecretMatcher([secret]).find(clean.replace(MARK, "")), where


def test_of_what_stands_around_a_secret_nothing_is_lost() -> None:
    login = base64.b64encode(b"aladdin:open sesame").decode()
    assert (
        cleaned(f"Authorization: Basic {login}, then", "open sesame") == f"Authorization: Basic YWxhZGRpbj{MARK}, then"
    )
    assert (
        cleaned("https://x.org/a%20b?key=open%20sesame&c=%26", "open sesame") == f"https://x.org/a%20b?key={MARK}&c=%26"
    )
    assert cleaned('{"a":"\\u0041","key":"op\\u0065n sesame","b":"\\n"}', "open sesame") == (
        f'{{"a":"\\u0041","key":"{MARK}","b":"\\n"}}'
    )
    assert cleaned("C:\\b%40cd12 &amp; more", "b@cd12") == f"C:\\{MARK} &amp; more"


@given(st.text(min_size=ENCODED_LENGTH_MIN, max_size=30), st.text(max_size=9), st.text(max_size=9), st.data())
@settings(deadline=None)
def test_any_secret_is_found_in_any_encoding(secret: str, before: str, behind: str, data: st.DataObject) -> None:
    wrap = data.draw(st.sampled_from([*WRAPPINGS.values()]))
    encode = data.draw(st.sampled_from([*ENCODINGS.values()]))
    assert SecretMatcher([secret]).find(f"... {wrap(encode(before + secret + behind))} ...")


@given(st.text(alphabet="ab/+-_ %&\\u;#0123456", max_size=60), st.lists(st.text("ab/+ %&\\6", max_size=9), max_size=3))
@settings(deadline=None)
def test_whatever_the_text_spans_lie_in_it_in_order(text: str, known: list[str]) -> None:
    for beginnings in (False, True):
        spans = SecretMatcher(known).find(text, beginnings=beginnings)
        assert all(0 <= begin < end <= len(text) for begin, end in spans)
        assert all(one[1] <= other[0] for one, other in pairwise(spans))


def test_a_short_secret_is_looked_for_only_as_it_is() -> None:
    assert cleaned(f"pin1 {base64.b64encode(b'pin1').decode()} {b'pin1'.hex()}", "pin1") == f"{MARK} cGluMQ== 70696e31"
    assert cleaned("an abc is no secret", "abc") == "an abc is no secret"


def test_ordinary_text_stays_as_it_is() -> None:
    rng = random.Random(1)
    known = ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=6)) for _ in range(20)]
    text = base64.b64encode(rng.randbytes(200_000)).decode() + rng.randbytes(200_000).hex()
    assert cleaned(text, *known) == text
    assert cleaned("open sesam, opensesame, OPEN SESAME", "open sesame") == "open sesam, opensesame, OPEN SESAME"


def test_a_large_text_and_many_secrets_take_time_in_proportion_to_the_text() -> None:
    rng = random.Random(1)
    known = ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz0123456789", k=40)) for _ in range(20)]
    matcher = SecretMatcher(known)
    page = '<p class="x">Hello &amp; good &nbsp; <a href="?a=%20b&amp;c=1">x</a>\\n</p>'
    hit = f"x {''.join(f'%{byte:02x}' for byte in known[0].encode())} y "
    for text in (page, hit, "a", "%41", "\\", "&", "%2", known[0][:-1], known[0] + " "):
        seconds = []
        for size in (100_000, 800_000):
            whole = text * (size // len(text))
            began = time.process_time()
            matcher.find(whole)
            seconds.append(time.process_time() - began)
        assert seconds[1] < 24 * seconds[0] + 0.1, f"{text[:20]!r}: {seconds}"  # 8, and room for a busy machine


def told(pieces: list[str], secret: str) -> str:
    stream = RedactedStream(NO_REDACTION, {secret})
    return "".join(str(stream.value(piece)) for piece in pieces)


def test_of_a_secret_that_is_cut_anywhere_at_most_three_characters_are_told() -> None:
    secret = "open/sesame&42 please"
    for name, encode in ENCODINGS.items():
        for before in ("", "u", "us"):
            text = encode(before + secret)
            matcher = SecretMatcher([secret])
            ((begin, end),) = matcher.find(text)
            for cuts in [*([cut] for cut in range(1, len(text))), [*range(1, len(text))], [*range(2, len(text), 3)]]:
                pieces = [text[one:other] for one, other in pairwise([0, *cuts, len(text)])]
                clean = told(["Got: ", *pieces, " end"], secret)
                where = f"{name}, {before!r}, {pieces}: {clean}"
                assert clean.startswith("Got: " + text[:begin]), where
                assert clean.endswith(text[end:] + " end"), where
                left = clean.replace(MARK, "")[len("Got: ") : -len(" end")]
                # 3 characters or bytes as they are told, and what can not be read of the fourth
                most = {"hex": 7, "HEX": 7, "hex, apart": 11}.get(name, 6 if "base64" in name else 4 * 6 - 1)
                assert len(left) <= begin + most + len(text) - end, where


def test_cut_secrets_are_looked_for_in_each_field_by_itself() -> None:
    stream = RedactedStream(NO_REDACTION, {"open sesame"})
    assert stream.value({"out": "open ses", "error": "none"}) == {"out": MARK, "error": "none"}
    assert stream.value({"out": "ame, thanks", "error": "ame"}) == {"out": f"{MARK}, thanks", "error": "ame"}


def test_messages_that_are_no_pieces_of_one_text_stay_as_they_are() -> None:
    messages: list[Json] = ["page 1 of 3", "page 2 of 3", 0.5, {"progress": 3, "message": "to ope"}, "n sesame seeds"]
    stream = RedactedStream(NO_REDACTION, {"open sesame"})
    assert [stream.value(message) for message in messages] == messages
