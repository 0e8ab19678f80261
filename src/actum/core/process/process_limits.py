"""`ProcessLimits`: what the processes of one tool call may use up. An operator sets the numbers by `ToolLimits`."""

from __future__ import annotations

from msgspec import Struct


class ProcessLimits(Struct, frozen=True, kw_only=True):
    """What all processes of one call may use up together; None where the operator set no limit.

    Attributes:
        memory_bytes: memory that is in use at a moment.
        cpu_seconds: seconds of CPU.
        processes: processes at a moment.
        disk_bytes: what lies in the work folder, and the size of any one file.
    """

    memory_bytes: int | None = None
    cpu_seconds: float | None = None
    processes: int | None = None
    disk_bytes: int | None = None

    @property
    def given(self) -> dict[str, int | float]:
        """The limits that are set, by name."""
        return {name: value for name in self.__struct_fields__ if (value := getattr(self, name)) is not None}


NO_PROCESS_LIMITS = ProcessLimits()
