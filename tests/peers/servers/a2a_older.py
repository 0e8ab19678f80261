"""An agent by the SDK of A2A 0.2 or 0.3, for our client. It runs in an environment of its own.

Answers `ask` with a question, `slow` after a second, and anything else with a greeting.
"""

from __future__ import annotations

import asyncio
import sys

import uvicorn
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.apps import A2AStarletteApplication
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, AgentSkill, Part, TaskState, TextPart
from a2a.utils import new_task


class Greeter(AgentExecutor):
    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        task = context.current_task
        first = task is None
        if task is None:
            task = new_task(context.message)
            await event_queue.enqueue_event(task)
        updater = TaskUpdater(event_queue, task.id, getattr(task, "context_id", None) or task.contextId)
        text = context.get_user_input()
        if first and text == "ask":
            question = updater.new_agent_message([Part(root=TextPart(text="Which city?"))])
            await updater.update_status(TaskState.input_required, question, final=True)
            return
        if text == "slow":
            await asyncio.sleep(1)
        words = "Hello, world." if first else f"{text} is sunny."
        await updater.add_artifact([Part(root=TextPart(text=words))], name="answer")
        await updater.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        raise NotImplementedError


port = int(sys.argv[1])
streams = sys.argv[2] == "streams"
card = AgentCard(
    name="Weather",
    description="Knows the weather.",
    url=f"http://127.0.0.1:{port}/",
    version="1",
    capabilities=AgentCapabilities(streaming=streams),
    defaultInputModes=["text/plain"],
    defaultOutputModes=["text/plain"],
    skills=[AgentSkill(id="forecast", name="Forecast", description="Tomorrow's weather.", tags=["weather"])],
)
handler = DefaultRequestHandler(agent_executor=Greeter(), task_store=InMemoryTaskStore())
app = A2AStarletteApplication(agent_card=card, http_handler=handler).build()
uvicorn.run(app, host="127.0.0.1", port=port, log_level="info", timeout_keep_alive=240)
