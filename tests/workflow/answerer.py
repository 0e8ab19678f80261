"""A process that answers what runs ask: `python -m tests.workflow.answerer JOURNAL`, with the id of a run on each line.

It answers as soon as it sees the question, and says `answered` then.
"""

from __future__ import annotations

import asyncio
import sys

from actum import Answer
from actum.call.asking.inbox import answer_in_run
from actum.compose.journals import open_journal
from actum.compose.settings import Settings
from actum.core.run.record import InputRequested


def say(word: str) -> None:
    """Tell the other process a word."""
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()


async def main(place: str) -> None:
    """Answer one run after the other."""
    journal = open_journal(Settings(journal=place), {})
    say("ready")
    for line in iter(sys.stdin.readline, ""):
        run_id, ask = line.strip(), ""
        while not ask:
            asked = [each.record for each in await journal.read(run_id) if isinstance(each.record, InputRequested)]
            ask = asked[0].id if asked else ""
        await answer_in_run(journal, run_id, ask, Answer("answer", arguments={"choice": "go"}, by="ann"))
        say("answered")
    await journal.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
