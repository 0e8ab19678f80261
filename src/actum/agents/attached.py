"""Documents that come with a question to an agent that cites or browses: they are read, and not sent to a model's API.

A short document is told to the model as a message that is not the user's. A longer one is told by its beginning where
the agent has the search of a browser, which finds the rest.
"""

from __future__ import annotations

from msgspec import Struct, structs

from ..core.call import MediaPart, TextPart
from ..core.interfaces import Journal
from ..core.message import UserMessage
from ..core.run.record import AttachedDocument
from ..core.tool import innermost
from ..journal.recording import RunState
from ..knowledge.browsing.showing import without_marks
from ..knowledge.citing.attached import unpacked
from ..knowledge.document_kinds import kind_of
from ..runs.runner import Runner
from ..runs.wording import Phrases

SHORT_CHARS = 8_000
"""A document up to this length is told whole."""
WHOLE_CHARS = 400_000
"""So much of a document is told to an agent that can not search it."""


class Attachments(Struct, frozen=True):
    """The documents that came with a question.

    Attributes:
        told: what the model is told of them before the question.
        record: these, and those of earlier turns.
    """

    told: tuple[UserMessage, ...] = ()
    record: tuple[AttachedDocument, ...] = ()


async def read_attached(
    asked: UserMessage, runner: Runner, journal: Journal, earlier_run: str
) -> tuple[UserMessage, Attachments]:
    """Have the documents of a question read, where the agent reads documents.

    Args:
        asked: the question with its attachments.
        runner: of the agent.
        journal: has the earlier turns.
        earlier_run: the run before this one in the conversation; empty for none.

    Returns:
        The question without the documents, and the documents.

    Raises:
        UsageError: a document can not be read.
    """
    inside = [inner for each in runner.toolsets for inner in innermost(each)]
    if not any(hasattr(each, "reads_attachments") for each in inside):
        return asked, Attachments()
    before = await _before(journal, earlier_run)
    files = [each for each in asked.content if isinstance(each, MediaPart) and not each.url and kind_of(each.name)]
    if not files:
        return asked, Attachments((), before)
    from ..knowledge.attaching import read_attachments  # noqa: PLC0415  # loads a jail and an HTTP client

    found = await read_attachments(files, [each.name for each in before])
    search, wording = await _search_name(runner), Phrases.for_text(asked.text)
    told = tuple(UserMessage((TextPart(_told(each, search, wording)),), "tool") for each in found)
    rest = tuple(each for each in asked.content if each not in files)
    return structs.replace(asked, content=rest), Attachments(told, (*before, *found))


async def _before(journal: Journal, run_id: str) -> tuple[AttachedDocument, ...]:
    """The documents of earlier turns, each with the run whose record has it."""
    entries = await journal.read(run_id) if run_id else []
    if not entries or not entries[0].payload:
        return ()
    attached = RunState(entries[:1]).beginning().attached
    return tuple(structs.replace(each, page=b"", run=each.run or run_id) for each in attached)


async def _search_name(runner: Runner) -> str:
    """What the model knows the search of a browser as: an operator may have renamed the tool. Empty for none."""
    tools = (await runner.catalog()).tools
    return next((each.name for each in tools if each.source_kind == "search" and not each.knowledge), "")


def _told(document: AttachedDocument, search: str, wording: Phrases) -> str:
    text, most = unpacked(document.page, document.digest).text, SHORT_CHARS if search else WHOLE_CHARS
    told, name = without_marks(text[:most]), f"attachment:{document.name}"
    return wording.attached(name, told) if len(text) <= most else wording.attached_part(name, told, search)
