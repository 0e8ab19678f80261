"""The commands that go on with a run or a conversation, with the flags that it was started with."""

from __future__ import annotations

import shlex

from ...call.limits.limits import Limits
from ...compose.settings import EMBEDDED, EVERYDAY, MINE, Settings, shown_journal
from ...core.json import dumps
from ...core.model_settings import ModelSettings


def resume_command(settings: Settings, run_id: str, *answers: str) -> str:
    """`actum resume` for this run.

    Args:
        settings: of the run.
        run_id: of the run.
        answers: the flags that answer what the run waits for.
    """
    return shlex.join(["actum", "resume", run_id, *answers, *_flags(settings)])


def chat_command(settings: Settings, conversation: str, *more: str) -> str:
    """`actum chat` for this conversation, with further flags."""
    return shlex.join(["actum", "chat", "--conversation", conversation, *more, *_flags(settings)])


def _flags(settings: Settings) -> list[str]:
    """The flags without which a later command would use other tools, another model or another record.

    Of an agent with a name, only what was said in the place of its own settings. What the folder's `actum.toml` or a
    variable says is said there again, and mostly left out here. `--yes` is left out on purpose: it holds for one
    command.
    """
    if settings.agent:
        said = {name: getattr(settings, name) for name, source in settings.sources.items() if source == "flag"}
        asked = _asking(settings.model_settings) if "model_settings" in said else []
        return ["--agent", settings.agent, *_flags(Settings(**said, sources=settings.sources)), *asked]
    places = [place for place in settings.tools if isinstance(place, str)]
    words = [word for place in places if place != EVERYDAY for word in ("--tools", place)]
    words += [word for name in settings.mcp if settings.mcp != (MINE,) for word in ("--mcp", name)]
    words += ["--journal", shown_journal(settings.journal)] if settings.journal else []
    words += ["--policy", settings.policy] if settings.policy else []
    words += ["--model", settings.model] if settings.model not in ("", EMBEDDED) else []
    named = isinstance(settings.dialect, str) and settings.dialect != "auto"
    words += ["--dialect", str(settings.dialect)] if named else []
    words += ["--instructions", settings.instructions] if settings.sources.get("instructions") == "flag" else []
    words += ["--truncation", settings.truncation] if settings.sources.get("truncation") == "flag" else []
    return words + [word for limit in _limits(settings.limits) for word in ("--limit", limit)]


def _asking(settings: ModelSettings) -> list[str]:
    """The flags that set these model settings. Headers are left out, since they may hold a key."""
    numbers = {
        "--temperature": settings.temperature,
        "--max-tokens": settings.max_tokens,
        "--top-p": settings.top_p,
        "--seed": settings.seed,
        "--timeout": settings.timeout_s,
    }
    words = [word for flag, value in numbers.items() if value is not None for word in (flag, str(value))]
    words += [word for text in settings.stops for word in ("--stop", text)]
    return words + [word for name, value in settings.extras.items() for word in ("--extra", f"{name}={dumps(value)}")]


def _limits(limits: Limits) -> list[str]:
    """The limits that one flag can set, where they are not the usual ones."""
    usual = Limits()
    changed = {
        name: getattr(limits, name)
        for name in Limits.__struct_fields__
        if getattr(limits, name) != getattr(usual, name)
    }
    return [
        f"{name}={'none' if value is None else value}"
        for name, value in changed.items()
        if value is None or isinstance(value, int | float)
    ]
