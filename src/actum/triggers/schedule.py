"""Points in time by a cron expression in a time zone.

The expression is read as Debian's cron reads it: minute, hour, day of the month, month, day of the week. Where both
days are given and neither begins with `*`, one of them has to fit.

Clocks that are put forward or back: a point in time with a given minute and hour which falls into an hour that does not
exist comes at the end of the gap; one in an hour that comes twice comes once. An expression with `*` in minute or hour
follows the time that really passes: it skips the missing hour and counts the double one twice.
"""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronsim import CronSim, CronSimError

from ..core.errors import UsageError

CHARS_MAX = 1_000
"""Characters of an expression; each minute named by its number takes 169."""


class Schedule:
    """Points in time.

    Args:
        expression: five fields, such as `0 7 * * MON-FRI`.
        zone: a name of the IANA time zone database, such as `Europe/Berlin`.

    Raises:
        UsageError: the expression or the zone can not be read, or no such time ever comes.
    """

    def __init__(self, expression: str, zone: str = "UTC") -> None:
        if len(expression) > CHARS_MAX:
            raise UsageError("a schedule has at most {most} characters", most=CHARS_MAX)
        if len(expression.split()) != 5:
            raise UsageError(
                "the schedule {expression!r} needs five fields: minute, hour, day of the month, month, day of the week",
                expression=expression,
            )
        try:
            self._zone = ZoneInfo(zone)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            raise UsageError("there is no time zone {zone!r}: write a name such as Europe/Berlin", zone=zone) from None
        self._expression = expression
        try:
            self.after(0.0)
        except CronSimError as error:
            raise UsageError(
                "the schedule {expression!r} can not be read: {why}", expression=expression, why=error
            ) from None
        except StopIteration:
            raise UsageError("the schedule {expression!r} never comes", expression=expression) from None

    def after(self, moment: float) -> float:
        """The first point in time after a moment; both in seconds since 1970."""
        begins = datetime.fromtimestamp(moment, UTC).astimezone(self._zone)
        return next(CronSim(self._expression, begins)).timestamp()

    def between(self, after: float, until: float, *, most: int) -> list[float]:
        """The points in time after one moment and up to another: the latest ones, and at most `most`.

        Args:
            after, until: seconds since 1970.
            most: the most points that are returned.
        """
        found: list[float] = []
        ends = datetime.fromtimestamp(int(until) + 1, UTC).astimezone(self._zone)
        for due in CronSim(self._expression, ends, reverse=True):
            if (moment := due.timestamp()) <= after or len(found) == most:
                break
            found.append(moment)
        return found[::-1]
