"""Who counts as an approver: names, roles and tenants, and names that look like something else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actum.core.approver import claimed_voter, is_approver, voter
from actum.core.run.pending import Pending, Quorum

NAMES = ["boss", "eva", "role:boss", "user:boss", "boss@north", "boss@south", "@", "boss@", "@north", ""]
TENANTS = ["", "north", "south", "north@south"]


@given(st.sampled_from(NAMES), st.sampled_from(TENANTS), st.sampled_from(TENANTS))
def test_a_name_of_another_tenant_counts_only_where_a_rule_names_the_tenant(name: str, own: str, run: str) -> None:
    person = voter(name, tenant=own, roles=["boss"], run_tenant=run)
    if own == run:
        assert {f"user:{name}", "role:boss"} <= person.names
        assert person.own_name == name
    else:
        assert person.names <= {f"{name}@{own}"}
        assert person.is_among(["boss", "user:boss", "role:boss", f"user:{name}"]) is False


@given(st.sampled_from(NAMES), st.sampled_from(TENANTS[1:]))
def test_no_user_is_taken_for_a_role_or_for_a_user_of_another_tenant(name: str, tenant: str) -> None:
    person = voter(name, tenant=tenant, run_tenant=tenant)
    assert not person.is_among(["role:boss"])
    if name != "boss":
        assert not person.is_among(["boss", "user:boss", f"boss@{tenant}"])
    assert not person.is_among([f"boss@{'south' if tenant == 'north' else 'north'}"])


def test_a_name_with_an_at_counts_where_nobody_has_a_tenant() -> None:
    ann = voter("ann@example.com", tenant="", run_tenant="")
    assert ann.is_among(["ann@example.com"])
    assert ann.is_among(["user:ann@example.com"])
    north = voter("ann@example.com", tenant="north", run_tenant="north")
    assert (north.is_among(["ann@example.com"]), north.is_among(["user:ann@example.com"])) == (False, True)


@pytest.mark.parametrize(
    ("claimed", "run", "counts"),
    [
        ("boss", "", True),
        ("boss", "north", False),
        ("boss@north", "north", True),
        ("boss@south", "north", False),
        ("role:boss", "", False),
        ("user:boss", "", False),
    ],
)
def test_a_name_that_is_claimed_at_the_command_line_says_its_tenant(claimed: str, run: str, counts: bool) -> None:
    assert claimed_voter(claimed, run).is_among(["boss"]) is counts
    assert not claimed_voter(claimed, run).is_among(["role:boss"])


def test_two_persons_of_one_name_are_two_and_one_person_is_one() -> None:
    both = Quorum(("boss", "boss@south"), 2)
    north, south = (voter("boss", tenant=tenant, run_tenant="north") for tenant in ("north", "south"))
    assert (both.left([north]), both.left([north, south]), north.name != south.name) == (1, 0, True)


def test_whoever_the_run_is_for_is_kept_out_and_a_namesake_of_another_tenant_is_not() -> None:
    asked = Pending("ask", "approval", "", approvers=("ann@south", "ann@north"), not_by="ann")
    own, other, keyless = (voter("ann", tenant=tenant, run_tenant="north") for tenant in ("north", "south", ""))
    assert [asked.may_approve(each) for each in (own, other, keyless)] == [False, True, False]
    assert Quorum(asked.approvers, 1, "ann").left([own]) == 1
    assert Quorum(asked.approvers, 1, "ann").left([other]) == 0


def test_what_was_asked_of_the_users_of_a_role_holds_when_the_role_is_asked_for() -> None:
    asked = Pending("ask", "approval", "", approvers=("bob", "carol"))
    assert asked.includes([Quorum(("role:manager", "bob", "carol"))])
    assert not asked.includes([Quorum(("bob",))])
    assert not Pending("ask", "approval", "").includes([Quorum(("bob",))])


def test_the_forms_of_an_approver() -> None:
    assert all(map(is_approver, ("ada", "role:boss", "user:ada", "ada@north")))
    assert not any(map(is_approver, ("", "role:", "user:", "role: ")))
