"""What somebody says who asks for a task, and how `TaskOptions` are made of those words and of a tool's own settings.

The words are the same over HTTP, in the settings of a tool (`[tools."name".tasks]`) and in code. Pure.
"""

from __future__ import annotations

import math
from datetime import datetime
from typing import TypeVar

from msgspec import Struct

from ..errors import TaskRefused, UsageError
from .task import Backoff, TaskOptions

T = TypeVar("T")

Moment = float | str
"""A point in time: seconds since 1970, or RFC 3339 such as `2026-09-01T08:00:00Z`."""


class TaskDefaults(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What holds for the tasks of a tool where a request says nothing. None: nothing is said.

    Attributes:
        max_retries, backoff, timeout_s, priority, in_process: as in `TaskOptions`.
    """

    max_retries: int | None = None
    backoff: Backoff | None = None
    timeout_s: float | None = None
    priority: int | None = None
    in_process: bool | None = None

    def __post_init__(self) -> None:
        if self.max_retries is not None and self.max_retries < 0:
            raise UsageError("max_retries: give a number from 0")
        if self.timeout_s is not None and not 0 < self.timeout_s < math.inf:
            raise UsageError("timeout_s: give a number of seconds above 0")
        if self.priority is not None and not 0 <= self.priority <= 9:
            raise UsageError("priority: give a number from 0 to 9")


NO_DEFAULTS = TaskDefaults()


class TaskRequest(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What somebody says who asks for a task. None: nothing is said.

    Attributes:
        max_retries, backoff, timeout_s, priority, webhook, webhook_result: as in `TaskOptions`.
        deadline, not_before: as in `TaskOptions`, as points in time.
        unique_key: as in `TaskOptions`.
    """

    max_retries: int | None = None
    backoff: Backoff | None = None
    timeout_s: float | None = None
    deadline: Moment | None = None
    not_before: Moment | None = None
    priority: int | None = None
    unique_key: str = ""
    webhook: str = ""
    webhook_result: bool = False

    def options(self, defaults: TaskDefaults = NO_DEFAULTS) -> TaskOptions:
        """The options of the task.

        Args:
            defaults: what the settings say of the tool.

        Raises:
            TaskRefused: a point in time can not be read.
        """
        plain = TaskOptions()
        return TaskOptions(
            max_retries=_first(self.max_retries, defaults.max_retries, plain.max_retries),
            backoff=_first(self.backoff, defaults.backoff, plain.backoff),
            timeout_s=self.timeout_s if self.timeout_s is not None else defaults.timeout_s,
            deadline=_seconds("deadline", self.deadline),
            not_before=_seconds("not_before", self.not_before),
            priority=_first(self.priority, defaults.priority, plain.priority),
            unique_key=self.unique_key,
            webhook=self.webhook,
            webhook_result=self.webhook_result,
            in_process=bool(defaults.in_process),
        )


def _first(said: T | None, default: T | None, otherwise: T) -> T:
    if said is not None:
        return said
    return default if default is not None else otherwise


def _seconds(name: str, moment: Moment | None) -> float | None:
    if moment is None or not isinstance(moment, str):
        return moment
    return seconds_of(name, moment)


def seconds_of(name: str, text: str) -> float:
    """A point in time in seconds since 1970.

    Args:
        name: what the point in time is, for the error.
        text: RFC 3339, or seconds since 1970.

    Raises:
        TaskRefused: the text is of another form, or names no time zone.

    >>> seconds_of("deadline", "1970-01-01T00:01:00Z"), seconds_of("deadline", "60")
    (60.0, 60.0)
    """
    try:
        found = float(text) if text.replace(".", "", 1).isdecimal() else _of_date(text)
    except (ValueError, OverflowError):
        raise TaskRefused(
            "options", "{name}: write a time such as 2026-09-01T08:00:00Z, or seconds since 1970", name=name
        ) from None
    return found


def _of_date(text: str) -> float:
    """Raises:
    ValueError: the text is no date with a time and a time zone.
    """
    date = datetime.fromisoformat(text)
    if date.tzinfo is None or len(text) < len("2026-09-01T08:00Z"):
        raise ValueError(text)
    return date.timestamp()
