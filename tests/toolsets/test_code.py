"""Code that a model wrote runs in a jail, gives back text, value, files and pictures, and says how it failed."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import Awaitable
from pathlib import Path

import pytest

from actum import Agent, Limits, ToolCall, ToolLimits
from actum.core.attachment import File
from actum.core.call import TextPart
from actum.core.errors import CallError, ResourceLimit, ToolError, Unavailable
from actum.core.holder import Holder
from actum.core.interfaces import Context
from actum.core.message import ToolMessage
from actum.policy.rules import Rule, Rules
from actum.sandbox.jail import Jail, JailLimits
from actum.sandbox.linux import landlock_abi
from actum.testing import ScriptedModel
from actum.toolsets.code import CodeRunner, code_tools, find_node
from actum.toolsets.scripts import ScriptToolset
from actum.transport.process_tree import descendants, start_of
from tests import warm
from tests.patience import HANGS_S

pytestmark = pytest.mark.skipif(landlock_abi() == 0, reason="this machine has no Landlock: nothing is run")

LEAVES = """
import os
import re
os.symlink({secret!r}, "link.txt")
os.mkfifo("pipe.txt")
os.mkdir("a")
os.symlink({folder!r}, "b")
open("a/kept.txt", "w").write("kept")
with open("sparse.bin", "wb") as file:
    file.truncate(100 << 20)
print("left")
6 * 7
"""


async def test_text_value_and_files_come_back_and_links_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("hidden", "ascii")
    code = LEAVES.format(secret=str(tmp_path / "secret"), folder=str(tmp_path))
    text, *files = await CodeRunner(Jail()).run_python(code)
    assert isinstance(text, TextPart)
    assert text.text.startswith("left\n[left out: sparse.bin (104857600 bytes; at most")
    assert text.text.endswith("]\n[value]\n42")
    assert [(file.name, file.data) for file in files if isinstance(file, File)] == [("a/kept.txt", b"kept")]


@pytest.mark.parametrize(
    ("code", "shown", "made"),
    [
        ("open(b'caf\\xe9', 'w').write('x')\nopen(b'caf\\xe8', 'w').write('y')\nNone", "", ["caf%E8", "caf%E9"]),
        (
            "import os\nos.mkdir(b'd\\xff')\nopen(b'd\\xff/a', 'w').write('k')\nos.listdir(b'd\\xff')",
            "['a']",
            ["d%FF/a"],
        ),
        ("class R:\n  def __repr__(self): return 'a\\ud800'\nR()", "a?", []),
        ("class R:\n  def __repr__(self): 1 / 0\nR()", "[a R, whose repr failed: ZeroDivisionError]", []),
    ],
)
@pytest.mark.parametrize("session", ["", "new"])
async def test_a_name_or_a_value_that_can_not_be_written_costs_nothing_else(
    session: str, code: str, shown: str, made: list[str]
) -> None:
    code = code.replace("os.listdir(b'd\\xff')", "[os.fsdecode(name) for name in os.listdir(b'd\\xff')]")
    call = ToolCall("c1", "run_python", {"code": f"print('said')\n{code}", "session": session})
    agent = Agent(ScriptedModel([[call], "Done."]), tools=code_tools(approval=False))
    (told,) = [each.result for each in (await agent.run("Compute.")).messages if isinstance(each, ToolMessage)]
    assert told.error is None, told.error
    assert told.text.startswith(f"said\n[value]\n{shown}" if shown else "said")
    assert sorted(part.name for part in told.media) == made


LARGE = 9 << 20


BIG = f"open('big.bin', 'wb').truncate({LARGE}); open('a', 'w')"
TOLD_BIG = f"[left out: big.bin ({LARGE} bytes; at most 8388608 bytes of a file are taken)]"
SIXTEEN = [f"{number:02}" for number in range(16)]
MANY = "for n in range(18): open(f'{n:02}', 'w').write('x')"
LEFT_OUT: list[tuple[str, str, list[str], str]] = [
    *[(way, BIG, ["a"], TOLD_BIG) for way in ("", "new", "fails", "fails in a session", "ends the session")],
    (
        "",
        MANY,
        SIXTEEN,
        "[left out: 16 (1 bytes; at most 16 files are taken); 17 (1 bytes; at most 16 files are taken)]",
    ),
    ("", "open('given.bin', 'r+b').write(b'y')", [], f"[left out: given.bin ({LARGE} bytes; at most"),
    ("", "os.makedirs('/'.join('d' * 18))\nopen('a', 'w')", ["a"], "d/d (folders below it are too deep)]"),
    ("", "for n in range(2001): os.mkdir(f'{n}')\nopen('a', 'w')", ["a"], "[left out: all that comes after 2000 files"),
    ("", "for n in range(30): open(f'{n}', 'wb').truncate(9 << 20)", [], "; 20 more]"),
    ("new", "open('a', 'w')", ["a"], ""),
    ("", "open('a', 'w')", ["a"], ""),
]
"""How the code ends, what it leaves, the files that come back and what is told of the others."""


@pytest.mark.row("S9")
@pytest.mark.parametrize(("way", "code", "made", "left_out"), LEFT_OUT)
async def test_a_file_that_is_left_out_is_told_with_its_size_and_why(
    way: str, code: str, made: list[str], left_out: str
) -> None:
    runner, given = CodeRunner(Jail()), File(bytes(LARGE), media_type="application/x", name="given.bin")
    code = f"import os\n{code}\n{'1 / 0' if 'fails' in way else 'os._exit(0)' if 'ends' in way else '6 * 7'}"
    session = "new" if "session" in way or way == "new" else ""
    try:
        text, *parts = await runner.run_python(code, given, session, context(None))
        assert isinstance(text, TextPart)
        names, told = [part.name for part in parts if isinstance(part, File)], text.text
        assert "42" in told
    except CallError as error:
        names, told = [part.name for part in error.files], str(error)
    await runner.close()
    assert sorted(names) == made
    assert left_out in told
    assert ("left out" in told) == bool(left_out), told


@pytest.mark.parametrize("python", ["cpython", "session", "javascript", "monty"])
async def test_a_value_that_is_cut_says_so(python: str) -> None:
    runner = CodeRunner(Jail())
    match python:
        case "javascript":
            given = runner.run_javascript("Object.fromEntries([...Array(60000).keys()].map((n) => [n, n]))")
        case "monty":
            given = runner.run_python_in_monty("'x' * 200000", context(None))
        case _:
            given = runner.run_python("'x' * 12_000_000", None, "new" if python == "session" else "", context(None))
    (part, *_) = await given
    await runner.close()
    assert isinstance(part, TextPart)
    assert re.search(r"\[\d+ characters are left out\]$", part.text)
    assert len(part.text) < 101_000


async def test_a_given_file_is_found_by_its_last_name_and_not_given_back() -> None:
    runner, table = CodeRunner(Jail()), File(b"1,2", media_type="text/csv", name="../../table.csv")
    assert [part.text for part in await runner.run_python("print(open('table.csv').read())", table)] == ["1,2"]  # type: ignore[union-attr]
    assert [part.text for part in await runner.run_shell("cat table.csv", table)] == ["1,2"]  # type: ignore[union-attr]


async def test_a_failure_says_what_happened_and_that_nothing_outside_changed() -> None:
    runner = CodeRunner(Jail(limits=JailLimits(memory_bytes=100 << 20, seconds=20)))
    for code, kind, words in (
        ("print('before')\n1/0", ToolError, ("exit code 1", "before", "code.py", "ZeroDivisionError")),
        ("import os; os.abort()", ToolError, ("signal 6",)),
        ("x = (", ToolError, ("SyntaxError",)),
        (
            "print('x', flush=True)\ny = bytearray(150 << 20)\nimport time; time.sleep(60)",
            ResourceLimit,
            ("memory_bytes = 104857600", "x"),
        ),
    ):
        with pytest.raises(CallError) as raised:
            await runner.run_python(code)
        assert isinstance(raised.value, kind), code
        assert all(word in raised.value.message for word in words), raised.value.message
        assert raised.value.effect == "none"
        assert "actum-jail" not in raised.value.message


async def test_javascript_gives_text_value_and_files_and_has_no_network_and_no_files_of_others(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("hidden", "ascii")
    runner = CodeRunner(Jail())
    code = "require('fs').writeFileSync('a.txt', 'made');\nconsole.log('said');\n({sum: 40 + 2})"
    text, *files = await runner.run_javascript(code)
    assert isinstance(text, TextPart)
    assert text.text == "said\n[value]\n{ sum: 42 }"
    assert [(file.name, file.data) for file in files if isinstance(file, File)] == [("a.txt", b"made")]
    waited = await runner.run_javascript("const a = await Promise.resolve(7);\nconsole.log(a)")
    assert [part.text for part in waited] == ["7"]  # type: ignore[union-attr]
    for bad, words in (
        (f"require('fs').readFileSync({str(tmp_path / 'secret')!r})", "EACCES"),
        ("await fetch('http://127.0.0.1:9')", "fetch failed"),
        ("const x = ;", "SyntaxError"),
        ("function f() {\n  throw new Error('mine');\n}\nf()", "code.js:2"),
    ):
        with pytest.raises(ToolError, match=words):
            await runner.run_javascript(bad)


def test_where_there_is_no_node_the_error_names_the_extra() -> None:
    with pytest.raises(Unavailable, match=r"actum\[javascript\]"):
        find_node("", "no_such_package")


async def test_an_error_shows_no_secret_of_the_environment() -> None:
    runner = CodeRunner(Jail(environment={"API_KEY": "sk-12345", "CITY": "Bern"}))
    with pytest.raises(ToolError) as raised:
        await runner.run_python("import os, sys\nsys.exit(os.environ['API_KEY'] + os.environ['CITY'])")
    assert "sk-12345" not in raised.value.message
    assert "[secret]Bern" in raised.value.message


async def test_a_flood_of_output_is_cut_and_does_not_hang() -> None:
    text = (await CodeRunner(Jail()).run_shell("yes | head -c 30000000"))[0]
    assert isinstance(text, TextPart)
    assert len(text.text) < 120_000
    assert "bytes are left out" in text.text


def test_running_code_is_asked_about_and_repeatable_only_where_nothing_outside_changes() -> None:
    for jail, harmless in ((Jail(), True), (Jail(write=("/srv",)), False)):
        for tool in code_tools(jail):
            assert tool.definition.effects == frozenset({"execute"})
            assert tool.definition.idempotent is harmless


async def test_a_run_with_code_waits_for_a_person() -> None:
    model = ScriptedModel([[ToolCall("c1", "run_python", {"code": "1"})]])
    result = await Agent(model, tools=code_tools()).run("Compute.")
    assert result.status == "paused"


@pytest.mark.row("C5")
async def test_what_was_written_before_a_limit_comes_with_the_error_that_names_the_limit(tmp_path: Path) -> None:
    limits = JailLimits(memory_bytes=100 << 20, disk_bytes=4 << 20)
    runner = CodeRunner(Jail(limits=limits))
    # Time in which an interpreter starts and writes a file on a busy machine; the three calls wait at once.
    hasty = CodeRunner(Jail(limits=JailLimits(seconds=6)))
    busy = CodeRunner(Jail(limits=JailLimits(cpu_seconds=0.5)))
    (tmp_path / "slow.py").write_text(
        "# /// tool\n# timeout_s = 6\n# ///\nopen('part.csv', 'w').write('1,2')\nimport time; time.sleep(60)", "ascii"
    )
    scripts = ScriptToolset(tmp_path, Jail(limits=limits))
    await scripts.list_tools()
    writes, sleeps = "open('part.csv', 'w').write('1,2')\n", "import time; time.sleep(60)"
    mine = context(None)
    cases: tuple[tuple[str, Awaitable[object], str], ...] = (
        ("seconds", hasty.run_python(writes + sleeps), "seconds = 6"),
        ("memory", runner.run_python(f"{writes}held = bytearray(150 << 20); {sleeps}"), "memory_bytes"),
        ("cpu", busy.run_python(f"{writes}while True: pass"), "cpu_seconds"),
        ("disk", runner.run_shell("printf 1,2 > part.csv; mkdir d; yes > d/big"), "disk_bytes"),
        ("exit code", runner.run_python(writes + "'a value'\nraise SystemExit(3)"), "exit code 3"),
        ("signal", runner.run_python(writes + "import os; os.abort()"), "signal 6"),
        ("session", runner.run_python(writes + "1/0", None, "new", mine), "session goes on"),
        ("session and seconds", hasty.run_python(writes + sleeps, None, "new", mine), "seconds = 6"),
        (
            "session and memory",
            runner.run_python(f"{writes}h = bytearray(150 << 20); {sleeps}", None, "new", mine),
            "memory_bytes",
        ),
        ("session and its end", runner.run_python(writes + "import os; os._exit(0)", None, "new", mine), "ended the"),
        ("script", scripts.execute(ToolCall("c1", "slow", {}), mine), "seconds = 6"),
    )
    waiting = {name: asyncio.ensure_future(call) for name, call, words in cases if words == "seconds = 6"}
    for name, call, words in cases:
        with pytest.raises(CallError, match=words) as raised:
            await (waiting.get(name) or call)
        found = [(part.name, part.data) for part in raised.value.files if not part.name.startswith("d/")]
        assert found == [("part.csv", b"1,2")], (name, found)
        assert raised.value.effect == "none", name
    await runner.close()
    await hasty.close()


async def test_the_model_hands_a_file_of_an_ended_call_to_the_next_call_and_the_clock_of_the_run_ends_none() -> None:
    jail = Jail(limits=JailLimits(seconds=4))
    tools = code_tools(jail, approval=False)
    assert all((tool.definition.timeout_s or 0) > jail.limits.seconds for tool in tools)
    model = ScriptedModel(
        [
            [ToolCall("c1", "run_python", {"code": "open('part.csv', 'w').write('1,2')\nimport time; time.sleep(60)"})],
            [ToolCall("c2", "run_shell", {"script": "cat part.csv", "file": "att_1"})],
            "done",
        ]
    )
    result = await Agent(model, tools=tools, policy=Rules(Rule("allow"))).run("Compute.")
    first, second = (each for _, each in result.calls)
    assert first.error is not None
    assert first.error.code == "resource_limit"
    assert "seconds = 4" in first.text
    assert "[att_1: text/csv, part.csv, 3 bytes]" in first.text
    assert second.text == "1,2"


def context(holder: Holder | None, run_id: str = "r1") -> Context:
    call = ToolCall("c1", "run_python", {})
    return Context(run_id=run_id, call=call, key="k", attempt=1, principal="", deps=None, attachments={}, holder=holder)


def texts(parts: list[TextPart | File]) -> list[str]:
    return [part.text if isinstance(part, TextPart) else part.name for part in parts]


async def test_a_session_keeps_variables_and_files_and_tells_only_what_is_new() -> None:
    runner, mine = CodeRunner(Jail()), context(None)
    table = File(b"1,2", media_type="text/csv", name="json.py")
    began = texts(await runner.run_python("x = 6\nopen('a.txt', 'w').write('1')\nprint('hi')", table, "new", mine))
    session = began[1].removeprefix("[session ").rstrip("]")
    assert began == ["hi", f"[session {session}]", "a.txt"]
    assert texts(await runner.run_python("x * 7, open('json.py').read()", None, session, mine)) == [
        "[value]\n(42, '1,2')",
        f"[session {session}]",
    ]
    with pytest.raises(ToolError, match=r"the session goes on(.|\n)*code.py(.|\n)*ZeroDivisionError"):
        await runner.run_python("x = 8; 1/0", None, session, mine)
    assert texts(await runner.run_python("x", None, session, mine))[0] == "[value]\n8"
    flood = texts(await runner.run_python("print('y' * 300000)", None, session, mine))[0]
    assert len(flood) < 101_000
    assert "bytes are left out" in flood
    await runner.close()


SYNC = """
import sys
from actum import Agent, ToolCall
from actum.policy.rules import Rule, Rules
from actum.testing import ScriptedModel
from actum.toolsets.code import code_tools
tools = code_tools(approval=False, python=sys.argv[1])
given = {"code": "6 * 7"} | ({"session": "new"} if sys.argv[1] == "cpython" else {})
for _ in range(2):
    model = ScriptedModel([[ToolCall("c1", "run_python", given)], "done"])
    agent = Agent(model, tools=tools, policy=Rules(Rule("allow")))
    print(agent.run_sync("How much?").calls[0][1].text.splitlines()[1])
"""


def test_a_session_is_ended_in_order_where_the_event_loop_ends_with_the_run(tmp_path: Path) -> None:
    for python in ("cpython", "monty"):
        done = warm.run(
            [sys.executable, "-W", "error", "-c", SYNC, python],
            env={**os.environ, "TMPDIR": str(tmp_path)},
            capture_output=True,
            text=True,
            timeout=HANGS_S,
            check=False,
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, "42\n42\n", ""), python
        assert not list(tmp_path.iterdir()), python


async def test_a_session_is_of_its_own_run_and_tenant_and_ends_with_the_run() -> None:
    others = set(descendants(os.getpid()))  # servers that other tests share
    runner = CodeRunner(Jail())
    ann, bob = Holder("ann", "run:r1", tenant="a"), Holder("ann", "run:r1", tenant="b")
    session = texts(await runner.run_python("x = 1", None, "new", context(ann)))[1].removeprefix("[session ")[:-1]
    for other in (context(bob), context(Holder("ann", "run:r2", tenant="a")), context(None)):
        with pytest.raises(ToolError, match="is lost"):
            await runner.run_python("x", None, session, other)
    ann.pause()
    ann.enter()
    assert "[value]\n1" in texts(
        await runner.run_python("x", None, session, context(Holder("ann", "run:r1", tenant="a")))
    )
    before = set(descendants(os.getpid())) - others
    assert before
    ann.end()
    with pytest.raises(ToolError, match="is lost"):
        await runner.run_python("x", None, session, context(ann))
    await runner.close()
    assert not [pid for pid, begun in before if start_of(pid) == begun]


async def test_code_that_ends_floods_forges_or_hangs_a_session_loses_it_and_says_so() -> None:
    runner = CodeRunner(Jail(limits=JailLimits(memory_bytes=100 << 20)))
    hasty = CodeRunner(Jail(limits=JailLimits(seconds=2)))
    mine = context(None)
    for code, kind, words in (
        ("import os; os._exit(3)", ToolError, "ended the session"),
        (
            "import os; os.write(4, b'{}\\n'); [os.write(n, b'nonsense\\n') for n in range(3, 9)]",
            ToolError,
            "ended the session",
        ),
        ("y = bytearray(150 << 20)\nimport time; time.sleep(60)", ResourceLimit, "memory_bytes"),
        ("import time; time.sleep(60)", ResourceLimit, "seconds = 2"),
    ):
        with pytest.raises(CallError, match=words) as raised:
            await (hasty if "seconds" in words else runner).run_python(code, None, "new", mine)
        assert isinstance(raised.value, kind), code
    sessions = [await runner.run_python("1", None, "new", mine) for _ in range(4)]
    assert len(sessions) == 4
    with pytest.raises(ResourceLimit, match="Too many sessions"):
        await runner.run_python("1", None, "new", mine)
    await runner.close()
    await hasty.close()


async def test_an_operators_limits_of_a_tool_hold_for_all_processes_of_its_call_and_are_named(tmp_path: Path) -> None:
    script = '# /// tool\n# description = "Spins."\n# effects = ["execute"]\n# [parameters]\n# ///\n'
    (tmp_path / "spin.py").write_text(f"{script}while True: pass\n", "ascii")
    children = "import subprocess, sys\nruns = [subprocess.Popen([sys.executable, '-c', {!r}]) for _ in range(4)]\n"
    children += "[run.wait() for run in runs]"
    hold = "held = bytearray(40 << 20); import time; time.sleep(20)"
    limits = {
        "run_python": ToolLimits(memory_bytes=100 << 20, cpu_seconds=30),
        "run_*": ToolLimits(memory_bytes=1 << 30, disk_bytes=1 << 20, processes=16),
        "run_shell": ToolLimits(processes=3),
        "spin": ToolLimits(cpu_seconds=1),
        "plain": ToolLimits(memory_bytes=1 << 30),
    }

    def plain() -> str:
        return "made"

    for name, arguments, words in (
        ("run_python", {"code": children.format(hold)}, f"memory_bytes = {100 << 20}"),
        ("run_python", {"code": children.format(hold), "session": "new"}, f"memory_bytes = {100 << 20}"),
        ("run_shell", {"script": "for i in 1 2 3 4 5 6; do sleep 20 & done; wait"}, "processes = 3"),
        ("run_shell", {"script": "head -c 3000000 /dev/zero > big; sleep 20"}, f"disk_bytes = {1 << 20}"),
        ("spin", {}, "cpu_seconds = 1"),
        ("plain", {}, "no jail"),
    ):
        model = ScriptedModel([[ToolCall("c", name, {**arguments})], "Done."])
        scripts = ScriptToolset(tmp_path, approval=False)
        agent = Agent(
            model,
            tools=[*code_tools(approval=False), scripts, plain],
            limits=Limits(tools=limits),
            policy=Rules(Rule("allow")),
        )
        result = await agent.run("go")
        (_, answered), *_ = result.calls
        assert answered.error is not None, name
        assert words in answered.error.message, (name, answered.error)
