"""An agent of Google's ADK, served by `to_a2a`, for our client. It runs in an environment of its own."""

from __future__ import annotations

import sys
import warnings

warnings.simplefilter("ignore")  # ADK says at each import that its A2A is an experiment

import uvicorn
from google.adk.a2a.utils.agent_to_a2a import to_a2a
from google.adk.agents.base_agent import BaseAgent
from google.adk.events.event import Event
from google.genai import types


class Greeter(BaseAgent):
    async def _run_async_impl(self, ctx):
        text = "".join(part.text or "" for part in ctx.user_content.parts)
        words = "Hello, world." if text == "hello" else f"I heard: {text}"
        content = types.Content(role="model", parts=[types.Part(text=words)])
        yield Event(author=self.name, invocation_id=ctx.invocation_id, content=content)


port = int(sys.argv[1])
app = to_a2a(Greeter(name="weather", description="Knows the weather."), host="127.0.0.1", port=port)
uvicorn.run(app, host="127.0.0.1", port=port, log_level="info", timeout_keep_alive=240)
