"""News of a remote agent's task: `AwaitedNews`, for which a run of ours waits, as they are kept beside the runs; and
`news_of_task`, by which news are known again. Pure.

Awaited news are only a reason to ask for the task. The address of the news is made for one question of one run; its id
and its token can not be guessed, and only their hashes are kept.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import Literal

import msgspec
from msgspec import Struct

from ...core.json import Json
from .later import UnreadableAnswer, decode_event
from .model import A2AArtifactUpdate, A2AMessage, A2AStatusUpdate, A2ATask

PATH = "/a2a-news"
OWNER, KIND = "a2a_news", "awaited"
KEPT_S = 7 * 86_400.0
"""Seconds for which news of a task are accepted. Then a person looks after the task."""


class AwaitedNews(Struct, frozen=True, kw_only=True):
    """News that are awaited.

    Attributes:
        ask_id: the question of the run that the news answer: whether to look at the task again.
        tenant: whose run it is.
        token: SHA-256 of the token that the sender has to show.
        agent: the address of the agent, whose keys may sign news.
        key_hosts: other hosts whose keys may.
        came: news have come; others are not looked at.
    """

    ask_id: str
    tenant: str
    token: str
    agent: str
    key_hosts: tuple[str, ...] = ()
    came: bool = False

    def is_token(self, shown: str) -> bool:
        """Whether this is the token."""
        return hmac.compare_digest(self.token, hash_of(shown))


class NewsOfTask(Struct, frozen=True):
    """What news of a task are about.

    Attributes:
        id: the same for the same news, also where they are sent again, or once as a task and once as a new state.
        kind: `status`, `artifact` or `message`.
    """

    id: str
    kind: Literal["status", "artifact", "message"]


def news_of_task(news: Json) -> NewsOfTask:
    """What news are about that an agent sends of a task.

    The id of a new state is made of the task, the state, its time and its message; that of a result of the task and all
    that the news say of the result.

    Args:
        news: as they came, in the form of any version since 0.2.

    Raises:
        UnreadableAnswer: these are no news of a task.

    >>> news_of_task({"taskId": "t", "status": {"state": "completed"}, "kind": "status-update"}).kind
    'status'
    """
    event = decode_event(news)
    task = event.id if isinstance(event, A2ATask) else event.task_id
    if not task:
        raise UnreadableAnswer("the id of the task is missing")
    match event:
        case A2ATask() | A2AStatusUpdate():
            return NewsOfTask(f"{task}:{event.status.state}:{_digest(event.status)}", "status")
        case A2AArtifactUpdate():
            return NewsOfTask(f"{task}:{event.artifact.id}:{_digest(event)}", "artifact")
        case A2AMessage():
            return NewsOfTask(f"{task}:message:{_digest(event)}", "message")


def _digest(told: Struct) -> str:
    return hashlib.sha256(msgspec.json.encode(told, order="sorted")).hexdigest()[:32]


def hash_of(secret: str) -> str:
    """SHA-256 of an id or a token, in hexadecimal."""
    return hashlib.sha256(secret.encode(errors="replace")).hexdigest()
