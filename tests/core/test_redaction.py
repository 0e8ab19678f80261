"""Secrets are kept out of what is written down and told, and nothing else is."""

from __future__ import annotations

import base64
import re
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actum import Agent, Context, ToolCall, tool
from actum.core.call import TextPart, ToolResult
from actum.core.errors import ToolError
from actum.core.event import CallProgress, RunFinished
from actum.core.json import Json, dumps
from actum.core.secrets.redaction import DEFAULT_REDACTION, LOOKING, NAMED, NO_REDACTION
from actum.testing import ScriptedModel

pytestmark = pytest.mark.row("C7")

KEY = "sk-proj-" + "a1B2" * 8
TOKEN = "ghp_" + "x" * 36
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P"


def cleaned(text: str) -> str:
    return DEFAULT_REDACTION.clean(ToolResult("1", (TextPart(text),))).text


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        (f"use {KEY} now", "use [redacted: api key] now"),
        (f"token {TOKEN}", "token [redacted: access token]"),
        (f"see {JWT}.", "see [redacted: json web token]."),
        ("postgresql://ada:hunter2@db/x", "postgresql://[redacted: password]@db/x"),
        ("Authorization: Bearer " + "t" * 30, "Authorization: [redacted: bearer token]"),
        ('{"password": "hunter2", "user": "ada"}', '{"password": "[redacted: password]", "user": "ada"}'),
        ("密码：hunter2，用户：ada", "密码：[redacted: 密码]，用户：ada"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----", "[redacted: private key]"),
        ("AKIAIOSFODNN7EXAMPLE", "[redacted: api key]"),
    ],
)
def test_a_secret_is_known_by_its_looks_or_by_what_stands_before_it(text: str, clean: str) -> None:
    assert cleaned(text) == clean


@pytest.mark.parametrize(
    "text",
    [
        "The password was changed.",
        "next_page_token: 3",
        "Bearer of bad news",
        "http://example.org:8080/a@b",
        "sk-12",
        "Ask-for-help-with-the-secret-santa-party",
        "It took 3 tokens.",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert cleaned(text) == text


def test_a_field_is_known_by_its_name_however_deep_and_spelt() -> None:
    value: Json = {"users": [{"name": "ada", "API-Key": "k", "Access Token": 3, "secret": ""}], "token_count": 5}
    result = DEFAULT_REDACTION.clean(ToolResult("1", structured=value))
    assert result.structured == {
        "users": [
            {
                "name": "ada",
                "API-Key": "[redacted: API-Key]",
                "Access Token": "[redacted: Access Token]",
                "secret": "",
            }
        ],
        "token_count": 5,
    }


def test_a_token_is_found_though_another_begins_within_its_head() -> None:
    assert cleaned(f"k-eyJhbGciOi-{JWT}!") == "k-eyJhbGciOi-[redacted: json web token]!"


def test_a_secret_is_kept_out_of_what_a_tool_says_in_its_error() -> None:
    failed = ToolResult("1", error=ToolError("no login at https://ada:hunter22@db").failure())
    assert DEFAULT_REDACTION.clean(failed).text == "no login at https://[redacted: password]@db"


@pytest.mark.parametrize("known", [["open", "open sesame"], ["open sesame", "open"]])
def test_of_two_secrets_that_begin_alike_nothing_is_left(known: list[str]) -> None:
    assert NO_REDACTION.clean(ToolResult("1", (TextPart("open sesame"),)), known).text == "[redacted: secret]"


def test_a_known_secret_is_found_as_the_name_of_a_field_and_inside_of_json() -> None:
    secret = 'open "sesame"\nplease'
    structured = NO_REDACTION.clean(ToolResult("1", structured={secret: 1}), [secret])
    text = NO_REDACTION.clean(ToolResult("1", (TextPart(dumps({"key": secret})),)), [secret])
    assert structured.structured == {"[redacted: secret]": 1}
    assert text.text == '{"key":"[redacted: secret]"}'


@given(st.text(max_size=300))
def test_cleaning_twice_is_as_good_as_once(text: str) -> None:
    assert cleaned(cleaned(text)) == cleaned(text)


async def test_a_secret_that_a_tool_was_given_reaches_neither_journal_nor_model() -> None:
    @tool(effects={"read"})
    async def balance(account: str, ctx: Context) -> str:
        """Balance.

        Args:
            account: Whose.
        """
        if account == "broken":
            raise ToolError(f"the bank refused the key {ctx.secret('BANK_KEY')}")
        return f"12 (asked with {ctx.secret('BANK_KEY')})"

    said = [ToolCall("1", "balance", {"account": "ada"}), ToolCall("2", "balance", {"account": "broken"})]
    agent = Agent(ScriptedModel([said, "12."]), [balance], secrets={"BANK_KEY": "open sesame"}, redaction=NO_REDACTION)
    result = await agent.run("How much?")
    assert [done.text for _, done in result.calls] == [
        "12 (asked with [redacted: secret])",
        "the bank refused the key [redacted: secret]",
    ]
    stored = b"".join(entry.payload for entry in await agent.journal.read(result.run_id))
    assert b"sesame" not in stored


async def test_a_secret_is_kept_out_of_what_a_tool_tells_while_it_runs() -> None:
    @tool
    async def ask(ctx: Context) -> str:
        """Ask."""
        ctx.progress({"with": ctx.secret("BANK_KEY"), "share": 0.5})
        return "asked"

    agent = Agent(ScriptedModel([[ToolCall("1", "ask", {})], "Done."]), [ask], secrets={"BANK_KEY": "open sesame"})
    told = [event.value async for event in agent.stream("How much?") if isinstance(event, CallProgress)]
    assert told == [{"with": "[redacted: secret]", "share": 0.5}]


async def test_a_secret_that_comes_back_encoded_reaches_neither_journal_nor_model_nor_whoever_watches() -> None:
    @tool(effects={"read"})
    async def look(way: str, ctx: Context) -> str:
        """Look.

        Args:
            way: How.
        """
        login = base64.b64encode(f"ada:{ctx.secret('BANK_KEY')}".encode()).decode()
        if way == "broken":
            raise ToolError(f"refused: Authorization: Basic {login}")
        ctx.progress({"sent": f"Basic {login[:14]}"})
        ctx.progress({"sent": f"{login[14:]}, waiting"})
        return f"GET /?key={quote('open sesame')} with Basic {login}"

    said = [ToolCall("1", "look", {"way": "well"}), ToolCall("2", "look", {"way": "broken"})]
    agent = Agent(ScriptedModel([said, "12."]), [look], secrets={"BANK_KEY": "open sesame"}, redaction=NO_REDACTION)
    events = [event async for event in agent.stream("Look")]
    told = [event.value for event in events if isinstance(event, CallProgress)]
    (result,) = [event.result for event in events if isinstance(event, RunFinished)]
    assert told == [{"sent": "Basic YWRhO[redacted: secret]"}, {"sent": "[redacted: secret], waiting"}]
    assert [done.text for _, done in result.calls] == [
        "GET /?key=[redacted: secret] with Basic YWRhO[redacted: secret]",
        "refused: Authorization: Basic YWRhO[redacted: secret]",
    ]
    stored = b"".join(entry.payload for entry in await agent.journal.read(result.run_id))
    assert b"zZXNhb" not in stored
    assert b"sesame" not in stored


async def test_a_secret_that_nobody_gave_fails_the_call_and_not_the_run() -> None:
    @tool
    async def ask(ctx: Context) -> str:
        """Ask."""
        return ctx.secret("NONE")

    result = await Agent(ScriptedModel([[ToolCall("1", "ask", {})], "Sorry."]), [ask]).run("Go")
    error = result.calls[0][1].error
    assert error is not None
    assert error.code == "tool_error"
    assert "actum secrets set" in error.message


FILLED = [
    f"{KEY}",
    "sk_live_" + "a1" * 10,
    "AIza" + "b" * 35,
    "ASIA" + "Z9" * 8,
    "AKIA" + "Z9" * 8,
    TOKEN,
    "github_pat_" + "c" * 40,
    "glpat-" + "d" * 22,
    "xoxb-" + "1" * 12,
    JWT,
    "ftp://ada:hunter22@host",
    "BeaReR " + "t" * 30,
    "-----BEGIN EC PRIVATE KEY-----\nMIIB\n-----END EC PRIVATE KEY-----",
    *(
        f"{name}: hunter22"
        for name in (
            *(
                "PassWord",
                "passwd",
                "PASSPHRASE",
                "client_secret",
                "Client-Secret",
                "clientsecret",
                "apiKey",
                "API-key",
            ),
            *("api_key", "secretKey", "secret-key", "secret_key", "accessToken", "access-token", "ACCESS_TOKEN"),
            *("refreshtoken", "refresh-token", "refresh_token", "密码", "口令"),
            *("paſſword", "apı_key", "APİ-KEY", "api_\u212aey", "acceſs_token", "clıent_ſecret"),
        )
    ),
]


@pytest.mark.parametrize("filling", ["", "x " * 40, "字" * 60, "Straße ﬆ İı " * 9])
@pytest.mark.parametrize("secret", FILLED)
def test_words_that_are_looked_for_first_hide_no_secret_from_the_patterns(secret: str, filling: str) -> None:
    text = f"{filling}\n{secret}\n{filling}"
    assert (LOOKING.search(text) or NAMED.search(text)) is not None
    assert "[redacted: " in cleaned(text)
    assert secret.split(": ")[-1] not in cleaned(text)


def test_every_letter_that_a_pattern_takes_for_another_is_folded_to_it() -> None:
    for letter in "abcdefghijklmnopqrstuvwxyz":
        alike = re.compile(letter, re.IGNORECASE)
        for code in range(0x30000):
            if alike.match(chr(code)):
                filled = f"{'-' * 40}{SPELLED[letter].replace(letter, chr(code))}: hunter22"
                assert NAMED.search(filled) is None or "hunter22" not in cleaned(filled), hex(code)


SPELLED = dict.fromkeys("abcdefghijklmnopqrstuvwxyz", "client_secret") | {
    **dict.fromkeys("pasword", "password"),
    **dict.fromkeys("ikyv", "api_key"),
    "h": "passphrase",
    "f": "refresh_token",
    "n": "access_token",
}
