"""A server with everything that the conformance suite looks for, by the public means of `actum.server`.

`python -m tests.conformance.server FD`, FD being the number of a listening socket
"""

from __future__ import annotations

import asyncio
import json
import struct
import sys
import wave
import zlib
from io import BytesIO

import uvicorn

from actum import Context, Tool, ToolCall, ToolError, ToolResult, tool
from actum.core.call import MediaPart, TextPart
from actum.core.json import Json, JsonObject
from actum.core.message import UserMessage
from actum.core.model import Request
from actum.core.run.pending import Elicited, Pending
from actum.server import McpService
from actum.server.mcp.prompts import prompt
from actum.server.mcp.resources import Resource
from actum.server.mcp.tasks import TaskMode
from tests.server_process import inherited


def red_pixel() -> bytes:
    """A PNG of one red pixel."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", zlib.compress(b"\x00\xff\x00\x00")) + chunk(b"IEND", b"")


def silence() -> bytes:
    """A WAV of a few samples."""
    file = BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(1)
        sound.setframerate(8_000)
        sound.writeframes(b"\x80" * 8)
    return file.getvalue()


PNG = MediaPart("image/png", red_pixel())
WAV = MediaPart("audio/wav", silence())


def form(properties: JsonObject, *required: str) -> JsonObject:
    return {"type": "object", "properties": properties, "required": [*required]}


def text(title: str = "") -> JsonObject:
    return {"type": "string", "description": title} if title else {"type": "string"}


def told(elicited: Elicited) -> str:
    return f"action={elicited.action}, content={json.dumps(elicited.content)}"


def ask(words: str, tokens: int) -> Request:
    return Request(messages=[UserMessage.of(words)], max_tokens=tokens)


# Tools ----------------------------------------------------------------------------------------------------------------


@tool
async def test_simple_text() -> str:
    """Text."""
    return "This is a simple text response for testing."


@tool
async def test_image_content() -> MediaPart:
    """An image."""
    return PNG


@tool
async def test_audio_content() -> MediaPart:
    """A sound."""
    return WAV


@tool
async def test_embedded_resource() -> MediaPart:
    """A resource within the result."""
    return MediaPart("text/plain", b"This is an embedded resource content.", "test://embedded-resource")


@tool
async def test_multiple_content_types() -> list[TextPart | MediaPart]:
    """Several kinds of content."""
    data = MediaPart("application/json", b'{"test":"data","value":123}', "test://mixed-content-resource")
    return [TextPart("Multiple content types test:"), PNG, data]


@tool
async def test_tool_with_logging(ctx: Context) -> str:
    """Log while it runs."""
    for words in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        ctx.log("info", words)
        await asyncio.sleep(0.05)
    return "Logged."


@tool
async def test_logging_tool(ctx: Context) -> str:
    """Log something."""
    ctx.log("info", "Logged.")
    return "Done."


@tool
async def test_error_handling() -> str:
    """Fail."""
    raise ToolError("This tool intentionally returns an error for testing")


@tool
async def test_tool_with_progress(ctx: Context) -> str:
    """Tell how far it is."""
    for progress in (0, 50, 100):
        ctx.progress({"progress": progress, "total": 100})
        await asyncio.sleep(0.05)
    return "Done."


@tool
async def test_sampling(ctx: Context, prompt: str) -> str:
    """Ask the client's model."""
    return f"LLM response: {(await ctx.sample(ask(prompt, 100))).text}"


@tool
async def test_elicitation(ctx: Context, message: str) -> str:
    """Ask the user."""
    schema = form({"username": text("User's response"), "email": text("User's email address")}, "username", "email")
    return f"User response: {told(await ctx.elicit(message, schema))}"


@tool
async def test_elicitation_sep1034_defaults(ctx: Context) -> str:
    """Ask with defaults."""
    schema = form(
        {
            "name": {"type": "string", "default": "John Doe"},
            "age": {"type": "integer", "default": 30},
            "score": {"type": "number", "default": 95.5},
            "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
            "verified": {"type": "boolean", "default": True},
        }
    )
    return f"Elicitation completed: {told(await ctx.elicit('Please check these.', schema))}"


@tool
async def test_elicitation_sep1330_enums(ctx: Context) -> str:
    """Ask for one or several of a list, in all five ways."""
    titled: list[Json] = [
        {"const": f"value{n}", "title": title} for n, title in enumerate(("First", "Second", "Third"), 1)
    ]
    schema = form(
        {
            "untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
            "titledSingle": {"type": "string", "oneOf": titled},
            "legacyEnum": {
                "type": "string",
                "enum": ["opt1", "opt2", "opt3"],
                "enumNames": ["Option One", "Option Two", "Option Three"],
            },
            "untitledMulti": {"type": "array", "items": {"type": "string", "enum": ["option1", "option2", "option3"]}},
            "titledMulti": {"type": "array", "items": {"anyOf": titled}},
        }
    )
    return f"Elicitation completed: {told(await ctx.elicit('Please choose.', schema))}"


@tool
async def test_missing_capability(ctx: Context) -> str:
    """Need what not every client can do."""
    return (await ctx.sample(ask("Say something.", 10))).text


@tool
async def test_streaming_elicitation(ctx: Context) -> str:
    """Tell how far it is, then ask."""
    ctx.progress({"progress": 1, "total": 2})
    return told(await ctx.elicit("Go on?", form({"ok": {"type": "boolean"}}, "ok")))


@tool
async def test_reconnection() -> str:
    """Take a moment."""
    await asyncio.sleep(0.2)
    return "Reconnection test completed."


# What is asked in rounds ----------------------------------------------------------------------------------------------

NAME = form({"name": text()}, "name")


@tool
async def test_input_required_result_elicitation(ctx: Context) -> str:
    """Ask for a name."""
    return f"Hello, {(await ctx.elicit('What is your name?', NAME, key='user_name')).content.get('name')}!"


@tool
async def test_input_required_result_sampling(ctx: Context) -> str:
    """Ask a model."""
    return (await ctx.sample(ask("What is the capital of France?", 100), key="capital_question")).text


@tool
async def test_input_required_result_list_roots(ctx: Context) -> str:
    """Ask for directories."""
    return f"Roots: {', '.join(await ctx.roots())}"


@tool
async def test_input_required_result_request_state(ctx: Context) -> str:
    """Ask for a yes."""
    confirmed = await ctx.elicit("Please confirm", form({"ok": {"type": "boolean"}}, "ok"))
    return f"state-ok: {told(confirmed)}"


@tool
async def test_input_required_result_tampered_state(ctx: Context) -> str:
    """Ask for a yes."""
    return told(await ctx.elicit("Please confirm", form({"ok": {"type": "boolean"}}, "ok")))


@tool
async def test_input_required_result_multiple_inputs(ctx: Context) -> str:
    """Ask for three things at once."""
    name, greeting, roots = await asyncio.gather(
        ctx.elicit("What is your name?", NAME), ctx.sample(ask("Generate a greeting", 50)), ctx.roots()
    )
    return f"{greeting.text} {name.content.get('name')}, {len(roots)} roots"


@tool
async def test_input_required_result_multi_round(ctx: Context) -> str:
    """Ask twice, one after the other."""
    name = await ctx.elicit("Step 1: What is your name?", NAME)
    color = await ctx.elicit("Step 2: What is your favorite color?", form({"color": text()}, "color"))
    return f"{name.content.get('name')} likes {color.content.get('color')}"


@tool
async def test_input_required_result_capabilities(ctx: Context) -> str:
    """Ask what the client can be asked, and no more."""
    peer = ctx.peer
    capabilities = getattr(peer, "capabilities", {})
    said = ""
    if "sampling" in capabilities:
        said += (await ctx.sample(ask("Say hello", 20))).text
    if "elicitation" in capabilities:
        said += told(await ctx.elicit("Your name?", NAME))
    return said or "Nothing can be asked."


# Tasks ----------------------------------------------------------------------------------------------------------------


@tool
async def greet(name: str) -> str:
    """Greet."""
    return f"Hello, {name}!"


@tool
async def slow_compute(seconds: float, label: str = "") -> str:
    """Take a while."""
    await asyncio.sleep(seconds)
    return f"Computed {label} in {seconds} s."


@tool
async def failing_job() -> str:
    """Fail after a while."""
    await asyncio.sleep(1)
    raise ToolError("This job always fails.")


@tool
async def protocol_error_job() -> str:
    """Fail by a mistake."""
    raise RuntimeError("a mistake")


@tool
async def confirm_delete(ctx: Context, filename: str) -> str:
    """Delete a file once it is confirmed."""
    confirmed = await ctx.elicit(f"Delete {filename}?", form({"confirm": {"type": "boolean"}}, "confirm"))
    return f"{filename}: {told(confirmed)}"


@tool
async def multi_input(ctx: Context) -> str:
    """Ask for two things at once."""
    first, second = await asyncio.gather(
        ctx.elicit("Your name?", NAME), ctx.elicit("Sure?", form({"confirm": {"type": "boolean"}}, "confirm"))
    )
    return f"{told(first)} {told(second)}"


@tool
async def test_tool_with_task(ctx: Context) -> str:
    """Ask for a name, then take a while."""
    name = await ctx.elicit("What is your name?", NAME, key="user_name")
    await asyncio.sleep(0.2)
    return f"Done for {name.content.get('name')}."


JOBS = [greet, slow_compute, failing_job, protocol_error_job, confirm_delete, multi_input]
MODES: dict[str, TaskMode] = {
    "slow_compute": "always",
    "failing_job": "required",
    "protocol_error_job": "always",
    "confirm_delete": "always",
    "multi_input": "always",
    "test_tool_with_task": "required",
}


class Schemas:
    """A toolset whose one tool has a schema with most that JSON Schema knows."""

    generation = 0

    async def list_tools(self) -> tuple[Tool, ...]:
        schema: JsonObject = {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "$defs": {
                "address": {
                    "$anchor": "addressDef",
                    "type": "object",
                    "properties": {"street": text(), "city": text()},
                }
            },
            "properties": {
                "name": text(),
                "address": {"$ref": "#/$defs/address"},
                "contactMethod": {"type": "string", "enum": ["phone", "email"]},
                "phone": text(),
                "email": text(),
            },
            "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
            "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
            "then": {"required": ["phone"]},
            "else": {"required": ["email"]},
            "additionalProperties": False,
        }
        name, words = "json_schema_2020_12_tool", "Tool with JSON Schema 2020-12 features"
        routed: JsonObject = {
            "type": "object",
            "properties": {
                "region": {"type": "string", "x-mcp-header": "Region"},
                "priority": {"type": "integer", "x-mcp-header": "Priority"},
                "verbose": {"type": "boolean", "x-mcp-header": "Verbose"},
            },
        }
        return (
            Tool(name=name, description=words, parameters=schema),
            Tool(name="test_x_mcp_header", description="Some arguments come in headers too.", parameters=routed),
        )

    async def execute(self, call: ToolCall, context: Context) -> ToolResult:
        return ToolResult(call.id, (TextPart(json.dumps(call.arguments)),))


# Prompts and resources ------------------------------------------------------------------------------------------------


@prompt
def test_simple_prompt() -> str:
    """A prompt."""
    return "This is a simple prompt for testing."


@prompt(suggest={"arg1": lambda begun: [word for word in ("paris", "park", "party") if word.startswith(begun)]})
def test_prompt_with_arguments(arg1: str, arg2: str) -> str:
    """A prompt with arguments.

    Args:
        arg1: first.
        arg2: second.
    """
    return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"


@prompt
def test_prompt_with_embedded_resource(resourceUri: str) -> list[MediaPart | TextPart]:  # noqa: N803
    """A prompt with a resource.

    Args:
        resourceUri: its address.
    """
    resource = MediaPart("text/plain", b"Embedded resource content for testing.", resourceUri)
    return [resource, TextPart("Please process the embedded resource above.")]


@prompt
def test_prompt_with_image() -> list[MediaPart | TextPart]:
    """A prompt with an image."""
    return [PNG, TextPart("Please analyze the image above.")]


@prompt
async def test_input_required_result_prompt(ctx: Context) -> str:
    """A prompt that asks."""
    context = await ctx.elicit("What context should the prompt use?", form({"context": text()}, "context"))
    return f"In the context of {context.content.get('context')}."


def of_template(id: str) -> str:
    return json.dumps({"id": id, "templateTest": True, "data": f"Data for ID: {id}"})


RESOURCES = [
    Resource("test://static-text", "This is the content of the static text resource.", name="text"),
    Resource("test://static-binary", red_pixel(), name="binary", media_type="image/png"),
    Resource("test://watched-resource", "Watched.", name="watched"),
    Resource("test://template/{id}/data", of_template, name="template", media_type="application/json"),
]
PROMPTS = [
    test_simple_prompt,
    test_prompt_with_arguments,
    test_prompt_with_embedded_resource,
    test_prompt_with_image,
    test_input_required_result_prompt,
]
TOOLS = [value for name, value in list(globals().items()) if name.startswith("test_") and value not in PROMPTS]


class Nobody:
    """Approves nothing: nothing here needs it."""

    async def ask(self, pending: Pending) -> None:
        return None


def service() -> McpService:
    tools = [*TOOLS, *JOBS, Schemas()]
    return McpService(tools, prompts=PROMPTS, resources=RESOURCES, tasks=MODES, name="everything", version="1")


if __name__ == "__main__":
    uvicorn.Server(uvicorn.Config(service().app(), log_level="error", timeout_keep_alive=240)).run(
        [inherited(sys.argv[1])]
    )
