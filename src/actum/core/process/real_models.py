"""Whether this process may ask real models: tests say that it may not."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final
from urllib.parse import urlsplit

from ..errors import UsageError

_refusing: Final[list[None]] = []  # one entry for each block that is open, in any thread or task


@contextmanager
def refusing_models() -> Iterator[None]:
    """A block in which no real model is asked, by any task or thread of this process: asking one raises `UsageError`.

    Models at an address of this machine may be asked, since a test may have a server of its own there. So may models
    in this process, such as `actum.testing.TestModel`, `embedded` and local weights. Other processes are not held back.
    """
    _refusing.append(None)
    try:
        yield
    finally:
        _refusing.pop()


def check_may_ask(name: str, url: str) -> None:
    """Refuse to ask a real model where a block says that none is asked.

    Args:
        name: of the model, for the error.
        url: where the model is.

    Raises:
        UsageError: no real model may be asked now.
    """
    if _refusing and not _is_of_this_machine(url):
        raise UsageError(
            "the test would have asked the real model {name!r}, and no_models is on: give the agent a model for tests, "
            "as in agent.override(model=TestModel())",
            name=name,
        )


def _is_of_this_machine(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
