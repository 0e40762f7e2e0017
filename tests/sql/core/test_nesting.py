"""Own times and parents of operations that share a line, against a plain sweep in Python."""

import itertools
import json
import random

import duckdb
import pytest

from ...lakes import in_one_lake
from ...summary_cases import CASES_F, write_case
from ..ascend.files import logical, write_kernels
from ..captures import sql_of


def own_times(events):
    """Return the time in which each (id, start, end) is the innermost: latest start, earliest end, last in file."""
    found = dict.fromkeys((event_id for event_id, _, _ in events), 0)
    moments = sorted({moment for _, start, end in events for moment in (start, end)})
    for start, end in itertools.pairwise(moments):
        if active := [(s, -e, event_id) for event_id, s, e in events if s <= start and e >= end]:
            found[max(active)[2]] += end - start
    return found


def nesting(lines):
    """Return the nesting of lines of (id, start, end): for each id own time, parent, depth, overlap; alone: absent."""
    with duckdb.connect() as connection:
        connection.execute(
            "CREATE TABLE _op_rows (trace_id VARCHAR, pid VARCHAR, tid VARCHAR, kernel_id BIGINT, "
            "start_ns BIGINT, end_ns BIGINT)"
        )
        connection.executemany(
            "INSERT INTO _op_rows VALUES ('t', '0', ?, ?, ?, ?)",
            [(str(tid), *event) for tid, line in enumerate(lines) for event in line],
        )
        connection.execute(sql_of("_crowded_ops"))
        connection.execute(sql_of("_op_nesting"))
        rows = connection.execute(
            "SELECT kernel_id, self_ns, parent_id, nest_depth, is_overlapping FROM _op_nesting"
        ).fetchall()
    return {event_id: tuple(rest) for event_id, *rest in rows}


@pytest.mark.parametrize("seed", range(2))
def test_own_times_are_those_of_a_plain_sweep_however_operations_overlap(seed):
    rng = random.Random(seed)
    lines, event_id = [], 0
    for _ in range(400):
        scale = rng.choice([12, 40, 200, 1000])
        line = []
        for _ in range(rng.randint(1, 14)):
            start = rng.randint(0, scale)
            length = rng.choice([rng.randint(0, scale), rng.randint(0, 4), rng.randint(0, scale // 3)])
            line.append((event_id, start, start + length))
            event_id += 1
        lines.append(line)
    found = nesting(lines)
    for line in lines:
        expected = own_times(line)
        assert {i: found[i][0] if i in found else end - start for i, start, end in line} == expected, line


def test_the_parent_is_the_innermost_operation_around():
    # while 0..100 holds call 10..50, which holds two; fusion 60..90 is the while's own child.
    found = nesting([[(1, 0, 100), (2, 10, 50), (3, 10, 20), (4, 30, 50), (5, 60, 90), (6, 100, 120)]])
    assert found == {
        1: (100 - 40 - 30, None, 0, False),
        2: (40 - 10 - 20, 1, 1, False),
        3: (10, 2, 2, False),
        4: (20, 2, 2, False),
        5: (30, 1, 1, False),
    }


def test_an_end_three_nanoseconds_late_is_still_inside_and_four_are_an_overlap():
    assert nesting([[(1, 0, 100), (2, 50, 103)]]) == {1: (50, None, 0, False), 2: (53, 1, 1, False)}
    assert nesting([[(1, 0, 100), (2, 50, 104)]]) == {1: (50, None, 0, True), 2: (54, None, 0, True)}


def test_lines_do_not_nest_in_each_other():
    assert nesting([[(1, 0, 100)], [(2, 10, 20)]]) == {}


# Exclusive times of the specification's nesting cases in ns, and whether overlaps are told. F1 ends a picosecond
# late, which is no whole nanosecond.
@pytest.mark.parametrize(
    ("case", "own", "overlapping"),
    [
        ("F1", {"while.1": 0, "fusion.1": 60_000, "fusion.2": 40_000}, False),
        ("F2", {"a": 5_000, "b": 10_000}, True),
        ("F3", {"x": 0, "y": 10_000}, False),
        ("F4", {"p": 0, "a": 5_000, "b": 10_000}, True),
    ],
)
@in_one_lake
def test_the_edges_of_nesting(tmp_path, case, own, overlapping):
    lake = yield write_case(tmp_path / "case.json", CASES_F[case])
    rows = lake.sql("SELECT name, self_us, overlapping_calls FROM ops").fetchall()
    assert {name: round(us * 1000) for name, us, _ in rows} == own
    assert any(overlaps for _, _, overlaps in rows) is overlapping


@in_one_lake
def test_collectives_without_a_stream_do_not_take_time_from_each_other(tmp_path):
    # A reduce-scatter of 1000 us, and ten all-reduces of 50 us of another group beside it.
    beside = [logical("allReduce", f"428_{n}_1", f"{110 + 100 * n}.000", "50.000") for n in range(10)]
    lake = yield write_kernels(
        tmp_path / "kernel_details.csv", logical("reduceScatter", "911_0_1", "100.000", "1000.000"), *beside
    )
    assert lake.rows("SELECT self_us FROM ops WHERE name LIKE '%reduceScatter%'") == [(1000,)]
    assert lake.rows("SELECT sum(self_us) FROM ops") == [(1500,)]
    assert lake.rows("SELECT inclusive_us, busy_us FROM regions WHERE depth = 1") == [(1500, 1000)]


@in_one_lake
def test_a_loop_is_busy_in_its_own_phase_only_while_nothing_inside_runs(tmp_path):
    # A turn of a backward loop computes its layer again; 10 us of the 100 are the loop's own.
    args = {
        name: json.dumps({"hlo_category": kind, "tf_op": f"jit(step)/transpose(jvp(model))/while{inner}"})
        for name, kind, inner in (
            ("while.1", "while", ""),
            ("fusion.1", "loop fusion", "/body/rematted_computation/mul"),
            ("fusion.2", "loop fusion", "/body/mul"),
        )
    }
    ops = f"while.1 0+100 {args['while.1']}; fusion.1 5+60 {args['fusion.1']}; fusion.2 65+30 {args['fusion.2']}"
    lines = {"XLA Modules": "jit_step(1) 0+100", "XLA Ops": ops}
    lake = yield write_case(tmp_path / "t.json", [(1, "/device:TPU:0", lines)])
    found = lake.rows("SELECT phase, inclusive_us, busy_us FROM regions WHERE depth = 1 ORDER BY phase")
    assert found == [("backward", 40, 40), ("recompute", 60, 60)]
