"""The pytest plugin: the fixture `no_models`, by which no test asks a real model. pytest finds it by an entry point."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture
def no_models() -> Iterator[None]:
    """No real model is asked in this test: a call to one raises `UsageError`. See `actum.testing.refusing_models`.

    For all tests of a project, in `conftest.py`: `pytestmark = pytest.mark.usefixtures("no_models")` in a file, or
    `usefixtures = no_models` in the settings of pytest.
    """
    from .testing import refusing_models  # noqa: PLC0415  # pytest loads this file in every project

    with refusing_models():
        yield
