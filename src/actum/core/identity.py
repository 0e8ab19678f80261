"""`Identity`: the user on whose behalf a request is made, with roles and scopes.

The text of a key or token is never part of an `Identity`. How a key or token is checked is in `server/verifier.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import Literal, TypeAlias

import msgspec
from msgspec import Struct

from .approver import Voter, voter
from .policy import Answer
from .user import User

LetsIn: TypeAlias = "Callable[[Identity, str], bool]"
"""Whether a caller may use the agent of a name."""
Usable = Literal["tool", "model", "agent"]
"""What a key can be made for."""


class Identity(Struct, frozen=True, kw_only=True):
    """The user on whose behalf a client speaks, and what the client may do.

    Attributes:
        principal: the user.
        roles: the roles of the user.
        key_id: the id of the key, or of the program, that made the request; never the text of a token. For the record.
        scopes: what the token allows.
        tenant: the tenant that the user belongs to; empty where there is only one tenant.
        issuer: who granted the token; empty for a key of our own. Two issuers may use one name for two users.
        speaks_for: `user` where the operator trusts the client to say only what its user said: then the arguments of
            its calls count as the user's words. Otherwise they count as the client's own, whose model may have chosen
            them. At the models door, words of the role `user` are the user's, unless this is `program`: then the client
            is a program, and the words are the client's own.
        hang_up: what becomes of a run when the client hangs up that asked for it at the models door: it goes on, or
            `end`.
        personal: whether one person alone has this key: then the memory of this person works at every door.
        tools, models, agents: patterns of the names that the user may use with this key, such as `crm_*`; all names
            when empty. What an agent does on the way is the agent's affair: its own tools are not looked up here.
        session: the id of the session of a browser in which the request was made; empty for any other request.
    """

    principal: str = ""
    roles: tuple[str, ...] = ()
    key_id: str = ""
    scopes: tuple[str, ...] = ()
    tenant: str = ""
    issuer: str = ""
    speaks_for: Literal["", "user", "program"] = ""
    hang_up: Literal["", "end"] = ""
    personal: bool = False
    tools: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    session: str = ""

    @property
    def is_one_person(self) -> bool:
        """Whether one person is behind the request: somebody who logged in or has a personal key, or the only user
        where no key is wanted. Behind any other key there may be many people.
        """
        return self.personal or not self.key_id or bool(self.session or self.issuer)

    def may_use(self, kind: Usable, name: str) -> bool:
        """Whether this key may use a tool, a model or an agent, as far as that is not the policy's to say.

        Args:
            kind: what it is.
            name: the name of it. Capital and small letters are different letters.

        >>> Identity(tools=("crm_*",)).may_use("tool", "crm_find"), Identity().may_use("tool", "pay")
        (True, True)
        """
        patterns = self.tools if kind == "tool" else self.models if kind == "model" else self.agents
        return not patterns or any(fnmatchcase(name, pattern) for pattern in patterns)

    @property
    def user(self) -> User:
        """The user, who is a principal of a tenant."""
        return User(self.tenant, self.principal)

    def vouched(self, answer: Answer) -> Answer:
        """An answer with this user's principal, tenant and roles put in."""
        return msgspec.structs.replace(
            answer, by=self.principal or answer.by, tenant=self.tenant, roles=self.roles, claimed=""
        )

    def voter(self, run_tenant: str) -> Voter:
        """This user, as rules about the approvers of a run see the user.

        Args:
            run_tenant: the tenant of the run.
        """
        return voter(self.principal or "user", tenant=self.tenant, roles=self.roles, run_tenant=run_tenant)

    def without_scopes(self) -> Identity:
        """The same user and program, whatever this token allows.

        A renewed token may have other scopes. To recognise a client again, compare identities without their scopes.
        """
        return msgspec.structs.replace(self, scopes=()) if self.scopes else self
