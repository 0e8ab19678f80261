"""`$ref` in API documents: to a place in the same document, or in files beside the document. Pure: a loader is given.

A file may be loaded only from the document's own folder (for files) or origin (for http and https). A link on disk that
leads out of the folder is the loader's business.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable
from typing import NamedTuple
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

from ...core.json import Json, JsonObject
from .model import BadDocument

Load = Callable[[str], Json]
"""Gives the document at an address. Raises `BadDocument` where there is none."""

FILES_MAX = 200
CHAIN_MAX = 50


class Node(NamedTuple):
    """A value and where it stands: the address of its document, and a JSON pointer."""

    value: Json
    address: str
    pointer: str

    def child(self, *keys: str) -> Node:
        """A value further down; None where there is none."""
        value, pointer = self.value, self.pointer
        for key in keys:
            value = value.get(key) if isinstance(value, dict) else None
            pointer += "/" + escape(key)
        return Node(value, self.address, pointer)

    def items(self) -> list[Node]:
        """The items of a list; none where the value is no list."""
        found = self.value if isinstance(self.value, list) else []
        return [Node(item, self.address, f"{self.pointer}/{at}") for at, item in enumerate(found)]

    def members(self) -> list[tuple[str, Node]]:
        """The members of an object; none where the value is no object."""
        found = self.value if isinstance(self.value, dict) else {}
        return [(key, Node(value, self.address, f"{self.pointer}/{escape(key)}")) for key, value in found.items()]

    @property
    def fields(self) -> JsonObject:
        """The value as an object, or BadDocument."""
        if not isinstance(self.value, dict):
            raise self.bad("an object was expected here")
        return self.value

    def text(self, key: str) -> str:
        """The text of a member; empty where there is none."""
        found = self.value.get(key) if isinstance(self.value, dict) else None
        return found if isinstance(found, str) else ""

    def bad(self, reason: str) -> BadDocument:
        """The error that this part can not be used."""
        return BadDocument(reason, f"#{self.pointer}")

    @property
    def uri(self) -> str:
        """Address and pointer in one."""
        return f"{self.address}#{self.pointer}"


def escape(key: str) -> str:
    """A key, escaped for a JSON pointer."""
    return key.replace("~", "~0").replace("/", "~1") if "~" in key or "/" in key else key


class Documents:
    """The document and the files that it refers to.

    Args:
        value: the document.
        address: where it is: an absolute `file:`, `http:` or `https:` address; empty for a document from nowhere,
            which can refer to itself only.
        load: gives other files. None: references to other files are refused.
    """

    def __init__(self, value: JsonObject, address: str, load: Load | None = None) -> None:
        self._home = address
        self._load = load
        self._files: dict[str, Json] = {address: value}
        own = value.get("$self")
        self._bases = {address: urljoin(address, own) if isinstance(own, str) else address}
        self._anchors: dict[str, dict[str, Node]] = {}
        self.root = Node(value, address, "")

    def resolve(self, node: Node) -> Node:
        """Follow `$ref` until something else comes.

        Raises:
            BadDocument: it leads to nothing, in a circle, or to a file that may not be loaded.
        """
        start, seen = node, {node.uri}
        while isinstance(node.value, dict) and isinstance(ref := node.value.get("$ref"), str):
            node = self.target(node, ref)
            if node.uri in seen or len(seen) > CHAIN_MAX:
                raise start.bad("the references lead in a circle")
            seen.add(node.uri)
        return node

    def target(self, node: Node, ref: str) -> Node:
        """What a reference that stands at a node refers to, one step."""
        if ref.startswith("#"):
            address, fragment = node.address, ref[1:]
        else:
            address, fragment = urldefrag(urljoin(self._bases.get(node.address, node.address), ref))
            address = next((known for known, base in self._bases.items() if address == urldefrag(base)[0]), address)
        self._open(address, node)
        return self._at(address, unquote(fragment), node)

    def at(self, uri: str) -> Node:
        """The node of an address and pointer that came out of `Node.uri`."""
        address, _, pointer = uri.partition("#")  # a key in the pointer may hold "#"
        self._open(address, self.root)
        return self._at(address, pointer, self.root)

    def _at(self, address: str, pointer: str, asked: Node) -> Node:
        value = self._files[address]
        if pointer and not pointer.startswith("/"):
            found = self._anchored(address).get(pointer)
            if found is None:
                raise asked.bad(f"the reference to {pointer[:100]!r} leads to nothing")
            return found
        for part in pointer.split("/")[1:]:
            key = part.replace("~1", "/").replace("~0", "~")
            if isinstance(value, dict) and key in value:
                value = value[key]
            elif isinstance(value, list) and key.isascii() and key.isdecimal() and int(key[:9]) < len(value):
                value = value[int(key[:9])]
            else:
                raise asked.bad(f"the reference to '#{pointer[:100]}' leads to nothing")
        return Node(value, address, pointer)

    def _open(self, address: str, asked: Node) -> None:
        if address in self._files:
            return
        if self._load is None or not may_load(self._home, address):
            raise asked.bad(f"the reference to {address[:200]} leads out of the document's own folder or origin")
        if len(self._files) >= FILES_MAX:
            raise asked.bad(f"the document refers to more than {FILES_MAX} files")
        self._files[address] = self._load(address)
        self._bases[address] = address

    def _anchored(self, address: str) -> dict[str, Node]:
        known = self._anchors.get(address)
        if known is None:
            known = self._anchors[address] = {}
            todo = [Node(self._files[address], address, "")]
            while todo:
                node = todo.pop()
                if name := node.text("$anchor") or node.text("$dynamicAnchor"):
                    known.setdefault(name, node)
                todo += [child for _, child in node.members()] + node.items()
        return known


def may_load(home: str, address: str) -> bool:
    """Whether a document may refer to a file: below its own folder, or of its own origin.

    >>> may_load("file:///a/api.yaml", "file:///a/b/c.yaml"), may_load("file:///a/api.yaml", "file:///etc/passwd")
    (True, False)
    """
    here, there = urlsplit(home), urlsplit(address)
    if here.scheme != there.scheme or here.netloc.lower() != there.netloc.lower():
        return False
    if here.scheme in ("http", "https"):
        return True
    folder = posixpath.normpath(posixpath.dirname(unquote(here.path))).rstrip("/") + "/"
    return here.scheme == "file" and posixpath.normpath(unquote(there.path)).startswith(folder)
