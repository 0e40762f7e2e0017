"""Times of operations per step where a trace does not name them."""

import json
from pathlib import Path

import tracelake


def test_a_kernel_without_a_name_has_its_time_and_its_family(tmp_path: Path) -> None:
    at = {"ph": "X", "cat": "kernel", "pid": 0, "tid": 7, "args": {"device": 0, "stream": 7}}
    events = [{**at, "name": None, "ts": 10, "dur": 2}, {**at, "name": "gemm", "ts": 20, "dur": 3}]
    path = tmp_path / "nameless.json"
    path.write_text(json.dumps({"traceEvents": events}))
    lake = tracelake.Lake(tmp_path / "lake", stored=False)
    lake.ingest(path)

    rows = lake.sql("SELECT op, family, calls, self_us FROM step_op_times ORDER BY self_us").fetchall()

    assert rows == [(None, "other", 1.0, 2.0), ("gemm", "matmul", 1.0, 3.0)]
