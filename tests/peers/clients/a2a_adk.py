"""`RemoteA2aAgent` of Google's ADK as a client. What it prints is read by a test."""

import asyncio
import json
import sys
import warnings

warnings.simplefilter("ignore")

from google.adk.agents.remote_a2a_agent import RemoteA2aAgent
from google.adk.runners import InMemoryRunner
from google.genai import types


async def main(url):
    agent = RemoteA2aAgent(name="desk", agent_card=f"{url}/.well-known/agent-card.json")
    runner = InMemoryRunner(agent=agent, app_name="trial")
    session = await runner.session_service.create_session(app_name="trial", user_id="ann")
    told = {"texts": [], "errors": []}
    for text in ("Hi", "Stream"):
        message = types.Content(role="user", parts=[types.Part(text=text)])
        async for event in runner.run_async(user_id="ann", session_id=session.id, new_message=message):
            if event.error_message:
                told["errors"].append(event.error_message)
            told["texts"] += [part.text for part in (event.content.parts if event.content else []) if part.text]
    print(json.dumps(told))


asyncio.run(main(sys.argv[1]))
