"""Code and scripts as tools at the command line: `--tools code`, `--tools folder/`, and the table `[sandbox]`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from actum.cli.conversation.files import write_files
from actum.core.call import MediaPart
from actum.core.errors import UsageError
from actum.sandbox.linux import landlock_abi

Run = Callable[..., Result]
held = pytest.mark.skipif(landlock_abi() == 0, reason="this machine has no Landlock: nothing is run")
PLOT = """\
# /// tool
# description = "Plots this table."
# effects = ["read"]
# files = ["table"]
# [parameters.table]
# type = "string"
# ///
import json, struct, sys, zlib
rows = open(json.load(sys.stdin)["table"]).read().split()[1:]
heights = [int(row.split(",")[1]) for row in rows]
lines = [bytes(0 if height > line else 255 for height in heights) for line in reversed(range(max(heights)))]
def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
size = struct.pack(">IIBBBBB", len(heights), len(lines), 8, 0, 0, 0, 0)
drawn = chunk(b"IHDR", size) + chunk(b"IDAT", zlib.compress(b"".join(b"\\0" + line for line in lines)))
open("plot.png", "wb").write(b"\\x89PNG\\r\\n\\x1a\\n" + drawn + chunk(b"IEND", b""))
print(f"{len(heights)} bars")
"""
PLOTTER = """
from actum import ToolCall
from actum.messages import MediaPart, ToolMessage
from actum.testing import ScriptedModel

def script(request):
    seen = [part for message in request.messages if isinstance(message, ToolMessage)
            for part in message.result.content if isinstance(part, MediaPart)]
    if not seen:
        return [ToolCall("c1", "plot", {"table": "att_1"})]
    return f"I see {seen[0].handle}: {seen[0].media_type}, {seen[0].data[:4]!r}"

model = ScriptedModel(script)
"""


@held
@pytest.mark.row("T3")
def test_a_script_plots_a_table_the_model_sees_the_picture_and_the_person_gets_the_file(run: Run, home: Path) -> None:
    (home / "scripts").mkdir()
    (home / "scripts" / "plot.py").write_text(PLOT, "utf-8")
    (home / "plotter.py").write_text(PLOTTER, "utf-8")
    (home / "table.csv").write_text("month,sales\njan,3\nfeb,5\nmar,2\n", "ascii")
    words = ("run", "Plot this table", "--tools", "scripts/", "--model", "plotter.py:model", "-a", "table.csv")
    done = run(*words, "--journal", "runs.db")
    assert done.exit_code == 0, done.output
    assert "I see att_2: image/png, b'\\x89PNG'" in done.stdout
    assert "plot.png (image/png, " in done.stderr
    assert "actum runs files" in done.stderr
    listed = run("runs", "files", "last", "--journal", "runs.db").stdout
    assert listed.split()[4:7] == ["att_2", "image/png", "plot.png"]
    written = run("runs", "files", "last", "--journal", "runs.db", "--out", "plots")
    assert written.exit_code == 0, written.output
    picture = (home / "plots" / "plot.png").read_bytes()
    assert picture[16:24] == (3).to_bytes(4, "big") + (5).to_bytes(4, "big")
    assert run("runs", "files", "--journal", "runs.db", "--out", "plots").exit_code == 0  # it is there already
    (home / "plots" / "plot.png").write_bytes(b"mine")
    assert run("runs", "files", "--journal", "runs.db", "--out", "plots").exit_code != 0
    assert (home / "plots" / "plot.png").read_bytes() == b"mine"


def test_no_name_of_a_file_leads_out_of_the_folder_or_hides_the_file(tmp_path: Path) -> None:
    outside, folder = tmp_path / "outside", tmp_path / "folder"
    folder.mkdir()
    outside.write_bytes(b"mine")
    (folder / "link").symlink_to(outside)
    names = ("../up", "/etc/x", ".bashrc", "-rf", "a\\b", "a\x1b[2Jb", "..", "", "same", "same", "x" * 300)
    parts = [MediaPart("text/plain", b"1", name=name, handle=f"att_{at}") for at, name in enumerate(names)]
    written = write_files(parts, folder)
    assert len({*written}) == len(parts)
    assert {path.name for path in written} >= {"up", "x", "bashrc", "rf", "b", "a[2Jb", "att_6", "att_7", "same"}
    assert all(path.parent == folder for path in written)
    with pytest.raises(UsageError, match="link"):
        write_files([MediaPart("text/plain", b"1", name="link", handle="att_1")], folder)
    assert outside.read_bytes() == b"mine"


@held
def test_call_run_python_asks_first_and_then_runs_in_a_jail(run: Run, home: Path) -> None:
    words = ("call", "run_python", "code=print(6 * 7)", "--tools", "code")
    waiting = run(*words, "--json")
    assert waiting.exit_code == 3, waiting.output
    (pending,) = json.loads(waiting.stdout)["pending"]
    done = run("resume", "last", "--approve", pending["id"], "--tools", "code")
    assert done.exit_code == 0, done.output
    assert "42" in run("runs", "show").stdout
    secret = home / "secret.txt"
    secret.write_text("hidden", "ascii")
    failed = run("call", "run_python", f"code=print(open({str(secret)!r}).read())", "--tools", "code", "--yes")
    assert failed.exit_code != 0
    assert "hidden" not in failed.output
    assert "PermissionError" in failed.output


@held
def test_settings_say_what_code_may_read_and_a_jail_over_the_journal_is_refused(run: Run, home: Path) -> None:
    (home / "tables").mkdir()
    (home / "tables" / "a.csv").write_text("1,2", "ascii")
    settings = '[sandbox]\nread = ["tables"]\n[sandbox.limits]\nseconds = 5\n'
    (home / "actum.toml").write_text(settings, "utf-8")
    code = f"code=print(open({str(home / 'tables' / 'a.csv')!r}).read())"
    assert "1,2" in run("call", "run_python", code, "--tools", "code", "--yes").stdout
    for place in (home / "state", home / "journals"):
        place.mkdir(exist_ok=True)
    (home / "actum.toml").write_text('journal = "journals/runs.db"\n[sandbox]\nread = ["journals"]\n', "utf-8")
    refused = run("call", "run_python", "code=1", "--tools", "code", "--yes")
    assert refused.exit_code != 0
    assert "name a narrower folder" in refused.output
    (home / "actum.toml").write_text("[sandbox.limits]\nmemory = 5\n", "utf-8")
    assert "memory_bytes" in run("tools", "list").output


@held
def test_a_folder_of_scripts_gives_tools_and_says_which_script_is_none(run: Run, home: Path) -> None:
    (home / "scripts").mkdir()
    (home / "scripts" / "plot.py").write_text(PLOT, "utf-8")
    (home / "scripts" / "other.py").write_text("print(1)\n", "utf-8")
    listed = run("tools", "list", "--tools", "scripts/")
    assert "plot" in listed.stdout
    assert "other.py: the line `# /// tool` is missing" in listed.stderr.replace("\n", " ")
    assert "other.py" in run("doctor", "--tools", "scripts/", "--json").stdout
    (home / "table.csv").write_text("1\n2\n", "ascii")
    (home / "scripts" / "plot.py").unlink()
    nothing = run("tools", "list", "--tools", "scripts/")
    assert "holds no scripts that are tools" in nothing.output.replace("\n", " ")


@held
def test_the_settings_name_monty_as_the_engine_of_python(run: Run, home: Path) -> None:
    asked = ("call", "run_python", "code=import sys; sys.version", "--tools", "code", "--yes")
    assert "Monty" not in run(*asked).stdout
    (home / "actum.toml").write_text('[sandbox]\npython = "monty"\n', "ascii")
    assert "Monty" in run(*asked).stdout
    (home / "actum.toml").write_text('[sandbox]\npython = "pypy"\n', "ascii")
    refused = run(*asked)
    assert refused.exit_code != 0
    assert "pypy" in refused.stderr
