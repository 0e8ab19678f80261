"""Prompts of MCP servers, as the commands of a chat: `/desk:review code="x = 1"`."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ...core.call import MediaPart, TextPart
from ...core.errors import ActumError, UsageError
from ...core.language.sentence import Sentence
from ...core.message import Reply, UserMessage
from ...protocols.mcp.offer import PromptOffer

if TYPE_CHECKING:
    from ...toolsets.mcp.toolset import McpToolset


PROMPTS_S = 10.0
"""Seconds for which a server is waited for that may have prompts."""


class Prompts:
    """What servers offer to begin a turn with.

    Args:
        servers: the toolset of each by its name.
    """

    def __init__(self, servers: Mapping[str, McpToolset]) -> None:
        self._servers = servers

    async def list(self) -> dict[str, tuple[McpToolset, PromptOffer]]:
        """Each by the word that it is asked for with. A server that can not be had offers none."""
        listed = await asyncio.gather(*map(_offered, self._servers.values()))
        return {
            "/" + "-".join(f"{toolset.server.name}:{prompt.name}".split()): (toolset, prompt)
            for toolset, prompts in zip(self._servers.values(), listed, strict=True)
            for prompt in prompts
        }

    async def fill(self, word: str, typed: str) -> UserMessage | None:
        """The message that a prompt makes; None where there is none of this word.

        Args:
            word: such as `/desk:review`.
            typed: `name=value ...` as a shell would read it. Of a prompt with one argument, its value as it is.

        Raises:
            UsageError: an argument is missing, or there is none of a name.
            CallError: the server does not give it.
        """
        found = (await self.list()).get(word)
        if found is None:
            return None
        toolset, prompt = found
        messages = await toolset.prompt(prompt.name, _arguments(word, prompt, typed))
        parts = [part for each in messages if isinstance(each, UserMessage | Reply) for part in each.content]
        return UserMessage(tuple(part for part in parts if isinstance(part, TextPart | MediaPart)), "tool")


def usage(prompt: PromptOffer) -> str:
    """What a prompt is for, and what it takes: `Review code. code=… [style=…]`."""
    takes = [f"{each.name}=…" if each.required else f"[{each.name}=…]" for each in prompt.arguments]
    return " ".join([prompt.title or prompt.description, *takes]).strip()


async def _offered(toolset: McpToolset) -> list[PromptOffer]:
    if toolset.offers is not None and "prompts" not in toolset.offers:
        return []
    try:
        async with asyncio.timeout(PROMPTS_S):
            return await toolset.prompts()
    except (ActumError, TimeoutError):  # a server that can not be had offers none
        return []


def _arguments(word: str, prompt: PromptOffer, typed: str) -> dict[str, str]:
    known = [each.name for each in prompt.arguments]
    if len(known) == 1 and typed and not typed.startswith(f"{known[0]}="):
        return {known[0]: typed}
    try:
        pairs = [piece.partition("=") for piece in shlex.split(typed)]
    except ValueError as error:
        raise UsageError("{word}: {why}", word=word, why=error) from None
    for name, equals, _ in pairs:
        if not equals or name not in known:
            takes = Sentence("it takes {names}", names=", ".join(known)) if known else Sentence("it takes nothing")
            raise UsageError(
                '{word}: there is no argument {name!r}; {takes}, as in name="some text"',
                word=word,
                name=name,
                takes=takes,
            )
    given = {name: value for name, _, value in pairs}
    missing = [each.name for each in prompt.arguments if each.required and each.name not in given]
    if missing:
        raise UsageError(
            '{word}: {missing} is missing: {word} {first_missing}="…"',
            word=word,
            missing=", ".join(missing),
            first_missing=missing[0],
        )
    return given
