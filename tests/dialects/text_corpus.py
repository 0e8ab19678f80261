"""Outputs of models as files, `tests/corpus/<dialect>/<case>.txt` beside `<case>.json`, and the ways to feed them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from pathlib import Path

from hypothesis import strategies as st
from msgspec import structs

from actum.core.call import ToolCall
from actum.core.event import CallDelta, CallSaid, Delta, ReasoningDelta, TextDelta, ThoughtEnded
from actum.core.json import Json, JsonObject
from actum.core.message import Reply
from actum.core.tool import Tool
from actum.dialects.base import TextDialect
from actum.dialects.text.invented_results import CUT
from tests.each import each_path

CORPUS = Path(__file__).parents[1] / "corpus"


def cases(folder: str) -> Callable[[Callable[[Path], None]], Callable[[], None]]:
    """One test of all cases of a folder."""
    return each_path(sorted((CORPUS / folder).glob("*.txt")))


def tools_of(folder: str) -> tuple[Tool, ...]:
    """The tools that the outputs of a folder are about."""
    return tuple(Tool(**tool) for tool in json.loads((CORPUS / folder / "tools.json").read_text("utf-8")))


def output_of(path: Path) -> str:
    """What the model wrote, line ends as they are."""
    return path.read_bytes().decode("utf-8")


def expected_of(path: Path) -> JsonObject:
    """What is to be read out of it, with all that the file leaves to defaults.

    An expectation also has a `source`, which says who says so, and `made` where the output was made up by hand; they
    are for readers. An `id` is of interest only where the model gave one; for `thinking`, see `thinks`.
    """
    found = json.loads(path.with_suffix(".json").read_text("utf-8"))
    calls = [{key: value for key, value in call.items() if key != "id"} for call in found["calls"]]
    found["calls"] = [{"complete": True, "repaired": False, **call} for call in calls]
    return {
        "reasoning": "",
        **{key: value for key, value in found.items() if key not in ("source", "made", "thinking")},
    }


def thinks(path: Path) -> bool:
    """The prompt ended with the mark that opens reasoning, so that the output begins behind it."""
    return bool(json.loads(path.with_suffix(".json").read_text("utf-8")).get("thinking"))


def ids_of(path: Path) -> list[str | None]:
    """The ids that the model gave its calls; None for one without."""
    return [call.get("id") for call in json.loads(path.with_suffix(".json").read_text("utf-8"))["calls"]]


def summary(reply: Reply) -> JsonObject:
    """A reply in the form of the expectations."""
    calls: list[Json] = [
        {"name": call.name, "arguments": call.arguments, "complete": call.complete, "repaired": bool(call.repairs)}
        for call in reply.calls
    ]
    return {"text": reply.text, "reasoning": reply.reasoning, "calls": calls}


def read_in(
    pieces: Iterable[str | bytes], dialect: TextDialect, tools: Sequence[Tool]
) -> tuple[Reply, list[tuple[str, str]]]:
    """What a decoder makes of a text in pieces: the reply, and its events with fragments joined."""
    decoder = dialect.decoder(tools=tools)
    deltas = [delta for piece in pieces for delta in decoder.feed(piece)]
    deltas += decoder.close()
    return decoder.reply, merged(deltas)


def merged(deltas: Iterable[Delta]) -> list[tuple[str, str]]:
    """The events without the cuts between their fragments."""
    joined: list[tuple[str, str]] = []
    for delta in deltas:
        kind, text = _told(delta)
        if joined and joined[-1][0] == kind:
            joined[-1] = (kind, joined[-1][1] + text)
        else:
            joined.append((kind, text))
    return joined


def final(events: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """The events that still hold at the end: those behind the one that made reasoning of all before it."""
    ends = [place for place, (kind, _) in enumerate(events) if kind == "thought ended"]
    return list(events[ends[-1] + 1 :] if ends else events)


def said_as(call: ToolCall) -> str:
    """A call without the word that something was cut behind it, which may be known only after the call was told."""
    return repr(structs.replace(call, repairs=tuple(repair for repair in call.repairs if repair != CUT)))


def _told(delta: Delta) -> tuple[str, str]:
    match delta:
        case TextDelta(text):
            return "text", text
        case ReasoningDelta(text):
            return "reasoning", text
        case CallDelta(index, name, source):
            return f"call {index}", f"{name}: " if name else source
        case ThoughtEnded():
            return "thought ended", ""
        case CallSaid(index, call):
            return f"said {index}", said_as(call)


def pieces_of(text: str, cuts: Iterable[int]) -> list[str]:
    """A text cut at some places."""
    places = [0, *sorted({cut % (len(text) + 1) for cut in cuts}), len(text)]
    return [text[start:end] for start, end in pairwise(places)]


cuts = st.lists(st.integers(0, 10_000), max_size=12)

text_values = st.text(st.sampled_from("ab {}[]\"'\\\n\t,:，：“”中文é😀<>`~"), max_size=20) | st.text(
    st.characters(exclude_categories=["Cs"]), max_size=10
)
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**12), 10**12)
    | st.floats(allow_nan=False, allow_infinity=False)
    | text_values,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text_values, inner, max_size=3),
    max_leaves=8,
)
calls = st.lists(
    st.builds(
        lambda name, arguments: ToolCall(id="", name=name, arguments=arguments),
        st.sampled_from(["weather", "search", "get_time", "route", "write_file", "order_pizza"]),
        st.dictionaries(text_values, values, max_size=4),
    ),
    min_size=1,
    max_size=4,
)
