"""The mandates of the benchmark of the defence are good ones: the benchmark itself needs AgentDojo."""

from __future__ import annotations

import tomllib

from actum import Mandate
from bench.injection import FOLDER


def test_each_mandate_that_was_written_is_one_and_names_tools_that_may_change_something() -> None:
    said = tomllib.loads((FOLDER / "declarations.toml").read_text("utf-8"))
    for suite, tasks in tomllib.loads((FOLDER / "mandates.toml").read_text("utf-8")).items():
        for task, calls in tasks.items():
            for call in Mandate.of({"calls": calls}).calls:
                assert said[suite][call.tool]["effects"] != ["read"], (suite, task)
