"""Cookies of a request, and the header that sets one.

Under https the names begin with `__Host-`: browsers take such a cookie only from the host itself, over https and for
all paths, so that no neighbour under the same domain can plant one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

COOKIE_CHARS_MAX = 4096


def cookies_of(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """The cookies of a request. A name that came twice with different values is left out: nobody knows whose is whose.

    Args:
        headers: of the request, as ASGI has them.
    """
    found: dict[str, str] = {}
    twice: set[str] = set()
    for name, value in headers:
        if name != b"cookie":
            continue
        for part in value.decode("latin-1").split(";"):
            key, equals, text = part.strip().partition("=")
            if not equals or len(text) > COOKIE_CHARS_MAX:
                continue
            if found.setdefault(key, text) != text:
                twice.add(key)
    return {name: text for name, text in found.items() if name not in twice}


def cookie_name(name: str, *, is_https: bool) -> str:
    """The name of a cookie of ours."""
    return f"__Host-{name}" if is_https else name


def set_cookie(
    name: str, value: str, *, is_https: bool, same_site: Literal["Strict", "Lax"], seconds: int | None = None
) -> str:
    """The value of a header `Set-Cookie`.

    Args:
        name: as `cookie_name` tells it.
        value: the text; of characters that need no quotes.
        is_https: whether browsers reach the server over https.
        same_site: whether the cookie comes along when another site leads here.
        seconds: how long the browser keeps it; 0 to delete it, None for as long as the browser runs.
    """
    parts = [f"{name}={value}", "Path=/", "HttpOnly", f"SameSite={same_site}"]
    if is_https:
        parts.append("Secure")
    if seconds is not None:
        parts.append(f"Max-Age={seconds}")
    return "; ".join(parts)
