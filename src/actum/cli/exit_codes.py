"""What a command ends with."""

from __future__ import annotations

DONE, FAILED, MISUSED, PAUSED = 0, 1, 2, 3
"""Done; failed, or stopped at a limit; misuse; waits for a person."""
CANCELLED = 130
"""Ctrl-C."""
