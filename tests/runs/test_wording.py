"""What the loop tells users is there in both languages, whatever the values hold."""

from __future__ import annotations

import hashlib
import json

from actum.core.call import ToolCall
from actum.core.language.error_words import language_of
from actum.core.run.pending import Pending
from actum.runs.wording import _SENTENCES, _STANDS, _STOPPED, Phrases


def test_every_reason_to_stop_is_told_in_the_language_of_the_run() -> None:
    for reason in (*_STOPPED, "a limit of some tool"):
        assert language_of(Phrases("zh").stopped(reason)) == "zh"
        assert Phrases("en").stopped(reason).isascii()


def test_names_with_braces_are_told_as_they_are() -> None:
    pending = [
        Pending("a1", "approval", "", ToolCall("c1", "{pay}", {})),
        Pending("a2", "doubt", "", ToolCall("c2", "{0}", {})),
    ]
    for phrases in (Phrases("en"), Phrases("zh")):
        assert "{pay}" in phrases.waiting(pending)
        assert "{0}" in phrases.waiting(pending)
        assert phrases.ask_for([("{tool}", "{city")]).count("{tool}") == 1
    assert Phrases("zh").waiting(pending) == "中途中断，不清楚是否已经执行：{0}。 等待批准：{pay}。"


def test_phrases_for_models_are_those_that_waiting_runs_were_told() -> None:
    """A phrase that changes ends them as `ReplayDiverged`: give the new one a name of its own, see decision 0024. A
    phrase that is new changes only the digest here.
    """
    told = json.dumps([_SENTENCES, _STANDS], sort_keys=True)
    assert hashlib.sha256(told.encode()).hexdigest().startswith("c2790d3c7c3731c5")
