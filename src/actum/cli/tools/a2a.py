"""`actum a2a`: agents elsewhere, which a person looks at and approves before they are asked anything."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from typing import Annotated

import msgspec
import typer

from ...compose.apis import login_of
from ...compose.remote_agents import (
    A2A_SOURCE,
    a2a_pins,
    agent_setup,
    find_remote_agent,
    open_remote_agent,
    schemes_wanted,
)
from ...compose.secrets import open_secrets
from ...core.json import Json, JsonObject, dumps
from ...core.user import User
from ...protocols.a2a.followed_task import ReadTask, words_of
from ...protocols.a2a.model import A2AMessage
from ...protocols.a2a.remote_agent import RemoteAgent
from ...protocols.plain_text import plain, shown
from ...toolsets.a2a.toolset import A2AToolset, CardSurvey
from .. import options
from ..conversation import call as one_call
from ..exit_codes import DONE, FAILED
from ..language import tr
from ..options import JournalFlag, JsonFlag, PolicyFlag, VerboseFlag, YesFlag
from ..show.terminal import Terminal, who
from .apis import SchemeFlag, UserFlag, by_browser

app = typer.Typer(help="Agents elsewhere, by A2A: look at a card, approve, send, watch a task.", no_args_is_help=True)

WhichArgument = Annotated[
    str, typer.Argument(metavar="NAME|URL", help="The agent: its name in [a2a] of the settings, or its address.")
]
TenantFlag = Annotated[str, typer.Option(metavar="NAME", help="For the users of this tenant, whom your server serves.")]
AgreeFlag = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask. Look first.")]


@app.command("card")
def show_card(which: WhichArgument, tenant: TenantFlag = "", as_json: JsonFlag = False) -> int:
    """Show the card of an agent as it is now, and whether it is the one that you approved."""
    terminal = Terminal()
    agent, toolset = _opened(which)
    survey = asyncio.run(_surveyed(toolset, tenant))
    if as_json:
        terminal.json(_told(agent, survey) | {"card": survey.card.raw})
    else:
        _show(terminal, agent, survey)
    return DONE


@app.command("approve")
def approve(which: WhichArgument, tenant: TenantFlag = "", yes: AgreeFlag = False, as_json: JsonFlag = False) -> int:
    """Look at the card of an agent, as it says it, and agree that the agent is asked."""
    terminal = Terminal()
    agent, toolset = _opened(which)

    async def command() -> int:
        async with toolset:
            survey = await toolset.survey(_secrets(), tenant=tenant)
            if not as_json:
                _show(terminal, agent, survey)
            if survey.state != "approved":
                typed = terminal.ask("approve the agent as shown?  [y]es  [n]o: ") if terminal.person else None
                if not yes and (typed or "").strip().lower() not in ("y", "yes"):
                    terminal.note("Nothing was approved.")
                    return FAILED
                await toolset.approve(survey, by=who(), tenant=tenant)
            if as_json:
                terminal.json(_told(agent, survey) | {"state": "approved"})
            else:
                terminal.note(
                    '{called} is approved: tools = ["{a2a_source}{agent}"]',
                    called=agent.called,
                    a2a_source=A2A_SOURCE,
                    agent=agent.name or agent.url,
                )
            return DONE

    return asyncio.run(command())


@app.command("remove")
def remove(which: WhichArgument, tenant: TenantFlag = "") -> None:
    """Take the approval of an agent back."""
    agent, _ = _opened(which)
    a2a_pins(os.environ).of_tenant(tenant).withdraw(agent.identity)
    Terminal().note("{called} is not approved any more.", called=agent.called)


@app.command("login")
def login(
    which: WhichArgument,
    scheme: SchemeFlag = "",
    user: UserFlag = None,
    tenant: TenantFlag = "",
    port: Annotated[int, typer.Option("--port", help="Where the browser comes back to; 0 for any port.")] = 0,
    paste: Annotated[bool, typer.Option("--paste", help="The browser runs on another machine.")] = False,
) -> int:
    """Log in at an agent that you approved, in a browser. Nothing opens without a yes."""
    terminal = Terminal()
    _, toolset = _opened(which)
    owner = User(tenant, who() if user is None else user)

    wanted = login_of(asyncio.run(agent_setup(toolset, _secrets(), tenant)), scheme, owner, os.environ)
    granted = asyncio.run(by_browser(wanted, terminal, port=port, paste=paste))
    terminal.note(tr("{user} is logged in at {site}.", user=owner.principal, site=granted.issuer))
    return DONE


@app.command("send")
def send(
    which: WhichArgument,
    message: Annotated[str, typer.Argument(help="What to ask or to do.")],
    skill: Annotated[str, typer.Option(metavar="ID", help="Which of its skills is meant.")] = "",
    conversation: Annotated[str, typer.Option(metavar="ID", help="Go on with an earlier conversation.")] = "",
    verbose: VerboseFlag = False,
    as_json: JsonFlag = False,
    yes: YesFlag = False,
    journal: JournalFlag = "",
    policy: PolicyFlag = "",
) -> int:
    """Ask an agent that you approved, as one call on record.

    For instance: actum a2a send https://agents.example.org/weather "Will it rain in Oslo?"
    """
    agent = find_remote_agent(which, options.read().a2a)
    given: dict[str, Json] = {"message": message, "skill": skill, "conversation": conversation}
    return one_call.call(
        agent.called,
        args=dumps({name: value for name, value in given.items() if value}),
        tools=[A2A_SOURCE + (agent.name or agent.url)],
        mcp=["none"],
        verbose=verbose,
        as_json=as_json,
        yes=yes,
        journal=journal,
        policy=policy,
    )


@app.command("watch")
def watch(
    which: WhichArgument,
    task: Annotated[str, typer.Argument(metavar="TASK", help="The id of the task, as the agent calls it.")],
    as_json: JsonFlag = False,
) -> int:
    """Show how a task of an agent goes, until it is over or waits for somebody."""
    terminal = Terminal()
    _, toolset = _opened(which)

    async def command() -> int:
        async with toolset:
            state, last = "", ReadTask()
            async for seen in toolset.watch(task, _secrets()):
                if seen.state != state:
                    state = seen.state
                    terminal.note(f"{state}: {plain(words_of(seen.status.message))[:500]}".rstrip(": "))
                last = seen
            if as_json:
                terminal.json({"task": task, "state": last.state, "artifacts": _artifacts(last)})
            else:
                for each in last.artifacts:
                    terminal.text(plain(words_of(A2AMessage(role="agent", parts=each.parts))))
            return FAILED if last.state in ("failed", "rejected", "canceled") else DONE

    return asyncio.run(command())


def _artifacts(task: ReadTask) -> list[Json]:
    return [{"name": each.name, "parts": msgspec.to_builtins(each.parts)} for each in task.artifacts]


def _opened(which: str) -> tuple[RemoteAgent, A2AToolset]:
    settings = options.read()
    toolset = open_remote_agent(which, settings.a2a, os.environ, options.egress())
    return toolset.agent, toolset


def _secrets() -> Mapping[str, str]:
    return open_secrets(os.environ).of(User(principal=who()))


async def _surveyed(toolset: A2AToolset, tenant: str) -> CardSurvey:
    async with toolset:
        return await toolset.survey(_secrets(), tenant=tenant)


def _told(agent: RemoteAgent, survey: CardSurvey) -> JsonObject:
    return {
        "name": agent.called,
        "url": agent.url,
        "state": survey.state,
        "changes": list[Json](survey.changes),
        "signature": survey.signature_state,
        "elsewhere": list[Json](survey.elsewhere),
    }


def _show(terminal: Terminal, agent: RemoteAgent, survey: CardSurvey) -> None:
    """The card for a person, hidden characters made visible."""
    card = survey.card
    raw = card.raw
    rows = [
        (tr("agent"), shown(str(raw.get("name", "")))[:200]),
        (tr("what it is"), shown(str(raw.get("description", "")))[:2000]),
        *((f"{each.binding} {each.dialect}", shown(each.url)[:500]) for each in card.interfaces),
        *((f"{tr('skill')} {each.id}", shown(f"{each.name}: {each.description}")) for each in card.skills),
        *((f"{tr('wants')} {shown(name)[:100]}", shown(words)[:500]) for name, words in schemes_wanted(card).items()),
        (tr("signature"), shown(survey.signature)),
    ]
    terminal.table("", "", rows=rows)
    if survey.elsewhere:
        terminal.note(
            "It is reached at another origin, which gets no credentials: {elsewhere}",
            elsewhere=", ".join(survey.elsewhere),
        )
    if survey.state == "changed":
        terminal.note("It is not as you approved it:")
        for line in survey.changes:
            terminal.note(f"  {line}")
    elif survey.state == "new":
        terminal.note("It was never approved.")
