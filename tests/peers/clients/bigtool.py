"""The same recall as `bench.choice`, the way of `langgraph-bigtool`: vectors of the descriptions, the nearest first.

    python -m bench.choice --write cases.json
    python -m venv other && other/bin/pip install langgraph-bigtool==0.0.3 wordllama==0.4.0.post1
    other/bin/python tests/peers/clients/bigtool.py cases.json

Runs in an environment of its own, without actum. The store, the text that is put into the store and the search are
those of the package's own example. Only the embedding model differs: the example asks OpenAI, and `wordllama` (256
numbers for a text) has its weights in the package.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import wordllama
from langgraph.store.memory import InMemoryStore
from langgraph_bigtool.tools import get_default_retrieval_tool
from wordllama import WordLlama

SHOWN = (12, 20)


def main(path: str) -> None:
    """Print how many questions have all their functions among the first 12 and the first 20."""
    given = json.loads(Path(path).read_text("utf-8"))
    model = WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True)

    def embed(texts: list[str]) -> list[list[float]]:
        vectors: list[list[float]] = model.embed(texts, norm=True).tolist()
        return vectors

    store = InMemoryStore(index={"embed": embed, "dims": 256, "fields": ["description"]})
    began = time.process_time()
    for name, description in given["tools"]:
        store.put(("tools",), name, {"description": f"{name}: {description}"})
    print(f"index: {time.process_time() - began:.1f} s of CPU")
    retrieve, _ = get_default_retrieval_tool(("tools",), limit=max(SHOWN))
    hits: dict[tuple[str, int], list[bool]] = {}
    began = time.process_time()
    for category, question, wanted in given["cases"]:
        found = retrieve(question, store=store)
        for places in SHOWN:
            is_hit = set(wanted) <= set(found[:places])
            hits.setdefault((category, places), []).append(is_hit)
            hits.setdefault(("all", places), []).append(is_hit)
    print(f"a question: {(time.process_time() - began) / len(given['cases']) * 1000:.1f} ms of CPU")
    for (category, places), each in hits.items():
        print(f"{category:24} at {places}: {sum(each) / len(each):.3f} of {len(each)}")


if __name__ == "__main__":
    main(sys.argv[1])
