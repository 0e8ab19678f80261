"""A PDF server over MCP that is allowed one folder, used by three hosts: an agent of ours, the official client in both
eras of the protocol, and another process that knows nothing but a configuration."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp_types import TextContent
from msgspec.structs import replace

import actum
from actum import Agent, ToolCall
from actum.events import RunResult
from actum.messages import Request, ToolMessage
from actum.sandbox.linux import landlock_abi
from actum.testing import Said
from actum.toolsets.mcp import McpJail, McpServer, McpToolset

sys.path.insert(0, str(Path(__file__).parents[2]))  # so that it also runs as a file

from examples.own_model import own_model, own_or_scripted
from examples.pdf_server.samples import make_samples
from examples.watch import heading, watch

QUESTION = "How long is the warranty of my kettle, and what does it not cover?"
CODE = (Path(__file__).parents[2], Path(actum.__file__).parents[1])
"""What the server's program needs to be read: the checkout, and actum where it is installed elsewhere."""
PROGRAM = str(Path(__file__).with_name("server.py"))


def script(request: Request) -> Said:
    """What stands in for the model: it searches, reads the page that was found, and answers with what stands there."""
    results = [message.result for message in request.messages if isinstance(message, ToolMessage)]
    if not results:
        return ToolCall("1", "papers_search_pdfs", {"words": "warranty kettle"})
    if len(results) == 1:
        found = json.loads(results[0].text)[0]
        return ToolCall("2", "papers_read_pdf", {"file": found["file"], "page": found["page"]})
    page = json.loads(results[1].text)
    _, lasts, excludes = page["text"].splitlines()
    return f"{lasts} {excludes} ({page['file']}, page {page['page']})"


async def our_host(folder: Path, own: str = "") -> RunResult:
    """An agent of ours. It trusts what the server says of its own tools, since we wrote it: reading asks nobody.

    Args:
        folder: with the papers.
        own: a model of one's own, in the place of the script.
    """
    server = McpServer(name="papers", command=sys.executable, args=(PROGRAM, str(folder)), trusted=True)
    if landlock_abi():
        server = replace(server, jail=jail(folder))
    async with McpToolset(server, wait_s=60) as toolset:
        return await watch(Agent(own_or_scripted(own, script), [toolset]), QUESTION)


def jail(folder: Path) -> McpJail:
    """The folder of the papers and the program itself: the kernel refuses the server all other files."""
    return McpJail(read=(str(folder), *(str(place) for place in CODE)))


async def official_client(folder: Path, *files: str) -> list[str]:
    """The official client, in the newest era that the server speaks; what it gets to read of each file."""
    parameters = StdioServerParameters(command=sys.executable, args=[PROGRAM, str(folder)])
    async with Client(parameters, mode="auto") as client:
        results = [await client.call_tool("read_pdf", {"file": file}) for file in files]
    return ["".join(block.text for block in each.content if isinstance(block, TextContent)) for each in results]


def another_process(folder: Path) -> str:
    """`actum mcp test`, which is given nothing but the usual configuration of a client; what it prints."""
    entry = {"command": sys.executable, "args": [PROGRAM, str(folder)]}
    configuration = folder.parent / "servers.json"
    configuration.write_text(json.dumps({"mcpServers": {"papers": entry}}))
    command = [sys.executable, "-m", "actum", "mcp", "test", str(configuration), "--yes", "--json"]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


async def everything(own: str = "") -> None:
    """All hosts, one after the other; with a model of your own only the host that has a model."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place, "papers")
        make_samples(folder)
        heading("An agent of ours")
        await our_host(folder, own)
        if own:
            return
        heading("The official client; the second file lies beside the folder")
        print("\n".join(await official_client(folder, "home/lease.pdf", "../diary.pdf")))
        heading("Another process")
        print(another_process(folder))


def main(arguments: Sequence[str] | None = None) -> None:
    """Run it."""
    asyncio.run(everything(own_model(__doc__, arguments)))


if __name__ == "__main__":
    main()
