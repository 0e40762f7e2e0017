"""Every share of a whole in a public relation of traces is at most 100 %, or its row says why it is not."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pytest

from tracelake.engine.sql import modules
from tracelake.lake import Lake
from tracelake.reports.trace.layers import verdict

from ..support import DATA, data_files

_SHARE = re.compile(r"_pct$|(^|_)(mfu|mbu|eff|efficiency|coverage)$")
#: Changes, errors and gains are relative to a base and have no bound.
_NO_SHARE = re.compile(r"change|diff|error|gain|step_(median|p90)_pct")
_REASONS = {"over_100_causes", "target_note"}


def shares() -> dict[str, list[tuple[str, int]]]:
    """Return the shares of each public relation of traces that name no reason, with the whole: 1 or 100."""
    found = {}
    for entry in modules.modules():
        names = {column.name for column in entry.columns}
        if entry.public and entry.kind == "VIEW" and "trace_id" in names and not names & _REASONS:
            columns = [
                (column.name, 100 if column.name.endswith("_pct") else 1)
                for column in entry.columns
                if column.type == "DOUBLE" and _SHARE.search(column.name) and not _NO_SHARE.search(column.name)
            ]
            if columns:
                found[entry.name] = columns
    return found


def above(lake: Lake) -> list[tuple[str, str, float]]:
    """Return the shares of a lake that exceed their whole: relation, column, the largest."""
    found = []
    for name, columns in shares().items():
        [row] = lake.sql(f"SELECT {', '.join(f'max({column})' for column, _ in columns)} FROM {name}").fetchall()
        found += [
            (name, column, value)
            for (column, whole), value in zip(columns, row, strict=True)
            if value is not None and value > whole * (1 + 1e-8)
        ]
    return found


def test_the_law_is_about_the_relations_that_people_read():
    names = shares()
    assert {"passes", "layer_types", "ops", "regions", "time_breakdown", "gaps", "collective_kinds"} <= names.keys()
    assert "pass_mfu" not in names


@pytest.mark.slow
@pytest.mark.parametrize("name", data_files("kineto/*.json.gz", "jax/*.json.gz", "ascend/*.csv", "ascend/*.json"))
def test_no_share_of_a_real_trace_exceeds_its_whole(real_lake, name):
    assert DATA.is_dir()
    assert above(real_lake(name)) == []


def crowded(path: Path) -> Path:
    """Write a trace of six layers whose products overlap on one stream, beside a collective and a copy."""
    kernels = (
        (7, "rms_norm_kernel", 0, 20), (7, "flash_fwd_kernel", 20, 80), (7, "ampere_bf16_gemm_nn", 100, 500),
        (7, "ampere_bf16_gemm_nt", 103, 490), (7, "ampere_bf16_gemm_tn", 107, 480),
        (10, "ncclDevKernel_AllReduce_Sum_bf16", 50, 600), (11, "Memcpy HtoD", 60, 580),
    )  # fmt: skip
    events = [
        {
            "ph": "X", "cat": "gpu_memcpy" if "Memcpy" in name else "kernel", "name": name, "pid": 0, "tid": stream,
            "ts": 1000.0 * layer + at, "dur": length,
            "args": {"device": 0, "stream": stream, "correlation": 10 * layer + place},
        }
        for layer in range(6)
        for place, (stream, name, at, length) in enumerate(kernels)
    ]  # fmt: skip
    path.write_bytes(gzip.compress(json.dumps({"traceEvents": events}).encode()))
    return path


@pytest.fixture(scope="module")
def crowd(tmp_path_factory):
    """A lake of the crowded trace."""
    folder = tmp_path_factory.mktemp("crowd")
    with Lake(folder / "lake") as lake:
        lake.ingest(crowded(folder / "crowded.json.gz"))
        lake.set("crowded", anchor="flash_fwd", num_layers="6")
        yield lake


def test_no_share_of_a_device_with_all_at_once_exceeds_its_whole(crowd):
    assert above(crowd) == []


def test_a_target_that_takes_more_than_the_wall_time_says_why(crowd):
    # The products of a layer take 500 + 490 + 480 µs in about 650.
    [(target, pct, note)] = crowd.rows("SELECT target, target_pct, target_note FROM layer_bottlenecks")
    assert pct > 100
    assert note == "its kernels overlap, and their durations are added up"
    found = str(verdict(crowd.store, crowd.locate("crowded"), 0))
    assert f"{target}, {pct:.1f} % of their wall time ({note})." in found
