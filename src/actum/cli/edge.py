"""The edge of the command line: an error becomes one line and an exit code, a warning one line."""

from __future__ import annotations

import asyncio
import os
import sys
import traceback

import typer

from ..compose.extras import extra_of, install
from ..core.definition import BadText
from ..core.errors import ActumError, DamagedDefinition, JournalError, UsageError
from ..core.language.sentence import Sentence
from ..core.secrets.given import GIVEN
from ..core.secrets.redacted_log import traceback_of
from ..features.refusal import Refusal
from .exit_codes import CANCELLED, FAILED, MISUSED
from .language import tr_message
from .show.terminal import Terminal


def tell(error: BaseException, *, as_json: bool) -> int:
    """Tell what went wrong, in one line on stderr, with `--json` on stdout too. The exit code."""
    message: str | Sentence = str(error)
    code, kind = FAILED, type(error).__name__
    match error:
        case asyncio.CancelledError():
            return CANCELLED
        case typer.TyperException():
            message = Sentence("{why} (--help tells more)", why=error.format_message())
            code = error.exit_code
        case Refusal():
            code = MISUSED if error.details.status < 500 else FAILED
            message, kind = error.sentence, error.details.code
        case JournalError() if not isinstance(error, DamagedDefinition):
            message = Sentence(
                "{why}. Name another with --journal PATH or ACTUM_JOURNAL, or use --journal memory", why=error
            )
        case ActumError():
            message, code = error.sentence, MISUSED if isinstance(error, UsageError) else FAILED
        case ModuleNotFoundError() if extra := extra_of(error.name or ""):
            lacking = UsageError("this needs a package that is not installed: {command}", command=install(extra))
            return tell(lacking, as_json=as_json)
        case _:
            message = _bug(error)
    terminal, form = Terminal(), _as_a_remark if isinstance(error, Refusal) else str
    if as_json:
        told = {"kind": GIVEN.without(kind), "message": GIVEN.without(form(str(message)))}
        terminal.json({"status": "failed", "error": told})
    said = [each.sentence for each in error.problems] if isinstance(error, BadText) else [message]
    terminal.error(form(" ".join(" ".join(map(tr_message, said)).split())))
    return code


def _as_a_remark(detail: str) -> str:
    """A sentence of an operation, in the person's language, in the form of the command line's own errors.

    >>> _as_a_remark("There is no such task."), _as_a_remark("URL is empty. Give one."), _as_a_remark("没有这个任务。")
    ('there is no such task', 'URL is empty. Give one.', '没有这个任务')
    """
    if detail[1:2].islower() or detail[1:2] == " ":
        detail = detail[:1].lower() + detail[1:]
    is_one = ". " not in detail and "。" not in detail[:-1]
    return detail.removesuffix(".").removesuffix("。") if is_one else detail


def _bug(error: BaseException) -> str:
    """A bug: ours, or one in a model of the user's own."""
    if os.environ.get("ACTUM_DEBUG"):
        sys.stderr.write(traceback_of(error))
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} at {frame.filename}:{frame.lineno}: {error}. ACTUM_DEBUG=1 shows the way there"


def note_warning(message: Warning | str) -> None:
    """Tell a person of a warning."""
    Terminal().note("note: {why}", why=message)
