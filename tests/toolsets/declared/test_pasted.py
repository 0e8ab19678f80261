"""What is pasted becomes declarations that can be saved, without a credential of the text."""

from __future__ import annotations

import json

import pytest

from actum.toolsets.declared.declaration import read_declaration
from actum.toolsets.declared.pasted import CODE_MAX, read_pasted
from actum.toolsets.declared.server import read_server

PYTHON = '''
def shout(text: str, times: int = 2, fast: bool = False) -> str:
    """Say a text loudly.

    Args:
        text: What is said.
    """
    return text.upper() * times
'''
SECRET = "sk-hunter2-abcdef"
CURL = f"""curl -X POST https://api.example.com/v1/mails -H 'Authorization: Bearer {SECRET}' \\
  --json '{{"to": "ada", "count": 3}}'"""


@pytest.mark.parametrize(
    ("text", "place", "parameters", "notes"),
    [
        (
            CURL,
            "http",
            ["to"],
            ["description mails", "example to", "secret mails_token"],
        ),
        (
            f"https://example.com/now?q=Oslo&api_key={SECRET}",
            "http",
            ["q"],
            ["description now", "example q", "secret now_api_key"],
        ),
        ("https://example.com/of/{city}?days={days:integer}", "http", ["city", "days"], ["description example"]),
        (PYTHON, "python", ["text", "times", "fast"], []),
        (
            json.dumps(
                {
                    "type": "function",
                    "function": {
                        "name": "pay",
                        "description": "Pay.",
                        "parameters": {"to": "string"},
                        "http": {
                            "url": f"https://example.com/pay/{{to}}?token={SECRET}",
                            "headers": {
                                "Authorization": f"Bearer {SECRET}",
                                "X-Api-Key": SECRET,
                                "Accept": "text/plain",
                            },
                        },
                    },
                }
            ),
            "http",
            ["to"],
            ["secret pay_authorization", "secret pay_token", "secret pay_x_api_key"],
        ),
        ("name: ask\ndescription: Ask.\nparameters: {}\nagent: helper\n", "agent", [], []),
    ],
)
def test_a_text_is_read_as_a_tool_that_can_be_saved(
    text: str, place: str, parameters: list[str], notes: list[str]
) -> None:
    found = read_pasted(text)
    (item,) = found.items
    declared = read_declaration(item.text)
    assert (item.kind, declared.name, declared.place) == ("tool", item.name, place)
    properties = declared.parameters.get("properties", {})
    assert isinstance(properties, dict)
    assert [*properties] == parameters
    assert sorted(f"{note.code} {note.about}" for note in found.unclear) == notes
    assert SECRET not in repr(found)


@pytest.mark.parametrize(
    ("text", "notes"),
    [
        ("", ["text"]),
        ("Hello?", ["text"]),
        ("curl", ["text"]),
        ("curl --what https://example.com", ["text"]),
        ("curl https://example.com -F file=@/etc/passwd", ["text"]),
        ("curl https://example.com/a -d a=b", ["form"]),
        ("curl 'https://example.com", ["text"]),
        ("def (", ["text"]),
        ("x = " + "(" * 10_000, ["text"]),
        ("import os\n" + "#" * CODE_MAX, ["text"]),
        ("import os\nos.remove('x')", ["text"]),
        ("def f(*args): pass", ["text"]),
        ("a: &a [*a, *a]", ["text"]),
        ("[" * 100_000, ["text"]),
        ('{"mcpServers": {"a": {"command": "rm"}, "b": {"env": {}}}}', ["operator_only", "text"]),
    ],
)
def test_what_can_not_be_read_is_told_and_nothing_is_made_of_it(text: str, notes: list[str]) -> None:
    found = read_pasted(text)
    assert found.items == ()
    assert [note.code for note in found.unclear] == notes


def test_servers_are_definitions_and_no_credential_of_theirs_is_answered() -> None:
    pasted = {
        "CRM": {"url": "https://crm.example/mcp", "headers": {"Authorization": "Bearer sk-hunter2", "x-team": "a"}},
        "local": {"command": "rm", "args": ["-rf"]},
        "spied": {"url": "https://b.example/mcp?api_key=hunter2"},
    }
    found = read_pasted(json.dumps({"mcpServers": pasted}))
    (item,) = found.items
    server = read_server(item.text)
    assert (item.kind, server.name, server.url) == ("server", "crm", "https://crm.example/mcp")
    assert server.headers == {"Authorization": "Bearer ${secret:crm_authorization}", "x-team": "a"}
    assert [note.code for note in found.unclear] == ["secret", "operator_only", "credential"]
    assert "hunter2" not in repr(found)
    document = '{"openapi": "3.1.0", "info": {"title": "Pet Shop"}, "paths": {}}'
    for text, name, field, value in (
        (document, "pet_shop", "openapi", document),
        ("https://mcp.shop.example.com/mcp", "shop", "url", "https://mcp.shop.example.com/mcp"),
        ("https://api.pets.io/v3/openapi.json", "pets", "openapi", "https://api.pets.io/v3/openapi.json"),
        ("https://desk.io/.well-known/agent-card.json", "desk", "a2a", "https://desk.io/.well-known/agent-card.json"),
    ):
        (item,) = read_pasted(text).items
        server = read_server(item.text)
        assert (item.kind, server.name, getattr(server, field)) == ("server", name, value)


SERVER = {"actum": "server/1", "name": "crm", "url": "https://crm.example/mcp"}
CREDENTIAL = "sk-hunter2-abcdef-0123456789"


@pytest.mark.parametrize(
    ("text", "kinds", "notes"),
    [
        (json.dumps({**SERVER, "headers": {"Authorization": f"Bearer {CREDENTIAL}"}}), ["server"], ["secret"]),
        (json.dumps({**SERVER, "url": f"https://crm.example/mcp?api_key={CREDENTIAL}"}), [], ["credential"]),
        (f"https://crm.example/mcp?token={CREDENTIAL}", [], ["credential"]),
        (f"https://ann:{CREDENTIAL}@crm.example/openapi.json", [], ["credential"]),
        (f"curl https://ann:{CREDENTIAL}@crm.example/now", ["tool"], ["description", "secret"]),
        (
            f"""curl https://crm.example/in --json '{{"who": {{"password": "{CREDENTIAL}"}}, "n": 1}}'""",
            ["tool"],
            ["description", "secret"],
        ),
        (
            json.dumps({"nodes": {"a": {"type": "http", "headers": {"X-Token": CREDENTIAL}}}, "name": "w"}),
            [],
            ["credential"],
        ),
        (f"name: a\ninstructions: The key is {CREDENTIAL}.", [], ["credential"]),
        (f"API_KEY = '{CREDENTIAL}'\n{PYTHON}".removeprefix("\n"), [], ["text"]),
        (f"import os\nAPI_KEY = '{CREDENTIAL}'\n{PYTHON}", [], ["credential"]),
        (json.dumps({"crm": {"url": "https://a.example/mcp", "headers": {"Cookie": CREDENTIAL}}}), [], ["credential"]),
    ],
)
def test_no_credential_of_a_text_is_answered_wherever_it_stands(text: str, kinds: list[str], notes: list[str]) -> None:
    found = read_pasted(text)
    assert [item.kind for item in found.items] == kinds
    assert [note.code for note in found.unclear] == notes
    assert CREDENTIAL not in repr(found)


def test_what_names_a_secret_or_a_parameter_is_no_credential() -> None:
    for declared in (
        {**SERVER, "headers": {"Authorization": "Bearer ${secret:crm}"}},
        {"name": "w", "nodes": {"a": {"type": "http", "headers": {"X-Token": "${secret:crm}"}}}},
        {"name": "sign_in", "description": "Sign in.", "parameters": {"password": "string"}, "agent": "helper"},
    ):
        (item,) = read_pasted(json.dumps(declared)).items
        assert json.loads(item.text) == declared


def test_agents_and_workflows_are_told_apart_and_stay_as_they_are() -> None:
    for text, kind in (("name: a\ninstructions: Be kind.", "agent"), ("name: w\nnodes: []  # mine", "workflow")):
        (item,) = read_pasted(text).items
        assert (item.kind, item.text) == (kind, text)
