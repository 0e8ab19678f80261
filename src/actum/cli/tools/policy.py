"""`actum policy`: why a call would be allowed, asked about or denied, and what is wrong with a policy."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from ...call.plan import PolicyInputs, fit
from ...call.resolve import Catalog
from ...compose.agents import list_tools, open_policy
from ...compose.journals import journal_path
from ...compose.settings import MEMORY, Settings
from ...compose.tools import load_tools
from ...core.call import TextPart, ToolCall, ToolResult
from ...core.errors import InvalidArguments, UsageError
from ...core.json import Json, JsonObject
from ...core.message import ToolMessage, UserMessage
from ...core.policy import Decision, Defence, Facts
from ...policy.defence import judge
from ...policy.file import PolicyFile, lint
from ...policy.mandate import Mandate
from ...policy.origins import OriginIndex
from ...policy.published import PublishedPolicy, policy_named
from ...policy.rules import Look, Rules
from ...server.api.published import POLICIES, POLICY_OPERATIONS
from .. import options
from ..conversation.call import find_tool, read_arguments
from ..definitions.commands import TenantNameFlag, add_definition_commands
from ..exit_codes import DONE, FAILED, PAUSED
from ..language import tr
from ..options import JournalFlag, JsonFlag, PolicyFlag, ToolsFlag
from ..show.terminal import (
    Terminal,
    said,
    styled,
    who,
)
from ..show.trace import call_line

app = typer.Typer(help="Try a policy on a call, check it, and publish policies.", no_args_is_help=True)

READ = "foreign tool"
"""Stands for the tool that returned what `--read` says. No tool has this name."""
ENDS_WITH = {"allow": DONE, "ask": PAUSED, "deny": FAILED}
STYLE = {"allow": "bold green", "ask": "bold magenta", "deny": "bold red"}


@app.command("test")
def explain(
    name: Annotated[str, typer.Argument(help="The tool; see `actum tools list`.")],
    pairs: Annotated[list[str] | None, typer.Argument(metavar="[KEY=VALUE]...", help="Its arguments.")] = None,
    args: Annotated[str, typer.Option("--args", metavar="JSON", help="All arguments as one JSON object.")] = "",
    user: Annotated[str, typer.Option(metavar="NAME", help="On whose behalf. Default: you.")] = "",
    asked: Annotated[
        list[str] | None, typer.Option("--said", metavar="TEXT", help="What the user said, for trusted(). Repeatable.")
    ] = None,
    read: Annotated[
        list[str] | None,
        typer.Option(
            "--read", metavar="TEXT", help="What a foreign tool has returned by then: JSON, or a text. Repeatable."
        ),
    ] = None,
    mandate: Annotated[
        str, typer.Option("--mandate", metavar="JSON", help="What the user asked for, for the defence after --read.")
    ] = "",
    role: Annotated[list[str] | None, typer.Option(metavar="ROLE", help="A role of the user; may be repeated.")] = None,
    agent: Annotated[str, typer.Option(metavar="NAME", help="The agent that makes the call.")] = "agent",
    key: Annotated[str, typer.Option(metavar="ID", help="The id of the API key that was used.")] = "",
    tools: ToolsFlag = None,
    policy: PolicyFlag = "",
    tenant: TenantNameFlag = "",
    journal: JournalFlag = "",
    as_json: JsonFlag = False,
) -> int:
    """Say what the policy says of a call, and why. Nothing is called.

    Ends with 0 when it is allowed, 1 when it is denied, 3 when a person is asked.
    For instance: actum policy test --policy policy.toml transfer amount=500 --user ada
    """
    terminal, settings = Terminal(), options.read(tools=tools, policy=policy, journal=journal)
    opened = asyncio.run(_opened(settings, said(tenant)))
    listed = asyncio.run(list_tools(load_tools(settings, Path.cwd()), settings.tool_labels))
    arguments = read_arguments(find_tool(listed, name), [said(pair) for pair in pairs or []], said(args))
    bound = asyncio.run(Catalog.of([], listed)).resolve(name)
    try:
        call, _ = fit(ToolCall("call_1", name, arguments), bound, PolicyInputs(policy=opened))
    except InvalidArguments as error:
        raise UsageError(str(error)) from None
    told = [UserMessage.of(said(text)) for text in asked or []]
    heard = OriginIndex([*told, *(_read(said(text)) for text in read or [])], lambda tool: ())
    facts = Facts(
        principal=user or who(),
        tenant=said(tenant),
        roles=tuple(role or ()),
        agent=agent,
        key_id=key,
        now=time.time(),
        origins=heard.of,
        titles=heard.titles,
        brought=lambda: (READ,) if read else (),
        mandate=Mandate.of(said(mandate)).checked({tool.name: tool for tool in listed}).calls if mandate else (),
    )
    looks, decision = opened.explain(bound.tool, call, facts)
    if (read or mandate) and (settings.defence or Defence()).mandate != "off":
        decision = judge(bound.tool, call, decision, facts, heard.of).decision
    if as_json:
        terminal.json(_as_json(call, looks, decision))
    else:
        _show(terminal, call, looks, decision)
    return ENDS_WITH[decision.verdict]


def _read(text: str) -> ToolMessage:
    """What a foreign tool has returned."""
    try:
        return ToolMessage(READ, ToolResult("", structured=msgspec.json.decode(text)))
    except (msgspec.DecodeError, RecursionError):
        return ToolMessage(READ, ToolResult("", (TextPart(text),)))


@app.command("lint")
def lint_policy(
    policy: PolicyFlag = "",
    tools: ToolsFlag = None,
    tenant: TenantNameFlag = "",
    journal: JournalFlag = "",
    as_json: JsonFlag = False,
) -> int:
    """Say what is wrong with a policy: rules that never fit, checks that can not be made.

    Ends with 1 when something is. With --tools the rules are held against these tools.
    """
    terminal, settings = Terminal(), options.read(tools=tools, policy=policy, journal=journal)
    if not settings.policy:
        raise UsageError("there is no policy: name a file with --policy, ACTUM_POLICY or in actum.toml")
    known = asyncio.run(list_tools(load_tools(settings, Path.cwd()), settings.tool_labels)) if tools else []
    opened = asyncio.run(_opened(settings, said(tenant)))
    rules = opened if isinstance(opened, Rules) else opened.rules
    found = lint(rules, known, asyncio.run(_roles_of_keys(settings)))
    if as_json:
        terminal.json([{"rule": each.rule, "problem": each.problem, "severe": each.severe} for each in found])
    for each in [] if as_json else found:
        color = "red" if each.severe else "yellow"
        label = "DANGER" if each.severe else "lint"
        terminal.line(label, styled((f"{each.rule}  ", f"bold {color}"), each.problem), color)
    if not found and not as_json:
        terminal.note(_summary(rules))
    return FAILED if found else DONE


async def _opened(settings: Settings, tenant: str) -> Rules | PolicyFile:
    """The policy of the settings; of a published one what is in use for a tenant."""
    if not policy_named(settings.policy):
        opened = open_policy(settings)
        assert not isinstance(opened, PublishedPolicy)
        return opened
    async with options.journal(settings) as journal:
        opened = open_policy(settings, journal)
        assert isinstance(opened, PublishedPolicy)
        return await opened.look(tenant)


async def _roles_of_keys(settings: Settings) -> frozenset[str]:
    """The roles of the valid keys of the journal; none where there is no journal yet."""
    is_there = "://" in settings.journal or journal_path(settings, os.environ).is_file()
    if settings.journal == MEMORY or not is_there:
        return frozenset()
    now = time.time()
    async with options.journal(settings) as opened:
        return frozenset(role for key in await opened.keys.all() if key.is_valid(now) for role in key.roles)


def _summary(rules: Rules) -> str:
    return tr(
        "{rules:rule|rules}, {users:user|users}. Nothing is wrong.", rules=len(rules.rules), users=len(rules.users)
    )


def _show(terminal: Terminal, call: ToolCall, looks: list[Look], decision: Decision) -> None:
    terminal.line("call", call_line(call))
    for look in looks:
        label = "" if look.why_not else "fits"
        terminal.line(label, styled(look.rule, (f"  {look.why_not}".rstrip(), "dim")), "green")
    if decision.require is not None:
        required = ToolCall("", decision.require.tool, decision.require.arguments)
        terminal.line("first", call_line(required), "cyan")
    if decision.approvers or decision.quorum > 1 or decision.not_by:
        some = ", ".join(decision.approvers or ()) or "anybody"
        some += f" but {decision.not_by}" if decision.not_by and not decision.approvers else ""
        terminal.line("asks", f"{decision.quorum} of: {some}" if decision.quorum > 1 else some, "magenta")
    if decision.expires_s is not None:
        terminal.line("expires", f"after {decision.expires_s:g} s")
    verdict = (decision.verdict, STYLE[decision.verdict])
    terminal.line("verdict", styled(verdict, f"  {decision.reason}".rstrip(), (f"  ({decision.rule})", "dim")))


def _as_json(call: ToolCall, looks: list[Look], decision: Decision) -> JsonObject:
    required = decision.require
    first: Json = None if required is None else {"tool": required.tool, "arguments": required.arguments}
    return {
        "tool": call.name,
        "arguments": call.arguments,
        "verdict": decision.verdict,
        "rule": decision.rule,
        "reason": decision.reason,
        "approvers": list(decision.approvers or ()),
        "quorum": decision.quorum,
        "not_by": decision.not_by,
        "expires_s": decision.expires_s,
        "require": first,
        "looked_at": [{"rule": look.rule, "fits": not look.why_not, "why_not": look.why_not} for look in looks],
    }


add_definition_commands(app, POLICIES, POLICY_OPERATIONS)
