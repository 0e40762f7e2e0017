"""What a device does in a step: by hand on small traces, and by law on real ones. Times in microseconds."""

import pytest

from ...lakes import in_one_lake
from ...summary_cases import CASE_A, CASE_B, CASE_G, write_case
from ...support import data_files

PARTS = "compute_us, communication_us, memory_us, wait_us, idle_us"
#: Device, step, and what it does in it: compute, communication, memory, wait, idle.
EXPECTED = {
    # Operations end at 300, the first step at 400.
    "A": (CASE_A, {(1, 0): (190, 40, 0, 15, 155), (1, 1): (0, 0, 0, 0, 120), (1, 2): (0, 0, 0, 0, 100),
                   (1, 3): (0, 0, 0, 0, 110)}),
    # What is in flight beside the operations is no part of it.
    "B": (CASE_B, {(3, 0): (65, 20, 0, 0, 15), (3, 1): (85, 0, 0, 0, 15), (4, 0): (80, 15, 0, 0, 9),
                   (4, 1): (85, 0, 0, 0, 11)}),
    # Two streams: the first collective runs beside a product.
    "G": (CASE_G, {(1, 0): (180, 40, 10, 0, 270), (1, 1): (0, 0, 0, 0, 400), (1, 2): (0, 0, 0, 0, 350)}),
}  # fmt: skip


@pytest.mark.parametrize("case", EXPECTED)
@in_one_lake
def test_parts_of_a_step(tmp_path, case):
    processes, expected = EXPECTED[case]
    lake = yield write_case(tmp_path / "case.json", processes)
    rows = lake.rows(
        f"SELECT pid, step_id, dur_us, {PARTS} FROM step_states "
        "JOIN (SELECT DISTINCT device, pid FROM lines) USING (device)"
    )
    assert {(int(pid), step): tuple(parts) for pid, step, _, *parts in rows} == expected
    assert all(dur == sum(parts) for _, _, dur, *parts in rows)


@in_one_lake
def test_a_step_that_ends_before_the_first_operation_is_idle(tmp_path):
    lines = {"Steps": "1 0+50; 2 50+100", "XLA Ops": "fusion.1 60+30"}
    lake = yield write_case(tmp_path / "case.json", [(1, "/device:TPU:0", lines)])
    rows = lake.rows(f"SELECT {PARTS} FROM step_states ORDER BY step_id")
    assert rows == [(0, 0, 0, 0, 50), (30, 0, 0, 0, 70)]


@pytest.mark.parametrize("name", data_files("jax/*.gz"))
def test_parts_fill_every_step_of_real_traces(real_lake, name):
    """Those of PyTorch are in test_step_work."""
    lake = real_lake(name)
    rows = lake.rows(f"SELECT dur_us, work_source, other_us, {PARTS} FROM step_states")
    assert rows
    for dur, source, other, *parts in rows:
        assert (source, other) == ("device marks", 0)
        assert min(parts) >= 0
        assert sum(parts) == pytest.approx(dur, abs=1e-6)
