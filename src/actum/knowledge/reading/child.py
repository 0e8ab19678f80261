"""The program in the jail: says that it is ready, reads one document after the other from its input, and answers each
with its page.

A document comes as two numbers of four bytes, the lengths of its kind and of its bytes, and then both. The answer is
the length and JSON: `{"page": ...}`, or `{"problem": ..., "detail": ...}`.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from importlib import import_module
from typing import IO

import msgspec

from .page import DocumentPage, UnreadableDocument

READERS = {
    "html": ("html", "read_html"),
    "markdown": ("markdown", "read_markdown"),
    "pdf": ("pdf", "read_pdf"),
    "docx": ("office", "read_docx"),
    "xlsx": ("office", "read_xlsx"),
    "pptx": ("office", "read_pptx"),
    "text": ("text", "read_text"),
}
"""By kind: the module beside this one, and its function."""
_LENGTHS = struct.Struct(">II")
_LENGTH = struct.Struct(">I")


def main() -> None:
    """Answer until there is nothing more to read."""
    asked, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):  # what a library prints goes nowhere
        os.dup2(nothing, number)
    answers.write(b"ready\n")
    answers.flush()
    while head := asked.read(_LENGTHS.size):
        kind_length, length = _LENGTHS.unpack(head)
        kind = asked.read(kind_length).decode()
        _answer(answers, kind, asked.read(length))


def _answer(answers: IO[bytes], kind: str, data: bytes) -> None:
    told: object
    try:
        told = {"page": read(kind, data)}
    except UnreadableDocument as error:
        told = {"problem": error.problem, "detail": error.detail}
    except MemoryError:
        told = {"problem": "too_large", "detail": ""}
    except ImportError as error:
        told = {
            "problem": "not_installed" if kind in ("docx", "xlsx", "pptx") else "broken",
            "detail": error.name or "",
        }
    except Exception:  # noqa: BLE001  # whatever a parser raises at foreign bytes: the document can not be read
        told = {"problem": "broken", "detail": ""}
    body = msgspec.json.encode(told)
    answers.write(_LENGTH.pack(len(body)) + body)
    answers.flush()


def read(kind: str, data: bytes) -> DocumentPage:
    """The page of a document.

    Args:
        kind: a key of `READERS`.
        data: the bytes of the document.

    Raises:
        UnreadableDocument: it can not be read. A parser may raise any other error.
    """
    module, function = READERS[kind]
    found: Callable[[bytes], DocumentPage] = getattr(import_module(f".{module}", __package__), function)
    page = found(data)
    if not page.text.strip():
        raise UnreadableDocument("empty")
    return page
