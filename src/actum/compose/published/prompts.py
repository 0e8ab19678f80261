"""Published prompts, for agents that take one as their instructions."""

from __future__ import annotations

from collections.abc import Mapping

from ...agents.declared import PROMPT
from ...core.definition import BadText, TextProblem
from ...core.stored.definitions import Definitions, reference


async def published_prompt(
    definitions: Definitions, named: str, tenant: str, began_with: Mapping[str, int] | None
) -> tuple[str, dict[str, int]]:
    """A published prompt, and the publication that it is.

    Args:
        definitions: where the texts are.
        named: its name; `desk@3` for a version.
        tenant: whose it is.
        began_with: as in `Started.uses`; None for a run that begins.

    Raises:
        BadText: there is none.
    """
    name, number = reference(named)
    key = f"{PROMPT}/{named}"
    number = began_with.get(key, number) if began_with is not None else number
    publication = await definitions.published(PROMPT, name, number, tenant=tenant)
    if publication is None:
        told = f"there is no published prompt {named[:100]!r} here"
        raise BadText([TextProblem(told, hint=f"actum prompts publish {name}.prompt.md", path="instructions")])
    return publication.text, {key: publication.number}
