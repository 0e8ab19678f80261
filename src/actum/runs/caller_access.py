"""Whether the user who asked for a run may still have the run carried out.

A run ends with the access of its caller: when the key with which the run was asked for is revoked, and when its agent,
or an agent above, is not for its user any more. A key that ended at its time ends no run, as the end of a token or of a
session ends none: that time says how long new requests may come.

A run without a key whose agent anybody may use is never looked at.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..call.plan import PolicyInputs
from ..core.interfaces import Journal
from ..core.run.record import Started
from ..core.stored.key import Key, KeyStore
from ..core.user import User

ACCESS_REVOKED = "access_revoked"
"""The reason of a run that was stopped because its caller may not have it any more."""


AGE_S = 0.2
"""A run that has been looked at before may be looked at by what was known this many seconds ago."""


class RevokedKeys:
    """The revoked keys of a journal, held in memory. Before each look the journal tells the number of its changes,
    which costs no round trip; where that number is another one, the keys are read anew.
    """

    def __init__(self) -> None:
        self._revoked: Mapping[str, Key] = {}
        self._as_of: tuple[KeyStore, int] | None = None

    async def find(self, store: KeyStore, id: str, age_s: float) -> Key | None:
        """The revoked key of this id; None where there is none.

        Args:
            store: the keys of the journal.
            id: of the key.
            age_s: what another process revoked within these seconds need not be known yet.

        Raises:
            JournalError: nobody can tell now.
        """
        changes = store.changes(age_s)
        if changes is None:
            key = await store.find(id)
            return key if key is not None and key.was_revoked else None
        if self._as_of != (store, changes):
            self._revoked = {key.id: key for key in await store.all() if key.was_revoked}
            self._as_of = store, changes
        return self._revoked.get(id)


class CallerAccess:
    """The access of the user who asked for one run.

    Args:
        started: the first record of the run.
        journal: where the run is written down; its keys are looked at.
        inputs: tell whether the agents of the run, and of the runs above, are for their users.
        revoked: the keys that were revoked.

    Attributes:
        can_be_lost: whether there is something to look at.
    """

    def __init__(self, started: Started, journal: Journal, inputs: PolicyInputs, revoked: RevokedKeys) -> None:
        self._user, self._key_id = started.user, started.key_id
        self._store = journal.keys if started.key_id else None
        asked = (inputs.lets_in, *(above.lets_in for above in inputs.ancestors))
        self._lets_in = [lets_in for lets_in in asked if lets_in is not None]
        self._revoked = revoked
        self._age_s = 0.0
        self.can_be_lost = self._store is not None or bool(self._lets_in)

    async def is_lost(self) -> bool:
        """Whether the run may not go on. What another process revoked is known to the first look at once, and to the
        further ones after `AGE_S`.

        Raises:
            JournalError: nobody can tell now.
        """
        if not all(lets_in() for lets_in in self._lets_in):
            return True
        if self._store is None:
            return False
        key = await self._revoked.find(self._store, self._key_id, self._age_s)
        self._age_s = AGE_S
        # The id may be that of a program at an issuer of tokens, which has nothing to do with a key of this name.
        return key is not None and User(key.tenant, key.principal or key.id) == self._user
