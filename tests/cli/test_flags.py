"""What several commands take is declared once, and is the same in each of them."""

from __future__ import annotations

from typing import Annotated

import typer
from typer.main import get_command
from typer.testing import CliRunner

from actum.cli.app import app
from actum.cli.conversation.flags import AgentFlags, ConversationFlags, FlagGroup, ModelFlags, RunFlags, spread


def options_of(name: str) -> dict[str | None, tuple[object, ...]]:
    """The flags of a command, in their order, with all that is said of each."""
    command = get_command(app).commands[name].loaded()  # type: ignore[attr-defined]
    return {
        flag.name: (flag.opts, flag.secondary_opts, flag.metavar, flag.default, flag.multiple, flag.help)
        for flag in command.params
        if flag.param_type_name == "option"
    }


def test_run_chat_and_resume_take_the_same_flags() -> None:
    run, chat, resume = map(options_of, ("run", "chat", "resume"))
    assert run == chat
    assert list(run) == [
        flag for group in (AgentFlags, ModelFlags, ConversationFlags, RunFlags) for flag in group.__struct_fields__
    ]
    shared = [*AgentFlags.__struct_fields__, *ModelFlags.__struct_fields__, *RunFlags.__struct_fields__]
    assert list(resume)[-len(shared) :] == shared
    assert {name: resume[name] for name in shared} == {name: run[name] for name in shared}


def test_a_command_is_given_its_groups_of_flags_and_its_own_parameters() -> None:
    class Paint(FlagGroup, frozen=True, kw_only=True):
        colour: Annotated[str, typer.Option("--colour", "-c")] = "red"
        layers: Annotated[list[int] | None, typer.Option("--layer")] = None

    taken: list[object] = []

    def paint(wall: str, dry: bool = False, *, look: Paint) -> int:
        taken[:] = [wall, dry, look]
        return 0

    paint.__annotations__["look"] = Paint  # a class inside of a function can not be found by its name
    program = typer.Typer()
    program.command()(spread(paint))
    for words, expected in (
        (["north"], ["north", False, Paint()]),
        (
            ["north", "-c", "blue", "--layer", "1", "--layer", "2"],
            ["north", False, Paint(colour="blue", layers=[1, 2])],
        ),
        (["--dry", "north"], ["north", True, Paint()]),
    ):
        result = CliRunner().invoke(program, words)
        assert (result.exit_code, taken) == (0, expected), (words, result.output)
    assert CliRunner().invoke(program, ["north", "--look", "x"]).exit_code == 2
