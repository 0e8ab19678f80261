"""The command line in Chinese, by `ACTUM_LANG` or the locale."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from string import Formatter

import pytest
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from actum.cli.app import app
from actum.cli.chinese import HELP, WORDS
from actum.cli.language import tr_help

from .person import Person

Process = Callable[..., subprocess.CompletedProcess[str]]
HAN = re.compile(r"[\u4e00-\u9fff]")
MINE = ("--tools", "tools.py", "--model")
IN_CHINESE = ("run", "chat", "call", "resume", "approvals", "runs", "tools", "conversations", "serve", "doctor", "demo")
"""The commands whose `--help` is Chinese as a whole."""


def texts(command: object) -> Iterator[str]:
    """What `--help` says of a command and those below it."""
    assert isinstance(command, TyperCommand | TyperGroup)
    found = [command.help, command.epilog, *(getattr(parameter, "help", None) for parameter in command.params)]
    yield from (" ".join(text.split()) for text in found if text)
    if isinstance(command, TyperGroup):
        for inner in command.commands.values():
            yield from texts(inner)


def test_help_of_what_people_use_most_is_chinese_as_a_whole() -> None:
    group = get_command(app)
    assert isinstance(group, TyperGroup)
    lacking = [(name, text) for name in IN_CHINESE for text in texts(group.commands[name]) if text not in HELP]
    assert lacking == []
    known = set(texts(group))
    assert [text for text in HELP if text not in known] == []


def test_every_chinese_text_takes_the_values_of_the_english_one() -> None:
    for english, chinese in WORDS.items():
        fields = {field for _, field, _, _ in Formatter().parse(chinese) if field}
        assert fields <= {field for _, field, _, _ in Formatter().parse(english) if field}, english
        assert HAN.search(chinese), english


@pytest.mark.parametrize("environment", [{"ACTUM_LANG": "zh"}, {"LANG": "zh_CN.UTF-8"}])
def test_help_and_errors_speak_the_language_of_the_environment(process: Process, environment: dict[str, str]) -> None:
    environment |= {"PYTHONIOENCODING": "utf-8"}
    assert "借助工具回答一个问题。" in process("run", "--help", **environment).stdout
    assert process("run", "", **environment).stderr == 'actum: 没有问题。用法：actum run "What is 17 * 23?"\n'
    assert process("run", "--nope", **environment).stderr == "actum: 没有选项 --nope（--help 查看帮助）\n"
    english = process("run", "", **environment, **({"LC_ALL": "C"} if "LANG" in environment else {}))
    assert ("there is no question" in english.stderr) == ("LANG" in environment)


def test_a_message_without_chinese_words_is_english_as_a_whole(process: Process) -> None:
    told = process("run", "x", "--limit", "calls", ACTUM_LANG="zh", PYTHONIOENCODING="utf-8").stderr
    assert told.startswith("actum: --limit calls: give a name")
    assert not HAN.search(told)


def test_an_approval_is_asked_for_in_chinese(person: Callable[..., Person], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACTUM_LANG", "zh")
    somebody = person("run", "记下牛奶", *MINE, "models.py:keep")
    shown = somebody.sees("执行吗？")
    assert "这个操作会改变对话之外的东西。" in shown
    somebody.sees("[l] 稍后：")
    somebody.types("n\n").sees("为什么拒绝？")
    somebody.types("\n").ends()
    chat = person("chat", *MINE, "models.py:nothing")
    chat.sees("/help 查看帮助，Ctrl-D 离开")
    chat.sees("> ")
    chat.types("/help\n").sees("开始新的对话")
    chat.sees("> ")
    chat.types("\x04").ends()


def test_help_goes_back_to_english(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACTUM_LANG", "zh")
    chinese = tr_help("The system prompt.")
    monkeypatch.setenv("ACTUM_LANG", "en")
    assert (chinese, tr_help(chinese)) == ("系统提示词。", "The system prompt.")


def test_the_chinese_readme_has_what_the_english_one_has() -> None:
    root = Path(__file__).parents[2]
    english, chinese = ((root / name).read_text("utf-8") for name in ("README.md", "README.zh.md"))
    links = re.compile(r"\]\((?!README)([\w./]+)\)")
    assert set(links.findall(english)) <= set(links.findall(chinese))
    for mark in ("```python", "| **", "from actum import"):
        assert english.count(mark) == chinese.count(mark), mark
