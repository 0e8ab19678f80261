"""The tables of a journal, and how a database of an older version comes to have them.

Each tuple of a list brings a database from one schema to the next; the database counts those that were made. What
stands here was run on somebody's record: it is added to, and never changed.

Migrations change tables and never records, which the chain covers byte by byte. Where the records get a new format, a
`NewFormat` stands in the list. No migration leads from a journal of an older format to a newer format.
"""

from __future__ import annotations

from msgspec import Struct

from ..core.errors import JournalError
from ..core.record import FORMAT, written_by
from .database import Database


class NewFormat(Struct, frozen=True):
    """From this schema on the records are written in another format; see `core.record.FORMAT`."""

    format: int


Migrations = tuple[tuple[str, ...] | NewFormat, ...]

SQLITE: Migrations = (
    (
        """CREATE TABLE entries (
            run_id TEXT NOT NULL, number INTEGER NOT NULL, at REAL NOT NULL, kind TEXT NOT NULL,
            payload BLOB NOT NULL, salt BLOB NOT NULL, digest BLOB NOT NULL, head BLOB NOT NULL,
            PRIMARY KEY (run_id, number)
        )""",
        """CREATE TABLE runs (
            run_id TEXT PRIMARY KEY, status TEXT NOT NULL, started REAL NOT NULL, ended REAL, agent TEXT NOT NULL,
            model TEXT NOT NULL, question TEXT NOT NULL, conversation TEXT NOT NULL, parent TEXT NOT NULL
        )""",
        "CREATE INDEX runs_by_conversation ON runs (conversation, started)",
        "CREATE INDEX runs_by_start ON runs (started)",
        "CREATE TABLE kept (digest TEXT PRIMARY KEY, payload BLOB NOT NULL)",
    ),
    (
        # A place of their own: VACUUM may renumber the hidden one, and a clock that jumps back must not reorder runs.
        """CREATE TABLE runs_2 (
            place INTEGER PRIMARY KEY, run_id TEXT NOT NULL UNIQUE, status TEXT NOT NULL, started REAL NOT NULL,
            ended REAL, agent TEXT NOT NULL, model TEXT NOT NULL, question TEXT NOT NULL, conversation TEXT NOT NULL,
            parent TEXT NOT NULL, principal TEXT NOT NULL
        )""",
        """INSERT INTO runs_2 (
                run_id, status, started, ended, agent, model, question, conversation, parent, principal)
            SELECT run_id, status, started, ended, agent, model, question, conversation, parent, coalesce((
                SELECT CASE WHEN json_valid(CAST(payload AS TEXT))
                    THEN json_extract(CAST(payload AS TEXT), '$.principal') END
                FROM entries WHERE entries.run_id = runs.run_id AND number = 0), '')
            FROM runs ORDER BY rowid""",
        "DROP TABLE runs",
        "ALTER TABLE runs_2 RENAME TO runs",
        "CREATE INDEX runs_by_conversation ON runs (conversation)",
        "CREATE INDEX runs_by_principal ON runs (principal)",
        "CREATE INDEX runs_by_start ON runs (started)",
        """CREATE TABLE heads (
            place INTEGER PRIMARY KEY, run_id TEXT NOT NULL, number INTEGER NOT NULL, head BLOB NOT NULL,
            signature BLOB NOT NULL
        )""",
    ),
    (
        # A conversation is named by its owner and its id. Before, there were no owners besides principals.
        "ALTER TABLE runs ADD COLUMN owner TEXT NOT NULL DEFAULT ''",
        "UPDATE runs SET owner = principal WHERE principal != ''",
        "DROP INDEX runs_by_conversation",
        "CREATE INDEX runs_by_conversation ON runs (conversation, owner)",
    ),
    NewFormat(2),
    (
        # Secret values of runs that have not ended; see `core.sealed`.
        """CREATE TABLE hidden (
            run_id TEXT NOT NULL, digest TEXT NOT NULL, salt BLOB NOT NULL, payload BLOB NOT NULL,
            PRIMARY KEY (run_id, digest)
        )""",
    ),
    (
        # Runs of before there were tenants belong to the tenant "".
        "ALTER TABLE runs ADD COLUMN tenant TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE runs ADD COLUMN kind TEXT NOT NULL DEFAULT ''",
        "UPDATE runs SET kind = CASE WHEN model = '' THEN 'call' ELSE 'agent' END",
        "DROP INDEX runs_by_principal",
        # Each filter of a list has an index in the order of the list, so that a page and a count read what fits alone.
        "CREATE INDEX runs_by_tenant ON runs (tenant, place)",
        "CREATE INDEX runs_by_status ON runs (tenant, status, place)",
        "CREATE INDEX runs_by_kind ON runs (tenant, kind, place)",
        "CREATE INDEX runs_by_agent ON runs (tenant, agent, place)",
        "CREATE INDEX runs_by_model ON runs (tenant, model, place)",
        "CREATE INDEX runs_by_principal ON runs (tenant, principal, place)",
        "CREATE INDEX runs_by_parent ON runs (tenant, parent, place)",
        """CREATE TABLE conversations (
            tenant TEXT NOT NULL, owner TEXT NOT NULL, conversation TEXT NOT NULL, turns INTEGER NOT NULL,
            first INTEGER NOT NULL, latest INTEGER NOT NULL, PRIMARY KEY (tenant, owner, conversation)
        )""",
        """INSERT INTO conversations
            SELECT tenant, owner, conversation, count(*), min(place), max(place) FROM runs
            WHERE conversation != '' GROUP BY tenant, owner, conversation""",
        "CREATE INDEX conversations_by_latest ON conversations (tenant, latest)",
        # What runs wait for; a line may be there that was answered, and none is missing.
        """CREATE TABLE asked (
            run_id TEXT NOT NULL, ask_id TEXT NOT NULL, tenant TEXT NOT NULL, at REAL NOT NULL,
            needs INTEGER NOT NULL, PRIMARY KEY (run_id, ask_id)
        )""",
        """INSERT INTO asked
            SELECT * FROM (
                SELECT run_id, CASE WHEN json_valid(CAST(payload AS TEXT))
                    THEN json_extract(CAST(payload AS TEXT), '$.pending.id') END AS ask_id, '', at, 1000000
                FROM entries WHERE kind = 'input_requested' AND run_id IN (
                    SELECT run_id FROM runs WHERE parent = '' AND status IN ('running', 'waiting', 'paused')))
            WHERE ask_id IS NOT NULL ON CONFLICT DO NOTHING""",
        "CREATE INDEX asked_by_id ON asked (tenant, ask_id)",
        "CREATE INDEX asked_by_time ON asked (tenant, at, ask_id)",
    ),
    (
        # What several processes count together; see `core.counts`.
        "CREATE TABLE begun (name TEXT NOT NULL, at REAL NOT NULL)",
        "CREATE INDEX begun_by_name ON begun (name, at)",
        "CREATE INDEX begun_by_time ON begun (at)",
        """CREATE TABLE used (
            name TEXT NOT NULL, minute INTEGER NOT NULL, tokens INTEGER NOT NULL, cost INTEGER NOT NULL,
            PRIMARY KEY (name, minute)
        )""",
        "CREATE INDEX used_by_time ON used (minute)",
    ),
    (
        # The keys of a server. The triggers also tell of a row that somebody changes by hand.
        "CREATE TABLE keys (place INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, payload BLOB NOT NULL)",
        "CREATE TABLE key_changes (number INTEGER NOT NULL)",
        "INSERT INTO key_changes VALUES (0)",
        *(
            f"CREATE TRIGGER keys_{act.lower()} AFTER {act} ON keys "
            "BEGIN UPDATE key_changes SET number = number + 1; END"
            for act in ("INSERT", "UPDATE", "DELETE")
        ),
    ),
    (
        # People who logged in, log-ins that were used up, and the secret by which log-ins under way are known again.
        """CREATE TABLE sessions (
            id TEXT PRIMARY KEY, owner TEXT NOT NULL, began_at REAL NOT NULL, seen_at REAL NOT NULL,
            payload BLOB NOT NULL
        )""",
        "CREATE INDEX sessions_by_owner ON sessions (owner, seen_at)",
        "CREATE INDEX sessions_by_seen ON sessions (seen_at)",
        "CREATE INDEX sessions_by_began ON sessions (began_at)",
        "CREATE TABLE used_logins (name TEXT PRIMARY KEY, ends_at REAL NOT NULL)",
        "CREATE INDEX used_logins_by_end ON used_logins (ends_at)",
        "CREATE TABLE login_secret (secret BLOB NOT NULL)",
    ),
    (
        # A line of each request for a model that was passed on to an upstream; see `core.passed`.
        """CREATE TABLE passed (
            place INTEGER PRIMARY KEY, at REAL NOT NULL, tenant TEXT NOT NULL, key_id TEXT NOT NULL,
            principal TEXT NOT NULL, model TEXT NOT NULL, upstream TEXT NOT NULL, failed INTEGER NOT NULL,
            input_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL, cost INTEGER, seconds REAL NOT NULL,
            payload BLOB NOT NULL
        )""",
        "CREATE INDEX passed_by_time ON passed (at)",
    ),
    (
        # Names under which a server finds a run again; see `Journal.named`.
        "CREATE TABLE run_names (place INTEGER PRIMARY KEY, name TEXT NOT NULL, run_id TEXT NOT NULL)",
        "CREATE INDEX run_names_by_name ON run_names (name, place)",
        "CREATE INDEX run_names_by_run ON run_names (run_id)",
    ),
    (
        # The list of tasks; `ready`, `turn` and `progress` are the table's own. See `storage.tasks`.
        """CREATE TABLE tasks (
            place INTEGER PRIMARY KEY, run_id TEXT NOT NULL UNIQUE, tenant TEXT NOT NULL,
            principal TEXT NOT NULL, agent TEXT NOT NULL, state TEXT NOT NULL, priority INTEGER NOT NULL,
            due REAL NOT NULL, attempt INTEGER NOT NULL, first INTEGER NOT NULL, queued REAL NOT NULL,
            changed REAL NOT NULL, ended REAL, home TEXT NOT NULL, digest TEXT NOT NULL,
            error TEXT NOT NULL, worker TEXT NOT NULL, options TEXT NOT NULL, unique_key TEXT NOT NULL,
            deadline REAL, ready INTEGER NOT NULL, turn INTEGER NOT NULL DEFAULT 0, progress TEXT NOT NULL DEFAULT ''
        )""",
        "CREATE UNIQUE INDEX tasks_by_key ON tasks (tenant, principal, unique_key) WHERE unique_key != ''",
        "CREATE INDEX tasks_ready ON tasks (home, priority DESC, turn, place) WHERE ready = 2",
        "CREATE INDEX tasks_turn ON tasks (tenant, principal, home, priority, turn) WHERE ready = 2",
        "CREATE INDEX tasks_later ON tasks (due) WHERE ready = 1",
        "CREATE INDEX tasks_by_deadline ON tasks (deadline) WHERE ended IS NULL",
        "CREATE INDEX tasks_by_user ON tasks (tenant, principal, state, place)",
        "CREATE INDEX tasks_by_state ON tasks (state, tenant)",
        "CREATE INDEX tasks_by_end ON tasks (ended) WHERE ended IS NOT NULL",
    ),
    (
        # The outbox of webhooks; see `storage.webhooks`.
        """CREATE TABLE webhooks (
            id TEXT PRIMARY KEY, run_id TEXT NOT NULL, tenant TEXT NOT NULL, principal TEXT NOT NULL,
            address TEXT NOT NULL, queued REAL NOT NULL, due REAL NOT NULL, tries INTEGER NOT NULL, dead REAL,
            error TEXT NOT NULL
        )""",
        "CREATE INDEX webhooks_due ON webhooks (due) WHERE dead IS NULL",
    ),
    (
        # How many runs there are that are under way no more, see `_UNDER_WAY` in `journal.py`. A session is what counts
        # in rows of its own, which are added up; SQLite has one writer at a time and needs one session.
        """CREATE TABLE counted (
            tenant TEXT NOT NULL, kind TEXT NOT NULL, agent TEXT NOT NULL, model TEXT NOT NULL, status TEXT NOT NULL,
            session INTEGER NOT NULL, number INTEGER NOT NULL,
            PRIMARY KEY (tenant, kind, agent, model, status, session)
        ) WITHOUT ROWID""",
        """INSERT INTO counted SELECT tenant, kind, agent, model, status, 0, count(*) FROM runs
            WHERE status NOT IN ('running', 'waiting', 'paused') GROUP BY tenant, kind, agent, model, status""",
    ),
    (
        # Small objects that a server keeps for a caller, such as an assistant; see `core.kept_object`.
        """CREATE TABLE objects (
            place INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE,
            owner TEXT NOT NULL, kind TEXT NOT NULL, parent TEXT NOT NULL, at REAL NOT NULL, payload BLOB NOT NULL
        )""",
        "CREATE INDEX objects_by_owner ON objects (owner, kind, parent, place)",
        "CREATE INDEX objects_by_parent ON objects (parent)",
    ),
    (
        # Whose an object is, and the run that took it up: objects are forgotten with their user and with their run.
        "ALTER TABLE objects ADD COLUMN tenant TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE objects ADD COLUMN principal TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE objects ADD COLUMN run_id TEXT NOT NULL DEFAULT ''",
        "CREATE INDEX objects_by_principal ON objects (principal)",
        "CREATE INDEX objects_by_run ON objects (run_id)",
    ),
    (  # answers to runs that another process drives at the time
        """CREATE TABLE posted (
            place INTEGER PRIMARY KEY AUTOINCREMENT, run_id TEXT NOT NULL,
            digest TEXT NOT NULL, salt BLOB NOT NULL, payload BLOB NOT NULL
        )""",
        "CREATE INDEX posted_by_run ON posted (run_id)",
    ),
    (  # how far triggers have come; see `core.position`
        "CREATE TABLE positions (name TEXT PRIMARY KEY, position TEXT NOT NULL)",
    ),
    (  # texts that people write and publish, such as workflows; see `core.shelf`
        """CREATE TABLE drafts (
            tenant TEXT NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL, text BLOB NOT NULL,
            revision INTEGER NOT NULL, digest TEXT NOT NULL, at REAL NOT NULL, author TEXT NOT NULL,
            published INTEGER NOT NULL, PRIMARY KEY (tenant, kind, name)
        )""",
        """CREATE TABLE publications (
            tenant TEXT NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL, number INTEGER NOT NULL,
            text BLOB NOT NULL, digest TEXT NOT NULL, at REAL NOT NULL, author TEXT NOT NULL,
            again INTEGER NOT NULL, PRIMARY KEY (tenant, kind, name, number)
        )""",
    ),
    (  # when what runs wait for is over by itself
        "ALTER TABLE asked ADD COLUMN expires REAL NOT NULL DEFAULT 0",
        "CREATE INDEX asked_by_end ON asked (expires) WHERE expires > 0",
    ),
    (  # the publications in use, for lists: without their texts, and counted
        """CREATE TABLE in_use (
            tenant TEXT NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL, number INTEGER NOT NULL,
            digest TEXT NOT NULL, at REAL NOT NULL, about BLOB NOT NULL, PRIMARY KEY (tenant, kind, name)
        )""",
        """INSERT INTO in_use SELECT publications.tenant, publications.kind, publications.name, number,
            publications.digest, publications.at, x'' FROM publications JOIN drafts
            ON publications.tenant = drafts.tenant AND publications.kind = drafts.kind
            AND publications.name = drafts.name AND number = published""",
        """CREATE TABLE publications_made (
            tenant TEXT NOT NULL, kind TEXT NOT NULL, made INTEGER NOT NULL, PRIMARY KEY (tenant, kind)
        )""",
        "INSERT INTO publications_made SELECT tenant, kind, count(*) FROM publications GROUP BY tenant, kind",
    ),
    (  # what the tables of features are: see `storage.stores`
        "CREATE TABLE features (name TEXT PRIMARY KEY, version INTEGER NOT NULL, tables TEXT NOT NULL)",
    ),
)

POSTGRES: Migrations = (
    (
        "CREATE SCHEMA IF NOT EXISTS actum",
        "CREATE TABLE version (version BIGINT NOT NULL)",
        "INSERT INTO version VALUES (0)",
        """CREATE TABLE entries (
            run_id TEXT NOT NULL, number BIGINT NOT NULL, at DOUBLE PRECISION NOT NULL, kind TEXT NOT NULL,
            payload BYTEA NOT NULL, salt BYTEA NOT NULL, digest BYTEA NOT NULL, head BYTEA NOT NULL,
            PRIMARY KEY (run_id, number)
        )""",
        """CREATE TABLE runs (
            place BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, run_id TEXT NOT NULL UNIQUE, status TEXT NOT NULL,
            started DOUBLE PRECISION NOT NULL, ended DOUBLE PRECISION, agent TEXT NOT NULL, model TEXT NOT NULL,
            question TEXT NOT NULL, conversation TEXT NOT NULL, parent TEXT NOT NULL, principal TEXT NOT NULL
        )""",
        "CREATE INDEX runs_by_conversation ON runs (conversation, place)",
        "CREATE INDEX runs_by_principal ON runs (principal, place)",
        "CREATE INDEX runs_by_start ON runs (started)",
        "CREATE TABLE kept (digest TEXT PRIMARY KEY, payload BYTEA NOT NULL)",
        """CREATE TABLE heads (
            place BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, run_id TEXT NOT NULL, number BIGINT NOT NULL,
            head BYTEA NOT NULL, signature BYTEA NOT NULL
        )""",
    ),
    (
        "ALTER TABLE runs ADD COLUMN owner TEXT NOT NULL DEFAULT ''",
        "UPDATE runs SET owner = principal WHERE principal != ''",
        "DROP INDEX runs_by_conversation",
        "CREATE INDEX runs_by_conversation ON runs (conversation, owner, place)",
    ),
    NewFormat(2),
    (
        """CREATE TABLE hidden (
            run_id TEXT NOT NULL, digest TEXT NOT NULL, salt BYTEA NOT NULL, payload BYTEA NOT NULL,
            PRIMARY KEY (run_id, digest)
        )""",
    ),
    (
        "ALTER TABLE runs ADD COLUMN tenant TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE runs ADD COLUMN kind TEXT NOT NULL DEFAULT ''",
        "UPDATE runs SET kind = CASE WHEN model = '' THEN 'call' ELSE 'agent' END",
        "DROP INDEX runs_by_principal",
        "CREATE INDEX runs_by_tenant ON runs (tenant, place)",
        "CREATE INDEX runs_by_status ON runs (tenant, status, place)",
        "CREATE INDEX runs_by_kind ON runs (tenant, kind, place)",
        "CREATE INDEX runs_by_agent ON runs (tenant, agent, place)",
        "CREATE INDEX runs_by_model ON runs (tenant, model, place)",
        "CREATE INDEX runs_by_principal ON runs (tenant, principal, place)",
        "CREATE INDEX runs_by_parent ON runs (tenant, parent, place)",
        """CREATE TABLE conversations (
            tenant TEXT NOT NULL, owner TEXT NOT NULL, conversation TEXT NOT NULL, turns BIGINT NOT NULL,
            first BIGINT NOT NULL, latest BIGINT NOT NULL, PRIMARY KEY (tenant, owner, conversation)
        )""",
        """INSERT INTO conversations
            SELECT tenant, owner, conversation, count(*), min(place), max(place) FROM runs
            WHERE conversation != '' GROUP BY tenant, owner, conversation""",
        "CREATE INDEX conversations_by_latest ON conversations (tenant, latest)",
        """CREATE TABLE asked (
            run_id TEXT NOT NULL, ask_id TEXT NOT NULL, tenant TEXT NOT NULL, at DOUBLE PRECISION NOT NULL,
            needs BIGINT NOT NULL, PRIMARY KEY (run_id, ask_id)
        )""",
        # The beginning of such a record is read as bytes: a damaged one ends no migration.
        r"""INSERT INTO asked
            SELECT * FROM (
                SELECT run_id, substring(encode(payload, 'escape')
                    from '^[{]"type":"input_requested","pending":[{]"id":"([^"]+)"') AS ask_id, '', at, 1000000
                FROM entries WHERE kind = 'input_requested' AND run_id IN (
                    SELECT run_id FROM runs WHERE parent = '' AND status IN ('running', 'waiting', 'paused'))) AS found
            WHERE ask_id IS NOT NULL ON CONFLICT DO NOTHING""",
        "CREATE INDEX asked_by_id ON asked (tenant, ask_id)",
        "CREATE INDEX asked_by_time ON asked (tenant, at, ask_id)",
    ),
    (
        "CREATE TABLE begun (name TEXT NOT NULL, at DOUBLE PRECISION NOT NULL)",
        "CREATE INDEX begun_by_name ON begun (name, at)",
        "CREATE INDEX begun_by_time ON begun (at)",
        """CREATE TABLE used (
            name TEXT NOT NULL, minute BIGINT NOT NULL, tokens BIGINT NOT NULL, cost BIGINT NOT NULL,
            PRIMARY KEY (name, minute)
        )""",
        "CREATE INDEX used_by_time ON used (minute)",
    ),
    (
        """CREATE TABLE keys (
            place BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, id TEXT NOT NULL UNIQUE, payload BYTEA NOT NULL
        )""",
        """CREATE FUNCTION tell_of_keys() RETURNS trigger LANGUAGE plpgsql AS
            'BEGIN PERFORM pg_notify(''actum_keys'', ''''); RETURN NULL; END'""",
        """CREATE TRIGGER keys_changed AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON keys
            FOR EACH STATEMENT EXECUTE FUNCTION tell_of_keys()""",
    ),
    (
        """CREATE TABLE sessions (
            id TEXT PRIMARY KEY, owner TEXT NOT NULL, began_at DOUBLE PRECISION NOT NULL,
            seen_at DOUBLE PRECISION NOT NULL, payload BYTEA NOT NULL
        )""",
        "CREATE INDEX sessions_by_owner ON sessions (owner, seen_at)",
        "CREATE INDEX sessions_by_seen ON sessions (seen_at)",
        "CREATE INDEX sessions_by_began ON sessions (began_at)",
        "CREATE TABLE used_logins (name TEXT PRIMARY KEY, ends_at DOUBLE PRECISION NOT NULL)",
        "CREATE INDEX used_logins_by_end ON used_logins (ends_at)",
        "CREATE TABLE login_secret (secret BYTEA NOT NULL)",
    ),
    (
        # A line of each request for a model that was passed on to an upstream; see `core.passed`.
        """CREATE TABLE passed (
            place BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, at DOUBLE PRECISION NOT NULL,
            tenant TEXT NOT NULL, key_id TEXT NOT NULL, principal TEXT NOT NULL, model TEXT NOT NULL,
            upstream TEXT NOT NULL, failed BIGINT NOT NULL, input_tokens BIGINT NOT NULL,
            output_tokens BIGINT NOT NULL, cost BIGINT, seconds DOUBLE PRECISION NOT NULL, payload BYTEA NOT NULL
        )""",
        "CREATE INDEX passed_by_time ON passed (at)",
    ),
    (
        """CREATE TABLE run_names (
            place BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name TEXT NOT NULL, run_id TEXT NOT NULL
        )""",
        "CREATE INDEX run_names_by_name ON run_names (name, place)",
        "CREATE INDEX run_names_by_run ON run_names (run_id)",
    ),
    (
        # The list of tasks; `ready`, `turn` and `progress` are the table's own. See `storage.tasks`.
        """CREATE TABLE tasks (
            place BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, run_id TEXT NOT NULL UNIQUE, tenant TEXT NOT NULL,
            principal TEXT NOT NULL, agent TEXT NOT NULL, state TEXT NOT NULL, priority BIGINT NOT NULL,
            due DOUBLE PRECISION NOT NULL, attempt BIGINT NOT NULL, first BIGINT NOT NULL,
            queued DOUBLE PRECISION NOT NULL, changed DOUBLE PRECISION NOT NULL, ended DOUBLE PRECISION,
            home TEXT NOT NULL, digest TEXT NOT NULL,
            error TEXT NOT NULL, worker TEXT NOT NULL, options TEXT NOT NULL, unique_key TEXT NOT NULL,
            deadline DOUBLE PRECISION, ready BIGINT NOT NULL, turn BIGINT NOT NULL DEFAULT 0,
            progress TEXT NOT NULL DEFAULT ''
        )""",
        "CREATE UNIQUE INDEX tasks_by_key ON tasks (tenant, principal, unique_key) WHERE unique_key != ''",
        "CREATE INDEX tasks_ready ON tasks (home, priority DESC, turn, place) WHERE ready = 2",
        "CREATE INDEX tasks_turn ON tasks (tenant, principal, home, priority, turn) WHERE ready = 2",
        "CREATE INDEX tasks_later ON tasks (due) WHERE ready = 1",
        "CREATE INDEX tasks_by_deadline ON tasks (deadline) WHERE ended IS NULL",
        "CREATE INDEX tasks_by_user ON tasks (tenant, principal, state, place)",
        "CREATE INDEX tasks_by_state ON tasks (state, tenant)",
        "CREATE INDEX tasks_by_end ON tasks (ended) WHERE ended IS NOT NULL",
    ),
    (
        # The outbox of webhooks; see `storage.webhooks`.
        """CREATE TABLE webhooks (
            id TEXT PRIMARY KEY, run_id TEXT NOT NULL, tenant TEXT NOT NULL, principal TEXT NOT NULL,
            address TEXT NOT NULL, queued DOUBLE PRECISION NOT NULL, due DOUBLE PRECISION NOT NULL,
            tries BIGINT NOT NULL, dead DOUBLE PRECISION,
            error TEXT NOT NULL
        )""",
        "CREATE INDEX webhooks_due ON webhooks (due) WHERE dead IS NULL",
    ),
    (
        # Each session counts in rows of its own: two that write at once never wait for each other.
        """CREATE TABLE counted (
            tenant TEXT NOT NULL, kind TEXT NOT NULL, agent TEXT NOT NULL, model TEXT NOT NULL, status TEXT NOT NULL,
            session BIGINT NOT NULL, number BIGINT NOT NULL, PRIMARY KEY (tenant, kind, agent, model, status, session)
        ) WITH (fillfactor = 50)""",
        """INSERT INTO counted SELECT tenant, kind, agent, model, status, 0, count(*) FROM runs
            WHERE status NOT IN ('running', 'waiting', 'paused') GROUP BY tenant, kind, agent, model, status""",
    ),
    (
        # Small objects that a server keeps for a caller, such as an assistant; see `core.kept_object`.
        """CREATE TABLE objects (
            place BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, id TEXT NOT NULL UNIQUE,
            owner TEXT NOT NULL, kind TEXT NOT NULL, parent TEXT NOT NULL,
            at DOUBLE PRECISION NOT NULL, payload BYTEA NOT NULL
        )""",
        "CREATE INDEX objects_by_owner ON objects (owner, kind, parent, place)",
        "CREATE INDEX objects_by_parent ON objects (parent)",
    ),
    (
        # Whose an object is, and the run that took it up: objects are forgotten with their user and with their run.
        "ALTER TABLE objects ADD COLUMN tenant TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE objects ADD COLUMN principal TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE objects ADD COLUMN run_id TEXT NOT NULL DEFAULT ''",
        "CREATE INDEX objects_by_principal ON objects (principal)",
        "CREATE INDEX objects_by_run ON objects (run_id)",
    ),
    (  # answers to runs that another process drives at the time
        """CREATE TABLE posted (
            place BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, run_id TEXT NOT NULL,
            digest TEXT NOT NULL, salt BYTEA NOT NULL, payload BYTEA NOT NULL
        )""",
        "CREATE INDEX posted_by_run ON posted (run_id)",
    ),
    (  # how far triggers have come; see `core.position`
        "CREATE TABLE positions (name TEXT PRIMARY KEY, position TEXT NOT NULL)",
    ),
    (  # texts that people write and publish, such as workflows; see `core.shelf`
        """CREATE TABLE drafts (
            tenant TEXT NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL, text BYTEA NOT NULL,
            revision BIGINT NOT NULL, digest TEXT NOT NULL, at DOUBLE PRECISION NOT NULL, author TEXT NOT NULL,
            published BIGINT NOT NULL, PRIMARY KEY (tenant, kind, name)
        )""",
        """CREATE TABLE publications (
            tenant TEXT NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL, number BIGINT NOT NULL,
            text BYTEA NOT NULL, digest TEXT NOT NULL, at DOUBLE PRECISION NOT NULL, author TEXT NOT NULL,
            again BIGINT NOT NULL, PRIMARY KEY (tenant, kind, name, number)
        )""",
    ),
    (  # when what runs wait for is over by itself
        "ALTER TABLE asked ADD COLUMN expires DOUBLE PRECISION NOT NULL DEFAULT 0",
        "CREATE INDEX asked_by_end ON asked (expires) WHERE expires > 0",
    ),
    (  # the publications in use, for lists: without their texts, and counted
        """CREATE TABLE in_use (
            tenant TEXT NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL, number BIGINT NOT NULL,
            digest TEXT NOT NULL, at DOUBLE PRECISION NOT NULL, about BYTEA NOT NULL, PRIMARY KEY (tenant, kind, name)
        )""",
        """INSERT INTO in_use SELECT publications.tenant, publications.kind, publications.name, number,
            publications.digest, publications.at, '' FROM publications JOIN drafts
            ON publications.tenant = drafts.tenant AND publications.kind = drafts.kind
            AND publications.name = drafts.name AND number = published""",
        """CREATE TABLE publications_made (
            tenant TEXT NOT NULL, kind TEXT NOT NULL, made BIGINT NOT NULL, PRIMARY KEY (tenant, kind)
        )""",
        "INSERT INTO publications_made SELECT tenant, kind, count(*) FROM publications GROUP BY tenant, kind",
    ),
    (  # what the tables of features are: see `storage.stores`
        "CREATE TABLE features (name TEXT PRIMARY KEY, version BIGINT NOT NULL, tables TEXT NOT NULL)",
    ),
)


def migrate(database: Database, migrations: Migrations, *, older: bool = False) -> int:
    """Bring a database to the latest schema of its format, all of it or nothing; one process does it while others wait.

    Args:
        database: the database, which may be empty.
        migrations: how its tables come to be.
        older: whether a journal of an older format is let in, too.

    Returns:
        The format of its records.

    Raises:
        JournalError: a newer version made the database; or its format is an older one, and `older` is not set.
    """
    if database.version() == len(migrations):
        return FORMAT
    database.begin(writes=True, durable=True)
    try:
        database.lock()
        version = database.version()
        if version > len(migrations):
            raise JournalError(
                f"the journal {database.name} was written by a newer actum (schema {version}): update actum"
            )
        found, latest = _format(migrations, version) if version else (FORMAT, len(migrations))
        if found != FORMAT and not older:
            raise JournalError(_refusal(database.name, found))
        for migration in migrations[version:latest]:
            for statement in () if isinstance(migration, NewFormat) else migration:
                database.execute(statement)
        if version != latest:
            database.set_version(latest)
        database.commit()
    except BaseException:
        database.rollback()
        raise
    return found


def _format(migrations: Migrations, version: int) -> tuple[int, int]:
    """The format of the records in a database of this schema, and the latest schema of that format."""
    found = 1
    for number, migration in enumerate(migrations):
        if isinstance(migration, NewFormat):
            if number >= version:
                return found, number
            found = migration.format
    return found, len(migrations)


def _refusal(name: str, found: int) -> str:
    return (
        f"the journal {name} can not be opened: {written_by(found)}, and this version reads format {FORMAT} alone. The "
        "journal is not damaged: `actum journal verify` checks it, and `actum journal export` and `actum journal "
        "heads` export it"
    )
