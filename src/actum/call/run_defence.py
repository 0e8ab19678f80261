"""The defence of one run: whether it is on, what it knows, and what becomes of its questions where nobody is there."""

from __future__ import annotations

from msgspec import structs

from ..core.errors import PermissionDenied
from ..core.policy import Defence, Facts, MandateSource
from ..journal.recording import CallStanding
from ..policy.defence import PREFIX
from ..policy.origins import OriginIndex
from ..policy.rules import EFFECT
from .asking.asker import LiveApprover
from .mandates import Mandates
from .plan import Plan, PolicyInputs
from .resolve import Catalog
from .scope import RunContext

UNATTENDED = (
    "Nobody can be asked now. {reason} Do the rest of the task without this call, and tell the user what you left."
)


class RunDefence:
    """The defence of one run. It is on for a run of an agent that was given a defence, or, where none was given, for an
    agent with a tool that is foreign or whose results may hold an outsider's text. The defence of a run above holds as
    well, and so does its mandate.

    Args:
        scope: the run.
        catalog: its tools.
        terms: by what its calls are judged.
        asker: asks persons.

    Attributes:
        own: the mandate of this run; None for a run without a model.
        is_on: calls of this run are judged by a defence.
    """

    def __init__(self, scope: RunContext, catalog: Catalog, terms: PolicyInputs, asker: LiveApprover) -> None:
        self.own: Mandates | None = None
        self.is_on = False
        self._scope = scope
        self._given = terms.defence
        self._above = next((each.defence for each in terms.ancestors if each.defence is not None), None)
        self._defence: Defence | None = None
        source = next((each.mandates for each in terms.ancestors if each.mandates is not None), None)
        if scope.sample is not None:
            given = self._given if isinstance(self._given, Defence) else None
            asks = scope.asks_mandates and (given is None or given.mandate != "strict")
            self.own = Mandates(scope, catalog, asker, asks_model=asks)
        self._source: MandateSource | None = source or self.own
        self.use(catalog)

    def use(self, catalog: Catalog) -> None:
        """From here on there are these tools."""
        self._catalog = catalog
        if self.own is None:
            return  # calls that no model makes go by the policy alone
        self.own.catalog = catalog
        own = self._given
        if own == "auto":
            started = self._scope.recording.started
            is_told = started is not None and bool({*(started.outside or ())} - {"attachment"})
            own = Defence() if catalog.has_strangers or is_told else None
        found = self._above or own
        self._defence = None if found is None or found.mandate == "off" else found
        self.is_on = self._defence is not None

    @property
    def handed_down(self) -> Defence | None:
        """The defence of the runs that calls of this run begin."""
        return self._defence or self._above

    def facts(self, facts: Facts, said: OriginIndex) -> Facts:
        """The facts with what the defence knows."""
        assert self._source is not None
        return structs.replace(facts, titles=said.titles, mandate=self._source.known())

    async def make_mandate(self) -> None:
        """Have the mandate made for what the user has said by now; see `MandateSource.make`."""
        assert self._source is not None
        await self._source.make(self._catalog.tools)

    def check_attended(self, plan: Plan, standing: CallStanding) -> None:
        """Whether somebody can be asked what the defence wants to ask, or the run may wait.

        Raises:
            PermissionDenied: the call is refused, since nobody is there.
        """
        defence, decision = self._defence, plan.decision
        if defence is None or defence.unattended == "ask" or decision.verdict != "ask" or standing.asked is not None:
            return
        assert self._source is not None
        if not self._source.is_attended and (decision.rule.startswith(PREFIX) or decision.rule == EFFECT.rule):
            error = PermissionDenied(UNATTENDED.format(reason=decision.reason))
            error.rule = decision.rule
            raise error
