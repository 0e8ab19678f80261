"""How a run stands, in the words of A2A. Pure.

of the run                                   state
accepted by the queue, and not begun         submitted
under way, or interrupted                    working
done                                         completed
waits for a page that the user has to visit  auth-required
waits for anything else                      input-required
cancelled                                    canceled
not let in by the policy of the agent        rejected
failed, or stopped at a limit                failed
"""

from __future__ import annotations

from collections.abc import Sequence

from ...core.run.pending import Pending
from ...core.run.record import Ended
from ...core.run.task import TaskState
from ...protocols.a2a.model import A2AState
from ...runs.caller_access import ACCESS_REVOKED

OF_ENDING: dict[tuple[str, str], A2AState] = {
    ("done", ""): "completed",
    ("stopped", "cancelled"): "canceled",
    ("failed", "PermissionDenied"): "rejected",
    ("stopped", ACCESS_REVOKED): "rejected",
    ("failed", ""): "failed",
    ("stopped", ""): "failed",
}
"""The state of a run that has ended, by its status and its reason; an empty reason stands for every other reason."""

OF_QUEUE: dict[TaskState, A2AState] = {"queued": "submitted"}
"""The state of a task that the queue holds; `working` for every other state of the queue."""

LOGIN_KINDS = frozenset({"elicitation"})
"""Kinds of questions that can ask for a log-in: those with a page to visit."""


def state_of(ended: Ended | None, waiting: Sequence[Pending], queue: TaskState | None = None) -> A2AState:
    """The state of a run.

    Args:
        ended: the latest end or pause of the run; None where there is none, or somebody went on with the run since.
        waiting: the questions that the run waits for.
        queue: the state of the run in the queue of tasks; None where the run is not a task.

    >>> state_of(Ended("stopped", "", "cancelled"), [])
    'canceled'
    >>> state_of(None, [], "queued")
    'submitted'
    """
    is_tried_again = queue in ("queued", "running", "retrying") and ended is not None and ended.status == "failed"
    if ended is not None and ended.status != "paused" and not is_tried_again:
        known = OF_ENDING.get((ended.status, ended.reason))
        return known if known is not None else OF_ENDING[ended.status, ""]
    if ended is not None and waiting:
        return "auth-required" if needs_login(waiting) else "input-required"
    return OF_QUEUE.get(queue, "working") if queue is not None else "working"


def needs_login(waiting: Sequence[Pending]) -> bool:
    """Whether the first question asks the user to visit a page, as for a log-in."""
    return bool(waiting and waiting[0].kind in LOGIN_KINDS and waiting[0].url)
