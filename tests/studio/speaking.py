"""A stand-in of a model's API that says a word whenever a test has it say one."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from actum.core.json import JsonObject
from tests.web import serving


class SpeakingApi:
    """An API of chat completions whose every answer says the same words, each as soon as the test lets it.

    Attributes:
        bodies: what it was asked.
    """

    def __init__(self) -> None:
        self.bodies: list[JsonObject] = []
        self._words: list[str | None] = []
        self._more = asyncio.Condition()

    async def say(self, *words: str | None) -> None:
        """More words of all answers; None ends them."""
        async with self._more:
            self._words += words
            self._more.notify_all()

    async def forget(self) -> None:
        """Answers from now on begin with nothing said."""
        async with self._more:
            self._words.clear()

    async def _answer(self, request: Request) -> Response:
        self.bodies.append(await request.json())
        return StreamingResponse(self._pieces(), media_type="text/event-stream")

    async def _pieces(self) -> AsyncIterator[bytes]:
        said = 0
        while True:
            async with self._more:
                while len(self._words) <= said:
                    await self._more.wait()
            word = self._words[said]
            said += 1
            delta = {} if word is None else {"role": "assistant", "content": word}
            choice = {"index": 0, "delta": delta, "finish_reason": "stop" if word is None else None}
            chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
            yield f"data: {json.dumps(chunk)}\n\n".encode()
            if word is None:
                yield b"data: [DONE]\n\n"
                return

    @asynccontextmanager
    async def served(self, folder: Path) -> AsyncIterator[SpeakingApi]:
        """The API at a free port; the settings in a folder name it as the model of the agent `desk`."""
        async with serving(Starlette(routes=[Route("/v1/chat/completions", self._answer, methods=["POST"])])) as url:
            settings = f'[agents.desk]\nmodel = "{url}/v1/chat/completions#m"\ntools = []\n'
            (folder / "actum.toml").write_text(settings, "utf-8")
            yield self
            await self.say(None)
