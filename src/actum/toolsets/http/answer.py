"""What an API answered, as the result of a call or as the error that it means. Pure.

An API's words are a stranger's: hidden characters are removed, and what an error says is short. Secrets are taken out
before a text is cut, since the beginning of a secret is not found any more. Texts of a good answer are cleaned of
secrets by the call path; what the call path does not look into (files, their names and types) is looked into here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from email.message import Message
from typing import NoReturn
from urllib.parse import parse_qsl, urljoin, urlsplit

import jmespath
from msgspec import Struct

from ...core.call import MediaPart, TextPart, ToolResult
from ...core.errors import CallTimeout, RateLimited, ToolError, Unavailable
from ...core.json import Json, JsonObject, JsonProblem, dumps, parse
from ...core.secrets.matcher import VALUE_LENGTH_MIN, matcher
from ...core.secrets.redaction import Redaction
from ...protocols.openapi.asking import VALUE_CHARS_MAX, AskedBy
from ...protocols.openapi.model import ApiOperation
from ...protocols.plain_text import plain, plain_json
from ...transport.fetcher import Fetched
from ...transport.guard import origin
from ...transport.http import retry_after

WORDS_CHARS_MAX = 300
RETRY_AFTER_MAX_S = 86_400.0
NOTED = ("etag", "last-modified", "content-length", "content-type", "allow")
"""The headers that are told of an answer without a body."""

HIDING = "The API answered with a text that holds a credential in another character set; the text is not handed on."

AGAIN = "The API names this page as the next one again. Do not ask for it again: the rest can not be had in this way."

_SHORT = range(1, WORDS_CHARS_MAX)
"""What is longer is left out whole: to cut it could leave the beginning of a secret that is then not found."""
_NEXT = re.compile(r"<([^<>]*)>([^<>]*)")
_PAGE_HOLDERS = (
    *("meta", "metadata", "_meta", "paging", "pagination", "page_info", "pageInfo", "page", "links"),
    *("response_metadata", "cursors"),
)
"""The fields of an answer in which APIs say where the next page begins, besides the answer itself."""
_MORE = frozenset({"hasmore", "hasnext", "hasnextpage", "more"})
_CURSORS: dict[str, tuple[str, ...]] = {
    "nextcursor": ("cursor", "nextcursor", "after", "startcursor", "pagecursor"),
    "endcursor": ("after", "cursor"),
    "cursor": ("cursor",),
    "after": ("after",),
    "nextpagetoken": ("pagetoken", "nextpagetoken"),
    "nexttoken": ("nexttoken", "pagetoken", "continuationtoken"),
    "continuationtoken": ("continuationtoken",),
    "nextpage": ("page", "pagenumber"),
    "nextoffset": ("offset", "start"),
    "nextmarker": ("marker", "nextmarker"),
    "next": ("cursor", "after", "pagetoken", "marker", "page", "offset"),
}
"""By the field that says where the next page begins, the query parameters that take it; of both the letters alone."""
_PRINTABLE = re.compile(rb"[\t\n\r\x20-\x7e]{4,}")
_REL_NEXT = re.compile(r';\s*rel\s*=\s*+"?(?:[^";]*\s)?next(?:\s[^";]*)?"?', re.IGNORECASE)


class AskedOperation(Struct, frozen=True, kw_only=True):
    """What was asked, as far as an answer is read by it.

    Attributes:
        operation: the operation.
        query: the arguments of the tool by the query parameters that they fill; for the next page.
        find: the tool and the arguments that ask for an address of the same API; None where there is none.
        problems: what is wrong with a JSON answer of a status and a size, by the document.
        pick: a JMESPath expression for the part of the answer that a model sees; empty for all.
        secrets: what was sent as a credential.
    """

    operation: ApiOperation
    query: Mapping[str, str] = {}
    find: Callable[[str], AskedBy | None] = lambda address: None
    problems: Callable[[int, Json, int], Sequence[str]] = lambda status, value, size: ()
    pick: str = ""
    secrets: Collection[str] = ()


def result_of(answer: Fetched, asked: AskedOperation, call_id: str) -> ToolResult:
    """The result that a good answer is.

    Args:
        answer: with a status below 300, or 304.
        asked: what was asked.
        call_id: of the call.

    Raises:
        ToolError: the answer is a file that repeats a credential.
    """
    kind, charset, name = kind_of(answer.headers)
    value: Json = None
    structured = False
    content: list[TextPart | MediaPart] = []
    notes = _notes(answer, asked)
    if not answer.body:
        content.append(TextPart(_without_body(answer, asked.operation)))
    elif _is_of_text(kind) and hides_secret(answer.body, asked.secrets):
        content.append(TextPart(HIDING))
    elif _is_json(kind):
        try:
            value, _ = parse(answer.body, keep_last=True)
            structured = True
        except JsonProblem:
            content.append(TextPart(plain(answer.body.decode("utf-8", "replace"))))
            notes.append("The API says that this is JSON, and it is not.")
    elif (text := _as_text(answer.body, kind, charset)) is not None:
        # A wrong character set would hide a secret from the call path, and not from a reader of the bytes.
        is_hidden = charset.lower() not in ("utf-8", "us-ascii") and holds_secret(answer.body, asked.secrets)
        content.append(TextPart(plain(answer.body.decode("utf-8", "replace") if is_hidden else text)))
    else:
        content.append(_file(answer.body, kind, name, asked.secrets))
    if structured:
        value = plain_json(value)
        notes += _next_in_body(value, answer.url, asked)
        problems = asked.problems(answer.status, value, len(answer.body))
        notes += [f"The answer is not as the API's document says: {each}" for each in problems]
        value = _picked(value, asked.pick, notes)
    if structured:
        return with_notes(value, notes, call_id)
    return ToolResult(call_id, (*content, *(TextPart(note) for note in notes)))


def with_notes(value: Json, notes: Sequence[str], call_id: str) -> ToolResult:
    """A value as a result, and what is told beside it."""
    content = [TextPart(text) for text in (dumps(value), *notes)] if notes else []
    return ToolResult(call_id, tuple(content), structured=value)


def refuse(answer: Fetched, now: float, secrets: Collection[str] = ()) -> NoReturn:
    """Raise what an answer with another status means.

    Args:
        answer: neither below 300 nor 304.
        now: seconds since 1970, for a `Retry-After` that is a date.
        secrets: what was sent as a credential.
    """
    status, later = answer.status, retry_after(answer.headers, now)
    later = min(later, RETRY_AFTER_MAX_S) if later is not None else None
    if later is not None and matcher(frozenset(secrets)).is_in(later):
        later = None
    said = _said(answer, secrets)
    words = f"HTTP {status}{': ' + said if said else ''}"
    if status == 429:
        raise RateLimited("The API takes no more requests for now ({why}).", retry_after=later, why=words)
    if status in (408, 504):
        raise CallTimeout(
            "The API did not finish in time ({why}); it may have happened all the same.", retry_after=later, why=words
        )
    if status >= 500:
        raise Unavailable(
            "The API failed ({why}); it may have happened all the same.", effect="unknown", retry_after=later, why=words
        )
    if status < 400:
        raise ToolError(
            "The API answered with a redirect that is not followed (HTTP {number}); the call may have had its effect.",
            effect="unknown",
            number=status,
        )
    if status in (401, 403):
        raise ToolError("The API does not let this credential do that ({why}).", why=words)
    raise ToolError("The API refused the request ({why}).", retry_after=later, why=words)


def _picked(value: Json, expression: str, notes: list[str]) -> Json:
    """The part of an answer that a person wants a model to see; all of the answer where there is no such part."""
    if not expression:
        return value
    try:
        found: Json = jmespath.search(expression, value)
    except jmespath.exceptions.JMESPathError:
        notes.append("The part of the answer that was to be picked can not be picked; this is the whole answer.")
        return value
    return found


def holds_secret(data: bytes, secrets: Collection[str]) -> bool:
    """Whether bytes hold a secret: as it is in the usual character sets, or in a form that `secret_matcher` finds.

    What is compressed or encrypted is not looked into.
    """
    known = frozenset(secret for secret in secrets if len(secret) >= VALUE_LENGTH_MIN)
    for secret in known:
        forms = [secret.encode(name, "replace") for name in ("utf-8", "utf-16-le", "utf-16-be")]
        if any(form in data for form in forms) or (
            all(ord(sign) < 256 for sign in secret) and secret.encode("latin-1") in data
        ):
            return True
    texts = b"\0".join(_PRINTABLE.findall(data)).decode("ascii")
    return bool(known and texts and matcher(known).find(texts))


def hides_secret(body: bytes, secrets: Collection[str]) -> bool:
    """Whether bytes hold a secret and are no plain UTF-8, so that the secret is not found in the text they become."""
    if not secrets:
        return False
    try:
        body.decode("utf-8")
    except UnicodeDecodeError:
        return holds_secret(body, secrets)
    return b"\0" in body and holds_secret(body, secrets)


def _file(data: bytes, kind: str, name: str, secrets: Collection[str]) -> MediaPart:
    """A body that is no text, without secrets: none is looked for in files once they are on record.

    Raises:
        ToolError: the file holds a secret.
    """
    if holds_secret(data, secrets):
        raise ToolError("The API answered with a file that holds a credential; it is not handed on.", effect="done")
    said = plain(name) if len(name) in _SHORT else ""
    kind = "" if holds_secret(kind.encode(), [each.lower() for each in secrets]) else kind
    return MediaPart(
        kind or "application/octet-stream", data=data, name="" if holds_secret(said.encode(), secrets) else said
    )


def kind_of(headers: Mapping[str, str]) -> tuple[str, str, str]:
    """Media type, character set and file name that an answer says."""
    head = Message()
    head["content-type"] = headers.get("content-type", "")
    head["content-disposition"] = headers.get("content-disposition", "")
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if not re.fullmatch(r"[\w!#$&^.+-]+/[\w!#$&^.+-]+", kind):
        kind = ""
    return kind, str(head.get_content_charset() or "utf-8"), str(head.get_filename() or "")


def _is_of_text(kind: str) -> bool:
    return (
        _is_json(kind)
        or kind.startswith("text/")
        or kind.endswith(("/xml", "+xml", "/yaml", "/x-ndjson", "/javascript"))
    )


def _is_json(kind: str) -> bool:
    return kind in ("application/json", "text/json") or kind.endswith("+json")


def _as_text(body: bytes, kind: str, charset: str) -> str | None:
    """A body that is text; None for another one."""
    is_text = _is_of_text(kind)
    if not is_text and kind:
        return None
    try:
        return body.decode(charset if is_text else "utf-8", "replace" if is_text else "strict")
    except LookupError:
        return body.decode("utf-8", "replace")
    except UnicodeDecodeError:
        return None


def _without_body(answer: Fetched, operation: ApiOperation) -> str:
    told = f"Done (HTTP {answer.status}). The answer has no body."
    if operation.method != "HEAD":
        return told
    heads = [f"{name}: {plain(answer.headers[name])}" for name in NOTED if len(answer.headers.get(name, "")) in _SHORT]
    return "\n".join([f"HTTP {answer.status}", *heads])


def _notes(answer: Fetched, asked: AskedOperation) -> list[str]:
    """What is to be told beside the body: that the work goes on, and that there are more pages."""
    notes: list[str] = []
    if answer.status == 202:
        notes.append(f"The API has taken the request and has not finished (HTTP 202). {_later(answer, asked)}")
    for link, attributes in _NEXT.findall(answer.headers.get("link", "")[:8192]):
        if _REL_NEXT.search(attributes):
            notes += _page(link, answer.url, asked)
            break
    return notes


def _later(answer: Fetched, asked: AskedOperation) -> str:
    """How is asked later how a request went."""
    seconds = answer.headers.get("retry-after", "").strip()
    when = f"after {int(seconds)} seconds" if re.fullmatch("[0-9]{1,6}", seconds) else "later"
    place = answer.headers.get("location", "").strip()
    there = _inside(place, answer.url) if place else None
    if place and there is None:
        return f"Ask again {when}; where, the API says by an address of another server, which is not followed."
    call = asked.find(there) if there else None
    if call is not None:
        return f"Ask {when} how it went: call {call.tool} with {_shown(call.arguments)}."
    unknown = "; no tool of this API asks at the address that it names"
    return f"Ask again {when} how it went{unknown if there else ''}."


def _next_in_body(value: Json, url: str, asked: AskedOperation) -> list[str]:
    """The next page, where the body has its address in a field `next`, or says where it begins."""
    if not isinstance(value, dict):
        return []
    if cursor := _cursor_in(value, url, asked):
        return cursor
    links = value.get("links") or value.get("_links")
    found = value.get("next") or (links.get("next") if isinstance(links, dict) else None)
    if isinstance(found, dict):
        found = found.get("href")
    return _page(found, url, asked) if isinstance(found, str) and found else []


def _cursor_in(body: JsonObject, url: str, asked: AskedOperation) -> list[str]:
    """How the next page is asked for, where a field such as `next_cursor` fits a query parameter of the operation."""
    takes = {_letters(parameter): argument for parameter, argument in asked.query.items()}
    here = {asked.query.get(parameter): value for parameter, value in parse_qsl(urlsplit(url).query)}
    for holder in (body, *(body.get(name) for name in _PAGE_HOLDERS)):
        if not isinstance(holder, dict):
            continue
        if any(value is False and _letters(name) in _MORE for name, value in holder.items()):
            return []
        for name, value in holder.items():
            argument = next((takes[each] for each in _CURSORS.get(_letters(name), ()) if each in takes), "")
            if argument and _is_cursor(value):
                if here.get(argument) == str(value):
                    return [AGAIN]
                told, tool = _shown({argument: value}), asked.operation.tool.name
                return [f"There are more results: call {tool} again with the same arguments and {told}."]
    return []


def _is_cursor(value: Json) -> bool:
    """Whether a value may be the beginning of a page, and is no address."""
    if isinstance(value, str):
        return 0 < len(value) <= VALUE_CHARS_MAX and not value.startswith(("http://", "https://", "/", "?"))
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _letters(name: str) -> str:
    return re.sub(r"[^a-z]", "", name.lower())


def _page(link: str, url: str, asked: AskedOperation) -> list[str]:
    """How the next page is asked for, by the arguments of a tool. Nothing is followed by itself."""
    address = _inside(link, url)
    if address is None:
        return ["There are more results, at another server; the link is not followed."]
    here, there = urlsplit(url), urlsplit(address)
    before = parse_qsl(here.query)
    if there.path == here.path and sorted(parse_qsl(there.query)) == sorted(before):
        return [AGAIN]
    after = [pair for pair in parse_qsl(there.query) if pair not in before]
    if (
        there.path == here.path
        and after
        and all(name in asked.query and len(value) <= VALUE_CHARS_MAX for name, value in after)
    ):
        arguments: JsonObject = {asked.query[name]: value for name, value in after}
        name = asked.operation.tool.name
        return [f"There are more results: call {name} again with the same arguments and {_shown(arguments)}."]
    call = asked.find(address)
    if call is not None:
        return [f"There are more results: call {call.tool} with {_shown(call.arguments)}."]
    return ["There are more results."]


def _inside(link: str, url: str) -> str | None:
    """An address that an API names, absolute; None where it is of another server, or no address."""
    try:
        address = urljoin(url, link)
        return address if origin(address) == origin(url) else None
    except ValueError:
        return None


def _shown(arguments: JsonObject) -> str:
    return dumps(plain_json(arguments))


def _said(answer: Fetched, secrets: Collection[str]) -> str:
    """The short message of an error, in one line."""
    kind, charset, _ = kind_of(answer.headers)
    body = answer.body[:100_000]
    if hides_secret(body, secrets):
        return ""
    if _is_json(kind):
        try:
            value, _ = parse(body, keep_last=True)
        except JsonProblem:
            return ""
        text = _message(value)
    elif kind == "text/plain":
        text = _as_text(body, kind, charset) or ""
    else:
        return ""
    text = str(Redaction().value(" ".join(plain(text).split()), secrets))
    return text if len(text) <= WORDS_CHARS_MAX else text[:WORDS_CHARS_MAX] + "..."


def _message(value: Json, depth: int = 0) -> str:
    """The words of an error, where APIs usually put them."""
    if isinstance(value, str):
        return value
    if depth > 3:
        return ""
    if isinstance(value, list):
        return "; ".join(filter(None, (_message(item, depth + 1) for item in value[:3])))
    if isinstance(value, dict):
        names = ("message", "detail", "error_description", "error", "title", "reason", "description", "errors")
        found = [text for name in names if (text := _message(value.get(name), depth + 1))]
        return found[0] if found else ""
    return ""
