"""The command line in Chinese, by `ACTUM_LANG` or the locale."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.cells import cell_len
from typer.core import TyperGroup
from typer.main import get_command

from actum.cli.app import app
from actum.cli.language import tr, tr_help, tr_message
from actum.cli.show.help import fill
from actum.core.call import ToolCall
from actum.core.errors import JournalError
from actum.core.language.sentence import Sentence
from actum.core.language.translation import catalogue
from actum.core.run.pending import Pending
from actum.journal.grant import covered
from tests.catalogue import help_texts

from .conftest import Run
from .person import Person

Process = Callable[..., subprocess.CompletedProcess[str]]
HAN = re.compile(r"[\u4e00-\u9fff]")
FORM = '''
from actum import Context, ToolCall, tool
from actum.testing import ScriptedModel


@tool(effects={"read"})
async def book(ctx: Context) -> str:
    """Book a table."""
    fields = {"people": {"type": "integer"}, "where": {"type": "string", "enum": ["inside", "outside"]},
              "smoking": {"type": "boolean", "default": False}}
    given = await ctx.elicit("For how many?", {"type": "object", "properties": fields, "required": ["people"]})
    return f"booked for {given.content['people']} {given.content['where']}"


model = ScriptedModel([ToolCall("c1", "book", {}), "Booked."])
'''
ENTRIES = catalogue()
HELP = {english for context, english in ENTRIES if context == "help"}
MINE = ("--tools", "tools.py", "--model")


def test_the_help_of_every_command_is_chinese_as_a_whole() -> None:
    group = get_command(app)
    assert isinstance(group, TyperGroup)
    known = set(help_texts(group))
    assert [text for text in known if text not in HELP] == []
    assert [text for text in HELP if text not in known | {"Show this message and exit."}] == []


@pytest.mark.parametrize("environment", [{"ACTUM_LANG": "zh"}, {"LANG": "zh_CN.UTF-8"}])
def test_help_and_errors_speak_the_language_of_the_environment(process: Process, environment: dict[str, str]) -> None:
    environment |= {"PYTHONIOENCODING": "utf-8"}
    assert "借助工具回答一个问题。" in process("run", "--help", **environment).stdout
    assert process("run", "", **environment).stderr == 'actum: 没有问题。用法：actum run "17 乘以 23 等于多少？"\n'
    told = process("run", "--nope", **environment).stderr
    assert re.fullmatch(r"actum: 没有选项 --nope（相近的有：[-a-z, ]+）（--help 查看帮助）\n", told)
    english = process("run", "", **environment, **({"LC_ALL": "C"} if "LANG" in environment else {}))
    assert ("there is no question" in english.stderr) == ("LANG" in environment)


@pytest.mark.parametrize("command", [(), ("mcp",), ("mcp", "serve"), ("mcp", "add"), ("policy", "test"), ("journal",)])
def test_a_page_of_help_has_no_english_heading_and_no_line_that_is_too_wide(
    process: Process, command: tuple[str, ...]
) -> None:
    page = process(*command, "--help", ACTUM_LANG="zh", PYTHONIOENCODING="utf-8", COLUMNS="72").stdout
    assert page.startswith(f"用法：{' '.join(['actum', *command])} [选项]")
    assert "\n选项：\n" in page
    assert re.findall(r"Usage|Options|Arguments|Commands:|Show this|\[default|required", page) == []
    assert [line for line in page.splitlines()[1:] if cell_len(line) > 72] == []


def test_a_line_ends_behind_any_chinese_character_and_no_line_begins_with_a_mark() -> None:
    text = "把一种 API 的请求、回答或数据流转成另一种，从标准输入到标准输出，见 `actum dialects`（还有别的）。"
    for width in range(20, 60):
        lines = list(fill(text, width))
        assert re.sub(r"\s", "", "".join(lines)) == re.sub(r"\s", "", text)
        assert [line for line in lines if cell_len(line) > width or line[0] in "，。、）"] == []


def test_a_message_is_chinese_or_english_as_a_whole(process: Process, monkeypatch: pytest.MonkeyPatch) -> None:
    told = process("run", "x", "--limit", "calls", ACTUM_LANG="zh", PYTHONIOENCODING="utf-8").stderr
    assert told == "actum: --limit calls：请写名称和数字，例如 --limit calls=20\n"
    monkeypatch.setenv("ACTUM_LANG", "zh")
    known = "a.db can not be read: [Errno 13] Permission denied: '/x'"
    assert tr_message(f"  {known}") == "  无法读取 a.db：没有权限：'/x'"
    unknown = "a.db can not be read: the moon is full"
    assert tr_message(unknown) == unknown
    lost = "x@localhost:9: it can not be reached: nothing listens at this port. Is the server started?"
    again = tr_message(f"{lost} (on record; to try again: actum resume r1)")
    assert again == (
        "x@localhost:9：无法连接：这个端口没有程序在监听。服务器启动了吗？（已记录；再试请输入：actum resume r1）"
    )
    lost_journal = JournalError("can not open the journal {path}: {why}", path="a.db", why="database is locked")
    (ending,) = (english for _, english in ENTRIES if english.startswith("{why}. Name another with --journal"))
    assert tr_message(Sentence(ending, why=lost_journal)).startswith(
        "无法打开日志 a.db：数据库被占用。请用 --journal PATH"
    )
    assert tr_message("asking for help") == "asking for help"  # a tool's words, not what the spinner says
    monkeypatch.setenv("ACTUM_LANG", "en")
    assert tr_message(known) == known


def test_a_number_with_its_noun_is_told_for_one_and_for_many_in_both_languages(monkeypatch: pytest.MonkeyPatch) -> None:
    released = "{count:run is|runs are} released"
    monkeypatch.setenv("ACTUM_LANG", "en")
    assert [tr(released, count=count) for count in (0, 1, 2)] == [
        "0 runs are released",
        "1 run is released",
        "2 runs are released",
    ]
    monkeypatch.setenv("ACTUM_LANG", "zh")
    assert [tr(released, count=count) for count in (1, 2)] == ["已放行 1 个运行", "已放行 2 个运行"]


def test_mistakes_in_settings_agents_and_keys_are_told_in_chinese(process: Process, tmp_path: Path) -> None:
    environment = {"ACTUM_LANG": "zh", "PYTHONIOENCODING": "utf-8", "ACTUM_JOURNAL": str(tmp_path / "runs.db")}
    settings = tmp_path / "actum.toml"
    settings.write_text("model =\n[agents.crm]\n", "utf-8")
    assert process("config", "check", **environment).stderr.endswith("值的写法不对（第 1 行第 8 列）\n")
    settings.write_text('modl = "embedded"\n[agents."a b"]\n', "utf-8")
    refused = process("run", "x", **environment).stderr
    assert "第 1 行：没有 `modl` 这一项。是不是 `model`？" in refused
    assert refused.endswith("（还有 1 处：`actum config check`）\n")
    settings.write_text('[limits]\nsteps = "x"\n', "utf-8")
    assert process("config", "check", **environment).stderr.endswith(
        "actum.toml 第 2 行：`limits.steps`：应为整数，不是文本\n"
    )
    settings.write_text("[serve]\nhold_s = -1\n[tasks]\nworkers = 1001\nwebhook_secrets = []\n", "utf-8")
    told = process("config", "check", **environment).stderr.splitlines()
    assert [line.partition("`：")[2] for line in told] == [
        *("应为不小于 0.0 的数字", "应为不大于 1000 的整数", "应为长度不小于 1 的列表"),
    ]
    settings.write_text('[triggers.x]\nworkflow = "nope"\nmandate = {calls = [], z = 1}\n', "utf-8")
    assert (
        "第 3 行：[triggers.x] mandate：这不是授权：没有 `z` 这一项\n"
        in process("config", "check", **environment).stderr
    )
    settings.write_text('[agents.crm]\ndescription = "客户"\nusers = ["ann", "bob"]\n', "utf-8")
    assert process("agents", "show", "crmm", **environment).stderr == (
        "actum: 没有智能体 'crmm'（是不是 `crm`？）；现有：crm\n"
    )
    shown = [line.split() for line in process("agents", "show", "crm", **environment).stdout.splitlines()]
    assert shown[:3] == [["智能体", "crm"], ["description", "客户"], ["users", "ann,", "bob"]]
    assert process("keys", "revoke", "ci", **environment).stderr == (
        "actum: 没有密钥 'ci'：`actum keys list` 列出现有的\n"
    )
    assert process("serve", "--http", "0.0.0.0:0", **environment).stderr.startswith("actum: 其他机器可以访问 0.0.0.0")


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("memory show nope", "没有这个记忆"),
        ("memory search 猫 --limit 99", "有一个值不符合要求：limit: 应为不大于 50 的 `int`"),
        ("memory add 猫 --space desk --replaces nope", "无法记住：'nope' 不是您现在有效的笔记"),
        ("memory list --limit 0", "'--limit' / '-n' 的值不对：应不小于 1（--help 查看帮助）"),
        ("knowledge readers handbook nobody", "不能这样：'nobody' 不是读者：请写 user:NAME、role:NAME、all，"),
        ("knowledge remove nope", "没有这个集合"),
        ("agents show nope", "没有智能体 'nope'；现有：desk"),
        ("catalog check nope", "目录里没有 'nope'；现有：无。"),
        ("catalog add nope", "nope：url：应是 https://agents.example.com 这样的地址"),
        ("init a b", "多出了参数：a b"),
    ],
)
def test_what_a_command_refuses_is_told_in_chinese(
    run: Run, home: Path, monkeypatch: pytest.MonkeyPatch, said: str, told: str
) -> None:
    monkeypatch.setenv("ACTUM_LANG", "zh")
    (home / "actum.toml").write_text('model = "embedded"\njournal = "runs.db"\n[agents.desk]\nmemory = "user"\n')
    if "handbook" in said:
        (home / "docs").mkdir()
        assert run("knowledge", "add", "handbook", "docs").exit_code == 0
    assert run(*said.split()).stderr.startswith(f"actum: {told}")


def test_a_message_that_holds_itself_many_times_is_given_up_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each level fits several rows: without a bound the time would double with each."""
    monkeypatch.setenv("ACTUM_LANG", "zh")
    for hostile in ("can not open the journal x: " * 60 + "y", ": a. The b are" * 100_000):
        assert tr_message(hostile) == hostile


def test_what_programs_read_stays_english(process: Process) -> None:
    environment = {"ACTUM_LANG": "zh", "PYTHONIOENCODING": "utf-8"}
    failed = process("run", "", "--json", **environment)
    assert json.loads(failed.stdout)["error"]["kind"] == "UsageError"
    assert not HAN.search(failed.stdout)
    assert HAN.search(failed.stderr)
    findings = json.loads(process("doctor", "--json", "--model", "embedded", **environment).stdout)
    assert {each["verdict"] for each in findings} <= {"ok", "warn", "bad"}
    assert not HAN.search(json.dumps(findings, ensure_ascii=False))


ENGLISH = re.compile(r"[a-z]{2,} [a-z]{2,} [a-z]{2,}")


def test_the_doctor_says_nothing_in_english_and_its_labels_end_in_the_same_column(process: Process) -> None:
    shown = process("doctor", "--model", "embedded", ACTUM_LANG="zh", PYTHONIOENCODING="utf-8").stdout.splitlines()
    assert not [line for line in shown if ENGLISH.search(re.sub("`.*?`", "", line))]
    assert {line.split()[0] for line in shown if not HAN.search(line.split()[0])} == {"python", "actum"}
    assert len({cell_len(re.split(r"(?:正常|注意|错误) ", line)[0]) for line in shown}) == 1
    assert any(line.strip().startswith("模型  注意 embedded：只有规则，不是语言模型") for line in shown)


def test_a_run_on_record_is_shown_in_chinese(process: Process, tmp_path: Path) -> None:
    environment = {"ACTUM_LANG": "zh", "PYTHONIOENCODING": "utf-8", "ACTUM_JOURNAL": str(tmp_path / "runs.db")}
    assert process("run", "17*23 等于多少？现在东京几点？", "--model", "embedded", **environment).returncode == 0
    page, show = tmp_path / "run.html", ("runs", "show", "last")
    shown = [process(*command, **environment).stdout for command in (show, ("journal", "verify"))]
    failed = process("run", "把 5 公里换算成千克", "--model", "embedded", **environment).stdout
    shown += [failed, process(*show, **environment).stdout]
    assert all("公里 是长度的单位" in text for text in shown[2:])
    process("runs", "show", "last", "--html", str(page), **environment)
    body = page.read_text("utf-8").partition("</style>")[2]
    assert '<html lang="zh">' in page.read_text("utf-8")
    for text in (*shown, re.sub("<[^>]*>", " ", body)):
        assert HAN.search(text)
        assert not ENGLISH.search(text.replace("default: only reads", ""))  # the name of a rule, as recorded


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


def test_what_a_yes_for_the_run_covers_is_told_in_chinese_as_exactly_as_in_english(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    call = ToolCall("c1", "mail", {"to": "Ada", "text": "Hi"})
    table: list[tuple[tuple[str, ...] | None, tuple[str, ...], tuple[str, ...], str]] = [
        (("to",), ("to", "text"), (), "只要 `to` 是 Ada"),
        (None, ("to", "text"), (), "只要 `to` 是 Ada，并且`text` 是 Hi"),
        (None, ("to", "text", "cc"), ("text",), "只要 `to` 是 Ada，并且不给出其他参数；`text` 可以不同"),
        ((), ("to", "text"), (), "参数可以是任何值"),
    ]
    for sinks, parameters, free, expected in table:
        pending = Pending("a1", "approval", "", call, sinks=sinks, parameters=parameters)
        monkeypatch.setenv("ACTUM_LANG", "zh")
        assert tr_message(covered(pending, free)) == f"本次运行中再次调用也同意，{expected}"
        monkeypatch.setenv("ACTUM_LANG", "en")
        assert tr_message(covered(pending, free)) == str(covered(pending, free))


def test_a_form_is_filled_in_in_chinese(
    person: Callable[..., Person], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "forms.py").write_text(FORM, "utf-8")
    monkeypatch.setenv("ACTUM_LANG", "zh")
    somebody = person("run", "订一张桌子", "--tools", "forms.py", "--model", "forms.py:model", "-v")
    shown = somebody.sees("people: ")
    assert "回车采用方括号里的值" in shown
    assert "people  整数" in shown
    somebody.types("many\n").sees("people: ")
    somebody.types("4\n")
    assert "选一项：1 inside, 2 outside" in somebody.sees("where [空]: ")
    somebody.types("2\n")
    assert "是或否" in somebody.sees("smoking [否]: ")
    assert "结果" in somebody.types("\n").sees("booked for 4")


def test_help_goes_back_to_english(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACTUM_LANG", "zh")
    chinese = tr_help("The system prompt.")
    monkeypatch.setenv("ACTUM_LANG", "en")
    assert (chinese, tr_help(chinese)) == ("系统提示词。", "The system prompt.")


def test_the_chinese_readme_has_what_the_english_one_has() -> None:
    root = Path(__file__).parents[2]
    english, chinese = ((root / name).read_text("utf-8") for name in ("README.md", "README.zh.md"))
    links = re.compile(r"\]\((?!README)([\w./-]+)\)")
    assert {*links.findall(english)} <= {link.replace("docs/zh/", "docs/") for link in links.findall(chinese)}
    for mark in ("```python", "| **", "from actum import"):
        assert english.count(mark) == chinese.count(mark), mark
