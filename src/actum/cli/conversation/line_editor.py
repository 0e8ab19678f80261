"""Where a person types in a chat: lines that can be edited, pasted, completed, and had again in the next chat.

A paste of several lines is one text, which Enter sends. Alt-Enter begins a new line, and so does Enter behind a
backslash. What was typed before is a file that its owner alone can read.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion, PathCompleter
from prompt_toolkit.document import Document
from prompt_toolkit.enums import DEFAULT_BUFFER
from prompt_toolkit.filters import has_focus
from prompt_toolkit.formatted_text import FormattedText
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.output import ColorDepth, Output, create_output
from prompt_toolkit.output.vt100 import Vt100_Output
from prompt_toolkit.shortcuts import CompleteStyle

HISTORY_BYTES_MAX = 1_000_000
"""When the file of a history is larger, its older half is dropped before the next chat."""

REMEMBERED_MAX = 20_000
"""A text of more characters, such as a long paste, is not written into the history."""


class Interrupted(Exception):
    """The person pressed Ctrl-C while they typed."""


class LineEditor:
    """Reads what a person types, on the terminal that stdin and stderr are.

    Args:
        history: the file of what was typed before; None to remember nothing beyond this process.
        words: completes words.
        colour: the prompt may have a colour.
    """

    def __init__(self, history: Path | None, words: ChatWords, *, colour: bool) -> None:
        self._session: PromptSession[str] = PromptSession(
            FormattedText([("bold ansicyan" if colour else "", "> ")]),
            multiline=True,
            prompt_continuation="  ",
            key_bindings=_keys(),
            history=open_history(history),
            completer=words,
            complete_while_typing=False,
            complete_style=CompleteStyle.READLINE_LIKE,
            color_depth=None if colour else ColorDepth.DEPTH_1_BIT,
            output=_screen(),
            interrupt_exception=Interrupted,
            enable_suspend=True,
        )

    async def read(self) -> str | None:
        """What the person typed or pasted, which may have several lines; None for Ctrl-D.

        Raises:
            Interrupted: Ctrl-C.
        """
        try:
            return await self._session.prompt_async(set_exception_handler=False)
        except EOFError:
            return None


class ChatWords(Completer):
    """Completes commands, tools, runs and paths.

    Attributes:
        commands: each command and what it is for.
        tools: the names of the tools.
        runs: the ids of runs, the newest first.
    """

    def __init__(self) -> None:
        self.commands: Mapping[str, str] = {}
        self.tools: Sequence[str] = ()
        self.runs: Sequence[str] = ()
        self._paths = PathCompleter(expanduser=True)

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
        """What the word before the cursor may become."""
        before = document.text_before_cursor
        command, blank, rest = before.partition(" ")
        if command == "/attach" and blank:
            yield from self._paths.get_completions(Document(rest.lstrip()), complete_event)
            return
        word = re.findall(r"\S*$", before)[0]
        if not blank and word.startswith("/"):
            found: Iterable[str] = self.commands
        elif command == "/trace":
            found = ("on", "off", *self.runs)
        else:
            found = (*self.tools, *self.runs) if word or command == "/tools" else ()
        for each in found:
            if each.startswith(word):
                text = f"{each} " if each in self.commands else each
                yield Completion(text, -len(word), display=each, display_meta=self.commands.get(each, ""))


class PrivateHistory(FileHistory):
    """What was typed in earlier chats, in a file for its owner alone. A history that can't be kept stops no chat."""

    def load_history_strings(self) -> Iterable[str]:
        """All that is remembered, the newest first."""
        try:
            return list(super().load_history_strings())
        except OSError:
            return ()

    def store_string(self, string: str) -> None:
        """Write down what was typed."""
        if len(string) <= REMEMBERED_MAX:
            with contextlib.suppress(OSError):
                super().store_string(string)


def open_history(file: Path | None) -> History:
    """The history in a file, which is made where there is none; or of this process alone where that can't be done."""
    if file is None:
        return InMemoryHistory()
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        number = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            file.chmod(0o600)  # a file that was copied here may be open to others
            _shorten(number)
        finally:
            os.close(number)
    except OSError:
        return InMemoryHistory()
    return PrivateHistory(file)


def _shorten(number: int) -> None:
    """Drop the older half of a long history, in the file itself. Other chats only add to its end."""
    size = os.fstat(number).st_size
    if size <= HISTORY_BYTES_MAX:
        return
    with os.fdopen(os.dup(number), "r+b") as file:
        file.seek(size - HISTORY_BYTES_MAX // 2)
        kept = file.read()
        begin = kept.find(b"\n# ")
        file.seek(0)
        file.write(kept[max(begin, 0) :])
        file.truncate()


def _keys() -> KeyBindings:
    keys = KeyBindings()
    in_text = has_focus(DEFAULT_BUFFER)  # in a search for what was typed before, Enter takes what was found

    @keys.add("enter", filter=in_text)
    def send(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.document.is_cursor_at_the_end and buffer.text.endswith("\\"):
            buffer.delete_before_cursor()
            buffer.insert_text("\n")
        else:
            buffer.validate_and_handle()

    @keys.add("escape", "enter", filter=in_text)
    def begin_line(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    return keys


def _screen() -> Output:
    """The terminal on stderr, since stdout may be a pipe."""
    screen = create_output(stdout=sys.stderr)
    if isinstance(screen, Vt100_Output):
        screen.enable_cpr = False  # only menus below the prompt need to know where the cursor is; not all terminals say
    return screen
