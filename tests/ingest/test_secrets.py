"""What a trace says of its host (environment, tokens, image, user) does not enter the lake."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tracelake.lake import Lake

from ..support import content_of, data_file, ingest_into

SPAN = {
    "ph": "X",
    "cat": "kernel",
    "pid": 0,
    "tid": 7,
    "ts": 5,
    "dur": 2,
    "name": "gemm",
    "args": {"device": 0, "stream": 7},
}
PLANTED = {
    "environ": {"HF_TOKEN": "hf_s3cr3t1"},
    "metadata": {"env": ["AWS_SECRET=s3cr3t2"]},
    "username": "s3cr3t3",
    "INFO": "s3cr3t4",
    "hostname": "s3cr3t5",
    "pytorch_version": {"built_by": "s3cr3t6"},
    "traceName": ["s3cr3t7"],
    "deviceProperties": [{"id": 0, "name": "NVIDIA H100", "serial": "s3cr3t8", "env": {"TOKEN": "s3cr3t9"}}],
    "distributedInfo": {
        "rank": 0, "world_size": 2, "master_addr": "s3cr3t10", "hosts": ["s3cr3t11"],
        "pg_config": [{"pg_name": "0", "pg_desc": "default_pg", "pg_size": 2, "ranks": [0, 1], "store": "s3cr3t12"}],
    },
}  # fmt: skip


def test_the_host_metadata_of_a_real_trace_is_nowhere_in_the_lake(tmp_path):
    path = data_file("kineto/hf_qwen1.5-0.5b_h100.json.gz")
    said = json.loads(content_of(path))
    metadata = said.pop("metadata")
    elsewhere = json.dumps(said)
    # Words of five letters and less, as "linux", stand in any file; what the events say themselves is theirs to say.
    secrets = {text for text in texts(metadata) if len(text) > 5 and text not in elsewhere}
    assert len(secrets) > 200
    assert any("docker.io" in text for text in secrets)
    lake = Lake(tmp_path / "lake")
    lake.ingest(path)
    lake.traces().fetchall()
    written = everything_in(lake.path)
    assert "NVIDIA H100 80GB HBM3" in written
    # The log of a table has words of its own.
    assert {text for text in secrets if text in written} - {"timestamp"} == set()


@pytest.mark.parametrize("late", [False, True], ids=["before the events", "after the events"])
@pytest.mark.parametrize("end", ["whole", "cut"])
def test_planted_secrets_do_not_enter_whatever_key_they_stand_in(tmp_path, late, end):
    events = {"traceEvents": [SPAN, SPAN]}
    text = json.dumps(events | PLANTED if late else PLANTED | events)
    path = tmp_path / "trace.json"
    path.write_text(text if end == "whole" else text[:-1])
    lake = Lake(tmp_path / "lake")
    [result] = ingest_into(lake, path)
    assert result.events == 2
    assert result.truncated == (end == "cut")
    lake.traces().fetchall()
    written = everything_in(lake.path) + str(result)
    assert "gemm" in written
    assert [word for word in ("s3cr3t", "TOKEN", "AWS_SECRET", "master_addr", "username") if word in written] == []


def test_messages_about_a_file_without_events_name_its_keys_and_not_their_values(tmp_path):
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(PLANTED))
    [failed] = ingest_into(Lake(tmp_path / "lake"), path)
    assert "environ" in failed.reason
    assert "s3cr3t" not in failed.reason


def texts(value: Any) -> Iterator[str]:
    """Every key and every string below a value."""
    if isinstance(value, dict):
        yield from value
        for item in value.values():
            yield from texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from texts(item)
    elif isinstance(value, str):
        yield value


def everything_in(lake: Path) -> str:
    """All the bytes of a lake's files, and all the text in its Parquet files, decompressed."""
    files = [path for path in lake.rglob("*") if path.is_file()]
    found = [path.read_bytes().decode("latin-1") for path in files]
    for path in files:
        if path.suffix == ".parquet":
            for column in pq.ParquetFile(path).read().columns:
                if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
                    found += column.unique().drop_null().to_pylist()
    assert any(path.suffix == ".parquet" for path in files)
    return "\n".join(found)
