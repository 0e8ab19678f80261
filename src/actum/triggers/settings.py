"""`[triggers.NAME]` of the settings."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct, field

from ..core.json import JsonObject

SignatureForm = Literal["standard", "github", "stripe", "token"]
"""How the sender of a webhook shows who sent it."""
Missed = Literal["skip", "once", "all"]
"""What becomes of points in time at which no server was there."""


class TriggerTable(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What begins a run: `[triggers.NAME]`.

    With none of `schedule`, `file` and `resource`, the trigger is a webhook: `POST /v1/triggers/NAME`.

    Attributes:
        workflow: the workflow that begins: a file, or a name of `[workflows]`.
        agent: the agent that is asked, by its name in `[agents]`.
        wake: the token of `wait` nodes that go on; a text with references.
        say: what the agent is told; a text with references.
        mandate: what the agent is empowered to do after foreign text, such as the event itself: as `Mandate.of` reads.
        with_: the inputs of the workflow, with references; in the settings it is called `with`. Without it, the data of
            the event are the inputs.
        schedule: when, as a cron expression of five fields.
        zone: the time zone of `schedule`.
        missed: what becomes of points in time at which no server was there: `skip` forgets them, `once` makes up for
            the latest, `all` for each.
        file: the file whose content begins a run when it changes.
        server: the MCP server of `resource`: one that was added with `actum mcp add`, by its name, or an address.
        resource: the address of the resource whose content begins a run when it changes.
        every_s: the seconds after which the resource is read in any case, also where nobody says that it changed.
        signature: how the sender of a webhook shows who sent it; without `secret`, the sender needs a key of the
            server.
        secret: the name of the secret by which a signature is checked; two names while the secret is being changed.
        a2a: the remote agent that sends news of a task, by its name in `[a2a]` or its address. The secret is the token
            that the agent was given with the task.
        id: where the id of an event stands: `header:NAME`, or `body:PATH` such as `body:data.id`. The signature forms
            `standard`, `github` and `stripe` know it themselves. Without an id, each delivery is an event of its own.
        max_age_s: a signature that is older is refused, where the form says how old it is.
        answer: whoever sends the webhook is answered with what came of the run, as far as it ends within `answer_s`.
        answer_s: for how many seconds an answer is waited for.
        per_minute: the most events a minute that begin runs; more are refused (429).
        queued_max: the most tasks of the trigger's principal that may wait; more events are refused (429).
        max_retries: so often a run that failed is tried again.
        principal: on whose behalf the run is; `trigger:NAME` when it is left out.
        tenant: the tenant of the principal.
        roles: the roles of the principal.
    """

    workflow: str = ""
    agent: str = ""
    wake: str = ""
    say: str = ""
    mandate: JsonObject | None = None
    with_: JsonObject | None = field(name="with", default=None)
    schedule: str = ""
    zone: str = "UTC"
    missed: Missed = "once"
    file: str = ""
    server: str = ""
    resource: str = ""
    every_s: float = 60.0
    signature: SignatureForm = "standard"
    secret: str | tuple[str, ...] = ""
    a2a: str = ""
    id: str = ""
    max_age_s: float = 300.0
    answer: bool = False
    answer_s: float = 30.0
    per_minute: int = 60
    queued_max: int = 1_000
    max_retries: int = 3
    principal: str = ""
    tenant: str = ""
    roles: tuple[str, ...] = ()

    @property
    def secrets(self) -> tuple[str, ...]:
        """The names of the secrets that count."""
        return (self.secret,) if isinstance(self.secret, str) and self.secret else tuple(self.secret)

    @property
    def is_webhook(self) -> bool:
        """Whether the events come over HTTP."""
        return not (self.schedule or self.file or self.resource)
