"""`Mandate`: what a user's request empowers an agent to do, and the record of one that was made.

How a mandate is read and asked for is in `policy.mandate`; what rests on it, in `policy.defence`.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Literal

from msgspec import Struct

from ..budget import ZERO
from ..json import JsonObject, dumps
from ..message import Usage


class MandatedCall(Struct, frozen=True, omit_defaults=True):
    """A call that the user's request calls for.

    Attributes:
        tool: the name of the tool.
        arguments: what the request fixes. Arguments that are left out are open.
    """

    tool: str
    arguments: JsonObject = {}

    def __str__(self) -> str:
        fixed = ", ".join(f"{name}={dumps(value)}" for name, value in self.arguments.items())
        return f"{self.tool}({fixed})"


MadeBy = Literal["caller", "model", "nobody"]
"""Who has made a mandate: the caller that began the run, the run's model, or nobody, so that it is empty."""


class MandateMade(Struct, frozen=True, tag="mandate_made", omit_defaults=True):
    """A mandate was made for the words of the user that were said by then. On record before anything rests on it.

    Attributes:
        calls: the calls; none where the mandate is empty.
        by: who made it.
        message: how many messages of the user the conversation had.
        fault: why the mandate is empty, where what the model said is none.
        usage: the tokens that the model used.
        cost: money, where the model's price is known.
        elapsed: seconds since the run began.
        cause: the number of the entry whose calls were being made then.
    """

    calls: tuple[MandatedCall, ...]
    by: MadeBy
    message: int
    fault: str = ""
    usage: Usage = Usage()
    cost: Decimal = ZERO
    elapsed: float = 0.0
    cause: int = -1

    @property
    def line(self) -> str:
        """What was asked for, on one line."""
        told = "; ".join(map(str, self.calls)) or "nothing that changes anything"
        return f"{told} ({self.fault})" if self.fault else told
