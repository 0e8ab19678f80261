"""Monty runs small Python code where it is asked for by name; it reaches nothing, and its limits hold."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from actum import Agent, ToolCall
from actum.core.errors import CallError, ResourceLimit, Unavailable, UsageError
from actum.core.holder import Holder
from actum.core.interfaces import Context
from actum.core.process.process_limits import ProcessLimits
from actum.policy.rules import Rule, Rules
from actum.sandbox.jail import Jail, JailLimits
from actum.sandbox.linux import landlock_abi
from actum.testing import ScriptedModel
from actum.toolsets.code import code_tools
from actum.toolsets.monty import MontyRunner
from actum.transport.process_tree import descendants, start_of

from .mcp.test_stdio import until

pytestmark = pytest.mark.skipif(landlock_abi() == 0, reason="this machine has no Landlock: nothing is run")
LIMITS = JailLimits(cpu_seconds=1, seconds=9, memory_bytes=128 << 20)


def context(holder: Holder | None, limits: ProcessLimits | None = None) -> Context:
    return Context(
        run_id="r1",
        call=ToolCall("c1", "run_python", {}),
        key="k",
        attempt=1,
        principal="",
        deps=None,
        attachments={},
        holder=holder,
        process_limits=limits or ProcessLimits(),
    )


@pytest.fixture
async def runner() -> AsyncIterator[MontyRunner]:
    made = MontyRunner(Jail(limits=LIMITS))
    yield made
    await made.close()


async def said(runner: MontyRunner, code: str, mine: Context) -> str:
    """What the code printed and its value, or its error."""
    try:
        output = await runner.run(code, mine)
    except CallError as error:
        return f"{type(error).__name__}: {error.message}"
    value = output.files.get(".value", b"").decode()
    return f"{output.text}|{value}"


async def test_small_code_gives_what_it_prints_and_its_value_and_keeps_nothing(runner: MontyRunner) -> None:
    mine = context(Holder("", "run:r1"))
    for code, wanted in (
        ("print('hi')\n6 * 7", "hi|42"),
        ("import json, re\nrows = [{'a': 1}, {'a': 2}]\nsum(row['a'] for row in rows)", "|3"),
        ("x = 1", "|"),
        ("import sys\nprint('wrong', file=sys.stderr)", "[stderr]\nwrong|"),
        ("def double(n):\n    return 2 * n\ndouble(21)", "|42"),
        ("'é日'", "|'é日'"),
        ("'\ud800'", "|'?'"),
    ):
        assert await said(runner, code, mine) == wanted, code
    assert "NameError" in await said(runner, "x", mine)
    assert "NameError" in await said(runner, "double(1)", mine)


async def test_what_is_attacked_holds_and_the_next_call_works(runner: MontyRunner) -> None:
    mine = context(Holder("", "run:r1"))
    for code, wanted in (
        ("while True: pass", "ResourceLimit: The code was ended at the limit cpu_seconds = 1"),
        ("while True: print('y' * 100_000)", "ResourceLimit: The code was ended at the limit cpu_seconds = 1"),
        ("import time\ntime.sleep(30)", "ResourceLimit: The code was ended at the limit"),
        ("'a' * 10**12", "ResourceLimit: The code was ended at the limit memory_bytes = 134217728"),
        ("x = 'a' * 10**7\nwhile True: x += x", "ResourceLimit: The code was ended at the limit memory_bytes"),
        ("10 ** 10 ** 9", "ResourceLimit: The code was ended at the limit memory_bytes"),
        ("[[]] * 10**7", "ResourceLimit: "),
        ("def f(): return f()\nf()", "RecursionError"),
        ("(" * 50_000, "SyntaxError"),
        ("x = []\nfor _ in range(100_000): x = [x]\nx", "RecursionError"),
        ("x = []\nx.append(x)\nx", "[...]"),
        ("10 ** 5000", "ValueError: Exceeds the limit"),
        ("open('/etc/passwd').read()", "PermissionError"),
        ("open('/proc/self/environ').read()", "PermissionError"),
        ("open('out', 'w').write('x')", "PermissionError"),
        ("import os\nos.listdir('/')", "PermissionError"),
        ("import os\nos.system('true')", "AttributeError"),
        ("import subprocess", "ModuleNotFoundError"),
        ("import socket", "ModuleNotFoundError"),
        ("import ctypes", "ModuleNotFoundError"),
        ("__import__('os')", "NameError"),
        ("().__class__.__base__.__subclasses__()", "AttributeError"),
        ("def (", "SyntaxError"),
        ("raise SystemExit('no')", "SystemExit"),
        ("raise TimeoutError('mine')", "ToolError: The code raised an error"),
    ):
        told = await said(runner, code, mine)
        assert wanted in told, (code[:60], told[:600])
        assert "site-packages" not in told, code[:60]
        assert "session.py" not in told, code[:60]
        assert "root:" not in told
        after = await said(runner, "1 + 1", mine)
        assert after == "|2", (code[:60], after)


async def test_a_long_result_and_a_flood_are_cut(runner: MontyRunner) -> None:
    mine = context(Holder("", "run:r1"))
    output = await runner.run("print('y' * 300_000)\n'x' * 10_000_000", mine)
    assert len(output.said) < 101_000
    assert "200001 bytes are left out" in output.said
    assert output.files[".value"].endswith(b"x\n[9900002 characters are left out]")
    assert len(output.files[".value"]) < 101_000


async def test_a_run_has_a_process_of_its_own_which_ends_with_it_and_is_warm_meanwhile(runner: MontyRunner) -> None:
    before = descendants(os.getpid())
    ann, bob = Holder("ann", "run:r1"), Holder("bob", "run:r2")
    await runner.run("1", context(ann))
    mine = descendants(os.getpid()) - before  # among them one that helps to start and ends of itself
    await runner.run("1", context(bob))
    both = descendants(os.getpid()) - before
    assert both - mine
    for _ in range(20):
        await runner.run("sum(range(100))", context(ann))
    assert descendants(os.getpid()) - before <= both, "no process was begun"
    assert [pid for pid, _ in descendants(os.getpid()) & mine if start_of(pid)]
    ann.end()
    bob.end()
    await until(lambda: not [pid for pid, _ in descendants(os.getpid()) - before if start_of(pid)])
    await runner.run("1", context(None))
    assert not [pid for pid, _ in descendants(os.getpid()) - before if start_of(pid)]


async def test_calls_at_once_and_a_cancelled_call_leave_the_others_whole(runner: MontyRunner) -> None:
    holder = Holder("", "run:r1")
    answers = await asyncio.gather(*(said(runner, f"{number} * 2", context(holder)) for number in range(10)))
    assert answers == [f"|{number * 2}" for number in range(10)]
    endless = asyncio.ensure_future(runner.run("while True: pass", context(holder)))
    await asyncio.sleep(0)
    endless.cancel()
    with pytest.raises(asyncio.CancelledError):
        await endless
    assert await said(runner, "5", context(holder)) == "|5"


async def test_an_operator_lowers_the_limits_and_the_error_names_them(runner: MontyRunner) -> None:
    holder = Holder("", "run:r1")
    lower = ProcessLimits(memory_bytes=96 << 20, cpu_seconds=0.2)
    with pytest.raises(ResourceLimit, match=r"cpu_seconds = 0\.2"):
        await runner.run("while True: pass", context(holder, lower))
    with pytest.raises(ResourceLimit, match=f"memory_bytes = {96 << 20}"):
        await runner.run("'a' * 10**9", context(holder, lower))


async def test_monty_is_taken_only_where_it_is_named() -> None:
    version, before = "import sys\nsys.version", descendants(os.getpid())
    for python, is_monty in (("cpython", False), ("monty", True)):
        tools = code_tools(approval=False, python=python)  # type: ignore[arg-type]
        assert [tool.name for tool in tools] == ["run_python", "run_shell", "run_javascript"]
        assert ("Monty" in tools[0].definition.description) == is_monty
        assert ("session" in str(tools[0].definition.parameters)) != is_monty
        model = ScriptedModel([[ToolCall("c1", "run_python", {"code": version})], "done"])
        result = await Agent(model, tools=tools, policy=Rules(Rule("allow"))).run("Which?")
        assert ("Monty" in result.calls[0][1].text) == is_monty
        await until(lambda: not [pid for pid, _ in descendants(os.getpid()) - before if start_of(pid)])
    with pytest.raises(UsageError, match="the engines are cpython, monty"):
        code_tools(python="pypy")  # type: ignore[arg-type]


async def test_without_the_package_the_tool_is_unavailable_and_names_the_extra(tmp_path: Path) -> None:
    program = """
import asyncio, sys
sys.modules["pydantic_monty"] = None
from actum.sandbox.jail import Jail
from actum.toolsets.monty import MontyRunner
try:
    asyncio.run(MontyRunner(Jail()).run("1", None))
except Exception as error:
    print(type(error).__name__, error)
"""
    asked = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, stdout=asyncio.subprocess.PIPE, cwd=tmp_path
    )
    told, _ = await asked.communicate()
    assert told.decode().strip() == (
        f"{Unavailable.__name__} There is no Monty on this machine. Install it: pip install 'actum[monty]'"
    )
