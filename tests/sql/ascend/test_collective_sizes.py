"""Collectives of an Ascend device: their kinds, and their sizes as the timeline has them."""

from __future__ import annotations

import pytest

from ...lakes import in_one_lake
from .files import collective, logical, timeline, write_folder, write_kernels, write_timeline

#: Kind, what HCCL counts, type, ranks as newer exporters write them; then type, size of the whole, GB/s over 10 µs.
CALLS = [
    ("allReduce", 4_194_304, "BFP16", 8, "bf16", 8_388_608.0, 838.8608),
    # 1000 elements of each of 4 ranks come together, and 1000 remain of what each of them began with.
    ("allGather", 1000, "FP32", 4, "fp32", 16_000.0, 1.6),
    ("reduceScatter", 1000, "FP16", 4, "fp16", 8_000.0, 0.8),
    ("broadcast", 5000, "INT8", None, "int8", 5_000.0, 0.5),
    # How many ranks share it nothing tells.
    ("allGather", 1000, "FP32", None, "fp32", None, None),
    ("allReduce", 1000, "INVALID_TYPE", 4, None, None, None),
]


def shown() -> list:
    """Return the calls as a timeline has them, 10 µs each."""
    events = []
    for nth, (kind, count, element, ranks, *_) in enumerate(CALLS):
        event = collective(f"hcom_{kind}__428_{nth}_1", f"{100 + 20 * nth}.000", 10.0)
        event["args"] |= {"data_type": element, "alg_type": "RING", "count": count}
        if ranks is not None:
            event["args"]["rank_size"] = ranks
        events.append(event)
    return events


@pytest.mark.parametrize("listed", [False, True], ids=["timeline", "folder"])
@in_one_lake
def test_the_timeline_has_type_size_and_ranks_of_collectives(tmp_path, listed):
    """A table of kernels that lists them too has none of these."""
    rows = [
        logical(kind, f"428_{nth}_1", f"{100 + 20 * nth}.000", "10.000") for nth, (kind, *_) in enumerate(CALLS)
    ]  # fmt: skip
    if listed:
        lake = yield write_folder(tmp_path, rows, shown())
    else:
        lake = yield write_timeline(tmp_path / "trace_view.json", timeline(*shown()))
    found = lake.rows("SELECT dtype, group_size, bytes, algorithm_gbps FROM collectives ORDER BY start_ns")
    assert found == [
        (dtype, ranks, size, gbps and pytest.approx(gbps)) for _, _, _, ranks, dtype, size, gbps in CALLS
    ]  # fmt: skip
    found = lake.rows("SELECT bytes_source, group_size_source FROM collectives ORDER BY start_ns")
    assert found[0] == ("arguments", "arguments")
    assert found[4] == (None, None)


#: Kernels of ZBAL, which copies between devices on the vector cores.
ZBAL = {
    "ZBALAllReduceInner": "all-reduce", "ZBALAllGatherInner": "all-gather", "ZBALAlltoAllVInner": "all-to-all",
    "ZBALReduceScatterInner": "reduce-scatter", "ZBALBroadcastInner": "broadcast", "ZBALScatterInner": "scatter",
    "ZBALSendInner": "send-recv", "ZBALRecvInner": "send-recv",
}  # fmt: skip


@in_one_lake
def test_kernels_of_zbal_are_collectives_and_no_compute(tmp_path):
    rows = [{"Name": name, "Type": name, "Start Time(us)": f"{10 * nth}.000"} for nth, name in enumerate(ZBAL)]
    lake = yield write_kernels(tmp_path / "kernel_details.csv", *rows)
    assert dict(lake.rows("SELECT name, kind FROM collectives")) == ZBAL
    assert lake.rows("SELECT compute_us, exposed_communication_us FROM time_breakdown") == [(0, 8)]
