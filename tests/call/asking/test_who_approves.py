"""Who approves: another person than the one who began the run, and the person who really answered."""

from __future__ import annotations

from pathlib import Path

import pytest

from actum import Agent, Answer, Rule, Rules, ToolCall
from actum.call.asking.inbox import answer_pending
from actum.core.errors import UsageError
from actum.core.event import RunResult
from actum.core.run.record import InputGiven
from actum.journal.audit import audit
from actum.storage.sqlite import SQLiteJournal
from actum.testing import ScriptedModel
from tests.till import Till, pays_once

pytestmark = pytest.mark.row("C4")


async def asked(rule: Rule, principal: str = "ann") -> tuple[Agent, Till, RunResult]:
    """An agent whose payment stands under a rule, and its run on behalf of a person."""
    till = Till(approval=False)
    agent = Agent(ScriptedModel(pays_once), [till.pay], policy=Rules(rule))
    return agent, till, await agent.run("Pay", principal=principal)


@pytest.mark.parametrize("rule", [Rule("ask", not_self=True), Rule("ask", quorum=2)], ids=["not_self", "quorum"])
async def test_whoever_began_a_run_does_not_approve_its_calls(rule: Rule) -> None:
    agent, till, paused = await asked(rule)
    (pending,) = paused.pending
    assert pending.not_by == "ann"
    with pytest.raises(
        UsageError, match=r"ann may not approve .*: the run is on behalf of ann, and another person has"
    ):
        await agent.resume(paused.run_id, {pending.id: Answer("approve", by="ann")})
    others = ("bob", "cy")[: rule.quorum]
    for by in others:
        assert till.paid == []
        await agent.resume(paused.run_id, {pending.id: Answer("approve", by=by)})
    assert till.paid == [1]


async def test_whoever_began_a_run_may_still_say_no() -> None:
    agent, till, paused = await asked(Rule("ask", not_self=True))
    result = await agent.resume(paused.run_id, {paused.pending[0].id: Answer("deny", by="ann")})
    assert (result.calls[0][1].text, till.paid) == ("A person said no to this call.", [])


@pytest.mark.parametrize(
    ("rule", "principal", "told"),
    [
        (Rule("ask", not_self=True), "", "who began it is not known"),
        (Rule("ask", approvers=["ann"], not_self=True), "ann", "there are not enough others who may"),
        (Rule("ask", approvers=["ann", "bob"], quorum=2), "ann", "there are not enough others who may"),
    ],
)
async def test_where_no_other_person_can_approve_the_call_is_denied(rule: Rule, principal: str, told: str) -> None:
    _, till, result = await asked(rule, principal)
    assert (result.status, till.paid) == ("done", [])
    assert told in result.calls[0][1].text


async def test_whoever_began_a_run_is_no_approver_by_a_policy_above_either() -> None:
    till = Till(approval=False)
    below = Agent(ScriptedModel(pays_once), [till.pay], name="below", policy=Rules(Rule("ask", approvers=["ann"])))
    hands_on = [ToolCall("1", "below", {"task": "Pay"})]
    above = Agent(
        ScriptedModel(lambda request: "Done." if len(request.messages) > 1 else hands_on),
        [below],
        policy=Rules(Rule("allow", tools="below"), Rule("ask", tools="pay", not_self=True)),
    )
    paused = await above.run("Pay", principal="ann")
    (pending,) = paused.pending
    assert [quorum.not_by for quorum in pending.all_quorums] == ["ann", ""]
    await above.resume(paused.run_id, {pending.id: Answer("approve", by="ann")})
    assert till.paid == []


@pytest.mark.parametrize("is_shared", [False, True])
async def test_a_claimed_name_counts_only_where_the_journal_is_one_persons_own(tmp_path: Path, is_shared: bool) -> None:
    place = tmp_path / "runs.db"
    place.touch(0o660 if is_shared else 0o600)
    place.chmod(0o660 if is_shared else 0o600)
    till, journal = Till(approval=False), SQLiteJournal(place)
    policy = Rules(Rule("ask", approvers=["bob"]))
    agent = Agent(ScriptedModel(pays_once), [till.pay], policy=policy, journal=journal)
    paused = await agent.run("Pay")
    answer = Answer("approve", by="root", claimed="bob")
    if is_shared:
        with pytest.raises(UsageError, match="root may not answer"):
            await answer_pending(journal, paused.pending[0].id, answer)
    else:
        await answer_pending(journal, paused.pending[0].id, answer)
        assert (await agent.resume(paused.run_id)).status == "done"
        (given,) = [e.record for e in await journal.read(paused.run_id) if isinstance(e.record, InputGiven)]
        assert (given.by, given.claimed, given.as_claimed) == ("root", "bob", True)
        assert 'root, as "bob" (claimed)' in [line.by async for line in audit(journal)]
    assert till.paid == ([] if is_shared else [1])
    await journal.close()


async def test_one_person_with_two_claimed_names_is_one_person_in_a_shared_journal(tmp_path: Path) -> None:
    place = tmp_path / "runs.db"
    place.touch()
    place.chmod(0o660)
    till, journal = Till(approval=False), SQLiteJournal(place)
    agent = Agent(ScriptedModel(pays_once), [till.pay], policy=Rules(Rule("ask", quorum=2)), journal=journal)
    paused = await agent.run("Pay", principal="ann")
    ask = paused.pending[0].id
    await answer_pending(journal, ask, Answer("approve", by="bob", claimed="bob"))
    with pytest.raises(UsageError, match=r"bob has agreed to .* already"):
        await answer_pending(journal, ask, Answer("approve", by="bob", claimed="cy"))
    with pytest.raises(UsageError, match="ann may not approve"):
        await answer_pending(journal, ask, Answer("approve", by="ann", claimed="cy"))
    assert till.paid == []
    await journal.close()
