"""A run's records, for tests that do not care what they say."""

from __future__ import annotations

from actum.core.message import Reply, UserMessage
from actum.core.run.record import Ended, ModelReplied, Started


def started(question: str = "hi", conversation: str = "", principal: str = "") -> Started:
    said = (UserMessage.of(question),)
    return Started(agent="a", model="m", said=said, conversation=conversation, principal=principal)


REPLIED = ModelReplied("i", Reply.of("x"))
DONE = Ended("done", "bye")
