"""Code that a model wrote runs in a jail, gives back text, value, files and pictures, and says how it failed."""

from __future__ import annotations

from pathlib import Path

import pytest

from actum import Agent, ToolCall
from actum.core.attachment import File
from actum.core.call import TextPart
from actum.core.errors import CallError, ResourceLimit, ToolError, Unavailable
from actum.sandbox.jail import Jail, JailLimits
from actum.sandbox.layers import landlock_abi
from actum.testing import ScriptedModel
from actum.toolsets.code import CodeRunner, code_tools, find_node

pytestmark = pytest.mark.skipif(landlock_abi() == 0, reason="this machine has no Landlock: nothing is run")

LEAVES = """
import os
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
    assert text.text == "left\n[value]\n42"
    assert [(file.name, file.data) for file in files if isinstance(file, File)] == [("a/kept.txt", b"kept")]


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
            "print('x', flush=True)\ny = bytearray(150 << 20)\nimport time; time.sleep(9)",
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
