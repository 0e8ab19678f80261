"""Makes tools of declarations: a request for `http`, code in a jail for `python` and `shell`, a function for `module`.

The other places are things of a server that a name stands for. A declaration without a place is a bare definition.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import cast
from urllib.parse import urlencode

from msgspec import Struct, structs

from ...core.call import ToolCall, ToolResult
from ...core.definition import BadText, TextProblem, UnderstatedEffects
from ...core.errors import PermissionDenied, UnknownTool, UsageError
from ...core.interfaces import Context, Journal, Toolset
from ...core.json import Json, JsonObject
from ...core.policy import Facts
from ...core.tool import Effects, Tool
from ...protocols.openapi.endpoint import EndpointTemplate, setup_of
from ...protocols.openapi.setup import ApiSetup
from ...sandbox.jail import Jail
from ...transport.egress import Egress
from ...transport.fetcher import Fetcher
from ..code_main import run_main
from ..function.function import FunctionTool, FunctionToolset
from ..http.toolset import ApiToolset
from ..jailed_command import patience_s, placed_attachments
from ..wrappers import Wrapper
from .declaration import CodePlace, HttpPlace, ToolDeclaration, declaration_of


def given_declaration(given: Mapping[str, object], *, compiles: bool = True) -> Toolset | Tool:
    """What a program means by a dictionary in `tools=`.

    Args:
        given: the declaration; `module` may be the function itself.
        compiles: as for `declaration_of`.

    Raises:
        BadText: something is wrong with the declaration.
        UsageError: its place is one that a program gives in another way.
    """
    nested = given.get("function")
    for fields in (given, nested if isinstance(nested, Mapping) else {}):
        function = fields.get("module")
        if callable(function):
            named = {**fields, "module": "program:function"}
            written = named if fields is given else {**given, "function": named}
            declared = declaration_of(cast("Mapping[str, Json]", written), compiles=compiles)
            return declared_tool(declared, function=function)
    declared = declaration_of(cast("Mapping[str, Json]", given), compiles=compiles)
    if declared.place in _INSTEAD:
        told = f"a program gives no {declared.place} by its name"
        raise BadText([TextProblem(told, hint=_INSTEAD[declared.place], path=declared.place)])
    return declared_tool(declared)


_INSTEAD = {
    "mcp": "give the McpToolset",
    "a2a": "give the A2AToolset",
    "workflow": "give the workflow",
    "agent": "give the agent",
    "module": "give the function",
}


def declared_tool(
    declaration: ToolDeclaration,
    *,
    function: Callable[..., object] | None = None,
    jail: Jail | None = None,
    egress: Egress | None = None,
    fetcher: Fetcher | None = None,
    elsewhere: Elsewhere | None = None,
) -> Toolset | Tool:
    """The tool of a declaration, or its definition where the declaration names no place.

    Args:
        declaration: as it was read.
        function: what `module` names.
        jail: the operator's, for code.
        egress: the operator's rules for outgoing calls.
        fetcher: sends the requests of `http`; by default one that reaches the declared origin.
        elsewhere: what the name of another place stands for.

    Raises:
        BadText: the place can not be used as it is declared, or it does more than the declaration says.
        UsageError: the place is a name that only a server knows.
    """
    if declaration.http is not None:
        inside, does = _of_http(declaration, declaration.http, egress, fetcher)
    elif declaration.python is not None or declaration.shell is not None:
        code = DeclaredCode(declaration, jail or Jail(), egress)
        inside, does = code, code.does
    elif function is not None:
        made = function if isinstance(function, FunctionTool) else FunctionTool(function, name=declaration.name)
        inside, does = FunctionToolset([made]), made.definition.effects
    elif elsewhere is not None:
        return _Declared(elsewhere.toolset, declaration, elsewhere.does, must_know=True)
    elif declaration.place:
        raise UsageError("a tool of the place {place} belongs to a server", place=declaration.place)
    else:
        if declaration.users or declaration.roles:
            field = "users" if declaration.users else "roles"
            told = f"{field} hold for a tool that runs at a place, and this declaration names none"
            raise BadText([TextProblem(told, hint="name a place, or write a policy", path=field)])
        return _tool(declaration, None)
    return _Declared(inside, declaration, does)


def effects_of(declaration: ToolDeclaration) -> frozenset[Effects] | None:
    """What a declared tool does: as the declaration says, else as its place does by itself. None where only the server
    knows, since the place is a name.

    Raises:
        BadText: the place can not be used as it is declared.
    """
    if declaration.effects is not None:
        return declaration.effects
    if declaration.http is not None:
        return _setup_of(declaration, declaration.http).api.operations[0].tool.effects
    code = declaration.python or declaration.shell
    return None if code is None else _effects_of_code(code)


class Elsewhere(Struct, frozen=True):
    """What a name of a server stands for, such as a workflow or an agent.

    Attributes:
        toolset: its one tool, under the name of the declaration.
        does: its effects; None where they are not known.
    """

    toolset: Toolset
    does: frozenset[Effects] | None


def _tool(declaration: ToolDeclaration, does: frozenset[Effects] | None, *, must_know: bool = False) -> Tool:
    """The definition of a tool.

    Args:
        declaration: the declaration.
        does: the effects of the place; None where they are not known.
        must_know: effects can be declared only where those of the place are known.

    Raises:
        UnderstatedEffects: the place does more than the declaration says.
    """
    effects = does if declaration.effects is None else declaration.effects
    if must_know and does is None and effects is not None:
        told = f"nobody knows what the place {declaration.place} does"
        raise UnderstatedEffects([TextProblem(told, hint="leave effects out", path="effects")])
    missing = sorted((does or frozenset()) - (effects or frozenset()) - {"read"})
    if missing:
        told = f"the place {declaration.place} has the effect {missing[0]}, and the declaration does not say so"
        raise UnderstatedEffects([TextProblem(told, hint=f"write {missing[0]} into effects", path="effects")])
    return Tool(
        name=declaration.name,
        description=declaration.description,
        parameters=declaration.parameters,
        strict=declaration.strict,
        effects=effects,
        sinks=declaration.sinks,
        approval=declaration.approval,
        idempotent=declaration.idempotent,
        timeout_s=declaration.timeout,
    )


class _Declared(Wrapper):
    """The one tool of a toolset, with the definition that the declaration gives it, for those who may call it."""

    def __init__(
        self,
        toolset: Toolset,
        declaration: ToolDeclaration,
        does: frozenset[Effects] | None,
        *,
        must_know: bool = False,
    ) -> None:
        self._declaration = declaration
        self._tool = _tool(declaration, does, must_know=must_know)
        super().__init__(toolset)

    def shown(self, tool: Tool) -> Tool:
        own = self._tool
        return structs.replace(
            own,
            description=own.description or tool.description,
            parameters=own.parameters if own.property_schemas() else tool.parameters,
            sinks=tool.sinks if own.sinks is None else own.sinks,
            approval=own.approval or tool.approval,
            idempotent=own.idempotent or tool.idempotent,
            timeout_s=tool.timeout_s if own.timeout_s is None else own.timeout_s,
            jailed=tool.jailed,
            version=tool.version,
            outside=tool.is_outside or None,
        )

    async def hidden_from(self, journal: Journal, facts: Facts) -> frozenset[str]:
        """The tool, for those who may not call it; see `ReservedTools`."""
        if not self._declaration.is_for(facts.principal, facts.roles):
            return frozenset({self._tool.name})
        return await super().hidden_from(journal, facts)

    async def execute(self, call: ToolCall, context: Context) -> ToolResult:
        """Make the call, for those who may.

        Raises:
            PermissionDenied: the declaration names users or roles, and the caller is none of these.
        """
        if not self._declaration.is_for(context.principal, context.roles):
            raise PermissionDenied("The tool {call!r} is for other users.", call=call.name)
        return await super().execute(call, context)


class DeclaredCode:
    """Code in a jail as one tool.

    Args:
        declaration: with `python` or `shell`.
        jail: the operator's. The code reaches those of its hosts that the declaration names.
        egress: the operator's rules for outgoing calls.

    Attributes:
        does: its effects.

    Raises:
        BadText: the declaration names a host that the jail does not allow.
    """

    generation = 0

    def __init__(self, declaration: ToolDeclaration, jail: Jail, egress: Egress | None) -> None:
        code = declaration.python or declaration.shell
        assert code is not None
        for host in code.hosts:
            if host not in jail.hosts:
                told = f"{host[:100]!r} is not one of the hosts that [sandbox] allows"
                raise BadText([TextProblem(told, path=f"{declaration.place}.hosts")])
        self._code = code
        self._language = declaration.place
        self._jail = structs.replace(jail, hosts=code.hosts)
        self._egress = egress
        self.does = _effects_of_code(code)
        self._tool = Tool(
            name=declaration.name,
            parameters=declaration.parameters,
            effects=self.does,
            idempotent=self._jail.changes_nothing_outside,
            timeout_s=patience_s(self._jail),
            jailed=True,
            version=hashlib.sha256(code.source.encode("utf-8", "replace")).hexdigest(),
            outside=bool(code.hosts) or None,
        )

    async def list_tools(self) -> Sequence[Tool]:
        """The one tool."""
        return (self._tool,)

    async def execute(self, call: ToolCall, context: Context) -> ToolResult:
        """Run the code.

        Raises:
            UnknownTool: the call is for another tool.
            CallError: as `run_main`.
        """
        if call.name != self._tool.name:
            raise UnknownTool("There is no tool {call!r}.", call=call.name)
        files, arguments = placed_attachments(self._code.files, call.arguments, context.attachments)
        jail = self._jail.lowered(context.process_limits)
        value = await run_main(self._language, self._code.source, arguments, jail, files=files, egress=self._egress)
        return ToolResult(call.id, structured=value)


def _effects_of_code(code: CodePlace) -> frozenset[Effects]:
    return frozenset({"execute", "send"} if code.hosts else {"execute"})


def _of_http(
    declaration: ToolDeclaration, place: HttpPlace, egress: Egress | None, fetcher: Fetcher | None
) -> tuple[Toolset, frozenset[Effects] | None]:
    """One request as a toolset, and what it does."""
    setup = _setup_of(declaration, place)
    operation = setup.api.operations[0]
    _check_placed(declaration, operation.tool)
    tool = structs.replace(operation.tool, parameters=declaration.parameters)
    api = structs.replace(setup.api, operations=(structs.replace(operation, tool=tool),))
    approved = structs.replace(setup, api=api).approving()
    return ApiToolset(approved, egress=egress, fetcher=fetcher), tool.effects


def _setup_of(declaration: ToolDeclaration, place: HttpPlace) -> ApiSetup:
    """One request as an API with one operation.

    Raises:
        BadText: it can not be one.
    """
    query = urlencode(place.query, safe="{}")
    endpoint = EndpointTemplate(
        name=declaration.name,
        method=place.method,
        url=place.url + (("&" if "?" in place.url else "?") + query if query else ""),
        description=declaration.description,
        headers=place.headers,
        body=place.body,
        secrets=place.secret,
        idempotency_header=place.idempotency_header,
        pick=place.pick,
    )
    try:
        return setup_of(endpoint)
    except UsageError as error:
        raise BadText([TextProblem(error.sentence, path="http")]) from None


def _check_placed(declaration: ToolDeclaration, written: Tool) -> None:
    """See that each parameter goes somewhere, and that each place has its parameter.

    Raises:
        BadText: one does not.
    """
    properties: JsonObject = dict(declaration.parameters.get("properties") or {})  # type: ignore[arg-type]  # checked
    placed = set(written.property_schemas())
    problems = [
        TextProblem(f"{{{name}}} is none of the parameters", hint=f"declare {name}", path="http")
        for name in sorted(placed - set(properties))
    ] + [
        TextProblem(f"the parameter {name[:60]!r} goes nowhere", hint=f"write {{{name[:60]}}}", path="http")
        for name in sorted(set(properties) - placed)
    ]
    if problems:
        raise BadText(problems)
