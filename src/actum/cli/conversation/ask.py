"""`actum ask`: a question about documents is answered with references that a program has checked, or not at all."""

from __future__ import annotations

import asyncio
import mimetypes
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from msgspec import Struct, convert, to_builtins

from ...agents.agent import Agent
from ...agents.citing import words_of_user
from ...compose.models import make_model
from ...compose.settings import Settings
from ...core.call import MediaPart
from ...core.errors import UsageError
from ...core.event import RunResult
from ...core.interfaces import Journal
from ...core.json import JsonObject
from ...core.language.sentence import Sentence
from ...core.language.translation import Language, in_language
from ...core.process.named_file import open_named
from ...core.run.ids import new_id
from ...core.run.record import Started
from ...core.visible import on_one_line, visible
from ...journal.recording import RunState
from ...knowledge.browsing.attached_search import search_pages
from ...knowledge.browsing.browser import Browser
from ...knowledge.citing.answer import backed, checked_answer
from ...knowledge.citing.attached import attached_pages
from ...knowledge.citing.references import CheckedReference, checked, references_in
from ...knowledge.citing.sources import ADDRESS, ATTACHMENT, looked_for
from ...knowledge.citing.verbatim import FoundWords, VerbatimModel
from ...knowledge.collections import CollectionUser, named
from ...knowledge.document_kinds import kind_of
from ...knowledge.jailed_reader import DOCUMENT_BYTES_MAX
from ...knowledge.problems import PROBLEMS
from ...knowledge.search import PlacedPassage, search
from .. import options
from ..exit_codes import DONE, FAILED, PAUSED
from ..language import language
from ..options import JournalFlag, JsonFlag, ModelFlag
from ..show.terminal import Terminal, said, who
from .models import choose_model

ASK = "ask"
"""What the agent is called, and under which name its collections are on record."""
LANGUAGES: dict[str, Language | None] = {"": None, "en": "en", "zh": "zh"}
IN_LANGUAGE = {"": "", "en": "Answer in English.", "zh": "请用中文回答。"}
EMBEDDED = "embedded"
NEAREST = 3


class LeftOutPassage(Struct, frozen=True):
    """A passage that no source backs."""

    text: str
    problem: str


class AskedFrom(Struct, frozen=True):
    """What a question is answered from, as the record has it.

    Attributes:
        knowledge: the names of collections.
        lang: the language of the answer; empty for that of the question.
    """

    knowledge: tuple[str, ...]
    lang: str = ""


class AskOutcome(Struct, frozen=True, kw_only=True):
    """What became of a question.

    Attributes:
        run_id: the run.
        status: `answered`, `abstained`, `stopped` or `paused`.
        answer: the passages that are backed; empty where it was not answered.
        references: those that the answer cites, each checked.
        left_out: the passages that no source backs, with the reason.
        looked_for: what was searched.
        nearest: passages to read on, where it was not answered.
    """

    run_id: str
    status: str
    answer: str
    references: tuple[CheckedReference, ...] = ()
    left_out: tuple[LeftOutPassage, ...] = ()
    looked_for: tuple[str, ...] = ()
    nearest: tuple[FoundWords, ...] = ()


def ask(
    question: Annotated[str, typer.Argument(help="What you want to know.")],
    knowledge: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A collection of documents to answer from; may be repeated."),
    ] = None,
    attach: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="A document to answer from, without a collection; may be repeated."),
    ] = None,
    lang: Annotated[str, typer.Option(metavar="LANGUAGE", help="Answer in English (en) or Chinese (zh).")] = "",
    model: ModelFlag = "",
    as_json: JsonFlag = False,
    journal: JournalFlag = "",
) -> int:
    """Answer a question about documents with references that a program has checked, or say that there is no answer."""
    text, names, files = said(question).strip(), [said(each) for each in knowledge or ()], attach or []
    if not text:
        raise UsageError('there is no question: actum ask "How much may a hotel cost?" --knowledge handbook')
    if not names and not files:
        raise UsageError("name the documents: --knowledge NAME (see `actum knowledge list`), or --attach FILE")
    if lang not in LANGUAGES:
        raise UsageError("--lang: give en or zh; this is {language!r:.20}", language=lang)
    parts = [_part(path) for path in files]
    terminal = Terminal()
    settings = choose_model(options.read(model=model, journal=journal), terminal, as_json=as_json)

    async def command() -> AskOutcome:
        async with options.journal(settings) as opened:
            return await answered(settings, opened, text, AskedFrom(tuple(names), lang), files=parts)

    return show(terminal, asyncio.run(command()), lang, as_json=as_json)


def asked_from(started: Started) -> AskedFrom | None:
    """What a run of `ask` answers from; None for another run."""
    return convert(started.door[ASK], AskedFrom) if started.agent == ASK and ASK in started.door else None


def show(terminal: Terminal, outcome: AskOutcome, lang: str = "", *, as_json: bool) -> int:
    """Show what became of a question, in a language; empty for that of the person. The exit code."""
    if as_json:
        terminal.json(outcome)
    else:
        _show(terminal, outcome, LANGUAGES[lang] or language())
    return {"answered": DONE, "paused": PAUSED}.get(outcome.status, FAILED)


def _part(path: Path) -> MediaPart:
    """A file that is asked about.

    Raises:
        UsageError: it is no file, can not be read, or is of a kind that is not read.
    """
    if not kind_of(path.name):
        raise UsageError("{path}: {why}", path=path.name, why=PROBLEMS["unknown_kind"])
    try:
        with open_named(path) as file:
            data = file.read(DOCUMENT_BYTES_MAX + 1)
    except OSError as error:
        raise UsageError("{path} can not be read: {why}", path=path.name, why=error.strerror or str(error)) from None
    return MediaPart(mimetypes.guess_type(path.name)[0] or "application/octet-stream", data, name=path.name)


async def answered(
    settings: Settings,
    journal: Journal,
    question: str,
    asked: AskedFrom,
    run_id: str = "",
    *,
    files: Sequence[MediaPart] = (),
    accept: bool = False,
) -> AskOutcome:
    """Have a question answered.

    Args:
        settings, journal: the model, and where the run is written down.
        question: what is asked.
        asked: what it is answered from.
        run_id: the run to go on with; empty for a new one.
        files: documents that come with the question.
        accept: go on although the model or the tools have changed.

    Raises:
        UnknownName: there is no such collection for the person who asks.
        ModelError: the model gave no answer.
    """
    user, names = CollectionUser("", who()), asked.knowledge
    for name in names:
        await named(journal, user, name)
    run, model = run_id or new_id("run"), make_model(settings)
    find = partial(_found, journal, user, names, question, run)
    agent = Agent(
        VerbatimModel(question, find) if model.name == EMBEDDED else model,
        [Browser(names)],
        instructions=IN_LANGUAGE[asked.lang],
        name=ASK,
        journal=journal,
        limits=settings.limits,
        prices=settings.prices,
        settings=settings.model_settings,
        cite="strict",
    )
    if run_id:
        result = await agent.resume(run_id, accept=accept)
    else:
        door: JsonObject = {ASK: to_builtins(asked)}
        result = await agent.run(question, principal=user.principal, attachments=files, door=door, run_id=run)
    return await _outcome(journal, result, await find())


async def _found(
    journal: Journal, user: CollectionUser, names: Sequence[str], question: str, run_id: str
) -> list[FoundWords]:
    """The passages that come nearest to a question: the best of the attached documents and each collection in turn."""
    attached = await attached_pages(journal, await journal.read(run_id))
    ranked = [_told(ATTACHMENT, await asyncio.to_thread(search_pages, list(attached.values()), question, NEAREST))]
    for name in names:
        with suppress(UsageError):  # no words to look for
            ranked.append(_told(f"{ADDRESS}{name}/", await search(journal, user, name, question, NEAREST)))
    return [each for rank in range(NEAREST) for several in ranked for each in several[rank : rank + 1]][:NEAREST]


def _told(place: str, found: Sequence[PlacedPassage]) -> list[FoundWords]:
    return [FoundWords(each.title, each.heading, f"{place}{each.document}", each.text) for each in found]


async def _outcome(journal: Journal, result: RunResult, found: Sequence[FoundWords]) -> AskOutcome:
    looked = looked_for(result.calls)
    if result.status != "done":
        return AskOutcome(run_id=result.run_id, status=result.status, answer="", looked_for=looked)
    state = RunState(await journal.read(result.run_id))
    references = references_in(state)
    said = state.replies[-1][1].reply.text
    heard = words_of_user(state.beginning().said)
    cited = backed(checked_answer(said, {each.number: each for each in references}, heard))
    told = await checked(journal, result.run_id, [each for each in references if each.number in cited.cited])
    left_out = tuple(LeftOutPassage(text, problem.kind) for text, problem in cited.left_out)
    is_answered = bool(cited.text) and all(each.verified for each in told)
    return AskOutcome(
        run_id=result.run_id,
        status="answered" if is_answered else "abstained",
        answer=cited.text if is_answered else "",
        references=tuple(told) if is_answered else (),
        left_out=left_out,
        looked_for=looked,
        nearest=() if is_answered else tuple(found),
    )


def _show(terminal: Terminal, outcome: AskOutcome, spoken: Language) -> None:
    def say(english: str, **values: object) -> str:
        return in_language(Sentence(english, **values), spoken)

    if outcome.status == "answered":
        terminal.text(visible(outcome.answer))
        if outcome.left_out:
            terminal.text(say("A part of the answer was left out, because no source backs it."))
        for each in outcome.references:
            place = each.place
            where = f"#{place.page}" if place.page else f":{place.lines[0]}-{place.lines[1]}" if place.lines else ""
            terminal.text(f"\n[{each.number}] “{on_one_line(' '.join(each.quote.split()))}”")
            terminal.text(f"    {on_one_line(each.title)}, {on_one_line(each.address)}{where}")
        return
    if outcome.status == "abstained":
        looked = "; ".join(map(on_one_line, outcome.looked_for))
        terminal.text(say("The documents hold no answer that a quote backs. Looked for: {looked}", looked=looked))
        for near in outcome.nearest:
            terminal.text(f"  {on_one_line(near.title)}, {on_one_line(near.address)}")
        return
    terminal.error("{said} (actum runs show {run})", said=Sentence("There is no answer."), run=outcome.run_id)
