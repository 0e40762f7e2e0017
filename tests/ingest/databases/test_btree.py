"""Rows of a SQLite table read as arrays: the same as SQLite's own, whatever was written, and no trust in the file."""

import random
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracelake.ingest.databases.btree import Left, Pages, read_rows
from tracelake.ingest.databases.sqlite import SqliteTables
from tracelake.ingest.databases.tables import DamagedError

KINDS = {"a": "int", "b": "text", "c": "real", "d": "bytes", "e": "int"}
#: At the edges of every width in which whole numbers are stored.
WHOLE = st.sampled_from([0, 1, *(sign * (1 << bits) + one for bits in (7, 15, 23, 31, 47, 62) for sign in (1, -1)
                                 for one in (-1, 0, 1))])  # fmt: skip
TEXTS = st.one_of(st.text(max_size=20), st.sampled_from(["x" * 12, "ü" * 70, "y" * 600, "\U0001f600" * 3000]))
REALS = st.floats(allow_nan=False)
BYTES = st.one_of(st.binary(max_size=9), st.sampled_from([bytes(58), bytes(3000)]))
NULL = st.none()
ROWS = st.lists(st.tuples(WHOLE | NULL, TEXTS | NULL, REALS | NULL | WHOLE, BYTES | NULL, WHOLE | NULL), max_size=9)
#: Values of another type than their column's.
ODD = st.tuples(TEXTS | REALS, BYTES | WHOLE, TEXTS | BYTES, TEXTS | REALS, NULL)


def written(path: Path, rows: list, *, page: int = 4096, types: str = "a INT, b TEXT, c REAL, d BLOB, e INT") -> Path:
    """Write a table `t`, of which every 3rd row is deleted again, and one that is deleted as a whole."""
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"PRAGMA page_size = {page}")
        connection.executescript(f"CREATE TABLE gone (x); CREATE TABLE t ({types})")
        marks = ", ".join("?" * len(rows[0])) if rows else "NULL"
        for start in range(0, len(rows), 50):
            connection.execute("INSERT INTO gone VALUES (zeroblob(9000))")
            connection.executemany(f"INSERT INTO t VALUES ({marks})", rows[start : start + 50])
        connection.executescript("DELETE FROM t WHERE rowid % 3 = 0; DROP TABLE gone")
    return path


def by_both_ways(path: Path, kinds: dict = KINDS) -> tuple[list, ...]:
    with closing(SqliteTables(path)) as tables:
        return tuple(
            [tuple(row.values()) for batch in batches for row in batch.to_pylist()]
            for batches in (tables.batches("t", kinds), tables._fetched("t", kinds))
        )


def left_of(path: Path, kinds: dict = KINDS) -> list[Left]:
    """Return what is left to SQLite of a table whose columns are those asked for."""
    with closing(sqlite3.connect(path)) as connection, closing(Pages(path)) as pages:
        [(root,)] = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 't'").fetchall()
        return [one for one in read_rows(pages, root, list(kinds), kinds) if isinstance(one, Left)]


@settings(max_examples=50, deadline=None)
@given(rows=ROWS, odd=st.lists(ODD, max_size=2), times=st.sampled_from([1, 8, 100]), power=st.integers(9, 16))
def test_rows_are_those_that_sqlite_reads(tmp_path_factory, rows, odd, times, power):
    path = written(tmp_path_factory.getbasetemp() / "any.sqlite", rows * times + odd + rows, page=1 << power)
    ours, theirs = by_both_ways(path)
    assert repr(ours) == repr(theirs)
    count = len(rows) * (times + 1) + len(odd)
    assert len(ours) == count - count // 3


def test_plain_rows_are_not_left_to_sqlite_and_those_on_several_pages_are(tmp_path):
    numbers = [((-1) ** nth << nth % 63, f"name {'x' * (nth % 90)}", nth / 7, None, nth) for nth in range(50_000)]
    plain = written(tmp_path / "plain.sqlite", numbers)
    assert left_of(plain) == []
    ours, theirs = by_both_ways(plain)
    assert ours == theirs
    numbers[49_000] = (1, "long" * 2000, 1.0, None, 1)
    # Row numbers begin at 1; what lies on the same half megabyte of pages is read by SQLite, the rest is not.
    [left] = left_of(written(tmp_path / "long.sqlite", numbers))
    assert 0 < left.after < 49_001 <= left.last <= 50_000


@pytest.mark.parametrize(
    "make",
    [
        "CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT); INSERT INTO t VALUES (7, 'seven')",
        "CREATE TABLE t (a INTEGER PRIMARY KEY AUTOINCREMENT, b TEXT); INSERT INTO t (b) VALUES ('one')",
        "CREATE TABLE t (a INT, b TEXT, PRIMARY KEY (b, a)) WITHOUT ROWID; INSERT INTO t VALUES (1, 'one')",
        "CREATE TABLE u (x INT); INSERT INTO u VALUES (5); CREATE VIEW t AS SELECT x AS a, 'text' AS b FROM u",
        "CREATE TABLE t (a INT); INSERT INTO t VALUES (3); ALTER TABLE t ADD COLUMN b TEXT DEFAULT 'later'",
        "CREATE TABLE t (a INT, b TEXT AS ('number ' || a) STORED); INSERT INTO t (a) VALUES (3)",
        "CREATE TABLE t (x INT, b TEXT AS ('number ' || a), a INT); INSERT INTO t (a) VALUES (3)",
        "CREATE TABLE t (rowid INT, a INT, b TEXT); INSERT INTO t VALUES (9, 3, CAST(x'ff41' AS TEXT))",
        "CREATE TABLE t (a INT, b TEXT); INSERT INTO t VALUES (3, CAST(x'ff41' AS TEXT)), (1.5, x'41'), ('4', 4)",
        "PRAGMA encoding = 'UTF-16'; CREATE TABLE t (a INT, b TEXT); INSERT INTO t VALUES (3, 'wide')",
        "PRAGMA auto_vacuum = FULL; CREATE TABLE t (a INT, b TEXT); INSERT INTO t VALUES (3, 'moved')",
        "PRAGMA journal_mode = WAL; CREATE TABLE t (a INT, b TEXT); INSERT INTO t VALUES (3, 'logged')",
        "CREATE TABLE t (a INT, b TEXT)",
    ],
)
def test_tables_of_other_kinds_have_their_rows_too(tmp_path, make):
    path = tmp_path / "other.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(make)
    ours, theirs = by_both_ways(path, {"a": "int", "b": "text"})
    assert ours == theirs
    assert bool(theirs) == ("INSERT" in make)


def test_a_file_whose_bytes_were_changed_is_read_like_by_sqlite_or_refused(tmp_path):
    rows = [(nth, f"name {nth}", nth / 7, bytes(nth % 5), -nth) for nth in range(1000)]
    content = written(tmp_path / "whole.sqlite", rows, page=512).read_bytes()
    path, dice = tmp_path / "changed.sqlite", random.Random(1)
    refused = same = 0
    for _ in range(100):
        changed = bytearray(content)
        for _ in range(dice.choice([1, 3, 30])):
            # Where the tree, its cells and their types are: beginnings of pages; the schema stays.
            at = dice.randrange(2, len(content) // 512) * 512 + dice.choice([dice.randrange(16), dice.randrange(512)])
            changed[at] = dice.choice([0, 1, 5, 13, 127, 128, 255, dice.randrange(256)])
        path.write_bytes(changed)
        try:
            ours, theirs = by_both_ways(path)
            same += repr(ours) == repr(theirs)
        except DamagedError:
            refused += 1
    assert refused > 5
    assert same == 100 - refused


def test_a_tree_that_contains_itself_ends(tmp_path):
    rows = [(nth, "name " * 9, None, None, nth) for nth in range(3000)]
    path = written(tmp_path / "loop.sqlite", rows, page=512)
    content = bytearray(path.read_bytes())
    with closing(sqlite3.connect(path)) as connection:
        [(root,)] = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 't'").fetchall()
    at = (root - 1) * 512
    assert content[at] == 5
    for cell in range(int.from_bytes(content[at + 3 : at + 5], "big")):
        place = at + int.from_bytes(content[at + 12 + 2 * cell : at + 14 + 2 * cell], "big")
        content[place : place + 4] = root.to_bytes(4, "big")
    content[at + 8 : at + 12] = root.to_bytes(4, "big")
    path.write_bytes(content)
    assert left_of(path) == [Left(None, None)]
    with pytest.raises(DamagedError):
        by_both_ways(path)
