"""Opens published workflows (`core.stored.definitions`), and publishes them.

A node `{type: workflow, workflow: price}` stands for what is published under `price` when the run begins, and
`price@3` for publication 3. Which publications a run uses is on record in its first entry, down to the workflows that
are used by workflows, so that a run which goes on after a `publish` or a `rollback` still uses those with which it
began.

A workflow never uses itself, neither directly nor by way of other workflows, tools and agents, in whatever version.

A node that calls a tool or an agent which the tenant has published means what is in use when the run begins, likewise.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Protocol

from ..core.definition import BadText, ReadDefinition, TextProblem
from ..core.errors import DamagedDefinition, UsageError
from ..core.interfaces import Journal, Toolset
from ..core.json import Json
from ..core.language.sentence import Sentence
from ..core.model import Model
from ..core.process.worker_thread import off_loop
from ..core.run.record import Started
from ..core.stored.definitions import (
    TRIED,
    Definitions,
    Publication,
    PublicationInUse,
    no_publication,
    reference,
    text_digest,
)
from ..core.tool import Tool
from ..journal.kept_uses import TOOLS_INLINE_MAX
from ..models.catalog import is_place
from ..runs.definitions import Publisher
from ..runs.given_tools import Toolish
from .definition.graph import Definition, nodes_in
from .definition.settings import AnySettings, HttpNode
from .definition.text import BadWorkflow
from .definition.tool_names import called_names, model_names, plain_name, workflow_names
from .listing import ListedWorkflow, WorkflowCard, card_of, listed, read_card, written_card
from .load import check_text, read_definition
from .node_facts import CheckFindings, findings_of
from .node_models import NodeModels
from .tool_check import WrongName
from .tools import placeholders
from .workflow import Workflow

_KIND = "workflow"
_TOOL = "tool/"
_PUBLISHED: Mapping[str, int] = {}
OPENED_MAX, OPENED_BYTES_MAX = 200, 4_000_000
"""The most publications of other workflows that a workflow may use, and the most bytes of their texts. Publications
that those use are counted, too. To open them takes time."""
DEFINITIONS_MAX = 500
"""The most definitions that are kept parsed."""
WORKFLOWS_MAX = 50
"""The most workflows that are kept open."""


class MakeWorkflow(Protocol):
    """Makes a workflow of a definition, with the tools, the models and the rules of the program."""

    def __call__(
        self, definition: Definition, used: Sequence[Toolish], version: int, uses: Mapping[str, int]
    ) -> Workflow:
        """Make a workflow.

        Args:
            definition: the graph.
            used: the published workflows and tools that its nodes use; they belong into `tools`.
            version, uses: as for `Workflow`.
        """


class PublishedCalls(Protocol):
    """What a tenant has beside workflows, for the nodes of its workflows: published tools and agents, and models."""

    async def publications_made(self) -> int:
        """How often something of it was published, or taken out of use."""

    async def listed(self) -> Sequence[Tool]:
        """The definitions of those in use."""

    async def open(self, name: str, began_with: Mapping[str, int] | None) -> tuple[Toolset, Mapping[str, int]] | None:
        """One of them, with the publications that it stands for, as in `Started.uses`; None where there is none.

        Args:
            name: what it is called; `times@2` for a version.
            began_with: the publications of a run that is to go on; None for those in use.

        Raises:
            UsageError: it can not be used now.
        """

    async def model_names(self) -> Sequence[str]:
        """The names of the models that the tenant has connected."""

    async def model(self, name: str) -> Model | None:
        """The model that the tenant has connected under a name; None where there is none.

        Raises:
            UsageError: the model can not be asked now.
        """


CallsOfTenants = Callable[[str], PublishedCalls]
"""What a tenant has published, for the nodes of its workflows."""


class PublishedWorkflows:
    """Opens the published workflows of a tenant, each with the workflows that its nodes use.

    Args:
        journal: keeps the texts, and the runs. What is published is put on record here.
        make: makes a workflow of a definition.
        given: the names of the tools that the program gives. A node that names one of them means the tool.
        tenant: whose definitions are meant.
        tools: the definitions of these tools, from which the effects of the workflows follow in lists; their names need
            not stand in `given` again.
        means: says what else a name means where the workflows are served, such as `an agent`; empty for nothing. Under
            such a name nothing can be published.
        calls: the published tools and agents that nodes may call; None for none. It can be set later.
        models: the models that nodes may name, for checks; None where a check does not look at the names of models.

    Attributes:
        latest: what `listed` gave when it could last be read; None before.

    Raises:
        UsageError: the journal keeps no definitions.
    """

    def __init__(
        self,
        journal: Journal,
        make: MakeWorkflow,
        *,
        given: Collection[str] = (),
        tenant: str = "",
        tools: Sequence[Tool] = (),
        means: Callable[[str], str] | None = None,
        calls: PublishedCalls | None = None,
        models: NodeModels | None = None,
    ) -> None:
        self._journal = journal
        self.calls = calls
        self._models = models
        self._store = journal.definitions
        self._definitions: dict[str, Definition] = {}
        self._make = make
        self._given = frozenset(given) | {tool.name for tool in tools}
        self._tenant = tenant
        self._tools = tuple(tools)
        self._means = means or (lambda _: "")
        self.latest: Mapping[str, ListedWorkflow] | None = None
        self._made = -1
        self._listed: dict[str, ListedWorkflow] | None = None
        self._known: dict[str, ListedWorkflow] = {}
        self._opened: dict[tuple[str, int | None], Workflow] = {}
        self._with_used: dict[str, Workflow] = {}

    @property
    def tenant(self) -> str:
        """Whose workflows these are."""
        return self._tenant

    async def listed(self) -> Mapping[str, ListedWorkflow]:
        """The workflows in use, in the order of their names: the same object as long as nothing is published.

        No text is read, and nothing is opened. A publication that this version of the program can not read is left out.
        """
        await self._look()
        if self._listed is None:
            made = self._made
            in_use = await self._store.in_use(_KIND, tenant=self._tenant)
            found = [(each, card) for each in in_use if (card := await self._card(each)) is not None]
            self.latest = self._known = listed(found, await self._callable(), self._known)
            if made != self._made:
                return self._known  # something was published in the meantime
            self._listed = self._known
        return self._listed

    async def publications_made(self) -> int:
        """How often something was published here."""
        return await self._store.publications_made(_KIND, tenant=self._tenant)

    async def _callable(self) -> Sequence[Tool]:
        """The definitions of the tools that nodes may call: those of the program first."""
        if self.calls is None:
            return self._tools
        return [*self._tools, *(tool for tool in await self.calls.listed() if tool.name not in self._given)]

    async def _look(self) -> None:
        """Forget what was known of the publications in use where something was published since."""
        made = await self._store.publications_made(_KIND, tenant=self._tenant)
        made += await self.calls.publications_made() if self.calls is not None else 0
        if made != self._made:
            self._made, self._listed = made, None
            self._opened.clear()
            self._with_used.clear()

    async def _card(self, line: PublicationInUse) -> WorkflowCard | None:
        """The card of a publication. A publication of an earlier version of the program has none: its text is read."""
        known = self._known.get(line.name)
        if known is not None and known.publication == line:
            return known.card
        card = read_card(line.about)
        if card is not None:
            return card
        try:
            publication = await self._store.published(_KIND, line.name, line.number, tenant=self._tenant)
            return card_of(await self._definition_in(publication)) if publication is not None else None
        except (BadWorkflow, DamagedDefinition):
            return None

    async def open(
        self, name: str, number: int | None = None, *, began_with: Mapping[str, int] | None = None
    ) -> Workflow:
        """A published workflow. The same workflow is given again as long as nothing is published.

        Args:
            name: what it is called.
            number: which publication; None for the one in use.
            began_with: the publications that `workflow` nodes stand for, of a run that is to go on; None for those in
                use.

        Raises:
            UnknownName: there is no such publication, or a node names a publication that there is not.
            BadWorkflow: the text of a publication can not be used by this version of the program.
            UsageError: a workflow uses itself, or too many others.
        """
        await self._look()
        known = self._opened.get((name, number)) if began_with is None else None
        if known is not None:
            return known
        made = self._made
        publication = await self._store.published(_KIND, name, number, tenant=self._tenant)
        if publication is None:
            raise no_publication(_KIND, name, number)
        if number is not None and began_with is None:
            await self._check_in_use(name)
        opened = await self._opening(began_with).made(await self._definition_in(publication), publication.number)
        if began_with is None and made == self._made:
            while len(self._opened) >= WORKFLOWS_MAX:
                del self._opened[next(iter(self._opened))]
            self._opened[name, number] = opened
        return opened

    async def with_version(self, name: str, uses: Mapping[str, int]) -> Workflow:
        """The workflow with which a call of its tool began, as the run of the call has it on record.

        Args:
            name: what the workflow is called.
            uses: as in `Started`: the number of the workflow, and of those that it uses.

        Raises:
            UnknownName: there is no such publication.
            BadWorkflow, UsageError: as for `open`.
        """
        return await self.open(name, uses[name], began_with=uses)

    async def with_used(self, definition: Definition) -> Workflow:
        """A workflow that is not published itself, with the publications that its nodes name; raises as `open`. The
        same workflow is given again as long as nothing is published.
        """
        await self._look()
        if definition.digest not in self._with_used:
            made = self._made
            opened = await self._opening().made(definition, 0)
            if made != self._made:
                return opened
            while len(self._with_used) >= WORKFLOWS_MAX:
                del self._with_used[next(iter(self._with_used))]
            self._with_used[definition.digest] = opened
        return self._with_used[definition.digest]

    async def tried(self, definition: Definition, text: int) -> Workflow:
        """The workflow of a draft, for a try. Runs of it go on with the definition with which they began.

        Args:
            definition: what is in the draft, or one node of it.
            text: the `number_of_text` of the draft.

        Raises:
            BadWorkflow, UnknownName, UsageError: as for `open`.
        """
        return await self._opening().made(definition, 0, tried={f"{TRIED}{_KIND}/{definition.name}": text})

    async def of_run(self, run_id: str, *, tenant: str | None = None) -> Workflow:
        """The workflow of a run that began earlier, to go on with the run: with the definition and the publications
        with which the run began.

        Args:
            run_id: the run.
            tenant: whose run it is; None for the tenant whose workflows these are.

        Raises:
            UsageError: the run is none of a workflow.
        """
        whose = self._tenant if tenant is None else tenant
        entries = (await self._journal.read(run_id, tenant=whose))[:1]
        started = entries[0].record if entries else None
        if not isinstance(started, Started) or not started.workflow:
            raise UsageError("run {run!r} is none of a workflow", run=run_id)
        definition = await self._parsed(started.workflow, await self._journal.kept(started.workflow))
        tried = {name: number for name, number in started.uses.items() if name.startswith(TRIED)}
        return await self._opening(started.uses).made(definition, started.version, tried=tried)

    async def problems_of(self, text: str | bytes, tools: Sequence[Tool]) -> Sequence[TextProblem]:
        """What is wrong with a text, with the tools and the publications that are here.

        Args:
            text: the text of a definition.
            tools: the tools of the program.
        """
        return (await self.findings(text, tools)).problems

    async def findings(self, text: str | bytes, tools: Sequence[Tool]) -> CheckFindings:
        """The same, with what is known of each node.

        Args:
            text: the text of a definition.
            tools: the tools of the program.
        """
        try:
            checked = await off_loop(len(text), check_text, text)
            if checked.definition is None:
                return await off_loop(len(text), findings_of, checked, tools)
            opening, wrong = self._opening(), dict[tuple[str, str], WrongName]()
            used, _ = await opening.used_by(checked.definition, ())
        except BadWorkflow as bad:
            return CheckFindings(bad.problems)
        except UsageError as error:
            return CheckFindings([TextProblem(error.sentence)])
        called, _ = await opening.called_by(checked.definition, (), {tool.name for tool in tools}, wrong)
        if self._models is not None and checked.graph is not None:
            connected = await self.calls.model_names() if self.calls is not None else ()
            wrong |= self._models.wrong_in(checked.graph, connected)
        published = [tool for each in used for tool in await each.as_tool().list_tools()]
        pinned = {plain_name(each) for each in called_names(checked.definition) if "@" in each}
        versions = [tool for each in called for tool in await each.list_tools() if tool.name in pinned]
        return await off_loop(len(text), findings_of, checked, [*tools, *published, *versions], wrong)

    def publisher(self, tools: Sequence[Tool] = ()) -> Publisher:
        """The same workflows as texts: what checks, publishes, rolls back and unpublishes them.

        Args:
            tools: the tools of the program, which the nodes of a text may call.
        """

        async def check(name: str, text: str) -> ReadDefinition:
            problems = await self.problems_of(text, tools)
            if problems:
                raise BadWorkflow(problems)
            definition = await self._parsed(text_digest(text.encode()), text)
            if definition.name != name:
                raise BadWorkflow([_other_name(definition.name, name)])
            nodes = nodes_in(definition.graph)
            return ReadDefinition(
                name=definition.name,
                about=written_card(definition),
                names_secret=any(placeholders(_sent(node.settings)) for node in nodes),
                names_place=any(map(is_place, model_names(definition.graph))),
                is_code=any(node.type.name == "code" for node in nodes),
            )

        return Publisher(
            self._journal,
            _KIND,
            "workflows",
            check,
            tenant=self._tenant,
            means=self._meaning,
        )

    def _meaning(self, name: str) -> str:
        return self._means(name) or ("a tool" if name in self._given else "")

    async def _check_in_use(self, name: str) -> None:
        """Raises:
        UnknownName: the workflow was taken out of use: no publication of it begins a run.
        """
        if await self._store.published(_KIND, name, tenant=self._tenant) is None:
            raise no_publication(_KIND, name)

    def _opening(self, began_with: Mapping[str, int] | None = None) -> _Opening:
        return _Opening(self._definition_in, self._store, self._make, self._given, self._tenant, began_with, self.calls)

    async def _definition_in(self, publication: Publication) -> Definition:
        """The definition in a publication.

        Raises:
            BadWorkflow: the text can not be used, or has another name.
        """
        definition = await self._parsed(publication.digest, publication.text)
        if definition.name != publication.name:
            raise BadWorkflow([_other_name(definition.name, publication.name)])
        return definition

    async def _parsed(self, digest: str, text: str | bytes) -> Definition:
        """The definition in a text; a text is parsed once."""
        if digest not in self._definitions:
            parsed = await off_loop(len(text), read_definition, text, is_kept=True)
            while len(self._definitions) >= DEFINITIONS_MAX:
                del self._definitions[next(iter(self._definitions))]
            self._definitions[digest] = parsed
            return parsed
        return self._definitions[digest]


class _Opening:
    """Opens one workflow, and each publication that it uses once."""

    def __init__(
        self,
        definition_in: Callable[[Publication], Awaitable[Definition]],
        store: Definitions,
        make: MakeWorkflow,
        given: frozenset[str],
        tenant: str,
        began_with: Mapping[str, int] | None,
        calls: PublishedCalls | None,
    ) -> None:
        self._calls = calls
        self._definition_in = definition_in
        self._store = store
        self._make = make
        self._given = given
        self._tenant = tenant
        self._began_with = began_with
        self._opened: dict[tuple[str, int], Workflow] = {}
        self._numbers: dict[str, int] = {}
        self._bytes = 0

    async def made(
        self,
        definition: Definition,
        version: int,
        above: tuple[str, ...] = (),
        tried: Mapping[str, int] = _PUBLISHED,
    ) -> Workflow:
        """The workflow, with all workflows that it uses.

        Args:
            definition: the graph.
            version: the number of its publication; 0 where it is not published.
            above: the names of the workflows that use this workflow, the outermost first.
            tried: of the draft of a workflow, what `Started.uses` says of the draft.
        """
        used, uses = await self.used_by(definition, above)
        called, theirs = await self.called_by(definition, above)
        uses = {**tried, **uses, **theirs}
        if sum(name.startswith(_TOOL) for name in uses) > TOOLS_INLINE_MAX:
            raise UsageError(
                "{name} uses more than {most} published tools", name=definition.name, most=TOOLS_INLINE_MAX
            )
        return self._make(definition, [*used, *called], version, uses)

    async def called_by(
        self,
        definition: Definition,
        above: tuple[str, ...],
        among: Collection[str] | None = None,
        wrong: dict[tuple[str, str], WrongName] | None = None,
    ) -> tuple[list[Toolset], dict[str, int]]:
        """The published tools and agents that the nodes of a definition call, and all publications that these use.

        Args:
            definition: the graph.
            above: as for `made`.
            among: the names that are looked at; None for all.
            wrong: is told which of them can not be used, and why; None where that raises an error.

        Raises:
            UsageError: one of them can not be used now, or leads back to the workflow.
        """
        line = (*above, definition.name)
        found: list[Toolset] = []
        uses: dict[str, int] = {}
        workflows = {plain_name(each) for each in workflow_names(definition)}
        # Versions last: they are seen not to be other ones than those that the rest uses.
        for written in sorted(called_names(definition), key=lambda each: "@" in each):
            name = plain_name(written)
            if name in workflows or (among is not None and name not in among):
                continue
            try:
                opened = await self._open_called(written, line)
                if opened is None:
                    continue  # a mistake that `check` tells, or what was taken out of use: its call says so
                toolset, theirs = opened
                other = next((each for each, number in theirs.items() if uses.get(each, number) != number), "")
                if other and "@" in written:
                    raise UsageError("{name} needs another version of {other} than the rest", name=written, other=other)
            except UsageError as error:
                if wrong is None:
                    raise
                wrong |= {(field, written): WrongName(error.sentence) for field in ("tool", "agent")}
                continue
            found.append(toolset)
            uses |= theirs
        return found, dict(sorted(uses.items()))

    async def _open_called(self, written: str, line: tuple[str, ...]) -> tuple[Toolset, Mapping[str, int]] | None:
        """A published tool or agent; None where the name means no such.

        Raises:
            UsageError: it can not be used now, or leads back to the workflow.
        """
        name = plain_name(written)
        if name in self._given and written != name:
            raise UsageError("the tools of the settings have no versions: write tool: {name}", name=name)
        if name in self._given or self._calls is None:
            return None
        try:
            opened = await self._calls.open(written, self._began_with)
        except BadText as bad:
            why = bad.problems[0].message
            raise UsageError("{name!r} can not be called now: {why}", name=written, why=why) from None
        again = next((each for each in map(plain_name, opened[1]) if each in line), None) if opened else None
        if again is not None:
            raise _uses_itself((*line, written, again))
        return opened

    async def used_by(self, definition: Definition, above: tuple[str, ...]) -> tuple[list[Workflow], dict[str, int]]:
        """The published workflows that the nodes of a definition name, and the numbers of all that are used."""
        line = (*above, definition.name)
        used: list[Workflow] = []
        uses: dict[str, int] = {}
        for written in workflow_names(definition):
            name, number = reference(written) if "@" in written else (written, None)
            if number is None and not await self._is_published(name):
                continue  # a tool of the program, or a mistake that `check` tells
            if name in line:
                raise _uses_itself((*line, name))
            child = await self._child(name, number, line)
            again = next((each for each in map(plain_name, child.uses) if each in line), None)
            if again is not None:
                raise _uses_itself((*line, name, again))
            used.append(child)
            uses |= {written: child.version, **child.uses}
        return used, dict(sorted(uses.items()))

    async def _is_published(self, name: str) -> bool:
        """Whether a name without a number stands for a publication, and not for a tool of the program."""
        if self._began_with is not None:
            return name in self._began_with
        if name in self._given:
            return False
        if name not in self._numbers:
            publication = await self._published(name, None)
            self._numbers[name] = publication.number if publication is not None else 0
        return self._numbers[name] > 0

    async def _child(self, name: str, number: int | None, line: tuple[str, ...]) -> Workflow:
        if number is None:  # the same number for each node that names it in this run
            number = self._began_with[name] if self._began_with is not None else self._numbers[name]
        if (name, number) not in self._opened:
            publication = await self._published(name, number)
            if publication is None:
                raise no_publication(_KIND, name, number)
            self._bytes += len(publication.text.encode())
            if len(self._opened) >= OPENED_MAX or self._bytes > OPENED_BYTES_MAX:
                most = f"{OPENED_MAX} publications of other workflows, or {OPENED_BYTES_MAX} bytes"
                raise UsageError("{line} uses more than {most}", line=line[0], most=most)
            self._opened[name, number] = await self.made(await self._definition_in(publication), number, line)
        return self._opened[name, number]

    async def _published(self, name: str, number: int | None) -> Publication | None:
        try:
            return await self._store.published(_KIND, name, number, tenant=self._tenant)
        except UsageError:  # a tool of the program may have a name that no definition can have
            return None


def _sent(settings: AnySettings) -> list[Json]:
    """Where a node may name secrets: what an `http` node sends."""
    if not isinstance(settings, HttpNode):
        return []
    return [settings.url, settings.query, settings.headers, settings.body]


def _uses_itself(line: Sequence[str]) -> UsageError:
    return UsageError("a workflow can not use itself: {line}", line=" > ".join(line))


def _other_name(written: str, name: str) -> TextProblem:
    told = Sentence("the definition is called {written!r}, and not {name!r}", written=written, name=name)
    return TextProblem(told, hint=Sentence("write name: {name}", name=name), path="name")
