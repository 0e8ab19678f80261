from __future__ import annotations

import pytest

from .test_examples import printed

EXPECTED = """
== Accepted and polled

202 queued
progress is told while the task runs, and rises: True
succeeded: {'lines': 200000, 'words': 1600000, 'most': 'line'}

== Retried with backoff

202 queued
attempt 1: worker_lost, begun in its time: True
attempt 2: worker_lost, begun in its time: True
attempt 3: ended well, begun in its time: True
succeeded: the text of the page

== Timed out

202 queued
timed_out: The task took too long.

== Cancelled

202 queued
cancelled, with a result: False
"""


@pytest.mark.row("P5")
@pytest.mark.parametrize("flags", [(), ("--celery",)], ids=["local", "celery"])
def test_a_big_file_is_polled_retried_timed_out_and_cancelled_with_the_same_output(flags: tuple[str, ...]) -> None:
    assert printed("-m", "examples.long_job.main", *flags) == EXPECTED
