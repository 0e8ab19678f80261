"""Clients without a handshake: who is taken for the same one, and who is given up where there are too many."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

from actum.core.identity import Identity
from actum.core.json import Json
from actum.server.mcp.holders import (
    CLIENTS_MAX,
    Client,
    Clients,
    Context,
)

ADA, EVE = Identity(principal="ada", key_id="k1"), Identity(principal="eve", key_id="k2")


def asked(program: str = "p", **capabilities: Json) -> Context:
    """A request of a program."""
    meta = {
        "io.modelcontextprotocol/clientInfo": {"name": program},
        "io.modelcontextprotocol/clientCapabilities": capabilities,
        "progressToken": object(),
    }
    return cast(Context, SimpleNamespace(protocol_version="2026-07-28", params={"_meta": meta}))


def test_a_client_is_known_again_by_user_key_program_and_capabilities() -> None:
    clients = Clients()
    first = clients.client(asked(roots={}), ADA)
    assert clients.client(asked(roots={}), ADA) is first
    assert clients.client(asked(roots={}), Identity(principal="ada", key_id="k1", scopes=("more",))) is first
    others = [
        clients.client(asked(roots={}), EVE),
        clients.client(asked(roots={}), Identity(principal="ada", key_id="k9")),
        clients.client(asked("q", roots={}), ADA),
        clients.client(asked(), ADA),
    ]
    assert len({first.holder.key, *(each.holder.key for each in others)}) == 5
    clients.close()
    assert {each.holder.state for each in (first, *others)} == {"over"}


def test_where_there_are_too_many_it_is_one_of_whoever_has_most_and_none_that_is_at_work() -> None:
    clients = Clients()
    own = clients.client(asked(), ADA)
    many = [clients.client(asked(str(number)), EVE) for number in range(CLIENTS_MAX - 1)]
    with many[0].at_work():
        more = clients.client(asked("more"), EVE)
    assert over([own, *many, more]) == [many[1]]
    many[0].listening.add("memo://today")
    clients.client(asked("another"), EVE)
    assert over([own, *many, more]) == [many[1], many[2]]
    assert own.holder.state == "here"


def test_a_tenant_with_many_users_puts_out_no_client_of_another() -> None:
    clients = Clients()
    own = [clients.client(asked(str(number)), Identity(tenant="south", principal="eve")) for number in range(2)]
    many = [
        clients.client(asked(), Identity(tenant="north", principal=f"u{number}")) for number in range(CLIENTS_MAX - 2)
    ]
    clients.client(asked("more"), Identity(tenant="south", principal="eve"))
    assert over([*own, *many]) == [many[0]]
    clients.close()


def over(clients: list[Client]) -> list[Client]:
    return [each for each in clients if each.holder.state == "over"]
