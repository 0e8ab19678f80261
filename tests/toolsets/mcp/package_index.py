"""An index of Python packages on this machine: it serves the packages of an environment, each as a wheel made of it."""

from __future__ import annotations

import asyncio
import base64
import csv
import hashlib
import io
import zipfile
from collections.abc import Iterator, Mapping
from importlib.metadata import Distribution, distributions
from pathlib import Path
from urllib.parse import unquote

from packaging.utils import canonicalize_name


class PackageIndex:
    """Answers for each package with the page of its archives, and for each archive with its bytes.

    Args:
        site: the folder of the packages of an environment.
        archives: more archives, by their names.
        user: the name and the password, as `name:password`, without which nothing is served; empty for none.
    """

    def __init__(self, site: Path, archives: Mapping[str, bytes] | None = None, user: str = "") -> None:
        self.asked: list[str] = []
        self._site = site
        self._archives = dict(archives or {})
        self._proof = b"Basic " + base64.b64encode(user.encode()) if user else b""
        self._packages: dict[str, Distribution] = {
            canonicalize_name(found.name): found for found in distributions(path=[str(site)])
        }

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                path = unquote(head.split(b" ")[1].decode("ascii")).strip("/")
                self.asked.append(path)
                name = path.rpartition("/")[2]
                body = self._archives.get(name) or self._page(name)
                status = b"200 OK" if body else b"404 Not Found"
                if self._proof not in head:
                    status, body = b"401 Unauthorized\r\nWWW-Authenticate: Basic", b""
                kind = b"application/octet-stream" if name in self._archives else b"text/html"
                length = b"Content-Length: %d\r\nContent-Type: %s" % (len(body), kind)
                writer.write(b"HTTP/1.1 %s\r\n%s\r\n\r\n" % (status, length) + body)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    def _page(self, name: str) -> bytes:
        if (found := self._packages.pop(name, None)) is not None:
            archive, data = _wheel(found, self._site)
            self._archives[archive] = data
        links = [
            f'<a href="/files/{archive}#sha256={hashlib.sha256(data).hexdigest()}">{archive}</a>'
            for archive, data in self._archives.items()
            if canonicalize_name(archive.partition("-")[0]) == name
        ]
        return f"<!DOCTYPE html><html><body>{''.join(links)}</body></html>".encode() if links else b""


def wheel(name: str, version: str, files: Mapping[str, bytes], tag: str = "py3-none-any") -> tuple[str, bytes]:
    """A wheel of these files, and its name. What is missing of its own folder is added."""
    info = f"{name}-{version}.dist-info"
    given = {
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n".encode(),
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: {tag}\n".encode(),
        **files,
    }
    held, record = io.BytesIO(), io.StringIO()
    rows = csv.writer(record, lineterminator="\n")
    with zipfile.ZipFile(held, "w") as archive:
        for path, data in given.items():
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            rows.writerow((path, f"sha256={digest}", len(data)))
            archive.writestr(zipfile.ZipInfo(path), data)
        rows.writerow((f"{info}/RECORD", "", ""))
        archive.writestr(zipfile.ZipInfo(f"{info}/RECORD"), record.getvalue())
    return f"{name}-{version}-{tag}.whl", held.getvalue()


def _wheel(found: Distribution, site: Path) -> tuple[str, bytes]:
    about = found.read_text("WHEEL") or ""
    tags = [line.partition(": ")[2].split("-") for line in about.splitlines() if line.startswith("Tag: ")]
    tag = "-".join(".".join(dict.fromkeys(part)) for part in zip(*tags, strict=True))
    folder = next(_folders(found))
    name, _, version = folder.removesuffix(".dist-info").partition("-")
    files = {
        str(path): (site / path).read_bytes()
        for path in found.files or ()
        if ".." not in path.parts and "__pycache__" not in path.parts and path.name not in ("RECORD", "INSTALLER")
        if (site / path).is_file()
    }
    return wheel(name, version, files, tag)


def _folders(found: Distribution) -> Iterator[str]:
    yield from (path.parts[0] for path in found.files or () if path.parts[0].endswith(".dist-info"))
