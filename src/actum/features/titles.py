"""Names that people give their conversations: a table of its own, since a name follows from no record."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from ..core.errors import UsageError
from ..core.stores import Stores, Table
from .feature import Feature


class SessionTitle(Struct, frozen=True):
    """The name of a conversation.

    Attributes:
        principal: whose conversation it is; the row goes when this user is forgotten.
        session: the id of the conversation.
        title: the name.
        run_id: the latest run when the name was given; the row goes when this run is forgotten.
    """

    principal: str
    session: str
    title: str
    run_id: str


TITLES = Table("titles", SessionTitle, key=("principal", "session"))
FEATURE = Feature(name="conversations", title="Names of conversations.", tables=(TITLES,))


async def titles_of(stores: Stores, tenant: str, principal: str) -> Mapping[str, str]:
    """The names of a user's conversations, by the ids of these."""
    try:
        rows = await stores.find(tenant, TITLES, where={"principal": principal}, limit=None)
    except UsageError:  # a program serves the API without the features of actum, so nobody has named anything
        return {}
    return {row.session: row.title for row in rows}
