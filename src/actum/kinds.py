"""For those who write tools: say what a text is for, and use it without splicing it into anything.

    from actum import kinds, tool

    @tool
    def read(file: Annotated[str, kinds.Kind("path", under="/data")], about: kinds.Email) -> str: ...

The types are checked before a tool is called (`schema.kinds`). What a checked value still needs is to be *bound*: a
path opened below its folder (`open_under`), a word put in a list of arguments and never in a line for a shell (`argv`),
a name quoted (`quote_name`), text escaped (`escape_html`). Values in SQL need no kind: they go through the database's
own parameters, `connection.execute("... WHERE name = ?", (name,))`.
"""

from __future__ import annotations

import errno
import html
import os
import stat
from collections.abc import Iterable
from typing import IO, Any

from .schema.canonical import Unclear, is_public
from .schema.kinds import (
    Email,
    Html,
    Kind,
    Path,
    ShellWord,
    SqlName,
    Url,
)

__all__ = [
    "Email",
    "Html",
    "Kind",
    "Path",
    "ShellWord",
    "SqlName",
    "Unclear",
    "Url",
    "argv",
    "escape_html",
    "is_public",
    "open_under",
    "quote_name",
]

_HOW: dict[str, int] = {
    "r": os.O_RDONLY,
    "w": os.O_WRONLY | os.O_CREAT | os.O_TRUNC,
    "a": os.O_WRONLY | os.O_CREAT | os.O_APPEND,
    "x": os.O_WRONLY | os.O_CREAT | os.O_EXCL,
}
_NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)  # without the second, a pipe would be waited for


def open_under(folder: str | os.PathLike[str], path: str, mode: str = "r", *, encoding: str = "utf-8") -> IO[Any]:
    """Open a file below a folder, through no symbolic link, even where somebody swaps folders for links meanwhile.

    A kind is checked before a call is made, and a person may take a week to approve it; what the path led to then says
    nothing of now. Here every folder on the way is opened from the one before it (`O_NOFOLLOW` and `dir_fd`), so that
    the file is below `folder` at the moment when it is opened. What is not covered: hard links and mounts that lie in
    the folder, and links on the way to `folder` itself, which is yours to say.

    Args:
        folder: it must exist.
        path: relative to it, or absolute and in it.
        mode: `r`, `w`, `a` or `x`, with `b` for bytes.
        encoding: of text.

    Raises:
        Unclear: the path leads out of the folder by its text.
        ValueError: another mode.
        OSError: there is a link on the way, it is no plain file, or what `open` raises. POSIX only.
    """
    flags = _HOW.get(mode.replace("b", ""))
    if flags is None:
        raise ValueError(f"mode {mode!r}: one of r, w, a and x, with b for bytes")
    top = os.path.abspath(folder)  # noqa: PTH100  # links on the way to it are the caller's own
    *folders, name = Kind("path", under=top, relative=True).written(path).split("/")
    here = os.open(top, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for each in folders:
            inner = os.open(each, os.O_RDONLY | os.O_DIRECTORY | _NO_LINK, dir_fd=here)
            os.close(here)
            here = inner
        number = os.open(name, flags | _NO_LINK, 0o644, dir_fd=here)
    finally:
        os.close(here)
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise OSError(errno.EINVAL, "no plain file", name)
    return os.fdopen(number, mode, encoding=None if "b" in mode else encoding)


def argv(*command: str, words: Iterable[str] = ()) -> list[str]:
    """The arguments of a program as a list, for `subprocess` without a shell: yours, then `--`, then those of others.

    After `--` nothing is an option to programs that follow POSIX (Utility Syntax Guideline 10). To those that do not,
    the kind `shell_word` gives nothing that begins with `-`. What a program itself reads into a word (`@file`,
    `host:path`, an expression) is its own affair.

    Raises:
        ValueError: a NUL character, which would cut a word short.

    >>> argv("grep", "-c", words=["-f", "notes.txt"])
    ['grep', '-c', '--', '-f', 'notes.txt']
    """
    given = list(words)
    if any("\0" in word for word in (*command, *given)):
        raise ValueError("a word of a command line can not hold NUL")
    return [*command, "--", *given] if given else list(command)


def quote_name(name: str) -> str:
    """A name of a table or column, quoted for a statement of standard SQL.

    Raises:
        ValueError: a NUL character.

    >>> quote_name("order"), quote_name('a"b')
    ('"order"', '"a""b"')
    """
    if "\0" in name or not name:
        raise ValueError("a name in SQL has at least one character, and no NUL")
    return '"' + name.replace('"', '""') + '"'


def escape_html(text: str) -> str:
    """Text as it stands between tags and in quoted attributes: it shows as it is, and is never markup.

    It is no protection inside of `<script>`, `<style>`, an attribute without quotes, or where an address stands
    (`href`): an address there is of kind `url`.

    >>> escape_html('<b title="x">')
    '&lt;b title=&quot;x&quot;&gt;'
    """
    return html.escape(text, quote=True)
