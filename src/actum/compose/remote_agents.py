"""Remote agents: those of the settings or at a bare address, and the toolsets that ask them."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from ..core.errors import UsageError
from ..core.language.sentence import names_or_none
from ..protocols.a2a.card import RemoteCard
from ..protocols.a2a.remote_agent import RemoteAgent
from ..protocols.openapi.card_security import schemes_of
from ..protocols.openapi.setup import ApiSetup
from ..storage.folders import state_folder
from ..storage.pins import PinStore
from ..storage.remote_tasks import RemoteTaskFiles
from ..toolsets.a2a.toolset import A2AToolset
from ..transport.egress import Egress
from .apis import api_logins

A2A_SOURCE = "a2a:"
"""How the name of a place of tools begins that is a remote agent."""


def a2a_pins(environment: Mapping[str, str]) -> PinStore:
    """The cards of remote agents that the person approved."""
    return PinStore(state_folder(environment) / "a2a-approved.json")


def find_remote_agent(which: str, known: Mapping[str, RemoteAgent]) -> RemoteAgent:
    """A remote agent.

    Args:
        which: its name in the settings, or its address; `a2a:` may stand before both.
        known: the tables `[a2a.NAME]` of the settings.

    Raises:
        UsageError: there is none of this name, or the address can not be.
    """
    which = which.removeprefix(A2A_SOURCE)
    try:
        if which in known:
            return msgspec.structs.replace(known[which], name=which)
        if "://" in which:
            named = next((name for name, each in known.items() if each.url == which), "")
            return msgspec.structs.replace(known[named], name=named) if named else RemoteAgent(url=which)
    except ValueError as error:
        raise UsageError("remote agent {name!r}: {why}", name=which, why=error) from None
    names = names_or_none(known)
    raise UsageError(
        "there is no remote agent {name!r} in [a2a] of the settings; there are: {known}", name=which, known=names
    )


def open_remote_agent(
    which: str,
    known: Mapping[str, RemoteAgent],
    environment: Mapping[str, str],
    egress: Egress | None = None,
    public: str = "",
) -> A2AToolset:
    """The toolset of a remote agent; only its approved card is used.

    Args:
        which, known: as for `find_remote_agent`.
        environment: says where approvals and handles are kept.
        egress: the operator's rules for outgoing calls.
        public: the address of the server with the same journal, for news; empty for none.

    Raises:
        UsageError: as by `find_remote_agent`.
    """
    return A2AToolset(
        find_remote_agent(which, known),
        pins=a2a_pins(environment),
        handles=RemoteTaskFiles(state_folder(environment) / "a2a-tasks"),
        egress=egress,
        logins=api_logins(environment),
        public=public,
    )


async def agent_setup(toolset: A2AToolset, secrets: Mapping[str, str], tenant: str) -> ApiSetup:
    """What the settings and the approved card of an agent say of its credentials; the toolset is closed.

    Raises:
        PermissionDenied: the card was not approved.
        CallError: the card can not be had, or has no scheme that can be used.
    """
    async with toolset:
        return await toolset.credentials.setup(await toolset.approved_card(secrets, tenant=tenant))


def schemes_wanted(card: RemoteCard) -> dict[str, str]:
    """What each security scheme of a card is, with the addresses that secrets would be sent to."""
    found = dict.fromkeys(card.schemes, "a scheme that is not understood")
    for name, scheme in schemes_of(card.raw).items():
        flows = [each for each in scheme.flows.values() if isinstance(each, dict)]
        places = [str(flow[key]) for flow in flows for key in ("authorizationUrl", "tokenUrl") if key in flow]
        found[name] = " ".join([scheme.kind, *places, scheme.discovery]).strip()
    return found
