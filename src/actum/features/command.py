"""A `Command`: how an operation is typed on the command line, and how its answer is shown to a person.

A command is a value: the command line makes its arguments, its options, their completion, `--json` and the table from
it and from the operation. Nothing here knows the command line.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct

from ..core.json import Json
from ..core.language.sentence import Sentence

Form = Literal["text", "word", "moment", "minute", "title"]
"""How a value is shown: as it is, as a word in the person's language, as a local time (of seconds since 1970) with or
without its seconds, or as one line that may be cut."""


class ListColumn(Struct, frozen=True):
    """A column of a list, as a person reads it.

    Attributes:
        head: the heading.
        field: the field of an item that the column shows. Several values are shown with blanks between them.
        form: how the value is shown.
        other: the field that is shown where the first one says nothing.
        empty: what is shown in the person's language where there is nothing to show.
        made_of: makes the text of the whole item, where no single field says it.
        only_with: a flag of the query without which the column is left out.
    """

    head: str
    field: str = ""
    form: Form = "text"
    other: str = ""
    empty: str = ""
    made_of: Callable[[Any], str] | None = None
    only_with: str = ""


class CommandFlag(Struct, frozen=True):
    """A flag that stands for one value of a field.

    Attributes:
        name: what is typed, such as `--program`.
        value: the value.
        help: what it means.
    """

    name: str
    value: str
    help: str


class CommandOption(Struct, frozen=True, kw_only=True):
    """How a field of the query or of the body is said on the command line; of a name in the path, its metavar and help.

    Attributes:
        names: the names of the option, such as `("--limit", "-n")`; empty for `--field-name`.
        metavar: the word for the value in `--help`.
        help: what the option means; empty for what the docstring of the field's type says of the field.
        form: `time` for seconds since 1970 that a person says as `24h` ago or `2026-11-01`; `end` for a time to come;
            `pairs` for an object that a person says as `NAME=VALUE` several times.
        flags: flags that replace the option; a person gives one of them at most.
        is_hidden: the command line does not offer the field.
        is_required: a person has to say the field, which a program may leave out.
        found_by: how a person names the thing whose id the field is; None for the text as it is.
    """

    names: tuple[str, ...] = ()
    metavar: str = ""
    help: str = ""
    form: Literal["", "time", "end", "pairs"] = ""
    flags: tuple[CommandFlag, ...] = ()
    is_hidden: bool = False
    is_required: bool = False
    found_by: FoundBy | None = None


class FoundBy(Struct, frozen=True, kw_only=True):
    """How a person names one of several things: by its id, by the beginning of the id, or by `last` for the latest.

    Attributes:
        operation: the id of the operation that lists the things, the latest first.
        field: the field of an item that is the id.
        about: the fields of an item that a shell shows beside the id when it completes one.
        noun: what a thing is called, such as `task`.
        is_whole: the id has to be written whole, and `last` is a name like any other.
        has_last: whether a person may say `last`; false where the list does not begin with the latest.
        among: fields of the query that say among which things the thing is, such as `owner`.
        look_up: `async (app, named)`: the id of the thing that a person names, where the list need not be read for it.
    """

    operation: str
    field: str = "id"
    about: tuple[str, ...] = ()
    noun: str
    is_whole: bool = False
    has_last: bool = True
    among: tuple[str, ...] = ()
    look_up: Callable[[Any, str], Awaitable[str]] | None = None


class AnswerText(Struct, frozen=True):
    """A piece of what a person is told of an answer.

    Attributes:
        text: the words.
        label: a label in front of the words; empty for a text alone, on stdout.
        at: a time in front of the words, in seconds since 1970; 0 for none.
        is_note: whether this is a remark, on stderr, such as what to do next.
        is_problem: whether this is something that is wrong, on stderr.
        values: what is put into `{...}` of the words. Words with values are translated.
        command: the words of a command that is put into `{command}`, such as `("resume", run)`: with the `--journal`
            that the person has named.
    """

    text: str
    label: str = ""
    at: float = 0.0
    is_note: bool = False
    is_problem: bool = False
    values: Mapping[str, str | int | Sentence] = {}
    command: tuple[str, ...] = ()


class Command(Struct, frozen=True, kw_only=True):
    """The command of an operation.

    Attributes:
        words: what is typed, such as `("bookmarks", "list")`; the last word is the name in its group.
        help: what `--help` says, more than the operation's summary; a blank line parts its paragraphs.
        arguments: fields of the query or of the body that are said without an option, behind the names of the path.
        options: how other fields are said; a field that is left out here is an option of its name.
        given: fields that the command itself says, such as `{"verdict": "deny"}`. They are not offered.
        body: the body where the user of this machine may say more than a client: a type below the operation's own.
        found_by: how a person names what the path names; None for the name as it is.
        default: what the path names where a person says nothing, such as `last`; empty where something has to be said.
        uses_tools: whether the operation works with the tools of the settings: `--tools` and `--mcp` name others.
        columns: of an answer with `items`, the columns of the table.
        folds: the heading of the column that is folded on a narrow terminal; the last one where it is empty.
        empty: what is said of a list without items; `{name}` stands for what the path names.
        beside: what a person is told beside a table, from the whole answer, such as what is wrong with the record.
        show: what a person is told of any other answer, from its body and from what the path names; where it is
            None, each field of the answer is told.
        csv_of: the type of the items, where `--csv` prints them for a spreadsheet.
        exit_code: of an answer; None for 0. 1 says that something has failed, 3 that a person is waited for.
    """

    words: tuple[str, ...]
    help: str = ""
    arguments: tuple[str, ...] = ()
    options: Mapping[str, CommandOption] = {}
    given: Mapping[str, Json] = {}
    body: type[Struct] | None = None
    found_by: FoundBy | None = None
    default: str = ""
    uses_tools: bool = False
    columns: tuple[ListColumn, ...] = ()
    folds: str = ""
    empty: str = ""
    beside: Callable[[Any], Sequence[AnswerText]] | None = None
    show: Callable[[Any, Mapping[str, str]], Sequence[AnswerText]] | None = None
    csv_of: type[Struct] | None = None
    exit_code: Callable[[Any], int] | None = None
