"""Memory: whether what was said is found, and what finding costs.

    LOCOMO=FOLDER python -m bench.memory

The own set is that of `tests/memory/questions.tsv`, whose facts are said among 400, and among 10,000 other turns;
beside it is what `FullText` finds. The costs are CPU time of this process, the least of some rounds: a recall among
10,000 turns of a user, alone and with 49 other such users in the file; a run with an empty memory beside a run without
one; and the bytes of the index.

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
import tempfile
import time
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from msgspec import structs

from actum import Agent
from actum.core.interfaces import Journal
from actum.core.message import UserMessage
from actum.core.run.record import Ended, Started
from actum.core.stored.word_index import Space, Terms
from actum.core.user import User
from actum.journal.memory import MemoryJournal
from actum.memory.feature import take_into_use
from actum.memory.index import INDEX, find, terms
from actum.memory.memory import MemoryWord
from actum.memory.ranking import Occasion
from actum.memory.recall import recall
from actum.storage.fulltext import FullText
from actum.storage.sqlite import SQLiteJournal
from actum.testing import ScriptedModel
from tests.memory import question_set

TURNS, USERS, ROUNDS = 10_000, 50, 5
ANN = User("", "ann")
QUESTION = "What did I say of the heron project?"


async def main() -> None:
    await own_set()
    await costs()
    await locomo()


async def own_set() -> None:
    """How the own set is answered, and how much of it `FullText` finds."""
    for others in (400, TURNS):
        journal = MemoryJournal()
        said = await question_set.filled(journal, ANN, "desk", others)
        found = await question_set.answered(journal, ANN, "desk", said)
        told = f"of nothing: {found.fact_of_none} of 20 a fact, {found.any_of_none} anything"
        print(f"own set among {others} turns: {found.facts} of 50 facts at 5, {found.signs} of 8 by one sign; {told}")
    words = FullText([1.0], stems=True)
    words.put_all({text: [text] for text, _ in question_set.other_turns(400)})
    words.put_all({each.said: [each.said] for each in question_set.asked() if each.said})
    hits = sum(each.said in words.answering(each.question)[:5] for each in question_set.asked() if each.said)
    print(f"FullText among 400 turns: {hits} of 58")


async def costs() -> None:
    """What a recall and a run cost, and how large the index is."""
    with tempfile.TemporaryDirectory() as folder:
        journal = SQLiteJournal(Path(folder) / "runs.db")
        await take_into_use(journal)
        empty = _bytes(folder)
        for number, (said, answer) in enumerate(question_set.other_turns(TURNS)):
            conversation = f"conversation {number // 6}"
            started = Started(
                agent="desk",
                model="m",
                said=(UserMessage.of(said),),
                principal="ann",
                space="desk",
                conversation=conversation,
            )
            journal.append(f"run_{number}", started)
            journal.append(f"run_{number}", Ended("done", answer))
        await journal.sync(f"run_{TURNS - 1}")
        await recalled(journal, "What did I say?")
        size = await _index_bytes(journal, "ann")
        print(f"index of {TURNS} turns: {size / 1e6:.1f} MB of rows; the file {(_bytes(folder) - empty) / 1e6:.1f} MB")
        alone = await _least(journal)
        print(f"recall among {TURNS} turns: {alone * 1e3:.1f} ms")
        for number in range(1, USERS):
            await question_set.filled(journal, User("", f"user {number}"), "desk", TURNS)
        many = await _least(journal)
        print(f"with {USERS} such users: {many * 1e3:.1f} ms, {many / alone:.2f} x")
        await journal.close()
    await empty_memory()


async def recalled(journal: Journal, question: str) -> int:
    """How many memories are told before a question."""
    return len(await recall(journal, ANN, "desk", question, most=5, told=()) or ())


async def _least(journal: Journal) -> float:
    """CPU seconds of a recall, on average over the questions of the own set; the least of some rounds."""
    questions, times = [each.question for each in question_set.asked()], []
    for _ in range(ROUNDS):
        began = time.process_time()
        for question in questions:
            await recalled(journal, question)
        times.append((time.process_time() - began) / len(questions))
    return min(times)


async def _index_bytes(journal: Journal, principal: str) -> int:
    """The bytes of the values in the rows of the index of a user."""
    stores, whose = await take_into_use(journal), {"principal": principal}
    rows = [
        *await stores.find("", INDEX.items, where=whose),
        *await stores.find("", INDEX.terms, where=whose),
    ]
    values = [value for row in rows for value in structs.astuple(row)]
    return sum(len(each) if isinstance(each, bytes) else len(str(each).encode()) for each in values)


def _bytes(folder: str) -> int:
    return sum(path.stat().st_size for path in Path(folder).iterdir())


async def empty_memory() -> None:
    """What a run costs whose user has said nothing yet, and one whose user said something in the run before, beside a
    run of an agent without a memory.
    """
    for place in ("memory", "SQLite"):
        times: dict[str, list[float]] = {}
        for _ in range(ROUNDS * 2):
            for kind in ("without", "empty", "same user"):
                times.setdefault(kind, []).append(await _runs(place, kind))
        without, empty, same = (min(times[kind]) for kind in ("without", "empty", "same user"))
        of_all = f"{empty / without:.2f} x a run without, of one user {same / without:.2f} x"
        print(f"{place}: a run with an empty memory {of_all} ({without * 1e3:.2f} ms)")


async def _runs(place: str, kind: str) -> float:
    """CPU seconds of a run, on average. The question is no greeting, with which nothing is looked for."""
    with tempfile.TemporaryDirectory() as folder:
        journal = MemoryJournal() if place == "memory" else SQLiteJournal(Path(folder) / "runs.db")
        word: MemoryWord = "conversation" if kind == "without" else "user"
        agent = Agent(ScriptedModel(["Yes."] * 200), name="desk", memory=word, journal=journal)
        await agent.run(QUESTION, principal="nobody")  # makes the tables, once for a journal
        began = time.process_time()
        for number in range(199):
            await agent.run(f"{QUESTION} {number}", principal="ann" if kind == "same user" else f"user {number}")
        spent = time.process_time() - began
        await journal.close()
        return spent / 199


async def locomo() -> None:
    """How many questions of LoCoMo find their evidence."""
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
