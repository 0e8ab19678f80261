"""The Berkeley Function Calling Leaderboard, version 4: its questions, its answers and its own judge.

Both come out of the `bfcl-eval` wheel, which is fetched once into `.cache/` and is no part of actum: nothing of it is
shipped or copied. Its loaders, its translation of function docs into JSON Schema and its AST checker are run as they
are; the clients of model APIs that its modules import beside them are not, and need not be installed.

Only the categories of one turn are here, without those whose values are Java and JavaScript source text. Those that
play several turns against its simulated systems are not.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

from msgspec import Struct

from actum.core.call import ToolCall
from actum.core.json import JsonObject
from actum.core.message import Message, Reply, SystemMessage, UserMessage
from actum.core.tool import Tool

VERSION = "2026.3.23"
SHA256 = "3bb6dfa5f0c68ad403c9ec50b00db2bb3b4cc9b38ab1ff33f48fe30d853d3a0a"
"""Of the wheel: code out of it is run, and figures are comparable only on the same data."""
CACHE = Path(__file__).parents[1] / ".cache" / "bfcl"

CALLING = (
    *("simple_python", "multiple", "parallel", "parallel_multiple"),
    *("live_simple", "live_multiple", "live_parallel", "live_parallel_multiple"),
)
"""Categories whose answer is one call or several."""
RELEVANCE = ("irrelevance", "live_irrelevance", "live_relevance")
"""Categories that only ask whether there is a call at all."""
CATEGORIES = (*CALLING, *RELEVANCE)

_JUDGED_AS = "actum"


class NotFetched(Exception):
    """The wheel is not here and could not be fetched."""


class Case(Struct, frozen=True):
    """One question.

    Attributes:
        id: the leaderboard's own.
        category: one of `CATEGORIES`.
        messages: what was said so far.
        tools: what may be called, described as the leaderboard describes it to an API that takes JSON Schema.
        functions: the same as its own function docs, which its judge reads.
        answers: a call each: name, parameters, and for each parameter the values that are right; an empty string
            among them means that it may be left out. Empty in the categories of `RELEVANCE`.
    """

    id: str
    category: str
    messages: tuple[Message, ...]
    tools: tuple[Tool, ...]
    functions: tuple[JsonObject, ...]
    answers: tuple[dict[str, dict[str, list[Any]]], ...] = ()


class Verdict(Struct, frozen=True):
    """Whether calls are right, and why not."""

    ok: bool
    why: str = ""


def load(category: str) -> list[Case]:
    """The cases of one of `CATEGORIES`, in the leaderboard's order.

    Raises:
        NotFetched: the wheel is not here and could not be fetched.
    """
    if category not in CATEGORIES:
        raise ValueError(f"no category {category!r}: use one of {', '.join(CATEGORIES)}")
    their = _leaderboard()
    asked = their.load_questions(category)
    documented = their.load_questions(category, include_language_specific_hint=False)
    answers = [()] * len(asked) if category in RELEVANCE else [a["ground_truth"] for a in their.load_answers(category)]
    return [
        Case(
            id=question["id"],
            category=category,
            messages=tuple(_messages(question["question"])),
            tools=tuple(Tool(**tool["function"]) for tool in their.describe(question["function"])),
            functions=tuple(plain["function"]),
            answers=tuple(answer),
        )
        for question, plain, answer in zip(asked, documented, answers, strict=True)
    ]


def judge(case: Case, calls: Sequence[ToolCall]) -> Verdict:
    """What the leaderboard says of these calls. One that broke off is none.

    Its rules are kind: capitals, spaces and most punctuation of a string do not count, an integer passes for a float.
    """
    made: list[JsonObject] = [{call.name: call.arguments} for call in calls if call.complete]
    if case.category in RELEVANCE:
        ok = bool(made) == (case.category == "live_relevance")
        return Verdict(ok, "" if ok else f"{len(made)} calls")
    return _leaderboard().check(case, made)


def held_out(case: Case) -> bool:
    """Whether a case belongs to the half that nobody looks at while building."""
    return hashlib.sha256(case.id.encode()).digest()[0] % 2 == 1


def gold(case: Case) -> list[ToolCall]:
    """The calls that are right: of each parameter the first value, which may be to leave it out."""
    return [
        ToolCall(f"call_{n}", name, {key: _plain(value) for key, value in _first_values(parameters).items()})
        for n, answer in enumerate(case.answers)
        for name, parameters in answer.items()
    ]


def _first_values(parameters: dict[str, list[Any]]) -> JsonObject:
    return {name: values[0] for name, values in parameters.items() if values and values[0] != ""}


def _plain(value: Any) -> Any:
    """An argument that is an object, or a list of such, lists the values that are right for each key; deeper ones are
    themselves."""
    match value:
        case dict():
            return _first_values(value)
        case [dict(), *_]:
            return [_first_values(item) for item in value]
        case _:
            return value


def _messages(turns: Iterable[Iterable[dict[str, str]]]) -> Iterator[Message]:
    kinds: dict[str, Callable[[str], Message]] = {
        "system": SystemMessage,
        "user": UserMessage.of,
        "assistant": Reply.of,
    }
    return (kinds[message["role"]](message["content"]) for turn in turns for message in turn)


# The leaderboard itself. ----------------------------------------------------------------------------------------------


class _Leaderboard(Struct, frozen=True):
    """The functions that we call."""

    load_questions: Callable[..., list[dict[str, Any]]]
    load_answers: Callable[[str], list[dict[str, Any]]]
    describe: Callable[[list[JsonObject]], list[dict[str, Any]]]
    check: Callable[[Case, list[JsonObject]], Verdict]


@cache
def _leaderboard() -> _Leaderboard:
    place = fetch()
    with importable(place):
        data, tools = import_module("bfcl_eval.utils"), import_module("bfcl_eval.model_handler.utils")
        checker = import_module("bfcl_eval.eval_checker.ast_eval.ast_checker")
        kinds, types = (import_module(f"bfcl_eval.constants.{name}") for name in ("enums", "type_mappings"))

    def describe(functions: list[JsonObject]) -> list[dict[str, Any]]:
        # One of its styles that leaves a dot in a name, which is ours to map where a provider refuses it.
        found: list[dict[str, Any]] = tools.convert_to_tool(
            functions, types.GORILLA_TO_OPENAPI, kinds.ModelStyle.FIREWORK_AI
        )
        return found

    def check(case: Case, calls: list[JsonObject]) -> Verdict:
        docs, answers, language = list(case.functions), list(case.answers), kinds.Language.PYTHON
        said = checker.ast_checker(docs, calls, answers, language, case.category, _JUDGED_AS)
        return Verdict(said["valid"], "" if said["valid"] else f"{said['error_type']}: {said['error']}")

    return _Leaderboard(data.load_dataset_entry, data.load_ground_truth_entry, describe, check)


@contextmanager
def importable(place: Path) -> Iterator[None]:
    """The leaderboard's modules can be imported, with stand-ins for what they import and we never reach."""
    stand_ins: dict[str, dict[str, object]] = {
        "filelock": {"FileLock": nullcontext},  # files that nobody writes
        "mpmath": {},
        "tenacity": dict.fromkeys(
            ("retry", "retry_if_exception_message", "retry_if_exception_type", "wait_random_exponential")
        ),
        "bfcl_eval.model_handler.parser.java_parser": {"parse_java_function_call": None},
        "bfcl_eval.model_handler.parser.js_parser": {"parse_javascript_function_call": None},
        # The checker asks it one thing: does this model's API take a dot in a name?
        "bfcl_eval.constants.model_config": {
            "MODEL_CONFIG_MAPPING": {_JUDGED_AS: SimpleNamespace(underscore_to_dot=False)}
        },
    }
    kept = {name: sys.modules.get(name) for name in stand_ins}
    for name, attributes in stand_ins.items():
        module = ModuleType(name)
        vars(module).update(attributes)
        sys.modules[name] = module
    sys.path.insert(0, str(place))
    try:
        yield
    finally:
        sys.path.remove(str(place))
        for name, before in kept.items():
            sys.modules.pop(name)
            if before is not None:
                sys.modules[name] = before


def fetch() -> Path:
    """The folder in which the wheel is unpacked."""
    place = CACHE / VERSION
    if place.exists():
        return place
    CACHE.mkdir(parents=True, exist_ok=True)
    wanted = CACHE / "requirements.txt"
    wanted.write_text(f"bfcl-eval=={VERSION} --hash=sha256:{SHA256}\n", "utf-8")
    pip = [sys.executable, "-m", "pip", "download", "--no-deps", "--require-hashes", "--only-binary", ":all:"]
    pip += ["--quiet", "--retries", "1", "--timeout", "15", "--dest", str(CACHE), "--requirement", str(wanted)]
    done = subprocess.run(pip, capture_output=True, text=True, check=False)
    if done.returncode:
        problem = (done.stderr.strip().splitlines() or ["pip said nothing"])[-1]
        raise NotFetched(f"the data of bfcl-eval {VERSION} is not in {CACHE}, and fetching it failed: {problem}")
    (wheel,) = CACHE.glob(f"bfcl_eval-{VERSION}-*.whl")
    unpacking = CACHE / f"{VERSION}.part"
    zipfile.ZipFile(wheel).extractall(unpacking)
    unpacking.rename(place)
    return place
