"""`AwaitedNews`: news of a remote agent's task that a run of ours waits for, as they are kept beside the runs. Pure.

News are only a reason to ask for the task. The address of the news is made for one question of one run; its id and its
token can not be guessed, and only their hashes are kept.
"""

from __future__ import annotations

import hashlib
import hmac

from msgspec import Struct

PATH = "/a2a-news"
OWNER, KIND = "a2a_news", "awaited"
KEPT_S = 7 * 86_400.0
"""So long news of a task are taken. Then a person looks after the task."""


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


def hash_of(secret: str) -> str:
    """SHA-256 of an id or a token, in hexadecimal."""
    return hashlib.sha256(secret.encode(errors="replace")).hexdigest()
