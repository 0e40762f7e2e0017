"""Which files are read and computed together."""

import pytest

from tracelake.engine.catalog import reading
from tracelake.engine.computing.executors import Threads
from tracelake.engine.storage.layout import open_layout
from tracelake.engine.storage.tables import Tables
from tracelake.ingest import batch

from ..support import trace_bytes


@pytest.mark.parametrize(("little", "batches"), [(1 << 20, 1), (0, 2)])
def test_small_files_given_together_are_computed_together_and_others_by_all_workers(
    tmp_path, monkeypatch, little, batches
):
    monkeypatch.setattr(batch, "_LITTLE_BYTES", little)
    kernel = {"ph": "X", "cat": "kernel", "pid": 0, "tid": 7, "ts": 1, "dur": 1, "args": {"device": 0, "stream": 7}}
    files = [tmp_path / f"{name}.json" for name in "abcd"]
    for file in files:
        file.write_bytes(trace_bytes([{**kernel, "name": file.stem}]))
    layout = open_layout(tmp_path / "lake", create=True)
    batch.ingest_many(layout, [*map(str, files)], executor=Threads(2))
    with reading(Tables(layout.tables), layout.root) as (catalog, _):
        assert len(catalog.states) == len(files)
        assert len({state.batch_id for state in catalog.states.values()}) == batches
