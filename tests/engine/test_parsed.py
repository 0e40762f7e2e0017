"""A statement that was parsed on one connection runs on others, as often as it is asked; what is held is bounded."""

import duckdb
import pytest

from tracelake.engine.sql import parsed


@pytest.fixture(autouse=True)
def known(monkeypatch):
    monkeypatch.setattr(parsed, "_known", {})
    return parsed._known


def test_each_connection_has_the_relation_and_the_rows_of_its_own(known):
    for rows in (2, 3):
        with duckdb.connect() as connection:
            connection.execute(f"CREATE TABLE source AS FROM range({rows})")
            for _ in range(2):
                answer = parsed.execute(connection, "CREATE OR REPLACE TABLE copied AS FROM source")
                assert answer.fetchall() == [(rows,)]
            assert connection.execute("SELECT count(*) FROM copied").fetchall() == [(rows,)]
    assert list(known) == ["CREATE OR REPLACE TABLE copied AS FROM source"]


def test_what_failed_on_one_connection_is_asked_again_on_another():
    with duckdb.connect() as connection, pytest.raises(duckdb.CatalogException, match="absent"):
        parsed.execute(connection, "CREATE TABLE copied AS FROM absent")
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE absent AS FROM range(4)")
        assert parsed.execute(connection, "CREATE TABLE copied AS FROM absent").fetchall() == [(4,)]


def test_no_more_are_held_than_a_number(known, monkeypatch):
    monkeypatch.setattr(parsed, "_MOST", 3)
    with duckdb.connect() as connection:
        for number in range(8):
            assert parsed.execute(connection, f"SELECT {number}").fetchall() == [(number,)]
            assert len(known) <= 3
