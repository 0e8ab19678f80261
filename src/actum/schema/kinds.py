"""What a text is for: a path, an address, a name in SQL, a word of a command line, text in HTML, an e-mail address.

A parameter that says so is checked and written in one form before the policy and the tool see it; both see the same.
In Python it is said by a `Kind` in `Annotated`, in a JSON Schema by the keyword `x-kind`: its name, or an object of its
name and options. A kind only ever refuses or rewrites what the schema would have taken: it never lets more through.

`schema` holds the arguments to it, `canonical` knows the forms, `actum.kinds` has what a tool needs to use the values
without splicing them. Limits: a kind says what a value *is*, not whether this user may use it; that is the policy's.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable
from typing import Annotated, Literal, NamedTuple

import msgspec
from msgspec import Struct

from ..core.errors import UsageError
from ..core.json import Json, JsonObject
from .canonical import HOST_MAX, Unclear, host_name, is_inside, is_public, joined, leads_inside, plain_path, split, url

KEYWORD = "x-kind"
OTHERWISE = "it written as "
"""So begins what is told of a text that is right but for its form, which can be mended."""

Name = Literal["path", "url", "email", "sql", "shell_word", "html"]


class Kind(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What a text is for, and what it may be.

    Attributes:
        name: `path`, `url`, `email`, `sql` (the name of a table or column; values are bound, see `actum.kinds`),
            `shell_word` (one argument of a program) or `html` (plain text that will be escaped).
        under: of a path: the absolute folder that it must stay in, symbolic links followed. The tool gets an absolute
            path in it; a model may write it relative to the folder.
        relative: of a path: the tool gets it relative, to `under` where that is said.
        schemes: of an address.
        hosts: of an address or e-mail address: only these; `*.example.org` means what is below.
        private: of an address: hosts that are not of the open internet are taken too.
        names: of a name in SQL: only these, in any case of letters.
        dashes: of a word: it may begin with `-`, as an option does.

    Raises:
        UsageError: an option that this kind does not have, or that can not be.

    >>> Kind("path", under="/data").written("notes/../a.txt")
    '/data/a.txt'
    """

    name: Name
    under: str = ""
    relative: bool = False
    schemes: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    private: bool = False
    names: tuple[str, ...] = ()
    dashes: bool = False

    def __post_init__(self) -> None:
        row = _ROWS.get(self.name)
        if row is None:
            raise UsageError("there is no kind {name!r}; there are {rows}", name=self.name, rows=", ".join(_ROWS))
        said: JsonObject = msgspec.to_builtins(self)
        foreign = [option for option in said if option != "name" and option not in row.options]
        if foreign:
            raise UsageError(
                "Kind({name!r}) has no {foreign!r}; it has {options}",
                name=self.name,
                foreign=foreign[0],
                options=", ".join(row.options) or "none",
            )
        try:
            fits = not self.under or (self.under.startswith("/") and plain_path(self.under) == self.under)
            fits = fits and all(host_name(name.removeprefix("*.")) == name.removeprefix("*.") for name in self.hosts)
        except Unclear:
            fits = False
        if not fits:
            raise UsageError(
                "Kind({name!r}): `under` is an absolute folder without '..', and hosts are names in lower case",
                name=self.name,
            )

    def written(self, text: str) -> str:
        """The text in its one form. Pure; written twice is as written once.

        Raises:
            Unclear: it is not of this kind; the message says what would be.
        """
        return _ROWS[self.name].write(self, text)

    def holds(self, text: str) -> bool:
        """Whether a path in its one form leads where it says, by the symbolic links of this moment. The only look at
        the world that a kind takes; true of everything but a path with `under`."""
        return not self.under or leads_inside(joined(self.under, text), self.under)

    def schema(self) -> JsonObject:
        """The keywords of a JSON Schema: `x-kind`, and the `format` that others know."""
        said: JsonObject = msgspec.to_builtins(self)
        known: JsonObject = {"format": _ROWS[self.name].format} if _ROWS[self.name].format else {}
        return {**known, KEYWORD: self.name if len(said) == 1 else said}

    def __get_pydantic_json_schema__(self, core: object, handler: Callable[[object], JsonObject]) -> JsonObject:
        """Pydantic asks here what an annotation adds to a schema, inside of models too."""
        return {**handler(core), **self.schema()}


def read_kind(said: Json) -> Kind:
    """The kind that the value of `x-kind` means.

    Raises:
        UsageError: none.
    """
    try:
        return msgspec.convert({"name": said} if isinstance(said, str) else said, Kind)
    except msgspec.ValidationError as error:
        raise UsageError("no kind: {why}", why=str(error)[:120]) from None


# How each is written. -------------------------------------------------------------------------------------------------


def _path(kind: Kind, text: str) -> str:
    found = plain_path(text)
    if not kind.under:
        if kind.relative and found.startswith("/"):
            raise Unclear("a relative path")
        return found
    place = joined(kind.under, found)
    if not is_inside(place, kind.under):
        raise Unclear("a path that stays inside of its folder")
    return plain_path(posixpath.relpath(place, kind.under)) if kind.relative else place


def _url(kind: Kind, text: str) -> str:
    found = url(text.strip(" "))
    parts, name = split(found)
    schemes = kind.schemes or ("https", "http")
    if parts.scheme not in schemes:
        raise Unclear(f"an address that begins with {' or '.join(f'{scheme}:' for scheme in schemes)}")
    _allow(kind, name)
    if name and not kind.hosts and not kind.private and not is_public(name):
        raise Unclear("an address of the open internet")
    return found


def _email(kind: Kind, text: str) -> str:
    mailbox, _, domain = text.strip(" ").partition("@")
    try:
        name = host_name(domain)
    except Unclear:
        name = ""
    if not _MAILBOX.fullmatch(mailbox) or not _DOMAIN.fullmatch(name) or len(mailbox) > 64 or len(domain) > HOST_MAX:
        raise Unclear("one e-mail address (ada@example.org) and nothing around it")
    _allow(kind, name)
    return f"{mailbox}@{name}"


def _allow(kind: Kind, name: str) -> None:
    if kind.hosts and not any(
        name.endswith(host[1:]) if host.startswith("*.") else name == host for host in kind.hosts
    ):
        raise Unclear(f"an address of {', '.join(kind.hosts)}")


def _sql(kind: Kind, text: str) -> str:
    if kind.names:
        for name in kind.names:
            if name.casefold() == text.strip(" ").casefold():
                return name
        raise Unclear(f"one of {', '.join(kind.names)}")
    if not _IDENTIFIER.fullmatch(text) or text.lower().startswith(_CATALOGUES):
        raise Unclear("the name of a table or column: letters, digits and _")
    return text


def _shell_word(kind: Kind, text: str) -> str:
    if _CONTROL.search(text):
        raise Unclear("one argument of a program, without line breaks and control characters")
    if text.startswith("-") and not kind.dashes:
        raise Unclear("an argument that does not begin with -, as options do")
    return text


def _html(kind: Kind, text: str) -> str:
    if _CONTROL.search(text.translate(_BLANKS)):
        raise Unclear("text without control characters")
    return text


_CONTROL = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")
_BLANKS = str.maketrans("", "", "\t\n\r")
_MAILBOX = re.compile(r"[A-Za-z0-9_+&'=~#](?:[A-Za-z0-9_+&'=~#-]|\.(?=[^.]))*")
"""What mailboxes are really called. RFC 5322 also has quotes, comments, `%` and `!`, which mail servers read in their
own ways, and a `-` in front, which a program may take for an option."""
_DOMAIN = re.compile(r"(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+(?:[a-z]{2,63}|xn--[a-z0-9-]{1,59})")
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")
_CATALOGUES = ("sqlite_", "pg_", "information_schema", "sysobjects", "syscolumns")
"""How the databases' own tables begin."""


class _Row(NamedTuple):
    write: Callable[[Kind, str], str]
    options: tuple[str, ...] = ()
    format: str = ""


_ROWS: dict[str, _Row] = {
    "path": _Row(_path, ("under", "relative")),
    "url": _Row(_url, ("schemes", "hosts", "private"), "uri"),
    "email": _Row(_email, ("hosts",), "email"),
    "sql": _Row(_sql, ("names",)),
    "shell_word": _Row(_shell_word, ("dashes",)),
    "html": _Row(_html),
}

Path = Annotated[str, Kind("path")]
Url = Annotated[str, Kind("url")]
Email = Annotated[str, Kind("email")]
SqlName = Annotated[str, Kind("sql")]
ShellWord = Annotated[str, Kind("shell_word")]
Html = Annotated[str, Kind("html")]
