"""The logic of the pages, which is plain TypeScript, tested by its own tests."""

from __future__ import annotations

from packages.studio import hatch_build


def test_the_logic_of_the_pages_passes_its_own_tests(bundle: None) -> None:
    hatch_build.run_npm("run", "test")
