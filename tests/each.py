"""One test for many cases: every case is checked, and all cases that fail are named.

`pytest.mark.parametrize` makes a test item of each case, and an item costs more than most of our checks. It is still
the right tool for a few cases, and for cases that take so long that two workers should share them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TypeVarTuple

import pytest

Case = TypeVarTuple("Case")


def each(cases: Mapping[str, tuple[*Case]]) -> Callable[[Callable[[*Case], None]], Callable[[], None]]:
    """Make one test of a check that takes a case.

    Args:
        cases: the arguments of the check, under the name of the case.

    Returns:
        A decorator. The test that it makes raises an `ExceptionGroup` with one error for each case that failed; the
        note of an error names its case.
    """

    def decorator(check: Callable[[*Case], None]) -> Callable[[], None]:
        def test() -> None:
            assert cases, "there is no case"
            failed: list[BaseException] = []
            for name, case in cases.items():
                try:
                    check(*case)
                except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001 (all errors are raised below)
                    error.add_note(f"case: {name}")
                    failed.append(error)
            if failed:
                raise BaseExceptionGroup(f"{len(failed)} of {len(cases)} cases failed", failed)

        test.__name__, test.__qualname__ = check.__name__, check.__qualname__
        test.__doc__, test.__module__ = check.__doc__, check.__module__
        return test

    return decorator


def each_path(paths: Iterable[Path]) -> Callable[[Callable[[Path], None]], Callable[[], None]]:
    """Make one test of a check that takes a file of the corpus.

    Args:
        paths: the files. A case is named by its folder and its file.
    """
    return each({f"{path.parent.name}-{path.stem}": (path,) for path in paths})
