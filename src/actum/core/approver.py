"""Who may answer a question: how a rule names a person, and whether a person counts under such a name.

A rule names an approver in one of four forms. Roles and users belong to a tenant; where a form names no tenant, the
tenant of the run is meant.

| form | who counts |
|---|---|
| `ada`, `user:ada` | the user `ada` of the run's tenant |
| `role:boss` | every user of the run's tenant who comes in with this role |
| `ada@north` | the user `ada` of the tenant `north` |

Names of users may hold an `@` as well, such as addresses of mail. `user:ada@example.com` always is the user of this
name in the run's tenant. Without `user:` such a name counts for a user without a tenant where the run has none, either.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

ROLE, USER, AT = "role:", "user:", "@"


class Voter(NamedTuple):
    """A person who answers, as one run sees that person.

    Attributes:
        name: the person, for people: with the tenant where it is not the run's.
        names: under which names among the approvers of a rule the person counts.
        own_name: the name as a user of the run's tenant; empty where the person is a user of another tenant.
    """

    name: str
    names: frozenset[str]
    own_name: str

    def is_among(self, approvers: Collection[str]) -> bool:
        """Whether the person is one of these approvers. Everybody is, where nobody is named."""
        return not approvers or not self.names.isdisjoint(approvers)


def voter(principal: str, *, tenant: str | None, roles: Collection[str] = (), run_tenant: str) -> Voter:
    """A person who answers a question of a run.

    Args:
        principal: the name of the person.
        tenant: the tenant that the person belongs to; None where a program vouches for the name alone, so that the name
            counts as one of the run's tenant.
        roles: the roles of the person.
        run_tenant: the tenant of the run.

    >>> sorted(voter("ada", tenant="north", roles=["boss"], run_tenant="north").names)
    ['ada', 'ada@north', 'role:boss', 'user:ada']
    >>> sorted(voter("ada", tenant="north", roles=["boss"], run_tenant="south").names)
    ['ada@north']
    """
    names = {f"{principal}{AT}{tenant}"} if tenant else set()
    if tenant is not None and tenant != run_tenant:
        near = "" if tenant else principal  # who has no tenant may be the user of the run under the same name
        return Voter(f"{principal}{AT}{tenant}" if tenant else principal, frozenset(names), near)
    names |= {f"{USER}{principal}", *(f"{ROLE}{role}" for role in roles)}
    if not principal.startswith((ROLE, USER)) and not (AT in principal and tenant):
        names.add(principal)
    return Voter(principal, frozenset(names), principal)


def claimed_voter(claimed: str, run_tenant: str) -> Voter:
    """A person by the name that somebody claims at the command line: `ada`, or `ada@north` of a tenant.

    Args:
        claimed: the name.
        run_tenant: the tenant of the run.
    """
    if run_tenant and claimed.endswith(f"{AT}{run_tenant}"):
        return voter(claimed.removesuffix(f"{AT}{run_tenant}"), tenant=run_tenant, run_tenant=run_tenant)
    principal, _, tenant = claimed.rpartition(AT)
    if run_tenant and principal and tenant:
        return voter(principal, tenant=tenant, run_tenant=run_tenant)
    return voter(claimed, tenant="", run_tenant=run_tenant)


def is_approver(name: str) -> bool:
    """Whether a text has one of the forms in which a rule names an approver."""
    return bool(name.removeprefix(ROLE).removeprefix(USER).strip()) if name.startswith((ROLE, USER)) else bool(name)
