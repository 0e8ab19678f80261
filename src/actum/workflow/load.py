"""From the text of a definition to its graph. Tells every problem with its line, its column and a hint.

`check_text` collects the problems, `read_definition` raises them. What depends on the tools and models that a program
has is checked by `Workflow.check`.
"""

from __future__ import annotations

import difflib
import hashlib
import re
from collections.abc import Collection, Iterable, Iterator
from datetime import datetime
from functools import cache
from itertools import chain, islice
from typing import cast

import msgspec
from msgspec import Struct, structs

from ..core.definition import TextProblem
from ..core.errors import UsageError
from ..core.json import Json, JsonObject
from ..core.language.sentence import Sentence
from ..core.model_settings import ModelSettings
from ..core.secret_values import secret_paths
from ..core.stored.definitions import reference
from ..protocols.source_text import BYTES_MAX, YAML_BYTES_MAX, Place, SourceText
from ..schema.schema import compile_schema
from .definition.expression import ROOTS, Expression, ListOf, Named, ObjectOf, compile_value, is_computed
from .definition.graph import Definition, Edge, Graph, GraphNode
from .definition.nodes import ERROR, NODE_TYPES, NodeType, seconds_of
from .definition.plain_keys import plain_keys
from .definition.settings import (
    AnySettings,
    Default,
    EachNode,
    HttpNode,
    HumanNode,
    IfNode,
    ListNode,
    LoopNode,
    MergeNode,
    ModelNode,
    PromptMessage,
    TemplateNode,
    WaitNode,
    WorkflowLimits,
    WorkflowText,
)
from .definition.text import BadWorkflow, read_text
from .definition.tool_names import MODEL, named_by, plain_name
from .request import place_problems
from .template import syntax_problem
from .tools import literal_origin, placeholders

NODES_MAX = 5_000
"""The most nodes of a definition, those in containers counted."""

_NAME = re.compile(r"[A-Za-z_][\w]{0,63}")
_SECRET_HINT = Sentence("keep the value with `actum secrets set`, and write ${secret:NAME} in an http node")
_EDGE = re.compile(r"\s*([A-Za-z_]\w*)(?:\.([\w-]+))?\s*>\s*([A-Za-z_]\w*)\s*")
_HALF = re.compile("[\ud800-\udfff]")
_VIEW_FIELDS = frozenset({"view"})
_NO_VARS = frozenset[str]()


class CheckedText(Struct):
    """A text that was checked.

    Attributes:
        definition: the workflow; None where something is wrong.
        problems: each thing that is wrong, in the order of the text.
        source: the text, to tell places by.
        graph: the nodes that could be read, also where something is wrong; None where the edges make a cycle.
        inputs, env: as in `Definition`, as far as they could be read.
    """

    definition: Definition | None
    problems: tuple[TextProblem, ...]
    source: SourceText
    graph: Graph | None = None
    inputs: JsonObject = {}
    env: JsonObject = {}


def read_definition(text: str | bytes, *, is_kept: bool = False) -> Definition:
    """The workflow that a text defines.

    Args:
        text: the definition.
        is_kept: as `check_text` says.

    Raises:
        BadWorkflow: something is wrong with the text.
    """
    checked = check_text(text, is_kept=is_kept)
    if checked.definition is None:
        raise BadWorkflow(checked.problems)
    return checked.definition


def check_text(text: str | bytes, *, is_kept: bool = False) -> CheckedText:
    """Check a text and collect all that is wrong.

    Args:
        text: the definition.
        is_kept: a run or a publication keeps the definition. What an older version took is not refused then: a node
            whose values have no place fails when it is due.

    Raises:
        BadWorkflow: the text can not be read at all.
    """
    source = read_text(text, yaml_bytes_max=BYTES_MAX if is_kept else YAML_BYTES_MAX)
    halves = [place for place, each in _texts(source.value, ()) if _HALF.search(each)]
    if halves:
        told = Sentence("this is no text: it holds half of a character, \\ud800 to \\udfff")
        raise BadWorkflow([TextProblem(told, *source.at(place)) for place in halves])
    return _Check(source, is_kept=is_kept).checked()


class _Check:
    """Checks one definition."""

    def __init__(self, source: SourceText, *, is_kept: bool) -> None:
        self.source = source
        self.problems = list(source.problems)
        self._is_kept = is_kept
        self._left = NODES_MAX
        self._nearest = _Nearest()
        self._names: set[str] = set()
        self._unread: set[str] = set()
        """Nodes with a mistake: a reference to one of them is no further mistake."""
        self._is_cut = False
        """A node or an edge is missing because of a mistake: what is upstream of what can't be told."""
        self._called: dict[tuple[bool, str], dict[str, Place]] = {}
        """What nodes call: whether it is a workflow, and its name; then each way in which it is written."""
        self._read = CheckedText(None, (), source)

    def checked(self) -> CheckedText:
        definition = self._definition()
        problems = tuple(sorted(dict.fromkeys(self.problems), key=lambda one: (one.line, one.column)))
        self._read.definition, self._read.problems = None if problems else definition, problems
        return self._read

    def say(self, message: Sentence | str, place: Place, hint: Sentence | str = "") -> None:
        """Note a problem."""
        path = ".".join(map(str, place))
        self.problems.append(TextProblem(message, *self.source.at(place), hint, path))

    def _definition(self) -> Definition | None:
        value = self.source.value
        if not isinstance(value, dict):
            self.say(Sentence("a definition is an object"), (), Sentence("begin with the line 'actum: workflow/1'"))
            return None
        fields = _fields_of(WorkflowText)
        self._unknown(value, fields, ())
        for name, each in fields.items():
            if name not in value and each.required:
                self.say(Sentence("the field {name!r} is missing", name=name), (), Sentence("add {name}", name=name))
        found: dict[str, object] = {}
        for name, given in value.items():
            if name not in fields or name in ("nodes", "view"):
                continue
            try:
                found[name] = msgspec.convert(given, fields[name].type)
            except msgspec.ValidationError as error:
                self.say(Sentence("{name}: {detail}", name=name, detail=_plain(error)), (name,))
        inputs, variables, env = (cast(JsonObject, found.get(name, {})) for name in ("inputs", "vars", "env"))
        remembered = cast(JsonObject, found.get("conversation", {}))
        for name in variables.keys() & remembered.keys():
            hint = Sentence("keep the variable in one of the two")
            self.say(Sentence("{name!r} stands in vars and in conversation", name=name), ("conversation", name), hint)
        self._inputs(inputs)
        for place in plain_keys(value):
            self.say(
                Sentence("a key stands here in plain text"), place, Sentence("write ${secret:NAME} in an http node")
            )
        nodes = value.get("nodes")
        self._names = _names_in(nodes)
        roots = frozenset(ROOTS) - {"item", "index"}
        outside = _Outside(roots, frozenset(variables | remembered), inputs, env)
        edges = list(cast("list[str]", found.get("edges", [])))
        graph = self._graph(nodes if isinstance(nodes, dict) else {}, edges, (), outside)
        if "nodes" in value and not isinstance(nodes, dict):
            self.say(Sentence("nodes is an object: each node by its name"), ("nodes",))
        self._read.graph, self._read.inputs, self._read.env = graph, inputs, env
        outputs = self._outputs(cast("dict[str, Json]", found.get("outputs", {})), graph, outside)
        self._two_versions()
        if self.problems or graph is None:
            return None
        text = msgspec.json.encode({name: given for name, given in value.items() if name not in _VIEW_FIELDS})
        return Definition(
            name=cast(str, found["name"]),
            description=cast(str, found.get("description", "")),
            inputs=inputs,
            env=env,
            vars=variables,
            limits=cast(WorkflowLimits, found.get("limits", WorkflowLimits())),
            graph=graph,
            outputs=outputs,
            text=text,
            digest=hashlib.sha256(text).hexdigest(),
            imported=cast(str, found.get("imported", "")),
            conversation=remembered,
        )

    def _inputs(self, inputs: JsonObject) -> None:
        """Whether the schema of the inputs is sound, and asks for no secret."""
        if not inputs:
            return
        try:
            compile_schema(inputs, where="inputs")
        except UsageError as error:
            self.say(error.sentence, ("inputs",))
        for path in secret_paths(inputs):
            self.say(
                Sentence("inputs: {field} is a secret, and inputs stand on record", field=".".join(path)),
                ("inputs",),
                _SECRET_HINT,
            )

    def _unknown(self, value: JsonObject, known: Collection[str], place: Place) -> None:
        for name in value:
            if name not in known:
                self.say(
                    Sentence("there is no field {name!r}", name=name), (*place, name), self._nearest.to(name, known)
                )

    # Graphs -----------------------------------------------------------------------------------------------------------

    def _graph(self, nodes: JsonObject, edges: list[str], place: Place, outside: _Outside) -> Graph | None:
        self._left -= len(nodes)
        if self._left < 0:
            raise BadWorkflow([TextProblem(Sentence("a workflow has at most {nodes_max} nodes", nodes_max=NODES_MAX))])
        read: dict[str, GraphNode] = {}
        notes: set[str] = set()
        for name, given in nodes.items():
            at = (*place, "nodes", name)
            if not _NAME.fullmatch(name) or name in ROOTS or outside.node(name) is not None:
                hint = Sentence(
                    "letters, digits and _, none of the names {names}, and no name twice", names=", ".join(ROOTS)
                )
                self.say(Sentence("a node can not be called {name!r}", name=name), at, hint)
            node = self._node(name, given, at, outside)
            if node is not None and node.type.name != "note":
                read[name] = node
            else:
                notes.add(name)
                self._unread |= {name} if node is None else set()
        told = len(self.problems)
        joined = self._edges(edges, read, notes, (*place, "edges"), nodes)
        self._is_cut = self._is_cut or bool(self._unread) or len(self.problems) > told
        graph = Graph(read, tuple(joined))
        if self._has_cycle(graph, (*place, "edges"), joined):
            return None
        above = _ancestors(graph)
        complete: dict[str, GraphNode] = {}
        for name, node in read.items():
            known = outside.inside(graph, above.get(name, 0))
            complete[name] = self._with_expressions(node, (*place, "nodes", name), known)
        return Graph(complete, graph.edges)

    def _node(self, name: str, given: Json, place: Place, outside: _Outside) -> GraphNode | None:
        """The settings of a node; its expressions are compiled when all nodes are known."""
        if not isinstance(given, dict):
            self.say(Sentence("the node {name} is an object with a type", name=name), place)
            return None
        kind = given.get("type")
        row = NODE_TYPES.get(kind) if isinstance(kind, str) else None
        if row is None:
            told = Sentence("{name} has no type", name=name)
            if kind is not None:
                told = Sentence("{name}: there is no type {kind!r}", name=name, kind=kind)
            self.say(told, (*place, "type"), self._nearest.to(str(kind), NODE_TYPES))
            return None
        settings = self._settings(row, given, place)
        if settings is None:
            return None
        is_inside = outside.container
        if row.name in ("break", "continue") and not is_inside:
            self.say(
                Sentence("{name}: {kind} stands only inside of each or loop", name=name, kind=row.name),
                (*place, "type"),
            )
        ports = row.ports(settings)
        return GraphNode(name, row, settings, {}, (*ports, ERROR) if settings.on_error == "branch" else ports)

    def _settings(self, row: NodeType, given: JsonObject, place: Place) -> AnySettings | None:
        fields = _fields_of(row.settings)
        before = len(self.problems)
        self._unknown(given, {*fields, "type"}, place)
        for name, each in fields.items():
            if name not in given and each.required:
                self.say(
                    Sentence("{node}: the field {name!r} is missing", node=place[-1], name=name),
                    place,
                    Sentence("add {name}", name=name),
                )
        for name, value in given.items():
            if name in fields:
                try:
                    msgspec.convert(value, fields[name].type)
                except msgspec.ValidationError as error:
                    self.say(
                        Sentence("{node}.{name}: {detail}", node=place[-1], name=name, detail=_plain(error)),
                        (*place, name),
                    )
        self._durations_and_schemas(row, given, place)
        if len(self.problems) > before:
            return None
        try:
            settings = cast(AnySettings, msgspec.convert(given, row.settings))
        except (msgspec.ValidationError, RecursionError) as error:
            self.say(Sentence("{node}: {detail}", node=place[-1], detail=_plain(error)), place)
            return None
        for problem, field in _contradictions(row, settings):
            self.say(Sentence("{node}: {error_why}", node=place[-1], error_why=problem), (*place, field))
        return settings

    def _durations_and_schemas(self, row: NodeType, given: JsonObject, place: Place) -> None:
        """Say which durations and which JSON Schemas of a node can not be read."""
        for name in ("for", "expires"):
            if name in given and given[name] is not None and "${" not in str(given[name]):
                try:
                    if not isinstance(given[name], dict):
                        seconds_of(given[name])
                except UsageError as error:
                    self.say(
                        Sentence("{node}.{name}: {error_why}", node=place[-1], name=name, error_why=error),
                        (*place, name),
                    )
        until = given.get("until")
        if row.name == "wait" and isinstance(until, str) and "${" not in until:
            try:
                datetime.fromisoformat(until)
            except ValueError:
                self.say(
                    Sentence(
                        "{node}.until: {until} is no time: write it as in ISO 8601", node=place[-1], until=_short(until)
                    ),
                    (*place, "until"),
                )
        for name in ("outputs", "output_schema", "schema", "form"):
            schema = given.get(name)
            if isinstance(schema, dict) and name not in row.settings.TEMPLATES:
                try:
                    compile_schema(schema, where=f"{place[-1]}.{name}")
                except UsageError as error:
                    self.say(error.sentence, (*place, name))

    def _edges(
        self, edges: list[str], nodes: dict[str, GraphNode], notes: set[str], place: Place, given: JsonObject
    ) -> Iterable[Edge]:
        found: dict[Edge, None] = {}
        ports = {name: dict.fromkeys(node.ports) for name, node in nodes.items()}
        main = {name: [port for port in of if port not in (ERROR, "denied", "expired")] for name, of in ports.items()}
        for index, text in enumerate(edges):
            at = (*place, index)
            read = _EDGE.fullmatch(text)
            if read is None:
                self.say(
                    Sentence("{edge} is no edge", edge=_short(text)),
                    at,
                    Sentence("write node > node, or node.port > node"),
                )
                continue
            source, port, target = read[1], read[2] or "", read[3]
            ends = [name for name in (source, target) if name not in given]
            for name in ends:
                self.say(
                    Sentence("the edge {edge}: there is no node {name!r} here", edge=_short(text), name=name),
                    at,
                    self._no_end(name, given),
                )
            if ends or source in notes or target in notes:
                continue
            if not port:
                if len(main[source]) != 1:
                    self._say_ports(text, source, target, ports[source], at)
                    continue
                port = main[source][0]
            if port not in ports[source]:
                hint = Sentence("on_error: branch") if port == ERROR else self._nearest.to(port, ports[source])
                self.say(
                    Sentence(
                        "the edge {edge}: {source} has no port {port!r}", edge=_short(text), source=source, port=port
                    ),
                    at,
                    hint,
                )
                continue
            found[Edge(source, port, target)] = None
        return tuple(found)

    def _say_ports(self, edge: str, source: str, target: str, ports: Collection[str], place: Place) -> None:
        """Say that an edge has to name one of several ports, or that its node has none."""
        if ports:
            told = Sentence(
                "the edge {edge}: {source} has the ports {names}", edge=_short(edge), source=source, names=listed(ports)
            )
            self.say(told, place, Sentence("write {source}.PORT > {target}", source=source, target=target))
            return
        told = Sentence("the edge {edge}: {source} has no port", edge=_short(edge), source=source)
        self.say(told, place, Sentence("nothing comes behind such a node"))

    def _no_end(self, name: str, given: Collection[str]) -> Sentence | str:
        """What the writer of an edge may have meant, where the edge ends nowhere."""
        border = Sentence("an edge joins nodes of the same list of nodes, and crosses no border")
        return border if name in self._names else self._nearest.to(name, given) or border

    def _has_cycle(self, graph: Graph, place: Place, edges: Iterable[Edge]) -> bool:
        if len(graph.ranks) == len(graph.nodes):
            return False
        stuck = [name for name in graph.nodes if name not in graph.ranks]
        inside = set(stuck)
        before = {edge.target: edge.source for edge in edges if edge.source in inside}
        path, name = [], stuck[0]
        while name not in path:
            path.append(name)
            name = before[name]
        cycle = [*path[path.index(name) :], name][::-1]
        self.say(
            Sentence("the edges make a cycle: {line}", line=" > ".join(cycle)),
            place,
            Sentence("use a loop node to do something again"),
        )
        return True

    # Expressions ------------------------------------------------------------------------------------------------------

    def _with_expressions(self, node: GraphNode, place: Place, known: _Outside) -> GraphNode:
        settings, expressions = node.settings, dict[str, Expression]()
        body: Graph | None = None
        inner: _Outside | None = None
        if isinstance(settings, EachNode | LoopNode):
            inner = known.within(settings)
            body = self._graph(settings.nodes, settings.edges, place, inner)
        names = {each.name: each.encode_name for each in _fields_of(type(settings)).values()}
        for field in settings.TEMPLATES:
            value = getattr(settings, field)
            scope = known
            if field == "output" and inner is not None:
                scope = inner.inside(body, -1) if body is not None else inner
            compiled = self._compile(value, (*place, names[field]), scope, secrets=node.type.name == "http")
            if compiled is not None:
                expressions[names[field]] = compiled
        for field, source, where in _conditions(settings):
            scope = known.with_item() if isinstance(settings, ListNode) else inner or known
            if inner is not None and body is not None:
                scope = inner.inside(body, -1)
            compiled = self._compile({"cel": source}, (*place, *where), scope)
            if compiled is not None:
                expressions[field] = compiled
        if isinstance(settings, MergeNode):
            expressions |= self._groups(settings, place, known)
        self._safe(node, place)
        if isinstance(settings, HttpNode) and not self._is_kept:
            for steps, message in place_problems(expressions):
                told = Sentence("{node}.{field}: {detail}", node=node.name, field=".".join(steps), detail=message)
                self.say(told, (*place, *steps), Sentence("write ${...|raw} for a value that is encoded already"))
        self._assigned(node, place, known)
        return structs.replace(node, expressions=expressions, body=body)

    def _groups(self, settings: MergeNode, place: Place, known: _Outside) -> dict[str, Expression]:
        found: dict[str, Expression] = {}
        for group, values in settings.groups.items():
            for index, value in enumerate(values):
                compiled = self._compile(value, (*place, "groups", group, index), known)
                if compiled is not None:
                    found[f"{group}[{index}]"] = compiled
        return found

    def _safe(self, node: GraphNode, place: Place) -> None:
        """Whether a node says nothing that it may not."""
        settings = node.settings
        if isinstance(settings, HttpNode):
            names_secret = placeholders([settings.query, settings.headers, settings.body])
            if names_secret and not literal_origin(settings.url):
                hint = Sentence("write the host of the url in the definition")
                self.say(
                    Sentence("{node}: a secret is not sent to a host that a value decides", node=node.name),
                    (*place, "url"),
                    hint,
                )
        named = named_by(settings)
        if named is not None and named[0] != MODEL:
            self._names_called(node, named, (*place, named[0]))
        if isinstance(settings, HumanNode):
            for path in secret_paths(settings.form or {}):
                told = Sentence(
                    "{node}: {field} is a secret, and answers stand on record", node=node.name, field=".".join(path)
                )
                self.say(told, (*place, "form"), _SECRET_HINT)
        if isinstance(settings, TemplateNode) and (problem := syntax_problem(settings.template)):
            self.say(Sentence("{node}: {error_why}", node=node.name, error_why=problem), (*place, "template"))
        if isinstance(settings.on_error, Default):
            self._compile_nothing(settings.on_error.default, (*place, "on_error"))

    def _names_called(self, node: GraphNode, named: tuple[str, str], place: Place) -> None:
        """Note which workflow, tool or agent a node names, and whether `name@3` is written rightly."""
        field, written = named
        self._called.setdefault((field == "workflow", plain_name(written)), {})[written] = place
        if "@" in written:
            try:
                reference(written)
            except UsageError as error:
                self.say(Sentence("{node}: {error_why}", node=node.name, error_why=error), place)

    def _two_versions(self) -> None:
        """A workflow uses one version of a workflow, tool or agent, so that policies know it by its name."""
        for (_, name), versions in self._called.items():
            for written in list(versions)[1:]:
                first = next(iter(versions))
                told = Sentence(
                    "{written}: {first} is used already, and two versions of {name} can not be told apart",
                    written=written,
                    first=first,
                    name=name,
                )
                self.say(told, versions[written], Sentence("write {first} here, too", first=first))

    def _assigned(self, node: GraphNode, place: Place, known: _Outside) -> None:
        """Whether the variables that a `set` node changes are there."""
        if node.type.name != "set":
            return
        for field in ("set", "append", "extend", "add", "clear", "remove"):
            names = getattr(node.settings, field)
            for name in names if isinstance(names, dict | tuple) else ():
                if name not in known.vars:
                    hint = self._nearest.to(name, known.vars) or Sentence("declare the variable under vars")
                    self.say(
                        Sentence("{node}: there is no variable {name!r}", node=node.name, name=name),
                        (*place, field),
                        hint,
                    )

    def _compile_nothing(self, value: Json, place: Place) -> None:
        if "${" in str(value):
            self.say(Sentence("a default is a value, and holds no expression"), place)

    def _compile(self, value: Json, place: Place, known: _Outside, *, secrets: bool = False) -> Expression | None:
        try:
            compiled = compile_value(value, secrets=secrets)
        except UsageError:
            self._say_each(value, place, secrets=secrets)
            return None
        except RecursionError:
            self.say(Sentence("this value is too deep"), place)
            return None
        for at, name in _named_in(compiled, place):
            problem = known.problem_of(name)
            follows = name.root in self._unread or (self._is_cut and known.is_later(name.root))
            if problem and not follows:
                self.say(problem, at, known.hint_of(name, self._nearest))
        return compiled

    def _say_each(self, value: Json, place: Place, *, secrets: bool) -> None:
        """Say which expressions inside a value are none."""
        if isinstance(value, list) or (isinstance(value, dict) and not is_computed(value)):
            for step, item in value.items() if isinstance(value, dict) else enumerate(value):
                self._say_each(item, (*place, step), secrets=secrets)
            return
        try:
            compile_value(value, secrets=secrets)
        except UsageError as error:
            self.say(error.sentence, place)

    def _outputs(self, outputs: dict[str, Json], graph: Graph | None, outside: _Outside) -> dict[str, Expression]:
        known = outside.inside(graph, -1) if graph is not None else outside
        compiled: dict[str, Expression] = {}
        for name, value in outputs.items():
            expression = self._compile(value, ("outputs", name), known) if graph is not None else None
            if expression is not None:
                compiled[name] = expression
        return compiled


class _Level(Struct, frozen=True):
    """The nodes of one list that an expression may speak of.

    Attributes:
        graph: all nodes of the list.
        above: the nodes upstream, as a set of bits by their ranks; -1 for all.
    """

    graph: Graph
    above: int


class _Outside(Struct, frozen=True):
    """What expressions at one place of a definition may speak of.

    Attributes:
        roots: the roots that are not nodes.
        vars: the names of the variables.
        inputs: the schema of the inputs.
        env: the constants.
        levels: the nodes, those around a container first.
        container: the place is inside of a container.
    """

    roots: frozenset[str]
    vars: frozenset[str]
    inputs: JsonObject
    env: JsonObject
    levels: tuple[_Level, ...] = ()
    container: bool = False

    def inside(self, graph: Graph, above: int) -> _Outside:
        """What a node of a graph may speak of.

        Args:
            above: the nodes upstream, as a set of bits by their ranks; -1 for all.
        """
        return structs.replace(self, levels=(*self.levels, _Level(graph, above)))

    def within(self, settings: EachNode | LoopNode) -> _Outside:
        """What the nodes inside of a container may speak of."""
        if isinstance(settings, EachNode):
            return structs.replace(self, roots=self.roots | {"item", "index"}, container=True)
        names = settings.vars.keys() if isinstance(settings.vars, dict) else _NO_VARS
        return structs.replace(self, roots=self.roots | {"index"}, vars=self.vars | names, container=True)

    def with_item(self) -> _Outside:
        """The same, for the conditions of a `list` node."""
        return structs.replace(self, roots=self.roots | {"item", "index"})

    def node(self, name: str) -> GraphNode | None:
        """The node upstream that has a name; None where there is none."""
        for level in reversed(self.levels):
            node = level.graph.nodes.get(name)
            if node is not None:
                return node if level.above >> level.graph.ranks.get(name, 0) & 1 else None
        return None

    def is_later(self, name: str) -> bool:
        """Whether a node of this name is there, and not upstream."""
        return any(name in level.graph.nodes for level in self.levels) and self.node(name) is None

    def problem_of(self, name: Named) -> Sentence | None:
        """What is wrong with what an expression names; None where nothing is."""
        node = self.node(name.root)
        if node is None and self.is_later(name.root):
            return Sentence("{shown}: the node {node} is not upstream", shown=name.shown, node=name.root)
        first = name.steps[0] if name.steps else None
        if name.root in self.roots:
            known: Collection[str] | None = None
            if name.root == "vars":
                known = self.vars
            elif name.root == "env":
                known = self.env
            elif name.root == "inputs" and isinstance(properties := self.inputs.get("properties"), dict):
                known = properties
            if known is not None and isinstance(first, str) and first not in known:
                told = Sentence(
                    "{shown}: there is no {name} in {root}", shown=name.shown, name=_short(first), root=name.root
                )
                return told
            return None
        if node is None:
            return Sentence("{shown}: there is no node {name}", shown=name.shown, name=_short(name.root))
        gives: Collection[str] = node.type.gives
        if isinstance(node.settings, MergeNode):
            gives = node.settings.groups
        is_given = first in gives or first == ERROR or isinstance(node.settings.on_error, Default)
        if isinstance(first, str) and not is_given:
            if not gives:
                return Sentence("{shown}: the node {node} gives nothing", shown=name.shown, node=name.root)
            given = listed(gives)
            return Sentence("{shown}: the node {node} gives {names}", shown=name.shown, node=name.root, names=given)
        return None

    def hint_of(self, name: Named, nearest: _Nearest) -> Sentence | str:
        """What the writer may have meant."""
        node = self.node(name.root)
        if node is None and self.is_later(name.root):
            return Sentence("add an edge that leads from {node} here", node=name.root)
        first = name.steps[0] if name.steps and isinstance(name.steps[0], str) else ""
        if name.root == "vars":
            return nearest.to(first, self.vars)
        if name.root == "env":
            return nearest.to(first, self.env)
        if name.root == "inputs" and isinstance(properties := self.inputs.get("properties"), dict):
            return nearest.to(first, properties)
        if node is not None:
            return nearest.to(first, node.type.gives)
        return nearest.to(name.root, chain(self.roots, *(level.graph.nodes for level in self.levels)))


def _conditions(settings: AnySettings) -> Iterator[tuple[str, str, Place]]:
    for field in settings.CONDITIONS:
        source = getattr(settings, field)
        if source is not None:
            yield field, source, (field,)
    if isinstance(settings, IfNode):
        for index, case in enumerate(settings.cases):
            yield f"cases[{index}]", case.when, ("cases", index, "when")
    if isinstance(settings, ListNode) and settings.sort is not None:
        yield "sort", settings.sort.by, ("sort", "by")


def _ancestors(graph: Graph) -> dict[str, int]:
    """For each node the nodes upstream of it, as a set of bits by their ranks."""
    above: dict[str, int] = dict.fromkeys(graph.nodes, 0)
    for name, rank in graph.ranks.items():
        for edge in graph.behind[name]:
            above[edge.target] |= above[name] | 1 << rank
    return above


class _Nearest:
    """Finds the name that somebody may have meant.

    Names are compared with at most `COMPARED_MAX` others in one text: a text with thousands of wrong names gets no more
    hints in the end, and does not keep the process busy.
    """

    COMPARED_MAX = 50_000

    def __init__(self) -> None:
        self._left = self.COMPARED_MAX

    def to(self, name: str, known: Iterable[str]) -> Sentence | str:
        """A hint; empty where no name is near.

        Args:
            name: what is written.
            known: the names that there are.
        """
        names = list(islice(known, self._left))
        self._left -= len(names)
        if not self._left or len(name) > SHOWN_MAX:
            return ""
        near = difflib.get_close_matches(name, names, n=1, cutoff=0.6) or (names if len(names) == 1 else [])
        return Sentence("do you mean {name!r}?", name=near[0]) if near else ""


def _contradictions(row: NodeType, settings: AnySettings) -> Iterator[tuple[Sentence, str]]:
    """What is wrong with the fields of a node together: the problem, and the field."""
    if isinstance(settings, ModelNode) and isinstance(settings.messages, list):
        for each in settings.messages:
            if not isinstance(each, str) or "${" not in each:
                try:
                    msgspec.convert(each, PromptMessage)
                except msgspec.ValidationError as error:
                    yield Sentence("messages: {detail}", detail=_plain(error)), "messages"
    if isinstance(settings, WaitNode):
        given = [settings.for_, settings.until, settings.event]
        if sum(each is not None for each in given) != 1:
            yield Sentence("a node waits for one of for, until and event"), "type"
    if isinstance(settings, HumanNode) and settings.choices and settings.form is not None:
        yield Sentence("a person chooses, or fills in a form: leave choices or form out"), "form"
    if isinstance(settings, ModelNode):
        try:
            msgspec.convert(settings.settings, ModelSettings)
        except (msgspec.ValidationError, UsageError) as error:
            yield Sentence("settings: {detail}", detail=_plain(error)), "settings"
    ports = row.ports(settings)
    names = {"human": "choices", "classify": "classes", "if": "cases"}
    if row.name in names:
        own = [each.port for each in settings.cases] if isinstance(settings, IfNode) else list(ports)
        taken = {"else"} if isinstance(settings, IfNode) else {each for each in own if own.count(each) > 1}
        taken |= {ERROR} if settings.on_error == "branch" else set()
        for name in dict.fromkeys(each for each in own if each in taken):
            yield Sentence("the port {name!r} stands for something else already", name=name), names[row.name]


def _named_in(compiled: Expression, place: Place) -> Iterator[tuple[Place, Named]]:
    """What an expression names, each with its place."""
    if isinstance(compiled, ObjectOf):
        for step, field in compiled.fields.items():
            yield from _named_in(field, (*place, step))
    elif isinstance(compiled, ListOf):
        for index, item in enumerate(compiled.items):
            yield from _named_in(item, (*place, index))
    else:
        for name in compiled.named():
            yield place, name


def _texts(value: Json, place: Place) -> Iterator[tuple[Place, str]]:
    """Each text in a value, and each name, with its place."""
    if isinstance(value, str):
        yield place, value
    elif isinstance(value, dict):
        for name, item in value.items():
            yield (*place, name), name
            yield from _texts(item, (*place, name))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _texts(item, (*place, index))


def _names_in(nodes: Json) -> set[str]:
    """The names of all nodes, those in containers with them."""
    found: set[str] = set()
    lists = [nodes]
    for each in lists:
        if isinstance(each, dict):
            found |= each.keys()
            lists += [node["nodes"] for node in each.values() if isinstance(node, dict) and "nodes" in node]
    return found


@cache
def _fields_of(settings: type[Struct]) -> dict[str, structs.FieldInfo]:
    return {each.encode_name: each for each in structs.fields(settings)}


SHOWN_MAX = 100
"""The most characters of the source that a problem shows."""


def _short(text: str) -> str:
    return repr(text) if len(text) <= SHOWN_MAX else repr(text[:SHOWN_MAX]) + "..."


def listed(names: Iterable[str]) -> str:
    """Names in a line, the first of them where they are many."""
    first = list(islice(names, 11))
    return ", ".join(first[:10]) + (" and more" if len(first) > 10 else "")


def _plain(error: Exception) -> Sentence | str:
    """What msgspec says, with the place in our words."""
    said, _, place = str(error).partition(" - at `$")
    place = place.removesuffix("`").removeprefix(".")
    return Sentence("{detail}, at {place}", detail=said, place=place) if place else said
