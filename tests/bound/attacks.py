"""The attack table: values that try to leave their place, places of requests, and a server that parses what comes."""

from __future__ import annotations

import json
from collections.abc import Callable
from html.parser import HTMLParser
from urllib.parse import parse_qsl, unquote
from xml.etree import ElementTree

from msgspec import Struct, field
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from actum.core.json import Json, JsonObject

VALUES = (
    "plain",
    'hi", "x": "',
    '"',
    "a\\",
    "a\r\nX-More: 1",
    "a&to=eve",
    "../../admin",
    "..",
    ".",
    "",
    "a/b",
    "?x=1#y",
    "%2e%2e",
    "a;to=eve",
    "a, b=c",
    "a\0b",
    "</note><evil/>",
    "' onload='x",
    "]]>",
    '\r\n--edge\r\nContent-Disposition: form-data; name="x"\r\n\r\n1',
    "true",
    "1",
    "ü 漢 +",
    "{{7*7}}",
    "${inputs.other}",
)
"""Values that try to end their place, to begin another, or to be read once more."""


class Received(Struct):
    """What a request was parsed as."""

    path: list[str]
    query: list[tuple[str, str]]
    headers: dict[str, str]
    cookies: dict[str, str]
    body: object


class Receiver:
    """A server that keeps each request as it parsed the request."""

    def __init__(self) -> None:
        self.received: list[Received] = []
        methods = ["GET", "POST", "PUT", "DELETE"]
        self.app = Starlette(routes=[Route("/{rest:path}", self._take, methods=methods)])

    async def _take(self, request: Request) -> JSONResponse:
        path = request.scope["raw_path"].decode().partition("?")[0]
        self.received.append(
            Received(
                path=[unquote(each) for each in path.split("/")[1:]],
                query=parse_qsl(request.scope["query_string"].decode(), keep_blank_values=True),
                headers={name.decode(): value.decode("utf-8") for name, value in request.scope["headers"]},
                cookies=dict(request.cookies),
                body=await _parsed(request),
            )
        )
        return JSONResponse({"ok": True})


async def _parsed(request: Request) -> object:
    type_ = request.headers.get("content-type", "").partition(";")[0]
    if type_ in ("application/x-www-form-urlencoded", "multipart/form-data"):
        return [(name, str(value)) for name, value in (await request.form()).multi_items()]
    text = (await request.body()).decode()
    match type_:
        case "application/json":
            return json.loads(text, object_pairs_hook=list)
        case "application/xml":
            return _of_xml(ElementTree.fromstring(text))  # written by our own node
        case "text/html":
            reader = _HtmlEvents()
            reader.feed(text)
            reader.close()
            return reader.events
        case _:
            return text


def _of_xml(element: ElementTree.Element) -> object:
    return [element.tag, dict(element.attrib), element.text or "", [_of_xml(each) for each in element]]


class _HtmlEvents(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.events: list[object] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.events.append(["begin", tag, dict(attrs)])

    def handle_endtag(self, tag: str) -> None:
        self.events.append(["end", tag])

    def handle_data(self, data: str) -> None:
        self.events.append(["text", data])


class Place(Struct, frozen=True):
    """A place of a request.

    Attributes:
        node: the fields of an `http` node, with HOST for the address of the server and `${V}` for the value.
        drawn: what the receiver has to parse for a value.
        refuses: which values have no place here, so that nothing is sent.
    """

    node: JsonObject
    drawn: Callable[[str], object]
    part: str = "body"
    refuses: Callable[[str], bool] = field(default=lambda value: False)


def _is_no_header(value: str) -> bool:
    return any(ord(sign) < 32 or ord(sign) > 255 for sign in value)


def _is_no_segment(value: str) -> bool:
    return _is_control(value) or value in ("../../admin", "%2e%2e")


def _is_control(value: str) -> bool:
    return any(ord(sign) < 32 for sign in value)


def _typed(type_: str, body: Json) -> JsonObject:
    return {"method": "POST", "url": "HOST/r", "headers": {"content-type": type_}, "body": body}


def _xml_text(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")  # XML 1.0, section 2.11


PLACES: dict[str, Place] = {
    "a segment of the path": Place(
        {"url": "HOST/r/notes/${V}/tail"},
        lambda value: ["r", "notes", value, "tail"],
        part="path",
        refuses=lambda value: value in ("", ".", "..") or _is_no_segment(value),
    ),
    "a part of a segment": Place(
        {"url": "HOST/r/${V}.json"}, lambda value: ["r", f"{value}.json"], part="path", refuses=_is_no_segment
    ),
    "the query in the address": Place(
        {"url": "HOST/r?a=1&q=${V}&z=2"}, lambda value: [("a", "1"), ("q", value), ("z", "2")], part="query"
    ),
    "the query": Place(
        {"url": "HOST/r", "query": {"a": "1", "q": "${V}"}}, lambda value: [("a", "1"), ("q", value)], part="query"
    ),
    "the query as a text": Place(
        {"url": "HOST/r", "query": "a=1&q=${V}"}, lambda value: [("a", "1"), ("q", value)], part="query"
    ),
    "a header": Place(
        {"url": "HOST/r", "headers": {"x-note": "for ${V}!"}},
        lambda value: f"for {value}!",
        part="x-note",
        refuses=_is_no_header,
    ),
    "a header with parts": Place(
        {"url": "HOST/r", "headers": {"x-note": "to=ada; for=${V}"}},
        lambda value: f"to=ada; for={value}".rstrip(),
        part="x-note",
        refuses=lambda value: _is_no_header(value) or bool(set(value) & set(',;"')),
    ),
    "a quoted part of a header": Place(
        {"url": "HOST/r", "headers": {"x-note": 'to=ada; for="${V}"'}},
        lambda value: 'to=ada; for="' + value.replace("\\", "\\\\").replace('"', '\\"') + '"',
        part="x-note",
        refuses=_is_no_header,
    ),
    "a cookie": Place(
        {"url": "HOST/r", "headers": {"cookie": "to=ada; for=${V}"}},
        lambda value: {"to": "ada", "for": value},
        part="cookies",
        refuses=lambda value: any(not "!" <= sign <= "~" or sign in '",;\\' for sign in value),
    ),
    "a string of JSON": Place(
        _typed("application/json", '{"to": "ada", "note": "for ${V}", "amount": 1}'),
        lambda value: [("to", "ada"), ("note", f"for {value}"), ("amount", 1)],
    ),
    "a whole string of JSON": Place(
        _typed("application/json", '{"to": "ada", "note": "${V}", "amount": 1}'),
        lambda value: [("to", "ada"), ("note", value), ("amount", 1)],
    ),
    "a value of JSON": Place(
        _typed("application/json", '{"to": "ada", "note": ${V}, "amount": 1}'),
        lambda value: [("to", "ada"), ("note", value), ("amount", 1)],
    ),
    "a name of JSON": Place(
        _typed("application/vnd.x+json", '{"to": "ada", "${V}": 1}'),
        lambda value: json.dumps({"to": "ada", value: 1}, ensure_ascii=False),
    ),
    "JSON that nobody calls so": Place(
        {"method": "POST", "url": "HOST/r", "body": '{"to": "ada", "note": "${V}"}'},
        lambda value: json.dumps({"to": "ada", "note": value}, ensure_ascii=False),
    ),
    "all of a JSON body": Place(_typed("application/json", "${V}"), lambda value: value),
    "an object": Place(
        _typed("application/json", {"to": "ada", "note": "for ${V}"}),
        lambda value: [("to", "ada"), ("note", f"for {value}")],
    ),
    "a form": Place(
        _typed("application/x-www-form-urlencoded", "to=ada&note=${V}&amount=1"),
        lambda value: [("to", "ada"), ("note", value), ("amount", "1")],
    ),
    "a form from an object": Place(
        _typed("application/x-www-form-urlencoded", {"to": "ada", "note": "for ${V}"}),
        lambda value: [("to", "ada"), ("note", f"for {value}")],
    ),
    "a part of a form": Place(
        _typed(
            "multipart/form-data; boundary=edge",
            '--edge\r\nContent-Disposition: form-data; name="note"\r\n\r\n${V}\r\n--edge--\r\n',
        ),
        lambda value: [("note", value)],
        refuses=lambda value: "--edge" in value,
    ),
    "a part from an object": Place(
        _typed("multipart/form-data", {"to": "ada", "note": "${V}"}), lambda value: [("to", "ada"), ("note", value)]
    ),
    "XML between tags": Place(
        _typed("application/xml", "<note><to>ada</to><for>${V}</for></note>"),
        lambda value: ["note", {}, "", [["to", {}, "ada", []], ["for", {}, _xml_text(value), []]]],
        refuses=lambda value: "\0" in value,
    ),
    "an attribute of XML": Place(
        _typed("application/xml", "<note to='ada' for='${V}'/>"),
        lambda value: ["note", {"to": "ada", "for": _xml_text(value).replace("\n", " ")}, "", []],
        refuses=lambda value: "\0" in value,
    ),
    "HTML": Place(
        _typed("text/html", '<p title="${V}">${V}</p>'),
        lambda value: [["begin", "p", {"title": value}], *([["text", value]] if value else []), ["end", "p"]],
        refuses=lambda value: "\0" in value,
    ),
    "a text": Place(_typed("text/plain", "for ${V}."), lambda value: f"for {value}."),
}


def node_at(place: Place, host: str, value: str) -> JsonObject:
    """An `http` node.

    Args:
        host: the address of the server.
        value: what stands for the value, such as `inputs.v`.
    """
    text = json.dumps({"type": "http", **place.node}).replace("HOST", host).replace("${V}", "${" + value + "}")
    node: JsonObject = json.loads(text)
    return node


def found_at(place: Place, received: Received) -> object:
    """What the receiver parsed at the place."""
    match place.part:
        case "path" | "query" | "cookies" | "body":
            return getattr(received, place.part)
        case header:
            return received.headers[header]
