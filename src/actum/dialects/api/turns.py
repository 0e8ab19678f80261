"""Messages for APIs in which user and model take turns: what one side says in a row becomes one message. Linear.

Each piece begins with what ends the message before it, so that pieces which were written once are only put together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

_encode = msgspec.json.Encoder().encode


class Turns:
    """Writes what is said, in order, as pieces for `joined`.

    Args:
        field: how the API calls the list of what a message holds.
    """

    def __init__(self, field: str) -> None:
        self._field = field.encode()
        self._open = ""

    def piece(self, role: str, items: Sequence[Mapping[str, object]], *, apart: str = "") -> bytes:
        """More that a role says: in its last message, if nobody spoke since; nothing where there are no items.

        Args:
            role: who says it.
            items: what is said.
            apart: only what has the same word here is joined.
        """
        if not items:
            return b""
        said = _encode(items)[1:-1]
        who = f"{role} {apart}"
        if who == self._open:
            return b"," + said
        before = b"]}," if self._open else b""
        self._open = who
        return b'%s{"role":"%s","%s":[%s' % (before, role.encode(), self._field, said)


def joined(pieces: Iterable[bytes]) -> msgspec.Raw:
    """The list of messages that pieces make."""
    said = b"".join(pieces)
    return msgspec.Raw(b"[%s]}]" % said if said else b"[]")
