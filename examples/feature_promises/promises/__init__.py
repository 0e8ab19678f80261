"""Promises: a feature without a table. A run that has promised something goes on only where the promise can be read."""

from msgspec import Struct

from actum import Context, tool
from actum.features import Feature


class Promised(Struct, frozen=True, tag="promised"):
    what: str


@tool(effects={"write"})
async def promise(what: str, context: Context) -> str:
    """Promise something to the user.

    Args:
        what: What is promised.
    """
    context.note(Promised(what), needed=True)
    confirmed = await context.elicit(f"Do you accept this promise: {what}?")
    return f"{confirmed.action}: {what}"


FEATURE = Feature(name="promises", title="Promises to the user.", records=(Promised,), tools=lambda: [promise])
