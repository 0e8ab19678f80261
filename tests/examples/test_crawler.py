from __future__ import annotations

import json
from pathlib import Path

from actum.core.message import Reply
from examples.crawler import main as example

from ..chat_server import ChatServer


async def test_the_crawler_is_found_by_its_configuration_and_at_run_time() -> None:
    tools, configured, found = await example.everything(port=0)
    assert [tool.name for tool in tools] == ["my_search__crawl", "my_search__search"]
    answer = "The lotus is in flower from late June to August. (Lotus)"
    assert (configured.text, found.text) == (answer, answer)
    assert [call.name for call, _ in found.calls] == ["mcp_sse_list_tools", "mcp_sse_call_tool"]

    crawled = json.loads(configured.calls[0][1].text)
    assert [page["title"] for page in crawled["pages"]] == ["The garden", "Tea", "Lotus", "Hours"]
    (failed,) = crawled["failed"]
    assert failed.endswith("/plants/rice")
    assert "not text" not in str(crawled)


def test_the_configuration_is_the_short_one() -> None:
    text = (Path(example.__file__).parent / "mcp.json").read_text("utf-8")
    assert json.loads(text) == {"my_search": {"url": "http://127.0.0.1:9000/sse", "transport": "sse", "timeout": 60}}
    server = example.configured(Path(example.__file__).parent / "mcp.json")
    assert (server.name, server.transport, server.timeout) == ("my_search", "sse", 60)


async def test_the_crawler_is_used_by_a_model_of_ones_own_too() -> None:
    with ChatServer(lambda _: Reply.of("I am a model of your own.")) as server:
        _, configured, found = await example.everything(port=0, own=f"{server.url}#mine")
    assert configured.text == found.text == "I am a model of your own."
