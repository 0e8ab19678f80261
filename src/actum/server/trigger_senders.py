"""`TriggerSenders`: checks who sends an event to a trigger.

The settings of the trigger say which senders are let in:

    a secret    a sender that signs with the secret, or shows it, in the form that the trigger names
    a2a         a remote agent that sends news of a task: it shows the secret as the token of the task, and may sign
    neither     a client with a key of the server that has the scope `runs`
"""

from __future__ import annotations

import hmac
import logging
from collections.abc import Callable, Mapping, Sequence

from starlette.requests import Request
from starlette.types import Scope

from ..features.refusal import Refusal
from ..protocols.a2a.remote_agent import RemoteAgent
from ..triggers.intake import TriggerIntake
from ..triggers.settings import TriggerTable
from ..triggers.signature import BadSignature, bearer_of, check_signature
from .news_signature import TOKEN, NewsSignatures, shown_signature
from .paths import OtherPath
from .route_group import identity_of
from .scopes import allows

log = logging.getLogger("actum.server.triggers")

SCOPE = "runs"
_SHOWN = "actum.trigger"
"""Under this key the scope of a request holds the header with the token of a sender."""


class TriggerSenders:
    """Checks the senders of events.

    Args:
        intake: knows the triggers.
        secrets: the values of the secrets of a trigger, by its name; asked for each event, since secrets change.
        agents: the remote agents of triggers that take news of their tasks, by the names of the triggers.
        signatures: checks who signed news; None where no trigger takes any.
    """

    def __init__(
        self,
        intake: TriggerIntake,
        secrets: Callable[[str], Sequence[str]],
        agents: Mapping[str, RemoteAgent],
        signatures: NewsSignatures | None,
    ) -> None:
        self._intake = intake
        self._secrets = secrets
        self._agents = agents
        self._signatures = signatures

    def hide_token(self, scope: Scope) -> None:
        """The token of a sender stands where a key of the server would stand, and is no key: the application must not
        see the token, or it would refuse the request.
        """
        table = self._intake.triggers.get(str(scope["path"]).removeprefix(f"{OtherPath.TRIGGERS}/"))
        if table is not None and table.is_webhook and table.secrets and (table.a2a or table.signature == "token"):
            shown = [value for key, value in scope["headers"] if key == b"authorization"]
            scope["headers"] = [pair for pair in scope["headers"] if pair[0] != b"authorization"]
            scope[_SHOWN] = shown[0].decode("latin-1") if len(shown) == 1 else ""

    def headers_of(self, request: Request) -> dict[str, str]:
        """The headers of a request, by lower-case names. A header that comes twice counts as one that is not there:
        nobody can tell which of the two was signed, or is the id.
        """
        found: dict[str, str] = {}
        twice: set[str] = set()
        for key, value in request.headers.items():
            name = key.lower()
            (twice.add(name) if name in found else found.setdefault(name, value))
        if hidden := request.scope.get(_SHOWN, ""):
            found["authorization"] = hidden
        return {name: value for name, value in found.items() if name not in twice}

    async def check(
        self, name: str, table: TriggerTable, headers: Mapping[str, str], body: bytes, request: Request
    ) -> None:
        """Whether the sender may tell a trigger of an event.

        Args:
            name: of the trigger.
            table: its settings.
            headers: of `headers_of`.
            body: as it came.
            request: the request.

        Raises:
            Refusal: the event comes from somebody who may not.
        """
        if not table.secrets:
            self._check_key(table, request)
            return
        secrets = [secret for secret in self._secrets(name) if secret]
        if not secrets:
            log.error("trigger %s: there is no secret %r, so nobody can tell of an event", name, table.secrets[0])
            raise Refusal(401, "signature", "The signature can not be checked here.")
        try:
            if table.a2a:
                await self._check_news(name, secrets, headers, body)
            else:
                now = self._intake.clock.now()
                check_signature(table.signature, secrets, headers, body, now=now, max_age_s=table.max_age_s)
        except BadSignature as bad:
            log.warning("trigger %s: refused: %s", name, bad)
            raise Refusal(401, "signature", "The signature is missing, too old, or does not fit.") from None

    def _check_key(self, table: TriggerTable, request: Request) -> None:
        who = identity_of(request.scope)
        if not allows(who, (SCOPE,)):
            raise Refusal(403, "scope", "This needs a key with the scope `{needed}`.", scope=(SCOPE,), needed=SCOPE)
        if who.tenant != table.tenant or (table.agent and not who.may_use("agent", table.agent)):
            raise unknown_trigger()  # a trigger of others can not be told from one that is not there

    async def _check_news(self, name: str, secrets: Sequence[str], headers: Mapping[str, str], body: bytes) -> None:
        """Raises:
        BadSignature: the token is wrong, or the signature is not of a key of the agent.
        """
        authorization = headers.get("authorization", "")
        signed = shown_signature(headers, authorization)
        shown = headers.get(TOKEN, "") or ("" if signed else bearer_of(authorization))
        if not any(hmac.compare_digest(shown.encode(), secret.encode()) for secret in secrets):
            raise BadSignature("the token is missing or does not fit")
        agent = self._agents[name]
        if signed and (
            self._signatures is None or not await self._signatures.fits(signed, body, agent.url, agent.key_hosts)
        ):
            raise BadSignature("the news are signed by nobody who may")


def unknown_trigger() -> Refusal:
    """The answer for a trigger that does not exist, or not for this caller."""
    return Refusal(404, "unknown_trigger", "There is no such trigger.")
