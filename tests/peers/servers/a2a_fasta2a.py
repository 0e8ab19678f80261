"""An agent by fasta2a, for our client. It runs in an environment of its own."""

from __future__ import annotations

import sys
import uuid
from contextlib import asynccontextmanager

import uvicorn
from fasta2a import FastA2A, Worker
from fasta2a.broker import InMemoryBroker
from fasta2a.storage import InMemoryStorage


class Greeter(Worker):
    async def run_task(self, params):
        await self.storage.update_task(params["id"], state="working")
        text = "".join(part.get("text", "") for part in params["message"]["parts"])
        words = "Hello, world." if text == "hello" else f"I heard: {text}"
        artifacts = self.build_artifacts(words)
        await self.storage.update_task(params["id"], state="completed", new_artifacts=artifacts)

    async def cancel_task(self, params):
        await self.storage.update_task(params["id"], state="canceled")

    def build_message_history(self, history):
        return history

    def build_artifacts(self, result):
        return [{"artifact_id": str(uuid.uuid4()), "name": "answer", "parts": [{"text": result}]}]


port = int(sys.argv[1])
storage, broker = InMemoryStorage(), InMemoryBroker()
worker = Greeter(broker=broker, storage=storage)


@asynccontextmanager
async def lifespan(app):
    async with app.task_manager, worker.run():
        yield


app = FastA2A(
    storage=storage,
    broker=broker,
    name="weather",
    description="Knows the weather.",
    url=f"http://127.0.0.1:{port}/",
    default_input_modes=["text/plain"],
    default_output_modes=["text/plain"],
    lifespan=lifespan,
)
uvicorn.run(app, host="127.0.0.1", port=port, log_level="info", timeout_keep_alive=240)
