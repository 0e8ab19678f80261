"""A log-in in a browser by OAuth 2.0's authorization code with PKCE, whatever the token is for.

Sources: RFC 6749 section 4.1, RFC 7636 (PKCE), RFC 8252 (native programs).
"""

from __future__ import annotations

import secrets as random
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from hashlib import sha256
from typing import Protocol
from urllib.parse import parse_qs, urlencode, urlsplit, urlunsplit

from msgspec import Struct

from ..core.errors import PermissionDenied
from ..transport.guard import AddressRefused, check_link


class LoginNeeded(PermissionDenied):
    """Nobody is logged in here, and only a person can change that."""


class LoginFailed(PermissionDenied):
    """The login was refused, or what is said of it can not be believed."""


class Person(Protocol):
    """Somebody with a browser."""

    @property
    def redirect_uri(self) -> str:
        """Where the browser is sent when the person is done."""

    async def authorize(self, url: str) -> str:
        """Let the person log in.

        Args:
            url: the page of the issuer. It is to be shown in full, and opened only on consent.

        Returns:
            The whole address that the browser was sent to in the end.
        """


class CodeAnswer(Struct, frozen=True):
    """What came back from the browser.

    Attributes:
        fields: of the address that the browser was sent to; `state` is the right one.
        verifier: what shows at the token endpoint that it was us who asked.
    """

    fields: Mapping[str, str]
    verifier: str

    def __repr__(self) -> str:
        return "CodeAnswer(...)"


async def ask_person(person: Person, page: str, query: Mapping[str, str], *, local: bool = False) -> CodeAnswer:
    """Let a person log in.

    Args:
        person: who.
        page: the issuer's page; what its query has stays (RFC 6749 section 3.1).
        query: what is asked for: the client, the scope.
        local: the page may be one of this machine.

    Raises:
        LoginFailed: the page should not be opened, or the answer is not the one to this question.
    """
    state, verifier = random.token_urlsafe(32), random.token_urlsafe(64)
    challenge = urlsafe_b64encode(sha256(verifier.encode()).digest()).decode().rstrip("=")
    asked = {
        "response_type": "code",
        "redirect_uri": person.redirect_uri,
        "state": state,
        "code_challenge": challenge,
        "code_challenge_method": "S256",
        **query,
    }
    try:
        check_link(page, local=local)
    except AddressRefused as refused:
        shown = page.partition("?")[0].partition("#")[0]
        raise LoginFailed("the login page {shown} should not be opened: {why}", shown=shown, why=refused) from None
    parts = urlsplit(page)
    whole = urlunsplit(parts._replace(query="&".join(filter(None, [parts.query, urlencode(asked)])), fragment=""))
    came_to = await person.authorize(whole)
    fields = parse_qs(urlsplit(came_to).query, max_num_fields=50)
    if any(len(values) > 1 for values in fields.values()):
        raise LoginFailed("the answer of the login says something twice")
    said = {name: values[0] for name, values in fields.items()}
    if not random.compare_digest(said.get("state", "").encode(), state.encode()):
        raise LoginFailed("the answer is not the one to this login: its state is another")
    return CodeAnswer(said, verifier)
