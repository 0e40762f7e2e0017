"""Collectives whose transfers are copies by the copy engines, as NCCL does them for symmetric memory. Times in µs."""

import pytest

from ...kernel_traces import Trace
from ...lakes import in_one_lake
from .test_collectives import kineto, written

PEER, OWN, HOST = "Memcpy PtoP (Device -> Device)", "Memcpy DtoD (Device -> Device)", "Memcpy HtoD (Pinned -> Device)"


@in_one_lake
def test_a_copy_to_a_peer_is_communication_in_a_collective_and_memory_elsewhere(tmp_path):
    # A collective of one rank copies on its device, and counts come from the host. Each call launches two copies.
    cases = [("record_param_comms", PEER), ("record_param_comms", OWN), ("c10d::barrier", HOST), ("aten::copy_", PEER)]
    trace = Trace()
    for at, (op, name) in zip((0, 100, 200, 300), cases, strict=True):
        trace.op(op, at, 50)
        trace.kernel(name, launched=at + 10, start=at + 20, dur=10, cat="gpu_memcpy")
        trace.events.append(trace.events[-1] | {"ts": at + 40})
    lake = yield trace.write(tmp_path / "trace.json")
    assert lake.rows("SELECT category, kind, category_source, name_category FROM kernels ORDER BY start_ns") == [
        *[("communication", "communication", "operator", "memcpy")] * 2, *[("memcpy", "memory", "name", "memcpy")] * 6,
    ]  # fmt: skip


@in_one_lake
def test_the_copies_of_a_collective_are_one_call_and_their_time_is_communication(tmp_path):
    # Two all-gathers of 4 ranks, 4 elements of 2 bytes from each: 32 bytes in 30 µs, 3/4 of them over the links. The
    # three copies of a call follow one another, 10 µs each, and the gemm hides half of the last copy of the second.
    events = []
    for call, at in ((1, 100), (2, 200)):
        args = {"External id": call, "Collective name": "_allgather_base", "In msg nelems": 4, "Out msg nelems": 16,
                "Group size": 4, "dtype": "BFloat16", "Process Group Ranks": "[0, 1, 2, 3]"}  # fmt: skip
        shared = {"correlation": call, "External id": call}
        host = {"ph": "X", "pid": 9, "tid": 9, "ts": at - 50}
        events += [
            {**host, "cat": "user_annotation", "name": "step[DECODE bs=8]", "dur": 40},
            {**host, "cat": "cpu_op", "name": "record_param_comms", "dur": 20, "args": args},
            {**host, "cat": "cuda_runtime", "name": "cudaMemcpyBatchAsync", "dur": 5, "args": shared},
            *(kineto(PEER, at + 10 * peer, 10, **shared) | {"cat": "gpu_memcpy"} for peer in range(3)),
        ]
    events += [kineto("gemm", 90, 10, stream=7), kineto("gemm", 225, 10, stream=7)]
    lake = yield written(tmp_path, "copied", events)
    columns = "kind, operations, dur_us, exposed_us, hidden_us, group_size, bytes, bus_gbps"
    bandwidth = pytest.approx(32 / 30_000 * 3 / 4)
    assert lake.rows(f"SELECT {columns} FROM collectives ORDER BY start_ns") == [
        ("all-gather", 3, 30, 30, 0, 4, 32, bandwidth), ("all-gather", 3, 30, 25, 5, 4, 32, bandwidth),
    ]  # fmt: skip
    assert lake.rows("SELECT exposed_communication_us, exposed_memory_us FROM time_breakdown") == [(55, 0)]
    # In the costs of the two steps all copies are work of the collective, whose size counts once per call.
    costs = "SELECT category, operator, sum(calls), sum(exclusive_ns), sum(bytes) FROM step_costs"
    assert lake.rows(f"{costs} WHERE part = 'communication' GROUP BY ALL") == [
        ("all-gather", "all-gather", 6, 60_000, 64)
    ]
