"""A refusal of the API speaks the language that the client's person reads; what programs read is the same in each."""

from __future__ import annotations

import pytest

from actum.core.language.translation import Language, accepted

from .application import application

REFUSED: list[tuple[str, str, dict[str, object] | None, str]] = [
    ("GET", "/v1/runs/none", None, "没有这个运行。"),
    ("GET", "/v1/nowhere", None, "这个路径下没有内容。/openapi.json 列出了所有路径。"),
    ("PUT", "/v1/runs", {}, "这个路径接受 GET, HEAD, POST。"),
    ("GET", "/v1/runs?principal=bob", None, "查看其他用户的运行需要权限 'admin'。"),
    ("POST", "/v1/runs", {"question": 7}, "有一个值不符合要求：question: 应为 str，而不是 int。"),
    ("POST", "/v1/runs", {"question": "a {brace} of {0}", "agent": "{x}"}, "没有这个名称的、此密钥可以使用的智能体。"),
]


async def test_the_detail_of_a_refusal_is_in_the_language_that_is_asked_for_and_all_else_stays() -> None:
    async with application() as it:
        for method, path, body, chinese in REFUSED:
            english = await it.ask(method, path, body)
            told = await it.ask(method, path, body, accept_language="zh-CN,zh;q=0.9,en;q=0.8")
            assert told.json()["detail"] == chinese
            assert english.json()["detail"].isascii()
            assert {**told.json(), "detail": ""} == {**english.json(), "detail": ""}
            for answer, language in ((told, "zh"), (english, "en")):
                assert answer.status_code == english.status_code
                assert (answer.headers["content-language"], answer.headers["vary"]) == (language, "accept-language")


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
