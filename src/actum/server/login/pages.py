"""What people read when they log in: small pages in English and Chinese, without a script.

The page after the log-in goes on by itself. It is a page of ours, and no redirect, because a browser keeps a Strict
cookie back on a redirect that another site began.
"""

from __future__ import annotations

from html import escape

from starlette.requests import Request
from starlette.responses import HTMLResponse

from ...core.language.sentence import Sentence
from ...core.language.translation import in_language
from ..route_group import language_of

_HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cross-origin-opener-policy": "same-origin",
    "vary": "accept-language",
}


def page(
    request: Request,
    text: str,
    *,
    status: int = 200,
    go_on: str = "",
    login: str = "",
    logout: str = "",
    **words: object,
) -> HTMLResponse:
    """A page.

    Args:
        request: that it answers.
        text: the sentence on it, in English; the template of it where there are values.
        status: of the response.
        go_on: a path to which the page goes by itself.
        login: the path at which the reader may try again.
        logout: the path of a button to log out.
        words: the values.
    """
    language = language_of(request.scope)
    parts = [f"<p>{escape(in_language(Sentence(text, **words), language))}</p>"]
    refresh = ""
    if go_on:
        refresh = f'<meta http-equiv="refresh" content="0; url={escape(go_on)}">'
        parts.append(f'<p><a href="{escape(go_on)}">{in_language(Sentence("Go on"), language)}</a></p>')
    if login:
        label = in_language(Sentence("Try again" if status >= 400 else "Log in"), language)
        parts.append(f'<p><a href="{escape(login)}">{label}</a></p>')
    if logout:
        button = f"<button>{in_language(Sentence('Log out'), language)}</button>"
        parts.append(f'<form method="post" action="{escape(logout)}">{button}</form>')
    body = (
        f'<!doctype html><html lang="{language}"><head><meta charset="utf-8">{refresh}<title>actum</title></head>'
        f"<body>{''.join(parts)}</body></html>\n"
    )
    return HTMLResponse(body, status, headers=_HEADERS | {"content-language": language})
