"""What Kineto calls the events of an accelerator: which of them are its operations, and which launch them."""

import json
from pathlib import Path

import pytest

from ...lakes import in_one_lake


def event(cat: str, name: str, ts: float, dur: float, pid: int = 1, tid: int = 1, **args: object) -> dict[str, object]:
    return {"ph": "X", "cat": cat, "name": name, "ts": ts, "dur": dur, "pid": pid, "tid": tid, "args": args}


def written(folder: Path, *events: dict[str, object]) -> Path:
    path = folder / "trace.json"
    path.write_text(json.dumps({"schemaVersion": 1, "deviceProperties": [], "traceEvents": list(events)}))
    return path


@in_one_lake
def test_what_an_mtia_card_ran_are_device_operations_with_their_launches_and_operators(tmp_path):
    lake = yield written(
        tmp_path,
        event("cpu_op", "aten::addmm", 0, 50, **{"External id": 5}),
        event("mtia_runtime", "runFunction - job_prep_and_submit_for_execution", 10, 5, correlation=9),
        event("mtia_ccp_events", "fc_kernel_0", 30, 20, pid=2, tid=3, device=2, stream=3, correlation=9),
        event("mtia_ccp_events", "dma_request", 45, 10, pid=2, tid=4, device=2, stream=4),
        event("mtia_insight", "firmware", 30, 100, pid=2, tid=3, correlation=9),
    )  # fmt: skip
    assert lake.sql(
        "SELECT device, stream, name, kind, category, launch_ns, op_name FROM kernels ORDER BY start_ns"
    ).fetchall() == [
        (2, 3, "fc_kernel_0", "compute", "gemm", 10000, "aten::addmm"),
        (2, 4, "dma_request", "memory", "memcpy", None, None),
    ]
    # By hand: 20 us of computing, 10 of copying, 5 of them beside it.
    assert lake.sql("SELECT compute_us, memory_us, exposed_memory_us, busy_us FROM time_breakdown").fetchall() == [
        (20, 10, 5, 25)
    ]
    assert lake.sql("SELECT value FROM health WHERE \"check\" = 'no_device_operations'").fetchall() == [(0,)]


@pytest.mark.parametrize("call", ["cuda_driver", "xpu_runtime", "privateuse1_runtime", "hpu_op", "a_new_runtime"])
@pytest.mark.parametrize("other", ["cuda_sync", "overhead", "user_annotation", "mtia_insight"])
@in_one_lake
def test_a_launch_is_a_call_and_nothing_else_of_the_host_that_shares_its_id(tmp_path, call, other):
    # The other event comes first in the file, and would be taken for the earlier of two views of one call.
    lake = yield written(
        tmp_path,
        event(other, "something", 1, 90, correlation=9),
        event(call, "launch", 10, 5, correlation=9),
        event("kernel", "a", 30, 20, pid=0, tid=7, device=0, stream=7, correlation=9),
    )  # fmt: skip
    assert lake.sql("SELECT launch_ns, launch_kernels FROM kernels").fetchall() == [(10000, 1)]


@pytest.mark.parametrize("copy", ["gpu_memcpy", "memcpy", "mlu_memcpy", "gcu_memcpy"])
@in_one_lake
def test_copies_of_every_accelerator_are_device_operations(tmp_path, copy):
    lake = yield written(tmp_path, event(copy, "Memcpy HtoD", 30, 20, pid=0, tid=7))
    assert lake.sql("SELECT kind, category FROM kernels").fetchall() == [("memory", "memcpy")]


@pytest.mark.parametrize("key", ["Input Dims", "Input dims"])
@in_one_lake
def test_traces_of_pytorch_1_8_have_their_operators_shapes_and_device(tmp_path, key):
    # As in the examples of Kineto's viewer from 2021: categories in capitals, computeProperties.
    v100 = {"id": 0, "name": "Tesla V100-DGXS-32GB", "totalGlobalMem": 34084028416, "major": 7, "minor": 0,
            "multiProcessorCount": 80}  # fmt: skip
    events = [
        event("Operator", "aten::mm", 0, 50, **{"External id": 5, key: [[8, 4], [4, 2]]}),
        event("Runtime", "cudaLaunchKernel", 10, 5, **{"external id": 5, "correlation": 9}),
        event("Kernel", "volta_sgemm_128x32_nt", 30, 20, pid=0, tid=7, device=0, stream=7, correlation=9),
        event("Memcpy", "Memcpy HtoD (Pageable -> Device)", 60, 5, pid=0, tid=7, device=0, stream=7),
    ]  # fmt: skip
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"schemaVersion": 1, "computeProperties": [v100], "traceEvents": events}))
    lake = yield path
    assert lake.sql("SELECT kind, op_name, input_dims FROM kernels ORDER BY start_ns").fetchall() == [
        ("compute", "aten::mm", "[[8,4],[4,2]]"), ("memory", None, None),
    ]  # fmt: skip
    assert lake.sql("SELECT flop FROM ops WHERE flop IS NOT NULL").fetchall() == [(2 * 8 * 4 * 2,)]
    [(name, properties)] = lake.sql("SELECT device_name, metadata -> '$.deviceProperties[0]' FROM traces").fetchall()
    assert name == "Tesla V100-DGXS-32GB"
    assert json.loads(properties) == {
        "id": 0, "name": name, "totalGlobalMem": 34084028416, "computeMajor": 7, "computeMinor": 0, "numSms": 80,
    }  # fmt: skip
