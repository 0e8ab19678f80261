"""The models of `[models.*]` as models that nodes of workflows and published agents ask: by the names that clients
of the server use, with the same upstreams in the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from ...core.errors import ModelError, UsageError
from ...core.event import Delta
from ...core.message import Reply
from ...core.model import Model, Request, default_max_tokens
from ...core.stored.passed import Trouble, trouble_of
from ...core.user import User
from ...models.catalog import open_model
from ...server.models.upstream import AS_ASKED, ModelRoute
from ...workflow.published import PublishedCalls
from ..settings import Settings, model_table_name

NOBODY = User()
OPENED_MAX = 200
"""The most models that are kept open: where a name is a pattern, the author of a text chooses the model."""


class NamedModels:
    """The models of the settings.

    Args:
        settings: as read.
        environment: variables, for keys of providers and for the secrets that the settings name.
    """

    def __init__(self, settings: Settings, environment: Mapping[str, str]) -> None:
        self._settings = settings
        self._environment = environment
        self._routes: dict[str, ModelRoute] = {}
        self._opened: dict[tuple[str, tuple[int, ...]], Model] = {}

    @property
    def names(self) -> list[str]:
        """The names that can be listed: no patterns, and no names of agents."""
        return [name for name, table in self._settings.models.items() if "*" not in name and not table.agent]

    def has(self, name: str) -> bool:
        """Whether a model has this name, or a pattern fits the name.

        Raises:
            UsageError: an agent answers under the name.
        """
        return self._table(name) is not None

    def open(self, name: str, user: User = NOBODY) -> Model | None:
        """The model of a name; None where there is none. With several upstreams, its name on record is the one of the
        settings.

        Args:
            name: of the model.
            user: on whose behalf the model is asked: with weights, each user has an upstream to begin with.

        Raises:
            UsageError: the table is wrong, a key is missing, or an agent answers under the name.
        """
        key = self._table(name)
        if key is None:
            return None
        route = self._route(key)
        order = tuple(map(route.upstreams.index, route.order(key, user)))
        if (name, order) not in self._opened:
            models = [self._upstream(key, name, at) for at in order]
            while len(self._opened) >= OPENED_MAX:
                del self._opened[next(iter(self._opened))]
            one = len(models) == 1
            self._opened[name, order] = models[0] if one else ModelsInOrder(name, models, route.fallback)
        return self._opened[name, order]

    def _table(self, name: str) -> str | None:
        """The name of the table of a model."""
        key = model_table_name(self._settings, name)
        agent = self._settings.models[key].agent if key is not None else ""
        if agent:
            raise UsageError("{name!r} is the agent {agent!r} here, and no model", name=name[:200], agent=agent)
        return key

    def _route(self, key: str) -> ModelRoute:
        from .passing import model_route  # noqa: PLC0415  # loads a web framework, for models of the settings alone

        if key not in self._routes:
            settings = self._settings
            self._routes[key] = model_route(key, settings.models[key], settings.prices, self._environment)
        return self._routes[key]

    def _upstream(self, key: str, name: str, at: int) -> Model:
        from .passing import upstream_key, upstream_tables  # noqa: PLC0415  # as in `_route`

        upstream = self._route(key).upstreams[at]
        upstream.target("", upstream.model(name), stream=False)  # a name that leads elsewhere is refused
        tables = upstream_tables(self._settings.models[key])
        model = tables[at].model
        return open_model(
            model.removesuffix(AS_ASKED) + name if upstream.place.model == AS_ASKED else model,
            dialect=tables[at].api,
            key=upstream_key(tables[at].key, self._environment),
            timeout_s=tables[at].timeout_s,
            headers=tables[at].headers,
            asks_once=len(tables) > 1,
            environment=self._environment,
        )


class ModelsInOrder:
    """Several models under one name: the next is asked where the one before gave no answer, and nothing was heard.

    Args:
        name: the name on record.
        models: in the order in which they are asked.
        fallback: the kinds of trouble after which the next is asked.

    Attributes:
        name: as above.
        default_max_tokens: of the first model; see `core.model.LengthLimited`.
    """

    def __init__(self, name: str, models: Sequence[Model], fallback: Collection[Trouble]) -> None:
        self.name = name
        self.default_max_tokens = default_max_tokens(models[0])
        self._models = models
        self._fallback = fallback

    async def reply(self, request: Request, emit: Callable[[Delta], None] | None = None) -> Reply:
        """Answer a request; see `Model.reply`.

        Raises:
            ModelError: no model gave an answer, or the request itself is wrong.
        """
        *others, last = self._models
        for model in others:
            told = _Told(emit)
            try:
                return await model.reply(request, told if emit is not None else None)
            except ModelError as error:
                if told.anything or trouble_of(error, error.status) not in self._fallback:
                    raise
        return await last.reply(request, emit)


class _Told:
    """Tells the pieces of an answer on, and notes whether there were any."""

    def __init__(self, emit: Callable[[Delta], None] | None) -> None:
        self._emit = emit
        self.anything = False

    def __call__(self, piece: Delta) -> None:
        self.anything = True
        if self._emit is not None:
            self._emit(piece)


class ModelsOfTenant:
    """What the nodes of a tenant's workflows may ask beside the models that the settings of their workflow give: the
    models of the settings, and those that the tenant has connected; see `OfferedModels`. A name of the settings counts.

    Args:
        named: the models of the settings.
        own: has the models that the tenant has connected; None for none.
    """

    def __init__(self, named: NamedModels, own: PublishedCalls | None) -> None:
        self._named = named
        self._own = own

    @property
    def names(self) -> Sequence[str]:
        """The names of the models of the settings, without patterns."""
        return self._named.names

    def has(self, name: str) -> bool:
        """Whether the settings have a model of this name.

        Raises:
            UsageError: an agent answers under the name.
        """
        return self._named.has(name)

    async def open(self, name: str, user: User) -> Model | None:
        """The model of a name; see `OfferedModels.open`.

        Raises:
            UsageError: the model can not be asked now.
        """
        found = self._named.open(name, user)
        return found if found is not None or self._own is None else await self._own.model(name)
