"""A circuit breaker for each tool: a service that is down is left alone for a while. Pure but for its memory.

After a number of failures in a row of the kinds that pass by themselves (unreachable, timeout, rate limit), a tool is
not asked any more. When it has rested, one call at a time may try. The pattern is that of Nygard, "Release It!" (2007).

A breaker lives as long as its agent and is not on record; that a call was turned away is on record.
"""

from __future__ import annotations

from ...core.errors import CallError, Retry, Unavailable


class Breakers:
    """The breakers of an agent's tools, for each tenant by itself: a tenant whose own account at a service is refused
    keeps no other tenant from the service.

    Args:
        failures: how many failures in a row open a tool's circuit.
        rest_s: seconds for which the tool is left alone.
    """

    def __init__(self, failures: int, rest_s: float) -> None:
        self._failures = failures
        self._rest_s = rest_s
        self._in_a_row: dict[tuple[str, str], int] = {}
        self._open_until: dict[tuple[str, str], float] = {}

    def check(self, tool: str, now: float, tenant: str = "") -> None:
        """Before a call is made.

        Raises:
            Unavailable: the tool rests.
        """
        of = (tenant, tool)
        until = self._open_until.get(of)
        if until is None:
            return
        if now < until:
            raise Unavailable(
                "The tool failed several times in a row and is left alone for a while. Nothing was done.",
                retry_after=round(until - now, 1),
            )
        self._open_until[of] = now + self._rest_s  # this call tries; the next ones wait for what comes of it

    def note(self, tool: str, error: CallError | None, now: float, tenant: str = "") -> None:
        """How a call ended."""
        of = (tenant, tool)
        if error is None or error.retry is not Retry.AUTOMATIC:
            if self._in_a_row.pop(of, None) is not None:
                self._open_until.pop(of, None)
            return
        count = self._in_a_row[of] = self._in_a_row.get(of, 0) + 1
        if count >= self._failures:
            self._open_until[of] = now + self._rest_s
