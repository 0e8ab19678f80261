"""A feature's record becomes a record of the journal, and is read back by the features that know it."""

from __future__ import annotations

import msgspec
import pytest
from msgspec import Struct

from actum.core.errors import UsageError
from actum.core.run.noted import BODY_BYTES_MAX, RecordKind, RecordKinds
from actum.core.run.record import Noted


class Saved(Struct, frozen=True, tag="saved"):
    url: str
    title: str = ""


class Moved(Struct, frozen=True, tag="moved"):
    to: str


class SavedBefore(Struct, frozen=True, tag="saved"):
    url: str


class Untagged(Struct, frozen=True):
    url: str


KINDS = RecordKinds([RecordKind("bookmarks", Saved, 2, "actum-bookmarks"), RecordKind("bookmarks", Moved, 2)])
OLDER = RecordKinds([RecordKind("bookmarks", SavedBefore, 1, "actum-bookmarks")])
NOTED = KINDS.noted(Saved("https://example.org", "书签"), needed=True)


def test_a_record_comes_back_as_it_was_noted() -> None:
    assert (NOTED.feature, NOTED.kind, NOTED.version, NOTED.needed) == ("bookmarks", "saved", 2, True)
    assert KINDS.read(NOTED) == Saved("https://example.org", "书签")
    assert KINDS.shown(NOTED) == 'bookmarks/saved {"type":"saved","url":"https://example.org","title":"书签"}'
    assert KINDS.missing(NOTED) == ""


def test_a_newer_version_of_a_feature_reads_what_an_older_one_wrote() -> None:
    assert KINDS.read(OLDER.noted(SavedBefore("https://example.org"))) == Saved("https://example.org")


@pytest.mark.parametrize(
    ("kinds", "noted", "why"),
    [
        (RecordKinds(), NOTED, "the feature bookmarks is missing: install the package actum-bookmarks, and switch"),
        (OLDER, NOTED, "reads its records up to version 1, and this one is of version 2: install a newer version"),
        (KINDS, Noted("bookmarks", "saved", 2, b"{"), "it is no such record as the feature bookmarks writes"),
        (KINDS, Noted("bookmarks", "saved", 2, b"\xff"), "it is no such record"),
        (KINDS, Noted("bookmarks", "saved", 2, b""), "it is no such record"),
        (KINDS, Noted("bookmarks", "saved", 2, b"[" * 100_000), "it is no such record"),
        (KINDS, Noted("bookmarks", "gone", 1, b"{}"), "install the package that brings the feature bookmarks"),
        (KINDS, Noted("other", "saved", 1, b"{}"), "the feature other is missing"),
    ],
)
def test_what_can_not_be_read_is_told_by_its_size_and_with_the_package(
    kinds: RecordKinds, noted: Noted, why: str
) -> None:
    assert kinds.read(noted) is None
    assert kinds.shown(noted) == f"{noted.title}, {len(noted.body)} bytes, not read here"
    assert why in kinds.missing(noted)


def test_a_record_that_no_feature_names_is_refused() -> None:
    with pytest.raises(UsageError, match="SavedBefore is a record of no feature that is on"):
        KINDS.noted(SavedBefore("x"))


def test_a_record_may_not_be_longer_than_the_limit() -> None:
    longest = BODY_BYTES_MAX - len(msgspec.json.encode(Moved("")))
    assert len(KINDS.noted(Moved("x" * longest)).body) == BODY_BYTES_MAX
    with pytest.raises(UsageError, match="bookmarks/moved has 64001 bytes; a record of a feature has at most 64000"):
        KINDS.noted(Moved("x" * (longest + 1)))


def test_kinds_are_told_apart() -> None:
    with pytest.raises(UsageError, match="has two kinds of records called 'saved'"):
        RecordKinds([RecordKind("bookmarks", Saved), RecordKind("bookmarks", SavedBefore)])
    with pytest.raises(UsageError, match="the record Saved belongs to two features: bookmarks, other"):
        RecordKinds([RecordKind("bookmarks", Saved), RecordKind("other", Saved)])
    with pytest.raises(UsageError, match="Untagged has no tag"):
        RecordKind("bookmarks", Untagged)
    two = RecordKinds([RecordKind("bookmarks", Saved), RecordKind("other", SavedBefore)])  # one tag, two features
    assert two.read(two.noted(Saved("x"))) == Saved("x")
    assert two.read(two.noted(SavedBefore("x"))) == SavedBefore("x")
