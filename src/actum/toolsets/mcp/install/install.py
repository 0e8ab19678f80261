"""`install_server`: a server that an installer would install and run in one go is installed first.

Next: `npx.py` and `uvx.py`, one for each kind of package; `package.py`, what the two share.
"""

from __future__ import annotations

from collections.abc import Mapping

from ....core.errors import UsageError
from ....protocols.mcp.config import McpServer
from ....transport.egress import Egress
from .npx import install_npx, is_npx
from .package import InstalledServer
from .uvx import install_uvx, is_uvx


def is_installed_first(server: McpServer) -> bool:
    """Whether a server is started by an installer that is known here: npx, uvx, `uv tool run` or `pipx run`."""
    return is_npx(server) or is_uvx(server)


async def install_server(
    server: McpServer, environment: Mapping[str, str], egress: Egress | None = None
) -> InstalledServer:
    """Install the package of a server, so that the server itself is started without the installer.

    Args:
        server: as it is configured, with a jail.
        environment: of this process: where the user's settings and our own folders are.
        egress: the operator's rules for outgoing calls. They hold for the registry, too.

    Raises:
        UsageError: the server is not started by an installer that is known here, the installer is missing, or the
            installer failed. Nothing is left behind.
    """
    if is_npx(server):
        return await install_npx(server, environment, egress)
    if is_uvx(server):
        return await install_uvx(server, environment, egress)
    raise UsageError(
        "{command} is no installer that is known here: npx, uvx, uv tool run, pipx run", command=server.command
    )
