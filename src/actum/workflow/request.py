"""What an `http` node sends: each value of the workflow is bound by the rule of its place in the request. So are values
in texts for tools whose parameters declare a grammar.

Values are bound twice, by the same rules: first those of the workflow, which are on record; then, at the moment of
sending, the secrets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from ..core.json import Json, JsonObject
from ..protocols.bound_text.address import bind_address, bind_query
from ..protocols.bound_text.form import encoded_fields
from ..protocols.bound_text.grammar import bind_body, bind_of, is_known
from ..protocols.bound_text.header import bind_header
from ..protocols.bound_text.part import Given, NoPlace, Part, Parts, joined
from .definition.expression import SECRET, Expression, Literal, ObjectOf, Piped, Reference, ScopeValues, TextOf
from .definition.functions import told

Bind = Callable[[Parts], str]


def request_of(expressions: dict[str, Expression], scope: ScopeValues) -> JsonObject:
    """The fields of a request, with the values of the workflow.

    Raises:
        NoPlace: a value can not stand at its place; the message begins with the field.
        NoValue: an expression has no value.
    """
    sent: JsonObject = {}
    raw: list[Json] = []
    for name, expression in expressions.items():
        try:
            match name:
                case "url":
                    sent[name] = _bound(expression, scope, bind_address)
                case "query":
                    sent[name] = _bound(expression, scope, bind_query)
                case "headers":
                    sent[name] = _headers(expression, scope)
                case "body":
                    type_ = _content_type(sent.get("headers"))
                    sent[name] = _body(expression, scope, type_)
                case _:
                    sent[name] = expression.value(scope)
        except NoPlace as problem:
            raise NoPlace(f"{name}: {problem}") from None
        if _is_raw(expression):
            raw.append(name)
    return {**sent, "raw": raw} if raw else sent


def _bound(expression: Expression, scope: ScopeValues, bind: Bind) -> Json:
    """A text with its values bound; what is no text with values is what it is."""
    return bind(expression.given(scope)) if isinstance(expression, TextOf) else expression.value(scope)


def _headers(expression: Expression, scope: ScopeValues) -> Json:
    if not isinstance(expression, ObjectOf):
        return expression.value(scope)
    return {name: _bound(each, scope, partial(bind_header, name)) for name, each in expression.fields.items()}


def _body(expression: Expression, scope: ScopeValues, media_type: str) -> Json:
    """The body. A text that is all of the body is a value like any other, unless its author declares it as encoded."""
    if isinstance(expression, TextOf):
        return bind_body(media_type, expression.given(scope))
    if isinstance(expression, Literal):
        return expression.constant
    value = expression.value(scope)
    given = expression.given(scope) if isinstance(expression, Reference | Piped) else Given.of(value)
    if not isinstance(value, str) and not given.encoded:
        return value
    return bind_body(media_type, [given]) if is_known(media_type) else given.text


def _content_type(headers: Json) -> str:
    for name, value in headers.items() if isinstance(headers, dict) else ():
        if name.lower() == "content-type":
            return told(value)
    return ""


def _is_raw(expression: Expression) -> bool:
    """Whether the author declares a value as encoded."""
    match expression:
        case Reference():
            return bool(expression.encoded)
        case TextOf():
            return any(isinstance(part, Reference) and part.encoded for part in expression.parts)
        case ObjectOf():
            return any(_is_raw(field) for field in expression.fields.values())
        case _:
            return False


def arguments_of(expression: Expression, scope: ScopeValues, parameters: JsonObject) -> Json:
    """The arguments of a tool. A text is bound by the grammar that the schema of its parameter declares, if any.

    Raises:
        NoPlace: a value can not stand at its place; the message begins with the parameter.
        NoValue: an expression has no value.
    """
    properties = parameters.get("properties")
    if not isinstance(expression, ObjectOf) or not isinstance(properties, dict):
        return expression.value(scope)
    found: JsonObject = {}
    for name, field in expression.fields.items():
        schema = properties.get(name)
        schema = schema if isinstance(schema, dict) else {}
        bind = bind_of(schema) if isinstance(field, TextOf) else None
        try:
            found[name] = arguments_of(field, scope, schema) if bind is None else _bound(field, scope, bind)
        except NoPlace as problem:
            raise NoPlace(f"{name}: {problem}") from None
    return found


# Secrets. -------------------------------------------------------------------------------------------------------------


def with_secrets(request: JsonObject, secret: Callable[[str], str]) -> JsonObject:
    """A request with the secrets that it names.

    Args:
        request: as `request_of` gives it.
        secret: gives a secret by its name.

    Raises:
        NoPlace: a secret can not stand at its place. The message does not show the secret.
    """
    headers = request.get("headers", {})
    sent = dict(request)
    sent["url"] = _filled(request.get("url"), secret, bind_address)
    sent["query"] = _filled(request.get("query", {}), secret, bind_query)
    if isinstance(headers, dict):
        sent["headers"] = {name: _filled(value, secret, partial(bind_header, name)) for name, value in headers.items()}
    type_ = _content_type(headers)
    sent["body"] = _filled(
        request.get("body"), secret, lambda parts: bind_body(type_, parts) if is_known(type_) else joined(parts)
    )
    return sent


def _filled(value: Json, secret: Callable[[str], str], bind: Bind) -> Json:
    """A text with its secrets bound; inside of an object or a list, each is put in as it is."""
    if isinstance(value, str):
        pieces = SECRET.split(value)
        parts: list[Part] = [Given.of(secret(each)) if at % 2 else each for at, each in enumerate(pieces)]
        return bind([part for part in parts if part != ""]) if len(parts) > 1 else value
    if isinstance(value, dict):
        return {name: _filled(item, secret, joined) for name, item in value.items()}
    if isinstance(value, list):
        return [_filled(item, secret, joined) for item in value]
    return value


def body_bytes(media_type: str, body: Json) -> tuple[bytes, str]:
    """A body as it is sent, and its content type. An object is written as the content type says: as a form, or JSON."""
    if body is None:
        return b"", media_type
    if isinstance(body, dict):
        fields = encoded_fields(media_type, body)
        if fields is not None:
            return fields
    data = told(body).encode()
    if data and not media_type:
        media_type = "text/plain; charset=utf-8" if isinstance(body, str) else "application/json"
    return data, media_type


# Definitions. ---------------------------------------------------------------------------------------------------------

_TYPE_UNKNOWN = "the content type is not written in the definition, so the places of the values can not be told"


def place_problems(expressions: Mapping[str, Expression]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Which texts of a request can not be bound, whatever their values are, and why not."""
    headers = expressions.get("headers")
    for name, bind in (("url", bind_address), ("query", bind_query)):
        yield from _problem((name,), expressions.get(name), bind)
    for name, each in headers.fields.items() if isinstance(headers, ObjectOf) else ():
        yield from _problem(("headers", name), each, partial(bind_header, name))
    body = expressions.get("body")
    if isinstance(body, TextOf):
        type_ = _written_type(headers)
        if type_ is None:
            yield ("body",), _TYPE_UNKNOWN
        else:
            yield from _problem(("body",), body, partial(bind_body, type_))


def _problem(place: tuple[str, ...], text: Expression | None, bind: Bind) -> Iterator[tuple[tuple[str, ...], str]]:
    if isinstance(text, TextOf):
        try:
            bind(text.sketched())
        except NoPlace as problem:
            yield place, str(problem)


def _written_type(headers: Expression | None) -> str | None:
    """The content type that a definition writes; None where a value decides it."""
    if headers is None or isinstance(headers, Literal):
        return _content_type(headers.constant if headers is not None else None)
    for name, each in headers.fields.items() if isinstance(headers, ObjectOf) else ():
        if name.lower() == "content-type":
            return told(each.constant) if isinstance(each, Literal) else None
    return "" if isinstance(headers, ObjectOf) else None
