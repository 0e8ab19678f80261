"""A refusal of the API speaks the language that the client's person reads; what programs read is the same in each."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from actum.agents.declared import read_agent
from actum.core.definition import BadText
from actum.core.language.translation import Language, accepted
from actum.policy.published import read_published
from actum.server.api.definitions.refusing import bad_definition
from actum.server.api.problem import encoded
from actum.toolsets.declared.declaration import read_declaration
from actum.toolsets.declared.server import read_server

from .application import application

REFUSED: list[tuple[str, str, dict[str, object] | None, str]] = [
    ("GET", "/v1/runs/none", None, "没有这个运行。"),
    ("GET", "/v1/nowhere", None, "这个路径下没有内容。/openapi.json 列出了所有路径。"),
    ("PUT", "/v1/runs", {}, "这个路径接受 GET, HEAD, POST。"),
    ("GET", "/v1/runs?principal=bob", None, "查看其他用户的运行需要权限 'admin'。"),
    ("POST", "/v1/runs", {"question": 7}, "有一个值不符合要求：question: 应为 str，而不是 int。"),
    (
        "POST",
        "/v1/tools/add/call",
        {"arguments": {"a": "x"}},
        '参数不符合要求：b：缺少（integer）。a：应为 integer，而不是 "x" (string)。',
    ),
    ("POST", "/v1/runs", {"question": "a {brace} of {0}", "agent": "{x}"}, "没有这个名称的、此密钥可以使用的智能体。"),
]


def for_programs(answer: dict[str, Any]) -> dict[str, Any]:
    """A refusal without its run, and without what is told in the person's language: its detail, what would be right."""
    problems = [{**each, "expected": ""} for each in answer.get("problems", [])]
    return {**answer, "detail": "", "problems": problems, "run": ""}


async def test_the_detail_of_a_refusal_is_in_the_language_that_is_asked_for_and_all_else_stays() -> None:
    async with application() as it:
        for method, path, body, chinese in REFUSED:
            english = await it.ask(method, path, body)
            told = await it.ask(method, path, body, accept_language="zh-CN,zh;q=0.9,en;q=0.8")
            assert told.json()["detail"] == chinese
            assert english.json()["detail"].isascii()
            assert for_programs(told.json()) == for_programs(english.json())
            for answer, language in ((told, "zh"), (english, "en")):
                assert answer.status_code == english.status_code
                assert (answer.headers["content-language"], answer.headers["vary"]) == (language, "accept-language")


@pytest.mark.parametrize(
    ("read", "text", "chinese"),
    [
        (read_declaration, "name: a\nhttp: {ur: b}", "第 2 行第 8 列：这里没有字段 'ur'（请写 url）"),
        (read_declaration, "name: a\nagent: b\nworkflow: c", "第 2 行第 1 列：一个工具只在一个位置运行"),
        (read_declaration, "name: a b", "名称 'a b'：请用 1 到 128 个字母"),
        (read_declaration, "name: a\ndescription: 7", "第 2 行第 1 列：应为 str，而不是 int"),
        (read_declaration, "name: &b a\ndescription: *b", "不读取别名 *b（请写出别名所代表的内容）"),
        (read_declaration, '{"name": ', "这不是 JSON"),
        (read_server, "name: a", "没有写明位置（请写 url, openapi, a2a 之一）"),
        (read_server, "name: a\ncommand: x", "只有本机的管理员可以启动程序：`actum mcp add`（请给出 url）"),
        (read_agent, "name: a\ntools: [b, b]", "有一个工具写了两次（请去掉其中一个）"),
        (read_published, '[[rules]]\nthn = "no"', "第 1 条规则：没有 `thn` 这一项"),
    ],
)
def test_what_is_wrong_with_a_definition_is_told_in_the_language_too_with_its_place_and_its_hint(
    read: Callable[[str], object], text: str, chinese: str
) -> None:
    with pytest.raises(BadText) as bad:
        read(text)
    english, told = (json.loads(encoded(bad_definition(bad.value), language)[1]) for language in ("en", "zh"))
    assert told["detail"].startswith("定义有问题：第 ")
    assert chinese in told["detail"]
    assert english["detail"].isascii()
    assert all(not each["expected"].isascii() for each in told["problems"])
    assert for_programs(told) == for_programs(english)


@pytest.mark.parametrize(
    ("header", "language"),
    [
        ("zh-TW", "zh"),
        ("ZH-hans-CN;q=0.1, fr", "zh"),
        ("en, zh", "en"),
        ("zh;q=0.5, en;q=0.9", "en"),
        ("zh;q=0", "en"),
        ("*", "en"),
        ("zh;q=nan", "en"),
        ("zh;q=x", "en"),
        (",;,=", "en"),
        ("zhuang", "en"),
        ("x" * 100_000 + ",zh", "en"),
    ],
)
def test_a_header_that_names_neither_or_is_no_header_means_english(header: str, language: Language) -> None:
    assert accepted(header) == language
