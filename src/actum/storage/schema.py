"""The tables of a journal, and how a database of an older version comes to have them.

The tables are said once, in words that each database has its own words for. `JournalSchema.later` grows by one tuple
with each change. A tuple in it was run on somebody's record, and never changes. The database counts its version.

Changes are made to tables and never to records, which the chain covers byte by byte. No change leads from a journal of
an older format to a newer one: such a journal is only opened to be verified and exported.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec import Struct

from ..core.errors import JournalError
from ..core.run.record import FORMAT, written_by
from .database import Database

_TABLES = """
CREATE TABLE entries (
    run_id TEXT NOT NULL, number INTEGER NOT NULL, at REAL NOT NULL, kind TEXT NOT NULL,
    payload BLOB NOT NULL, salt BLOB NOT NULL, digest BLOB NOT NULL, head BLOB NOT NULL, PRIMARY KEY (run_id, number));
CREATE TABLE kept (digest TEXT PRIMARY KEY, payload BLOB NOT NULL);
CREATE TABLE heads (
    place PLACE, run_id TEXT NOT NULL, number INTEGER NOT NULL, head BLOB NOT NULL, signature BLOB NOT NULL);

-- The list of runs. Each filter has an index in the order of the list: a page and a count read what fits alone.
CREATE TABLE runs (
    place PLACE, run_id TEXT NOT NULL UNIQUE, status TEXT NOT NULL, started REAL NOT NULL, ended REAL,
    agent TEXT NOT NULL, model TEXT NOT NULL, question TEXT NOT NULL, conversation TEXT NOT NULL, parent TEXT NOT NULL,
    principal TEXT NOT NULL, owner TEXT NOT NULL DEFAULT '', tenant TEXT NOT NULL DEFAULT '',
    kind TEXT NOT NULL DEFAULT '');
CREATE INDEX runs_by_start ON runs (started);
CREATE INDEX runs_by_tenant ON runs (tenant, place);
CREATE INDEX runs_by_status ON runs (tenant, status, place);
CREATE INDEX runs_by_kind ON runs (tenant, kind, place);
CREATE INDEX runs_by_agent ON runs (tenant, agent, place);
CREATE INDEX runs_by_model ON runs (tenant, model, place);
CREATE INDEX runs_by_principal ON runs (tenant, principal, place);
CREATE INDEX runs_by_parent ON runs (tenant, parent, place);
CREATE TABLE conversations (
    tenant TEXT NOT NULL, owner TEXT NOT NULL, conversation TEXT NOT NULL, turns INTEGER NOT NULL,
    first INTEGER NOT NULL, latest INTEGER NOT NULL, PRIMARY KEY (tenant, owner, conversation));
CREATE INDEX conversations_by_latest ON conversations (tenant, latest);

-- How many runs there are that are under way no more, see `_UNDER_WAY` in `journal.py`. Each session counts in rows of
-- its own: two that write at once never wait for each other. SQLite has one writer at a time and needs one session.
CREATE TABLE counted (
    tenant TEXT NOT NULL, kind TEXT NOT NULL, agent TEXT NOT NULL, model TEXT NOT NULL, status TEXT NOT NULL,
    session INTEGER NOT NULL, number INTEGER NOT NULL, PRIMARY KEY (tenant, kind, agent, model, status, session)
    ) COUNTERS;

-- Names under which a server finds a run again; see `Journal.named`.
CREATE TABLE run_names (place PLACE, name TEXT NOT NULL, run_id TEXT NOT NULL);
CREATE INDEX run_names_by_name ON run_names (name, place);
CREATE INDEX run_names_by_run ON run_names (run_id);

-- What runs wait for; a line may be there that was answered, and none is missing. And when that is over by itself.
CREATE TABLE asked (
    run_id TEXT NOT NULL, ask_id TEXT NOT NULL, tenant TEXT NOT NULL, at REAL NOT NULL, needs INTEGER NOT NULL,
    expires REAL NOT NULL DEFAULT 0, PRIMARY KEY (run_id, ask_id));
CREATE INDEX asked_by_id ON asked (tenant, ask_id);
CREATE INDEX asked_by_time ON asked (tenant, at, ask_id);
CREATE INDEX asked_by_end ON asked (expires) WHERE expires > 0;

-- Secret values of runs that have not ended; see `core.secrets.sealed`.
CREATE TABLE hidden (
    run_id TEXT NOT NULL, digest TEXT NOT NULL, salt BLOB NOT NULL, payload BLOB NOT NULL,
    PRIMARY KEY (run_id, digest));
-- Answers to runs that another process drives at the time. A place is never given twice.
CREATE TABLE posted (
    place PLACE_ONCE, run_id TEXT NOT NULL, digest TEXT NOT NULL, salt BLOB NOT NULL, payload BLOB NOT NULL);
CREATE INDEX posted_by_run ON posted (run_id);

-- What several processes count together; see `core.stored.counts`.
CREATE TABLE begun (name TEXT NOT NULL, at REAL NOT NULL);
CREATE INDEX begun_by_name ON begun (name, at);
CREATE INDEX begun_by_time ON begun (at);
CREATE TABLE used (
    name TEXT NOT NULL, minute INTEGER NOT NULL, tokens INTEGER NOT NULL, cost INTEGER NOT NULL,
    PRIMARY KEY (name, minute));
CREATE INDEX used_by_time ON used (minute);

-- The list of tasks; `ready`, `turn` and `progress` are the table's own. See `storage.tables.tasks`.
CREATE TABLE tasks (
    place PLACE, run_id TEXT NOT NULL UNIQUE, tenant TEXT NOT NULL, principal TEXT NOT NULL, agent TEXT NOT NULL,
    state TEXT NOT NULL, priority INTEGER NOT NULL, due REAL NOT NULL, attempt INTEGER NOT NULL, first INTEGER NOT NULL,
    queued REAL NOT NULL, changed REAL NOT NULL, ended REAL, home TEXT NOT NULL, digest TEXT NOT NULL,
    error TEXT NOT NULL, worker TEXT NOT NULL, options TEXT NOT NULL, unique_key TEXT NOT NULL, deadline REAL,
    ready INTEGER NOT NULL, turn INTEGER NOT NULL DEFAULT 0, progress TEXT NOT NULL DEFAULT '');
CREATE UNIQUE INDEX tasks_by_key ON tasks (tenant, principal, unique_key) WHERE unique_key != '';
CREATE INDEX tasks_ready ON tasks (home, priority DESC, turn, place) WHERE ready = 2;
CREATE INDEX tasks_turn ON tasks (tenant, principal, home, priority, turn) WHERE ready = 2;
CREATE INDEX tasks_later ON tasks (due) WHERE ready = 1;
CREATE INDEX tasks_by_deadline ON tasks (deadline) WHERE ended IS NULL;
CREATE INDEX tasks_by_user ON tasks (tenant, principal, state, place);
CREATE INDEX tasks_by_state ON tasks (state, tenant);
CREATE INDEX tasks_by_end ON tasks (ended) WHERE ended IS NOT NULL;
-- The outbox of webhooks; see `storage.tables.webhooks`.
CREATE TABLE webhooks (
    id TEXT PRIMARY KEY, run_id TEXT NOT NULL, tenant TEXT NOT NULL, principal TEXT NOT NULL, address TEXT NOT NULL,
    queued REAL NOT NULL, due REAL NOT NULL, tries INTEGER NOT NULL, dead REAL, error TEXT NOT NULL);
CREATE INDEX webhooks_due ON webhooks (due) WHERE dead IS NULL;

-- The keys of a server.
CREATE TABLE keys (place PLACE, id TEXT NOT NULL UNIQUE, payload BLOB NOT NULL);
-- People who logged in, log-ins that were used up, and the secret by which log-ins under way are known again.
CREATE TABLE sessions (
    id TEXT PRIMARY KEY, owner TEXT NOT NULL, began_at REAL NOT NULL, seen_at REAL NOT NULL, payload BLOB NOT NULL);
CREATE INDEX sessions_by_owner ON sessions (owner, seen_at);
CREATE INDEX sessions_by_seen ON sessions (seen_at);
CREATE INDEX sessions_by_began ON sessions (began_at);
CREATE TABLE used_logins (name TEXT PRIMARY KEY, ends_at REAL NOT NULL);
CREATE INDEX used_logins_by_end ON used_logins (ends_at);
CREATE TABLE login_secret (secret BLOB NOT NULL);

-- A line of each request for a model that was passed on to an upstream; see `core.stored.passed`.
CREATE TABLE passed (
    place PLACE, at REAL NOT NULL, tenant TEXT NOT NULL, key_id TEXT NOT NULL, principal TEXT NOT NULL,
    model TEXT NOT NULL, upstream TEXT NOT NULL, failed INTEGER NOT NULL, input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL, cost INTEGER, seconds REAL NOT NULL, payload BLOB NOT NULL);
CREATE INDEX passed_by_time ON passed (at);

-- Small objects that a server keeps for a caller, such as an assistant; see `core.stored.kept_object`.
CREATE TABLE objects (
    place PLACE, id TEXT NOT NULL UNIQUE, owner TEXT NOT NULL, kind TEXT NOT NULL, parent TEXT NOT NULL,
    at REAL NOT NULL, payload BLOB NOT NULL, tenant TEXT NOT NULL DEFAULT '', principal TEXT NOT NULL DEFAULT '',
    run_id TEXT NOT NULL DEFAULT '');
CREATE INDEX objects_by_owner ON objects (owner, kind, parent, place);
CREATE INDEX objects_by_parent ON objects (parent);
CREATE INDEX objects_by_principal ON objects (principal);
CREATE INDEX objects_by_run ON objects (run_id);

-- How far triggers have come; see `core.stored.position`.
CREATE TABLE positions (name TEXT PRIMARY KEY, position TEXT NOT NULL);

-- Texts that people write and publish, such as workflows; see `core.stored.definitions`. The publications in use are
-- listed once more without their texts, and are counted, for lists.
CREATE TABLE drafts (
    tenant TEXT NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL, text BLOB NOT NULL, revision INTEGER NOT NULL,
    digest TEXT NOT NULL, at REAL NOT NULL, author TEXT NOT NULL, published INTEGER NOT NULL,
    PRIMARY KEY (tenant, kind, name));
CREATE TABLE publications (
    tenant TEXT NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL, number INTEGER NOT NULL, text BLOB NOT NULL,
    digest TEXT NOT NULL, at REAL NOT NULL, author TEXT NOT NULL, again INTEGER NOT NULL,
    PRIMARY KEY (tenant, kind, name, number));
CREATE TABLE in_use (
    tenant TEXT NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL, number INTEGER NOT NULL, digest TEXT NOT NULL,
    at REAL NOT NULL, about BLOB NOT NULL, PRIMARY KEY (tenant, kind, name));
CREATE TABLE publications_made (
    tenant TEXT NOT NULL, kind TEXT NOT NULL, made INTEGER NOT NULL, PRIMARY KEY (tenant, kind));
"""

_LATER = (
    # What the tables of features are; see `storage.stores`.
    "CREATE TABLE features (name TEXT PRIMARY KEY, version INTEGER NOT NULL, tables TEXT NOT NULL)",
    # Records from which rows of features are still to be made; see `storage.tables.views`.
    """CREATE TABLE noted (run_id TEXT NOT NULL, number INTEGER NOT NULL, feature TEXT NOT NULL,
        PRIMARY KEY (run_id, number))""",
    # Runs that a feature takes in when they are over, and how many of their entries it has taken in by now.
    """CREATE TABLE followed (feature TEXT NOT NULL, run_id TEXT NOT NULL, taken INTEGER NOT NULL,
        PRIMARY KEY (feature, run_id))""",
    # By what runs are found beside their lines; see `core.run.marks`. Runs of before have none.
    """CREATE TABLE run_marks (
        tenant TEXT NOT NULL, mark TEXT NOT NULL, place INTEGER NOT NULL, PRIMARY KEY (tenant, mark, place));
    CREATE INDEX run_marks_by_place ON run_marks (place)""",
    # Where a publication comes from, and the publication that a share of the users gets; see `core.stored.definitions`.
    """ALTER TABLE publications ADD COLUMN source TEXT NOT NULL DEFAULT '';
    ALTER TABLE publications ADD COLUMN about BLOB;
    ALTER TABLE in_use ADD COLUMN canary INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE in_use ADD COLUMN share INTEGER NOT NULL DEFAULT 0""",
    # Runs that were unfinished when the journal was restored; see `core.stored.held`.
    "CREATE TABLE held (run_id TEXT PRIMARY KEY)",
    # Lines of passed-through requests whose spans were not sent; see `actum.telemetry`.
    "CREATE TABLE passed_unsent (place INTEGER PRIMARY KEY)",
    # What a run keeps for itself alone, such as large inputs; it is forgotten with the run.
    """CREATE TABLE kept_of_runs (run_id TEXT NOT NULL, digest TEXT NOT NULL, payload BLOB NOT NULL,
        PRIMARY KEY (run_id, digest));
    CREATE INDEX kept_of_runs_by_digest ON kept_of_runs (digest)""",
    # Whose the runs are that a feature takes in: who looks waits for no runs of others.
    """ALTER TABLE followed ADD COLUMN tenant TEXT NOT NULL DEFAULT '';
    ALTER TABLE followed ADD COLUMN principal TEXT NOT NULL DEFAULT '';
    UPDATE followed SET tenant = (SELECT tenant FROM runs WHERE runs.run_id = followed.run_id),
        principal = (SELECT principal FROM runs WHERE runs.run_id = followed.run_id)
        WHERE run_id IN (SELECT run_id FROM runs);
    CREATE INDEX followed_by_user ON followed (feature, tenant, principal)""",
    # The latest change of each draft, numbered within its tenant; see `core.stored.definitions`.
    """CREATE TABLE draft_changes (
        tenant TEXT NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL, number INTEGER NOT NULL,
        revision INTEGER NOT NULL, author TEXT NOT NULL, gone INTEGER NOT NULL, PRIMARY KEY (tenant, kind, name));
    CREATE INDEX draft_changes_by_number ON draft_changes (tenant, number)""",
    # Whether the tokens of a passed-through request are estimated; see `core.stored.passed`.
    "ALTER TABLE passed ADD COLUMN estimated INTEGER NOT NULL DEFAULT 0",
)

HAS_MIGRATIONS = "52c84138 of 28 November 2026"
"""A commit that brings every earlier database of format 2 to the version of `JournalSchema.base`."""


class JournalSchema(Struct, frozen=True):
    """The tables of a journal in one kind of database.

    Attributes:
        base: makes the tables of the version `version`, in an empty database.
        version: of the base. Every database of this version has the tables of the base, however it came to them.
        later: for each version behind that, the statements that lead to it.
        of_format_1: the version of databases whose records have format 1. Such a database can be read.
    """

    base: tuple[str, ...]
    version: int
    later: tuple[tuple[str, ...], ...]
    of_format_1: int

    @property
    def latest(self) -> int:
        """The version that this program reads and writes."""
        return self.version + len(self.later)


def _statements(text: str, words: Mapping[str, str]) -> tuple[str, ...]:
    """The statements of a text, in the words of a database."""
    bare = re.sub(r"--.*", "", text)
    said = re.sub(r"\b[A-Z_]+\b", lambda word: words.get(word[0], word[0]), bare)
    return tuple(statement.strip() for statement in said.split(";") if statement.strip())


# A column `place` counts the rows: VACUUM may renumber the hidden one, and a clock that jumps back reorders no runs.
_SQLITE = {
    "PLACE": "INTEGER PRIMARY KEY",
    "PLACE_ONCE": "INTEGER PRIMARY KEY AUTOINCREMENT",
    "COUNTERS": "WITHOUT ROWID",
}
_POSTGRES = {
    "INTEGER": "BIGINT",
    "REAL": "DOUBLE PRECISION",
    "BLOB": "BYTEA",
    "PLACE": "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
    "PLACE_ONCE": "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
    "COUNTERS": "WITH (fillfactor = 50)",
}

SQLITE = JournalSchema(
    base=(
        *_statements(_TABLES, _SQLITE),
        "CREATE INDEX runs_by_conversation ON runs (conversation, owner)",
        # The triggers also tell of a key that somebody changes by hand.
        "CREATE TABLE key_changes (number INTEGER NOT NULL)",
        "INSERT INTO key_changes VALUES (0)",
        *(
            f"CREATE TRIGGER keys_{act.lower()} AFTER {act} ON keys "
            "BEGIN UPDATE key_changes SET number = number + 1; END"
            for act in ("INSERT", "UPDATE", "DELETE")
        ),
    ),
    version=21,
    later=tuple(_statements(step, _SQLITE) for step in _LATER),
    of_format_1=3,
)

POSTGRES = JournalSchema(
    base=(
        "CREATE SCHEMA IF NOT EXISTS actum",
        "CREATE TABLE version (version BIGINT NOT NULL)",
        "INSERT INTO version VALUES (0)",
        *_statements(_TABLES, _POSTGRES),
        "CREATE INDEX runs_by_conversation ON runs (conversation, owner, place)",
        """CREATE FUNCTION tell_of_keys() RETURNS trigger LANGUAGE plpgsql AS
            'BEGIN PERFORM pg_notify(''actum_keys'', ''''); RETURN NULL; END'""",
        """CREATE TRIGGER keys_changed AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON keys
            FOR EACH STATEMENT EXECUTE FUNCTION tell_of_keys()""",
    ),
    version=20,
    later=tuple(_statements(step, _POSTGRES) for step in _LATER),
    of_format_1=2,
)


def make_tables(database: Database, schema: JournalSchema, *, older: bool = False) -> int:
    """Bring a database to the latest schema, all of it or nothing; one process does it while others wait.

    Args:
        database: the database, which may be empty.
        schema: its tables.
        older: whether a journal of an older format is let in, too. Nothing is changed there.

    Returns:
        The format of its records.

    Raises:
        JournalError: a newer version made the database; or an older one, from which nothing leads here; or its format
            is an older one, and `older` is not set.
    """
    if database.version() == schema.latest:
        return FORMAT
    database.begin(writes=True, durable=True)
    try:
        database.lock()
        version = database.version()
        found = _format(database.name, schema, version, older=older)
        if found == FORMAT:
            steps = schema.later[version - schema.version :] if version else (schema.base, *schema.later)
            for statement in (each for step in steps for each in step):
                database.execute(statement)
            if version != schema.latest:
                database.set_version(schema.latest)
        database.commit()
    except BaseException:
        database.rollback()
        raise
    return found


def _format(name: str, schema: JournalSchema, version: int, *, older: bool) -> int:
    """The format of the records in a database of a version.

    Raises:
        JournalError: the database can not be opened by this version.
    """
    if version > schema.latest:
        raise JournalError(
            "the journal {name} was written by a newer actum (schema {version}): update actum",
            name=name,
            version=version,
        )
    if version == 0 or version >= schema.version:
        return FORMAT
    if version <= schema.of_format_1 and not older:
        raise JournalError(
            "the journal {name} can not be opened: {written_by}, and this version reads format "
            "{format} alone. The journal is not damaged: `actum journal verify` checks it, and "
            "`actum journal export` and `actum journal heads` export it",
            name=name,
            written_by=written_by(1),
            format=FORMAT,
        )
    if version == schema.of_format_1:
        return 1
    raise JournalError(
        "the journal {name} was written by an older actum (schema {version}): open it once with the "
        "version {has_migrations}, which brings it to schema {schema_version}, and then with this "
        "version",
        name=name,
        version=version,
        has_migrations=HAS_MIGRATIONS,
        schema_version=schema.version,
    )
