"""At every door: what waits for `role:boss` is approved by a boss of the tenant, who came in by a key, a token or
a log-in, and by nobody else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import msgspec
import pytest

from actum.core.call import ToolCall
from actum.core.clock import SystemClock
from actum.core.json import JsonObject
from actum.core.message import Reply
from actum.server.keys import make_key
from actum.storage.sqlite import SQLiteJournal
from tests.chat_server import ChatServer, Said
from tests.cli.test_serve import until
from tests.issuer import Issuer
from tests.web import serving

from .doors import DOORS, Place, doors_open
from .test_login import back, browser

TOOLS = '''\
from pathlib import Path

from actum import tool


@tool(effects={"spend"})
def pay(task: str) -> str:
    """Pay."""
    (Path(__file__).parent / f"paid {task}").touch()
    return "paid"
'''
POLICY = """\
default = "allow"
[[rules]]
tools = "pay"
then = "ask"
approvers = ["role:boss"]
"""
SETTINGS = """\
model = "{url}#m"
tools = ["tools.py"]
policy = "policy.toml"
tenant_claim = "org"
[serve]
hold_s = 0
public = "http://desk.example.org"
issuer = "{issuer}"
[serve.login]
issuer = "{issuer}"
client_id = "actum"
scopes = ["runs", "approve"]
[agents.desk]
tools = ["tools.py"]
"""
MAY = ("runs", "tools", "models", "approve")
"""What the keys and the tokens allow."""
PEOPLE: Mapping[str, tuple[str, str, str]] = {
    "boss": ("eva", "north", "boss"),
    "clerk": ("cem", "north", "clerk"),
    "boss elsewhere": ("eva", "south", "boss"),
    "boss by name": ("role:boss", "north", "clerk"),
}
"""Approvers: the user, the tenant and the role. Only the first may approve what ann of north asks for."""
Ask = Callable[[str, str, object], Awaitable[tuple[int, str]]]
"""A request of somebody: method, path and body; the status and the text of the answer."""


def answers(request: JsonObject) -> Said:
    """The model pays under the name that its user says, then answers."""
    messages = request["messages"]
    assert isinstance(messages, list)
    last = messages[-1]
    assert isinstance(last, dict)
    if last["role"] == "tool":
        return "all is done"
    said = next(str(each) for each in messages if isinstance(each, dict) and each["role"] == "user")
    return Reply.of(calls=[ToolCall("1", "pay", {"task": said[said.index("case-") :].partition("'")[0]})])


def with_text(place: Place, text: str) -> Ask:
    """Somebody who shows a key or a token."""

    async def ask(method: str, path: str, body: object) -> tuple[int, str]:
        told = await place.http(method, path, body, text)
        return told.status, told.text

    return ask


async def logged_in(place: Place, issuer: Issuer, name: str, client: httpx2.AsyncClient) -> Ask:
    """Somebody who has logged in with a browser."""
    user, tenant, role = PEOPLE[name]
    issuer.id_claims = {"sub": user, "org": tenant, "roles": [role]}
    address = urlsplit(await back(client))
    assert (await client.get(f"{address.path}?{address.query}")).status_code == 200

    async def ask(method: str, path: str, body: object) -> tuple[int, str]:
        told = await client.request(method, path, json=body, headers={"sec-fetch-site": "same-origin"})
        return told.status_code, told.text

    return ask


@pytest.mark.row("C4")
async def test_a_boss_of_the_tenant_approves_at_every_door_however_the_boss_came_in(tmp_path: Path) -> None:
    (tmp_path / "policy.toml").write_text(POLICY, "utf-8")
    issuer = Issuer(SystemClock(), metadata_path="/.well-known/openid-configuration")
    issuer.know("actum", "")
    journal = SQLiteJournal(str(tmp_path / "runs.db"))
    made = await make_key(journal, "ann", by="root", user="ann", tenant="north", scopes=MAY)
    keys = {
        name: (await make_key(journal, f"k{at}", by="root", user=user, tenant=tenant, roles=[role], scopes=MAY)).text
        for at, (name, (user, tenant, role)) in enumerate(PEOPLE.items())
    }
    local = (await make_key(journal, "here", by="root", user="eva", roles=["boss"], scopes=MAY)).text
    with ChatServer(answers) as model:
        async with serving(issuer.app()) as issuer.url:
            settings = SETTINGS.format(url=model.url, issuer=issuer.url)
            async with doors_open(tmp_path, settings, TOOLS) as place:
                comes_in: dict[str, dict[str, Ask]] = {name: {"key": with_text(place, keys[name])} for name in PEOPLE}
                browsers = [browser(place.url) for _ in PEOPLE]
                for client, (name, (user, tenant, role)) in zip(browsers, PEOPLE.items(), strict=True):
                    claims: JsonObject = {"sub": user, "org": tenant, "roles": [role], "scope": " ".join(MAY)}
                    comes_in[name]["token"] = with_text(
                        place, issuer.sign({**claims, "aud": "http://desk.example.org"})
                    )
                    comes_in[name]["log-in"] = await logged_in(place, issuer, name, client)
                asks = [(door, ask) for door in DOORS for ask in filter(None, (door.ask, door.stream))]
                for at, (door, ask) in enumerate(asks):
                    case = f"case-{at}"
                    shown = made.text if not door.keyless else ""
                    boss = comes_in["boss"] if not door.keyless else {"key": with_text(place, local)}
                    name = "desk" if door.answers == "agent" else "pay"
                    asking = asyncio.ensure_future(ask(place, name, case, shown))
                    found = await waiting(next(iter(boss.values())))
                    for who in PEOPLE:
                        for how, tries in comes_in[who].items() if boss is not comes_in[who] else ():
                            status, text = await tries("POST", f"/v1/approvals/{found}", {"verdict": "approve"})
                            foreign = who == "boss elsewhere" or door.keyless
                            assert status == (404 if foreign else 403), (door.name, who, how, text)
                    how = list(boss)[at % len(boss)]
                    status, text = await boss[how]("POST", f"/v1/approvals/{found}", {"verdict": "approve"})
                    assert status == 200, (door.name, how, text)
                    assert '"is_complete":true' in text, (door.name, how, text)
                    if not door.keyless:  # whoever asked at the command line goes on there
                        await until((tmp_path / f"paid {case}").exists)
                    await asking
                for client in browsers:
                    await client.aclose()
    await journal.close()
    paid = {f"paid case-{at}" for at, (door, _) in enumerate(asks) if not door.keyless}
    maybe = {f"paid case-{at}" for at, (door, _) in enumerate(asks) if door.keyless}  # if answered before it let go
    assert {file.name for file in _files(tmp_path) if file.name.startswith("paid")} - maybe == paid


def _files(folder: Path) -> list[Path]:
    return [*folder.iterdir()]


async def waiting(boss: Ask) -> str:
    """The id of the one thing that waits."""
    found: list[JsonObject] = []

    async def is_there() -> bool:
        status, text = await boss("GET", "/v1/approvals", None)
        assert status == 200, text
        found[:] = msgspec.json.decode(text)["items"]
        return bool(found)

    await until(is_there)
    (item,) = found
    return str(item["id"])
