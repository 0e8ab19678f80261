"""A command that is typed, carried out in this process."""

from __future__ import annotations

import sys

from typer.main import get_command
from typer.testing import CliRunner, Result

from actum.cli.app import app

COMMAND = get_command(app)
"""The command line, built once: Typer's own `CliRunner.invoke` builds it anew for each command, in 30 ms."""


def typed(*words: str, input: str | None = None) -> Result:
    """Carry out a command; nobody sits at the terminal.

    Args:
        words: the command.
        input: what is piped into it.

    Returns:
        What was written, and how the command ended.
    """
    runner = CliRunner()
    error: BaseException | None = None
    code: int | str | None = 0
    with runner.isolation(input=input) as (stdout, stderr, both):
        try:
            COMMAND.main(args=list(words), prog_name=COMMAND.name)
        except SystemExit as end:
            code = end.code
            error = end if code else None
        except Exception as mistake:  # noqa: BLE001 (the test sees it in the result)
            code, error = 1, mistake
        sys.stdout.flush()
        sys.stderr.flush()
        said = stdout.getvalue(), stderr.getvalue(), both.getvalue()
    assert isinstance(code, int | None), code
    return Result(runner, *said, return_value=None, exit_code=code or 0, exception=error)
