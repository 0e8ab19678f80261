"""What a person types into a chat: pastes, several lines, names that are completed, and what they typed last time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from actum.cli.conversation.line_editor import (
    HISTORY_BYTES_MAX,
    REMEMBERED_MAX,
    ChatWords,
    PrivateHistory,
    open_history,
)
from actum.storage.sqlite import SQLiteJournal

from .person import Person

SitDown = Callable[..., Person]
CHAT = ("chat", "--tools", "tools.py", "--journal", "runs.db", "--model")
PASTE, END = "\x1b[200~", "\x1b[201~"


def test_a_paste_of_several_lines_is_one_turn(person: SitDown, home: Path) -> None:
    somebody = person(*CHAT, "models.py:nothing")
    somebody.sees("> ")
    somebody.types(f"{PASTE}first\r\nsecond\n/quit{END}").sees("/quit")
    somebody.types("\n").sees("You said: first\nsecond\n/quit\n")
    somebody.sees("> ")
    somebody.types("one\x1b\rtwo\\\rthree\r").sees("You said: one\ntwo\nthree\n")
    somebody.sees("> ")
    assert somebody.types("\x04").ends()[0] == 0
    assert len(questions(home)) == 2


def test_what_was_typed_is_there_in_the_next_chat_and_for_its_owner_alone(person: SitDown, home: Path) -> None:
    first = person(*CHAT, "models.py:nothing")
    first.sees("> ")
    first.types(f"{PASTE}milk\nand tea{END}\n").sees("You said: milk\nand tea\n")
    first.sees("> ")
    first.types("\x04").ends()
    file = home / ".local/state/actum/chat_history"
    assert file.stat().st_mode & 0o777 == 0o600
    file.chmod(0o644)
    second = person(*CHAT, "models.py:counting")
    second.sees("> ")
    second.types("\x1b[A").sees("and tea")
    second.types("\n").sees("\n1\n")
    second.sees("> ")
    second.types("\x04").ends()
    assert file.stat().st_mode & 0o777 == 0o600
    assert questions(home) == ["milk\nand tea"] * 2
    secret = person("chat", "--journal", "memory", *CHAT[1:3], "--model", "models.py:nothing")
    secret.sees("> ")
    secret.types("nobody may know\n").sees("You said: nobody may know")
    secret.sees("> ")
    secret.types("\x04").ends()
    assert "nobody may know" not in file.read_text()


def test_enter_takes_what_a_search_of_the_history_found_and_sends_it_at_the_second_time(person: SitDown) -> None:
    somebody = person(*CHAT, "models.py:nothing")
    for typed in ("buy milk", "sell tea"):
        somebody.sees("> ")
        somebody.types(f"{typed}\n").sees(f"You said: {typed}\n")
    somebody.sees("> ")
    somebody.types("\x12mil").sees("buy milk")
    somebody.types("\n").types("\n").sees("You said: buy milk\n")
    somebody.sees("> ")
    assert somebody.types("\x04").ends()[0] == 0


def test_tab_completes_commands_tools_and_runs(person: SitDown) -> None:
    somebody = person(*CHAT, "models.py:add")
    somebody.sees("> ")
    somebody.types("/too\tad\t\n").sees("Add two numbers.")
    somebody.sees("> ")
    somebody.types("2 and 3?\n").sees("add: 5")
    somebody.sees("> ")
    somebody.types("/trace run_\t\n").sees("── add  a=2  b=3")
    somebody.sees("> ")
    assert somebody.types("\x04").ends()[0] == 0


def test_only_what_fits_the_place_is_offered(home: Path) -> None:
    words = ChatWords()
    words.commands, words.tools, words.runs = {"/tools": "list", "/trace": "show"}, ["add", "查天气"], ["run_1"]
    expected = {
        "": [],
        "/t": ["/tools ", "/trace "],
        "use a": ["add"],
        "use 查": ["查天气"],
        "see /t": [],
        "/trace ": ["on", "off", "run_1"],
        "go on with run_": ["run_1"],
        "/attach mod": ["els.py"],
    }
    for typed, offered in expected.items():
        found = words.get_completions(Document(typed), CompleteEvent())
        assert [each.text for each in found] == offered, typed


def test_a_history_that_can_not_be_kept_or_is_too_long_stops_no_chat(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert not isinstance(open_history(tmp_path / "file" / "history"), PrivateHistory)
    kept = tmp_path / "new" / "history"
    for number in range(120):
        open_history(kept).store_string(f"{number}\n" + "x" * (HISTORY_BYTES_MAX // 100))
    assert kept.stat().st_size <= HISTORY_BYTES_MAX * 1.1
    history = open_history(kept)
    history.store_string("y" * (REMEMBERED_MAX + 1))
    history.store_string("\udce9")
    newest, second, *_ = loaded = list(history.load_history_strings())
    assert (newest, second.partition("\n")[0]) == ("?", "119")
    assert all(each[0].isdigit() for each in loaded[1:])
    kept.unlink()
    kept.mkdir()
    assert list(history.load_history_strings()) == []
    history.store_string("no place")


def questions(home: Path) -> list[str]:
    """What was asked in each run of the journal."""

    async def read() -> list[str]:
        journal = SQLiteJournal(home / "runs.db")
        try:
            return [run.question for run in await journal.runs()]
        finally:
            await journal.close()

    return asyncio.run(read())
