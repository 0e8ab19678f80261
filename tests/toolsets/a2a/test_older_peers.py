"""Our client with servers of the SDK's older lines, 0.2.16 and 0.3.26, each in an environment of its own."""

from __future__ import annotations

from pathlib import Path

from actum import Agent
from actum.core.policy import Answer
from actum.testing import ScriptedModel
from actum.toolsets.a2a import A2AToolset
from tests.peers import install
from tests.peers.programs import free_port, listening
from tests.toolsets.a2a.test_toolset import ALLOWED, asking, configured, last_result, outcome

SERVER = Path(install.__file__).parent / "servers" / "a2a_older.py"


async def test_servers_of_0_2_and_0_3_answer_ask_and_outlive_a_call(tmp_path: Path) -> None:
    for number, (environment, streams) in enumerate(
        [("a2a02", "streams"), ("a2a02", "plain"), ("a2a03", "streams"), ("a2a03", "plain")]
    ):
        case = (environment, streams)
        port = free_port()
        python = str(install.py_bin(environment, "python"))
        with listening(python, str(SERVER), str(port), streams, says="Uvicorn running"):
            origin, path = f"http://127.0.0.1:{port}", str(tmp_path / f"{number}.db")
            async with A2AToolset(configured(origin)) as toolset:
                assert (await outcome(toolset, "hello")).text.startswith("Hello, world."), case
                assert (await outcome(toolset, "slow")).text.startswith("Hello, world."), case
                model = ScriptedModel(asking("ask"))
                agent = Agent(model, tools=[toolset], policy=ALLOWED, journal=path)
                waits = await agent.run("Ask.")
                (pending,) = waits.pending
                assert pending.message == "Which city?", case
                done = await agent.resume(waits.run_id, {pending.id: Answer("answer", arguments={"answer": "Oslo"})})
                assert done.status == "done", (case, done)
                assert "Oslo is sunny." in last_result(model).text, case
