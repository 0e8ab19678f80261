"""News that are pushed: signed, with the token, retried, and never to an address inside."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import jwt
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from actum.storage.sqlite import SQLiteJournal
from tests.patience import HANGS_S
from tests.server.api.application import answering
from tests.web import serving

from .serving import a2a_server, error_of, spoken


class Receiver:
    """Takes news.

    Attributes:
        got: the headers and the bytes of what came.
        refuses: so many of the next news are answered with an error.
    """

    def __init__(self) -> None:
        self.got: list[tuple[dict[str, str], bytes]] = []
        self.refuses = 0
        self.came = asyncio.Event()

    async def take(self, request: Request) -> Response:
        body = await request.body()
        if self.refuses:
            self.refuses -= 1
            return Response(status_code=503)
        self.got.append((dict(request.headers), body))
        self.came.set()
        return Response()

    async def until(self, state: str) -> list[dict[str, Any]]:
        """What came, as soon as it tells of this state."""
        async with asyncio.timeout(HANGS_S):
            while not any(state in body.decode() for _, body in self.got):
                self.came.clear()
                await self.came.wait()
        return [json.loads(body) for _, body in self.got]


def all_bytes(folder: Path) -> bytes:
    """What stands in all files of a folder."""
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


@asynccontextmanager
async def receiving() -> AsyncIterator[tuple[Receiver, str]]:
    receiver = Receiver()
    async with serving(Starlette(routes=[Route("/news", receiver.take, methods=["POST"])])) as url:
        yield receiver, url


async def test_news_are_signed_carry_the_token_and_credentials_and_are_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("ACTUM_SECRETS_KEY", "0123456789abcdef" * 4)
    journal = SQLiteJournal(tmp_path / "journal.db")
    async with (
        receiving() as (receiver, url),
        a2a_server(answering("Hello.", "Old."), journal=journal, private=[url]) as it,
    ):
        receiver.refuses = 1
        target = {"url": f"{url}/news", "token": "t0k3n"}
        params = {**spoken("Hi"), "configuration": {"taskPushNotificationConfig": target}}
        task = (await it.ask("SendMessage", params))["result"]["task"]
        told = await receiver.until("TASK_STATE_COMPLETED")
        assert [next(iter(each)) for each in told] == ["artifactUpdate", "statusUpdate"]
        headers, body = receiver.got[-1]
        assert headers["x-a2a-notification-token"] == "t0k3n"
        signed = headers["x-a2a-notification-signature"]
        assert headers["authorization"] == f"Bearer {signed}"
        keys = (await it.client.get(f"{it.url}/.well-known/jwks.json")).json()["keys"]
        claims = jwt.decode(signed, jwt.PyJWK(keys[0]), ["ES256"], options={"verify_iat": False})
        assert claims["request_body_sha256"] == hashlib.sha256(body).hexdigest()
        with_password = {"taskId": task["id"], "id": "p", "url": f"{url}/news"}
        with_password |= {"authentication": {"scheme": "Basic", "credentials": "cGFzcw=="}}
        receiver.got.clear()
        answer = await it.ask("CreateTaskPushNotificationConfig", with_password)
        assert "result" in answer, answer
        assert "cGFzcw" not in json.dumps(answer)
        await receiver.until("TASK_STATE_COMPLETED")
        assert {headers["authorization"] for headers, _ in receiver.got} == {"Basic cGFzcw=="}
        assert b"cGFzcw" not in all_bytes(tmp_path)
        # The original protocol is told the task.
        push = {"url": f"{url}/news"}
        message = {"role": "user", "parts": [{"type": "text", "text": "Hi"}]}
        await it.ask("tasks/send", {"id": "old-1", "message": message, "pushNotification": push}, path="/legacy")
        told = await receiver.until("old-1")
        assert (told[-1]["id"], told[-1]["status"]["state"]) == ("old-1", "completed")
        listed = await it.ask("ListTaskPushNotificationConfigs", {"taskId": task["id"]})
        config = listed["result"]["configs"][0]
        assert (config["url"], config["taskId"]) == (target["url"], task["id"])
        for _ in range(2):  # to delete what is not there is no error
            gone = await it.ask("DeleteTaskPushNotificationConfig", {"taskId": task["id"], "id": config["id"]})
            assert "error" not in gone
        left = (await it.ask("ListTaskPushNotificationConfigs", {"taskId": task["id"]}))["result"]["configs"]
        assert [each["id"] for each in left] == ["p"]
    await journal.close()


INSIDE = (
    "http://10.0.0.1/",
    "http://169.254.169.254/latest",
    "https://192.0.0.192/",
    "https://[fec0::1]/",
    "https://[::ffff:0:a9fe:a9fe]/",
    "https://[64:ff9b:1::a9fe:a9fe]/",
    "https://[2606:2800::5efe:a9fe:a9fe]/",
    "https://0xa9fea9fe/",
    "ftp://example.org/",
    "no address",
    "",
)


async def test_news_are_never_pushed_to_an_address_inside(tmp_path: Path) -> None:
    journal = SQLiteJournal(tmp_path / "journal.db")
    async with a2a_server(journal=journal) as it:
        task = (await it.ask("SendMessage", spoken("Hi")))["result"]["task"]
        for url in INSIDE:
            told = await it.ask("CreateTaskPushNotificationConfig", {"taskId": task["id"], "url": url})
            assert error_of(told) == -32602, (url, told)
            config = {"taskPushNotificationConfig": {"url": url}}
            told = await it.ask("SendMessage", spoken("Hi") | {"configuration": config})
            assert error_of(told) == -32602, (url, told)
            message = {"role": "user", "parts": [{"type": "text", "text": "Hi"}]}
            old = {"id": "t1", "message": message, "pushNotification": {"url": url}}
            told = await it.ask("tasks/send", old, path="/legacy", headers={})
            assert error_of(told) == -32602, (url, told)
        bad = {"taskId": task["id"], "url": "https://example.org/", "token": "a\nb"}
        assert error_of(await it.ask("CreateTaskPushNotificationConfig", bad)) == -32602
    await journal.close()
