"""Exposed time of collectives that overlap: it is that of the one the device waits for, and sums to the device's."""

import random

import pytest

from ...lakes import in_one_lake
from .test_collectives import kineto, nccl, written

#: Kernels of a case as `stream name start-end`, µs: the device computes on stream 7. `expected` are the exposed times.
OVERLAPS = {
    "a receive that was posted early does not take the wait in a reduction": (
        "7 gemm 0-20; 7 gemm 30-80; 40 SendRecv 0-100; 13 AllReduce 20-30",
        {"send-recv": 20, "all-reduce": 10},
    ),
    "three deep, each has what the later ones leave": (
        "7 gemm 0-15; 7 gemm 60-100; 40 SendRecv 0-100; 25 ReduceScatter 10-60; 13 AllReduce 20-30",
        {"send-recv": 0, "reduce-scatter": 35, "all-reduce": 10},
    ),
    "computing goes on when the first ends, so it did not wait for the second": (
        "7 gemm 0-5; 7 gemm 30-60; 24 AllGather 0-30; 25 ReduceScatter 10-50",
        {"all-gather": 25, "reduce-scatter": 0},
    ),
    "computing waits for both": (
        "7 gemm 0-10; 7 gemm 60-70; 24 ReduceScatter 0-40; 25 AllGather 20-60",
        {"reduce-scatter": 10, "all-gather": 40},
    ),
    "the next of another queue begins meanwhile": (
        "7 gemm 0-20; 7 gemm 40-90; 25 ReduceScatter 0-30; 25 Broadcast 30-90; 13 AllReduce 20-40",
        {"reduce-scatter": 0, "broadcast": 0, "all-reduce": 20},
    ),
    "two that begin and end together": (
        "7 gemm 0-5; 13 AllReduce 5-9; 14 AllGather 5-9",
        {"all-reduce": 0, "all-gather": 4},
    ),
}


def kernels_of(text):
    for kernel in text.split("; "):
        stream, name, span = kernel.split()
        start, end = map(float, span.split("-"))
        shown = name if name == "gemm" else f"ncclDevKernel_{name}_Sum_bf16"
        yield kineto(shown, start, end - start, stream=int(stream))


@pytest.mark.parametrize("case", OVERLAPS)
@in_one_lake
def test_exposed_time_is_that_of_the_collective_which_the_device_waits_for(tmp_path, case):
    kernels, expected = OVERLAPS[case]
    lake = yield written(tmp_path, "t", list(kernels_of(kernels)))
    assert dict(lake.rows("SELECT kind, exposed_us FROM collectives")) == expected
    assert lake.rows("SELECT exposed_communication_us FROM time_breakdown") == [(sum(expected.values()),)]
    # A comparison's work has the same times.
    compared = (
        "SELECT kind, exclusive_ns / 1000 FROM _step_shares JOIN collectives USING (trace_id, device) "
        "WHERE kernel_id = collective_id"
    )
    assert dict(lake.rows(compared)) == expected


@in_one_lake
def test_collectives_without_a_stream_are_apart_by_their_group(tmp_path):
    # A table of CANN: the second column of a name is its group's number. As in the first case above.
    table = [
        ("2", "MatMul1", "MatMulV2", "AI_CORE", 0, 20), ("2", "MatMul2", "MatMulV2", "AI_CORE", 30, 50),
        ("", "hcom_receive__001_0_1", "hcom_receive_", "COMMUNICATION", 0, 100),
        ("", "hcom_allReduce__002_0_1", "hcom_allReduce_", "COMMUNICATION", 20, 10),
    ]  # fmt: skip
    lines = ["Stream ID,Name,Type,Accelerator Core,Start Time(us),Duration(us),Device_id"]
    lines += [f"{stream},{name},{kind},{core},{1e6 + start},{dur},0" for stream, name, kind, core, start, dur in table]
    (tmp_path / "kernel_details.csv").write_text("\n".join(lines) + "\n")
    lake = yield tmp_path / "kernel_details.csv"
    assert dict(lake.rows("SELECT kind, exposed_us FROM collectives")) == {"send-recv": 20, "all-reduce": 10}


@pytest.mark.parametrize("seed", range(3))
@in_one_lake
def test_exposed_times_sum_to_the_device_s_however_collectives_overlap(tmp_path, seed):
    # Also within a stream.
    draw = random.Random(seed)
    events = []
    for name, streams, count in (("gemm", [7], 12), ("ncclDevKernel_AllReduce_Sum_bf16", [13, 14, 15], 40)):
        events += [
            kineto(name, draw.randint(0, 400), draw.randint(1, 50), stream=draw.choice(streams)) for _ in range(count)
        ]
    lake = yield written(tmp_path, f"t{seed}", events)
    [(of_calls, of_device)] = lake.rows(
        "SELECT sum(exposed_us), any_value(exposed_communication_us) FROM collectives "
        "JOIN time_breakdown USING (trace_id, device)"
    )
    assert of_calls == pytest.approx(of_device)
    assert of_device > 100
    assert lake.rows("SELECT count(*) FROM collectives WHERE exposed_us + hidden_us > dur_us + 1e-6") == [(0,)]


#: Kernels of a case, and whether its collectives wait: then stragglers are the first suggestion.
WAITS = {
    "one call of three has most of the exposed time": (
        "7 gemm 0-10; 20 Broadcast 10-910; 7 gemm 910-920; 20 Broadcast 920-930; 7 gemm 930-940; 20 Broadcast 940-950",
        True,
    ),
    "all calls take as long": (
        "7 gemm 0-10; 20 Broadcast 10-310; 7 gemm 310-320; 20 Broadcast 320-620; 7 gemm 620-630; 20 Broadcast 630-930",
        False,
    ),
    "a single call shows nothing": ("7 gemm 0-10; 20 Broadcast 10-910", False),
    "a stage of a pipeline waits for its first message": (
        "7 gemm 0-10; 20 SendRecv 10-910; 7 gemm 910-920; 20 SendRecv 920-930; 7 gemm 930-940; 20 SendRecv 940-950",
        False,
    ),
    "the long call is hidden": (
        "7 gemm 0-300; 20 Broadcast 0-300; 20 Broadcast 300-360; 20 Broadcast 360-415",
        False,
    ),
}


@pytest.mark.parametrize("case", WAITS)
@in_one_lake
def test_a_collective_of_which_one_call_has_most_of_the_exposed_time_has_stragglers_as_first_suggestion(tmp_path, case):
    kernels, waits = WAITS[case]
    lake = yield written(tmp_path, "t", list(kernels_of(kernels)))
    [(evidence, suggestions)] = lake.rows(
        "SELECT evidence, suggestions FROM findings WHERE finding = 'communication-heavy'"
    )
    assert suggestions[0].startswith("Look at stragglers") == waits
    assert evidence.endswith("920.0 µs in 3 calls, the longest 900.0 µs") == waits
    assert len(suggestions) == len(set(suggestions)) == 3


@in_one_lake
def test_a_call_that_takes_as_long_as_its_size_explains_is_no_wait(tmp_path):
    # The second takes 90 times as long and moves 100 times as much.
    lake = yield written(tmp_path, "t", [
        kineto("gemm", 0, 10, stream=7),
        nccl("ncclDevKernel_AllReduce_Sum_bf16", 10, 10, "allreduce", 1000, 1000),
        nccl("ncclDevKernel_AllReduce_Sum_bf16", 20, 900, "allreduce", 100_000, 100_000),
        nccl("ncclDevKernel_AllReduce_Sum_bf16", 920, 10, "allreduce", 1000, 1000),
    ])  # fmt: skip
    assert lake.rows("SELECT calls, longest_us, is_wait FROM _worst_collectives") == [(3, 900, False)]
