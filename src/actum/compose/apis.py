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

from ..core.errors import UsageError
from ..core.json import JsonObject
from ..core.secret_store import SecretValue
from ..core.user import User
from ..protocols.openapi.model import ApiDocument, ApiOperation, BadDocument
from ..protocols.openapi.reading import DocumentReader, argument_schema, result_schemas
from ..protocols.openapi.references import Load
from ..protocols.openapi.setup import ApiSetup, Credential, OAuthCredential, SecretCredential
from ..protocols.openapi.text import BYTES_MAX, read_text
from ..storage.apis import ApiStore
from ..storage.place import state_folder
from ..toolsets.http.credentials import Keep
from ..toolsets.http.finder import ApiFinder
from ..toolsets.http.toolset import ApiToolset
from ..transport.egress import Egress
from ..transport.fetcher import Fetcher
from ..transport.guard import Guard, origin
from ..transport.http import HttpFailure
from .secrets import secret_file

READ_S_MAX = 60.0
MANY = 100
"""More operations are not offered each by itself, unless a person says so: providers refuse more than 128 tools."""


class ApiChoice(NamedTuple):
    """What a person wants of a document.

    Attributes:
        name: what the API is called here.
        only: patterns of operations: of a tool's name, a tag, or `METHOD /path`; empty for all.
        server: the base address, instead of those of the document.
        secrets: by security scheme, the name of the secret with its credential.
        oauth_client: for schemes of OAuth 2.0: the client's id, and behind a colon the name of the secret with its
            password.
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
    toolset = ApiToolset(api_store(environment).get(name), egress=egress, keep=keeping)
    return ApiFinder(toolset) if toolset.setup.search else toolset


async def read_source(source: str, egress: Egress, etag: str = "") -> DocumentSource:
    """A document from a file or an address.

    Args:
        source: a path, or an address with `https://`.
        egress: the operator's rules.
        etag: of the document that is known; where it is still the same, the content is empty.

    Raises:
        UsageError: it can not be read.
    """
    if "://" not in source or source.startswith("file://"):
        return await asyncio.to_thread(_of_file, source)
    fetcher = _fetcher(source, egress)
    try:
        answer = await fetcher.get(source, {"if-none-match": etag} if etag else None)
    except HttpFailure as failure:
        raise UsageError(f"the document can not be read: {failure}") from None
    finally:
        await fetcher.aclose()
    if answer.status == 304 and etag:
        return DocumentSource(answer.url, b"", etag)
    if answer.status != 200:
        raise UsageError(f"the document can not be read: its server answers with status {answer.status}")
    return DocumentSource(answer.url, answer.body, answer.headers.get("etag", ""))


def _of_file(source: str) -> DocumentSource:
    path = Path(_path_of(source)) if source.startswith("file:") else Path(source).expanduser().absolute()
    try:
        if path.stat().st_size > BYTES_MAX:
            raise UsageError(f"{path} has more than {BYTES_MAX} bytes")
        return DocumentSource(path.as_uri(), path.read_bytes())
    except OSError as error:
        raise UsageError(f"{path} can not be read: {error.strerror}") from None


async def set_up(wanted: ApiChoice, source: str, found: DocumentSource, egress: Egress) -> ApiSetup:
    """An API of a document, of which no operation is approved yet.

    Raises:
        BadDocument: the document can not be used.
        UsageError: nothing of it was chosen, a server is missing, or a credential can not be.
    """
    document = read_text(found.content)
    loop = asyncio.get_running_loop()

    def load(address: str) -> JsonObject:
        if address.startswith("file:"):
            return _beside(address, found.address)
        read = asyncio.run_coroutine_threadsafe(read_source(address, egress), loop).result(READ_S_MAX)
        return read_text(read.content)

    api, whole, results = await asyncio.to_thread(_read, document, found.address, load, wanted.only)
    server = _server(wanted.server, api)
    setup = ApiSetup(
        name=wanted.name,
        source=source,
        digest=hashlib.sha256(found.content).hexdigest(),
        etag=found.etag,
        api=api,
        only=wanted.only,
        server=server,
        credentials=_credentials(wanted, api),
        idempotency_header=wanted.idempotency_header,
        results=results,
        search=wanted.search if wanted.search is not None else len(api.operations) > MANY and not wanted.only,
        whole=whole,
    )
    return msgspec.structs.replace(setup, origins=_origins(setup))


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
    api = reader.api()
    chosen = tuple(each for each in api.operations if not only or any(_is_meant(each, one) for one in only))
    if not chosen:
        known = ", ".join(sorted({tag for each in api.operations for tag in each.tags})[:20])
        raise UsageError(f"no operation was chosen; the tags of the document are: {known or 'none'}")
    whole = {each.tool.name: argument_schema(reader, each) for each in chosen if each.cut}
    return msgspec.structs.replace(api, operations=chosen), whole, result_schemas(reader, chosen)


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


def _credentials(wanted: ApiChoice, api: ApiDocument) -> dict[str, Credential]:
    found: dict[str, Credential] = {}
    for named, secret in wanted.secrets.items():
        if named not in api.schemes:
            known = ", ".join(api.schemes) or "none"
            raise UsageError(f"the document has no security scheme {named!r}; it has: {known}")
        found[named] = SecretCredential(secret)
    client, _, password = wanted.oauth_client.partition(":")
    for name, scheme in api.schemes.items() if client else ():
        flow = scheme.flows.get("clientCredentials")
        address = flow.get("tokenUrl") if isinstance(flow, dict) else None
        if name not in found and isinstance(address, str) and address.startswith("https://"):
            found[name] = OAuthCredential(address, client, password)
    if client and not any(isinstance(each, OAuthCredential) for each in found.values()):
        raise UsageError("the document has no OAuth 2.0 flow for client credentials with an https:// token endpoint")
    return found


def _fetcher(source: str, egress: Egress) -> Fetcher:
    return Fetcher(Guard(source, egress=egress), bytes_max=BYTES_MAX, seconds_max=READ_S_MAX)


def _beside(address: str, document: str) -> JsonObject:
    """Another file of a document. A link on the disk leads to no other folder."""
    path, folder = (Path(_path_of(each)).resolve() for each in (address, document))
    if not path.is_relative_to(folder.parent):
        raise BadDocument("a file outside of the document's own folder is not read")
    try:
        if path.stat().st_size > BYTES_MAX:
            raise BadDocument(f"a file of the document has more than {BYTES_MAX} bytes")
        return read_text(path.read_bytes())
    except OSError as error:
        raise BadDocument(f"a file of the document can not be read: {error.strerror}") from None


def _path_of(address: str) -> str:
    return unquote(urlsplit(address).path)
