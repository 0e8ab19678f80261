"""Payloads that records refer to by their digests: those that many runs share, and those of one run alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ...core.secrets.sealed import SealedWords
from ..database import Database, Row


def keep(
    database: Database,
    run_id: str,
    shared: Mapping[str, bytes],
    own: Mapping[str, bytes],
    hidden: Iterable[SealedWords],
) -> None:
    """Write what the next record of a run refers to.

    Args:
        database: in the transaction that writes the record.
        run_id: the run.
        shared: what many runs share, such as the definitions of tools, by digest.
        own: what is forgotten with the run, by digest.
        hidden: secret values that were taken out of the record.
    """
    for words in hidden:
        secret = (run_id, words.digest, words.salt, words.payload)
        database.execute("INSERT INTO hidden VALUES (?, ?, ?, ?)", secret)
    for digest, payload in shared.items():
        database.execute("INSERT INTO kept VALUES (?, ?) ON CONFLICT DO NOTHING", (digest, payload))
    for digest, payload in own.items():
        row = (run_id, digest, payload)
        database.execute("INSERT INTO kept_of_runs VALUES (?, ?, ?) ON CONFLICT DO NOTHING", row)


def kept(database: Database, digest: str, *, of_runs: bool) -> list[Row]:
    """The payloads of a digest, at most one.

    Args:
        database: the database.
        digest: the digest.
        of_runs: whether there is a table of what one run has alone; a journal of format 1 has none.
    """
    tables = ("kept", "kept_of_runs") if of_runs else ("kept",)
    query = " UNION ALL ".join(f"SELECT payload FROM {table} WHERE digest = ?" for table in tables) + " LIMIT 1"
    return database.execute(query, [digest] * len(tables))
