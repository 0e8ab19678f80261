"""Policies that a tenant publishes: they judge each call of the tenant from then on, at every door and every server."""

from __future__ import annotations

from pathlib import Path

import pytest

from actum.core.definition import BadText
from actum.core.errors import UsageError
from actum.policy.published import POLICY_CHARS_MAX, policies_differ, policy_named, read_published
from actum.storage.place import open_journal

from .models.desk import until
from .test_published_agents import publish, scripted
from .test_published_doors import Town, said, town
from .test_published_tools import timesing

ALLOWS = '[[rules]]\nthen = "allow"\nfinal = true\n'
ASKS = f'[[rules]]\nthen = "ask"\ntools = "pay"\nwhen = "args.euros > 10"\napprovers = ["user:ann"]\n\n{ALLOWS}'
DENIES = f'[[rules]]\nthen = "deny"\ntools = "pay"\nreason = "Nobody pays today."\n\n{ALLOWS}'
HOUSE = "published:house"


async def paid(it: Town, euros: int, who: str = "north") -> tuple[int, str]:
    """The status of a call that pays, and what it came to, or the question that it waits for."""
    answer = await it.ask("POST", "/v1/tools/pay/call", {"arguments": {"euros": euros}}, who=who)
    return answer.status_code, answer.text


async def paid_over_mcp(it: Town, who: str) -> str:
    async with it.mcp(who) as client:
        return str((await client.call_tool("pay", {"euros": 1})).content)


@pytest.mark.row("C3")
async def test_a_published_policy_judges_the_calls_of_its_tenant_at_once_at_every_door_and_server(
    tmp_path: Path,
) -> None:
    first, second = open_journal(tmp_path / "runs.db"), open_journal(tmp_path / "runs.db")
    async with (
        town(tmp_path, first, model=scripted(tmp_path), policy=HOUSE) as it,
        town(tmp_path, second, model=scripted(tmp_path), policy=HOUSE) as other,
    ):
        status, told = await paid(it, 1)
        assert (status, "No policy 'house' is published." in told) == (403, True), "without a policy all is denied"
        assert (await it.ask("GET", "/v1/tools")).json()["items"] == [], "and nothing is shown"
        await publish(it, "policies", "house", ASKS)
        for each in (it, other):
            assert (await paid(each, 1))[0] == 200
            assert "paid 1" in await paid_over_mcp(each, "bob")
            assert (await paid(each, 1, "south"))[0] == 403, "a policy is its own tenant's"
        assert "No policy" in await paid_over_mcp(it, "south")
        waiting = await it.ask("POST", "/v1/tools/pay/call", {"arguments": {"euros": 11}})
        assert waiting.status_code == 202, waiting.text
        await publish(it, "tools", "times", timesing(2))
        await publish(it, "agents", "helper2", "name: helper2\ntools: [times]")
        assert "'came': 42" in await said(it, "bob", "helper2", "Go.")

        await publish(other, "policies", "house", f'[[rules]]\nthen = "deny"\ntools = "times"\n{DENIES}')
        question = (await it.ask("GET", "/v1/approvals")).json()["items"][0]
        assert question["arguments"] == {"euros": 11}
        yes = await it.ask("POST", f"/v1/approvals/{question['id']}", {"verdict": "approve"})
        assert yes.status_code == 200, yes.text

        async def is_denied() -> bool:
            return "Nobody pays today." in (await it.ask("GET", f"/v1/runs/{question['run']}")).text

        await until(is_denied)  # a call that waited is judged by the policy that is in use now
        assert (await paid(it, 1))[0] == 403
        names = [each["name"] for each in (await it.ask("GET", "/v1/tools")).json()["items"]]
        assert ("add" in names, "pay" in names, "times" in names) == (True, False, False), names
        assert "'came': 42" not in await said(it, "bob", "helper2", "Go.")
        lines = (await it.ask("GET", "/v1/audit?tool=pay")).json()["items"]
        assert {"house@1:7: allow *", "house@2:4: deny pay"} <= {line["rule"] for line in lines}, lines

        assert (await it.ask("POST", "/v1/policies/house/rollback", {"number": 1})).status_code == 200
        assert (await paid(other, 2))[0] == 200
        assert (await it.ask("POST", "/v1/policies/house/unpublish")).status_code == 200
        assert (await paid(other, 2))[0] == 403
    await first.close()
    await second.close()


async def test_a_difference_of_policies_names_the_calls_on_record_that_are_judged_otherwise(tmp_path: Path) -> None:
    async with town(tmp_path, policy=HOUSE) as it:
        await publish(it, "policies", "house", ALLOWS)
        for euros in (1, 5, 50):
            assert (await paid(it, euros))[0] == 200
        await publish(it, "policies", "house", DENIES)
        assert (await paid(it, 7))[0] == 403
        asked = ASKS.replace("> 10", "> 2") + '[[rules]]\nthen = "deny"\nwhen = "!clean"\n'
        await publish(it, "policies", "house", asked)

        async def decisions(old: int, new: int) -> tuple[dict[str, object], list[tuple[object, ...]]]:
            path = f"/v1/policies/house/diff?old={old}&new={new}"
            changes = (await it.ask("GET", path)).json()["changes"]
            (counts,) = [each for each in changes if each["what"] == "decisions"]
            told = [each for each in changes if each["what"] == "decision"]
            runs = {run["id"] for run in (await it.ask("GET", "/v1/runs?limit=50")).json()["items"]}
            assert {each["node"] for each in told} <= runs
            return counts, [(each["place"], each["old"], each["new"], each["breaks"]) for each in told]

        counts, told = await decisions(1, 2)
        assert (counts["place"], counts["old"], counts["new"]) == ("last 4 calls", {"allow": 4}, {"deny": 4})
        assert told == [("pay", "allow", "deny", "new:1: deny pay")] * 4
        counts, told = await decisions(1, 3)
        assert counts["new"] == {"allow": 1, "ask": 3}
        assert {each[3] for each in told} == {"new:1: ask pay"}
        _, told = await decisions(3, 1)
        assert {each[1:] for each in told} == {("ask", "allow", "")}
        rules = (await it.ask("GET", "/v1/policies/house/diff?old=1&new=2")).json()["changes"]
        assert [(each["kind"], each["place"]) for each in rules if each["what"] == "rule"] == [("added", "rules.1")]
        none = await it.ask("GET", "/v1/policies/house/diff?old=1&new=2", who="south")
        assert none.status_code == 404
        assert (await it.ask("GET", "/v1/policies/house/diff?old=1&new=2", who="builder")).status_code == 403


def test_what_is_no_policy_is_told_with_its_line() -> None:
    for text, line, words in (
        ("x =", 1, "Invalid"),
        ('default = "ask"\n\n[[rules]]\nthen = "deny"\nwhen = "("\n', 3, "no CEL"),
        ('\n[[rules]]\nthen = "deny"\nfoo = 2\n', 2, "unknown field `foo`"),
        ("", 1, "rules or a default"),
        ('actum = "tool/1"\ndefault = "ask"', 1, "actum"),
        ("#" * (POLICY_CHARS_MAX + 1), 1, "more than"),
    ):
        with pytest.raises(BadText) as bad:
            read_published(text)
        (problem,) = bad.value.problems
        assert (problem.line, words in str(problem.message)) == (line, True), problem
    with pytest.raises(UsageError, match="always the one in use; write published:house"):
        policy_named("published:house@2")
    with pytest.raises(BadText):
        policies_differ(ALLOWS, "x =")
