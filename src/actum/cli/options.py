"""The flags that several commands share, and what they read: settings, a journal, a run. See `loading` for tools and
agents.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

from ..compose import journals
from ..compose.features import features_of, take_into_use
from ..compose.settings import Settings, choose_agent, read_settings
from ..core.errors import UsageError
from ..core.interfaces import Journal
from ..core.json import Json, JsonObject, parse_or_text
from ..storage.place import SCHEMES
from ..transport.egress import Egress
from .show.terminal import Terminal, said

ModelFlag = Annotated[
    str,
    typer.Option(
        "--model",
        "-m",
        metavar="NAME",
        help="openai:gpt-5, ollama:qwen3, http://host/v1#name, embedded, or file.py:name of your own. "
        "Default: ACTUM_MODEL, then actum.toml, then your own settings, then embedded; see `actum models`.",
    ),
]
AgentFlag = Annotated[
    str, typer.Option("--agent", metavar="NAME", help="An agent of actum.toml, by its name; see `actum agents list`.")
]
ToolsFlag = Annotated[
    list[str] | None,
    typer.Option(
        "--tools",
        "-t",
        metavar="WHERE",
        help="everyday, file.py, file.py:name, module:name, file.json that declares a tool, code, folder/ for its "
        "scripts, knowledge:NAME to search a collection of documents, browser to read and quote documents, none, or "
        "mcp for a model that looks for the tools of MCP servers itself; may be repeated. Default: everyday.",
    ),
]
McpFlag = Annotated[
    list[str] | None,
    typer.Option(
        "--mcp",
        metavar="WHICH",
        help="MCP servers: mine (those of `actum mcp`), a name, an address, a file of them, or none; may be repeated. "
        "Default: mine.",
    ),
]
DialectFlag = Annotated[
    str, typer.Option("--dialect", "-d", metavar="NAME", help="How the model says a call; see `actum dialects`.")
]
InstructionsFlag = Annotated[str, typer.Option("--instructions", "-i", metavar="TEXT", help="The system prompt.")]
TemperatureFlag = Annotated[float | None, typer.Option(metavar="NUMBER", help="How random the answer is, from 0 on.")]
MaxTokensFlag = Annotated[int | None, typer.Option(metavar="NUMBER", help="How long an answer may be, in tokens.")]
TopPFlag = Annotated[
    float | None, typer.Option(metavar="NUMBER", help="Choose only from the likeliest words, up to 1 for all.")
]
SeedFlag = Annotated[int | None, typer.Option(metavar="NUMBER", help="For the same answer again, where it can be.")]
StopFlag = Annotated[
    list[str] | None, typer.Option(metavar="TEXT", help="A text at which the model stops; may be repeated.")
]
TimeoutFlag = Annotated[
    float | None, typer.Option(metavar="SECONDS", help="How long the model's endpoint may be silent. Default: 300.")
]
HeaderFlag = Annotated[
    list[str] | None,
    typer.Option(metavar="'NAME: VALUE'", help="A further HTTP header for the model's endpoint; may be repeated."),
]
ExtraFlag = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=VALUE",
        help="A further field of the request, in the words of the model's API; the value is JSON, or else a text. May "
        "be repeated.",
    ),
]
TruncationFlag = Annotated[
    str,
    typer.Option(
        metavar="auto|disabled",
        help="auto: where the conversation is too long for the model, leave out its beginning. Default: disabled.",
    ),
]
ToolChoiceFlag = Annotated[
    str,
    typer.Option(
        metavar="auto|none|required|NAME[,NAME]",
        help="Whether the run must call a tool: begin with one (required, or a name), or call no others (names with a "
        "comma). Default: auto.",
    ),
]
PlanFlag = Annotated[
    bool,
    typer.Option("--plan", help="Have the model write down a plan, and how each step stands.", show_default=False),
]
NoMemoryFlag = Annotated[
    bool, typer.Option("--no-memory", help="Tell this run nothing that you said elsewhere, and never find it there.")
]
ConversationFlag = Annotated[
    str, typer.Option("--conversation", "-c", metavar="ID", help="Go on with the conversation of this id.")
]
OwnerFlag = Annotated[
    str | None,
    typer.Option(
        "--owner",
        metavar="NAME",
        help="Whose conversation it is, where it is not your own; '' for those of programs that name no principal.",
    ),
]
TenantFlag = Annotated[
    str | None,
    typer.Option("--tenant", metavar="NAME", help="Only what belongs to this tenant; '' for what belongs to none."),
]
AfterFlag = Annotated[
    str,
    typer.Option(
        metavar="RUN[@N]",
        help="Go on after this run, or after its record N; with a new --conversation, in a branch of its own.",
    ),
]
AttachFlag = Annotated[
    list[str] | None,
    typer.Option(
        "--attach", "-a", metavar="FILE", help="Give a file along with the question, of any kind; may be repeated."
    ),
]
JournalFlag = Annotated[
    str,
    typer.Option(
        "--journal",
        metavar="PATH",
        help="The record of runs: a file, postgresql://..., or `memory`. Default: ACTUM_JOURNAL.",
    ),
]
PolicyFlag = Annotated[
    str,
    typer.Option(
        "--policy",
        "-p",
        metavar="FILE",
        help="Who may call what; see `actum policy`. Default: ACTUM_POLICY, then actum.toml, then: side effects ask.",
    ),
]
LimitFlag = Annotated[
    list[str] | None,
    typer.Option(
        "--limit",
        metavar="NAME=NUMBER",
        help="How much the run may use: steps=20, calls=50, seconds=60, tokens=100000, ...; `none` for no limit.",
    ),
]
RunArgument = Annotated[str, typer.Argument(help="The run: its id, the beginning of it, or `last`.")]
VerboseFlag = Annotated[bool, typer.Option("--verbose", "-v", help="Show every step.")]
JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON for programs, and nothing else.")]
YesFlag = Annotated[bool, typer.Option("--yes", "-y", help="Approve every call that asks. Think first.")]


def read(
    *,
    model: str = "",
    tools: list[str] | None = None,
    mcp: list[str] | None = None,
    dialect: str = "",
    instructions: str = "",
    journal: str = "",
    policy: str = "",
    limits: list[str] | None = None,
    model_settings: JsonObject | None = None,
    truncation: str = "",
    tool_choice: str = "",
    plan: bool = False,
    speaks_for_user: list[str] | None = None,
    agent: str = "",
    serve: JsonObject | None = None,
) -> Settings:
    """The settings of this command: flags over environment over `actum.toml`; those of an agent where one is named.

    Raises:
        UnknownName: there is no agent of this name.
    """
    said: dict[str, str | bool | list[str] | JsonObject | None] = {
        "model": model,
        "tools": tools,
        "mcp": mcp,
        "dialect": dialect,
        "instructions": instructions,
        "journal": journal,
        "policy": policy,
        "speaks_for_user": speaks_for_user,
        "model_settings": model_settings,
        "truncation": truncation,
        "tool_choice": tool_choice.split(",") if "," in tool_choice else tool_choice,
        "plan": plan or None,
        "limits": dict(_limit(limit) for limit in limits or []),
        "serve": serve,
    }
    settings = read_settings(Path.cwd(), os.environ, said)
    return choose_agent(settings, agent) if agent else settings


def egress() -> Egress:
    """The operator's rules for outgoing calls, for a command that takes no settings by flags."""
    return Egress(read().egress)


def _limit(said: str) -> tuple[str, Json]:
    """`calls=20` as name and number.

    Raises:
        UsageError: it is not of this form.
    """
    name, _, number = said.partition("=")
    if number == "none":
        return name, None
    try:
        return name, float(number) if "." in number else int(number)
    except ValueError:
        raise UsageError("--limit {said}: give a name and a number, as in --limit calls=20", said=said) from None


def header(said: str) -> tuple[str, str]:
    """`X-Team: blue` as name and value.

    Raises:
        UsageError: it is not of this form; it is not shown, since it may hold a key.
    """
    name, colon, value = said.partition(":")
    if not colon:
        raise UsageError("--header: give a name and a value, as in --header 'X-Team: blue'")
    return name.strip(), value.strip()


def extra(said: str) -> tuple[str, Json]:
    """`reasoning_effort=high` as name and value.

    Raises:
        UsageError: it is not of this form.
    """
    name, sign, text = said.partition("=")
    if not sign or not name:
        raise UsageError("--extra {said}: give a name and a value, as in --extra reasoning_effort=high", said=said)
    return name, parse_or_text(text)


def read_pairs(pairs: Sequence[str]) -> JsonObject:
    """Arguments as a person types them: `NAME=VALUE`, the value JSON or else a text.

    Raises:
        UsageError: one is no such pair.
    """
    found: JsonObject = {}
    for pair in pairs:
        name, sign, text = said(pair).partition("=")
        if not sign or not name.strip():
            raise UsageError("{pair!r}: write NAME=VALUE", pair=pair)
        found[name.strip()] = parse_or_text(text)
    return found


def open_journal(settings: Settings, *, older: bool = False) -> Journal:
    """The journal of this command. The caller closes it; see `journal`."""
    return journals.open_journal(settings, os.environ, older=older)


def has_journal(settings: Settings) -> bool:
    """Whether there is a journal already: a command that only looks makes none."""
    place = journals.journal_place(settings, os.environ)
    return place.startswith(SCHEMES) or Path(place).is_file()


@contextlib.asynccontextmanager
async def journal(settings: Settings, *, older: bool = False) -> AsyncIterator[Journal]:
    """The journal of this command, closed at the end whatever happens.

    Args:
        settings: name the journal.
        older: the command needs the stored bytes alone, so that a journal of an older format will do.
    """
    opened = open_journal(settings, older=older)
    try:
        if not older:
            await take_into_use(features_of(settings), opened)
        yield opened
    finally:
        await opened.close()


PROBLEMS_MAX = 10
"""The most problems of the record that are told beside what a command shows."""


def tell_problems(terminal: Terminal, problems: Sequence[str]) -> None:
    """Tell on stderr what was found to be wrong with the record, beside what a command shows of it."""
    for problem in problems[:PROBLEMS_MAX]:
        terminal.error(problem)
    if problems:
        more = f"... and {len(problems) - PROBLEMS_MAX} more. " if len(problems) > PROBLEMS_MAX else ""
        terminal.note("{more}The record was damaged or changed: `actum journal verify` checks all of it.", more=more)
