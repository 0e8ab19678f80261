"""What other sites may not do with a browser that is logged in here, and where a log-in may lead to.

A browser says where a request comes from: in `Sec-Fetch-Site`, and in `Origin`. Neither can be written by a page. A
request that changes something and says neither is refused: no browser of today makes one, and programs show a key.
"""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import unquote

from starlette.types import Scope

from ...schema import canonical
from ...transport.guard import origin
from ..access import fits
from ..refusal import HttpRefusal

RETURN_CHARS_MAX = 1000
_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_OWN = frozenset({"same-origin", "none"})
_ROUNDS = 3
"""How often an address is decoded to find what it hides. An address that is still encoded then is refused."""


def refuse_other_sites(scope: Scope, own: str) -> None:
    """Refuse a request that another site makes in the name of somebody who is logged in here.

    Args:
        scope: of a request with the cookie of a session.
        own: the origin of this server, such as `https://tools.example.org`.

    Raises:
        HttpRefusal: another site made it, or nobody can tell.
    """
    told = {name: value.decode("latin-1").lower() for name, value in scope["headers"] if name in _TELLING}
    site, page = told.get(b"sec-fetch-site"), told.get(b"origin")
    if scope["method"] in _SAFE_METHODS:
        # To follow a link is no harm: the user who follows it sees the answer, and the other site does not.
        if site is None or site in _OWN or told.get(b"sec-fetch-mode") == "navigate":
            return
    elif page is not None:
        if _is_own(page, own) and (site is None or site in _OWN):
            return
    elif site in _OWN:
        return
    raise HttpRefusal(403, "Another site may not make this request in your name.")


def refuse_other_origins(scope: Scope, own: str, named: Sequence[str] = ()) -> None:
    """Refuse a request that changes something and that a page of another origin makes, where the request shows no key:
    a page of another port of this machine is another origin, too.

    Programs, which say nothing of an origin, may go on.

    Args:
        scope: of the request.
        own: the origin of this server.
        named: other origins whose pages may speak to it, as in `fits`.

    Raises:
        HttpRefusal: another origin made it.
    """
    if scope["method"] in _SAFE_METHODS:
        return
    told = {name: value.decode("latin-1").lower() for name, value in scope["headers"] if name in _TELLING}
    page, site = told.get(b"origin"), told.get(b"sec-fetch-site", "none")
    is_good = site in _OWN if page is None else _is_own(page, own) or fits(page, named)
    if not is_good:
        raise HttpRefusal(403, "A page of another origin may not make this request.")


_TELLING = frozenset({b"sec-fetch-site", b"sec-fetch-mode", b"origin"})


def _is_own(page: str, own: str) -> bool:
    try:
        return origin(page) == origin(own)
    except ValueError:
        return False


def own_path(text: str) -> bool:
    """Whether a browser that is told to go there stays on this server.

    Args:
        text: a path, with a query or without.

    >>> own_path("/v1/runs?page=2"), own_path("//evil.example"), own_path("/%5cevil.example"), own_path("https://a/")
    (True, False, False, False)
    """
    if len(text) > RETURN_CHARS_MAX or not all("!" <= letter <= "~" for letter in text):
        return False
    path, _, rest = text.partition("?")
    for _ in range(_ROUNDS):
        plain = path.lower()
        if not path.startswith("/") or "//" in path or "\\" in path or "/." in path:
            return False
        if not all(" " <= letter != "\x7f" for letter in path + unquote(rest)):
            return False
        if plain.startswith(("/login", "/logout")):  # it would lead in a circle, or out again
            return False
        decoded = unquote(path)
        if decoded == path:
            return True
        path = decoded
    return False


def own_origin(scope: Scope, public: str) -> str:
    """The origin of this server as browsers see it.

    Args:
        scope: of a request whose `Host` the application has checked.
        public: the server's address as clients write it; empty where that is the address at which the server listens.
    """
    if public:
        scheme, host, port = origin(public)
        shown = f"[{host}]" if ":" in host else host
        return f"{scheme}://{shown}" + (f":{port}" if port and port != canonical.PORTS.get(scheme) else "")
    host = next((value.decode("latin-1") for name, value in scope["headers"] if name == b"host"), "")
    return f"{scope.get('scheme', 'http')}://{host}"
