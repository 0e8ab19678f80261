"""What work uses up: calls, tokens and money; what tokens cost; and the budget of a run under those it works for.

Pure but for the counts of a `Budget`. Knows nothing of models: prices are the program's, since any list of them ages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal

from msgspec import Struct

from .errors import BudgetExceeded, LoopDetected, UsageError
from .message import Usage
from .trace import NO_WAY, Way, agent_id

ZERO = Decimal(0)
NO_USAGE = Usage()
_MILLION = Decimal(1_000_000)


class Used(Struct, frozen=True, omit_defaults=True):
    """What something used up, with all that it started.

    Attributes:
        calls: tool calls.
        tokens: of models, in and out.
        cost: money, in the currency of the prices.
        usage: the same tokens by their kinds.
    """

    calls: int = 0
    tokens: int = 0
    cost: Decimal = ZERO
    usage: Usage = NO_USAGE

    def __add__(self, other: Used) -> Used:
        return Used(
            self.calls + other.calls, self.tokens + other.tokens, self.cost + other.cost, self.usage + other.usage
        )

    def beyond(self, other: Used) -> Used:
        """How much more this is than the other."""
        return Used(
            max(0, self.calls - other.calls),
            max(0, self.tokens - other.tokens),
            max(ZERO, self.cost - other.cost),
            self.usage.beyond(other.usage),
        )


NOTHING = Used()


class Price(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a model costs, for a million tokens, in a currency of your own.

    Attributes:
        input: of what goes in.
        output: of what comes out, reasoning included.
        cached: of what goes in and was in the endpoint's cache; None: as `input`.

    Raises:
        UsageError: a price is no Decimal, or below 0.

    >>> Price(input=Decimal("1.25"), output=Decimal(10)).of(Usage(input_tokens=1000, output_tokens=100))
    Decimal('0.00225')
    """

    input: Decimal
    output: Decimal
    cached: Decimal | None = None

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if value is None and name == "cached":
                continue
            if not isinstance(value, Decimal) or not value.is_finite() or value < 0:
                raise UsageError(
                    "Price({name}={value!r}): give a Decimal, as in Decimal('1.25'), for a million tokens",
                    name=name,
                    value=value,
                )

    def of(self, usage: Usage) -> Decimal:
        """What this many tokens cost."""
        cached = self.input if self.cached is None else self.cached
        from_cache = min(usage.cached_tokens, usage.input_tokens)
        fresh = usage.input_tokens - from_cache
        return (fresh * self.input + from_cache * cached + usage.output_tokens * self.output) / _MILLION


class Budget:
    """What a run has used, and what those above it, whose calls it works for, have left.

    Whatever is counted here is counted for all above: a run can never use more than they may.

    Args:
        allowed: the limits of this run by the name of what is counted; what is missing has none.
        agent: who runs; None for a run without a model.
        depth: how many agents may stand one under another, the first counted.
        prices: of models, for those below which have none of their own.
        above: the run whose call started this one.
        call: the idempotency key of that call.
        way: the runs above this one in other programs, where this run is the first here.

    Attributes:
        left_s: tells how many seconds this run may still take; None where it has no end.

    Raises:
        LoopDetected: this agent works on a call above already.
        BudgetExceeded: agents would stand too deep one under another.
    """

    __slots__ = (
        "_allowed",
        "_by_call",
        "above",
        "agent",
        "call",
        "calls",
        "cost",
        "depth",
        "left_s",
        "prices",
        "tokens",
        "usage",
        "way",
    )

    def __init__(
        self,
        allowed: Mapping[str, int | Decimal] | None = None,
        agent: object = None,
        *,
        depth: int | None = None,
        prices: Mapping[str, Price] | None = None,
        above: Budget | None = None,
        call: str = "",
        way: Way = NO_WAY,
    ) -> None:
        self._allowed = allowed or {}
        self._by_call: dict[str, Used] = {}
        self.agent = agent
        self.above = above
        self.call = call
        self.depth = depth
        self.left_s: Callable[[], float] | None = None
        self.prices = prices or {}
        self.calls = 0
        self.tokens = 0
        self.cost = ZERO
        self.usage = NO_USAGE
        self.way = way
        if above is not None or way is not NO_WAY:
            self._check_nesting([*above._line()] if above is not None else [])

    def _check_nesting(self, above: list[Budget]) -> None:
        way = above[-1].way if above else self.way
        if self.agent is not None and (
            any(run.agent is self.agent for run in above) or (way.agents and agent_id(self.agent) in way.agents)
        ):
            raise LoopDetected(
                "This agent handed the task on itself and waits for it: it can not be given it again. "
                "Do it without this tool."
            )
        depth = min((run.depth for run in [self, *above] if run.depth is not None), default=None)
        most = way.most(depth)
        if most is not None and len(above) >= most:
            raise BudgetExceeded(
                "Agents may stand {most} deep, one under another, and do. Do it without this tool.",
                limit="depth",
                most=most + way.depth,
            )

    def way_down(self, *, shares_calls: bool = False) -> Way:
        """What another program that makes a run for a call of this one is told: the runs above its run.

        Args:
            shares_calls: the other program's run is that of an agent, which may make as many calls as are left here.
        """
        line = [*self._line()]
        way = line[-1].way
        most = way.most(min((run.depth for run in line if run.depth is not None), default=None))
        agents = [agent_id(run.agent) for run in reversed(line) if run.agent is not None]
        left = None if most is None else max(0, most - len(line))
        calls = self._calls_left() if shares_calls else None
        return Way(way.depth + len(line), left, (*way.agents, *agents), way.others, calls)

    def _calls_left(self) -> int | None:
        """How many calls this run may still make by the limits of all that stand above; None for no limit."""
        line = [*self._line()]
        left = [int(run._allowed["calls"]) - run.calls for run in line if "calls" in run._allowed]
        if line[-1].way.calls is not None:
            left.append(line[-1].way.calls - line[-1].calls)
        return max(0, min(left)) if left else None

    def _is_used_up_outside(self) -> bool:
        """The calls that the agents of other programs have left for this run and those above it are used up."""
        first = self
        while first.above is not None:
            first = first.above
        return first.way.calls is not None and first.calls >= first.way.calls

    def _line(self) -> Iterator[Budget]:
        """This run and those above it."""
        run: Budget | None = self
        while run is not None:
            yield run
            run = run.above

    def add(self, used: Used) -> None:
        """Count what this run used, for it and for all above."""
        self.calls += used.calls
        self.tokens += used.tokens
        self.cost += used.cost
        self.usage += used.usage
        if self.above is not None:
            self.above.add_for(self.call, used)

    def add_for(self, call: str, used: Used) -> None:
        """Count what a call of this run used."""
        self._by_call[call] = self.used_by(call) + used
        self.add(used)

    def know(self, call: str, used: Used) -> None:
        """What is on record that a call has used; it is counted already."""
        self._by_call.setdefault(call, used)

    def used_by(self, call: str) -> Used:
        """What the call with this idempotency key has used so far."""
        return self._by_call.get(call, NOTHING)

    def take_up(self, used: Used) -> None:
        """Go on from what is on record; those above hear of what they have not counted yet."""
        self.calls, self.tokens, self.cost, self.usage = used.calls, used.tokens, used.cost, used.usage
        if self.above is not None:
            self.above.add_for(self.call, used.beyond(self.above.used_by(self.call)))

    @property
    def counts_tokens(self) -> bool:
        """There is a limit to tokens, or to what they cost, for this run or one above."""
        return any("tokens" in run._allowed or "cost" in run._allowed for run in self._line())

    def exhausted_above(self) -> str:
        """The limit of a run above that is used up; empty when there is none."""
        if self.above is not None:
            return self.above.exhausted()
        return "calls" if self.way.calls is not None and self._is_used_up_outside() else ""

    def exhausted(self) -> str:
        """The limit of this run, or of one above, that is used up; empty when there is none."""
        for run in self._line():
            for name, most in run._allowed.items():
                if getattr(run, name) >= most:
                    return name
            if run.left_s is not None and run.left_s() <= 0:
                return "seconds"
        return "calls" if self._is_used_up_outside() else ""

    def count_call(self) -> None:
        """One more call is made.

        Raises:
            BudgetExceeded: a run above has made all the calls that it may.
        """
        above = self.above
        if above is None and self.way.calls is None:
            self.calls += 1
            return
        if self._is_used_up_outside() or any(
            run.calls >= run._allowed["calls"]
            for run in (above._line() if above is not None else ())
            if "calls" in run._allowed
        ):
            raise BudgetExceeded(
                "The run that you work for has made all the tool calls that it may (its setting Limits.calls).",
                limit="calls",
            )
        self.add(Used(calls=1))

    def price(self, model: str) -> Price | None:
        """The price of a model, by this run or one above.

        Raises:
            BudgetExceeded: the price is not known, and a run above has a limit on its cost.
        """
        known = next((run.prices[model] for run in self._line() if model in run.prices), None)
        if known is None and any("cost" in run._allowed for run in self._line()):
            raise BudgetExceeded(
                "What the model of this agent costs is not known, and there is a limit to the cost.", limit="cost"
            )
        return known
