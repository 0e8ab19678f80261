"""Of what kind a file is, by its name."""

from __future__ import annotations

_TEXT = (
    "txt text rst adoc org log csv tsv json jsonl yaml yml toml ini cfg conf properties xml sql diff patch po "
    "py pyi js mjs cjs ts tsx jsx java kt kts scala go rs c h cc cpp hpp cs rb php pl pm lua r jl swift m mm sh bash "
    "zsh fish ps1 bat css scss less vue svelte tex bib proto graphql tf gradle groovy ex exs erl hs ml clj lisp el vim"
)
_KINDS = {
    **dict.fromkeys(_TEXT.split(), "text"),
    **dict.fromkeys(("md", "markdown", "mdown", "mkd"), "markdown"),
    **dict.fromkeys(("html", "htm", "xhtml"), "html"),
    **{kind: kind for kind in ("pdf", "docx", "xlsx", "pptx")},
}
_NAMES = "readme license licence copying authors changelog changes news notice makefile dockerfile"
_PLAIN = frozenset(_NAMES.split())
"""Names of text files that have no ending."""


def kind_of(name: str) -> str:
    """The kind of a file; empty where files of this kind are not read.

    >>> kind_of("rules/Travel.MD"), kind_of("README"), kind_of("photo.jpg")
    ('markdown', 'text', '')
    """
    last = name.rpartition("/")[2].casefold()
    stem, dot, ending = last.rpartition(".")
    return _KINDS.get(ending, "") if dot and stem else "text" if last in _PLAIN else ""
