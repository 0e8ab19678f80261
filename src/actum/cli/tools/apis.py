"""`actum tools add openapi`, `actum tools add http`, `update` and `rm`: APIs as tools.

What a document says is shown before anything is kept: its operations, and the servers that will get credentials.
"""

from __future__ import annotations

import asyncio
import os
import webbrowser
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, cast, get_args

import msgspec
import typer

from ...compose.apis import (
    MANY,
    ApiChoice,
    api_logins,
    api_store,
    check_servers,
    log_in,
    log_out,
    login_of,
    read_source,
    refusals,
    set_up,
    updated,
)
from ...core.errors import UsageError
from ...core.json import Json, JsonObject, JsonProblem, dumps, parse
from ...core.tool import Effects
from ...core.user import User
from ...protocols.definition_changes import differences
from ...protocols.openapi.endpoint import EndpointTemplate, from_curl, setup_of
from ...protocols.openapi.setup import ApiSetup, OAuthCredential
from ...protocols.plain_text import shown
from ...storage.tokens import Granted
from ...toolsets.http.credentials import schemes_without
from ...toolsets.http.token import ApiLogin
from ...transport.loopback import Loopback
from .. import options
from ..exit_codes import DONE, FAILED
from ..language import tr
from ..login import Open, TerminalLogin
from ..show.terminal import Terminal, said, styled, who

app = typer.Typer(help="Add an API: a whole document, or one HTTP endpoint.", no_args_is_help=True)

BYTES_PER_TOKEN = 4
ApiName = Annotated[str, typer.Argument(metavar="NAME", help="What the API is called here.")]
SchemeFlag = Annotated[str, typer.Option("--scheme", metavar="NAME", help="The security scheme, where there are some.")]
UserFlag = Annotated[
    str | None,
    typer.Option("--user", metavar="NAME", help="Who logs in, where it is not you; '' for users without a name."),
]
TenantFlag = Annotated[str, typer.Option("--tenant", metavar="NAME", help="The tenant of the user.")]
YesFlag = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask. Look first.")]
SecretFlag = Annotated[
    list[str] | None,
    typer.Option(
        "--secret", metavar="WHERE=SECRET", help="The secret with the credential of a scheme of the document."
    ),
]
SinksFlag = Annotated[
    bool, typer.Option("--accept-sinks", help="Accept which arguments are shown to say where something goes.")
]
KeyFlag = Annotated[
    str, typer.Option("--idempotency-header", metavar="NAME", help="The API takes an idempotency key in this header.")
]


@app.command("openapi")
def add_openapi(
    source: Annotated[str, typer.Argument(metavar="FILE | URL", help="The OpenAPI or Swagger document.")],
    name: Annotated[str, typer.Option("--name", "-n", metavar="NAME", help="What the API is called here.")],
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="PATTERN", help="Only operations with this name, tag, or 'METHOD /path'."),
    ] = None,
    server: Annotated[str, typer.Option("--server", metavar="URL", help="The base address of the API.")] = "",
    secret: SecretFlag = None,
    oauth_client: Annotated[
        str, typer.Option("--oauth-client", metavar="ID[:SECRET]", help="The client for OAuth 2.0 and OpenID Connect.")
    ] = "",
    login: Annotated[bool, typer.Option("--login", help="Each user logs in, as with `actum tools login`.")] = False,
    idempotency_header: KeyFlag = "",
    offer_all: Annotated[
        bool, typer.Option("--all", help="Offer each operation as a tool, however many there are.")
    ] = False,
    search: Annotated[
        bool, typer.Option("--search", help="Offer a search among the operations instead of each of them.")
    ] = False,
    sinks: SinksFlag = False,
    yes: YesFlag = False,
) -> int:
    """Add an API from its document. Its operations are used with --tools openapi:NAME.

    For instance: actum tools add openapi https://api.example.com/openapi.json --name example --only pets
    """
    if offer_all and search:
        raise UsageError("give --all or --search, not both")
    wanted = ApiChoice(
        said(name),
        tuple(said(each) for each in only or ()),
        said(server),
        _pairs(secret, "--secret"),
        said(oauth_client),
        said(idempotency_header),
        True if search else False if offer_all else None,
        login,
    )
    return DONE if add_document(Terminal(), said(source), wanted, accepted=sinks, yes=yes) else FAILED


def add_document(terminal: Terminal, source: str, wanted: ApiChoice, *, accepted: bool = False, yes: bool) -> bool:
    """Show an API of a document, and keep it if a person agrees.

    Args:
        terminal: of the person.
        source: the file or address of the document.
        wanted: what of it.
        accepted: the arguments that are shown as outward are accepted as such.
        yes: the person agrees beforehand.

    Returns:
        Whether it was kept.
    """
    egress, store = options.egress(), api_store(os.environ)

    async def read() -> ApiSetup:
        found = await read_source(source, egress)
        return await set_up(wanted, found.address if "://" not in source else source, found, egress)

    setup = asyncio.run(read())
    _show(terminal, setup, setup.held())
    if setup.search:
        terminal.note(tr("The model is offered a search among these tools: see --only and --all."))
    elif len(setup.api.operations) > MANY:
        terminal.note(tr("These are many tools for one prompt: choose with --only."))
    if not agreed(terminal, "use this API as shown?  [y]es  [n]o: ", yes=yes):
        return False
    store.put(_with_sinks(terminal, setup, accepted=accepted, yes=yes).approving())
    terminal.note(tr("Added. Use it with --tools openapi:{name}", name=setup.name))
    if any(isinstance(each, OAuthCredential) and each.login_url for each in setup.credentials.values()):
        terminal.note(tr("Each user logs in: actum tools login {name}", name=setup.name))
    return True


@app.command("http")
def add_http(
    name: ApiName,
    url: Annotated[str, typer.Argument(metavar="URL", help="The address, with {argument} in path and query.")] = "",
    method: Annotated[str, typer.Option("--method", "-X", metavar="METHOD", help="The method of HTTP.")] = "GET",
    description: Annotated[str, typer.Option("--description", metavar="TEXT", help="What it does.")] = "",
    header: Annotated[
        list[str] | None, typer.Option("--header", metavar="NAME:VALUE", help="A header, without credentials.")
    ] = None,
    body: Annotated[str, typer.Option("--body", metavar="JSON", help="The body, with {argument} in its texts.")] = "",
    secret: Annotated[
        list[str] | None,
        typer.Option(
            "--secret", metavar="WHERE=SECRET", help="Where a secret stands: bearer, basic, header:NAME, query:NAME."
        ),
    ] = None,
    effects: Annotated[
        list[str] | None, typer.Option("--effects", metavar="EFFECT", help="What a call does, such as read or send.")
    ] = None,
    idempotency_header: KeyFlag = "",
    pick: Annotated[
        str, typer.Option("--pick", metavar="JMESPATH", help="The part of a JSON answer that the model sees.")
    ] = "",
    sinks: SinksFlag = False,
    curl: Annotated[str, typer.Option("--curl", metavar="LINE", help="Take all of it from a cURL line.")] = "",
    yes: YesFlag = False,
) -> int:
    """Add one HTTP endpoint as a tool. It is used with --tools http:NAME.

    For instance: actum tools add http weather 'https://api.example.com/now?city={city}'
    """
    terminal = Terminal()
    secrets: Sequence[str] = ()
    if curl:
        endpoint, secrets = from_curl(said(curl), said(name))
    else:
        endpoint = EndpointTemplate(
            name=said(name),
            method=said(method).upper(),
            url=said(url),
            headers=dict(options.header(said(each)) for each in header or ()),
            body=_json(said(body)),
            secrets=_pairs(secret, "--secret"),
        )
    endpoint = msgspec.structs.replace(
        endpoint,
        description=said(description) or endpoint.description,
        effects=_effects(effects),
        idempotency_header=said(idempotency_header),
        pick=said(pick),
    )
    setup = setup_of(endpoint)
    asyncio.run(check_servers(setup.origins, options.egress()))
    _show(terminal, setup, [setup.name])
    if not agreed(terminal, "use this API as shown?  [y]es  [n]o: ", yes=yes):
        return FAILED
    api_store(os.environ).put(_with_sinks(terminal, setup, accepted=sinks, yes=yes))
    for each in secrets:
        terminal.note(tr("Set its credential: actum secrets set {name}", name=each))
    terminal.note(tr("Added. Use it with --tools http:{name}", name=setup.name))
    return DONE


def update(name: ApiName, yes: YesFlag = False) -> int:
    """Read the document of an API again. What has changed is shown, and is held until you approve it."""
    terminal, egress, store = Terminal(), options.egress(), api_store(os.environ)
    before = store.get(said(name))
    if not before.source:
        raise UsageError("this is an endpoint that was described by hand: add it again to change it")
    wanted = ApiChoice(
        before.name, before.only, before.server, idempotency_header=before.idempotency_header, search=before.search
    )

    async def read() -> ApiSetup | None:
        found = await read_source(before.source, egress, before.etag)
        return updated(before, await set_up(wanted, before.source, found, egress)) if found.content else None

    setup = asyncio.run(read())
    held = setup.held() if setup is not None else ()
    if setup is None or (setup.digest == before.digest and not held):
        terminal.note(tr("Nothing has changed."))
        return DONE
    store.put(setup)  # from here on the changed operations are held
    known = {each.tool.name: before.definition_of(each) for each in before.api.operations}
    _show(terminal, setup, held, known)
    if held and not agreed(terminal, "approve these operations as shown?  [y]es  [n]o: ", yes=yes):
        return FAILED
    store.put(setup.approving())
    return DONE


def remove(name: ApiName) -> int:
    """Remove an API. Its secrets are kept."""
    terminal = Terminal()
    if api_store(os.environ).remove(said(name)):
        terminal.note(tr("The API {name} is removed.", name=said(name)))
        return DONE
    terminal.error(tr("There is no API {name}.", name=said(name)))
    return FAILED


def login(
    name: ApiName,
    scheme: SchemeFlag = "",
    user: UserFlag = None,
    tenant: TenantFlag = "",
    port: Annotated[int, typer.Option("--port", help="Where the browser comes back to; 0 for any port.")] = 0,
    paste: Annotated[bool, typer.Option("--paste", help="The browser runs on another machine.")] = False,
) -> int:
    """Log in at an API, in a browser. Nothing opens without a yes."""
    terminal = Terminal()
    owner = User(said(tenant), who() if user is None else said(user))
    wanted = login_of(api_store(os.environ).get(said(name)), said(scheme), owner, os.environ)
    granted = asyncio.run(by_browser(wanted, terminal, port=port, paste=paste))
    terminal.note(tr("{user} is logged in at {site}.", user=owner.principal, site=granted.issuer))
    return DONE


async def by_browser(
    wanted: ApiLogin, terminal: Terminal, *, port: int = 0, paste: bool = False, open_link: Open = webbrowser.open
) -> Granted:
    """A user logs in, in a browser of this machine or of another.

    Raises:
        LoginFailed, Unavailable: as by `compose.apis.log_in`.
    """
    async with Loopback(port) as loopback:
        person = TerminalLogin(terminal, loopback, paste=paste, open_link=open_link)
        return await log_in(wanted, person, api_logins(os.environ), options.egress())


def logout(name: ApiName, scheme: SchemeFlag = "", user: UserFlag = None, tenant: TenantFlag = "") -> int:
    """Forget the log-in at an API, and give the token back to its issuer."""
    terminal = Terminal()
    owner = User(said(tenant), who() if user is None else said(user))
    setup = api_store(os.environ).get(said(name))
    done = asyncio.run(log_out(setup, said(scheme), owner, os.environ, options.egress()))
    if not done.logins:
        terminal.error(tr("{user} was not logged in at {name}.", user=owner.principal, name=setup.name))
        return FAILED
    terminal.note(tr("{user} is logged out of {name}.", user=owner.principal, name=setup.name))
    if not done.told:
        terminal.note(tr("Its issuer could not be told: the token holds there until its end."))
    return DONE


def _show(
    terminal: Terminal, setup: ApiSetup, names: Sequence[str], before: Mapping[str, JsonObject] = MappingProxyType({})
) -> None:
    """What a person looks at before an API is used.

    Args:
        terminal: of the person.
        setup: the API.
        names: the tools that are shown.
        before: by tool, the definition that the person approved.
    """
    for operation in setup.api.operations:
        if operation.tool.name in names:
            terminal.line("tool", styled((operation.tool.name, "bold yellow")), "yellow")
            definition = setup.definition_of(operation)
            known = before.get(operation.tool.name)
            for change in differences(known, definition) if known else ():
                terminal.line("change", change, "red")
            for part, said in definition.items():
                terminal.line(part, shown(said if isinstance(said, str) else dumps(said)))
            if operation.proposed_sinks and not operation.tool.reads_only:
                terminal.line("outward", shown(", ".join(operation.proposed_sinks)))
    cost = sum(len(msgspec.json.encode([each.tool.description, each.tool.parameters])) for each in setup.api.operations)
    count = str(len(setup.api.operations))
    terminal.line("tools", tr("{count}, about {tokens} tokens", count=count, tokens=str(cost // BYTES_PER_TOKEN)))
    for line in refusals(setup.api):
        terminal.line("refused", shown(line), "red")
    for place in setup.origins:
        terminal.line("server", styled((shown(place), "bold")))
    for scheme, credential in setup.credentials.items():
        at = f" ({credential.token_url})" if isinstance(credential, OAuthCredential) else f" = {credential.secret}"
        terminal.line("sends", shown(scheme + at))
        if isinstance(credential, OAuthCredential) and credential.login_url:
            scopes = f": {' '.join(credential.scopes)}" if credential.scopes else ""
            terminal.line("log-in", shown(credential.login_url + scopes))
            if credential.revoke_url:
                terminal.line("log-out", shown(credential.revoke_url))
    for scheme, kind in schemes_without(setup).items():
        terminal.note(tr("no credential is set up for {scheme} ({kind}): --secret", scheme=shown(scheme), kind=kind))


def _with_sinks(terminal: Terminal, setup: ApiSetup, *, accepted: bool, yes: bool) -> ApiSetup:
    """The API with the arguments that say where something goes, if a person accepts the proposal. Otherwise an approval
    for a whole run covers the same arguments alone.
    """
    proposed = any(each.proposed_sinks and not each.tool.reads_only for each in setup.api.operations)
    if proposed and not accepted and not yes and terminal.person:
        question = "do the arguments shown as outward, and no others, say where something goes?  [y]es  [n]o: "
        accepted = (terminal.ask(question) or "").strip().lower() in ("y", "yes")
    return msgspec.structs.replace(setup, sinks=accepted)


def agreed(terminal: Terminal, question: str, *, yes: bool) -> bool:
    """Whether a person says yes. Nobody does where no person is there and `yes` was not given."""
    typed = "y" if yes else terminal.ask(question) if terminal.person else None
    if (typed or "").strip().lower() in ("y", "yes"):
        return True
    terminal.note(tr("Nothing was approved."))
    return False


def _pairs(given: Sequence[str] | None, flag: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for each in given or ():
        where, sign, value = said(each).partition("=")
        if not sign or not where or not value:
            raise UsageError(
                "{flag} {given}: give a place and the name of a secret, as in {same} bearer=crm_key",
                flag=flag,
                given=each,
                same=flag,
            )
        found[where] = value
    return found


def _json(text: str) -> Json:
    try:
        return parse(text)[0] if text else None
    except JsonProblem as problem:
        raise UsageError("--body is not JSON: {why}", why=problem) from None


def _effects(given: Sequence[str] | None) -> frozenset[Effects] | None:
    if not given:
        return None
    if wrong := sorted(set(given) - set(get_args(Effects))):
        raise UsageError(
            "--effects {kind}: an effect is one of {known}", kind=wrong[0], known=", ".join(get_args(Effects))
        )
    return frozenset(cast("list[Effects]", given))
