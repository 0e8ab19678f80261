"""APIs as tools: reading a document from a file or an address, setting an API up, opening one that was set up.

Only adding and updating read a document. A document's text is a stranger's: which servers are called and which
credentials they get is decided by the person who adds the API.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

import msgspec

from ..core.clock import SystemClock
from ..core.errors import BadTool, UsageError
from ..core.json import JsonObject
from ..core.language.sentence import names_or_none
from ..core.process.named_file import read_named
from ..core.secrets.store import SecretValue
from ..core.user import User
from ..protocols.oauth_metadata import BadMetadata, IssuerMetadata, read_issuer
from ..protocols.openapi.model import ApiDocument, ApiOperation, BadDocument, RefusedOperation, SecurityScheme
from ..protocols.openapi.reading import DocumentReader, argument_schema, result_schemas
from ..protocols.openapi.references import Load
from ..protocols.openapi.setup import ApiSetup, Credential, OAuthCredential, SecretCredential
from ..protocols.openapi.text import BYTES_MAX, read_text
from ..schema.schema import compile_schema
from ..storage.apis import ApiStore
from ..storage.folders import state_folder, tokens_path
from ..storage.tokens import Granted, TokenStore
from ..toolsets.http.credentials import Keep
from ..toolsets.http.finder import ApiFinder
from ..toolsets.http.token import ApiLogin, give_back
from ..toolsets.http.toolset import ApiToolset
from ..toolsets.login import Person
from ..transport.egress import Egress
from ..transport.fetcher import Fetcher
from ..transport.guard import AddressRefused, Guard, Resolve, is_safe, origin
from ..transport.http import HttpFailure
from .secrets import open_secrets, secret_file

READ_S_MAX = 60.0
LOOK_UP_S_MAX = 5.0
TOLD_MAX = 20
"""The most refusals that are told one by one."""
MANY = 100
"""More operations are not offered each by itself, unless a person says so: providers refuse more than 128 tools."""


class ApiChoice(NamedTuple):
    """What a person wants of a document.

    Attributes:
        name: what the API is called here.
        only: patterns of operations: of a tool's name, a tag, or `METHOD /path`; empty for all.
        server: the base address, instead of those of the document.
        secrets: by security scheme, the name of the secret with its credential.
        oauth_client: for schemes of OAuth 2.0 and OpenID Connect: the client's id, and behind a colon the name of the
            secret with its password.
        login: each user logs in, even where the program could ask for a token by itself.
        idempotency_header: the header in which the API takes an idempotency key.
        search: whether the model finds operations by searching; None where that depends on how many there are.
    """

    name: str
    only: tuple[str, ...] = ()
    server: str = ""
    secrets: Mapping[str, str] = {}
    oauth_client: str = ""
    idempotency_header: str = ""
    search: bool | None = None
    login: bool = False


class DocumentSource(NamedTuple):
    """A document as it came.

    Attributes:
        address: where it came from, absolute.
        content: its bytes; empty where it is the one that is known.
        etag: of the answer.
    """

    address: str
    content: bytes
    etag: str = ""


def api_store(environment: Mapping[str, str]) -> ApiStore:
    """The APIs of the person who runs this program."""
    return ApiStore(state_folder(environment) / "apis")


def api_logins(environment: Mapping[str, str]) -> TokenStore:
    """What users were granted who logged in at APIs."""
    return TokenStore(tokens_path(environment), vault=secret_file(environment), warns=True)


async def log_in(login: ApiLogin, person: Person, store: TokenStore, egress: Egress) -> Granted:
    """Let a user log in at an API, and keep what the user is granted.

    Raises:
        LoginFailed: the person or the endpoint said no.
        Unavailable: the token endpoint can not be reached now.
    """
    endpoint = login.credential.token_url
    fetcher = Fetcher(Guard(named=[endpoint], egress=egress))
    try:
        granted = await login.by(person, fetcher, SystemClock().now())
    finally:
        await fetcher.aclose()
    store.keep(granted)
    return granted


class LoggedOut(NamedTuple):
    """How a log-out went.

    Attributes:
        logins: how many were forgotten.
        told: the issuer of each took its token back, too.
    """

    logins: int
    told: bool


async def log_out(
    setup: ApiSetup, scheme: str, user: User, environment: Mapping[str, str], egress: Egress
) -> LoggedOut:
    """Forget the log-ins of a user at an API, and give the tokens back to their issuers (RFC 7009).

    Args:
        setup: the API.
        scheme: the security scheme; empty for all.
        user: who logs out.
        environment: where log-ins and secrets are.
        egress: the operator's rules.
    """
    store, count, told = api_logins(environment), 0, True
    for name, credential in setup.credentials.items():
        if not isinstance(credential, OAuthCredential) or name != (scheme or name):
            continue
        place = setup.login_place(name, credential)
        async with store.turn(user, place):  # no call of another process gets a new token meanwhile
            granted = store.granted(user, place)
            if granted is None:
                continue
            store.drop(granted)
            secret = credential.client_secret
            password = (open_secrets(environment).of(user).get(secret) if secret else "") or ""
            named = [granted.revocation_endpoint] if granted.revocation_endpoint else []
            fetcher = Fetcher(Guard(named=named, egress=egress))
            try:
                told = await give_back(fetcher, granted, password) and told
            finally:
                await fetcher.aclose()
            count += 1
    return LoggedOut(count, told and bool(count))


def login_of(setup: ApiSetup, scheme: str, user: User, environment: Mapping[str, str]) -> ApiLogin:
    """The log-in of a user at an API.

    Args:
        setup: the API.
        scheme: the security scheme; empty where there is one to log in at.
        user: who logs in.
        environment: where the secrets are.

    Raises:
        UsageError: there is nothing to log in at, more than one and none was named, or the client's secret is missing.
    """
    known = {
        name: each
        for name, each in setup.credentials.items()
        if isinstance(each, OAuthCredential) and each.login_url and (not scheme or name == scheme)
    }
    if len(known) != 1:
        names = ", ".join(known)
        raise UsageError(
            f"there are several schemes to log in at: name one with --scheme: {names}"
            if known
            else f"{setup.name} has nothing to log in at: add it with --oauth-client"
        )
    ((name, credential),) = known.items()
    password = ""
    if credential.client_secret:
        found = open_secrets(environment).of(user).get(credential.client_secret)
        if found is None:
            raise UsageError(
                "set the secret of the client first: actum secrets set {name}", name=credential.client_secret
            )
        password = found
    return ApiLogin(setup, name, credential, password, user)


def open_api(name: str, environment: Mapping[str, str], egress: Egress) -> ApiToolset | ApiFinder:
    """The tools of an API that was set up, or a search among them.

    Raises:
        UnknownName: there is none of this name.
    """

    def keep(secret: str, value: str, user: User) -> None:
        store = secret_file(environment)
        owner = user if store.get(secret, user) is not None else User(user.tenant)
        store.set(secret, SecretValue(value), owner)

    keeping: Keep = keep
    logins = api_logins(environment)
    toolset = ApiToolset(api_store(environment).get(name), egress=egress, keep=keeping, logins=logins)
    return ApiFinder(toolset) if toolset.setup.search else toolset


async def read_source(source: str, egress: Egress, etag: str = "", guard: Guard | None = None) -> DocumentSource:
    """A document from a file or an address.

    Args:
        source: a path, or an address with `https://`.
        egress: the operator's rules.
        etag: of the document that is known; where it is still the same, the content is empty.
        guard: decides which addresses are read, and no file is read; None for a source that a person here names.

    Raises:
        UsageError: it can not be read.
    """
    if "://" not in source or source.startswith("file://"):
        if guard is not None:
            raise UsageError("{source!r:.200} is no address", source=source)
        return await asyncio.to_thread(_of_file, source)
    guard = guard or Guard(source, egress=egress)
    fetcher = Fetcher(guard, bytes_max=BYTES_MAX, seconds_max=READ_S_MAX)
    try:
        answer = await fetcher.get(source, {"if-none-match": etag} if etag else None)
    except HttpFailure as failure:
        raise UsageError("the document can not be read: {why}", why=failure) from None
    finally:
        await fetcher.aclose()
    if answer.status == 304 and etag:
        return DocumentSource(answer.url, b"", etag)
    if answer.status != 200:
        raise UsageError("the document can not be read: its server answers with status {number}", number=answer.status)
    return DocumentSource(answer.url, answer.body, answer.headers.get("etag", ""))


def _of_file(source: str) -> DocumentSource:
    path = Path(_path_of(source)) if source.startswith("file:") else Path(source).expanduser().absolute()
    try:
        if path.stat().st_size > BYTES_MAX:
            raise UsageError("{path} has more than {most} bytes", path=path, most=BYTES_MAX)
        return DocumentSource(path.as_uri(), read_named(path))
    except OSError as error:
        raise UsageError("{path} can not be read: {why}", path=path, why=error.strerror) from None


async def set_up(
    wanted: ApiChoice, source: str, found: DocumentSource, egress: Egress, guard: Guard | None = None
) -> ApiSetup:
    """An API of a document, with no operation approved yet.

    Args:
        wanted: the operations and options that are wanted.
        source: where the document comes from.
        found: the document as it came.
        egress: the operator's rules.
        guard: as for `read_source`, for the documents that this document refers to.

    Raises:
        BadDocument: the document can not be used.
        UsageError: nothing of it was chosen, a server is missing, or a credential can not be.
    """
    document = read_text(found.content)
    loop = asyncio.get_running_loop()

    def load(address: str) -> JsonObject:
        if address.startswith("file:") and guard is None:
            return _beside(address, found.address)
        reading = read_source(address, egress, guard=guard)
        read = asyncio.run_coroutine_threadsafe(reading, loop).result(READ_S_MAX)
        return read_text(read.content)

    api, whole, results = await asyncio.to_thread(_read, document, found.address, load, wanted.only)
    server = _server(wanted.server, api)
    credentials = await _credentials(wanted, api, egress)
    setup = ApiSetup(
        name=wanted.name,
        source=source,
        digest=hashlib.sha256(found.content).hexdigest(),
        etag=found.etag,
        api=api,
        only=wanted.only,
        server=server,
        credentials=credentials,
        idempotency_header=wanted.idempotency_header,
        results=results,
        search=wanted.search if wanted.search is not None else len(api.operations) > MANY and not wanted.only,
        whole=whole,
    )
    setup = msgspec.structs.replace(setup, origins=_origins(setup))
    if guard is None:
        await check_servers(setup.origins, egress)
    return setup


def updated(before: ApiSetup, after: ApiSetup) -> ApiSetup:
    """A newer document of an API. What a person approved stays approved where it has not changed, and requests go
    nowhere that was not confirmed before.
    """
    return msgspec.structs.replace(
        after,
        approved=before.approved,
        origins=before.origins,
        credentials=before.credentials,
        sinks=before.sinks,
    )


def _read(
    document: JsonObject, address: str, load: Load, only: Sequence[str]
) -> tuple[ApiDocument, dict[str, JsonObject], JsonObject]:
    reader = DocumentReader(document, address, load)
    api = _sound(reader.api())
    chosen = tuple(each for each in api.operations if not only or any(_is_meant(each, one) for one in only))
    if not api.operations and api.refused:
        raise UsageError("no operation of the document can be used: {reasons}", reasons="; ".join(refusals(api)))
    if not chosen:
        known = ", ".join(sorted({tag for each in api.operations for tag in each.tags})[:20])
        raise UsageError("no operation was chosen; the tags of the document are: {known}", known=known or "none")
    whole = {each.tool.name: argument_schema(reader, each) for each in chosen if each.cut}
    return msgspec.structs.replace(api, operations=chosen), whole, result_schemas(reader, chosen)


def _sound(api: ApiDocument) -> ApiDocument:
    """The document without the operations whose arguments could not be checked: such a tool costs itself alone."""
    kept: list[ApiOperation] = []
    refused = list(api.refused)
    for each in api.operations:
        try:
            compile_schema(each.tool.parameters, where=each.tool.name, foreign=True)
            kept.append(each)
        except BadTool as error:
            refused.append(RefusedOperation(each.method, each.path, each.pointer, str(error)))
    return msgspec.structs.replace(api, operations=tuple(kept), refused=tuple(refused))


def refusals(api: ApiDocument) -> list[str]:
    """What of a document can't be used, or is not checked, each in a line for a person; of many, how many more."""
    refused = [f"{each.method} {each.path} at {each.pointer}: {each.reason}" for each in api.refused]
    unchecked = [
        f"{place} is not checked: no such pattern is known here: {said}" for place, said in api.unchecked.items()
    ]
    found: list[str] = []
    for lines in (refused, unchecked):
        found += lines[:TOLD_MAX]
        if len(lines) > TOLD_MAX:
            found.append(f"and {len(lines) - TOLD_MAX} more")
    return found


async def check_servers(origins: Sequence[str], egress: Egress, resolve: Resolve | None = None) -> None:
    """See that requests to servers that a person names would leave. A name that is not known now may be known later.

    Args:
        origins: scheme, host and port of each server.
        egress: the operator's rules.
        resolve: looks names up; the system's resolver by default.

    Raises:
        UsageError: an address is one that is never reached, or that the operator's rules close.
    """
    guard = Guard(named=origins, egress=egress, resolve=resolve)
    for place in origins:
        try:
            async with asyncio.timeout(LOOK_UP_S_MAX):
                await guard.check(place)
        except AddressRefused as why:
            raise UsageError("{place} can not be called: {why}", place=place, why=why) from None
        except (HttpFailure, TimeoutError):
            continue


def _is_meant(operation: ApiOperation, pattern: str) -> bool:
    said = (operation.tool.name, operation.operation_id, f"{operation.method} {operation.path}", *operation.tags)
    return any(fnmatchcase(each, pattern) for each in said)


def _server(given: str, api: ApiDocument) -> str:
    """The base address that a person gave, checked; empty for those of the document, which must have some."""
    if given:
        if not given.startswith(("https://", "http://")) or not origin(given)[1]:
            raise UsageError("--server: give the base address of the API, as in --server https://api.example.com/v1")
        return given.rstrip("/")
    for each in api.operations:
        if not each.servers or not each.servers[0].address().startswith(("https://", "http://")):
            raise UsageError(
                "the document does not say where the API is: give --server, as in --server https://api.example.com/v1"
            )
    return ""


def _origins(setup: ApiSetup) -> tuple[str, ...]:
    """Where the requests of an API would go."""
    found = (origin(setup.address_of(each)) for each in setup.api.operations)
    return tuple(
        f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}" for scheme, host, port in dict.fromkeys(found)
    )


async def _credentials(wanted: ApiChoice, api: ApiDocument, egress: Egress) -> dict[str, Credential]:
    found: dict[str, Credential] = {}
    for named, secret in wanted.secrets.items():
        if named not in api.schemes:
            known = names_or_none(api.schemes)
            raise UsageError("the document has no security scheme {named!r}; it has: {known}", named=named, known=known)
        found[named] = SecretCredential(secret)
    for name, scheme in api.schemes.items() if wanted.oauth_client else ():
        credential = await _oauth(wanted, api, scheme, egress) if name not in found else None
        if credential is not None:
            found[name] = credential
    if wanted.oauth_client and not any(isinstance(each, OAuthCredential) for each in found.values()):
        raise UsageError(
            "the document has no OAuth 2.0 flow that can be used (client credentials, or a log-in by authorization "
            "code), with https:// addresses"
        )
    return found


async def _oauth(wanted: ApiChoice, api: ApiDocument, scheme: SecurityScheme, egress: Egress) -> OAuthCredential | None:
    """How tokens are got for a scheme: by the program itself where the document offers that, else by a log-in."""
    client, _, password = wanted.oauth_client.partition(":")
    asked = {
        scope
        for one in api.operations
        for needed in one.security
        for each in needed
        if each.scheme == scheme.name
        for scope in each.scopes
    }
    issuer = await _issuer(scheme.discovery, egress) if scheme.discovery else IssuerMetadata()
    if scheme.kind == "openIdConnect":
        page, endpoint = issuer.authorization_endpoint, issuer.token_endpoint
        asked |= {"openid", *({"offline_access"} & set(issuer.scopes_supported))}
    else:
        program = scheme.flows.get("clientCredentials")
        if isinstance(program, dict) and not wanted.login and is_safe(program.get("tokenUrl")):
            return OAuthCredential(str(program["tokenUrl"]), client, password)
        person = scheme.flows.get("authorizationCode")
        if not isinstance(person, dict):
            return None
        page, endpoint = str(person.get("authorizationUrl")), str(person.get("tokenUrl"))
    if not (is_safe(page) and is_safe(endpoint)):
        return None
    back = issuer.revocation_endpoint if is_safe(issuer.revocation_endpoint) else ""
    return OAuthCredential(endpoint, client, password, scopes=tuple(sorted(asked)), login_url=page, revoke_url=back)


async def _issuer(address: str, egress: Egress) -> IssuerMetadata:
    """The settings of an issuer; empty ones where it has none that can be used."""
    if not is_safe(address):
        return IssuerMetadata()
    read = await read_source(address, egress)
    try:
        return read_issuer(read.content)
    except BadMetadata:
        raise UsageError("the settings of the issuer at {address} can not be read", address=address) from None


def _beside(address: str, document: str) -> JsonObject:
    """Another file of a document. A link on the disk leads to no other folder."""
    path, folder = (Path(_path_of(each)).resolve() for each in (address, document))
    if not path.is_relative_to(folder.parent):
        raise BadDocument("a file outside of the document's own folder is not read")
    try:
        if path.stat().st_size > BYTES_MAX:
            raise BadDocument("a file of the document has more than {most} bytes", most=BYTES_MAX)
        return read_text(read_named(path))
    except OSError as error:
        raise BadDocument("a file of the document can not be read: {why}", why=error.strerror) from None


def _path_of(address: str) -> str:
    return unquote(urlsplit(address).path)
