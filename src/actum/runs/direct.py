"""Carries out a run without a model: the calls that were asked for directly, each made once."""

from __future__ import annotations

from ..call.limits.call_count import CallCount
from ..call.limits.limits import Limits
from ..core.errors import CallError
from ..core.event import RunResult
from ..core.run.pending import Pending
from .run import Finish, Run


async def make_requested(run: Run, limits: Limits) -> RunResult:
    """Make the calls of all requests on record, and write down how the run ended.

    Args:
        run: the run.
        limits: how many calls it may make.

    Returns:
        What the calls came to: paused where one of them waits.
    """
    return run.result(await run.carry_out(_calls(run, CallCount(limits, run.path.names_of))))


async def _calls(run: Run, made: CallCount) -> Finish:
    await run.check_limits()
    waiting: dict[str, Pending] = {}
    for number, requested in run.state.requested:
        refusals: dict[int, CallError] = {}
        for index, call in enumerate(requested.calls):
            refusal = made.refusal(call)
            if refusal is not None:
                refusals[index] = refusal
            else:
                made.count(call)
        results = await run.perform(requested.calls, number, refusals)
        run.check_cancelled()
        waiting |= {each.id: each for each in results if isinstance(each, Pending)}
    if waiting:
        pending = tuple(waiting.values())
        return Finish(status="paused", text=run.phrases.waiting(pending), pending=pending)
    return Finish(status="done")
