"""The chain over a run's record: each entry holds the digest of the entry before. A ledger signs the ends of runs."""

from __future__ import annotations

import hashlib
import hmac
import struct
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from ..errors import JournalError
from .ids import random_16

if TYPE_CHECKING:
    pass
from .record import Entry, Record, Started

GENESIS = bytes(32)
"""The digest before the first entry of a chain."""


class SignedHead(Struct, frozen=True):
    """How far a run had come, signed: one line of a journal's ledger.

    Each signature covers the signature before it, so no line between two others can be taken out.

    Attributes:
        run_id, number, head: the run's latest entry when it ended or paused.
        signature: HMAC-SHA256 over the signature before it (`GENESIS` for the first) and the rest.
    """

    run_id: str
    number: int
    head: bytes
    signature: bytes = b""


def sign(key: bytes, previous: bytes, run_id: str, number: int, head: bytes) -> SignedHead:
    """The next line of a ledger.

    Args:
        key: the secret, which must not lie in the database.
        previous: the signature of the line before.
    """
    line = _HEADER_OF_LINE.pack(previous, number, head) + run_id.encode(errors="replace")
    return SignedHead(run_id, number, head, hmac.digest(key, line, "sha256"))


def verify_ledger(heads: Sequence[SignedHead], key: bytes) -> list[str]:
    """Check the lines of a ledger, from the first, against the key.

    Returns:
        The faults, one sentence for each line. That lines are missing at the end can not be seen without an exported
            copy.
    """
    problems, previous = [], GENESIS
    for place, line in enumerate(heads):
        in_range = 0 <= line.number < 2**64 and len(line.head) == 32  # a damaged line may hold anything
        expected = sign(key, previous, line.run_id, line.number, line.head).signature if in_range else b""
        if not in_range or not hmac.compare_digest(expected, line.signature):
            problems.append(
                f"signed head {place} (run {line.run_id}) is not signed with this key, or not at this place"
            )
        previous = line.signature
    return problems


def against_head(entries: Sequence[Entry], known: SignedHead) -> list[str]:
    """Check that a run is still as it was when this head was signed or exported. Returns the faults."""
    run_id, number = known.run_id, known.number
    entry = next((entry for entry in entries[max(0, number) :] if entry.number == number), None)
    entry = entry or next((entry for entry in entries if entry.number == number), None)  # where others are missing
    if entry is None:
        return [f"run {run_id} was cut: entry {number} was there when its head was taken, and is gone"]
    if entry.head != known.head:
        return [f"run {run_id} was rewritten: entry {number} is not the one whose head was taken"]
    return []


_encoder = msgspec.json.Encoder()


_HEADER = struct.Struct(">32sQd32s")


_HEADER_OF_LINE = struct.Struct(">32sQ32s")


def seal(record: Record, number: int, at: float, previous: bytes) -> Entry:
    """Make the entry that follows the one whose head is `previous` (`GENESIS` for the first).

    Raises:
        JournalError: the first record of a run is not `Started`.
    """
    if number == 0 and not isinstance(record, Started):
        raise JournalError("a run begins with Started, not with {kind}", kind=type(record).__name__)
    payload = _encoder.encode(record)
    salt = random_16()
    digest = hashlib.sha256(salt + payload).digest()
    return Entry(number, at, payload, salt, digest, _head(previous, number, at, digest))


def _head(previous: bytes, number: int, at: float, digest: bytes) -> bytes:
    return hashlib.sha256(_HEADER.pack(previous, number, at, digest)).digest()


def verify(entries: Iterable[Entry]) -> list[str]:
    """Check a run's chain from its first entry.

    Returns:
        The faults, one sentence for each entry. Empty when every stored byte is as it was written, and no entry is
            missing in between. Without a signed or exported head, a rewritten chain, or one that was cut at its end,
            can not be detected.
    """
    chain = Chain()
    return [problem for entry in entries for problem in chain.take(entry)]


class Chain:
    """Checks the entries of a run one after another, from its first."""

    def __init__(self) -> None:
        self._previous = GENESIS
        self._expected = 0

    def take(self, entry: Entry) -> list[str]:
        """Take the next entry, and return what is wrong with it or with its place."""
        problems = []
        if entry.number != self._expected:
            problems.append(f"entry {self._expected} is missing")
        if entry.payload and not entry.is_sealed:
            problems.append(f"entry {entry.number}: its payload was changed")
        if not self._follows(entry):
            problems.append(f"entry {entry.number}: it does not follow the entry before it")
        self._previous, self._expected = entry.head, entry.number + 1
        return problems

    def _follows(self, entry: Entry) -> bool:
        if not 0 <= entry.number < 2**64 or len(entry.digest) != 32 or len(self._previous) != 32:
            return False  # damaged
        return _head(self._previous, entry.number, entry.at, entry.digest) == entry.head
