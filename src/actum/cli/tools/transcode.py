"""`actum transcode`: a filter between two APIs.

What comes in on stdin goes out on stdout in the other's words, a stream as it comes; what was lost stands on stderr.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from io import BufferedReader
from typing import Annotated, Literal, cast

import msgspec
import typer

from ...core.errors import ModelError
from ...dialects.losses import Loss
from ...dialects.transcode.transcode import (
    ALIASES,
    Transcoder,
    find,
    kind_of,
)
from ...dialects.transcode.transcode import transcode as transcode_whole
from ..exit_codes import DONE, FAILED
from ..show.terminal import Terminal

CHUNK_BYTES = 65_536
_NAMES = "A name of `actum dialects`, or " + ", ".join(ALIASES) + "."


def transcode(
    source: Annotated[str, typer.Option("--from", metavar="DIALECT", help=f"What is read. {_NAMES}")],
    target: Annotated[str, typer.Option("--to", metavar="DIALECT", help="What is written; likewise.")],
    kind: Annotated[
        Literal["auto", "request", "response", "stream"],
        typer.Option("--kind", help="What it is, where that can't be seen."),
    ] = "auto",
    model: Annotated[str, typer.Option("--model", "-m", metavar="NAME", help="A model's name to write instead.")] = "",
    strict: Annotated[bool, typer.Option("--strict", help="End with 1 if anything was lost.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Tell losses as JSON, one a line, on stderr.")] = False,
) -> int:
    """Say in one API what was said in another: a request, an answer or a stream, from stdin to stdout.

    For instance: actum transcode --from anthropic --to openai < request.json
    """
    pieces = _input()
    begin = next(pieces, b"")
    while not begin.strip() and (piece := next(pieces, b"")):
        begin += piece
    if (kind_of(begin, find(source)) if kind == "auto" else kind) == "stream":
        lost, error = _pass_on(Transcoder(source, target, model=model), begin, pieces)
    else:
        found = transcode_whole(b"".join([begin, *pieces]), source, target, kind=kind, model=model)
        _write(found.wire)
        if found.wire and sys.stdout.isatty() and not found.wire.endswith(b"\n"):
            _write(b"\n")
        lost, error = found.lost, found.error
    terminal = Terminal()
    for loss in lost:
        if as_json:
            sys.stderr.write(msgspec.json.encode(loss).decode() + "\n")
        else:
            terminal.note("lost: {loss}", loss=loss)
    if error is not None:
        terminal.error(str(error))
    return FAILED if error is not None or (strict and lost) else DONE


def _pass_on(
    transcoder: Transcoder, begin: bytes, pieces: Iterator[bytes]
) -> tuple[tuple[Loss, ...], ModelError | None]:
    _write(transcoder.feed(begin))
    for piece in pieces:
        _write(transcoder.feed(piece))
    _write(transcoder.close())
    return transcoder.lost, transcoder.error


def _input() -> Iterator[bytes]:
    """The input, as soon as it comes."""
    stdin = cast(BufferedReader, sys.stdin.buffer)
    while piece := stdin.read1(CHUNK_BYTES):
        yield piece


def _write(wire: bytes) -> None:
    if wire:
        sys.stdout.buffer.write(wire)
        sys.stdout.buffer.flush()
