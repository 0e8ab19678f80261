"""Facts on countries, one by one and in SQL; and what a query can not do."""

from __future__ import annotations

import pytest

from actum.core.errors import ToolError
from actum.toolsets.everyday.facts import CHARACTERS_MAX, ROWS_MAX, country_facts, query_data


def test_a_fact_is_found_by_either_name() -> None:
    assert country_facts("法国", "capital") == {
        "country": "France",
        "country_zh": "法国",
        "capital": "Paris",
        "capital_zh": "巴黎",
    }
    assert country_facts("the USA", "area")["area_km2"] == 9833517


def test_all_facts_come_when_none_is_named() -> None:
    assert country_facts("Japan") == {
        "country": "Japan",
        "country_zh": "日本",
        "capital": "Tokyo",
        "capital_zh": "东京",
        "continent": "Asia",
        "continent_zh": "亚洲",
        "area_km2": 377915,
        "population": 124000000,
        "population_year": 2024,
    }


def test_an_unknown_country_is_said_to_be_unknown() -> None:
    with pytest.raises(ToolError, match="'Atlantis' is not among the 117"):
        country_facts("Atlantis")


def test_a_query_is_answered() -> None:
    found = query_data("SELECT name, population FROM countries ORDER BY population DESC LIMIT 2")
    assert found == {
        "columns": ["name", "population"],
        "rows": [["India", 1451000000], ["China", 1419000000]],
        "more": False,
    }


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FROM countries",
        "SELECT count(*) FROM (SELECT * FROM countries)",
        "WITH big AS (SELECT * FROM countries WHERE area_km2 > 5e6) SELECT name FROM big",
        "SELECT continent, sum(population) FROM countries GROUP BY continent HAVING sum(population) > 1e9",
        "SELECT name, rank() OVER (ORDER BY area_km2 DESC) FROM countries LIMIT 3",
        "SELECT a.name FROM countries a JOIN countries b ON a.area_km2 = b.area_km2 + 0 WHERE a.name LIKE 'F%'",
        "SELECT name FROM countries UNION SELECT name_zh FROM countries LIMIT 5;",
        "SELECT 1",
    ],
)
def test_what_reads_is_allowed(sql: str) -> None:
    assert query_data(sql)["rows"]


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO countries (name) VALUES ('Atlantis')",
        "UPDATE countries SET population = 0",
        "DELETE FROM countries",
        "DROP TABLE countries",
        "CREATE TABLE t (a)",
        "CREATE TEMP TABLE t (a)",
        "CREATE VIEW v AS SELECT 1",
        "CREATE TRIGGER t AFTER INSERT ON countries BEGIN SELECT 1; END",
        "ATTACH ':memory:' AS b",
        "ATTACH '/tmp/escape.db' AS b",
        "DETACH main",
        "VACUUM INTO '/tmp/escape.db'",
        "PRAGMA table_info(countries)",
        "PRAGMA writable_schema = 1",
        "SELECT * FROM pragma_table_list",
        "SELECT * FROM sqlite_master",
        "SELECT sql FROM sqlite_schema",
        "SELECT load_extension('/tmp/x.so')",
        "SELECT readfile('/etc/passwd')",
        "SELECT writefile('/tmp/x', 'x')",
        "SELECT randomblob(1000000000)",
        "SELECT zeroblob(1000000000)",
        "SELECT printf('%1000000000d', 1)",
        "SELECT fts3_tokenizer('simple')",
        "BEGIN",
        "ROLLBACK",
        "SAVEPOINT a",
        "ANALYZE",
        "REINDEX",
        "SELECT 1; DELETE FROM countries",
        "EXPLAIN QUERY PLAN DELETE FROM countries",
        "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT count(*) FROM r",
        "SELECT name FROM nowhere",
        "SELECT missing FROM countries",
        "SELEC 1",
        "",
        "  ;",
        "-- nothing",
        "SELECT \x00",
        "SELECT '" + "x" * 6_000 + "'",
    ],
)
def test_whatever_else_is_refused(sql: str) -> None:
    with pytest.raises(ToolError):
        query_data(sql)
    assert query_data("SELECT count(*) FROM countries")["rows"] == [[117]]


FOUR_TIMES = "FROM countries a, countries b, countries c, countries d"


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT count(*) {FOUR_TIMES}",
        f"SELECT a.name {FOUR_TIMES} ORDER BY a.name || d.name",
        f"SELECT max(length(a.name || b.name || c.name || d.name)) {FOUR_TIMES}",
    ],
    ids=["count", "sort", "join"],
)
def test_a_query_that_runs_away_is_stopped(sql: str) -> None:
    with pytest.raises(ToolError, match="stopped"):
        query_data(sql)


def test_rows_and_values_are_limited() -> None:
    found = query_data("SELECT a.name FROM countries a, countries b")
    assert (len(found["rows"]), found["more"]) == (ROWS_MAX, True)
    long = query_data(
        "SELECT replace(replace(group_concat(name), 'a', 'aaaaaaaaaa'), 'e', 'eeeeeeeeee') FROM countries"
    )
    assert len(str(long["rows"][0][0])) == CHARACTERS_MAX
    with pytest.raises(ToolError):
        query_data(
            "SELECT replace(replace(hex(group_concat(name)), '6', hex(group_concat(name))), '2', 'x') FROM countries"
        )
