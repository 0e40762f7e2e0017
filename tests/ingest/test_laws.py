"""Laws of the reader, for any trace: what Python's json reads is what the lake holds."""

import gzip
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tracelake.engine.errors import InputError
from tracelake.engine.storage.layout import Layout

from ..support import ingest_bytes, is_event, new_lake, pieces_of, python_reads, stored
from .strange_traces import events, expected_rows, row_of, traces

slowly = settings(
    deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


@contextmanager
def empty_lake() -> Iterator[Layout]:
    with tempfile.TemporaryDirectory() as folder:
        yield new_lake(Path(folder) / "lake")


def is_empty(element: Any) -> bool:
    """Whether an element of the array holds no event: some writers open or close it with an empty object."""
    return element is None or (isinstance(element, dict) and all(value is None for value in element.values()))


@given(traces(), st.integers(150, 4000))
@slowly
def test_the_lake_holds_what_python_reads_whatever_the_size_of_the_pieces(trace, size):
    reading = python_reads(trace.content)
    rows = expected_rows(reading.events)
    with empty_lake() as lake, pieces_of(size):
        if not rows and not all(map(is_empty, reading.events)):
            with pytest.raises(InputError, match="no complete event"):
                ingest_bytes(lake, trace.content)
            return
        result = ingest_bytes(lake, trace.content)
        assert [row_of(row) for row in stored(lake, result.trace_id)] == rows
        assert result.events == len(rows)
        assert result.rejected == len(reading.events) - len(rows) - sum(map(is_empty, reading.events))
        assert not result.truncated


@given(traces(least=1), st.data())
@slowly
def test_a_file_cut_anywhere_gives_the_whole_events_before_the_cut_or_is_refused(trace, data):
    at = data.draw(st.integers(0, len(trace.content) - 1))
    cut = trace.content[:at]
    kept = python_reads(trace.content).events[: sum(end <= at for end in trace.ends)]
    rows = expected_rows(kept)
    with empty_lake() as lake, pieces_of(300):
        if not rows:
            with pytest.raises(InputError, match=r"lake-trace\.json: "):
                ingest_bytes(lake, cut)
            return
        result = ingest_bytes(lake, cut)
        assert [row_of(row) for row in stored(lake, result.trace_id)] == rows
        assert result.truncated


@given(traces(events(), least=3), st.data())
@slowly
def test_a_gzip_file_cut_anywhere_gives_the_whole_events_that_can_be_had(trace, data):
    packed = gzip.compress(trace.content, 1)
    cut = packed[: data.draw(st.integers(20, len(packed) - 1))]
    text = zlib.decompressobj(31).decompress(cut)
    rows = expected_rows(python_reads(trace.content).events[: sum(end <= len(text) for end in trace.ends)])
    with empty_lake() as lake, pieces_of(1000):
        try:
            result = ingest_bytes(lake, cut)
        except InputError:
            if len(rows) > 1:
                raise
            return
        found = [row_of(row) for row in stored(lake, result.trace_id)]
        # zlib may see a byte more of a broken block than we do: the end of one event.
        assert found in (rows, rows[:-1])
        assert result.truncated


@given(traces())
@settings(slowly, max_examples=12)
def test_gzip_and_zstandard_in_one_stream_or_two_give_the_same_trace(trace):
    if not any(map(is_event, python_reads(trace.content).events)):
        return
    with empty_lake() as lake:
        plain = ingest_bytes(lake, trace.content)
        rows = stored(lake, plain.trace_id)
    for packed in (
        gzip.compress(trace.content),
        gzip.compress(trace.content[:50]) + gzip.compress(trace.content[50:]),
        zstandard.compress(trace.content),
        zstandard.compress(trace.content[:50]) + zstandard.compress(trace.content[50:]),
    ):
        with empty_lake() as lake:
            other = ingest_bytes(lake, packed)
            assert other.trace_id == plain.trace_id
            assert stored(lake, other.trace_id) == rows
            assert not ingest_bytes(lake, trace.content, "again.json").new
