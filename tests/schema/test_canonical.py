"""Paths and addresses have one form, and what could be taken for two is refused."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actum.schema.canonical import (
    Unclear,
    domain,
    host,
    path,
    under,
    url,
)

pytestmark = pytest.mark.row("C3")

ADDRESSES = {
    "HTTP://EXAMPLE.com:80": "http://example.com/",
    "https://example.com.:443/x": "https://example.com/x",
    "https://example.com:8443/x": "https://example.com:8443/x",
    "http://h:0080/": "http://h/",
    "http://h:/": "http://h/",
    "http://127.1/": "http://127.0.0.1/",
    "http://0x7f000001/": "http://127.0.0.1/",
    "http://0x7f.1/": "http://127.0.0.1/",
    "http://2130706433/": "http://127.0.0.1/",
    "http://017700000001/": "http://127.0.0.1/",
    "http://0/": "http://0.0.0.0/",
    "http://[::FFFF:127.0.0.1]/": "http://127.0.0.1/",
    "http://[0:0:0:0:0:0:0:1]:80/": "http://[::1]/",
    "http://bücher.example/ü?q=ü": "http://xn--bcher-kva.example/%C3%BC?q=%C3%BC",
    "http://ｅｘａｍｐｌｅ。com/": "http://example.com/",
    "http://h/a/../b/./c": "http://h/b/c",
    "http://h/a/..": "http://h/",
    "http://h/%2e%2E/%2e/b": "http://h/b",
    "http://h/../../etc": "http://h/etc",
    "http://h/%7eada/%61?x=%41#%2d": "http://h/~ada/a?x=A#-",
    "http://h/a%2fb": "http://h/a%2Fb",
    "http://h//a": "http://h//a",
    "file:///data/../etc/passwd": "file:///etc/passwd",
    "mailto:Ada@example.com": "mailto:Ada@example.com",
}
UNCLEAR_ADDRESSES = [
    *("", "x", "//h/x", "/etc/passwd", 5, None, "http://", "http:///x", "http:evil.com", "http:/evil.com"),
    *("http://good.com@evil.com/", "http://user:secret@h/", "http://h\\@evil.com/", "http:\\\\h/"),
    *("http://h/a b", "http://h/\tx", "http://h/\x00", "http://h\n.evil.com/"),
    *("http://h/..%2fadmin", "http://h/%2e%2e%5cadmin", "http://h/%252e%252e/x", "http://h/%00"),
    *("http://ex%61mple.com/", "http://a..b/", "http://-a-/", "http://faß.de/", "http://a\u200db.com/"),
    *("http://256.1.1.1/", "http://1.2.3.4.5/", "http://1.2.3.08/", "http://0x7f.1.x1.2/", "http://4294967296/"),
    *("http://[::1/", "http://[fe80::1%25eth0]/", "http://h:99999/", "http://h:x/", "http://" + "a." * 200 + "b/"),
]


@pytest.mark.parametrize(("said", "meant"), ADDRESSES.items())
def test_an_address_has_one_form_and_keeps_it(said: str, meant: str) -> None:
    assert url(said) == meant
    assert url(meant) == meant


@pytest.mark.parametrize("said", UNCLEAR_ADDRESSES)
def test_an_address_that_can_be_read_in_two_ways_is_refused(said: object) -> None:
    with pytest.raises(Unclear):
        url(said)


@given(st.text())
def test_any_text_is_an_address_in_its_form_or_refused(said: str) -> None:
    try:
        meant = url(said)
    except Unclear:
        return
    assert url(meant) == meant


@given(st.from_regex(r"https?://[a-zA-Z0-9.%:@\[\]\\/-]{1,30}/[a-z./%0-9]{0,20}", fullmatch=True))
def test_what_looks_like_an_address_never_climbs_above_its_root(said: str) -> None:
    try:
        meant = url(said)
    except Unclear:
        return
    assert url(meant) == meant
    assert "/../" not in f"{meant}/"
    assert "@" not in meant.split("/")[2]


def test_a_host_is_that_of_the_one_form() -> None:
    assert host("https://0x7f.1:8080/") == "127.0.0.1"
    for without in ("mailto:a@b.c", "file:///etc", "urn:x:y"):
        with pytest.raises(Unclear):
            host(without)


@pytest.mark.parametrize(
    ("said", "meant"), {"Ada@Example.COM": "example.com", "a@bücher.example": "xn--bcher-kva.example"}.items()
)
def test_a_domain_is_that_of_one_address(said: str, meant: str) -> None:
    assert domain(said) == meant


@pytest.mark.parametrize("said", ["a", "a@b@c.d", "Ada <a@b.c>", "a@b.c, x@y.z", "@b.c", "a@", "a@b.c\nBcc:x@y.z", 5])
def test_what_is_not_one_address_has_no_domain(said: object) -> None:
    with pytest.raises(Unclear):
        domain(said)


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a file, a link out of it, a link into it; the program works beside it."""
    folder = Path(os.path.realpath(tmp_path)) / "data"
    (folder / "in").mkdir(parents=True)
    (folder / "in" / "a.txt").write_text("a")
    (tmp_path / "secret.txt").write_text("s")
    (folder / "out").symlink_to(tmp_path)
    (tmp_path / "into").symlink_to(folder / "in")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(folder))
    return folder


@pytest.mark.parametrize(
    ("said", "inside"),
    {
        "in/a.txt": True,
        "": True,
        "in/../in/./a.txt": True,
        "not/there/yet.txt": True,
        "../secret.txt": False,
        "in/../../secret.txt": False,
        "out/secret.txt": False,
        "out/data/in": True,
        "../into/a.txt": True,
        "../data-too/x": False,
        "in//a.txt": True,
        "日本.txt": True,
    }.items(),
)
def test_a_path_is_under_a_folder_by_where_it_leads(data: Path, said: str, inside: bool) -> None:
    assert under(f"{data}/{said}", str(data)) is inside
    assert under(os.path.relpath(data) + "/" + said, str(data)) is inside
    assert under(path(f"{data}/{said}"), str(data)) is inside


def test_home_is_written_out_where_the_tool_gets_what_is_written(data: Path) -> None:
    assert path("~/in/../x") == str(data / "x")
    with pytest.raises(Unclear):
        path("~nobody-of-this-name/x")
    with pytest.raises(Unclear):  # here the tool gets what was said, and may know no home
        under("~/in", str(data))


@pytest.mark.parametrize(
    "said", ["", "a\0b", "/data/%2e%2e/etc", "/data/..%2Fetc", "/data/%252e%252e/x", "a%00b", 5, None]
)
def test_a_path_that_two_readers_would_take_for_two_is_refused(said: object) -> None:
    for local in (True, False):
        with pytest.raises(Unclear):
            path(said, local=local)


@pytest.mark.parametrize("said", ["/data/../etc", "..", "~/x", "C:\\data\\..\\x"])
def test_a_path_of_another_machine_does_not_climb(said: str) -> None:
    with pytest.raises(Unclear):
        path(said, local=False)


def test_a_path_of_another_machine_is_not_looked_up_here(data: Path) -> None:
    assert path(f"{data}/out/./x", local=False) == f"{data}/out/x"
    assert under("/srv/data/x", "/srv/data", local=False)
    assert not under("data/x", "/srv/data", local=False)
    with pytest.raises(Unclear):
        under("data/x", "data", local=False)
