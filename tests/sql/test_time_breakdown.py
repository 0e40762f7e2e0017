"""What a device did from its first operation to its last, against intervals merged in plain Python."""

import json

import pytest

import tracelake

from .stand_in import DATA

US = 1000


def write(path, operations):
    """Write operations (category, name, start µs, end µs) of one device, on a stream each."""
    events = [
        {"ph": "X", "cat": category, "name": name, "pid": 0, "tid": n, "ts": start, "dur": end - start,
         "args": {"device": 0, "stream": n}}
        for n, (category, name, start, end) in enumerate(operations)
    ]  # fmt: skip
    path.write_text(json.dumps({"traceEvents": events}))
    return path


def test_what_compute_hides_is_not_exposed_and_parts_sum_to_the_window(tmp_path):
    # gemm   10..20, 50..60      compute 20
    # nccl        15..40         communication 25, of which 15..20 is hidden
    # memcpy         30..45      memory 15, of which 30..40 runs beside communication
    # idle 45..50
    lake = tracelake.open(tmp_path / "lake")
    lake.ingest(write(tmp_path / "t.json", [
        ("kernel", "nvjet_gemm", 10, 20), ("kernel", "ncclDevKernel_AllReduce", 15, 40),
        ("gpu_memcpy", "Memcpy DtoH", 30, 45), ("kernel", "nvjet_gemm", 50, 60),
    ]))  # fmt: skip
    names = ("window", "compute", "communication", "exposed_communication", "memory", "exposed_memory", "busy", "idle")
    [found] = lake.sql(f"SELECT {', '.join(f'{name}_us' for name in names)} FROM time_breakdown").fetchall()
    assert dict(zip(names, found, strict=True)) == {
        "window": 50, "compute": 20, "communication": 25, "exposed_communication": 20, "memory": 15,
        "exposed_memory": 5, "busy": 45, "idle": 5,
    }  # fmt: skip


def merged(intervals):
    """Return intervals without overlap, in order."""
    result = []
    for start, end in sorted(intervals):
        if result and start <= result[-1][1]:
            result[-1][1] = max(end, result[-1][1])
        else:
            result.append([start, end])
    return result


def length(intervals):
    return sum(end - start for start, end in merged(intervals))


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    if not DATA.is_dir():
        pytest.skip(f"no traces in {DATA}")
    lake = tracelake.open(tmp_path_factory.mktemp("breakdown") / "lake")
    for name in ("deepseek-v3_train_h800", "vllm_gpt-oss_prefill_tp_b200", "hta_trace_filter_sampled_rank-0"):
        lake.ingest(DATA / "kineto" / f"{name}.json.gz")
    return lake


def test_a_device_s_breakdown_is_that_of_its_merged_intervals(lake):
    rows = lake.sql(
        "SELECT trace_id, * EXCLUDE (trace_id, rank, device, start_ns, end_ns) FROM time_breakdown"
    ).fetchall()
    assert len(rows) == 3
    for trace_id, window, compute, comm, exposed, memory, exposed_memory, busy, idle in rows:
        spans = {"compute": [], "communication": [], "memory": []}
        query = "SELECT kind, start_ns, end_ns FROM kernels WHERE trace_id = $1 AND end_ns > start_ns"
        for kind, start, end in lake.rows(query, [trace_id]):
            spans[kind].append((start, end))
        everything = spans["compute"] + spans["communication"] + spans["memory"]
        kernels = spans["compute"] + spans["communication"]
        expected = (
            max(end for _, end in everything) - min(start for start, _ in everything),
            length(spans["compute"]), length(spans["communication"]), length(kernels) - length(spans["compute"]),
            length(spans["memory"]), length(everything) - length(kernels), length(everything),
        )  # fmt: skip
        assert (
            tuple(round(us * US) for us in (window, compute, comm, exposed, memory, exposed_memory, busy)) == expected
        )
        assert round(compute * US) + round(exposed * US) + round(exposed_memory * US) + round(idle * US) == expected[0]


def test_deepseek_hides_all_but_four_milliseconds_of_its_communication(lake):
    # Section 8.10 of the layer specification: 113 030 µs, of which 108 868 (96.3 %) run beside other kernels.
    [row] = lake.sql(
        "SELECT communication_us, exposed_communication_us, compute_us "
        "FROM time_breakdown JOIN traces USING (trace_id) WHERE trace = 'deepseek-v3_train_h800'"
    ).fetchall()
    assert row == (113030, 4162, 124338)
