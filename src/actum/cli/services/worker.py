"""`actum worker`: carries out tasks that come from the broker of Celery."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Annotated

import typer

from ...compose.extras import SERVES, check_extras
from ...compose.settings import Settings
from ...compose.task_worker import WorkerCounts, broker_of, check_worker, work
from ...core.interfaces import Journal
from .. import options
from ..exit_codes import DONE, FAILED
from ..options import JournalFlag, JsonFlag, PolicyFlag, ToolsFlag
from ..show.terminal import Terminal

CheckFlag = Annotated[
    bool, typer.Option("--check", help="Only say whether a worker could work here: broker, journal, agents.")
]
MetricsFlag = Annotated[
    str, typer.Option("--metrics", metavar="HOST:PORT", help="Serve /metrics of this worker there, without a key.")
]


def worker(
    check: CheckFlag = False,
    metrics: MetricsFlag = "",
    tools: ToolsFlag = None,
    journal: JournalFlag = "",
    policy: PolicyFlag = "",
    as_json: JsonFlag = False,
) -> int:
    """Carry out tasks that come from the broker: [tasks] dispatcher = "celery".

    For instance: actum worker, on as many machines as you like, beside actum serve
    """
    settings = options.read(tools=tools, journal=journal, policy=policy)
    return asyncio.run(_check(settings, as_json=as_json) if check else _work(settings, metrics))


async def _work(settings: Settings, metrics: str) -> int:
    broker_of(settings)
    terminal = Terminal()
    async with options.journal(settings) as opened:
        await work(
            settings,
            opened,
            os.environ,
            Path.cwd(),
            lambda: terminal.note(
                "actum works: {workers:task|tasks} at a time, until Ctrl-C", workers=settings.tasks.workers
            ),
            counts=_counts(settings, opened, metrics) if metrics else None,
        )
    return DONE


def _counts(settings: Settings, journal: Journal, place: str) -> WorkerCounts:
    """What a worker counts, and where it tells it.

    Raises:
        UsageError: a package is missing, or the place is none or is taken.
    """
    check_extras(settings, *SERVES)
    from .worker_metrics import WorkerMetrics  # noqa: PLC0415  # loads a web server

    return WorkerMetrics(settings, journal, place)


async def _check(settings: Settings, *, as_json: bool) -> int:
    terminal = Terminal()
    async with options.journal(settings) as opened:
        found = await check_worker(settings, opened, os.environ, Path.cwd())
    if as_json:
        terminal.json(dict(found))
    else:
        terminal.table("what", "state", rows=[(what, wrong or "ok") for what, wrong in found.items()])
    return FAILED if any(found.values()) else DONE
