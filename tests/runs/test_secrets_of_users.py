"""A tool of a run gets the secrets of the user on whose behalf the run acts, and of nobody else."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from actum import Agent, Context, tool
from actum.core.call import ToolCall
from actum.core.secrets.store import SecretValue
from actum.core.user import User
from actum.runs.options import RunOptions
from actum.runs.runner import Runner
from actum.storage.secret_file import SecretFile
from actum.storage.secret_key import GivenKey, SecretKey
from actum.testing import ScriptedModel


@tool(effects={"read"})
async def crm(ctx: Context) -> str:
    """Ask the customers' register, and say the key backwards, which no redaction looks for."""
    await asyncio.sleep(0)
    return ctx.secret("crm_key")[::-1]


@pytest.fixture
def store(tmp_path: Path) -> SecretFile:
    store = SecretFile(tmp_path / "secrets.json", GivenKey(SecretKey(b"0123456789abcdef" * 4, "the test")))
    for owner, value in ((User("", "ann"), "key of ann"), (User("", "bob"), "key of bob"), (User(), "everybody's")):
        store.set("crm_key", SecretValue(value), owner)
    store.set("crm_key", SecretValue("key of ann of north"), User("north", "ann"))
    return store


async def test_runs_of_many_users_at_once_each_get_their_own_secret(store: SecretFile) -> None:
    runner = Runner([crm], secrets=store)
    expected = {"ann": "key of ann", "bob": "key of bob", "eve": "everybody's", "": "everybody's"}
    users = list(expected) * 5

    async def asked(user: str) -> str:
        result = await runner.call([ToolCall("1", "crm", {})], RunOptions(principal=user), by="client")
        return result.calls[0][1].text

    told = await asyncio.gather(*(asked(user) for user in users))
    assert [text[::-1] for text in told] == [expected[user] for user in users]


async def test_a_secret_that_is_set_or_removed_holds_for_the_next_call_and_stands_in_no_record(
    store: SecretFile,
) -> None:
    @tool(effects={"read"})
    def plain(ctx: Context) -> str:
        """Say the key."""
        return ctx.secret("crm_key")

    agent = Agent(
        ScriptedModel(lambda request: "done" if len(request.messages) > 1 else ToolCall("1", "plain", {})),
        [plain],
        secrets=store,
    )
    store.set("crm_key", SecretValue("hunter2-hunter2"), User("", "ann"))
    result = await agent.run("Ask.", principal="ann")
    assert result.calls[0][1].text == "[redacted: secret]"
    store.remove("crm_key", User("", "ann"))
    assert (await agent.run("Ask.", principal="ann")).calls[0][1].text == "[redacted: secret]"
    runs = await agent.journal.runs()
    written = [repr(await agent.journal.read(run.run_id)) for run in runs]
    assert not [text for text in written if "hunter2" in text or "everybody's" in text]


async def test_a_store_that_can_not_be_read_fails_the_call_and_gives_no_other_value(
    store: SecretFile, tmp_path: Path
) -> None:
    other = SecretFile(store.path, GivenKey(SecretKey(b"fedcba9876543210" * 4, "the test")))
    result = await Runner([crm], secrets=other).call(
        [ToolCall("1", "crm", {})], RunOptions(principal="ann"), by="client"
    )
    failure = result.calls[0][1].error
    assert failure is not None
    assert str(tmp_path) not in failure.message


async def test_a_user_of_another_tenant_gets_no_secret_of_the_user_of_the_same_name(store: SecretFile) -> None:
    store.set("crm_key", SecretValue("the north key"), User("north", "ann"))
    store.set("crm_key", SecretValue("the south key"), User("south", "ann"))
    for tenant in ("north", "south"):
        asked = [ToolCall("1", "crm", {})]
        result = await Runner([crm], secrets=store).call(asked, RunOptions(principal="ann", tenant=tenant), by="client")
        assert result.calls[0][1].text == f"the {tenant} key"[::-1]


async def test_a_call_that_asks_for_no_secret_opens_no_store(store: SecretFile) -> None:
    @tool(effects={"read"})
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    store.path.write_bytes(b"damaged")
    result = await Runner([add], secrets=store).call([ToolCall("1", "add", {"a": 1, "b": 2})], by="client")
    assert result.calls[0][1].text == "3"
