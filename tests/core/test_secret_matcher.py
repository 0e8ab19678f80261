"""A known secret is found in every encoding that is promised, wherever the text is cut, and nothing else is."""

from __future__ import annotations

import base64
import codecs
import html
import json
import quopri
import random
import time
import zlib
from collections.abc import Callable
from functools import reduce
from itertools import pairwise
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from actum.core.call import TextPart, ToolResult
from actum.core.json import Json
from actum.core.secrets.encoded_text import packed
from actum.core.secrets.matcher import ENCODED_LENGTH_MIN, SecretMatcher
from actum.core.secrets.redaction import NO_REDACTION, RedactedStream
from tests.endurance import some

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
    "UTF-16 in hex": lambda text: text.encode("utf-16-be").hex(),
    "base32": lambda text: base64.b32encode(text.encode()).decode(),
    "base32, small letters, no padding": lambda text: base64.b32encode(text.encode()).decode().lower().rstrip("="),
    "base32, the other alphabet": lambda text: base64.b32hexencode(text.encode()).decode(),
    "base32 in groups of four": lambda text: " ".join(_cut(base64.b32encode(text.encode()).decode(), 4)),
    "quoted-printable": lambda text: quopri.encodestring(text.encode(), quotetabs=True).decode(),
    "quoted-printable, all": lambda text: "".join(f"={byte:02X}" for byte in text.encode()),
    "quoted-printable in lines": lambda text: "=\n".join(_cut(text.replace("=", "=3D"), 3)),
    "octal": lambda text: "".join(f"\\{byte:03o}" for byte in text.encode()),
    "octal numbers": lambda text: " ".join(f"{byte:03o}" for byte in text.encode()),
    "as Python writes it": ascii,
    "as JavaScript writes it": lambda text: "".join(f"\\u{{{ord(sign):x}}}" for sign in text),
    "percent, each character": lambda text: "".join(
        f"%{ord(sign):02X}" if ord(sign) < 256 else quote(sign) for sign in text
    ),
    "hex with 0x": lambda text: ", ".join(f"0x{byte:02x}" for byte in text.encode()),
    "capitals": str.upper,
    "small letters": str.lower,
    "capitals in base64": lambda text: base64.b64encode(text.upper().encode()).decode(),
    "blanks between": " ".join,
    "line breaks between": "\n".join,
    "no width between": "\u200b".join,
    "soft hyphens between": "\u00ad".join,
    "a byte order mark between": "\ufeff".join,
    "selectors of variations between": "\ufe0f".join,
    "joiners of graphemes between": "\u034f".join,
    "Hangul fillers between": "\u3164".join,
    "tags between": "\U000e0041".join,
    "zeros between": "\0".join,
    "other control characters between": "\x1b\x7f\u0085".join,
}
NESTED: dict[str, Callable[[str], str]] = {
    "hex of base64": lambda text: base64.b64encode(text.encode()).hex(),
    "base64 of base64": lambda text: base64.b64encode(base64.b64encode(text.encode())).decode(),
    "base64 of hex": lambda text: base64.b64encode(text.encode().hex().encode()).decode(),
    "base32 of base64": lambda text: base64.b32encode(base64.b64encode(text.encode())).decode(),
    "base64 of base32 of hex": lambda text: base64.b64encode(base64.b32encode(text.encode().hex().encode())).decode(),
    "octal of hex": lambda text: "".join(f"\\{byte:03o}" for byte in text.encode().hex().encode()),
    "base64 of percent": lambda text: base64.b64encode(
        "".join(f"%{byte:02x}" for byte in text.encode()).encode()
    ).decode(),
    "percent of base64, each sign": lambda text: "".join(f"%{byte:02x}" for byte in base64.b64encode(text.encode())),
    "UTF-16 of base64 in base64": lambda text: base64.b64encode(
        base64.b64encode(text.encode()).decode().encode("utf-16-le")
    ).decode(),
    "base64 of hex with 0x": lambda text: base64.b64encode(
        ", ".join(f"0x{byte:02x}" for byte in text.encode()).encode()
    ).decode(),
    "hex of base64, blanks between": lambda text: " ".join(base64.b64encode(text.encode()).hex()),
}
BASE85: dict[str, Callable[[bytes], bytes]] = {
    "Ascii85": base64.a85encode,
    "Ascii85 with brackets": lambda data: base64.a85encode(data, adobe=True),
    "Ascii85 in lines": lambda data: base64.a85encode(data, wrapcol=20),
    "base85 as in RFC 1924": base64.b85encode,
}
MISSED: dict[str, Callable[[str], str]] = {
    "compressed": lambda text: base64.b64encode(zlib.compress(text.encode())).decode(),
    "backwards": lambda text: text[::-1],
    "moved by 13 letters": lambda text: codecs.encode(text, "rot13"),
    "decimal numbers": lambda text: ", ".join(str(byte) for byte in text.encode()),
    "binary digits": lambda text: " ".join(f"{byte:08b}" for byte in text.encode()),
    "marks between": "-".join,
    "letters that look alike": lambda text: text.replace("e", "\u0435"),
    "capitals of its base64": lambda text: base64.b64encode(text.encode()).decode().upper(),
    "base64 of four layers": lambda text: reduce(
        lambda told, _: base64.b64encode(told.encode()).decode(), range(4), text
    ),
    "hex in base85": lambda text: base64.b85encode(text.encode().hex().encode()).decode(),
    "base85 in hex": lambda text: base64.b85encode(text.encode()).hex(),
    "no width between, in hex": lambda text: "\u200b".join(text).encode().hex(),
    "blanks between the signs of escapes": lambda text: " ".join(quote(text, safe="")),
    "octal numbers as Python writes them": lambda text: ", ".join(oct(byte) for byte in text.encode()),
    "Z85": lambda text: base64.b85encode(text.encode()).decode().translate(str.maketrans(_RFC_1924, _Z85)),
    "its half": lambda text: text[: len(text) // 2],
}
"""What the docs name as not found."""
_RFC_1924 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"
_Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
WRAPPINGS: dict[str, Callable[[str], str]] = {
    "": lambda text: text,
    "in a link": lambda text: quote(text, safe=""),
    "in JSON": json.dumps,
    "in HTML": html.escape,
    "in JSON in JSON": lambda text: json.dumps(json.dumps(text)),
}


def _cut(text: str, length: int) -> list[str]:
    return [text[at : at + length] for at in range(0, len(text), length)]


def _pairs(data: bytes) -> list[bytes]:
    return [data[at : at + 2] for at in range(0, len(data), 2)]


AROUND = (("", ""), ("u", "sss"), ("us", "s"), ("use", ""), ("user:", "ss"))
"""What stands before and behind a secret: each place in a group of two to five bytes."""


def cleaned(text: str, *known: str) -> str:
    return NO_REDACTION.clean(ToolResult("1", (TextPart(text),)), known).text


@pytest.mark.parametrize(
    "secret", ['open "sesame"&<plé>/ 42+', "hunter", "k3y-with_/+%41&amp;\\n", "密码是芝麻开门", "🔑🔑🔑🔑🔑🔑"]
)
def test_a_secret_is_kept_out_in_every_encoding_behind_and_before_anything(secret: str) -> None:
    for name, encode in ENCODINGS.items():
        for wrapping, wrap in WRAPPINGS.items():
            for before, behind in AROUND:
                text = wrap(encode(before + secret + behind))
                clean = cleaned(f"Got: {text} .", secret)
                where = f"{name}, {wrapping}, between {before!r} and {behind!r}: {clean}"
                assert clean.startswith("Got: "), where
                assert clean.endswith(" ."), where
                assert MARK in clean, where
                assert not SecretMatcher([secret]).find(clean.replace(MARK, "")), where


SECRETS = ["open sesame, please", "hunter2-hunter2", "k3y-with_/+%41&amp;\\n", "密码是芝麻开门", "🔑🔑🔑🔑🔑🔑"]


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("name", NESTED)
def test_a_secret_is_found_where_one_encoding_stands_in_another(name: str, secret: str) -> None:
    for before, behind in AROUND:
        clean = cleaned(f"Got: {NESTED[name](before + secret + behind)} .", secret)
        assert MARK in clean, (before, behind)
        assert clean.startswith("Got: "), clean
        assert clean.endswith(" ."), clean


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("name", BASE85)
def test_whole_groups_of_base85_are_found_wherever_the_secret_begins_in_them(name: str, secret: str) -> None:
    for before in ("", "u", "us", "use", "user"):
        for behind in ("", "s", "ss", "sss"):
            text = BASE85[name]((before + secret + behind).encode()).decode()
            clean = cleaned(f"Got: {text} .", secret)
            assert MARK in clean, (before, behind, text)
            assert clean.startswith("Got: "), clean
            assert clean.endswith(" ."), clean


@pytest.mark.parametrize("name", MISSED)
def test_what_the_docs_name_as_a_limit_is_one(name: str) -> None:
    text = f"Got: {MISSED[name]('open sesame, please')} ."
    assert cleaned(text, "open sesame, please") == text


def test_a_secret_in_base85_needs_seven_bytes() -> None:
    """Six may stand in two groups, of which neither is known."""
    assert cleaned(base64.b85encode(b"uhunter").decode(), "hunter") == base64.b85encode(b"uhunter").decode()
    assert MARK in cleaned(base64.b85encode(b"uhunter2").decode(), "hunter2")


def test_a_call_that_is_encoded_in_itself_again_and_again_is_read_no_longer_than_its_length_allows() -> None:
    matcher = SecretMatcher(["open sesame"])
    for text in ("VVVV", "UQUF", "3535", "=3D=3D", "%2525", "\\u005c", "&amp;amp;"):
        seconds = []
        for size in (50_000, 400_000):
            began = time.process_time()
            matcher.find(text * (size // len(text)))
            seconds.append(time.process_time() - began)
        assert seconds[1] < 24 * seconds[0] + 0.1, f"{text}: {seconds}"


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
    assume(len(packed(secret.encode())) >= ENCODED_LENGTH_MIN)  # else what is spread out is too short to be looked for
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
    assert cleaned("open sesam, open-sesame, pen sesame", "open sesame") == "open sesam, open-sesame, pen sesame"


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


@pytest.mark.endurance("src/actum/core")
def test_of_a_secret_that_is_cut_anywhere_at_most_three_characters_are_told() -> None:
    secret = "open/sesame&42 please"
    for name, encode in ENCODINGS.items():
        for before in ("", "us"):
            text = encode(before + secret)
            matcher = SecretMatcher([secret])
            ((begin, end),) = matcher.find(text)
            places = some(range(1, len(text)), 7)
            for cuts in [*([cut] for cut in places), [*range(1, len(text))], [*range(2, len(text), 3)]]:
                pieces = [text[one:other] for one, other in pairwise([0, *cuts, len(text)])]
                clean = told(["Got: ", *pieces, " end"], secret)
                where = f"{name}, {before!r}, {pieces}: {clean}"
                assert clean.startswith("Got: " + text[:begin]), where
                assert clean.endswith(text[end:] + " end"), where
                left = clean.replace(MARK, "")[len("Got: ") : -len(" end")]
                # 3 characters or bytes as they are told, and what can not be read of the fourth
                most = {"hex": 7, "HEX": 7, "hex, apart": 11}.get(name, 6 if name.startswith("base64") else 4 * 6 - 1)
                assert len(left) <= begin + most + len(text) - end, where


def test_cut_secrets_are_looked_for_in_each_field_by_itself() -> None:
    stream = RedactedStream(NO_REDACTION, {"open sesame"})
    assert stream.value({"out": "open ses", "error": "none"}) == {"out": MARK, "error": "none"}
    assert stream.value({"out": "ame, thanks", "error": "ame"}) == {"out": f"{MARK}, thanks", "error": "ame"}


def test_messages_that_are_no_pieces_of_one_text_stay_as_they_are() -> None:
    messages: list[Json] = ["page 1 of 3", "page 2 of 3", 0.5, {"progress": 3, "message": "to ope"}, "n sesame seeds"]
    stream = RedactedStream(NO_REDACTION, {"open sesame"})
    assert [stream.value(message) for message in messages] == messages
