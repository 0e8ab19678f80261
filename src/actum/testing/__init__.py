"""What tests of programs with agents need: models that say what a test wants, other fakes, and the runs of a block.

model = ScriptedModel([[ToolCall(id="1", name="add", arguments={"a": 2, "b": 3})], "It is 5."])
assert Agent(model, tools=[add]).run_sync("2 + 3?").text == "It is 5."

`docs/testing.md` is the guide.
"""

from ..core.process.real_models import refusing_models
from ..runs.captured import CapturedRun, capture_runs
from .example_values import NoExample, ValueStyle
from .fakes import FakeClock, RecordingToolset, Said, ScriptedApprover, ScriptedModel
from .tool_caller import TestModel

__all__ = [
    "CapturedRun",
    "FakeClock",
    "NoExample",
    "RecordingToolset",
    "Said",
    "ScriptedApprover",
    "ScriptedModel",
    "TestModel",
    "ValueStyle",
    "capture_runs",
    "refusing_models",
]
