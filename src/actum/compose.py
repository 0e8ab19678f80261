"""Builds objects out of settings: a model, tools, a journal, an agent. The one place that knows every class.

Settings are words: from `actum.toml` in the working directory, then the environment (`ACTUM_MODEL`, `ACTUM_BASE_URL`,
`ACTUM_JOURNAL`, `ACTUM_JOURNAL_KEY_FILE`, `ACTUM_POLICY`), then what the caller says; the later wins. `ACTUM_API_KEY`
is no setting: it is read where a model is opened and stands in no object that is printed.

Tools and models may be named by a Python file or module of the user's own. Naming one runs it, as `python file.py`
does.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import importlib.util
import inspect
import os
import re
import sys
import tomllib
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Protocol, TypeGuard, cast
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from .agents.agent import Agent
from .call.limits.limits import Limits
from .core.budget import Price
from .core.errors import ActumError, JournalError, UnknownName, UsageError
from .core.interfaces import Approver, Journal, Model, Toolset
from .core.json import Json, JsonObject, JsonProblem, parse_object
from .core.tool import Tool
from .journal.memory import MemoryJournal
from .models.catalog import PROVIDERS, URL_KEY_VARIABLE, open_model
from .policy.file import PolicyFile
from .policy.rules import CAREFUL, Rules
from .protocols.mcp.config import McpServer
from .protocols.mcp.document import Read, read_servers, server_of
from .runs.runner import Runner, Toolish
from .storage.pins import PinStore
from .storage.place import SCHEMES, state_folder, tokens_path
from .storage.place import open_journal as open_at
from .storage.postgres import address
from .storage.tokens import TokenStore
from .storage.whole_file import alone_with, replace
from .toolsets.everyday import everyday_tools
from .toolsets.function.function import FunctionTool

if TYPE_CHECKING:
    from httpx2 import Auth

    from .toolsets.mcp import McpFinder, McpHost, McpToolset

    class _McpModule(Protocol):
        McpFinder: type[McpFinder]
        McpHost: type[McpHost]
        McpToolset: type[McpToolset]

        @staticmethod
        def oauth_of(server: McpServer, store: TokenStore, *, secrets: Mapping[str, str]) -> Auth | None: ...


EMBEDDED = "embedded"
EVERYDAY = "everyday"
MINE = "mine"
FINDER = "mcp"
MEMORY = "memory"
SETTINGS_FILE = "actum.toml"
ENVIRONMENT = {
    "ACTUM_MODEL": "model",
    "ACTUM_BASE_URL": "base_url",
    "ACTUM_JOURNAL": "journal",
    "ACTUM_JOURNAL_KEY_FILE": "journal_key",
    "ACTUM_POLICY": "policy",
}
"""Which variable is which setting."""
KEY_BYTES_MIN = 16
MCP_WAIT_S = 5.0
SECRET = "ACTUM_SECRET_"


class SettingsFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What can be set.

    Attributes:
        model: a model's name, an address with `#name`, or `file.py:name` of a `Model` object; empty for the embedded
            one.
        base_url: the OpenAI-compatible endpoint at which `model` is a name.
        tools: `everyday`, `file.py`, `file.py:name` or `module:name`; `none` for no tools. `mcp` for the two tools by
            which a model finds the tools of MCP servers itself, instead of being shown all of them.
        mcp: MCP servers: `mine` for those that were added with `actum mcp add`, the name of one of them, an address, or
            a file of them; `none` for none.
        dialect: how the model says a call.
        instructions: the system prompt.
        journal: the journal's file, or the `postgresql://` address of its database; `memory` for none; empty for the
            person's own.
        journal_key: the file that holds the key with which the journal's heads are signed; empty to sign none.
        policy: the policy's file; empty for the one that asks before every declared side effect.
        limits: how much a run may use.
        prices: what models cost, by their names.
        mcp_wait: seconds for which a run waits for MCP servers of which nothing is known yet, all side by side.
        speaks_for_user: clients of `actum mcp serve` that say only what their user said, so that rules take their
            values as the user's: `local` for the program that has no key, `shared` for the one of `--key-env`, or the
            id of a client of `--issuer`.
    """

    model: str = ""
    base_url: str = ""
    tools: tuple[str, ...] = (EVERYDAY,)
    mcp: tuple[str, ...] = (MINE,)
    dialect: str = "auto"
    instructions: str = ""
    journal: str = ""
    journal_key: str = ""
    policy: str = ""
    limits: Limits = Limits()
    prices: dict[str, Price] = {}
    mcp_wait: float = MCP_WAIT_S
    speaks_for_user: tuple[str, ...] = ()


class Settings(SettingsFile, frozen=True, kw_only=True):
    """What a person set, as words.

    Attributes:
        sources: where a setting comes from: `actum.toml`, a variable, or `flag`; only those that were set are in it.
    """

    sources: dict[str, str] = {}

    def __repr__(self) -> str:  # the address of a journal may hold a password
        shown = msgspec.structs.asdict(self) | {"journal": shown_journal(self.journal)}
        return f"Settings({', '.join(f'{name}={value!r}' for name, value in shown.items())})"


def read_settings(
    folder: Path, environment: Mapping[str, str], said: Mapping[str, str | Sequence[str] | JsonObject | None]
) -> Settings:
    """The settings that hold: the file's, under the environment's, under what was said.

    Args:
        folder: where `actum.toml` may lie.
        environment: the process's variables.
        said: what the caller set; None and the empty count as not set. Of a table only what it names is set.

    Raises:
        UsageError: the file is no TOML, or sets what is no setting.
    """
    path = folder / SETTINGS_FILE
    try:
        found: dict[str, object] = tomllib.loads(path.read_text("utf-8")) if path.is_file() else {}
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} can not be read: {error}") from None
    sources = dict.fromkeys(found, SETTINGS_FILE)
    for variable, name in ENVIRONMENT.items():
        if environment.get(variable):
            found[name], sources[name] = environment[variable], variable
    for name, value in said.items():
        if value:
            before, sources[name] = found.get(name), "flag"
            found[name] = before | value if isinstance(before, dict) and isinstance(value, dict) else value
    try:
        words = msgspec.convert(found, SettingsFile)
    except msgspec.ValidationError as error:
        what, kind = ("limits", Limits) if "$.limits" in str(error) else ("settings", SettingsFile)
        where = path if path.is_file() else "the settings"
        raise UsageError(f"{where}: {error}. The {what} are: {', '.join(kind.__struct_fields__)}") from None
    return Settings(**msgspec.structs.asdict(words), sources=sources)


def journal_path(settings: Settings, environment: Mapping[str, str]) -> Path:
    """The journal's file: the one that was set, else the person's own, in the state folder of the XDG specification.

    Raises:
        JournalError: there is no home folder.
    """
    if settings.journal:
        return Path(settings.journal).expanduser()
    try:
        return state_folder(environment) / "journal.db"
    except UsageError:
        raise JournalError("there is no home folder to keep the journal in") from None


def shown_journal(word: str) -> str:
    """The journal that was set, as it may be shown: an address without its password."""
    return address(word) if word.startswith(SCHEMES) else word


def journal_place(settings: Settings, environment: Mapping[str, str]) -> str:
    """Where the journal is, for people: `memory`, a path, or an address without its password.

    Raises:
        JournalError: there is no home folder.
    """
    if settings.journal == MEMORY or settings.journal.startswith(SCHEMES):
        return shown_journal(settings.journal)
    return str(journal_path(settings, environment))


def open_journal(settings: Settings, environment: Mapping[str, str], *, older: bool = False) -> Journal:
    """The journal that the settings name; the person's own is for their eyes alone.

    Args:
        settings: name it.
        environment: the variables of this process.
        older: a journal of an older format is opened, too, to be verified and exported; nothing is written to it.

    Raises:
        JournalError: it can not be opened, is no journal, or is of an older format and `older` is not set.
        UsageError: there is no key in the file that was named for it, or psycopg is missing.
    """
    key = read_journal_key(settings.journal_key) if settings.journal_key else None
    if settings.journal == MEMORY:
        return MemoryJournal(key=key)
    if settings.journal.startswith(SCHEMES):
        return open_at(settings.journal, key=key, older=older)
    path = journal_path(settings, environment)
    if not settings.journal:
        with contextlib.suppress(OSError):  # the journal says better what is wrong
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    return open_at(path, key=key, older=older)


def read_journal_key(file: str) -> bytes:
    """The key in a file; a line end behind it is none of it, since editors and `echo` put one there."""
    try:
        key = Path(file).expanduser().read_bytes().rstrip(b"\r\n")
    except (OSError, RuntimeError) as error:
        raise UsageError(f"the key of the journal can not be read: {error}") from None
    if len(key) < KEY_BYTES_MIN:
        raise UsageError(
            f"the key of the journal in {file} has {len(key)} bytes, and needs {KEY_BYTES_MIN}: "
            f"make one with `openssl rand -hex 32 > {file}`"
        )
    return key


def make_model(settings: Settings) -> Model:
    """The model that the settings name: the user's own object, an endpoint, or the embedded model.

    Raises:
        UnknownName: there is no such model or dialect; the message says what there is.
        UsageError: a key is missing or would go where nobody sent it, or an address stands without a model.
    """
    name = _full_name(settings)
    if "://" in name:
        _keep_the_key(settings, name)
        return open_model(name, dialect=settings.dialect)
    place, _, _ = name.rpartition(":")
    own = _names_one(name) and place not in PROVIDERS and (place.endswith(".py") or _is_module(place))
    return open_model(_own_model(name) if own else name, dialect=settings.dialect)


def _full_name(settings: Settings) -> str:
    """The model's name, put behind the address that was set where it names no place itself."""
    name, url = settings.model, settings.base_url
    prefix, colon, _ = name.partition(":")
    placed = name == EMBEDDED or "://" in name or ".py:" in name or (colon and prefix in PROVIDERS)
    if not url or placed:
        return name or EMBEDDED
    if not name and "#" not in url:
        raise UsageError("base_url is set and no model: set ACTUM_MODEL to its name there, or give --model NAME")
    return f"{url}#{name}" if name else url


def _keep_the_key(settings: Settings, name: str) -> None:
    """A file in the working directory, which may be anybody's, does not decide where a person's key is sent.

    Raises:
        UsageError: it would.
    """
    source = settings.sources.get("model" if "://" in settings.model else "base_url")
    if source != SETTINGS_FILE or not os.environ.get(URL_KEY_VARIABLE):
        return
    if urlsplit(name).hostname not in ("127.0.0.1", "::1", "localhost"):
        raise UsageError(
            f"{SETTINGS_FILE} names the address {name}, and {URL_KEY_VARIABLE} would be sent there: "
            "set ACTUM_BASE_URL to that address if you mean it, or unset the key"
        )


def load_tools(names: Sequence[str], folder: Path) -> list[Toolish]:
    """The tools behind these names.

    Args:
        names: `everyday`, `none`, `file.py` (its `@tool` functions, or all its public functions where none is
            decorated), `file.py:name`, `module` or `module:name`.
        folder: where the everyday tools may look at files.

    Raises:
        UsageError: there is no such file, module or name, or it could not be loaded.
    """
    found: list[Toolish] = []
    for name in names:
        if name == EVERYDAY:
            found += everyday_tools(folder)
        elif name not in ("none", FINDER):
            found += _tools_in(name)
    return found


def load_things(name: str) -> list[object]:
    """What a place of the user's own holds, whatever it is.

    Args:
        name: `file.py` or `module` for all that is public there, `file.py:name` or `module:name` for one thing.

    Raises:
        UsageError: there is no such place or name, or it could not be loaded.
    """
    if not _names_one(name):
        return _public(_module(name))
    found = _named(name)
    return [*found] if isinstance(found, list | tuple) else [found]


def config_home(environment: Mapping[str, str]) -> Path:
    """The person's own configuration, in the folder of the XDG specification."""
    said = environment.get("XDG_CONFIG_HOME", "")
    return (Path(said) if said.startswith("/") else Path("~/.config").expanduser()) / "actum"


def mcp_file(environment: Mapping[str, str]) -> Path:
    """Where the person's MCP servers are configured, in the JSON that other clients know too."""
    return config_home(environment) / "mcp.json"


def mcp_pins(environment: Mapping[str, str]) -> PinStore:
    """What the person approved of MCP servers."""
    return PinStore(state_folder(environment) / "mcp-approved.json")


def mcp_keys(settings: Settings, environment: Mapping[str, str]) -> tuple[bytes, ...]:
    """The key with which a server that this user starts seals calls that wait; made when it is first needed.

    With a journal that outlives the process it does, too: a client may come back to another process of the same server.

    Raises:
        UsageError: it can not be kept.
    """
    if settings.journal == MEMORY:
        return ()
    path = state_folder(environment) / "mcp-seal.key"
    with alone_with(path):
        try:
            if not path.exists():
                replace(path, os.urandom(32))
            return (path.read_bytes(),)
        except OSError as error:
            raise UsageError(f"{path}: {error.strerror}") from None


def mcp_tokens(environment: Mapping[str, str]) -> TokenStore:
    """Where the person's logins at MCP servers are kept."""
    return TokenStore(tokens_path(environment))


def secrets_of(environment: Mapping[str, str]) -> dict[str, str]:
    """The secrets that a configuration names as `${secret:NAME}`: `ACTUM_SECRET_NAME` holds the one called `name`."""
    found = {name.removeprefix(SECRET): value for name, value in environment.items() if name.startswith(SECRET)}
    return found | {name.lower(): value for name, value in found.items()}


def read_document(path: Path) -> JsonObject:
    """A file of MCP servers: JSON, also with comments as some clients write it, or TOML.

    Raises:
        UsageError: it can not be read.
    """
    try:
        text = path.read_text("utf-8")
        return tomllib.loads(text) if path.suffix == ".toml" else parse_object(text)[0]
    except (OSError, ValueError, JsonProblem) as error:
        raise UsageError(f"{path} can not be read: {error}") from None


def find_servers(words: Sequence[str], environment: Mapping[str, str]) -> Read:
    """The MCP servers that are meant.

    Args:
        words: `mine`, names of these, addresses, files; `none`.

    Raises:
        UsageError: there is none of a name, or one is not configured as it should be.
    """
    mine = mcp_file(environment)
    own = _servers_in(mine, Path.home(), environment) if mine.is_file() else Read(())
    servers: list[McpServer] = []
    notes: list[str] = []
    for word in words:
        if word == MINE:
            servers, notes = [*servers, *own.servers], [*notes, *own.notes]
        elif "://" in word:
            servers.append(server_of(_host(word), word, environment))
        elif word.endswith((".json", ".toml")):
            file = Path(word).expanduser().absolute()
            read = _servers_in(file, file.parent, environment)
            servers, notes = [*servers, *read.servers], [*notes, *read.notes]
        elif word != "none":
            servers.append(_own_server(word, own.servers, mine))
    return Read(tuple({server.name: server for server in servers if not server.disabled}.values()), tuple(notes))


def own_server(name: str, entry: Json, environment: Mapping[str, str]) -> McpServer:
    """One of the person's own servers, as it is written down in their file.

    Raises:
        UsageError: it is not configured as it should be.
    """
    return _placed(server_of(name, entry, environment, folder=str(Path.cwd())), Path.home())


def _servers_in(file: Path, folder: Path, environment: Mapping[str, str]) -> Read:
    read = read_servers(read_document(file), environment, str(Path.cwd()))
    return msgspec.structs.replace(read, servers=tuple(_placed(server, folder) for server in read.servers))


def _placed(server: McpServer, folder: Path) -> McpServer:
    """A local server in the folder in which it is started, which is not whatever folder we are in: the same command
    line may run something else there, and was not approved for that.
    """
    if not server.command:
        return server
    return msgspec.structs.replace(server, cwd=str(folder / Path(server.cwd).expanduser()))


def _own_server(name: str, own: Sequence[McpServer], file: Path) -> McpServer:
    found = next((server for server in own if server.name == name), None)
    if found is None:
        known = ", ".join(server.name for server in own) or "none"
        raise UsageError(f"there is no MCP server {name!r} in {file}; there are: {known}. `actum mcp add` adds one")
    return msgspec.structs.replace(found, disabled=False)


def _host(url: str) -> str:
    """What a server at a bare address is called."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", urlsplit(url).netloc.rpartition("@")[2]).strip("-.") or "server"


def open_server(
    server: McpServer, environment: Mapping[str, str], *, unseen: bool = False, wait_s: float = MCP_WAIT_S
) -> McpToolset:
    """The toolset of a server, of which only what was approved is used. Whoever opens it closes it.

    Args:
        unseen: all of it can be used, for a look that calls nothing.
        wait_s: seconds for which a run waits for it, where nothing is known of it yet.
    """
    secrets = secrets_of(environment)
    auth = _mcp().oauth_of(server, mcp_tokens(environment), secrets=secrets)
    if unseen:
        return _mcp().McpToolset(server, approve="all", auth=auth, secrets=secrets)
    return _mcp().McpToolset(server, pins=mcp_pins(environment), auth=auth, secrets=secrets, wait_s=wait_s)


def open_mcp(
    servers: Sequence[McpServer], environment: Mapping[str, str], *, wait_s: float = MCP_WAIT_S
) -> McpHost | None:
    """A toolset of these servers; None where there are none.

    Whoever opens it closes it. A server is started when a tool of it is called, or where nothing is known of it.
    """
    if not servers:
        return None
    return _mcp().McpHost([open_server(server, environment, wait_s=wait_s) for server in servers])


def open_finder(host: McpHost | None) -> McpFinder:
    """`mcp_list_tools` and `mcp_call_tool`, for the servers of a host."""
    return _mcp().McpFinder(host or _mcp().McpHost([]), prefixes=("mcp", "mcp_sse"))


def _mcp() -> _McpModule:
    """The toolsets of MCP, loaded by name: the protocol's SDK takes half a second, and few commands need it."""
    return cast("_McpModule", importlib.import_module(".toolsets.mcp", __package__))


def make_agent(
    settings: Settings,
    model: Model,
    tools: Sequence[Toolish],
    *,
    journal: Journal,
    approver: Approver | None,
    name: str = "agent",
) -> Agent:
    """An agent around a model of `make_model`, and tools of `load_tools`.

    Without a policy of their own it asks before every declared side effect: whoever types a command has not read the
    tools' code.

    Raises:
        UsageError: the policy can not be read.
    """
    return Agent(
        model,
        tools,
        instructions=settings.instructions,
        name=name,
        policy=open_policy(settings),
        limits=settings.limits,
        prices=settings.prices,
        journal=journal,
        approver=approver,
    )


def make_runner(
    settings: Settings, tools: Sequence[Toolish], *, name: str, journal: Journal, approver: Approver | None
) -> Runner:
    """What makes calls of tools of `load_tools` without a model; the policy is that of `make_agent`.

    Raises:
        UsageError: the policy can not be read.
    """
    return Runner(
        tools,
        name=name,
        policy=open_policy(settings),
        limits=settings.limits,
        prices=settings.prices,
        journal=journal,
        approver=approver,
    )


def open_policy(settings: Settings) -> Rules | PolicyFile:
    """The policy that the settings name; where its rules say nothing, side effects of local tools ask too.

    Raises:
        UsageError: it can not be read, or is no policy.
    """
    return PolicyFile(Path(settings.policy).expanduser(), careful=True) if settings.policy else CAREFUL


async def list_tools(tools: Sequence[Toolish]) -> Sequence[Tool]:
    """The definitions of these tools, as an agent would show them to its model.

    Raises:
        BadTool: two of one name, or a bad schema.
    """
    return await Runner(tools).list_tools()


def _own_model(spec: str) -> Model:
    found = _named(spec)
    if isinstance(found, type) or not isinstance(found, Model):
        raise UsageError(f"{spec} is {_what(found)}; a Model is an object with a name and an async method reply()")
    return found


def _tools_in(spec: str) -> list[Toolish]:
    """The tools that a file, a module, or one name of it holds."""
    if not _names_one(spec):
        return _all_tools(_module(spec), spec)
    tools: list[Toolish] = []
    for item in load_things(spec):
        if not _is_toolish(item):
            raise UsageError(
                f"{spec} is {_what(item)}; needed is a function, a tool, a toolset, an agent, or a list of them"
            )
        tools.append(FunctionTool(item) if inspect.isfunction(item) else item)
    return tools


def _all_tools(module: ModuleType, spec: str) -> list[Toolish]:
    """The decorated functions of a module; all its own public functions where none is decorated."""
    public = _public(module)
    decorated: list[Toolish] = [thing for thing in public if isinstance(thing, FunctionTool)]
    plain = [thing for thing in public if inspect.isfunction(thing) and thing.__module__ == module.__name__]
    if not decorated and not plain:
        raise UsageError(f"{spec} holds no tools: write a function in it, with @tool above it")
    return decorated or [FunctionTool(function) for function in plain]


def _public(module: ModuleType) -> list[object]:
    return [thing for name, thing in vars(module).items() if not name.startswith("_")]


def _is_toolish(thing: object) -> TypeGuard[Toolish]:
    if isinstance(thing, type):
        return False
    return callable(thing) or isinstance(thing, Tool | FunctionTool | Toolset) or hasattr(thing, "as_tool")


def _what(thing: object) -> str:
    return f"the class {thing.__name__}" if isinstance(thing, type) else f"of type {type(thing).__name__}"


def _names_one(spec: str) -> bool:
    """Whether this is `place:name`, and not a place alone."""
    place, colon, name = spec.rpartition(":")
    return bool(colon) and bool(place) and name.isidentifier()


def _named(spec: str) -> object:
    """The object that `file.py:name` or `module:name` means."""
    place, _, name = spec.rpartition(":")
    module = _module(place)
    if not hasattr(module, name):
        known = ", ".join(known for known in vars(module) if not known.startswith("_"))
        raise UnknownName(f"{place} has no {name!r}; it has: {known[:200] or 'nothing'}")
    found: object = getattr(module, name)
    return found


def _is_module(name: str) -> bool:
    """Whether there is a module of this name; looked for in the working directory too, without running the module."""
    _look_in(Path.cwd())
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def _module(place: str) -> ModuleType:
    """Load a file or import a module: run it, as `python` would.

    Raises:
        UsageError: it is not there, or fails while it is loaded; the message says in which line.
    """
    path = Path(place).expanduser()
    if place.endswith(".py") and not path.is_file():
        raise UnknownName(f"there is no file {place}")
    if not place.endswith(".py") and not _is_module(place):
        raise UnknownName(f"there is no module {place!r} (a file is named with its .py)")
    try:
        return _from_file(path) if place.endswith(".py") else importlib.import_module(place)
    except SyntaxError as error:
        raise UsageError(f"{error.filename or place}, line {error.lineno}: {error.msg}") from error
    except (Exception, SystemExit) as error:
        raise UsageError(f"{place} failed while it was loaded: {_told(error, path)}") from error


def _from_file(path: Path) -> ModuleType:
    """The module that a file makes, loaded once a process, whatever folder it lies in."""
    path = path.resolve()
    name = f"{path.stem}_{hashlib.sha256(bytes(path)).hexdigest()[:8]}"
    if name in sys.modules:
        return sys.modules[name]
    _look_in(path.parent)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _look_in(folder: Path) -> None:
    """Let what is loaded import what lies beside it; last, so that a file called `random.py` disturbs nobody else."""
    if str(folder) not in sys.path:
        sys.path.append(str(folder))


def _told(error: BaseException, path: Path) -> str:
    """An exception of the user's own code in a line, with the last line of their file that it passed through."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if Path(frame.filename) == path.resolve()]
    where = f" (line {lines[-1]})" if lines else ""
    kind = "" if isinstance(error, ActumError) else f"{type(error).__name__}: "
    return f"{kind}{error}{where}"
