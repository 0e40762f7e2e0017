"""Memory of a database that computes: little, and more for what does not fit."""

import threading

import duckdb
import pytest

from tracelake.engine.computing import memory

#: A list is one value, which is not spilled: 80 MB.
LARGE = "SELECT len(list(n)) FROM range(10_000_000) AS numbers (n)"


@pytest.fixture
def connection():
    with duckdb.connect(config={"threads": 2}) as opened:
        yield opened


def limit(connection):
    return connection.execute("SELECT current_setting('memory_limit')").fetchone()[0]


def test_what_does_not_fit_is_done_with_more_and_the_next_with_little_again(connection, monkeypatch):
    monkeypatch.setattr(memory, "STEPS_MB", (20, 400, None))
    given = memory.Memory(connection)
    with pytest.raises(duckdb.OutOfMemoryException):
        connection.execute(LARGE).fetchall()
    seen = []

    def work():
        seen.append(limit(connection))
        return connection.execute(LARGE).fetchall()

    assert given.fit(work) == [(10_000_000,)]
    assert seen == ["38.1 MiB", "762.9 MiB"]
    assert given.fit(lambda: limit(connection)) == limit(connection) == "38.1 MiB"


def test_what_fits_nowhere_fails_after_all_steps(connection, monkeypatch):
    monkeypatch.setattr(memory, "STEPS_MB", (20, 40, None))
    seen = []

    def work():
        seen.append(limit(connection))
        raise duckdb.OutOfMemoryException("never enough")

    with pytest.raises(duckdb.OutOfMemoryException, match="never enough"):
        memory.Memory(connection).fit(work)
    assert seen[:2] == ["38.1 MiB", "76.2 MiB"]
    assert len(seen) == 3
    assert limit(connection) == "38.1 MiB"


def test_what_ends_meanwhile_takes_nothing_from_what_needs_more(connection, monkeypatch):
    monkeypatch.setattr(memory, "STEPS_MB", (20, 400, None))
    given = memory.Memory(connection)
    needs_more, other_ended = threading.Event(), threading.Event()

    def small():
        needs_more.wait(20)

    def large():
        if limit(connection) == "38.1 MiB":
            raise duckdb.OutOfMemoryException("more")
        needs_more.set()
        other_ended.wait(20)
        return limit(connection)

    def run_small():
        given.fit(small)
        other_ended.set()

    other = threading.Thread(target=run_small)
    other.start()
    assert given.fit(large) == "762.9 MiB"
    other.join()
    assert limit(connection) == "38.1 MiB"
