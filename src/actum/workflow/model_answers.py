"""What models answer to the nodes of a workflow: each reply is on record, and counted, before the node goes on."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence

import msgspec

from ..core.budget import ZERO
from ..core.call import MediaPart
from ..core.cancellation import apart
from ..core.errors import ModelError
from ..core.event import Delta, NodeProgress
from ..core.json import JsonObject
from ..core.message import Message, Reply, ToolMessage, Transcript
from ..core.model import Model, Request
from ..core.run.node_records import NodeError
from ..core.run.record import ModelReplied
from ..core.token_estimate import with_sound_usage, with_usage
from ..policy.labels import Label, refused
from ..policy.record_mask import model_mask
from ..runs.other_values import know_others
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
        labels: what the labels of fields of results mean: which models may be told the values.
    """

    def __init__(
        self,
        run: Run,
        models: Callable[[str], Awaitable[Model]],
        earlier: Sequence[Message],
        labels: Mapping[str, Label],
    ) -> None:
        self._run = run
        self._labels = labels
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
        model = await self._models(settings.model)
        price = context.budget.price(model.name)
        request = await self._without_hidden(request, model)
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

    async def _without_hidden(self, request: Request, model: Model) -> Request:
        """The request without the values that the model may not be told, whichever run brought them: see
        `policy.labels`.

        Raises:
            NodeFailed: the label of such a value says that the request fails.
        """
        run, mask = self._run, model_mask(self._labels, model.name)
        if not (mask.hides_any or run.state.labels_seen or run.state.beginning().labels_seen):
            return request
        await know_others(mask, run.journal, run.run_id, await run.journal.read(run.run_id))
        earlier = [message.result for message in request.messages if isinstance(message, ToolMessage)]
        for result in (*run.state.results(), *earlier):
            mask.know(result)
        messages = [*map(mask.message, request.messages)]
        if name := refused(self._labels, mask.replaced):
            raise NodeFailed("label", f"the model {model.name} may not be told a value with the label {name!r}")
        return msgspec.structs.replace(request, messages=messages)

    def _media(self, given: JsonObject) -> list[MediaPart]:
        handles = given.get("files") or []
        if not isinstance(handles, list):
            raise NodeFailed("no_value", "files is no list of handles")
        known = self._run.context.attachments
        missing = [handle for handle in handles if not isinstance(handle, str) or handle not in known]
        if missing:
            raise NodeFailed("no_value", f"there is no file {missing[0]!r}")
        return [known[str(handle)] for handle in handles]
