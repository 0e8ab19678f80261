"""Memory: whether what was said is found, and what finding costs.

    LOCOMO=FOLDER python -m bench.memory

LoCoMo (Maharana et al., 2024) is not free for all uses, so it is read from a folder of your own and stands nowhere
here: one JSON file for each conversation, with its sessions and questions. Two lines of a session are a turn, as a
user's words and an answer are. A hit is a question with one of its turns of evidence among the first 5, or 10.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
import time
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from actum.core.stored.word_index import Space, Terms
from actum.journal.memory import MemoryJournal
from actum.memory.feature import take_into_use
from actum.memory.index import INDEX, find, terms
from actum.memory.ranking import Occasion


async def main() -> None:
    folder = os.environ.get("LOCOMO", "")
    if not folder:
        print("LOCOMO names no folder with the conversations of LoCoMo: left out.")
        return
    rows = [await conversation(json.loads(text)) for text in texts(Path(folder))]
    for title, chosen in (("constants chosen on", rows[::2]), ("held out", rows[1::2]), ("all", rows)):
        asked, five, ten, seconds = (sum(row[place] for row in chosen) for place in range(4))
        hits = f"{five / asked:.1%} at 5, {ten / asked:.1%} at 10"
        print(f"{title}: {asked} questions, {hits}, {seconds / asked * 1e3:.2f} ms each")


def texts(folder: Path) -> list[str]:
    return [path.read_text("utf-8") for path in sorted(folder.glob("*.json"))]


async def conversation(whole: dict[str, Any]) -> tuple[int, int, int, float]:
    """How many questions, hits at 5 and at 10, and CPU seconds."""
    stores = await take_into_use(MemoryJournal())
    space, last = Space("user"), datetime.now(UTC)
    turns: dict[str, Terms] = {}
    turn_of: dict[str, str] = {}
    for number in range(1, 1_000):
        if not (lines := whole.get(f"session_{number}")):
            break
        last = datetime.strptime(whole[f"session_{number}_date_time"], "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
        for at in range(0, len(lines), 2):
            name = f"turn {len(turns)}"
            text = " ".join(
                f"{each['speaker']}: {each['text']} {each.get('blip_caption', '')}" for each in lines[at : at + 2]
            )
            turns[name] = terms([text], Occasion(f"session {number}", last.timestamp()))
            turn_of |= {each["dia_id"]: name for each in lines[at : at + 2]}
    await stores.transact("", lambda each: INDEX.put(each, space, turns))
    asked = five = ten = 0
    began = time.process_time()
    for question in whole["qa"]:
        evidence = {
            turn_of[each] for each in re.findall(r"D\d+:\d+", " ".join(question.get("evidence", []))) if each in turn_of
        }
        if not evidence:
            continue
        ask = partial(find, space=space, question=question["question"], now=last + timedelta(days=1), limit=10)
        hits = await stores.read("", ask)
        places = [place for place, hit in enumerate(hits) if hit.item in evidence]
        asked, five, ten = asked + 1, five + any(each < 5 for each in places), ten + bool(places)
    return asked, five, ten, time.process_time() - began


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
