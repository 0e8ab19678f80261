"""Media as a function takes and returns them."""

from __future__ import annotations

import pytest

from actum.core.attachment import Audio, File, Image, Video
from actum.core.call import MediaPart

pytestmark = pytest.mark.row("T1")


@pytest.mark.parametrize("kind", [File, Image, Audio, Video])
def test_a_thing_comes_back_from_a_message_as_it_was(kind: type[File]) -> None:
    thing = kind(b"\x00\xff", name="a.bin")
    assert thing.part() == MediaPart(kind.usual, data=b"\x00\xff", name="a.bin")
    again = kind.of(thing.part())
    assert (again.data, again.media_type, again.name, again.url) == (thing.data, thing.media_type, "a.bin", "")


def test_a_kind_takes_its_own_family_and_a_file_takes_all() -> None:
    picture = MediaPart("image/webp")
    assert (Image.fits(picture), Audio.fits(picture), Video.fits(picture), File.fits(picture)) == (
        True,
        False,
        False,
        True,
    )


def test_the_bytes_do_not_stand_in_the_repr() -> None:
    assert repr(Image(b"secret", name="p.png")) == "Image(6 bytes, media_type='image/png', name='p.png')"
    assert "https://example.org/p" in repr(Image(url="https://example.org/p"))
