"""An MCP server as it is configured. Pure.

Source: the `mcpServers` JSON that the clients of this protocol share.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from ...core.json import Json, dumps

McpTransport = Literal["", "stdio", "http", "sse"]
McpEra = Literal["auto", "legacy", "modern"]


McpGrant = Literal["code", "client", "company", "voucher"]
"""How a token is had: a person logs in, this program has credentials of its own, the company's login vouches for the
person (enterprise-managed authorization), or the platform on which this program runs vouches for it."""


class McpAuth(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How one proves to a server who one is. Nothing needs to be said where the issuer registers programs by itself.

    Attributes:
        issuer: the authorization server. It must be said beside a secret, which then goes nowhere else.
        client_id: by which we are known there, where we are registered.
        secret: the name of the secret that goes with it, a password or a private key in PEM; never the secret itself.
        scopes: what we ask for besides what the server wants.
        grant: how a token is had.
        method: how the secret is shown; empty to take what the issuer can do.
        algorithm: with which a private key signs.
        client_metadata_url: an https address at which our own description lies, which is then our name.
        redirect_port: the port of this machine to which the browser comes back; 0 for any.
        assertion: the name of the secret that vouches: the company's ID token, or the platform's token.
        idp_token_endpoint, idp_client_id: where the company's ID token is exchanged, and as whom.
    """

    issuer: str = ""
    client_id: str = ""
    secret: str = ""
    scopes: tuple[str, ...] = ()
    grant: McpGrant = "code"
    method: Literal["", "client_secret_basic", "client_secret_post", "private_key_jwt"] = ""
    algorithm: str = "ES256"
    client_metadata_url: str = ""
    redirect_port: int = 0
    assertion: str = ""
    idp_token_endpoint: str = ""
    idp_client_id: str = ""


class McpJail(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """What a local server may reach, held by the kernel. It has no network, but for `hosts`.

    Attributes:
        read: files and folders that the server may read, beside the system's programs and its own program.
        write: folders that the server may write, beside a folder of its own, which is its HOME.
        hosts: hosts that the server may reach by HTTP through a proxy of ours, as in `allow` of `[egress]`.
    """

    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()


class McpServer(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A server as somebody configured it: a command to run, or an address.

    Attributes:
        name: what it is called here, whatever it calls itself.
        command, args, env, cwd: how a local one is started.
        url, headers: where a remote one is; `${secret:NAME}` in a header is filled in when it is sent.
        transport: how to talk to it; empty to find out.
        timeout: seconds without a word from it; a progress message starts them anew.
        max_timeout: seconds after which a call ends in any case.
        era: the protocol's: with a handshake, without, or found out.
        trusted: what it says of its own tools is believed.
        include: patterns of the names of its tools that are used; None for all, while an empty list means none.
        exclude: patterns of the names of its tools that are not used.
        roots: directories it is told it may work in.
        disabled: it is left alone.
        auth: how one logs in, where it wants that.
        sessions: how many sessions with it there may be at a time, which are processes of a local one; 0 for 8 of a
            local one and 256 of a remote one.
        stateless: it keeps nothing from one call to the next: calls may be spread over several sessions.
        jail: what a local server may reach; None for all that the person may reach who runs actum.
        no_jail: a person said that the server is to have no jail.
    """

    name: str
    command: str = ""
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    cwd: str = ""
    url: str = ""
    headers: dict[str, str] = {}
    transport: McpTransport = ""
    timeout: float = 60.0
    max_timeout: float = 600.0
    era: McpEra = "auto"
    trusted: bool = False
    include: tuple[str, ...] | None = None
    exclude: tuple[str, ...] = ()
    roots: tuple[str, ...] = ()
    disabled: bool = False
    auth: McpAuth | None = None
    sessions: int = 0
    stateless: bool = False
    jail: McpJail | None = None
    no_jail: bool = False

    @property
    def sessions_max(self) -> int:
        """How many sessions there may be at a time."""
        return self.sessions or (256 if self.url else 8)

    @property
    def unjailed(self) -> bool:
        """It is a local server that no jail holds."""
        return bool(self.command) and self.jail is None

    @property
    def identity(self) -> str:
        """What it is, whatever it is called: what runs, or where it is. Approvals hold for this."""
        if self.url:
            return self.url
        runs: list[Json] = [self.command, [*self.args], [*sorted(self.env)], self.cwd]
        held: list[Json] = [] if self.jail is None else [_held_by(self.jail)]
        return dumps([*runs, *held])


def _held_by(jail: McpJail) -> list[Json]:
    """What a jail opens. Who approved a narrow jail has not approved a wider one: that is another server."""
    lists = (jail.read, jail.write, *((jail.hosts,) if jail.hosts else ()))
    return [[*sorted(entries)] for entries in lists]
