"""The list of operations: what it loads, and that its rooms are the subjects of the document."""

from __future__ import annotations

import subprocess
import sys

from actum.server.api.operations import OPERATIONS

_LOAD = """
import sys
for name in ("starlette", "uvicorn", "httptools", "mcp", "a2a"):
    sys.modules[name] = None  # whoever imports this module gets an ImportError

from actum.server.api.operations import OPERATIONS
"""


def test_operations_load_without_a_web_framework() -> None:
    done = subprocess.run([sys.executable, "-W", "error", "-c", _LOAD], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_handler_of_an_operation_stands_in_the_room_of_its_tag() -> None:
    for operation in OPERATIONS:
        room = operation.handler.__module__.split(".")[:4]
        of_kinds = ("definitions", "applying", "feed")  # what is made of a kind, and what goes through all kinds
        assert room[:3] == ["actum", "server", "api"], operation.id
        assert room[3] in (operation.tag, *of_kinds), operation.id
