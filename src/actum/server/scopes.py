"""What a key can be allowed to do on a server: the table of scopes.

Every route that wants a scope names one of this table. A key without scopes may do nothing for which a server wants a
scope. Knows no protocol and no web server.
"""

from __future__ import annotations

from collections.abc import Collection

from ..core.identity import Identity
from ..core.language.sentence import Sentence
from ..features.refusal import Refusal

SCOPES: dict[str, str] = {
    "tools": "List tools and call them.",
    "runs": "Start runs of agents and read, resume, cancel and fork the caller's own runs; the caller's own sessions.",
    "models": "Ask models, and agents in the place of models, by the APIs of OpenAI, Anthropic and Google.",
    "build": "Save, check and publish the tenant's tools, agents, workflows and prompts; code and secrets need admin.",
    "knowledge": "List the collections of documents that the caller may read, and search in them.",
    "documents": "Make collections of documents; fill, change and remove the caller's own.",
    "approve": "See and answer everything that waits for a person in the caller's tenant.",
    "audit": "Read the audit of the caller's tenant.",
    "metrics": "Read the metrics of the server.",
    "admin": "All of the above, for every user of the caller's tenant.",
}
"""Each scope, and what it allows."""

ALL_SCOPES = tuple(SCOPES)
"""The scopes of a caller who may do everything, such as the user of a server that only this machine can reach."""


def allows(who: Identity, wanted: Collection[str]) -> bool:
    """Whether a caller may use what wants one of these scopes.

    Args:
        who: the caller.
        wanted: the scopes; one of them is enough. Empty where every caller may.

    >>> allows(Identity(scopes=("runs",)), ("runs", "tools")), allows(Identity(), ("runs",))
    (True, False)
    """
    return not wanted or "admin" in who.scopes or any(scope in who.scopes for scope in wanted)


def wants(scope: str, what: str) -> Refusal:
    """The refusal for a request that needs another scope.

    Args:
        scope: the scope that is needed.
        what: for what, such as `to answer this`.
    """
    return Refusal(
        403, "scope", "The scope {needed!r} is needed {what}.", scope=(scope,), needed=scope, what=Sentence(what)
    )


def needs_key(who: Identity, what: str) -> None:
    """What lets others in, or holds for them, is changed over HTTP only where the server wants a key.

    Args:
        who: the caller.
        what: what is to be changed, such as `keys`.

    Raises:
        Refusal: the caller has shown no key, since the server wants none.
    """
    if not who.key_id and not who.issuer:
        raise Refusal(
            403,
            "needs_key",
            "This server wants no key, so {what} can not be changed here: use the command line.",
            what=Sentence(what),
        )
