"""`ModelSettings`: how a model is asked, beside what it is asked. Pure.

An agent has settings, a run may have further ones, and what a request says by itself counts before both. A setting that
is not set is left to the endpoint.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Struct

from .errors import UsageError
from .json import JsonObject
from .model import Request
from .tool import SearchWay

_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")  # RFC 9110 §5.6.2: a token
_HEADER_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")  # RFC 9110 §5.5: no line ends
_FRAMING = frozenset({"connection", "content-length", "host", "transfer-encoding"})


class ModelSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """How a model is asked. What is not set is left to the endpoint.

    Where an API has no field for a setting, the setting is not sent, and a warning in the log says so.

    Attributes:
        temperature: how random the answer is, from 0 on.
        max_tokens: how long the answer may be, in tokens. An answer that is longer ends the run as `stopped`, with
            `stop_reason="length"`.
        top_p: only the likeliest words are chosen from, which together have this probability: above 0, at most 1.
        seed: a number for the same answer again, as far as the endpoint can do that.
        stop: a text, or several, at which the model stops.
        timeout_s: how many seconds the endpoint may be silent before the request fails.
        parallel_calls: whether the model may say several calls in one reply.
        headers: further HTTP headers. They are not on record, and never take the place of the header with the key.
        tool_search: how the model is told of tools that it found by `search_tools`: `native`, by what its API has for
            that, which keeps the cache of the prompt; `plain`, in the list of tools, which grows. Left out, `native`
            where the model is known to have it.
        extras: further fields of the request's body, in the words of the endpoint's API. A field here takes the place
            of a field of ours.

    Raises:
        UsageError: a value is not of its kind; the message says what to give.

    >>> ModelSettings(temperature=0.2, max_tokens=500)
    ModelSettings(temperature=0.2, max_tokens=500)
    """

    temperature: float | None = None
    max_tokens: int | None = None
    top_p: float | None = None
    seed: int | None = None
    stop: str | Sequence[str] = ()
    timeout_s: float | None = None
    headers: Mapping[str, str] = {}
    extras: JsonObject = {}
    tool_search: SearchWay | None = None
    parallel_calls: bool | None = None

    def __post_init__(self) -> None:
        temperature, top_p, timeout_s = self.temperature, self.top_p, self.timeout_s
        if temperature is not None and not (_is_number(temperature) and temperature >= 0):
            raise _wrong("temperature", temperature, "a number from 0 on")
        if self.max_tokens is not None and not (_is_whole(self.max_tokens) and self.max_tokens > 0):
            raise _wrong("max_tokens", self.max_tokens, "a whole number above 0")
        if top_p is not None and not (_is_number(top_p) and 0 < top_p <= 1):
            raise _wrong("top_p", top_p, "a number above 0 and at most 1")
        if self.seed is not None and not _is_whole(self.seed):
            raise _wrong("seed", self.seed, "a whole number")
        if timeout_s is not None and not (_is_number(timeout_s) and timeout_s > 0):
            raise _wrong("timeout_s", timeout_s, "a number of seconds above 0")
        stops = self.stops if isinstance(self.stop, str | Sequence) else (None,)
        if not all(isinstance(text, str) and text for text in stops):
            raise _wrong("stop", self.stop, "a text, or a list of texts, none of them empty")
        if self.tool_search not in (None, "native", "plain"):
            raise _wrong("tool_search", self.tool_search, "'native' or 'plain'")
        if self.parallel_calls is not None and not isinstance(self.parallel_calls, bool):
            raise _wrong("parallel_calls", self.parallel_calls, "True or False")
        check_headers(self.headers)
        if not isinstance(self.extras, dict) or not all(isinstance(name, str) for name in self.extras):
            raise _wrong("extras", self.extras, "a dict of fields by their names")

    def __repr__(self) -> str:  # the value of a header may be a key
        said = {name: getattr(self, name) for name in self.__struct_fields__}
        said["headers"] = dict.fromkeys(self.headers, "[hidden]")
        shown = [f"{name}={value!r}" for name, value in said.items() if value is not None and value not in ((), {})]
        return f"ModelSettings({', '.join(shown)})"

    @property
    def stops(self) -> tuple[str, ...]:
        """The texts at which the model stops."""
        return (self.stop,) if isinstance(self.stop, str) else tuple(self.stop)

    @property
    def unbounded(self) -> ModelSettings:
        """The settings without `max_tokens` and `stop`, for requests that are not the run's own question."""
        return msgspec.structs.replace(self, max_tokens=None, stop=())

    @property
    def recorded(self) -> JsonObject:
        """The settings in their form on record: those that are set, without headers, which may hold a key."""
        said: JsonObject = msgspec.to_builtins(msgspec.structs.replace(self, headers={}))
        return said

    def over(self, other: ModelSettings) -> ModelSettings:
        """These settings, and those of the other for what is not set here. Headers and extras are put together."""
        if other is UNSET or self is UNSET:
            return other if self is UNSET else self
        names = ("temperature", "max_tokens", "top_p", "seed", "timeout_s", "tool_search", "parallel_calls")
        set_here = {name: value for name in names if (value := getattr(self, name)) is not None}
        return msgspec.structs.replace(
            other,
            **set_here,
            stop=self.stop or other.stop,
            headers={**_lowered(other.headers), **_lowered(self.headers)},
            extras={**other.extras, **self.extras},
        )

    def fill(self, request: Request) -> Request:
        """The request, with these settings for what the request does not say itself."""
        if self is UNSET:
            return request
        return msgspec.structs.replace(
            request,
            temperature=self.temperature if request.temperature is None else request.temperature,
            max_tokens=self.max_tokens if request.max_tokens is None else request.max_tokens,
            top_p=self.top_p if request.top_p is None else request.top_p,
            seed=self.seed if request.seed is None else request.seed,
            stop=request.stop or self.stops,
            timeout_s=self.timeout_s if request.timeout_s is None else request.timeout_s,
            headers={**_lowered(self.headers), **_lowered(request.headers)},
            extras={**self.extras, **request.extras},
            tool_search=request.tool_search or self.tool_search,
            parallel_calls=self.parallel_calls if request.parallel_calls is None else request.parallel_calls,
        )


def checked_settings(settings: ModelSettings | None) -> ModelSettings:
    """The settings that a program gave; `UNSET` for none.

    Raises:
        UsageError: it gave something else.
    """
    if settings is None:
        return UNSET
    if not isinstance(settings, ModelSettings):
        raise UsageError("settings=: give ModelSettings(...), not {kind}", kind=type(settings).__name__)
    return settings


def check_headers(headers: Mapping[str, str]) -> None:
    """Whether headers can be sent.

    Raises:
        UsageError: one can not; its value, which may be a key, is not shown.
    """
    if not isinstance(headers, Mapping):
        raise UsageError("headers: give a dict of names and values")
    for name, value in headers.items():
        if not isinstance(name, str) or not _HEADER_NAME.fullmatch(name):
            raise UsageError("headers: {name!r} is no name of a header", name=name)
        if not isinstance(value, str) or not _HEADER_VALUE.fullmatch(value):
            raise UsageError("headers: the value of {name!r} must be a text of Latin letters, in one line", name=name)
        if name.lower() in _FRAMING:
            raise UsageError("headers: {name!r} is set by the HTTP client and can not be set here", name=name)


def _lowered(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _wrong(name: str, value: object, wanted: str) -> UsageError:
    return UsageError("ModelSettings({name}={value!r}): give {wanted}", name=name, value=value, wanted=wanted)


UNSET = ModelSettings()
"""Nothing is set."""
