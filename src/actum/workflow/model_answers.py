"""What models answer to the nodes of a workflow: each reply is on record, and counted, before the node goes on."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

from ..core.budget import ZERO
from ..core.call import MediaPart
from ..core.cancellation import apart
from ..core.errors import ModelError
from ..core.event import Delta, NodeProgress
from ..core.json import JsonObject
from ..core.message import Message, Reply, Transcript
from ..core.model import Model, Request
from ..core.run.node_records import NodeError
from ..core.run.record import ModelReplied
from ..core.token_estimate import with_sound_usage, with_usage
from ..runs.run import Run
from .asking import NodeAnswer, answer
from .conversation import window
from .definition.flow import Due
from .definition.settings import ClassifyNode, ExtractNode, ModelNode
from .pure import NodeFailed


class ModelAnswers:
    """Asks the models of one run. A reply that is on record is not asked for again.

    Args:
        run: the run.
        models: by name.
        earlier: what was said in the conversation before this run.
    """

    def __init__(self, run: Run, models: Callable[[str], Model], earlier: Sequence[Message]) -> None:
        self._run = run
        self._models = models
        self._earlier = earlier
        self._replies: dict[int, deque[Reply]] = {}
        for _, replied in run.state.replies:
            self._replies.setdefault(int(replied.intention), deque()).append(replied.reply)
            run.usage += replied.reply.usage

    async def answer(self, due: Due, number: int, given: JsonObject) -> NodeAnswer | NodeError:
        """The answer to a node, tried as often as the node says; or why there is none.

        Args:
            due: the node.
            number: the number of the record with which the node began.
            given: what the node is given.
        """
        rule, tries = due.node.retry, 1
        while True:
            try:
                return await answer(
                    due.node,
                    given,
                    self._media(given),
                    lambda asked: self._reply(due, number, asked),
                    window(self._earlier, getattr(due.node.settings, "memory", None)) if self._earlier else (),
                )
            except NodeFailed as failure:
                error = NodeError(failure.code, failure.message, due.path)
            except ModelError as failure:
                error = NodeError(type(failure).__name__, failure.told, due.path, str(failure))
            if rule is None or tries >= rule.attempts or (rule.only and error.code not in rule.only):
                return error
            await self._run.context.clock.sleep(rule.delay(tries))
            tries += 1

    async def _reply(self, due: Due, number: int, request: Request) -> Reply:
        """A model's reply, by the record where it is there."""
        run, context = self._run, self._run.context
        recorded = self._replies.get(number)
        if recorded:
            return recorded.popleft()
        await run.check_limits()
        await run.check_access()
        settings = due.node.settings
        assert isinstance(settings, ModelNode | ClassifyNode | ExtractNode)
        model = self._models(settings.model)
        price = context.budget.price(model.name)
        began = context.clock.monotonic()

        def tell(event: Delta) -> None:
            run.tell(NodeProgress(due.path, event))

        run.models_asked += 1
        try:
            reply = await apart(model.reply(request, tell if context.emit is not None else None), model.name)
        finally:
            run.models_asked -= 1
        if not reply.usage.is_sound:
            reply = with_sound_usage(reply)
        if context.counts_tokens:
            reply = with_usage(reply, Transcript(request.messages), 0)
        cost = price.of(reply.usage) if price is not None else ZERO
        seconds = context.clock.monotonic() - began
        context.write(ModelReplied(str(number), reply, seconds, context.elapsed(), cost))
        run.count_reply(reply.usage, cost)
        return reply

    def _media(self, given: JsonObject) -> list[MediaPart]:
        handles = given.get("files") or []
        if not isinstance(handles, list):
            raise NodeFailed("no_value", "files is no list of handles")
        known = self._run.context.attachments
        missing = [handle for handle in handles if not isinstance(handle, str) or handle not in known]
        if missing:
            raise NodeFailed("no_value", f"there is no file {missing[0]!r}")
        return [known[str(handle)] for handle in handles]
