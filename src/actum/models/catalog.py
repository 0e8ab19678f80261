"""Strings become models: `openai:gpt-5`, `ollama:qwen3`, `http://host/v1#name`, `local:path`, `embedded`.

A provider is a row of a table: where it answers, in which variable its key stands, what API it speaks.
`<PROVIDER>_BASE_URL` in the environment puts another address in its place. The code that a model runs on is imported
when the model is opened, so that `import actum` loads no HTTP client.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, cast
from urllib.parse import urlsplit

from msgspec import Struct, structs

from ..core.errors import UnknownName, UsageError
from ..core.model import Model
from ..dialects import dialect as find_dialect
from ..dialects import for_model
from ..dialects.api.openai_chat.dialect import OPENAI_CHAT, OpenAiChat
from ..dialects.base import ApiDialect, ChatMarked, Dialect, SearchesTools, StrictTools, TextDialect
from ..dialects.catalog import ApiName, listing_of, opens_thought
from ..dialects.catalog import text_dialect as find_text_dialect
from ..dialects.tool_names import MOONSHOT_NAME, OPENAI_NAME
from .answer_schema import SendSchema
from .prompted import Auto, Prompted, Recognising

if TYPE_CHECKING:
    from ..transport.upstream_client import UpstreamClient
    from .local import Constrained

_FAMILIES = (
    (r"gpt-oss", "ollama"),
    (r"gpt|o\d\b|chatgpt|codex", "openai"),
    (r"claude", "anthropic"),
    (r"gemini", "gemini"),
    (r"deepseek-(chat|reasoner)", "deepseek"),
    (r"kimi|moonshot", "moonshot"),
    (r"qwen-|qwen\d?-(max|plus|turbo|flash)", "qwen"),
    (r"(mistral|magistral|codestral|devstral|ministral)-\w+-(latest|\d{4})", "mistral"),
    (r"grok", "xai"),
    (r"glm-", "zhipu"),
    (r"\S+/\S+", "openrouter"),
    (r"qwen|llama|mistral|gemma|phi|deepseek|smollm|granite", "ollama"),
)
"""How the names of a family of models begin, and where the family is found; the first row that fits."""

_TAG = re.compile(r"latest|[\d.]+[bm](-\S+)?")
"""The text behind the colon in the name of a model of Ollama, as in `qwen3:8b`."""


def meant(name: str, providers: Collection[str], others: Collection[str]) -> str:
    """The name that was probably meant; empty where nothing comes near.

    Args:
        name: what was said.
        providers: the names of the providers.
        others: the names of models that stand alone, such as `embedded`.
    """
    said = name.strip().lower()
    prefix, mark, model = said.partition(":") if ":" in said else said.partition("/")
    if mark and model and prefix in providers:
        return f"{prefix}:{name.strip()[len(prefix) + 1 :]}"
    if _TAG.fullmatch(model) and "ollama" in providers:
        return f"ollama:{name.strip()}"
    if near := difflib.get_close_matches(said, others, 1, 0.75):
        return near[0]
    if mark and model and (near := difflib.get_close_matches(prefix, providers, 1, 0.75)):
        return f"{near[0]}:{name.strip()[len(prefix) + 1 :]}"
    family = next((provider for begins, provider in _FAMILIES if re.match(begins, said)), "")
    return f"{family}:{name.strip()}" if family in providers else ""


LOCAL = "local:"
SILENCE_S = 300.0
"""Seconds that an endpoint may be silent where nothing is set."""
FALLBACK = "prompt_json"
"""The text dialect of a model without native calling, where none is asked for."""

URL_KEY_VARIABLE = "ACTUM_API_KEY"
"""Where the key for an endpoint stands that is given by its address. No provider's key is ever sent there."""


class Provider(Struct, frozen=True, kw_only=True):
    """Where models answer.

    Attributes:
        url: up to and including the version.
        key_variable: the environment variable with the key.
        key_needed: it does not answer without one.
        host_variable: the variable with another host and port, for servers on one's own machine.
        native: its models call tools by the API; None: that depends on the model and is found out.
        dialect: its API. OpenAI's, or how it departs from that; another API by its name, to be loaded when a model is
            opened. `anthropic` is the API at Anthropic's own address, which can do more than `anthropic_messages`;
            `gemini` is that at Google's, which can do more than `gemini_content`.
        version_path: put behind the address that the environment gives, where that is usual without the version.
        default_model: what to ask for when no model is named; empty when one must be.
        strict: it can be asked to hold its models to the schemas of tools.
        send_schema: when it is sent the schema of an answer.
        tool_search: regular expression of the beginning of the names of its models that have a search of tools of their
            own (`dialects.api.native_search`); empty for none.
    """

    url: str
    key_variable: str
    key_needed: bool = True
    host_variable: str = ""
    native: bool | None = None
    dialect: OpenAiChat | ApiName | Literal["anthropic", "gemini"] = OPENAI_CHAT
    version_path: str = ""
    default_model: str = ""
    strict: bool = False
    send_schema: SendSchema = "alone"
    tool_search: str = ""


def _local(name: str, port: int, default_model: str = "") -> Provider:
    name = name.upper()
    return Provider(
        url=f"http://127.0.0.1:{port}/v1",
        key_variable=f"{name}_API_KEY",
        key_needed=False,
        host_variable=f"{name}_HOST",
        default_model=default_model,
    )


_HOSTED = OpenAiChat(name_pattern=OPENAI_NAME)
_GROQ = OpenAiChat(name_pattern=OPENAI_NAME, returned=())  # "property 'reasoning' is unsupported"
_OPENAI = OpenAiChat(name_pattern=OPENAI_NAME, max_tokens_field="max_completion_tokens")
_DEEPSEEK = OpenAiChat(name_pattern=OPENAI_NAME, reasoning_field="reasoning_content")
_MOONSHOT = OpenAiChat(name_pattern=MOONSHOT_NAME, reasoning_field="reasoning_content")

PROVIDERS = {
    "anthropic": Provider(
        url="https://api.anthropic.com/v1",
        key_variable="ANTHROPIC_API_KEY",
        native=True,
        dialect="anthropic",
        version_path="/v1",
        strict=True,
        send_schema="always",
        tool_search=r"claude-(mythos-preview|[a-z]+-(4-[5-9]|[5-9]|\d\d)\b)",
    ),
    "deepseek": Provider(
        url="https://api.deepseek.com/v1",
        key_variable="DEEPSEEK_API_KEY",
        native=True,
        dialect=_DEEPSEEK,
        send_schema="never",
    ),
    "gemini": Provider(
        url="https://generativelanguage.googleapis.com/v1beta",
        key_variable="GEMINI_API_KEY",
        native=True,
        dialect="gemini",
        version_path="/v1beta",
        strict=True,
        send_schema="always",
    ),
    "groq": Provider(url="https://api.groq.com/openai/v1", key_variable="GROQ_API_KEY", dialect=_GROQ),
    "llamacpp": _local("llamacpp", 8080, default_model="default"),
    "lmstudio": _local("lmstudio", 1234),
    "mistral": Provider(url="https://api.mistral.ai/v1", key_variable="MISTRAL_API_KEY", native=True, dialect=_HOSTED),
    "moonshot": Provider(
        url="https://api.moonshot.ai/v1", key_variable="MOONSHOT_API_KEY", native=True, dialect=_MOONSHOT
    ),
    "ollama": _local("ollama", 11434),
    "openai": Provider(
        url="https://api.openai.com/v1",
        key_variable="OPENAI_API_KEY",
        native=True,
        dialect=_OPENAI,
        strict=True,
        send_schema="always",
        tool_search=r"gpt-(5\.([4-9]|\d\d)|[6-9]|\d\d)",
    ),
    "openrouter": Provider(url="https://openrouter.ai/api/v1", key_variable="OPENROUTER_API_KEY", dialect=_HOSTED),
    "qwen": Provider(
        url="https://dashscope.aliyuncs.com/compatible-mode/v1",
        key_variable="DASHSCOPE_API_KEY",
        native=True,
        dialect=_HOSTED,
    ),
    "sglang": _local("sglang", 30000),
    "together": Provider(url="https://api.together.xyz/v1", key_variable="TOGETHER_API_KEY", dialect=_HOSTED),
    "vllm": _local("vllm", 8000),
    "xai": Provider(url="https://api.x.ai/v1", key_variable="XAI_API_KEY", native=True, dialect=_HOSTED),
    "zhipu": Provider(
        url="https://open.bigmodel.cn/api/paas/v4", key_variable="ZHIPU_API_KEY", native=True, dialect=_HOSTED
    ),
}

_API_DIALECTS: dict[str, ApiName | None] = {
    "anthropic_messages": "anthropic_messages",
    "auto": None,
    "gemini_content": "gemini_content",
    "native": None,
    "openai_chat": None,
    "openai_functions": "openai_functions",
    "openai_responses": "openai_responses",
}
"""The ways to call by the API; None: as the provider speaks it. Every other dialect is one of text."""

_RAW: dict[str, tuple[str, ApiName]] = {
    "ollama_generate": ("/api/generate", "ollama_generate"),
    "openai_completions": ("/completions", "openai_completions"),
}
"""The APIs that only go on with a text, and what their addresses end in. A text dialect stands around them."""

_OPENAI_DIALECTS = frozenset({"openai_functions", "openai_responses"})


class Connection(Struct, frozen=True, kw_only=True):
    """How an endpoint is reached, beside its address and its key.

    Attributes:
        timeout_s: how many seconds it may be silent; None for the usual time.
        headers: further HTTP headers.
        client: sends the requests, by rules of its own; None for the client that all others share.
        asks_once: a request that fails is not sent again.
    """

    timeout_s: float | None = None
    headers: Mapping[str, str] = {}
    client: UpstreamClient | None = None
    asks_once: bool = False

    @property
    def silence_s(self) -> float:
        """How many seconds the endpoint may be silent."""
        return SILENCE_S if self.timeout_s is None else self.timeout_s


def open_model(
    model: str | Model,
    *,
    dialect: str | Dialect = "auto",
    constrained: Constrained | None = None,
    key: str = "",
    base_url: str = "",
    timeout_s: float | None = None,
    headers: Mapping[str, str] | None = None,
    asks_once: bool = False,
    environment: Mapping[str, str] = os.environ,
) -> Model:
    """The model that a name stands for. Nothing is sent before its first request.

    Args:
        model: `<provider>:<model>`, `http(s)://host/v1#<model>`, `local:<path or name of a model of transformers>`,
            `embedded`, or the name of a model that an installed package brings by an entry point of the group
            `actum.models`; or a model, which is passed through. An address that ends in `/completions`, and not in
            `/chat/completions`, or in Ollama's `/api/generate`, is that of a model which only goes on with a text:
            turns are then marked as its family does it.
        dialect: how it says a call. `auto`: by its API where that is known or found to work, else by its prompt;
            `native` or `openai_chat`: by its API; `openai_functions`: by its API of 2023; `openai_responses`,
            `anthropic_messages` or `gemini_content`: by these APIs, for an endpoint that has them;
            `openai_completions` or `ollama_generate`: by these, past the server's chat template, in the format that
            the model's name tells; or a text dialect. Or a dialect itself, with its options:
            `dialect("react", language="zh")`.
        constrained: it can only say the name of a tool and arguments that fit its schema: a local model by a grammar,
            which it has unless this is false; one behind an API by asking it for strict tools. `copy`: strings in the
            arguments of a local model stand in the conversation, besides. See `docs/constrained.md`.
        key: of the endpoint, instead of the key in the environment.
        base_url: where the endpoint is, instead of the provider's address: `open_model("openai:gpt-5", base_url=...)`.
            With a bare name it is the address of an OpenAI-compatible endpoint: `open_model("qwen3", base_url=...)`.
        timeout_s: how many seconds the endpoint may be silent; 300 where this is None.
        headers: further HTTP headers of every request.
        asks_once: a request that fails is not sent again by the model itself.
        environment: where keys and addresses are looked up.

    Raises:
        UnknownName: there is no such model or dialect; the message lists what there is.
        UsageError: a key or a package is missing, an address is none, the model and the dialect do not go together,
            two installed packages bring a model of this name, or it can not be constrained.
    """
    if not isinstance(model, str | Model):
        raise UsageError(
            "a model is a name, such as 'embedded' or 'openai:gpt-5', or a Model; this is {given}",
            given=f"{model!r:.60}",
        )
    if not isinstance(dialect, str | ApiDialect | TextDialect):
        raise UsageError(
            "a dialect is a name, such as 'react', or what `actum.dialects.dialect` makes; this is {given}",
            given=f"{dialect!r:.60}",
        )
    if isinstance(dialect, ApiDialect) and dialect.name in _RAW:
        dialect = dialect.name
    connection = Connection(timeout_s=timeout_s, headers=headers or {}, asks_once=asks_once)
    if key or base_url or connection != Connection():
        model, environment = _placed(model, key, base_url, environment)
    if isinstance(model, str) and model.startswith(LOCAL):
        from .local import open_local  # noqa: PLC0415  # grammars: few programs run a model in their own process

        return open_local(model.removeprefix(LOCAL), dialect=dialect, constrained=constrained is None or constrained)
    if isinstance(model, str) and _at_endpoint(model):
        return _open_endpoint(model, dialect, environment, connection, strict=_strict(model, constrained))
    opened = _open_installed(model) if isinstance(model, str) else model
    if constrained:
        raise UsageError("{opened} can not be constrained: that is for local models and APIs", opened=opened.name)
    if dialect in ("auto", "native"):
        return opened
    if isinstance(dialect, ApiDialect) or dialect in _API_DIALECTS or dialect in _RAW:
        raise UsageError(
            "dialect {dialect!r} is for models that are named by their provider or address", dialect=_name_of(dialect)
        )
    return Prompted(opened, _text_dialect(dialect))


def open_connected(name: str, *, key: str, base_url: str = "", connection: Connection) -> Model:
    """The model of a name at an endpoint, for somebody who is not to use the keys and addresses of the environment.

    Args:
        name: `<provider>:<model>` or `http(s)://host/v1#<model>`.
        key: of the endpoint; empty for none.
        base_url: where the provider is, instead of its own address.
        connection: how the endpoint is reached.

    Raises:
        UnknownName: there is no such provider.
        UsageError: the provider needs a key, or an address is none.
    """
    name, environment = _placed(name, key, base_url, {})
    return _open_endpoint(name, "auto", environment, connection, strict=False)


def _placed(
    model: str | Model, key: str, base_url: str, environment: Mapping[str, str]
) -> tuple[str, Mapping[str, str]]:
    """The full name of a model at an endpoint, and the environment in which its key and its address are found.

    Raises:
        UsageError: the model is at no endpoint, or has an address already.
    """
    name = model if isinstance(model, str) else ""
    provider = name.partition(":")[0]
    if base_url and not name.startswith((LOCAL, "http://", "https://")) and name not in ("", "embedded"):
        if "#" in base_url:
            raise UsageError("base_url has a '#': give the address alone, and the name of the model as the model")
        if provider not in PROVIDERS:
            name, base_url = f"{base_url}#{name}", ""
    if not _at_endpoint(name):
        shown = name or getattr(model, "name", "this model")
        raise UsageError(
            "{name} is at no endpoint: key, base_url, timeout_s and headers are for models at one", name=shown
        )
    by_address = name.startswith(("http://", "https://"))
    if by_address and base_url:
        raise UsageError("the name of the model has an address already: leave base_url out")
    given = {URL_KEY_VARIABLE if by_address else PROVIDERS[provider].key_variable: key} if key else {}
    given |= {f"{provider.upper()}_BASE_URL": base_url} if base_url else {}
    return name, {**environment, **given}


def _at_endpoint(name: str) -> bool:
    return name.startswith(("http://", "https://")) or name.partition(":")[0] in PROVIDERS


def is_full_name(name: str) -> bool:
    """Whether a name says where its model is, as `open_model` reads it, or is that of an installed model. Nothing is
    opened: a key may still be missing.

    >>> is_full_name("openai:gpt-5-mini"), is_full_name("openai:"), is_full_name("fast")
    (True, False, False)
    """
    if is_place(name):
        return name.startswith(LOCAL) or bool(name.partition("#")[2])
    prefix, colon, model = name.partition(":")
    if prefix in PROVIDERS:
        return bool(colon and (model or PROVIDERS[prefix].default_model))
    from . import installed  # noqa: PLC0415  # as in `_open_installed`

    return name == "embedded" or name in installed.installed_names()


def is_place(name: str) -> bool:
    """Whether a name is an address, or leads to files of this machine."""
    return name.startswith((LOCAL, "http://", "https://"))


def _open_installed(name: str) -> Model:
    """The embedded model, or the model of another installed package. Names of actum's own never come from others."""
    from . import installed  # noqa: PLC0415  # the import of `importlib.metadata` takes milliseconds

    model = installed.open_embedded() if name == "embedded" else installed.open_installed(name)
    if model is None:
        raise _unknown(name, installed.installed_names())
    return model


def _unknown(name: str, installed: Sequence[str] = ()) -> UnknownName:
    known = ", ".join(
        ["embedded", *installed, "http://host/v1#name", "local:path", *(f"{key}:name" for key in PROVIDERS)]
    )
    near = meant(name, PROVIDERS, ("embedded", *installed))
    known = known.replace(f"{near}, ", "", 1) if near else known
    question = f"Did you mean {near}? There is also:" if near else "Use"
    return UnknownName(
        "there is no model called {name!r}. {question} {known}", name=name, question=question, known=known
    )


def _strict(name: str, constrained: Constrained | None) -> bool:
    if constrained == "copy":
        raise UsageError("{name} can not be held to copies: that is for local models", name=name)
    return bool(constrained)


def _open_endpoint(
    name: str, dialect: str | Dialect, environment: Mapping[str, str], connection: Connection, *, strict: bool
) -> Model:
    raw = dialect if isinstance(dialect, str) and dialect in _RAW else _raw_at(name)
    if raw and strict:
        raise UsageError("{name} only goes on with a text: its server can not hold it to schemas", name=name)
    if raw:
        return _open_raw(name, raw, "auto" if dialect in _RAW else dialect, environment, connection)
    by_api = dialect in _API_DIALECTS or isinstance(dialect, ApiDialect)
    by_address = name.startswith(("http://", "https://"))
    provider, model = _at_address(name) if by_address else _at_provider(name, environment)
    text_dialect = _text_dialect(FALLBACK if by_api else dialect, model)
    spoken = dialect if isinstance(dialect, ApiDialect) else _spoken(_name_of(dialect), provider)
    if strict:
        known = isinstance(spoken, StrictTools) and not getattr(spoken, "functions", False)
        if not ((by_address or provider.strict) and by_api and known):
            raise UsageError(
                "{name} is not known to hold a model to schemas in the dialect {dialect!r}",
                name=name,
                dialect=_name_of(dialect),
            )
        spoken = cast(ApiDialect, structs.replace(cast(Struct, spoken), strict=True))
    if provider.tool_search and isinstance(spoken, SearchesTools) and re.match(provider.tool_search, model):
        spoken = cast(ApiDialect, structs.replace(cast(Struct, spoken), tool_search=True))
    from .endpoint import Endpoint  # noqa: PLC0415  # the HTTP client takes 0.1 s to load

    endpoint = Endpoint(
        provider.url,
        model,
        key=environment.get(provider.key_variable),
        key_variable=provider.key_variable,
        dialect=spoken,
        native=provider.native,
        timeout_s=connection.silence_s,
        headers=connection.headers,
        name="" if by_address else name,
        send_schema=provider.send_schema,
        asks_once=connection.asks_once,
        client=connection.client,
    )
    if strict:
        return endpoint  # nothing holds a call that is written as text
    if dialect == "auto":
        return Auto(endpoint, text_dialect)
    return Recognising(endpoint, text_dialect) if by_api else Prompted(endpoint, text_dialect)


def _raw_at(name: str) -> str:
    """The API at an address that only goes on with a text; empty for any other."""
    path = urlsplit(name.partition("#")[0]).path.rstrip("/") if name.startswith(("http://", "https://")) else ""
    if path.endswith("/chat/completions"):
        return ""
    return next((api for api, (end, _) in _RAW.items() if path.endswith(end)), "")


def _open_raw(
    name: str, api: str, dialect: str | Dialect, environment: Mapping[str, str], connection: Connection
) -> Model:
    """A model that only goes on with a text; its family's format tells how turns and calls are written."""
    by_address = name.startswith(("http://", "https://"))
    provider, model = _at_address(name) if by_address else _at_provider(name, environment)
    if isinstance(dialect, ApiDialect) or (dialect in _API_DIALECTS and dialect != "auto"):
        raise UsageError(
            "dialect {dialect!r} is none of a completions endpoint: name a text dialect, or none",
            dialect=_name_of(dialect),
        )
    text_dialect = _text_dialect((for_model(model) or FALLBACK) if dialect == "auto" else dialect)
    if text_dialect.name == "harmony":
        raise UsageError("harmony needs the server's own chat template: use the address of its chat completions")
    completions = _loaded(_RAW[api][1])
    spoken: object = completions
    if isinstance(text_dialect, ChatMarked):
        spoken = structs.replace(cast(Struct, completions), marks=text_dialect.marks)
    from .endpoint import Endpoint  # noqa: PLC0415  # as in `_open_endpoint`

    endpoint = Endpoint(
        provider.url.removesuffix("/v1") if api == "ollama_generate" and not by_address else provider.url,
        model,
        key=environment.get(provider.key_variable),
        key_variable=provider.key_variable,
        dialect=cast(ApiDialect, spoken),
        native=False,
        timeout_s=connection.silence_s,
        headers=connection.headers,
        name="" if by_address else name,
        asks_once=connection.asks_once,
        client=connection.client,
    )
    return Prompted(endpoint, text_dialect)


def _spoken(dialect: str, provider: Provider) -> ApiDialect:
    """The dialect that is asked for; one of OpenAI's with the tool names that the provider takes."""
    own = provider.dialect
    asked = _loaded(_API_DIALECTS.get(dialect) or own)
    if dialect in _OPENAI_DIALECTS and isinstance(own, OpenAiChat) and isinstance(asked, Struct):
        if isinstance(asked, OpenAiChat):
            return structs.replace(asked, name_pattern=own.name_pattern, returned=own.returned)
        return structs.replace(asked, name_pattern=own.name_pattern)
    return asked


def _at_address(name: str) -> tuple[Provider, str]:
    url, _, model = name.partition("#")
    if not model:
        raise UnknownName("which model? Put its name behind the address: {url}#name", url=url.split("@")[-1])
    return Provider(url=url, key_variable=URL_KEY_VARIABLE, key_needed=False), model


def _at_provider(name: str, environment: Mapping[str, str]) -> tuple[Provider, str]:
    """The provider's row, with what the environment says in its place, and the model's name there."""
    prefix, colon, model = name.partition(":")
    if not colon:
        raise _unknown(name)
    provider = PROVIDERS[prefix]
    model = model or provider.default_model
    if not model:
        raise UnknownName("which model of {prefix}? Put its name behind the colon: {prefix}:name", prefix=prefix)
    if url := environment.get(f"{prefix.upper()}_BASE_URL"):
        url = url.rstrip("/").removesuffix(provider.version_path) + provider.version_path
        return structs.replace(provider, url=url, native=None, send_schema="alone"), model
    if host := environment.get(provider.host_variable):
        return structs.replace(provider, url=_url_of_host(host, provider.url)), model
    if provider.key_needed and not environment.get(provider.key_variable):
        raise UsageError(
            "{name} needs a key: set {variable} in the environment", name=name, variable=provider.key_variable
        )
    return provider, model


class ModelPlace(Struct, frozen=True, kw_only=True):
    """Where a model answers, and how it is spoken to: for code that passes requests on instead of asking a `Model`.

    Attributes:
        url: up to and including the version.
        model: the name of the model there.
        key: what is sent as the key; empty for none.
        dialect: its API.
        provider: the name of the provider; empty where the model was named by an address.
    """

    url: str
    model: str
    key: str
    dialect: ApiDialect
    provider: str = ""

    def __repr__(self) -> str:
        return f"ModelPlace(url={self.url!r}, model={self.model!r}, dialect={self.dialect.name!r})"


def place_of(
    name: str, *, dialect: str = "auto", key: str = "", environment: Mapping[str, str] = os.environ
) -> ModelPlace:
    """Where the model of a name answers. Nothing is sent.

    Args:
        name: `<provider>:<model>` or `http(s)://host/v1#<model>`.
        dialect: `auto` for the API of the provider, which is OpenAI's for an address; or the name of an API.
        key: the key, instead of the provider's in the environment. A model that is named by its address has no other.
        environment: where keys and addresses of providers are looked up.

    Raises:
        UnknownName: there is no such provider or dialect.
        UsageError: a provider's key is missing.
    """
    if not _at_endpoint(name):
        raise _unknown(name)
    by_address = name.startswith(("http://", "https://"))
    prefix = "" if by_address else name.partition(":")[0]
    if key and prefix:
        environment = {**environment, PROVIDERS[prefix].key_variable: key}
    provider, model = _at_address(name) if by_address else _at_provider(name, environment)
    if dialect != "auto" and dialect not in _API_DIALECTS:
        raise UnknownName(
            "{dialect!r} is no API: there are {api_dialects}", dialect=dialect, api_dialects=", ".join(_API_DIALECTS)
        )
    found = key if by_address else environment.get(provider.key_variable, "")
    return ModelPlace(url=provider.url, model=model, key=found, dialect=_spoken(dialect, provider), provider=prefix)


def provider_url(name: str, environment: Mapping[str, str]) -> str:
    """The address at which the models of a provider are asked, as `open_model` takes it.

    Raises:
        UsageError: a variable holds what is no address.
    """
    return _at_provider(f"{name}:any", environment)[0].url


def _url_of_host(host: str, default_url: str) -> str:
    """The address that `OLLAMA_HOST` means. It holds an address, a host with or without port, or a port alone."""
    if "://" in host:
        return host.rstrip("/") + "/v1"
    default, given = urlsplit(default_url), urlsplit(f"//{host}")
    try:
        port = given.port or default.port
    except ValueError:
        raise UsageError("{host!r} is no host and port", host=host) from None
    name = given.hostname or "127.0.0.1"
    name = "127.0.0.1" if name == "0.0.0.0" else f"[{name}]" if ":" in name else name
    return f"http://{name}:{port}/v1"


def _loaded(dialect: OpenAiChat | ApiName | Literal["anthropic", "gemini"]) -> ApiDialect:
    """The dialect itself, or the dialect of this name, which is loaded now: few programs need more than one."""
    if not isinstance(dialect, str):
        return dialect
    if dialect == "anthropic":
        from ..dialects.api.anthropic.dialect import ANTHROPIC  # noqa: PLC0415  # only for models of Anthropic

        return ANTHROPIC
    if dialect == "gemini":
        from ..dialects.api.gemini.dialect import GEMINI_API  # noqa: PLC0415  # only for models of Google

        return GEMINI_API
    return find_dialect(dialect)


def _name_of(dialect: str | Dialect) -> str:
    return dialect if isinstance(dialect, str) else dialect.name


def _text_dialect(dialect: str | Dialect, model: str = "") -> TextDialect:
    """The dialect of a name, told of a thought that the server's chat template opens before the model answers; a
    dialect itself as it is.
    """
    if not isinstance(dialect, str):
        return cast(TextDialect, dialect)
    name = dialect
    if opens_thought(model) and "thinking" in listing_of(name).options:
        return find_text_dialect(name, thinking=True)
    return find_text_dialect(name)
