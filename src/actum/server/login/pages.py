"""What people read when they log in: small pages in English and Chinese, without a script.

The page after the log-in goes on by itself. It is a page of ours, and no redirect, because a browser keeps a Strict
cookie back on a redirect that another site began.
"""

from __future__ import annotations

from html import escape
from typing import Literal

from starlette.requests import Request
from starlette.responses import HTMLResponse

Language = Literal["en", "zh"]

_HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cross-origin-opener-policy": "same-origin",
    "vary": "accept-language",
}

_CHINESE = {
    "Log in": "登录",
    "Log out": "退出登录",
    "Try again": "重试",
    "Go on": "继续",
    "You are logged in as {name}.": "您已登录：{name}。",
    "You are logged in. You are taken on.": "您已登录，即将跳转。",
    "You are logged out.": "您已退出登录。",
    "The page to return to is not one of this server.": "要返回的页面不属于本服务器。",
    "This log-in was not begun in this browser, was used before, or took too long.": (
        "此次登录不是在本浏览器中开始的、已被使用过，或者耗时过长。"
    ),
    "The provider did not let you in.": "登录服务方没有批准您的登录。",
    "Too many log-ins have failed. Wait for {seconds} seconds.": "登录失败次数过多，请等待 {seconds} 秒。",
    "The provider at which you log in does not answer now. Try again in a moment.": (
        "登录服务方暂时没有响应，请稍后重试。"
    ),
    "The provider at which you log in answered wrongly. The log of this server says more.": (
        "登录服务方的应答有误，详情见本服务器的日志。"
    ),
    "The server can not look at log-ins now. Try again in a moment.": "服务器暂时无法处理登录，请稍后重试。",
    "Another site may not make this request in your name.": "其他网站不能以您的名义发出此请求。",
}


def language_of(request: Request) -> Language:
    """The language in which somebody reads, by `Accept-Language`; English where it says neither."""
    best: tuple[float, Language] = (0.0, "en")
    for part in request.headers.get("accept-language", "")[:500].split(","):
        tag, _, weight = part.strip().partition(";")
        name, given = tag.strip().lower().partition("-")[0], weight.strip().removeprefix("q=")
        try:
            share = float(given) if given else 1.0
        except ValueError:
            continue
        if name == "en" and share > best[0]:
            best = (share, "en")
        elif name == "zh" and share > best[0]:
            best = (share, "zh")
    return best[1]


def said(text: str, language: Language, **words: object) -> str:
    """A sentence in a language.

    Args:
        text: in English, with `{names}`.
        language: of the reader.
        words: what stands for the names.
    """
    return (_CHINESE[text] if language == "zh" else text).format(**words)


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
        text: the sentence on it, in English.
        status: of the response.
        go_on: a path to which the page goes by itself.
        login: the path at which the reader may try again.
        logout: the path of a button to log out.
        words: what stands for the names in the sentence.
    """
    language = language_of(request)
    parts = [f"<p>{escape(said(text, language, **words))}</p>"]
    refresh = ""
    if go_on:
        refresh = f'<meta http-equiv="refresh" content="0; url={escape(go_on)}">'
        parts.append(f'<p><a href="{escape(go_on)}">{said("Go on", language)}</a></p>')
    if login:
        label = said("Try again" if status >= 400 else "Log in", language)
        parts.append(f'<p><a href="{escape(login)}">{label}</a></p>')
    if logout:
        button = f"<button>{said('Log out', language)}</button>"
        parts.append(f'<form method="post" action="{escape(logout)}">{button}</form>')
    body = (
        f'<!doctype html><html lang="{language}"><head><meta charset="utf-8">{refresh}<title>actum</title></head>'
        f"<body>{''.join(parts)}</body></html>\n"
    )
    return HTMLResponse(body, status, headers=_HEADERS)
