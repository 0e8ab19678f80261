"""A photo service on this machine: pages, an upload that is worked on for a while, and tokens for programs."""

from __future__ import annotations

from base64 import b64decode

from starlette.applications import Starlette
from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

CLIENT, PASSWORD, TOKEN = "album", "the password of the album", "a-token-of-the-photo-service"
PAGE = 2


class PhotoService:
    """The service.

    Attributes:
        photos: what it holds: names and sizes.
        granted: how often it gave a token.
    """

    def __init__(self) -> None:
        self.photos = [{"name": f"{name}.png", "bytes": 100} for name in ("cat", "dog", "owl")]
        self.granted = 0

    def app(self) -> Starlette:
        """The service as an application."""
        return Starlette(
            routes=[
                Route("/token", self._token, methods=["POST"]),
                Route("/v1/photos", self._list),
                Route("/v1/photos", self._add, methods=["POST"]),
                Route("/v1/jobs/{job}", self._job),
            ]
        )

    async def _token(self, request: Request) -> Response:
        shown = b64decode(request.headers.get("authorization", "").removeprefix("Basic ")).decode()
        if shown != f"{CLIENT}:{PASSWORD.replace(' ', '%20')}":
            return JSONResponse({"error": "invalid_client"}, 401)
        self.granted += 1
        return JSONResponse({"access_token": TOKEN, "token_type": "Bearer", "expires_in": 3600})

    async def _list(self, request: Request) -> Response:
        if not _may(request):
            return Response(status_code=401)
        page = int(request.query_params.get("page", "1"))
        found = self.photos[PAGE * (page - 1) : PAGE * page]
        more = {"next": f"/v1/photos?page={page + 1}"} if len(self.photos) > PAGE * page else {}
        return JSONResponse({"photos": found, **more})

    async def _add(self, request: Request) -> Response:
        if not _may(request):
            return Response(status_code=401)
        async with request.form() as form:
            photo = form["photo"]
            if not isinstance(photo, UploadFile):
                return JSONResponse({"error": {"message": "there is no photo"}}, 400)
            self.photos.append({"name": str(form.get("title") or photo.filename), "bytes": len(await photo.read())})
        return Response(status_code=202, headers={"location": f"/v1/jobs/{len(self.photos)}"})

    async def _job(self, request: Request) -> Response:
        if not _may(request):
            return Response(status_code=401)
        photo = self.photos[int(request.path_params["job"]) - 1]
        return JSONResponse({"state": "done", "photo": photo, "asked with": request.headers["authorization"]})


def _may(request: Request) -> bool:
    return request.headers.get("authorization") == f"Bearer {TOKEN}"
