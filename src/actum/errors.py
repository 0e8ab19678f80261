"""The errors that a program can catch. All of them are `ActumError`s.

    from actum.errors import ModelError

    try:
        result = agent.run_sync("What is the weather?")
    except ModelError as error:  # the model gave no answer
        print(error)

A call that fails raises nothing here: the model is told, and `result.calls` has the failure. The classes are made in
`actum.core.errors`, which draws the whole tree. Programs import them from here.
"""

from .core.errors import (
    ActumError,
    BadTool,
    Busy,
    ContextOverflow,
    InDoubt,
    JournalError,
    ModelError,
    ModelGarbled,
    ModelRejected,
    ModelUnavailable,
    ReplayDiverged,
    ToolError,
    UnknownName,
    UsageError,
)

__all__ = [
    "ActumError",
    "BadTool",
    "Busy",
    "ContextOverflow",
    "InDoubt",
    "JournalError",
    "ModelError",
    "ModelGarbled",
    "ModelRejected",
    "ModelUnavailable",
    "ReplayDiverged",
    "ToolError",
    "UnknownName",
    "UsageError",
]
