"""The terminal: its two streams, what they can show, and whether a person sits there.

What a program wants goes to stdout, what only a person wants to stderr. A stream that is no terminal gets plain lines,
never cut and never wrapped. Text that came from a model, a tool or a journal passes through `visible` before it is
shown: it may not move the cursor, and it may not hide what it says.
"""

from __future__ import annotations

import asyncio
import contextlib
import getpass
import json
import os
import select
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from typing import TextIO

import msgspec
from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from ...core.errors import UsageError
from ...core.language.sentence import Sentence, as_sentence
from ...core.secrets.given import GIVEN
from ...core.visible import on_one_line, visible
from ..language import tr, tr_message, tr_waiting
from .characters import speaks_unicode

if sys.platform != "win32":
    import pwd
    import termios

GUTTER = 10
INDENT = "  │ "
"""Columns before the text of a labelled line: eight for the label, two to part them."""

WIDE = 1_000_000
WIDE_TABLE = 120
TITLE_CHARS = 80
"""The most characters of a question that a list on a terminal shows."""
"""Columns of what is no terminal."""

INTERRUPT_S = 0.5
"""A Ctrl-C at a question is heard of within this time."""
SPINNER_DELAY_S = 0.6


def styled(*pieces: str | tuple[str, str] | Text) -> Text:
    """A text of cleaned pieces, each plain or with a style of its own."""
    whole = Text()
    for piece in pieces:
        if isinstance(piece, Text):
            whole.append(piece)
        elif isinstance(piece, str):
            whole.append(visible(piece))
        else:
            whole.append(visible(piece[0]), piece[1])
    return whole


def shorten(text: str, characters: int, lines: int = 6) -> str:
    """The beginning of a text, with a word on how much more there is."""
    kept = "\n".join(text.split("\n")[:lines])[:characters]
    return text if kept == text else f"{kept.rstrip()} … ({len(text):,} characters)"


def duration(seconds: float) -> str:
    """A time span as people say it.

    >>> duration(0.0004), duration(0.0123), duration(3.21), duration(200)
    ('<1 ms', '12 ms', '3.2 s', '3 min 20 s')
    """
    if seconds < 0.0095:
        return "<1 ms" if seconds < 0.001 else f"{seconds * 1000:.0f} ms"
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


class Terminal:
    """Both streams, as they are now.

    Attributes:
        out, err: where to print.
        person: somebody can be asked: what is typed comes from a keyboard and what is asked is seen.
        live: stdout is a terminal, so that an answer may appear piece by piece.
    """

    def __init__(self) -> None:
        self.out = _console(sys.stdout)
        self.err = _console(sys.stderr)
        stdin: TextIO | None = sys.stdin  # None where the program was started with stdin closed
        self.person = stdin is not None and stdin.isatty() and sys.stderr.isatty()
        self.live = sys.stdout.isatty()
        self.waiting = Spinner(self.err if sys.stderr.isatty() else None)
        self._indent = ""

    def indented(self) -> Terminal:
        """The same terminal, with a mark in front of each of its lines with a label."""
        inside = copy(self)
        inside._indent = self._indent + INDENT
        return inside

    def line(self, label: str, text: str | Text, style: str = "", *, console: Console | None = None) -> None:
        """A line with a label in the gutter; what does not fit is folded under itself, on a terminal."""
        console = console or self.out
        body = text if isinstance(text, Text) else styled((text, style))
        if console.is_terminal:
            width = console.width - GUTTER - len(self._indent) - 1
            pieces = list(body.wrap(console, max(20, width), overflow="fold"))
        else:
            pieces = list(body.split("\n", allow_blank=True))
        for number, piece in enumerate(pieces or [Text()]):
            shown = tr(label) if number == 0 else ""
            blanks = " " * (GUTTER - 2 - cell_len(shown))  # a Chinese character takes two columns
            whole = styled((self._indent, "dim"), (f"{blanks}{shown}  ", style or "dim"), piece)
            whole.rstrip()
            console.print(whole, soft_wrap=True)

    def text(self, *pieces: str | tuple[str, str] | Text) -> None:
        """A text on stdout, left to the terminal to fold, so that it can be copied whole."""
        self.out.print(styled(*pieces), soft_wrap=True)

    def note(self, text: str | Sentence, /, **values: object) -> None:
        """A remark for a person, on stderr, in their language where there are words for it.

        Args:
            text: the remark, or the template of it where there are values.
            values: what is put into the template.
        """
        self.err.print(styled((_said(text, values), "dim")))

    def error(self, text: str | Sentence, /, **values: object) -> None:
        """What went wrong and what to do, on stderr, in the person's language; see `note`."""
        self.err.print(styled(("actum: ", "bold red"), _said(text, values)))

    def title(self, text: str) -> str:
        """A text of any length as a cell of a list: one line of it on a terminal, else whole."""
        if not self.out.is_terminal:
            return text
        line = " ".join(text.split())
        return line if len(line) <= TITLE_CHARS else f"{line[:TITLE_CHARS].rstrip()} …"

    @property
    def is_narrow(self) -> bool:
        """Whether a wide table does not fit on a line of the terminal."""
        return self.out.is_terminal and self.out.width < WIDE_TABLE

    def table(self, *columns: str, rows: Sequence[tuple[str, ...]], folds: str = "") -> None:
        """A table on stdout; where there is no terminal, with every cell whole.

        Args:
            columns: their heads.
            rows: the cells.
            folds: the head of the column that is folded where the terminal is narrow; else the last one is.
        """
        folded = columns.index(folds) if folds else len(columns) - 1
        table = Table(box=None, pad_edge=False, header_style="dim", show_header=any(columns))
        for place, column in enumerate(columns):
            table.add_column(tr(column), no_wrap=place != folded, overflow="fold")
        for row in rows:
            table.add_row(*(styled(on_one_line(cell)) for cell in row))
        self.show(table)

    def show(self, thing: RenderableType) -> None:
        """A table or a tree on stdout: fitted to the terminal; elsewhere whole, without blanks at the end of lines."""
        if self.out.is_terminal:
            self.out.print(thing)
            return
        wide = Console(file=sys.stdout, width=WIDE, color_system=None)
        with wide.capture() as capture:
            wide.print(thing)
        for line in capture.get().splitlines():
            self.out.print(Text(line.rstrip()), soft_wrap=True)

    def json(self, value: object) -> None:
        """One JSON value in one line of stdout; in ASCII where the stream knows no more than that."""
        plain = not speaks_unicode(sys.stdout)
        sys.stdout.write(json.dumps(msgspec.to_builtins(value), ensure_ascii=plain, default=str) + "\n")
        sys.stdout.flush()

    def drop_typed(self) -> None:
        """Forget what was typed before anything was asked: such a line must not become the answer."""
        if sys.platform != "win32":
            with contextlib.suppress(termios.error, ValueError):  # no terminal, or closed
                termios.tcflush(sys.stdin, termios.TCIFLUSH)

    def ask(self, prompt: str, /, **values: object) -> str | None:
        """What the person types after a prompt, shown in their language; None at the end of input (Ctrl-D). For the
        values, see `note`.

        Raises:
            KeyboardInterrupt: Ctrl-C.
        """
        self.waiting.end()
        sys.stdout.flush()
        try:
            with interruptible():
                sys.stderr.write(_said(prompt, values))
                sys.stderr.flush()
                _wait_for_line()
                line = sys.stdin.readline()
        except KeyboardInterrupt:
            sys.stderr.write("\n")
            raise
        if not line.endswith("\n"):
            sys.stderr.write("\n")
        return line.rstrip("\n") if line else None

    def agreed(self, question: str) -> bool:
        """Whether the person says yes to a question, which is in their language.

        Raises:
            UsageError: nobody can be asked.
        """
        if not self.person:
            raise UsageError("nobody can be asked here: give --yes")
        return (self.ask(f"{question} [y/N] ") or "").strip().lower() in ("y", "yes")


class Spinner:
    """A spinner with a clock for what takes long. Shown only to a person, and only after a moment.

    Args:
        console: where; None to show nothing.
    """

    def __init__(self, console: Console | None) -> None:
        self._console = console
        self._timer: asyncio.TimerHandle | None = None
        self._shown: Progress | None = None
        self._what = ""
        self._share: float | None = None

    def begin(self, what: str, /, **values: object) -> None:
        """Wait for something, in a running event loop. For the values, see `Terminal.note`."""
        self.end()
        self._what, self._share = tr_waiting(Sentence(what, **values)), None
        if self._console is not None and not self._console.is_dumb_terminal:
            self._timer = asyncio.get_running_loop().call_later(SPINNER_DELAY_S, self._show)

    def tell(self, what: str, share: float | None = None) -> None:
        """How far that is which is waited for.

        Args:
            share: from 0 to 1, for a bar; None where it is not known.
        """
        had_bar = self._share is not None
        self._what, self._share = what, share
        if self._shown is not None and had_bar == (share is not None):
            self._shown.update(self._shown.task_ids[0], description=visible(what), completed=share or 0)
        elif self._shown is not None:
            self._shown.stop()
            self._show()

    def end(self) -> None:
        """It is there, or something else is to be shown."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._shown is not None:
            self._shown.stop()
            self._shown = None

    def _show(self) -> None:
        assert self._console is not None
        unicode = "utf" in self._console.encoding.lower()
        bar = [BarColumn(20)] if self._share is not None else []
        self._shown = Progress(
            SpinnerColumn("dots" if unicode else "line"),
            TextColumn("{task.description}", style="dim", markup=False),
            *bar,
            TimeElapsedColumn(),
            console=self._console,
            transient=True,
        )
        share = self._share
        task = self._shown.add_task(visible(self._what), total=None if share is None else 1.0)
        self._shown.update(task, completed=share or 0)
        self._shown.start()


def _wait_for_line() -> None:
    """Wait until a line is typed. A read alone would never hear of a Ctrl-C that comes just before it begins."""
    if sys.platform != "win32" and sys.stdin.isatty():
        while not select.select([sys.stdin], [], [], INTERRUPT_S)[0]:
            pass


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Ctrl-C ends a blocking read inside of this, though an event loop has taken the signal for itself."""
    before = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def who() -> str:
    """The name of the person at the keyboard, for the record: the system's user, which no variable changes."""
    try:
        if sys.platform != "win32":
            return pwd.getpwuid(os.getuid()).pw_name
        return getpass.getuser()
    except (KeyError, OSError):
        return f"uid {os.getuid()}" if sys.platform != "win32" else "user"


def said(text: str) -> str:
    """Words from the command line as Unicode: bytes that are none are replaced."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _said(text: str | Sentence, values: Mapping[str, object]) -> str:
    return GIVEN.without(tr_message(as_sentence(text, values) if values else text))


def _console(stream: TextIO) -> Console:
    console = Console(
        file=stream,
        highlight=False,
        markup=False,
        emoji=False,
        color_system=None if os.environ.get("NO_COLOR") else "auto",
    )
    console.soft_wrap = not console.is_terminal
    return console


def counted(number: int, noun: str) -> str:
    """How many of something there are: `1 run`, `2 runs`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
