"""A developer's own words: dialects as values, and prompts in the place of ours."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from actum import Agent, Tool, tool
from actum.agents.identity import dialect_part
from actum.compose.models import make_dialect
from actum.compose.settings import read_settings
from actum.core.errors import UsageError
from actum.core.json import JsonObject
from actum.core.message import Reply, SystemMessage, UserMessage
from actum.core.model import Request
from actum.dialects import dialect
from actum.dialects.base import Dialect, TextDialect
from actum.dialects.text.template import read_template
from tests.chat_server import ChatServer

WEATHER = Tool(
    name="weather",
    description="The weather of a city.",
    parameters={"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)
REACT_OF_LANGCHAIN = """\
Answer the following questions as best you can. You have access to the following tools:

{tools}

Use the following format:

Question: the input question you must answer
Thought: you should always think about what to do
Action: the action to take, should be one of [{tool_names}]
Action Input: the input to the action
Observation: the result of the action
... (this Thought/Action/Action Input/Observation can repeat N times)
Thought: I now know the final answer
Final Answer: the final answer to the original input question

Begin!

Question: {input}
Thought:{agent_scratchpad}"""
CHINESE_JSON = """\
你是一个助手，可以使用下面的工具：
{tools}

需要工具时，只输出 JSON：
{"tool": "工具名", "params": {"参数名": "参数值"}}
可用的工具名：{tool_names}

用户问题：{input}"""


@tool
def weather(city: str) -> str:
    """The weather of a city."""
    return f"sunny in {city}"


def told(template: str, name: str = "prompt_json") -> str:
    spoken = dialect(name, template=template)
    assert isinstance(spoken, TextDialect)
    message = spoken.encode_request(Request(messages=[UserMessage.of("Hi")], tools=(WEATHER,))).messages[0]
    assert isinstance(message, SystemMessage)
    return message.text


@pytest.mark.row("T6")
@pytest.mark.parametrize(
    ("name", "template", "question", "says"),
    [
        (
            "react",
            REACT_OF_LANGCHAIN,
            "How is the weather in Oslo?",
            ('Action: weather\nAction Input: {"city": "Oslo"}', "I now know the final answer\nFinal Answer: sunny"),
        ),
        ("prompt_json", CHINESE_JSON, "奥斯陆天气如何？", ('{"tool": "weather", "params": {"city": "Oslo"}}', "sunny")),
    ],
)
async def test_prompts_of_others_run_unchanged(name: str, template: str, question: str, says: tuple[str, str]) -> None:
    asked: list[JsonObject] = []

    def answer(request: JsonObject) -> Reply:
        asked.append(request)
        return Reply.of(says[len(asked) - 1])

    with ChatServer(answer) as server:
        agent = Agent(f"{server.url}#m", tools=[weather], dialect=dialect(name, template=template), instructions="Hm.")
        result = await agent.run(question)
    assert (result.output, [told.text for _, told in result.calls]) == ("sunny", ["sunny in Oslo"])
    first, second = (json.dumps(each["messages"], ensure_ascii=False) for each in asked)
    assert "city" in first
    assert question in first
    assert "agent_scratchpad" not in first
    assert "{input}" not in first
    assert "sunny in Oslo" in second
    assert ("Question: How" in first, "用户问题" in first) == (name == "react", False)


def test_braces_are_text_and_those_of_str_format_are_read_as_meant() -> None:
    tools = told("{tools}")
    for template, expected in (
        ('{tools}\n{"tool": "x", "params": {}}', f'{tools}\n{{"tool": "x", "params": {{}}}}'),
        ('{tools}\n{{"tool": "x", "params": {{}}}}', f'{tools}\n{{"tool": "x", "params": {{}}}}'),
        ('{tools}\n{{"a": {{"b": 1}}}} { "c"', f'{tools}\n{{{{"a": {{{{"b": 1}}}}}}}} {{ "c"'),
        ("{tools} {{tools}} {{input}} and {{word}}", f"{tools} {{tools}} {{input}} and {{word}}"),
        ('{tools} {{word}} {"a": 1}', f'{tools} {{word}} {{"a": 1}}'),
        ("{tools} {0.__class__} {tools.name} {{0}}", f"{tools} {{0.__class__}} {{tools.name}} {{{{0}}}}"),
        ("{tool_names}: {tools}", f"weather: {tools}"),
        ("{{{tools}}}", f"{{{tools}}}"),
        ("{tools}\n\nUser: {input}\nAssistant:", tools),
    ):
        assert told(template) == expected, template


def test_what_is_no_template_is_told_with_its_line() -> None:
    for name, template, message in (
        ("prompt_json", "no tools", "says {tools} once; this one says it 0 times"),
        ("prompt_json", "{{tools}}", "0 times"),
        ("react", "Action: x {tools} {tools}", "2 times"),
        ("react", "{tools}\nAction: one of\n{names}", "line 3 of the template: {names} is unknown"),
        ("react", "{tools}\nAction: x\n{input}\nAnswer now, and think about it for a very long time.", "line 3 .*end"),
        ("prompt_json", "Q: {input}\n{tools}", "line 1 .*stand at its end"),
        ("react", CHINESE_JSON, "begins with one of: Action:.*行动"),
        ("react", "工具：{tools}", "begins with one of"),
        ("prompt_json", "x" * 100_001, "at most 100000 characters"),
    ):
        with pytest.raises(UsageError, match=message.replace("{", r"\{").replace("}", r"\}")):
            told(template, name)
    with pytest.raises(UsageError, match="plan is a line of our instructions"):
        dialect("react", template=REACT_OF_LANGCHAIN, plan=True)
    for given in (5, None, object()):
        with pytest.raises(UsageError, match="dialect="):
            Agent("embedded", dialect=given)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="named by their provider or address"):
        Agent("embedded", dialect=dialect("openai_chat"))


async def test_dialect_options_and_template_belong_to_an_agents_digest(tmp_path: Path) -> None:
    (tmp_path / "own.txt").write_text(REACT_OF_LANGCHAIN)
    (tmp_path / "other.txt").write_text(REACT_OF_LANGCHAIN.replace("Begin!", ""))
    said = (
        'dialect = "react"',
        'dialect = {name = "react"}',
        'dialect = {name = "react", plan = true}',
        'dialect = {name = "react", language = "zh"}',
        'dialect = {name = "react", template = "own.txt"}',
        'dialect = {name = "react", template = "other.txt"}',
    )
    parts = set()
    for line in said:
        (tmp_path / "actum.toml").write_text(f"[agents.desk]\n{line}\n")
        settings = read_settings(tmp_path, {}, {}).of_agents["desk"]
        made = make_dialect(settings)
        parts.add(json.dumps(dialect_part(made)))
        agent = Agent("http://127.0.0.1:9/v1#m", dialect=made)
        assert "react" in repr(agent.model)
    assert len(parts) == len(said)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ('{name = "raect"}', "no dialect called 'raect'"),
        ('{name = "hermes", plan = true}', "takes no option plan"),
        ('{name = "react", template = "gone.txt"}', "gone.txt can not be read: No such file"),
        ('{name = "react", template = "empty.txt"}', "empty.txt is empty"),
        ('{name = "react", templte = "x"}', "templte"),
        ("{plan = true}", "name"),
    ],
)
def test_a_mistaken_table_is_told(tmp_path: Path, table: str, message: str) -> None:
    (tmp_path / "empty.txt").write_text("")
    (tmp_path / "actum.toml").write_text(f"dialect = {table}\n")
    with pytest.raises(UsageError, match=message):
        make_dialect(read_settings(tmp_path, {}, {}))


def test_the_table_of_an_agent_does_not_take_over_options_of_the_one_around_it(tmp_path: Path) -> None:
    (tmp_path / "actum.toml").write_text(
        'dialect = {name = "react", plan = true}\n[agents.desk]\ndialect = {name = "prompt_json", language = "zh"}\n'
    )
    settings = read_settings(tmp_path, {}, {})
    assert dialect_part(make_dialect(settings)) != dialect_part(make_dialect(settings.of_agents["desk"]))
    assert make_dialect(settings.of_agents["desk"]) == dialect("prompt_json", language="zh")


@pytest.mark.parametrize(
    "make", [lambda: dialect("openai_chat"), lambda: dialect("hermes"), lambda: dialect("react", plan=True)]
)
async def test_a_dialect_itself_is_spoken(make: Callable[[], Dialect]) -> None:
    said = make()
    call = '<tool_call>\n{"name": "weather", "arguments": {"city": "Oslo"}}\n</tool_call>'
    if said.name == "react":
        call = 'Action: weather\nAction Input: {"city": "Oslo"}'
    asked: list[JsonObject] = []

    def answer(request: JsonObject) -> Reply:
        asked.append(request)
        return Reply.of(call) if len(asked) == 1 else Reply.of("Answer: sunny" if said.name == "react" else "sunny")

    with ChatServer(answer) as server:
        result = await Agent(f"{server.url}#m", tools=[weather], dialect=said).run("Weather in Oslo?")
    assert (result.output, len(result.calls)) == ("sunny", 1 if said.name != "openai_chat" else len(result.calls))
    assert ("tools" in asked[0]) == (said.name == "openai_chat")


def test_a_template_that_was_read_is_not_read_again() -> None:
    assert read_template(CHINESE_JSON) is read_template(CHINESE_JSON)
