"""An MCP server as it is configured. Pure.

Source: the `mcpServers` JSON that the clients of this protocol share.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

McpTransport = Literal["", "stdio", "http", "sse"]
McpEra = Literal["auto", "legacy", "modern"]


class McpAuth(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How one proves to a server who one is.

    Attributes:
        issuer: the authorization server, where it is not the one that the server names.
        client_id: by which we are known there, where we are registered.
        secret: the name of the secret that goes with it; never the secret itself.
        scopes: what we ask for; empty for what the server wants.
        grant: `code` for a person who logs in, `client` for a program of its own.
    """

    issuer: str = ""
    client_id: str = ""
    secret: str = ""
    scopes: tuple[str, ...] = ()
    grant: Literal["code", "client"] = "code"


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
        include, exclude: patterns of the names of its tools that are used, and that are not.
        roots: directories it is told it may work in.
        disabled: it is left alone.
        auth: how one logs in, where it wants that.
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
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    roots: tuple[str, ...] = ()
    disabled: bool = False
    auth: McpAuth | None = None

    @property
    def identity(self) -> str:
        """What it is, whatever it is called: what runs, or where it is. Approvals hold for this."""
        if self.url:
            return self.url
        return "\x00".join([self.command, *self.args, *sorted(self.env), self.cwd])
