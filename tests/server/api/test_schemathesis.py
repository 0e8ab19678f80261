"""Schemathesis calls our own API as its document says, and against it: nothing is found."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from actum.testing import ScriptedModel
from tests.endurance import share

from .application import Bank, application

EXAMPLES_MAX = share(4, 2)
PHASES = share("coverage,fuzzing,stateful", "fuzzing,stateful")
"""`coverage` tries each boundary of each field, which takes three quarters of the time."""
CONFIG = """
[[operations]]
include-operation-id = "callTool"
# The document can not say the schema of the arguments, which is that of the tool.
checks.positive_data_acceptance.expected-statuses = ["2xx", "401", "403", "404", "409", "422", "429"]

[[operations]]
include-operation-id = "answerApproval"
# Nor can it say the schema of a form, or of other arguments for a call.
checks.positive_data_acceptance.expected-statuses = ["2xx", "401", "403", "404", "409", "422", "429"]

[[operations]]
include-operation-id = "startRun"
# Nor that `unique_key` and `Idempotency-Key` exclude each other, or which address may be told of the end of a task.
checks.positive_data_acceptance.expected-statuses = ["2xx", "401", "403", "404", "409", "422", "429"]

[[operations]]
include-operation-id = "addKey"
# Nor that a key ends in the future, and what no name can be.
checks.positive_data_acceptance.expected-statuses = ["2xx", "401", "403", "404", "409", "422", "429"]

[[operations]]
include-operation-id = "beginSession"
# Nor that a key and a code exclude each other.
checks.positive_data_acceptance.expected-statuses = ["2xx", "401", "403", "404", "409", "422", "429"]

[[operations]]
include-operation-id = "applyDefinitions"
# Nor what a text is that defines something.
checks.positive_data_acceptance.expected-statuses = ["2xx", "401", "403", "404", "409", "422", "429"]

[[operations]]
include-operation-id = "listMemories"
# Nor what has no words to look for.
checks.positive_data_acceptance.expected-statuses = ["2xx", "401", "403", "404", "409", "422", "429"]

[[operations]]
include-operation-id = "addMemory"
# Nor that the memory has to be named where there are several.
checks.positive_data_acceptance.expected-statuses = ["2xx", "401", "403", "404", "409", "422", "429"]

[[operations]]
include-operation-id = "forgetMemories"
# Nor that the memory has to be named where there are several.
checks.positive_data_acceptance.expected-statuses = ["2xx", "401", "403", "404", "409", "422", "429"]

[[operations]]
include-operation-id = "switchMemories"
# Nor that the memory has to be named where there are several.
checks.positive_data_acceptance.expected-statuses = ["2xx", "401", "403", "404", "409", "422", "429"]

# Nor that there has to be a draft, or a text that defines something.
[[operations]]
include-operation-id-regex = "^publish(Tool|Workflow|Agent|Prompt|Server|Policy)$"
checks.positive_data_acceptance.expected-statuses = ["2xx", "401", "403", "404", "409", "422", "429"]

# Nor that a run which was forgotten can not be rated, and that `over` names a run that is there.
[[operations]]
include-operation-id-regex = "^(giveScore|listScores|withdrawScore)$"
checks.positive_data_acceptance.expected-statuses = ["2xx", "401", "403", "404", "409", "410", "422", "429"]

[[operations]]
include-operation-id = "importWorkflow"
# Nor that there has to be a text or a file, and what a file of Dify or Coze is.
checks.positive_data_acceptance.expected-statuses = ["2xx", "401", "403", "404", "409", "422", "429"]

[[operations]]
include-operation-id = "putDocument"
# Nor what Base64 is, and what can be read as a document.
checks.positive_data_acceptance.expected-statuses = ["2xx", "401", "403", "404", "409", "422", "429"]

[[operations]]
include-operation-id = "readFeed"
# The stream has no end: see test_feed.py.
enabled = false
"""


@pytest.mark.endurance("src/actum/server/api")
async def test_schemathesis_finds_nothing(tmp_path: Path) -> None:
    config = tmp_path / "schemathesis.toml"
    config.write_text(CONFIG)
    bank = Bank()
    bank.is_open.set()
    async with application(ScriptedModel(lambda request: "Hello."), bank=bank) as it:
        waits = await it.ask("POST", "/v1/tools/ask/call", {}, who="root")  # something that can be answered
        assert waits.status_code == 202
        run = await it.ask("POST", "/v1/runs", {"question": "Hi.", "session": "c1"}, who="root")
        await it.until(run.json()["id"], "done")
        command = [
            *(sys.executable, "-m", "schemathesis.cli", "--config-file", str(config)),
            *("run", f"{it.url}/openapi.json", "-H", "Authorization: Bearer root"),
            *("--phases", PHASES),
            *("--max-examples", str(EXAMPLES_MAX), "--seed", "1", "--no-color"),
            *("--request-timeout", "1", "--generation-database", "none"),
        ]
        process = await asyncio.create_subprocess_exec(
            *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT, cwd=tmp_path
        )
        output, _ = await process.communicate()
    assert process.returncode == 0, output.decode()
