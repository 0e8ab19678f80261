"""At every door: a run under way ends, as a refused one, when its key is revoked or its agent is for others by now."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from actum.core.call import ToolCall
from actum.core.json import JsonObject
from actum.core.message import Reply
from actum.core.run.record import Ended, TaskEnded
from actum.runs.caller_access import ACCESS_REVOKED, AGE_S
from actum.server.keys import make_key, revoke_key
from actum.storage.sqlite import SQLiteJournal
from tests.chat_server import ChatServer, Said
from tests.cli.test_serve import until
from tests.patience import HANGS_S

from .doors import DOORS, Asks, Door, doors_open
from .test_run_endings import FINISHED, squeezed

TOOLS = '''\
import asyncio
from pathlib import Path

from actum import Context, tool

HERE = Path(__file__).parent


@tool(effects={"read"})
async def work(name: str) -> str:
    """Begin, and finish when told to."""
    (HERE / f"begun {name}").touch()
    while not (HERE / "go").exists():
        await asyncio.sleep(0.02)
    (HERE / f"finished {name}").touch()
    return "worked"


@tool(effects={"read"})
def pay() -> str:
    """Pay."""
    (HERE / "paid").touch()
    return "paid"
'''
SETTINGS = """\
model = "{url}#m"
tools = ["tools.py"]
policy = ""
[agents.desk]
tools = ["tools.py"]
"""
SCOPES = ("runs", "tools", "models", "tasks")
"""What the keys allow."""


def answers(request: JsonObject) -> Said:
    """The model works first, under the name that its user says, then pays, then answers."""
    messages = request["messages"]
    assert isinstance(messages, list)
    results = [each for each in messages if isinstance(each, dict) and each["role"] == "tool"]
    said = next(str(each) for each in messages if isinstance(each, dict) and each["role"] == "user")
    name = said[said.index("case-") :].partition("'")[0]
    if not results:
        return Reply.of(calls=[ToolCall("1", "work", {"name": name})])
    return Reply.of(calls=[ToolCall("2", "pay", {})]) if len(results) == 1 else "all is done"


@pytest.mark.row("S3")
@pytest.mark.parametrize("how", ["the key is revoked", "the agent is for others"])
async def test_a_run_under_way_ends_at_every_door_when_its_caller_loses_access(tmp_path: Path, how: str) -> None:
    asks: dict[str, tuple[Door, Asks]] = {}
    for door in DOORS:
        if door.answers == "agent" and not door.keyless:
            for ask in filter(None, (door.ask, door.stream)):
                asks[f"case-{len(asks)}"] = door, ask
    with ChatServer(answers) as model:
        journal = SQLiteJournal(str(tmp_path / "runs.db"))
        async with doors_open(tmp_path, SETTINGS.format(url=model.url), TOOLS) as place:
            keys = {case: await make_key(journal, case, by="root", user=case, scopes=SCOPES) for case in asks}
            under_way = {
                case: asyncio.ensure_future(ask(place, "desk", case, keys[case].text))
                for case, (_, ask) in asks.items()
            }
            await until(lambda: len(list(tmp_path.glob("begun case-*"))) == len(asks))
            if how == "the key is revoked":
                for case in asks:
                    await revoke_key(journal, case, by="root")
                await asyncio.sleep(AGE_S)  # the process that has looked before may learn of it this late
            else:
                file = tmp_path / "actum.toml"
                file.write_text(file.read_text("utf-8").replace("[agents.desk]\n", '[agents.desk]\nroles = ["boss"]\n'))
                narrowed_at = time.monotonic()
                await until(lambda: time.monotonic() > narrowed_at + 1.0)  # it holds in every process by then
            (tmp_path / "go").touch()
            async with asyncio.timeout(HANGS_S):
                told = {case: await each for case, each in under_way.items()}
            await until(lambda: len(list(tmp_path.glob("finished case-*"))) == len(asks))

            async def all_ended() -> bool:
                return all(run.status not in ("running", "queued") for run in await journal.runs(limit=None))

            await until(all_ended)
        lines = [run for run in await journal.runs(limit=None) if run.principal in asks]
        ends = {run.principal: (await journal.read(run.run_id))[-1].record for run in lines}
        await journal.close()
    assert set(ends) == set(asks)
    for case, record in ends.items():
        assert isinstance(record, Ended | TaskEnded), case
        why = record.error if isinstance(record, TaskEnded) else record.reason
        assert why == ACCESS_REVOKED, (asks[case][0].name, record)
    assert not (tmp_path / "paid").exists()
    for case, one in told.items():
        assert "all is done" not in one.text, (asks[case][0].name, one)
        assert not [end for end in FINISHED if squeezed(end) in squeezed(one.text)], (asks[case][0].name, one)
        assert one.status in (0, 16, 200, 401, 403), (asks[case][0].name, one)
