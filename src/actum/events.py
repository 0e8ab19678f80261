"""What `agent.stream` yields, and how a run ends, for programs that watch runs.

    from actum.events import CallFinished, RunFinished, TextDelta

    async for event in agent.stream("What is the weather?"):
        match event:
            case TextDelta(text=text):
                print(text, end="")
            case RunFinished(result=result):
                print(result.usage)

The classes are made in `actum.core.event` and `actum.core.run.pending`. Programs import them from here.
"""

from .core.event import (
    AnswerRefused,
    CallDelta,
    CallFinished,
    CallProgress,
    CallSaid,
    CallStarted,
    ChildEvent,
    Event,
    MemoryKept,
    PlanChanged,
    ReasoningDelta,
    ReplyFinished,
    RunFinished,
    RunResult,
    RunStarted,
    TextDelta,
    ThoughtEnded,
)
from .core.run.pending import Pending
from .core.run.plan import PlanStep

__all__ = [
    "AnswerRefused",
    "CallDelta",
    "CallFinished",
    "CallProgress",
    "CallSaid",
    "CallStarted",
    "ChildEvent",
    "Event",
    "MemoryKept",
    "Pending",
    "PlanChanged",
    "PlanStep",
    "ReasoningDelta",
    "ReplyFinished",
    "RunFinished",
    "RunResult",
    "RunStarted",
    "TextDelta",
    "ThoughtEnded",
]
