"""A `DefinitionKind`: a kind of texts that people write, check, publish and roll back, such as workflows.

    NOTES = DefinitionKind(name="note", plural="notes", read=read_note)

The operations at `/v1/notes` and the commands `actum notes publish`, `versions`, `diff`, `rollback` and `unpublish` are
made from the kind. What is published is in use from the next request on, in every process: `app.journal.definitions`
has it.
"""

from __future__ import annotations

import difflib
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Literal

from msgspec import Struct

from ..core.definition import DefinitionChange, ReadDefinition
from ..core.stores import checked_name
from .command import AnswerText

RESERVED_KINDS = frozenset({"agent", "policy", "prompt", "server", "tool", "workflow"})
"""The kinds of actum itself, and those that are to come."""


def lines_that_differ(old: str, new: str) -> Sequence[DefinitionChange]:
    """How two texts differ, line by line.

    >>> [(each.kind, each.place, each.old, each.new) for each in lines_that_differ("a\\nb\\n", "a\\nc\\n")]
    [('removed', '2', 'b', None), ('added', '2', None, 'c')]
    """
    found: list[DefinitionChange] = []
    before, after = old.splitlines(), new.splitlines()
    for kind, start, end, start_now, end_now in difflib.SequenceMatcher(None, before, after, False).get_opcodes():
        if kind == "equal":
            continue
        gone, come = range(start, end), range(start_now, end_now)
        found += [DefinitionChange(kind="removed", what="line", place=str(at + 1), old=before[at]) for at in gone]
        found += [DefinitionChange(kind="added", what="line", place=str(at + 1), new=after[at]) for at in come]
    return found


class DefinitionKind(Struct, frozen=True, kw_only=True):
    """A kind of texts that people write, check, publish and roll back.

    Attributes:
        name: what one of them is called, such as `workflow`: small letters, digits and `_`.
        plural: what several are called, such as `workflows`: the path below `/v1`.
        group: the group of the commands; `plural` where it is empty.
        read: reads and checks a text, and says what is in it; raises `BadText` where something is wrong with it. Where
            the text has no name of its own, a file is published under its own name.
        difference: how two texts differ; raises `BadText` where one can not be read.
        weighed: `async (journal, tenant, old, new)`: what else differs, seen by what is on record, such as the calls
            that one of two policies denies; None for nothing.
        open: `async (app, who)`: what publishes the texts of the caller's tenant, a `runs.definitions.Publisher`,
            where more than `read` takes part, such as the tools of a server; None in the place of it where the caller
            has none of this kind.
        means: `async (app, who, name)`: what else a name means on the server for a caller, such as `an agent`; empty
            for nothing.
        may_see: `(who, name)`: whether a caller may know of a name; what the caller may not know of is not there.
        readers: the scopes that let a caller see what is published; one of them is enough.
        builders: the scopes that let a caller save, check and publish; one of them is enough.
        uses_tools: whether texts name tools of the settings, so that the commands take `--tools` and `--mcp`.
        example: a file of this kind, as `--help` names one.
        differs_in: what counts as a difference, behind the help of `diff`, such as `: lines`.
        own: the operations that the feature brings itself: of `list`, `get`, `check`.
        stops: whether runs under way can not use either what was taken out of use.
        judges: whether runs under way are judged by what is published, as by a policy; with none in use all is denied.
        is_listed: whether there are the commands `list` and `show`.
        told: what a list tells of a text, out of what is kept beside it (`ReadDefinition.about`).
        runs: what runs of them are in the list of runs: `agent` or `workflow`. Then another publication can be tried on
            a share of the users, and the runs of two can be compared. Empty where nothing is run.
        empty: what a person is told where there are none.
        remarks: what a person is told of a text that was just published.
    """

    name: str
    plural: str
    group: str = ""
    read: Callable[[str], ReadDefinition] | None = None
    difference: Callable[[str, str], Sequence[DefinitionChange]] = lines_that_differ
    weighed: Callable[..., Awaitable[Sequence[DefinitionChange]]] | None = None
    open: Callable[..., Awaitable[Any]] | None = None
    means: Callable[..., Awaitable[str]] | None = None
    may_see: Callable[..., bool] = lambda who, name: True
    readers: tuple[str, ...] = ("admin",)
    builders: tuple[str, ...] = ("admin",)
    uses_tools: bool = False
    example: str = ""
    differs_in: str = ""
    own: frozenset[str] = frozenset()
    stops: bool = False
    judges: bool = False
    is_listed: bool = True
    told: Callable[[str], str] = lambda about: about
    runs: Literal["", "agent", "workflow"] = ""
    empty: str = "There is nothing."
    remarks: Callable[[str], Sequence[AnswerText]] = lambda text: ()

    def __post_init__(self) -> None:
        checked_name("kind of definitions", self.name)

    @property
    def a_name(self) -> str:
        """The name of one, with its article: `a workflow`."""
        return f"{'an' if self.name[0] in 'aeiou' else 'a'} {self.name}"

    @property
    def words(self) -> str:
        """The name of the group of its commands."""
        return self.group or self.plural

    @property
    def title(self) -> str:
        """What the ids of its operations call one of them: `publishWorkflow`."""
        return self.name.title().replace("_", "")
