"""The edge of the command line: an error becomes one line and an exit code, a warning one line."""

from __future__ import annotations

import asyncio
import os
import sys
import traceback

import typer

from ..core.errors import ActumError, JournalError, UsageError
from ..core.given_secrets import GIVEN
from ..core.redacted_log import traceback_of
from .exit_codes import CANCELLED, FAILED, MISUSED
from .show.terminal import Terminal


def tell(error: BaseException, *, as_json: bool) -> int:
    """Tell what went wrong, in one line on stderr, with `--json` on stdout too. The exit code."""
    message, code = str(error), FAILED
    match error:
        case asyncio.CancelledError():
            return CANCELLED
        case typer.TyperException():
            message, code = f"{error.format_message()} (--help tells more)", error.exit_code
        case UsageError():
            code = MISUSED
        case JournalError():
            message += ". Name another with --journal PATH or ACTUM_JOURNAL, or use --journal memory"
        case ActumError():
            pass
        case _:
            message = _bug(error)
    terminal, message = Terminal(), GIVEN.without(message)
    if as_json:
        terminal.json({"status": "failed", "error": {"kind": GIVEN.without(type(error).__name__), "message": message}})
    terminal.error(" ".join(message.split()))
    return code


def _bug(error: BaseException) -> str:
    """A bug: ours, or one in a model of the user's own."""
    if os.environ.get("ACTUM_DEBUG"):
        sys.stderr.write(traceback_of(error))
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} at {frame.filename}:{frame.lineno}: {error}. ACTUM_DEBUG=1 shows the way there"


def note_warning(message: Warning | str) -> None:
    """Tell a person of a warning."""
    Terminal().note(f"note: {message}")
