"""What is pasted becomes declarations that can be saved, without a credential of the text."""

from __future__ import annotations

import json

import pytest

from actum.toolsets.declared.declaration import read_declaration
from actum.toolsets.declared.pasted import CODE_MAX, read_pasted

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
        ('{"openapi": "3.1.0"}', ["openapi"]),
        ('{"mcpServers": {"a": {"command": "rm"}, "b": {"url": "https://b.example"}}}', ["operator_only", "servers"]),
    ],
)
def test_what_can_not_be_read_is_told_and_nothing_is_made_of_it(text: str, notes: list[str]) -> None:
    found = read_pasted(text)
    assert found.items == ()
    assert [note.code for note in found.unclear] == notes


def test_agents_and_workflows_are_told_apart_and_stay_as_they_are() -> None:
    for text, kind in (("name: a\ninstructions: Be kind.", "agent"), ("name: w\nnodes: []  # mine", "workflow")):
        (item,) = read_pasted(text).items
        assert (item.kind, item.text) == (kind, text)
