"""`--model NAME` puts a model of your own in the place of the script that an example has for a model."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence

from actum.core.model import Model
from actum.messages import Request
from actum.testing import Said, ScriptedModel


def own_model(about: str | None, arguments: Sequence[str] | None = None) -> str:
    """The model's name that the command line gives; empty where the example is to play its own script.

    Args:
        about: what the example shows, for `--help`.
        arguments: the words of the command line; those of this process by default.
    """
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument(
        "--model",
        default="",
        metavar="NAME",
        help="a model of your own: openai:gpt-5, ollama:qwen3, http://host/v1#name, embedded, ...",
    )
    return str(parser.parse_args(arguments).model)


def own_or_scripted(model: str, script: Callable[[Request], Said]) -> str | Model:
    """The model of this name, or a model that plays the script where no name is given."""
    return model or ScriptedModel(script)
