"""Whose doing a `CancelledError` is: somebody's who cancels the task, or that of what the task waited for."""

from __future__ import annotations

import asyncio


def is_being_cancelled() -> bool:
    """Somebody cancels the running task; else a cancellation is the doing of what it called."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
