"""The models that servers on this machine offer: Ollama, llama.cpp, LM Studio and vLLM, at the ports they usually have.

Each is asked side by side for its list of models, by a bare `GET` and nothing else, and all of them have a tenth of a
second. Anything may listen on these ports, so a list says only what somebody claims to be; nothing else is sent there
before a person chose a model of it. Where a variable such as `OLLAMA_HOST` names another place on this machine, that
place is asked, since the name `ollama:...` then means that place; a place on another machine is not asked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from ..core.errors import UsageError
from ..core.json import Json
from ..transport.plain_get import LOOPBACK, plain_get
from .catalog import provider_url

SERVERS = ("ollama", "llamacpp", "lmstudio", "vllm")
LOOK_S_MAX = 0.1
MODELS_MAX = 50
NAME_CHARS_MAX = 200
_NO_CHAT = ("embed", "rerank", "whisper", "bge-")
"""Words in the names of models that do not answer questions."""


class LocalModel(Struct, frozen=True):
    """A model that a server on this machine lists.

    Attributes:
        name: as `open_model` takes it, such as `ollama:qwen3:8b`.
        url: where the server is.
    """

    name: str
    url: str


class _List(Struct, frozen=True):
    data: list[Json]


async def find_local_models(environment: Mapping[str, str], *, wait_s: float = LOOK_S_MAX) -> list[LocalModel]:
    """The models that answer on this machine, in the order of `SERVERS`.

    Args:
        environment: the process's variables, for other ports of this machine.
        wait_s: the time for all servers together.
    """
    looks = [asyncio.create_task(_models_of(server, environment)) for server in SERVERS]
    done, late = await asyncio.wait(looks, timeout=wait_s)
    for look in late:
        look.cancel()
    await asyncio.gather(*late, return_exceptions=True)
    return [model for look in looks if look in done for model in look.result()]


async def _models_of(server: str, environment: Mapping[str, str]) -> list[LocalModel]:
    try:
        url = provider_url(server, environment)
    except UsageError:
        return []
    if not url.startswith("http://") or urlsplit(url).hostname not in LOOPBACK:
        return []
    said = await plain_get(f"{url}/models")
    try:
        listed = msgspec.json.decode(said or b"", type=_List).data
    except (msgspec.DecodeError, RecursionError):
        return []
    ids = [each.get("id") for each in listed if isinstance(each, dict)]
    names = [each for each in ids if isinstance(each, str) and _is_a_name(each)]
    return [LocalModel(f"{server}:{name}", url) for name in dict.fromkeys(names[:MODELS_MAX])]


def _is_a_name(name: str) -> bool:
    shown = name.isprintable() and name == name.strip() and 0 < len(name) <= NAME_CHARS_MAX
    return shown and not any(word in name.lower() for word in _NO_CHAT)
