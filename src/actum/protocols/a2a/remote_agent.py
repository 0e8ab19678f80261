"""`RemoteAgent`: an agent elsewhere as a person configured it. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from msgspec import Struct

from ...core.errors import UsageError
from ..bound_text.header import filled_header
from ..bound_text.part import NoPlace

SECRET = re.compile(r"\$\{secret:([A-Za-z0-9_.-]{1,100})\}")
NAME_CHARS_MAX = 64
_NAME = re.compile(rf"[A-Za-z0-9_-]{{1,{NAME_CHARS_MAX}}}")


class AgentClient(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """This program at the token endpoint that a remote agent's card names.

    Attributes:
        client_id: the name of this program there.
        client_secret: the name of the secret that holds its password; empty for a public client.
        scopes: what is asked for; empty for what the card wants.
        login: each user logs in, even where the program could ask for a token by itself.
    """

    client_id: str
    client_secret: str = ""
    scopes: tuple[str, ...] = ()
    login: bool = False


class RemoteAgent(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An agent that is reached by A2A; the table `[a2a.NAME]` of the settings.

    Attributes:
        url: the address of the agent, or of its card.
        name: the name of the agent here, and of its tool; made of the host where it is left out.
        headers: sent to the origin of `url` and nowhere else. `${secret:NAME}` is the secret of the user on whose
            behalf the call is made.
        credentials: by the name of a security scheme of the card: the name of the secret that holds the key, the token,
            or `user:password`; or the client of this program, for schemes of OAuth and OpenID Connect.
        key_hosts: hosts whose keys may sign the card. A card that is signed by a key from elsewhere counts as not
            verified.
        wait_s: the seconds for which a call follows the agent's task. After that the call waits on record.
        silence_s: how long an agent may be silent while it is listened to.

    Raises:
        ValueError: the address or the name is not valid.
    """

    url: str
    name: str = ""
    headers: Mapping[str, str] = {}
    credentials: Mapping[str, str | AgentClient] = {}
    key_hosts: tuple[str, ...] = ()
    wait_s: float = 600.0
    silence_s: float = 120.0

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("url: an address such as https://agents.example.com was expected")
        if "@" in parts.netloc or parts.fragment:
            raise ValueError("url: write it without a user name, a password and a fragment")
        if self.name and not _NAME.fullmatch(self.name):
            raise ValueError("name: up to 64 letters of English, digits, '_' and '-' were expected")
        if not 0 < self.wait_s <= 86_400 or not 0 < self.silence_s <= 86_400:
            raise ValueError("wait_s, silence_s: more than 0 and at most 86400 seconds were expected")

    @property
    def called(self) -> str:
        """What it is called here."""
        return self.name or host_name(self.url)

    @property
    def identity(self) -> str:
        """What an approval is for: this address."""
        return f"a2a {self.url}"

    @property
    def secret_names(self) -> tuple[str, ...]:
        """The secrets that the headers name."""
        return tuple(dict.fromkeys(found for value in self.headers.values() for found in SECRET.findall(value)))


def host_name(url: str) -> str:
    """A name made of an address.

    >>> host_name("https://agents.example.com:8443/weather")
    'agents-example-com-8443-weather'
    """
    parts = urlsplit(url)
    path = re.sub(r"/\.well-known/.*", "", parts.path)
    return re.sub(r"[^A-Za-z0-9_]+", "-", parts.netloc + path).strip("-")[:NAME_CHARS_MAX] or "agent"


def with_secrets(headers: Mapping[str, str], secrets: Mapping[str, str]) -> dict[str, str]:
    """The headers with the secrets that they name.

    Args:
        headers: as they are configured.
        secrets: by name; all that the headers name are there.

    Raises:
        UsageError: a secret can not stand in its header. The message does not show the secret.
    """
    try:
        return {name: filled_header(name, value, SECRET, secrets.__getitem__) for name, value in headers.items()}
    except NoPlace as problem:
        raise UsageError("a secret can not be sent in a header: {why}", why=problem) from None
