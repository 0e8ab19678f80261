"""`kill -9` at random moments, in short; `python -m bench --only kill` does it hundreds of times."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.kill import Tally, torment
from tests.endurance import share
from tests.postgres import PostgresServer

pytestmark = [pytest.mark.row("C7"), pytest.mark.endurance("src/actum/runs", "src/actum/call", "src/actum/storage")]


def nothing_is_lost_nor_done_twice_nor_silent(tally: Tally) -> None:
    assert (tally.lost, tally.twice, tally.silent, tally.broken) == (0, 0, 0, 0)
    assert tally.runs > 0


def test_a_run_whose_process_is_killed_again_and_again_loses_nothing_and_repeats_nothing(tmp_path: Path) -> None:
    nothing_is_lost_nor_done_twice_nor_silent(
        torment(str(tmp_path / "journal.db"), tmp_path, kills=share(8, 5), seed=1)
    )


def test_so_it_is_on_postgresql(postgres: PostgresServer, tmp_path: Path) -> None:
    nothing_is_lost_nor_done_twice_nor_silent(torment(postgres.new_database(), tmp_path, kills=share(5, 3), seed=2))
