"""Everyday tools: a calculator, the clocks of the world, dates, units, files and notes, facts on countries.

They need no key and no network. All of them only read, except `write_note`, which declares that it writes and so is
asked about where a policy asks. The facts stand in `actum/data`, with where they come from.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from ..function.function import FunctionTool, tool
from .calculator import calculate
from .dates import add_days, days_between, weekday
from .facts import country_facts, query_data
from .files import FileFolder
from .units import convert_units
from .zones import WorldClock

__all__ = ["everyday_tools"]


def everyday_tools(root: Path | str = ".", now: Callable[[ZoneInfo], datetime] = datetime.now) -> list[FunctionTool]:
    """The everyday tools, to be passed as `tools=`.

    Args:
        root: the folder that `find_files` searches, and below which `write_note` keeps its folder `notes`.
        now: gives the present moment in a time zone.
    """
    clock, folder = WorldClock(now), FileFolder(Path(root))
    reads = (
        calculate,
        clock.time_in,
        clock.convert_time,
        days_between,
        add_days,
        weekday,
        convert_units,
        folder.find_files,
        country_facts,
        query_data,
    )
    names = folder.find_files  # a file that was sent has the name that its sender chose
    return [
        *(FunctionTool(each, effects={"read"}, outside=each == names) for each in reads),
        tool(effects={"write"}, sinks={"file"})(folder.write_note),
    ]
