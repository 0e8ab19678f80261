"""An operation and arguments as an HTTP request, as plain data. Pure: sending is done elsewhere.

A value can only end up in the place of its parameter. Path segments are percent-encoded, and `.` and `..` are refused;
header values are visible ASCII; the host comes from the operator's choice of server alone. Credentials are not in the
request: its `credentials` say which are needed and where; `with_credentials` puts them in at the last step.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping

import msgspec
from msgspec import Struct

from ...core.attachment import File
from ...core.call import Problem
from ...core.errors import InvalidArguments
from ...core.json import Json, JsonObject, dumps
from ..bound_text.address import UNRESERVED, is_lost_segment, percent_encoded
from ..bound_text.form import FormPart, multipart
from ..bound_text.header import COOKIE, VISIBLE
from ..bound_text.part import NoPlace
from .model import ApiDocument, ApiOperation, ApiParameter, CredentialPlace, FormField, RequestBody

_RESERVED_KEPT = UNRESERVED + ":/?@!$'()*,;"
"""What `allowReserved` leaves as it is: not `#`, `&`, `=`, `+` and brackets, which would end or split the value."""

_DELIMITERS = {"spaceDelimited": ("%20", " "), "pipeDelimited": ("%7C", "|"), "tabDelimited": ("%09", "\t")}


class CredentialSlot(Struct, frozen=True):
    """The place of one credential: which scheme, which part of the request, under which name, after which word."""

    scheme: str
    where: CredentialPlace
    name: str
    prefix: str


class BuiltRequest(Struct, frozen=True, omit_defaults=True):
    """A request without its credentials.

    Attributes:
        method, url, headers, body: as they are sent.
        credentials: alternatives, each the places that are filled together; an empty alternative needs none.
    """

    method: str
    url: str
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None
    credentials: tuple[tuple[CredentialSlot, ...], ...] = ()


def build_request(
    api: ApiDocument,
    operation: ApiOperation,
    arguments: JsonObject,
    server: str,
    files: Mapping[str, File] | None = None,
) -> BuiltRequest:
    """Build a request.

    Args:
        api: the document that the operation is of, for its security schemes.
        operation: what to call.
        arguments: checked against the tool's schema before.
        server: the base address that the operator chose, as `ApiServer.address` gives it.
        files: the attachments by their handles.

    Raises:
        InvalidArguments: a value that can not stand in its place, naming the parameter.
    """
    _check_names(operation, arguments)
    path = operation.path.partition("#")[0]
    query: list[str] = []
    headers: list[tuple[str, str]] = []
    cookies: list[str] = []
    for plan in operation.parameters:
        value = arguments.get(plan.argument)
        if value is None:
            if plan.required:
                raise _wrong(plan.argument, "required", "a value")
            continue
        match plan.where:
            case "path":
                path = path.replace(f"{{{plan.name}}}", _path(plan, value))
            case "query":
                query += _query(plan, value)
            case "querystring":
                query.append(_querystring(plan, value))
            case "header":
                headers.append((plan.name, _header(plan, value)))
            case "cookie":
                cookies += _cookie(plan, value)
    _check_segments(operation, path)
    if cookies:
        headers.append(("Cookie", "; ".join(cookies)))
    body = None
    if operation.body is not None:
        body, media_type = _body(operation.body, arguments, files or {})
        if body is not None:
            headers.append(("Content-Type", media_type))
    url = server.rstrip("/") + path + ("?" + "&".join(query) if query else "")
    return BuiltRequest(operation.method, url, tuple(headers), body, _slots(api, operation))


def with_credentials(
    request: BuiltRequest, slots: tuple[CredentialSlot, ...], values: Mapping[str, str]
) -> BuiltRequest:
    """The request with its credentials, for the moment of sending.

    Args:
        request: as `build_request` made it.
        slots: one of its `credentials`.
        values: by scheme: the key or token; for `basic`, `user:password`.

    Raises:
        InvalidArguments: a value that a header can not hold. The message does not show the value.
    """
    url, headers = request.url, list(request.headers)
    for slot in slots:
        value = values[slot.scheme]
        if slot.prefix == "Basic ":
            value = base64.b64encode(value.encode()).decode()
        if slot.where == "query":
            url += ("&" if "?" in url else "?") + f"{_quoted(slot.name)}={_quoted(value)}"
        elif slot.where != "certificate":
            if not VISIBLE.fullmatch(value) or (slot.where == "cookie" and not COOKIE.fullmatch(value)):
                raise _wrong(slot.scheme, "format", "a credential of visible ASCII characters")
            if slot.where == "header":
                headers = [(name, said) for name, said in headers if name.lower() != slot.name.lower()]
                headers.append((slot.name, slot.prefix + value))
            else:
                said = [text for name, text in headers if name == "Cookie"]
                headers = [(name, text) for name, text in headers if name != "Cookie"]
                headers.append(("Cookie", "; ".join([*said, f"{slot.name}={value}"])))
    return msgspec.structs.replace(request, url=url, headers=tuple(headers))


def _slots(api: ApiDocument, operation: ApiOperation) -> tuple[tuple[CredentialSlot, ...], ...]:
    schemes = api.schemes
    return tuple(
        tuple(
            CredentialSlot(scheme.name, scheme.where, scheme.parameter, scheme.prefix)
            for scheme in (schemes[requirement.scheme] for requirement in needed)
        )
        for needed in operation.security
    )


def _check_names(operation: ApiOperation, arguments: JsonObject) -> None:
    """A name that the operation does not have is a mistake: left out in silence, another request would be sent.

    Raises:
        InvalidArguments: there is such a name.
    """
    known = dict.fromkeys(plan.argument for plan in operation.parameters)
    if operation.body is not None:
        known |= dict.fromkeys(operation.body.fields if operation.body.flat else (operation.body.argument,))
    for name in arguments:
        if name not in known:
            takes = ", ".join(known) or "no arguments"
            raise _wrong(name, "additionalProperties", f"no argument of this name: {operation.tool.name} takes {takes}")


def _wrong(argument: str, rule: str, expected: str) -> InvalidArguments:
    return InvalidArguments([Problem(argument, rule, expected)])


def _text(value: Json) -> str:
    """A plain value as text; what has parts is written as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return dumps(value)


def _quoted(text: str, safe: str = UNRESERVED) -> str:
    try:
        return percent_encoded(text, safe)
    except NoPlace as problem:
        raise _wrong("", "format", str(problem).removeprefix("expected ")) from None


def _members(value: JsonObject) -> list[tuple[str, str]]:
    return [(key, _text(item)) for key, item in value.items() if item is not None]


def _path(plan: ApiParameter, value: Json) -> str:
    if plan.media_type:
        return _quoted(dumps(value))
    name = _quoted(plan.name)
    if value in ("", [], {}):
        raise _wrong(plan.argument, "minLength", "a value that is not empty, since it is a part of the path")
    lead, join = {"label": (".", "."), "matrix": (";", ";")}.get(plan.style, ("", ","))
    if isinstance(value, list):
        items = [_quoted(_text(item)) for item in value]
        if plan.style == "matrix":
            return "".join(f";{name}={item}" for item in items) if plan.explode else f";{name}={','.join(items)}"
        return lead + (join if plan.explode else ",").join(items)
    if isinstance(value, dict):
        pairs = [(_quoted(key), _quoted(item)) for key, item in _members(value)]
        if plan.explode:
            return lead + join.join(f"{key}={item}" for key, item in pairs)
        flat = ",".join(part for pair in pairs for part in pair)
        return f";{name}={flat}" if plan.style == "matrix" else lead + flat
    text = _quoted(_text(value))
    return f";{name}={text}" if plan.style == "matrix" else lead + text


def _check_segments(operation: ApiOperation, path: str) -> None:
    for before, after in zip(operation.path.partition("#")[0].split("/"), path.split("/"), strict=False):
        if is_lost_segment(after) and (before or after):
            names = [plan.argument for plan in operation.parameters if f"{{{plan.name}}}" in before]
            raise _wrong(
                names[0] if names else "", "format", "a value that is not '.', '..' or empty: it is a part of the path"
            )


def _query(plan: ApiParameter | _Named, value: Json) -> list[str]:
    name = _quoted(plan.name)
    safe = _RESERVED_KEPT if plan.allow_reserved else UNRESERVED
    if plan.media_type:
        return [f"{name}={_quoted(dumps(value) if 'json' in plan.media_type else _text(value))}"]
    if plan.style == "deepObject" and isinstance(value, dict):
        return _deep(name, value, safe)
    between = _DELIMITERS.get(plan.style)
    if isinstance(value, list):
        if plan.explode and (between is None or plan.style != "tabDelimited"):
            return [f"{name}={_quoted(_text(item), safe)}" for item in value]
        if not value:
            return []
        return [f"{name}={_joined(plan, [_text(item) for item in value], between, safe)}"]
    if isinstance(value, dict):
        pairs = _members(value)
        if plan.explode and between is None:
            return [f"{_quoted(key)}={_quoted(item, safe)}" for key, item in pairs]
        return [f"{name}={_joined(plan, [part for pair in pairs for part in pair], between, safe)}"] if pairs else []
    return [f"{name}={_quoted(_text(value), safe)}"]


def _joined(plan: ApiParameter | _Named, parts: list[str], between: tuple[str, str] | None, safe: str) -> str:
    written, plain = between or (",", "")
    if plain and any(plain in part for part in parts):
        raise _wrong(plan.argument, "pattern", f"values without {plain!r}, which stands between the values here")
    return written.join(_quoted(part, safe.replace(",", "")) for part in parts)


def _deep(name: str, value: JsonObject, safe: str) -> list[str]:
    found: list[str] = []
    for key, item in value.items():
        inner = f"{name}%5B{_quoted(key)}%5D"
        if isinstance(item, dict):
            found += _deep(inner, item, safe)
        elif isinstance(item, list):
            found += [f"{inner}={_quoted(_text(part), safe)}" for part in item]
        elif item is not None:
            found.append(f"{inner}={_quoted(_text(item), safe)}")
    return found


def _querystring(plan: ApiParameter, value: Json) -> str:
    if plan.media_type == "application/x-www-form-urlencoded" and isinstance(value, dict):
        return "&".join(f"{_quoted(key)}={_quoted(item)}" for key, item in _members(value))
    return _quoted(dumps(value) if "json" in plan.media_type else _text(value))


def _header(plan: ApiParameter, value: Json) -> str:
    if plan.media_type:
        text = dumps(value)
        text = text.encode("ascii", "backslashreplace").decode() if text.isascii() else _ascii_json(text)
    elif isinstance(value, list | dict):
        pairs = _members(value) if isinstance(value, dict) else [("", _text(item)) for item in value]
        if any("," in part for pair in pairs for part in pair):
            raise _wrong(plan.argument, "pattern", "values without ',', which stands between the values here")
        if isinstance(value, list):
            text = ",".join(item for _, item in pairs)
        else:
            text = ",".join(f"{key}={item}" if plan.explode else f"{key},{item}" for key, item in pairs)
    else:
        text = _text(value)
    if not VISIBLE.fullmatch(text) or text != text.strip():
        raise _wrong(plan.argument, "pattern", "visible ASCII characters, since the value stands in a header")
    return text


def _ascii_json(text: str) -> str:
    return re.sub(r"[^\x00-\x7f]", lambda found: _escaped(found[0]), text)


def _escaped(sign: str) -> str:
    units = sign.encode("utf-16-be")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


def _cookie(plan: ApiParameter, value: Json) -> list[str]:
    if plan.style != "cookie":
        return _query(plan, value)
    items = value if isinstance(value, list) else [value]
    texts = [_text(item) for item in items]
    if not all(COOKIE.fullmatch(text) for text in texts):
        raise _wrong(
            plan.argument, "pattern", "characters that a cookie can hold: visible ASCII without ',', ';' and quotes"
        )
    if isinstance(value, list) and not plan.explode:
        return [f"{plan.name}={','.join(texts)}"]
    return [f"{plan.name}={text}" for text in texts]


# Bodies. --------------------------------------------------------------------------------------------------------------


class _Named(Struct, frozen=True):
    """A field of a form as `_query` takes it."""

    name: str
    argument: str
    style: str
    explode: bool
    allow_reserved: bool
    media_type: str = ""


def _body(body: RequestBody, arguments: JsonObject, files: Mapping[str, File]) -> tuple[bytes | None, str]:
    value: Json
    if body.flat:
        value = {name: arguments[name] for name in body.fields if arguments.get(name) is not None}
        if not value:
            return None, ""
    elif body.argument not in arguments:
        if body.required:
            raise _wrong(body.argument, "required", "a value")
        return None, ""
    else:
        value = arguments[body.argument]
    match body.kind:
        case "json":
            return dumps(value).encode(), body.media_type
        case "text":
            return _text(value).encode(), body.media_type
        case "binary":
            file = _file(body.argument, value, files)
            concrete = "*" not in body.media_type
            return file.data, body.media_type if concrete else _media_type(file)
        case "form":
            return _form(body, value).encode(), body.media_type
        case "multipart":
            return _multipart(body, value, files)


def _file(argument: str, value: Json, files: Mapping[str, File]) -> File:
    found = files.get(value) if isinstance(value, str) else None
    if found is None:
        raise _wrong(argument, "attachment", f"the handle of an attachment: {', '.join(files) or 'there is none'}")
    return found


def _media_type(file: File) -> str:
    return file.media_type if re.fullmatch(r"[\w.+-]+/[\w.+-]+(;[\x20-\x7e]*)?", file.media_type) else File.usual


def _fields(body: RequestBody, value: Json) -> list[tuple[str, FormField, Json]]:
    if not isinstance(value, dict):
        raise _wrong(body.argument, "type", "an object with the fields of the form")
    return [(name, body.fields.get(name, FormField()), item) for name, item in value.items() if item is not None]


def _form(body: RequestBody, value: Json) -> str:
    parts: list[str] = []
    for name, field, item in _fields(body, value):
        media_type = field.media_type if "json" in field.media_type else ""
        parts += _query(_Named(name, name, field.style, field.explode, field.allow_reserved, media_type), item)
    return "&".join(parts)


def _multipart(body: RequestBody, value: Json, files: Mapping[str, File]) -> tuple[bytes, str]:
    parts: list[FormPart] = []
    for name, field, item in _fields(body, value):
        many = item if isinstance(item, list) and "json" not in field.media_type else [item]
        for single in many:
            if field.file:
                file = _file(name, single, files)
                parts.append(FormPart(name, file.data, _media_type(file), file.name or "file"))
            elif isinstance(single, dict | list) or "json" in field.media_type:
                parts.append(FormPart(name, dumps(single).encode(), "application/json"))
            else:
                parts.append(FormPart(name, _text(single).encode()))
    return multipart(parts)
