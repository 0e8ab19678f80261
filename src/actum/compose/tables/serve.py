"""The table `[serve]` of the settings: where a server listens, who may come in, and how much."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct


class ServeLimits(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the callers of `actum serve` may ask of the server; the table `[serve.limits]`.

    Attributes:
        body_bytes: how long the body of a request may be.
        body_s: seconds in which the body has to arrive.
        header_bytes: how long the headers may be, the path among them.
        headers_s: seconds in which the headers have to arrive.
        requests: how many requests may be under way, open streams among them.
        requests_per_caller: the same for one user, or for one address where no key is wanted.
        connections: how many connections may be open.
        connections_per_address: the same for one address that is no proxy of ours.
    """

    body_bytes: Annotated[int, Meta(gt=0)] = 4 * 1024 * 1024
    body_s: Annotated[float, Meta(gt=0)] = 60.0
    header_bytes: Annotated[int, Meta(gt=0)] = 32 * 1024
    headers_s: Annotated[float, Meta(gt=0)] = 15.0
    requests: Annotated[int, Meta(gt=0)] = 1_000
    requests_per_caller: Annotated[int, Meta(gt=0)] = 100
    connections: Annotated[int, Meta(gt=0)] = 2_000
    connections_per_address: Annotated[int, Meta(gt=0)] = 200


class LoginTable(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How people log in to `actum serve` with a browser; the table `[serve.login]`.

    Attributes:
        issuer: the OpenID provider at which people log in; empty for no log-in.
        client_id: the name of this server at the provider.
        client_secret: where the password of this server at the provider is: `${secret:NAME}`, or `${NAME}` for a
            variable; empty for a public client. Never the password itself.
        asks: the scopes that are asked of the provider, beside `openid`.
        scopes: what people may do here.
        principal_claim: the claim of the provider's ID token that names the user.
        roles_claim: the claim that lists the roles; dots lead inside.
        idle_s: seconds after its last request at which a session ends.
        session_s: seconds after the log-in at which a session ends.
    """

    issuer: str = ""
    client_id: str = ""
    client_secret: str = ""
    asks: tuple[str, ...] = ()
    scopes: tuple[str, ...] = ("tools",)
    principal_claim: str = "sub"
    roles_claim: str = "roles"
    idle_s: Annotated[float, Meta(gt=0)] = 3600.0
    session_s: Annotated[float, Meta(gt=0)] = 43_200.0


class A2ATable(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How `actum serve` serves agents by A2A; the table `[serve.a2a]`.

    Attributes:
        enabled: whether agents are served by A2A.
        agent: the name of the agent whose card is at `/.well-known/agent-card.json`; empty for the first agent.
        version: the version of the agents, for their cards.
        provider: who offers the agents, for their cards; `provider_url` is the address of the provider.
        provider_url: see `provider`.
        documentation: the address of a documentation, for the cards.
        icon: the address of a picture, for the cards.
        input_modes: media types of files that messages may have, such as `image/*`, beside text and JSON.
        strict_card: the cards have the fields of version 1.0 alone. Clients of 0.3 can not read such cards.
        repeats: what happens to a message that comes again after its task has ended: it begins a `new` task, or is
            answered with the `same` task.
        signing_key: the key that signs cards, as `${secret:NAME}` or `${NAME}` of a PEM text; by default a key that is
            made from the journal.
        grpc: the address and the port at which gRPC listens; empty for no gRPC. With the certificate of `[serve]`;
            without one, this machine alone can reach it.
        list_grpc: the cards list gRPC although it has no certificate.
    """

    enabled: bool = True
    agent: str = ""
    version: str = "1.0.0"
    provider: str = ""
    provider_url: str = ""
    documentation: str = ""
    icon: str = ""
    input_modes: tuple[str, ...] = ()
    strict_card: bool = False
    repeats: Literal["new", "same"] = "new"
    signing_key: str = ""
    grpc: str = ""
    list_grpc: bool = False


class ServeSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How `actum serve` is reached; the table `[serve]`.

    Attributes:
        http: the address and the port at which the server listens.
        metrics: an address and a port for `/metrics` alone; empty to serve `/metrics` beside all else, for keys with
            the scope `metrics`.
        public: the server's address for clients, where that differs from `http`: `https://tools.example.org`.
        names: further host names under which the server is reached.
        origins: the origins of web pages that may send requests to the server and read its answers.
        proxies: addresses and networks of proxies whose word on the client's address is believed.
        proxy_header: the header that these proxies write: `x-forwarded` (`X-Forwarded-For`, `-Proto`) or `forwarded`.
        certificate: the file with the certificate, for TLS without a proxy.
        key_file: the file with the private key of the certificate.
        issuer: the issuer whose tokens are accepted, beside keys.
        sse: serve old MCP clients at `/sse`, too.
        end_s: seconds that requests under way may still take when the server is told to end.
        catalog: the catalog of agents and MCP servers is served: `/.well-known/ai-catalog.json` and a search.
        hold_s: seconds for which a request to an agent at a model API is held while its run waits for a person.
        access_log: a file with a line of JSON for each request, `-` for the standard error; empty for none.
        login, a2a: how people log in with a browser; how agents are served by A2A.
        limits: what callers may ask of the server.
    """

    http: str = "127.0.0.1:8000"
    metrics: str = ""
    public: str = ""
    names: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    proxies: tuple[str, ...] = ()
    proxy_header: Literal["x-forwarded", "forwarded"] = "x-forwarded"
    certificate: str = ""
    key_file: str = ""
    issuer: str = ""
    sse: bool = True
    end_s: Annotated[int, Meta(gt=0)] = 20
    catalog: bool = False
    hold_s: Annotated[float, Meta(ge=0)] = 60.0
    access_log: str = ""
    login: LoginTable = LoginTable()
    a2a: A2ATable = A2ATable()
    limits: ServeLimits = ServeLimits()
