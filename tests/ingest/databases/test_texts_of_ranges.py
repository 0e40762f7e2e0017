"""Texts of ranges: numbers cut off many at once are those of the text, and no way of writing lets a secret in."""

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracelake.ingest.databases import reader
from tracelake.ingest.databases.labels import cut
from tracelake.ingest.databases.nvtx import NVTX
from tracelake.ingest.databases.parts import TEXTS
from tracelake.ingest.land import ingest_one
from tracelake.synthetic.nsys import nsys_tables, write_nsys

from ...support import new_lake, stored

DIGITS = st.sampled_from(["", "0", "7", "45689", "12345678", "123456789", "1234567890123456", "9" * 17, "x", "-3"])
NAMES = st.sampled_from(["", "a", "aten::mul", "ünï", "x, seq = 5", "y, op_id = 6", "7", "12345678", "long " * 9, ", "])
LABELS = st.lists(st.tuples(st.sampled_from([", seq = ", ", op_id = ", ", sizes = ", ",op_id = "]), DIGITS), max_size=3)
#: A token of GitHub's form that was made up.
TOKEN = "ghp_" + "0123456789abcdefghijABCDEFGHIJ012345"


@settings(max_examples=40, deadline=None)
@given(texts=st.lists(st.none() | st.builds(lambda name, labels: name + "".join(map("".join, labels)), NAMES, LABELS)))
def test_numbers_that_are_cut_off_are_those_that_the_text_says(texts):
    given, views = pa.array(texts, pa.string()), pa.array([None, *texts], pa.string_view())[1:]
    words, seq, op_id = (column.to_pylist() for column in cut(given))
    assert [words, seq, op_id] == [column.to_pylist() for column in cut(views)]
    for text, word, first, second in zip(texts, words, seq, op_id, strict=True):
        ends = (f", seq = {first}" if first else "") + (f", op_id = {second}" if second else "")
        assert text == (None if word is None else word + ends)
    said = "called, coalesce(said_seq, {0}), coalesce(said_op_id, {1}), sizes"
    rows = [_answers(said.format("NULL", "NULL"), given)]
    rows.append(_answers(said.format("seq", "op_id"), pa.array(words, pa.string()), seq, op_id))
    # What has no text is called nothing in either way.
    assert rows[0] == rows[1]


def _answers(columns: str, texts: pa.Array, seq: list | None = None, op_id: list | None = None) -> list:
    count = len(texts)
    with duckdb.connect() as connection:
        connection.register(TEXTS, pa.table({"nth": pa.array(range(count), pa.int64()), "text": texts}))
        numbers = {"nth": pa.array(range(count), pa.int64()), "seq": pa.array(seq or [None] * count, pa.string()),
                   "op_id": pa.array(op_id or [None] * count, pa.string())}  # fmt: skip
        connection.register("numbers", pa.table(numbers))
        return connection.execute(
            f"SELECT {columns} FROM ({NVTX.said['words']}) JOIN numbers USING (nth) ORDER BY nth"
        ).fetchall()


def _with_ranges(*texts: str) -> dict:
    columns, rows = nsys_tables()["NVTX_EVENTS"]
    thread = 100 << 24 | 100
    more = [(nth, nth + 9, 59, text, thread, None, None, 0, None) for nth, text in enumerate(texts)]
    return nsys_tables() | {"NVTX_EVENTS": (columns, rows + more)}


@pytest.mark.parametrize(
    "texts",
    [
        (),
        ("{'Module': 'model.layers.0', 'TrainableParams': {}}", "aten::mm, op_id = 5"),
        (f"step with {TOKEN}", "aten::mm, op_id = 5"),
        (f"{TOKEN}, seq = 1, op_id = 2, sizes = [[1]]",),
    ],
    ids=["one lane", "two lanes", "a token", "a token with labels"],
)
def test_batches_written_straight_away_hold_what_gathered_ones_do(tmp_path, monkeypatch, texts):
    path = write_nsys(tmp_path / "made.sqlite", _with_ranges(*texts))
    found = []
    for rows in (10**9, 1):
        monkeypatch.setattr(reader, "ROWS_OF_A_FILE", rows)
        lake = new_lake(tmp_path / str(rows))
        result = ingest_one(lake, path)
        found.append((sorted(map(repr, stored(lake, result.trace_id))), result.redacted, result.rejected))
    assert found[0] == found[1]
    assert found[0][1] == sum(TOKEN in text for text in texts)
    assert TOKEN not in str(found)
