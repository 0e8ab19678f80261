"""`AgentName`: the name of an agent in the settings: who may use the agent, and whether a run is of this very agent."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from ..call.choice import Choice
from ..core.errors import ReplayDiverged, UnknownName, UsageError
from ..core.json import Json
from ..core.language.sentence import Sentence
from ..core.run.record import AgentChanged, Started
from ..memory.memory import Memory
from ..runs.runner import Runner
from .identity import KnowsRoles, Naming, differing, digest_of, own_tools, part, policy_part


class AgentName(Struct, frozen=True):
    """The name of an agent. An agent that a program made has none: every user of the program may use the agent.

    Attributes:
        made: the name, as it was when the agent was made; None for no name.
        latest: tells the name as the settings have it by now, None of it where they have it no more; None where nobody
            looks.
    """

    made: Naming | None = None
    latest: Callable[[], Naming | None] | None = None

    @property
    def description(self) -> str:
        """What the agent is for; empty where nobody said so."""
        return self.made.description if self.made is not None else ""

    @property
    def is_open(self) -> bool:
        """Whether any user may use the agent."""
        now = self._now()
        return now is not None and not any(each.users or each.roles for each in now)

    def is_for(self, principal: str, roles: Sequence[str], policy: object) -> bool:
        """Whether a user may use the agent.

        Args:
            principal: the user.
            roles: the roles of the user.
            policy: the agent's policy, which may know of more roles.
        """
        known = policy.roles_of(principal) if isinstance(policy, KnowsRoles) else ()
        had, now = {*roles, *known}, self._now()
        return now is not None and all(each.lets_in(principal, had) for each in now)

    def check_memory(self, memory: Memory | None, conversation: str) -> None:
        """Raises:
        UsageError: a conversation is named, and each run of the agent stands alone.
        """
        if conversation and memory is None:
            raise UsageError(
                "the agent {naming!r} takes part in no conversation, by `memory` in its settings: "
                "leave the conversation out",
                naming=self.made.name if self.made is not None else "",
            )

    def check_user(self, principal: str, roles: Sequence[str], policy: object) -> None:
        """Raises:
        UnknownName: the agent is not there for this user.
        """
        if self.made is not None and not self.is_for(principal, roles, policy):
            raise UnknownName("there is no agent {name!r}", name=self.made.name)

    def _now(self) -> Sequence[Naming] | None:
        """The name as the agent was made, and as the settings say now; None where they have it no more."""
        made = [] if self.made is None else [self.made]
        if self.latest is None:
            return made
        latest = self.latest()
        return None if latest is None else [*made, latest]

    def change(
        self, run_id: str, latest: Started | AgentChanged, name: str, parts: dict[str, str], *, by: str, accept: bool
    ) -> AgentChanged | None:
        """What goes on record where this agent is not the agent that a run was last carried out by.

        Args:
            run_id: the run.
            latest: what the run's record says of the agent that carried the run out last.
            name: the name of this agent.
            parts: the digests of this agent's parts.
            by: the user on whose behalf the run is taken up.
            accept: whether the run goes on all the same.

        Raises:
            ReplayDiverged: it is another agent, and nobody said that the run is to go on all the same.
        """
        changed = self._differing(latest.agent_digest, latest.agent_parts, parts)
        if not changed:
            return None
        if not accept:
            if not latest.agent_digest:
                why = Sentence(
                    "is of an agent without a name, which can not be handed to the agent {name!r}", name=name
                )
            elif "name" in changed:
                why = Sentence(
                    "is of the agent {name!r} of the settings, and this is not that agent", name=latest.agent
                )
            else:
                why = Sentence(
                    "is of another version of the agent {name!r}; what differs: {changed}",
                    name=name,
                    changed=", ".join(changed),
                )
            raise ReplayDiverged(
                "run {run} {why}. Go on with the agent as it was, or pass accept=True to go on with "
                "this agent; that is put on record.",
                run=run_id,
                why=why,
            )
        digest = digest_of(parts) if parts else ""
        return AgentChanged(agent=name, agent_digest=digest, agent_parts=parts, changed=changed, by=by)

    async def parts(
        self, runner: Runner, model: str, dialect: Json, conversation: Sequence[Json], values: Mapping[str, object]
    ) -> dict[str, str]:
        """The digest of each part of the agent, by the part's name; see `agents.identity`.

        Args:
            runner: makes the agent's calls.
            model: the name of its model.
            dialect: how the model says a call, as `dialect_part`, where the name does not tell.
            conversation: what happens where a conversation is too long, and the agent's memory.
            values: the other parts.
        """
        made, choice = self.made or Naming(name=""), runner.choice
        chosen = [] if choice == Choice() else [choice.places, choice.always]
        whole = {
            **values,
            "name": made.name,
            "model": [model, made.dialect or dialect],
            "tools": own_tools((await runner.catalog()).tools, runner.client_tools),
            "labels": made.labels,
            "servers": sorted(made.servers),
            "policy": policy_part(runner.policy),
            "limits": runner.limits_recorded,
            "conversation": [*conversation, *chosen],
            "arguments": list(runner.reading),
        }
        return {name: part(value) for name, value in whole.items()}

    def _differing(self, digest: str, one: Mapping[str, str], other: Mapping[str, str]) -> tuple[str, ...]:
        if self.made is None:
            return ("name",) if digest else ()
        return differing(one, other)
