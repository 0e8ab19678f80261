"""The pages of the studio under `/studio`: files of the bundle, read once, and what the sign-in page asks first.

    GET  /studio/sign-in.json     whether this server wants a key, and who else signs a person in
    GET  /studio/assets/...       a file of the bundle
    GET  /studio/...              the page; its own router reads the rest of the path

The pages are a client of `/v1`: nothing here knows who asks, and everybody may read the files.

This file loads a web framework: import it only where a server is to run.
"""

from __future__ import annotations

import mimetypes
from collections.abc import AsyncIterator, Collection, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from ..core.identity import Identity
from ..core.language.sentence import Sentence
from .login.pages import page
from .login.sessions import KEY_ID as LOGGED_IN
from .route_group import identity_of

PLACE = "/studio"
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data: blob:",
        "font-src 'self'",
        "connect-src 'self'",
        "worker-src 'none'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)
"""What a page may load and do: nothing of another address, no worker, and no text that becomes a script."""
_HEADERS = {
    "content-security-policy": POLICY,
    "cross-origin-opener-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}
_NOT_BUILT = Sentence("The pages of the studio are not built here. In a clone of actum: make bundle")
_FOR_EVER = "public, max-age=31536000, immutable"
"""Names below `assets/` hold a digest of what the file says."""


class StudioRoutes:
    """The route group of the studio.

    Args:
        bundle: the folder of the built pages, with `index.html`; None where they were not built.
        login: the path at which people log in at an OpenID provider; empty where there is none.
        provider: the name of this provider.
    """

    def __init__(self, bundle: Path | None, *, login: str = "", provider: str = "") -> None:
        self._files = {} if bundle is None else _read(bundle)
        self._providers = [{"name": provider, "url": f"{login}?return_to={PLACE}/"}] if login else []

    @property
    def routes(self) -> Sequence[BaseRoute]:
        """What the pages answer to."""
        return [
            Route(PLACE, self._enter, methods=["GET"]),
            Route(f"{PLACE}/sign-in.json", self._sign_in, methods=["GET"]),
            Route(f"{PLACE}/{{path:path}}", self._file, methods=["GET"]),
        ]

    @property
    def open_paths(self) -> Collection[str]:
        """All of them: the pages hold nothing that only some may see."""
        return _Below()

    @asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        """Nothing has to be open."""
        yield

    async def end_streams(self) -> None:
        """No stream is open."""

    async def _enter(self, request: Request) -> Response:
        return RedirectResponse(f"{PLACE}/", 308)

    async def _sign_in(self, request: Request) -> Response:
        who = identity_of(request.scope)
        # Who logged in elsewhere on this server has a cookie alone, which is no session of the pages.
        wants_key = who == Identity() or who.key_id.startswith(LOGGED_IN)
        told = {"wants_key": wants_key, "providers": self._providers}
        return JSONResponse(told, headers=_HEADERS | {"cache-control": "no-store"})

    async def _file(self, request: Request) -> Response:
        name = request.path_params["path"]
        if not self._files:
            return page(request, _NOT_BUILT.template, status=404)
        if name in self._files:
            keeping = _FOR_EVER if name.startswith("assets/") else "no-cache"
            return _answer(name, self._files[name], keeping)
        if name.startswith("assets/"):  # of an older version: the page has to be loaded anew
            return Response(status_code=404, headers=_HEADERS | {"cache-control": "no-store"})
        return _answer("index.html", self._files["index.html"], "no-cache")


class _Below(Collection[str]):
    """Every path of the pages."""

    def __contains__(self, path: object) -> bool:
        return isinstance(path, str) and (path == PLACE or path.startswith(f"{PLACE}/"))

    def __iter__(self) -> Iterator[str]:
        return iter((PLACE,))

    def __len__(self) -> int:
        return 1


def _read(bundle: Path) -> dict[str, bytes]:
    """The files of a bundle by their names. Nothing else is ever served, so no path leads out of the folder."""
    files = sorted(path for path in bundle.rglob("*") if path.is_file())
    return {path.relative_to(bundle).as_posix(): path.read_bytes() for path in files}


def _answer(name: str, body: bytes, keeping: str) -> Response:
    kind = {".js": "text/javascript"}.get(Path(name).suffix) or mimetypes.guess_type(name)[0]
    return Response(body, media_type=kind or "application/octet-stream", headers=_HEADERS | {"cache-control": keeping})
