"""Who may come in: the flags of commands that serve, and what checks the keys that the flags name."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from ... import server as doors
from ...compose.settings import Settings
from ...core.errors import UsageError
from ..exit_codes import CANCELLED, DONE
from ..show.terminal import who

if TYPE_CHECKING:
    from ...server import Authenticator, Identity, SharedKey, SignedTokens

LOCAL_CLIENT, SHARED_CLIENT = "local", "shared"
"""What the settings call a program without a key, and one with the key that everybody shares."""

KeyFlag = Annotated[
    str, typer.Option("--key-env", metavar="NAME", help="Every request must show the key in this variable.")
]
IssuerFlag = Annotated[
    str, typer.Option("--issuer", metavar="URL", help="Requests must show a token of this issuer, a JWT.")
]
InsecureFlag = Annotated[
    bool, typer.Option("--insecure", help="Others than this machine may come in without a key. Think first.")
]


def verifier(
    key_env: str,
    issuer: str,
    resource: str,
    user_clients: Sequence[str],
    *,
    tenant_claim: str = "",
    scopes: Sequence[str] = (),
    flag: str = "--resource",
) -> Authenticator | None:
    """What checks tokens, by the flags; None where there are none to be checked.

    Raises:
        UsageError: a key is named that is not there, or an issuer without what its tokens are meant for.
    """
    verifiers: list[SharedKey | SignedTokens] = []
    if key_env:
        key = os.environ.get(key_env, "")
        if not key:
            raise UsageError("--key-env {variable}: this variable is empty", variable=key_env)
        verifiers.append(
            doors.SharedKey(key, who(), speaks_for="user" if SHARED_CLIENT in user_clients else "", scopes=scopes)
        )
    if issuer:
        if not resource:
            raise UsageError("--issuer needs {flag}: this server's address, which its tokens are meant for", flag=flag)
        trusted = doors.Issuer(
            url=issuer, audience=resource, user_clients=tuple(user_clients), tenant_claim=tenant_claim
        )
        verifiers.append(doors.SignedTokens(trusted))
    return doors.Authenticator(verifiers) if verifiers else None


def local(settings: Settings) -> Identity:
    """The identity of a program without a key: the user of this process."""
    return doors.Identity(principal=who(), speaks_for="user" if LOCAL_CLIENT in settings.speaks_for_user else "")


def ended(by: int) -> int:
    """The exit code of a server that ended in good order.

    Args:
        by: the number of the signal that ended it.
    """
    return CANCELLED if by == signal.SIGINT else DONE
