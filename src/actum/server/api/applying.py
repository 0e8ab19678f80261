"""`POST /v1/definitions`: several definitions are checked and published together, or none.

    {"definitions": [{"file": "desk.prompt.md", "text": "Be kind."}, {"file": "helper.agent.yaml", "text": "..."}]}

Each text is checked as if the others were published already, so that they may refer to each other. What is in use
already with the same text is left alone.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from typing import Annotated, Literal, NamedTuple

from msgspec import Meta, Struct, structs

from ...core.call import Problem
from ...core.definition import BadText, NameTaken, ReadDefinition, TextProblem
from ...core.errors import UsageError
from ...core.language.sentence import Sentence
from ...core.stored.definitions import (
    DefinitionDeed,
    Publication,
    StaleDraft,
    checked_name,
    is_unpublished,
    text_digest,
)
from ...features.definition import DefinitionKind
from ...features.operation import AnswerKind, ApiReply, ApiRequest, Operation
from ...features.refusal import Refusal
from ...runs.staged import StagedDefinitions, staged_in
from ...toolsets.declared.declaration import read_declaration
from ..scopes import allows, wants
from .api import Api
from .definitions.operations import named_text, permit_of, publisher_of
from .definitions.refusing import refusing, told_remarks
from .published import AGENTS, POLICIES, PROMPTS, SERVERS
from .tools.kind import TOOLS
from .workflows.kind import WORKFLOWS

KINDS = (POLICIES, PROMPTS, WORKFLOWS, SERVERS, TOOLS, AGENTS)
"""The kinds of actum itself. Each may refer to those before it, and workflows to all but policies."""
DEFINITIONS_MAX = 1_000

_HEADER = re.compile(r"""(?m)^[\s{]*["']?actum["']?\s*[:=]\s*["']?([a-z_]+)/""")
_HEAD_CHARS = 2_000


class GivenDefinition(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A definition that is to be published with others.

    Attributes:
        text: the whole definition.
        file: the name of its file, such as `helper.agent.yaml`. It tells the kind where the text does not begin with
            `actum: agent/1`, and the name where the text has none.
    """

    text: Annotated[str, Meta(max_length=1_000_000)]
    file: Annotated[str, Meta(max_length=1_000)]


class ApplyBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Definitions that are to be published together.

    Attributes:
        definitions: the definitions.
        dry_run: only tell what would be done.
        prune: take everything else out of use, of the kinds that the caller may publish.
    """

    definitions: Annotated[tuple[GivenDefinition, ...], Meta(max_length=DEFINITIONS_MAX)]
    dry_run: bool = False
    prune: bool = False


class AppliedDefinition(Struct, frozen=True, kw_only=True):
    """What was done with a definition, or would be.

    Attributes:
        kind, name: the definition.
        done: `added` where nothing was in use, `changed`, `same`, or `removed`.
        number: the number of the publication; 0 for one that would be made.
        remarks: what the publisher should know, though nothing is wrong, such as a host whose name is not known now.
    """

    kind: str
    name: str
    done: Literal["added", "changed", "same", "removed"]
    number: int
    remarks: tuple[str, ...]


class DefinitionsApplied(Struct, frozen=True, kw_only=True):
    """What was done with each definition.

    Attributes:
        items: the definitions that were given, then those that were taken out of use.
    """

    items: tuple[AppliedDefinition, ...]


class _Wrong(NamedTuple):
    """What is wrong with the text of a file."""

    file: str
    what: TextProblem | Sentence


class _Item(NamedTuple):
    """A definition that was given, or one to be taken out of use: then `text` is None."""

    kind: DefinitionKind
    name: str
    text: str | None = None
    file: str = ""


def kinds_of(api: Api) -> tuple[DefinitionKind, ...]:
    """The kinds of definitions of a server, those of features too."""
    return (*KINDS, *(kind for on in api.features.on for kind in on.feature.definitions))


def kind_of(file: str, text: str, kinds: Sequence[DefinitionKind]) -> DefinitionKind | None:
    """The kind of a definition, by its first line or the name of its file; None where neither tells.

    >>> kind_of("a.json", '{"actum": "tool/1"}', KINDS).name, kind_of("desk.prompt.md", "Hi.", KINDS).name
    ('tool', 'prompt')
    >>> kind_of("notes.md", "Hi.", KINDS)
    """
    header = _HEADER.search(text[:_HEAD_CHARS])
    names = [header[1]] if header else file.rpartition("/")[2].split(".")[-2:-1]
    return next((kind for kind in kinds if kind.name in names), None)


def name_of(file: str, kind: str) -> str:
    """The name that a file gives to a definition whose text has none.

    >>> name_of("north/shop.desk.prompt.md", "prompt"), name_of("desk.md", "prompt")
    ('shop.desk', 'desk')
    """
    parts = file.rpartition("/")[2].split(".")
    return ".".join(parts[:-2]) if parts[-2:-1] == [kind] else parts[0]


async def apply(api: Api, asked: ApiRequest[None, ApplyBody]) -> ApiReply:
    """Check and publish several definitions together, or none."""
    who, body = asked.who, asked.body
    items = _items(asked, kinds_of(api))
    given = {(item.kind.name, item.name) for item in items}
    if body.prune:
        items += [item async for item in _others(api, asked, given)]
    in_use = {
        (kind.name, line.name): line
        for kind in dict.fromkeys(item.kind for item in items)
        for line in await api.journal.definitions.in_use(kind.name, tenant=who.tenant)
    }
    read = await _checked(api, asked, items)
    deeds: dict[_Item, DefinitionDeed] = {}
    told: dict[_Item, AppliedDefinition] = {}
    for item in items:
        key = item.kind.name, item.name
        line = in_use.get(key)
        done: Literal["added", "changed", "same", "removed"] = "changed" if line is not None else "added"
        if item.text is None:
            done = "removed"
        elif line is not None and line.digest == text_digest(item.text.encode()):
            is_other = read[item].pins and read[item].about != line.about
            done = "changed" if is_other else "same"
        number = line.number if line is not None and done in ("same", "removed") else 0
        found = read.get(item, ReadDefinition())
        told[item] = AppliedDefinition(
            kind=key[0], name=key[1], done=done, number=number, remarks=told_remarks(found.remarks, asked.language)
        )
        if done != "same":
            with refusing(asked):
                revision = await _revision(api, who.tenant, item)
            deeds[item] = DefinitionDeed(
                kind=key[0],
                name=key[1],
                text=item.text,
                revision=revision,
                about=found.about,
                source=item.file,
                pins=found.pins,
            )
    if deeds and not body.dry_run:
        with refusing(asked):
            made = await api.journal.definitions.apply(tuple(deeds.values()), tenant=who.tenant, by=who.principal)
        for item, publication in zip(deeds, made, strict=True):
            await _tell(api, asked, item, publication)
            told[item] = structs.replace(told[item], number=publication.number)
    return ApiReply(DefinitionsApplied(items=tuple(told.values())))


def _items(asked: ApiRequest[None, ApplyBody], kinds: Sequence[DefinitionKind]) -> list[_Item]:
    """The definitions that were given, each with its kind and its name.

    Raises:
        Refusal: one has none, two have the same, or the caller may not publish one of its kind.
    """
    found: dict[tuple[str, str], _Item] = {}
    problems: list[_Wrong] = []
    for given in asked.body.definitions:
        kind = kind_of(given.file, given.text, kinds)
        if kind is None:
            known = ", ".join(f"NAME.{each.name}.yaml" for each in kinds)
            told = Sentence("neither the text nor the name of the file tells the kind: write {known}", known=known)
            problems.append(_Wrong(given.file, told))
            continue
        if not allows(asked.who, kind.builders):
            raise wants(kind.builders[0], "to publish this")
        try:
            name, text = named_text(kind, given.text, name_of(given.file, kind.name))
            checked_name(name)
        except UsageError as error:
            problems += _told(given.file, error)
            continue
        if not kind.may_see(asked.who, name):
            problems.append(_Wrong(given.file, Sentence("this key may not publish {name!r}", name=name)))
        elif (kind.name, name) in found:
            told = Sentence("{file} defines {name!r} too", file=found[kind.name, name].file, name=name)
            problems.append(_Wrong(given.file, told))
        else:
            found[kind.name, name] = _Item(kind, name, text, given.file)
    _refuse(problems)
    return list(found.values())


async def _others(api: Api, asked: ApiRequest[None, ApplyBody], given: set[tuple[str, str]]) -> AsyncIterator[_Item]:
    """What is in use and was not given, as far as the caller may take it out of use."""
    for kind in kinds_of(api):
        if allows(asked.who, kind.builders):
            for line in await api.journal.definitions.in_use(kind.name, tenant=asked.who.tenant):
                if (kind.name, line.name) not in given and kind.may_see(asked.who, line.name):
                    yield _Item(kind, line.name)


async def _checked(api: Api, asked: ApiRequest[None, ApplyBody], items: Sequence[_Item]) -> dict[_Item, ReadDefinition]:
    """What is in the texts, each checked as if the others were published.

    Raises:
        Refusal: something is wrong with one of them; all problems are told.
    """
    who, wrong, found = asked.who, dict[_Item, list[_Wrong]](), dict[_Item, ReadDefinition]()
    staged = {(item.kind.name, item.name): item.text for item in items}
    definitions = StagedDefinitions(api.journal.definitions, staged, tenant=who.tenant)
    server, permit = api.staged(staged_in(api.journal, definitions)), permit_of(asked)

    async def check(item: _Item) -> None:
        assert item.text is not None
        try:
            publisher = await publisher_of(item.kind, server, who, item.name)
            publisher.check_name(item.name)
            means = await item.kind.means(server, who, item.name) if item.kind.means is not None else ""
            if means:
                raise NameTaken(item.name, means, item.kind.name)
            found[item] = await publisher.check(item.name, item.text)
        except (BadText, NameTaken) as error:
            wrong[item] = _told(item.file, error)
        else:
            definitions.tell(item.kind.name, item.name, found[item].about)

    for kind in sorted(kinds_of(api), key=lambda each: each is WORKFLOWS):  # last: a node calls tools and agents
        own = [item for item in items if item.kind is kind and item.text is not None]
        alone = [item for item in own if _is_alone(item)]
        await _side_by_side(check, alone)
        for item in own:
            if item not in found and item not in wrong:
                await check(item)
            if permit is not None and item in found:
                permit(found[item])
    _refuse([problem for item in items for problem in wrong.get(item, ())])
    return found


def _is_alone(item: _Item) -> bool:
    """Whether nothing of the same kind takes part in the check of a definition: a tool that does not stand for a
    workflow or an agent, which may have other tools. The host of each may have to be looked up, which takes long.
    """
    if item.kind is not TOOLS or item.text is None:
        return False
    try:
        return read_declaration(item.text).place not in ("workflow", "agent")
    except BadText:
        return True


async def _side_by_side(check: Callable[[_Item], Coroutine[None, None, None]], items: Sequence[_Item]) -> None:
    """Check definitions, all at the same time: each may wait some seconds for the name of a host."""
    try:
        async with asyncio.TaskGroup() as group:
            for item in items:
                group.create_task(check(item))
    except BaseExceptionGroup as failed:
        raise failed.exceptions[0] from None


async def _revision(api: Api, tenant: str, item: _Item) -> int:
    """The revision of the draft that the text takes the place of.

    Raises:
        StaleDraft: the draft has changes that nobody has published.
    """
    if item.text is None:
        return 0
    kept = api.journal.definitions
    draft = await kept.draft(item.kind.name, item.name, tenant=tenant)
    if draft is None:
        return 0
    if draft.text != item.text and await is_unpublished(kept, draft, tenant=tenant):
        raise StaleDraft(draft, 0, item.text)
    return draft.revision


async def _tell(api: Api, asked: ApiRequest[None, ApplyBody], item: _Item, made: Publication) -> None:
    publisher = await publisher_of(item.kind, api, asked.who, item.name)
    verb = "unpublish" if item.text is None else "publish"
    await publisher.tell(verb, made, asked.who.principal, asked.who.key_id)


def _told(file: str, error: UsageError) -> list[_Wrong]:
    wrong = error.problems if isinstance(error, BadText) else (TextProblem(error.sentence),)
    return [_Wrong(file, each) for each in wrong]


def _refuse(wrong: Sequence[_Wrong]) -> None:
    if wrong:
        file, why = wrong[0]
        problems = tuple(Problem(each.file, "definition", str(each.what)) for each in wrong)
        told = [each.what.sentence if isinstance(each.what, TextProblem) else each.what for each in wrong]
        words = "Nothing was published. {file}: {why}."
        raise Refusal(422, "definition", words, problems=problems, told=told, file=file, why=why)


_APPLIED = {"kind": "prompt", "name": "desk", "done": "added", "number": 1, "remarks": []}
OPERATIONS: tuple[Operation, ...] = (
    Operation(
        id="applyDefinitions",
        method="post",
        path="/v1/definitions",
        tag="definitions",
        summary="Check and publish several definitions together, or none.",
        description=(
            "Each text is checked as if the others were published already. With one mistake nothing is published: 422, "
            "with the problems of all files. What is in use with the same text is left alone. 409 with the code "
            "`stale`: a draft has changes that nobody has published."
        ),
        scopes=("build",),
        body=ApplyBody,
        example={"definitions": [{"file": "desk.prompt.md", "text": "Be kind."}]},
        replies={
            200: AnswerKind(means="What was done.", body=DefinitionsApplied, example={"items": [_APPLIED]}),
        },
        errors=(409,),
        handler=apply,
        is_recorded=True,
    ),
)
