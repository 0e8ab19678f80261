"""Keeps secrets out of what a process writes about itself: its log, its tracebacks, its warnings.

    from actum import redact_logs

    redact_logs()       # at the beginning of a program

The programs of actum do so. Each record is cleaned once, before the first handler sees it: the message with its
arguments put in, the traceback, and the fields that were added. Handlers that are added later, the loggers of libraries
and what `asyncio` tells of lost exceptions are included, as are exceptions that end a thread or the program, and those
that can not be raised. If a handler fails, the line is lost and the code that wrote the line goes on.

What a program prints by itself is not looked at, nor what it writes with a logger that is none of `logging`. Behind a
record, handlers find the traceback as text alone: the exception itself would hold what was taken out.
"""

from __future__ import annotations

import itertools
import logging
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import TextIO

from ..secret_values import is_secret_name
from ..visible import on_one_line, visible
from .given import GIVEN
from .redaction import names_secret

_OF_A_RECORD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
_NAMES = ("name", "processName", "threadName", "taskName", "pathname", "funcName")
"""Fields of every record that a program may have put anything into."""
_IS_CLEAN = "actum_is_clean"
_OF_A_SHELL = ("PWD", "OLDPWD")
"""The folders in which the shell is and was, which are no passwords."""
_ENDINGS = ("_KEY", "_PASS", "_PASSPHRASE", "_PWD", "_SECRET", "_TOKEN", "PASSWD", "PASSWORD")
_DEPTH_MAX = 6
VALUES_MAX = 250
"""The most values that are kept of a field that was added to a record: of a list, or of nested lists together."""

_formatter = logging.Formatter()
_undo: list[Callable[[], None]] = []


def redact_logs(environment: Mapping[str, str] | None = None) -> Callable[[], None]:
    """Keep secrets out of the log and the tracebacks of this process, from now on. A second time changes nothing.

    Args:
        environment: variables that may hold secrets, by their names (`ACTUM_SECRET_*`, `*_KEY`, `*_TOKEN` and the
            like): these values are kept out, too, whether a tool was given them or not.

    Returns:
        A function that ends this, for tests.
    """
    GIVEN.add(value for name, value in (environment or {}).items() if len(value) >= 8 and _is_secret(name))
    if not _undo:
        _put(logging.Handler, "handle", _handler(logging.Handler.handle))
        _put(logging.Logger, "callHandlers", _caller(logging.Logger.callHandlers))
        _put(logging.Handler, "handleError", _tell_of_handler)
        _put(sys, "excepthook", _tell_of_exception)
        _put(sys, "unraisablehook", _tell_of_unraisable)
        _put(threading, "excepthook", _tell_of_thread)
        _put(warnings, "showwarning", _tell_of_warning)
    return _end


def traceback_of(error: BaseException) -> str:
    """The traceback of an exception, without secrets."""
    return visible(GIVEN.without("".join(traceback.format_exception(error))))


def _is_secret(name: str) -> bool:
    if name in _OF_A_SHELL:
        return False
    return name.startswith("ACTUM_SECRET_") or name.endswith(_ENDINGS) or is_secret_name(name)


def _put(owner: object, name: str, value: object) -> None:
    before = getattr(owner, name)
    setattr(owner, name, value)
    _undo.append(lambda: setattr(owner, name, before))


def _end() -> None:
    while _undo:
        _undo.pop()()


def _handler(handle: Callable[[logging.Handler, logging.LogRecord], bool]) -> Callable[..., bool]:
    def clean_and_handle(self: logging.Handler, record: logging.LogRecord) -> bool:
        try:
            _clean(record)
            return handle(self, record)
        except Exception as error:  # noqa: BLE001  # a line of the log is lost, never what was being done
            _tell_of_failure(error)
            return False

    return clean_and_handle


def _caller(call: Callable[[logging.Logger, logging.LogRecord], None]) -> Callable[..., None]:
    """A handler whose class handles records in its own way would get them as they were written."""

    def clean_and_call(self: logging.Logger, record: logging.LogRecord) -> None:
        try:
            if any(map(_has_own_way, _handlers_of(self))):
                _clean(record)
        except Exception as error:  # noqa: BLE001  # a line of the log is lost, never what was being done
            _tell_of_failure(error)
            return
        call(self, record)

    return clean_and_call


def _has_own_way(handler: logging.Handler) -> bool:
    return type(handler).handle is not logging.Handler.handle and not isinstance(handler, logging.NullHandler)


def _handlers_of(logger: logging.Logger) -> Iterator[logging.Handler]:
    """The handlers that get what a logger is told."""
    each: logging.Logger | None = logger
    while each is not None:
        yield from each.handlers
        each = each.parent if each.propagate else None


def _clean(record: logging.LogRecord) -> None:
    """Take the secrets out of a record, once."""
    if getattr(record, _IS_CLEAN, False):
        return
    message = GIVEN.without(_message(record))
    is_ours = str(record.name).partition(".")[0] == "actum"
    record.msg = on_one_line(message) if is_ours else visible(message).replace("\n", "\n    ")
    record.args = None
    if record.exc_info and not record.exc_text:
        record.exc_text = _formatter.formatException(record.exc_info)
    record.exc_info = None
    for name in ("exc_text", "stack_info"):
        if getattr(record, name):
            setattr(record, name, visible(GIVEN.without(getattr(record, name))))
    names = [name for name in _NAMES if isinstance(getattr(record, name, None), str)]
    joined = "\n".join(getattr(record, name) for name in names)
    if GIVEN.without(joined) != joined:
        vars(record).update({name: GIVEN.without(getattr(record, name)) for name in names})
    for name in vars(record).keys() - _OF_A_RECORD:
        setattr(record, GIVEN.without(name), _value(name, vars(record).pop(name), itertools.count()))
    setattr(record, _IS_CLEAN, True)


def _message(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()
    except Exception:  # noqa: BLE001  # the arguments do not fit the message, or one of them can not be written
        return f"{_text(record.msg)} (the arguments of this line can not be put in)"


def _value(name: str, value: object, seen: Iterator[int], depth: int = 0) -> object:
    """A field that was added to a record, without secrets.

    Args:
        seen: counts the values inside of the field: those after `VALUES_MAX` are left out.
    """
    if next(seen) >= VALUES_MAX:
        return "[left out: too many values]"
    if value is None or isinstance(value, bool) or not value:
        return value
    if names_secret(name):
        return f"[redacted: {name}]"
    if isinstance(value, dict) and depth < _DEPTH_MAX:
        shown = itertools.islice(value.items(), VALUES_MAX)
        return {GIVEN.without(_text(key)): _value(_text(key), each, seen, depth + 1) for key, each in shown}
    if isinstance(value, list | tuple) and depth < _DEPTH_MAX:
        return [_value("", each, seen, depth + 1) for each in value[:VALUES_MAX]]
    text = _text(value)
    clean = GIVEN.without(text)
    return value if clean == text and not isinstance(value, BaseException | dict | list | tuple) else clean


def _text(value: object) -> str:
    try:
        return str(value)
    except Exception:  # noqa: BLE001  # an object of somebody else
        return f"({type(value).__name__}, which can not be written)"


def _write(text: str, file: TextIO | None = None) -> None:
    stream = file or sys.stderr
    if stream is not None:  # a program without a standard error
        try:
            stream.write(visible(GIVEN.without(text)))
            stream.flush()
        except (OSError, ValueError):  # closed
            pass


def _tell_of_failure(error: BaseException) -> None:
    _write(f"a line of the log is lost, since a handler of the log failed: {type(error).__name__}\n")


def _tell_of_handler(_handler: logging.Handler, _record: logging.LogRecord) -> None:
    error = sys.exc_info()[1]
    if error is not None and logging.raiseExceptions:
        _tell_of_failure(error)


def _tell_of_exception(_kind: type[BaseException], error: BaseException, _trace: object) -> None:
    _write("".join(traceback.format_exception(error)))


def _tell_of_thread(args: threading.ExceptHookArgs) -> None:
    if args.exc_value is not None and not isinstance(args.exc_value, SystemExit):
        name = args.thread.name if args.thread is not None else "unknown"
        _write(f"Exception in thread {name}:\n" + "".join(traceback.format_exception(args.exc_value)))


def _tell_of_unraisable(args: sys.UnraisableHookArgs) -> None:
    said = f"{args.err_msg or 'Exception ignored in'}: {_text(args.object)}\n"
    _write(said + ("".join(traceback.format_exception(args.exc_value)) if args.exc_value is not None else ""))


def _tell_of_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    _write(warnings.formatwarning(message, category, filename, lineno, line), file)
