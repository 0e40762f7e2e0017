"""Exports of Nsight Systems: the golden figures of real ones, and a made-up one whose every figure is known."""

import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tracelake.ingest.batch import Failed
from tracelake.lake import Lake
from tracelake.synthetic.nsys import (
    COMMUNICATOR,
    COPY_BYTES,
    MESSAGE_BYTES,
    SECRETS,
    nsys_tables,
    write_nsys,
    write_nsys_folder,
)

from ...support import data_file, ingest_into
from ..test_secrets import everything_in

# By plain interval arithmetic over the rows of the files, apart from this project. Per trace and device: kernels, the
# sum of their durations, copies and fills, and in ns window, busy, compute, exposed communication, exposed memory.
GOLDEN = {
    ("h100_2gpu_1s", 0): (1721, 22385163, 463, 969447605, 962890247, 22385163, 0, 940505084),
    ("h100_2gpu_1s", 1): (1721, 22444359, 463, 969258578, 962810705, 22444359, 0, 940366346),
    ("mfu_2gpu_before", 0): (1993, 270875926, 643, 299848812, 273817787, 253690832, 17172652, 2954303),
    ("mfu_2gpu_before", 1): (2017, 264324724, 646, 298661551, 267275916, 256095624, 8229100, 2951192),
    ("mfu_2gpu_after", 0): (1793, 237473368, 573, 299251215, 240108749, 227484352, 9989016, 2635381),
    ("mfu_2gpu_after", 1): (1794, 251362038, 573, 299269422, 254000754, 227608953, 23753085, 2638716),
}
#: Of each file: NVTX rows, kernels with a launch, kernels of communication a device.
COUNTS = {
    "h100_2gpu_1s": (16782, 1632, None),
    "mfu_2gpu_before": (19118, 3986, 33),
    "mfu_2gpu_after": (17113, 3577, 31),
}


@pytest.fixture(scope="module")
def real(tmp_path_factory: Any) -> Lake:
    """A lake with the three real exports."""
    lake = Lake(tmp_path_factory.mktemp("nsys") / "lake")
    for result in lake.ingest(*(data_file(f"nsys/{name}.sqlite") for name in COUNTS)):
        assert not isinstance(result, Failed), result
        assert (result.rejected, result.unmatched, result.truncated) == (0, 0, False)
    return lake


def test_the_times_of_real_exports_are_those_of_interval_arithmetic_to_the_nanosecond(real):
    counted = real.rows("""
        SELECT
            trace, kernels.device, count(*) FILTER (events.category = 'kernel'),
            sum(kernels.dur_ns) FILTER (events.category = 'kernel'),
            count(*) FILTER (events.category <> 'kernel'), max(kernels.end_ns) - min(kernels.start_ns)
        FROM kernels
        JOIN events ON events.trace_id = kernels.trace_id AND events.event_id = kernels.kernel_id
        JOIN traces ON traces.trace_id = kernels.trace_id
        GROUP BY ALL""")
    broken_down = real.rows("""
        SELECT
            trace, device,
            unnest([[busy_us, compute_us, exposed_communication_us, exposed_memory_us, window_us - idle_us]])
        FROM time_breakdown JOIN traces USING (trace_id)""")
    parts = {(trace, device): tuple(round(1000 * one) for one in found) for trace, device, found in broken_down}
    # Idle is what is left of the window; that of the product is the one of all devices.
    assert {place: found[-1] for place, found in parts.items()} == {place: found[0] for place, found in parts.items()}
    assert {(trace, device): (*found, *parts[trace, device][:4]) for trace, device, *found in counted} == GOLDEN


def test_every_range_is_an_event_and_kernels_find_the_launch_of_their_own_process(real):
    found = real.rows("""
        SELECT
            trace, count(*) FILTER (category IN ('cpu_op', 'user_annotation', 'nccl')),
            (SELECT count(*) FROM kernels JOIN events AS e ON e.trace_id = kernels.trace_id
                AND e.event_id = kernel_id AND e.category = 'kernel' AND kernels.launch_id IS NOT NULL
                WHERE kernels.trace_id = traces.trace_id),
            (SELECT count(*) FROM collectives WHERE collectives.trace_id = traces.trace_id)
        FROM events JOIN traces USING (trace_id) GROUP BY ALL""")
    assert {trace: (ranges, launched) for trace, ranges, launched, _ in found} == {
        trace: counts[:2] for trace, counts in COUNTS.items()
    }
    assert {trace: calls / 2 for trace, *_, calls in found if calls} == {
        trace: calls for trace, (*_, calls) in COUNTS.items() if calls
    }
    # Both processes number their correlations alike; a launch of the other device's process would be one of its own.
    apart = "SELECT count(*) FROM kernels GROUP BY trace_id, launch_pid HAVING count(DISTINCT device) > 1"
    assert real.rows(f"{apart} AND launch_pid IS NOT NULL") == []
    assert real.rows("SELECT DISTINCT format, rank, rank_source, recorded_at_source FROM traces") == [
        ("nsys", None, "devices", "clock")
    ]


def test_the_comparison_of_the_real_exports_names_what_became_shorter(real):
    changed = real.rows("""
        SELECT round(sum(compute_us) FILTER (trace = 'mfu_2gpu_after'))
            - round(sum(compute_us) FILTER (trace = 'mfu_2gpu_before'))
        FROM time_breakdown JOIN traces USING (trace_id)""")
    # From the table above: 227484 + 227609 - 253691 - 256096.
    assert changed == [(-54693,)]
    assert "mfu_2gpu_before" in str(real.compare("mfu_2gpu_before", "mfu_2gpu_after"))


@pytest.fixture(scope="module")
def made(tmp_path_factory: Any) -> Lake:
    """A lake with the made-up export."""
    folder = tmp_path_factory.mktemp("made")
    lake = Lake(folder / "lake")
    [result] = ingest_into(lake, write_nsys(folder / "made.sqlite"))
    # 13 operations and 13 calls a process, 22 ranges and a mark, a name of it and of its thread.
    assert (result.events, result.rejected, result.trace) == (2 * (13 + 13 + 22 + 1 + 2), 0, "made")
    return lake
