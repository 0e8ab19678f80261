"""The header that lists what an answer lacks of what its request asked for. Pure."""

from __future__ import annotations

import json
from collections.abc import Sequence

from ...dialects.losses import Loss

LOST_HEADER = "x-actum-lost"
LOSSES_BYTES_MAX = 2_000
"""A header with more is refused by many a client."""


def lost_header(lost: Sequence[Loss]) -> dict[str, str]:
    """The header; none where nothing was lost."""
    return {LOST_HEADER: told_losses(lost)} if lost else {}


def told_losses(lost: Sequence[Loss]) -> str:
    """The losses in the form of a header or a comment: a list in JSON, in ASCII and one line."""
    listed: list[str] = []
    for number, loss in enumerate(lost):
        more = [*listed, str(loss)]
        if len(json.dumps(more)) > LOSSES_BYTES_MAX:
            return json.dumps([*listed, f"and {len(lost) - number} more"])
        listed = more
    return json.dumps(listed)
