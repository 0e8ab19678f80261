"""Tools of LangChain and LlamaIndex here, and ours there, in a process that has all three. It prints what it heard.

python frameworks.py JOURNAL SITE_PACKAGES      (the Python of actum; the frameworks are in SITE_PACKAGES)
"""

import asyncio
import json
import site
import sys

import actum

LOADED = [name for name in sys.modules if name.split(".")[0] in ("langchain_core", "llama_index")]
site.addsitedir(sys.argv[2])

from typing import Annotated

from langchain_core.tools import BaseTool as LangChainBase
from langchain_core.tools import InjectedToolArg, InjectedToolCallId, ToolException
from langchain_core.tools import Tool as LangChainTool
from langchain_core.tools import tool as langchain_tool
from llama_index.core.base.llms.types import ImageBlock
from llama_index.core.tools import FunctionTool as LlamaIndexTool
from llama_index.core.tools import ToolOutput
from llama_index.core.tools.calling import acall_tool
from llama_index.core.workflow import Context as LlamaIndexContext
from pydantic import BaseModel, field_validator

from actum import Agent, Answer, Image, Rule, Rules, ToolCall, tool
from actum.errors import UsageError
from actum.interop import langchain, llamaindex
from actum.runs.options import RunOptions
from actum.runs.runner import Runner
from actum.testing import ScriptedModel

PIXEL = b"\x89PNG\r\n\x1a\n0000"
HEARD = {"loaded by actum": LOADED}


# Theirs here


class Order(BaseModel):
    number: int
    size: int = 1

    @field_validator("size")
    @classmethod
    def is_sold(cls, value):
        if value > 9:
            raise ValueError("nobody sells so much")
        return value


@langchain_tool(args_schema=Order, return_direct=True)
def order(number: int, size: int = 1) -> str:
    """Order something."""
    return f"ordered {size} of {number}"


@langchain_tool
async def look(what: str, call: Annotated[str, InjectedToolCallId]) -> str:
    """Look at something."""
    if what == "dark":
        raise ToolException("It is dark.")
    if what == "bug":
        raise ValueError("/secret/path")
    return f"{what} {bool(call)}"


@langchain_tool(response_format="content_and_artifact")
def paint(what: str) -> tuple:
    """Paint something."""
    block = {"type": "image", "base64": "iVBORw0KGgowMDAw", "mime_type": "image/png"}
    return [{"type": "text", "text": what}, block], {"colours": 3}


@langchain_tool
def kept(number: int, owner: Annotated[str, InjectedToolArg]) -> str:
    """Needs what only a graph knows."""
    return owner


class Own(LangChainBase):
    name: str = "own"
    description: str = "A class of its own."

    def _run(self, text: str) -> str:
        return text.upper()


one_text = LangChainTool(name="one_text", description="Takes a text, and has no schema.", func=str.upper)


def add(a: int, b: int) -> dict:
    """Add two numbers."""
    return {"sum": a + b}


async def picture(what: str) -> list:
    """A picture."""
    return [ImageBlock(image=PIXEL, image_mimetype="image/png")]


def refuse(what: str) -> str:
    """Refuses by its callback."""
    return what


def shared(ctx: LlamaIndexContext, what: str) -> str:
    """Takes the context of a workflow."""
    return what


def refused(result):
    return ToolOutput("refuse", f"No {result}.", raw_input={}, is_error=True)


THEIRS = {
    "langchain": langchain.from_tools([order, look, paint, Own(), one_text]),
    "llamaindex": llamaindex.from_tools(
        [
            LlamaIndexTool.from_defaults(add),
            LlamaIndexTool.from_defaults(async_fn=picture),
            LlamaIndexTool.from_defaults(refuse, callback=refused),
        ]
    ),
}
CALLS = {
    "langchain": [
        ("order", {"number": 7}),
        ("order", {"number": 7, "size": 10}),
        ("look", {"what": "here"}),
        ("look", {"what": "dark"}),
        ("look", {"what": "bug"}),
        ("paint", {"what": "a cat"}),
        ("own", {"text": "abc"}),
        ("one_text", {"tool_input": "abc"}),
    ],
    "llamaindex": [("add", {"a": 2, "b": 3}), ("picture", {"what": "x"}), ("refuse", {"what": "way"})],
}


async def theirs_here(framework):
    runner, heard = Runner([THEIRS[framework]]), []
    for name, arguments in CALLS[framework]:
        result = (await runner.call([ToolCall("1", name, arguments)], RunOptions(), by="person")).calls[0][1]
        code = result.error.code if result.error else ""
        heard.append([name, code, result.text, [[part.media_type, len(part.data)] for part in result.media]])
    return heard


def refusals():
    yield lambda: Agent(ScriptedModel([]), tools=[order])
    yield lambda: Agent(ScriptedModel([]), tools=[Own()])
    yield lambda: Agent(ScriptedModel([]), tools=[LlamaIndexTool.from_defaults(add)])
    yield lambda: langchain.from_tools([kept])
    yield lambda: langchain.from_tools([add])
    yield lambda: llamaindex.from_tools([LlamaIndexTool.from_defaults(shared)])


def refusal(make):
    try:
        return str(make())
    except UsageError as error:
        return str(error)


# Ours there


@tool(effects={"read"})
async def find(config: str, self_: int = 1) -> str:
    """Finds what a configuration says."""
    return f"found {config} {self_}"


@tool(effects={"spend"})
def pay(amount: int) -> str:
    """Pays."""
    return f"paid {amount}"


@tool(effects={"destroy"})
def wipe(disk: str) -> str:
    """Wipes a disk."""
    return "wiped"


@tool(effects={"read"})
def draw() -> Image:
    """Draws."""
    return Image(PIXEL)


def ours():
    desk = Agent(ScriptedModel(["It is done."]), name="desk").as_tool(description="A desk.")
    return [find, pay, wipe, draw, desk]


POLICY = Rules(Rule(tools=["pay"], then="ask"), Rule(tools=["wipe"], then="deny"), default="allow")
ASKED = [
    ("find", {"config": "a.toml"}),
    ("find", {"config": 3, "self_": "x"}),
    ("pay", {"amount": 5}),
    ("wipe", {"disk": "c"}),
    ("draw", {}),
    ("desk", {"task": "Do it."}),
]


def told(answer):
    """What their model reads, and how it was told."""
    if isinstance(answer, Exception):
        return [type(answer).__name__, str(answer)]
    content = getattr(answer, "content", answer)
    blocks = getattr(answer, "blocks", content)
    return ["", content if isinstance(content, str) and content else [str(type(each).__name__) for each in blocks]]


async def in_langchain(way):
    heard = []
    made = {each.name: each for each in langchain.to_tools(ours(), **OPTIONS)}
    for name, arguments in ASKED:
        said = {"type": "tool_call", "id": "c", "name": name, "args": dict(arguments)}
        try:
            answer = await made[name].ainvoke(said) if way == "async" else made[name].invoke(said)
        except ToolException as error:
            answer = error
        heard.append(told(answer))
    HEARD["langchain schema"] = made["find"].tool_call_schema["properties"]
    return heard


async def in_llamaindex(way):
    heard = []
    made = {each.metadata.name: each for each in llamaindex.to_tools(ours(), **OPTIONS)}
    for name, arguments in ASKED:
        output = await acall_tool(made[name], arguments) if way == "async" else None
        if output is None:
            try:
                output = made[name](**arguments)
            except actum.ToolError as error:
                output = error
        heard.append(told(output.exception if getattr(output, "is_error", False) else output))
    HEARD["llamaindex schema"] = made["find"].metadata.get_parameters_dict()["properties"]
    HEARD["llamaindex told"] = made["find"].metadata.to_openai_tool()["function"]["name"]
    return heard


OPTIONS = {"principal": "ann", "tenant": "acme", "journal": sys.argv[1], "policy": POLICY}


async def approved(message):
    """What an agent with the same tools makes of a call that was approved."""
    run, approval = message.split("(run ")[1].rstrip(")").replace("approval ", "").split(", ")
    agent = Agent(ScriptedModel([]), ours(), name="desk", journal=sys.argv[1], policy=POLICY)
    result = await agent.resume(run, {approval: Answer("approve")})
    return result.calls[0][1].text


async def main():
    for framework in THEIRS:
        HEARD[framework] = await theirs_here(framework)
        definitions = await THEIRS[framework].list_tools()
        HEARD[f"{framework} definitions"] = [[t.name, t.answers, sorted(t.property_schemas())] for t in definitions]
    HEARD["refusals"] = [refusal(make) for make in refusals()]
    for way in ("async", "sync"):
        HEARD[f"in langchain, {way}"] = await in_langchain(way)
        HEARD[f"in llamaindex, {way}"] = await in_llamaindex(way)
    HEARD["approved"] = await approved(HEARD["in langchain, sync"][2][1])
    print(json.dumps(HEARD))


asyncio.run(main())
