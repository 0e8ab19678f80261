"""A registry of npm on this machine: it serves the packages that `tests/peers` installed, in npm's wire format."""

from __future__ import annotations

import asyncio
import base64
import gzip
import hashlib
import io
import json
import os
import tarfile
from pathlib import Path
from urllib.parse import unquote


class NpmRegistry:
    """Answers for each package with its document, and for each archive with a tar file of the folder.

    Args:
        modules: a folder `node_modules`.
    """

    def __init__(self, modules: Path) -> None:
        self.asked: list[str] = []
        self.heads: list[str] = []
        self.address = ""
        self._folders: dict[str, list[Path]] = {}
        for path, folders, _ in os.walk(modules):
            if Path(path).name == "node_modules" or Path(path).name.startswith("@"):
                for folder in folders:
                    found = Path(path, folder)
                    self._folders.setdefault(str(found).rpartition("node_modules/")[2], []).append(found)
        self._archives: dict[str, bytes] = {}

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                self.heads.append(head.decode("latin-1"))
                path = unquote(head.split(b" ")[1].decode("ascii")).removeprefix(self.address).strip("/")
                self.asked.append(path)
                body = self._archives.get(path) or self._document(path)
                status = b"200 OK" if body else b"404 Not Found"
                writer.write(b"HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n" % (status, len(body)) + body)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    def _document(self, name: str) -> bytes:
        versions: dict[str, object] = {}
        for found in self._folders.get(name, ()):
            if not (found / "package.json").is_file():
                continue
            manifest = json.loads((found / "package.json").read_bytes())
            version = manifest["version"]
            if version in versions:
                continue
            place = f"{name}/-/{name.rpartition('/')[2]}-{version}.tgz"
            self._archives[place] = data = _archive(found)
            digest = base64.b64encode(hashlib.sha512(data).digest()).decode()
            dist = {"tarball": f"{self.address}/{place}", "integrity": f"sha512-{digest}"}
            versions[version] = {**manifest, "dist": dist}
        if not versions:
            return b""
        tags = {"latest": next(iter(versions))}
        return json.dumps({"name": name, "dist-tags": tags, "versions": versions}).encode()


def _archive(folder: Path) -> bytes:
    held = io.BytesIO()

    def own(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
        return None if "/node_modules" in entry.name else entry

    with tarfile.open(fileobj=held, mode="w") as archive:
        archive.add(folder, "package", filter=own)
    return gzip.compress(held.getvalue(), 1, mtime=0)  # always the same bytes
