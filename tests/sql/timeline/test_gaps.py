"""Gaps between device operations: the small cases of the profile summary, and laws that hold on any trace.

Figures are in microseconds. Times are whole nanoseconds in the lake, so a figure given in picoseconds may be 1 ns off.
"""

import json

import pytest

import tracelake

from ...lakes import Files, in_one_lake
from ...launching import Trace
from ...summary_cases import CASE_A, CASE_B, CASE_C, CASE_G, CASES_E, write_case
from ...support import DATA, data_file

NS = 0.001 + 1e-9


def markers_case(markers):
    """Return a trace of a gap of 10 and so many markers behind it, then work."""
    done = "; ".join(f"copy-done.{nth} {20 + nth}+1" for nth in range(markers))
    return [(1, "/device:TPU:0", {"XLA Ops": f"fusion.0 0+10; {done}; fusion.5 {20 + markers}+4"})]


def enqueued_case(ahead):
    """Return three runs of a program and the calls that enqueued them, by a host whose clock is so much ahead."""
    calls = "; ".join(
        f'DoEnqueueProgram {start + ahead}+5 {{"run_id": "{run}", "device_ordinal": "0"}}'
        for run, start in ((1, 1000), (2, 1030), (3, 1060))
    )
    return [
        (3, "/device:TPU:0", {
            "XLA Modules": 'p(1) 1000+20 {"run_id": "1"}; p(1) 1050+20 {"run_id": "2"}; p(1) 1100+20 {"run_id": "3"}',
            "XLA Ops": "fusion.1 1000+12; fusion.2 1015+5; fusion.1 1050+20; fusion.1 1100+20",
        }),
        (7, "/host:CPU", {"main": calls}),
    ]  # fmt: skip


CASES = {
    "A": CASE_A, "B": CASE_B, "C": CASE_C, "G": CASE_G, **CASES_E, "64 markers": markers_case(64),
    "65 markers": markers_case(65), "one clock": enqueued_case(0), "two clocks": enqueued_case(7),
}  # fmt: skip


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    """Ask a question about one of the cases: what to select, from which relation, in which order."""
    folder = tmp_path_factory.mktemp("cases")
    lake = tracelake.open(folder / "lake")
    list(lake.ingest(*(write_case(folder / f"{name}.json", case) for name, case in CASES.items())))

    def ask(case, columns, relation="gaps", order="device, gap_us DESC, payload_name"):
        return lake.rows(
            f"SELECT {columns} FROM {relation} WHERE trace_id = (SELECT trace_id FROM traces WHERE trace = $1)"
            f" ORDER BY {order}",
            [case],
        )

    yield ask
    lake.close()


def test_gaps_are_before_the_operation_that_ends_them(asked):
    # Case A. 160-165, 220-230, 100-120 and 180-200 are all the idle time there is: 55.
    assert asked("A", "payload_name, gap_us, start_ns, previous_name") == [
        ("fusion.1", 20, 100_000, "fusion.2"), ("psum.9", 20, 180_000, "barrier-wait.3"),
        ("fusion.2", 10, 220_000, "psum.9"), ("barrier-wait.3", 5, 160_000, "fusion.1"),
    ]  # fmt: skip


def test_gaps_are_told_apart_by_the_program_runs_around_them(asked):
    # Case B: the asynchronous collective fills no gap, and the devices' edges are none.
    assert asked(
        "B", "device, payload_name, gap_us, kind, CAST(previous_execution_id AS INT), CAST(next_execution_id AS INT)"
    ) == [
        (0, "fusion.1", 20, "between_programs", 70, 71), (0, "fusion.2", 5, "inside_program", 70, 70),
        (1, "fusion.1", 12, "between_programs", 70, 71), (1, "fusion.2", 3, "inside_program", 71, 71),
    ]  # fmt: skip


def test_shares_are_of_the_time_of_all_devices(asked):
    # Case B: 32 of 2 x 200, not of one window.
    assert asked("B", "gaps, sum_us, max_us, window_pct, between_us", "gap_payloads", "sum_us DESC") == [
        (2, 32, 20, 8, 32), (2, 8, 5, 2, 0),
    ]  # fmt: skip


def test_edges_of_the_shared_window_are_idle_but_no_gaps(asked):
    # Case B: device 3 (TPU:0) ends 5 early, device 4 (TPU:1) starts 5 late; idle is 30 and 20.
    rows = asked("B", "device, cause, end_ns - start_ns, end_ns", "_idle_intervals", "start_ns")
    assert [sum(ns for on, _, ns, _ in rows if on == device) for device in (0, 1)] == [30_000, 20_000]
    assert [(on, ns, end) for on, cause, ns, end in rows if cause == "edge of the window"] == [
        (1, 5_000, 1_005_000), (0, 5_000, 1_200_000),
    ]  # fmt: skip


def test_a_gap_is_in_the_step_in_which_it_ends(asked):
    assert asked("A", "payload_name, step_id", order="start_ns") == [
        ("fusion.1", 0), ("barrier-wait.3", 0), ("psum.9", 0), ("fusion.2", 0),
    ]  # fmt: skip
    assert asked("B", "device, gap_us, step_id") == [(0, 20, 1), (0, 5, 0), (1, 12, 1), (1, 3, 1)]


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        # 1.2 ns between copy-done.1 and what precedes it break no chain; the 29 between copy-start.7 and fusion.4 do.
        ("E1", [("dot.1", 90, "iota.296"), ("copy-start.7", 37.9988, "copy-start.7"), ("fusion.4", 29, "fusion.4"),
                ("fusion.3", 28, "copy-start.1")]),
        ("E2", [("fusion.5", 10, "copy-done.0")]),
        ("E3", [("fusion.5", 10, "copy-done.0")]),
    ],
)  # fmt: skip
def test_a_gap_belongs_to_the_work_behind_the_marker_that_ends_it(asked, case, expected):
    found = asked(case, "payload_name, gap_us, marker_name")
    assert [(payload, marker) for payload, _, marker in found] == [(payload, marker) for payload, _, marker in expected]
    assert [gap for _, gap, _ in found] == pytest.approx([gap for _, gap, _ in expected], abs=NS)


def test_no_payload_is_looked_for_behind_more_markers_than_the_limit_or_behind_the_next_gap(asked):
    assert asked("64 markers", "payload_name") == [("fusion.5",)]
    assert asked("65 markers", "payload_name") == [("copy-done.0",)]


def test_streams_of_a_device_are_taken_together(asked):
    # Case G: stream 1 stands still for 60, but the device for 45 of that only.
    assert asked("G", "payload_name, gap_us") == [
        ("ncclDevKernel_ReduceScatter_RING_LL", 45), ("gemm_fusion_dot_3", 10), ("MemcpyD2D", 5),
    ]  # fmt: skip


def test_gaps_without_a_path_of_their_own_are_put_where_the_same_operation_usually_is(asked):
    # Case C: event 8, fusion.10, has no path; event 1 of the same name has. Nothing is cut at a prefix such as tpu_.
    # Nor has it a phase: in a compiled program that of the other call goes with the path.
    assert asked("C", "region, phase, gaps, sum_us, payloads", "gap_regions", "sum_us DESC, region") == [
        ("model.params.blocks[0].attn.w_k", None, 1, 20, "copy.564"),
        ("_train_step=>Transformer=>layer_0=>attn", "forward", 1, 10, "fusion.10"),
        ("_train_step=>rematted_computation=>layer_0=>mlp", "recompute", 1, 10, "fusion.13"),
        ("outer=>inner=>op.4", None, 1, 5, "outer=>inner=>op.4"),
    ]  # fmt: skip


@in_one_lake
def test_gaps_of_the_backward_pass_are_none_of_the_forward_pass_of_their_region(tmp_path):
    # The device waits 10 for the operator's kernel, and 30 and 40 for the two of its backward function.
    number = {"Sequence number": 0, "Fwd thread id": 0}
    trace = Trace().mark("## forward ##", 5, 20).add("cpu_op", "aten::mm", 10, 10, 1, 1, **number)
    function = "autograd::engine::evaluate_function: MmBackward0"
    trace.add("cpu_op", function, 30, 100, 1, 2, **{**number, "Fwd thread id": 1})
    trace.run(100, 10, 0, "first").run(120, 10, 12, "nvjet_y")
    trace.run(160, 10, 40, "nvjet_dx", tid=2).run(210, 10, 50, "nvjet_dw", tid=2)
    lake = yield trace.write(tmp_path / "annotated.json")
    assert lake.rows("SELECT region, phase, gaps, sum_us, payloads FROM gap_regions ORDER BY sum_us") == [
        ("## forward ##", "forward", 1, 10, "nvjet_y"),
        ("## forward ##", "backward", 2, 70, "nvjet_dw, nvjet_dx"),
    ]


@in_one_lake
def test_a_gap_before_what_is_launched_outside_of_all_scopes_has_no_region_though_the_same_kernel_runs_in_one(tmp_path):
    # The device waits 20 for a copy that the annotation launches, and 70 for one that nothing encloses.
    trace = Trace().mark("FSDP::post_backward_reduce (layers.3)", 5, 20)
    trace.run(100, 10, 10, "copy").run(130, 10, 12, "copy").run(210, 10, 50, "copy")
    lake = yield trace.write(tmp_path / "outside.json")
    assert lake.rows("SELECT region, gaps, sum_us FROM gap_regions ORDER BY sum_us") == [
        ("FSDP::post_backward_reduce (layers.3)", 1, 20),
        ("(unattributed)", 1, 70),
    ]


def test_the_host_s_activity_is_the_innermost_at_each_moment_of_an_idle_interval(asked):
    # Case A: in 100-120 the main thread is in "wait for device" (60-120), inside "python step"; in 220-230 in dispatch.
    assert asked("A", "host_activity, idle_us, intervals", "idle_causes", "idle_us DESC, host_activity NULLS LAST") == [
        (None, 25, 2),
        ("wait for device", 20, 1),
        ("dispatch", 10, 1),
    ]


@pytest.mark.parametrize("case", ["one clock", "two clocks"])
def test_between_programs_the_call_that_enqueued_the_next_one_tells_the_cause(asked, case):
    # A host clock that is 7 ahead shows the first call 7 after its run has started: it is put back by that.
    assert asked(case, "start_ns // 1000, end_ns // 1000, cause, host_bound", "_idle_intervals", "start_ns") == [
        (1012, 1015, "inside a program", False), (1020, 1030, "program not enqueued", True),
        (1030, 1035, "program enqueue in progress", True), (1035, 1050, "program enqueued, waiting", False),
        (1070, 1100, "program enqueued, waiting", False),
    ]  # fmt: skip


# --- The reference's own figures -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        ("A", [("fusion.1", 20, 1), ("psum.9", 20, 1), ("fusion.2", 10, 1), ("barrier-wait.3", 5, 1)]),
        ("B", [("fusion.1", 32, 2), ("fusion.2", 8, 2)]),
        ("C", [("copy.564", 20, 1), ("fusion.10", 10, 1), ("fusion.13", 10, 1), ("outer=>inner=>op.4", 5, 1)]),
        ("E1", [("dot.1", 90, 1), ("copy-start.7", 37.9988, 1), ("fusion.4", 29, 1), ("copy-start.1", 28, 1),
                         ("fusion.3", 0.0012, 1)]),
        ("E2", [("copy-done.0", 10, 1)]),
        ("E3", [("fusion.5", 10, 1)]),
        ("G", [("ncclDevKernel_ReduceScatter_RING_LL", 60, 1), ("gemm_fusion_dot_3", 10, 1), ("MemcpyD2D", 5, 1)]),
    ],
)  # fmt: skip
def test_the_reference_finds_gaps_on_each_line_by_itself(asked, case, expected):
    found = asked(case, "payload_name, total_us, gaps", "compat_gaps", "place")
    assert [(name, gaps) for name, _, gaps in found] == [(name, gaps) for name, _, gaps in expected]
    assert [total for _, total, _ in found] == pytest.approx([total for _, total, _ in expected], abs=NS)


def test_the_reference_names_the_markers(asked):
    assert asked("E1", "payload_name, marker_name", "compat_gaps", "place") == [
        ("dot.1", "iota.296"), ("copy-start.7", "copy-start.7"), ("fusion.4", "fusion.4"),
        ("copy-start.1", "copy-start.1"), ("fusion.3", "copy-done.1"),
    ]  # fmt: skip


def test_the_reference_puts_gaps_into_regions_of_their_payloads(asked):
    # Case C: event 8, fusion.10, takes the path of event 1.
    assert asked("C", "payload_name, region, total_us", "compat_gap_regions", "place") == [
        ("copy.564", "copy(model.params.blocks[0].attn.w_k)", 20),
        ("fusion.10", "_train_step=>Transformer=>layer_0=>attn", 10),
        ("fusion.13", "_train_step=>rematted_computation=>layer_0=>mlp", 10),
        ("outer=>inner=>op.4", "outer=>inner=>op.4", 5),
    ]


# --- Real traces -----------------------------------------------------------------------------------------------------

TPU = "tpu_inference_k1"
TRACES = (
    "deepseek-v3_train_h800", "hf_qwen1.5-0.5b_h100", "vllm_gpt-oss_prefill_tp_b200", "sglang_qwen3-8b_decode_mi300x",
    "hta_trace_filter_sampled_rank-0", "gpu_only_mi210",
)  # fmt: skip
OF_TPU = f"trace_id = (SELECT trace_id FROM traces WHERE trace = '{TPU}')"


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    if not DATA.is_dir():
        pytest.skip(f"no traces in {DATA}")
    lake = tracelake.open(tmp_path_factory.mktemp("gaps") / "lake")
    list(lake.ingest(data_file(f"jax/{TPU}.trace.json.gz"), *(DATA / "kineto" / f"{name}.json.gz" for name in TRACES)))
    yield lake
    lake.close()


def test_a_tpu_waits_between_its_programs_alone(lake):
    found = lake.rows(
        f"SELECT device, gap_us, marker_name, payload_name, kind FROM gaps WHERE is_shown AND {OF_TPU}"
        " ORDER BY device, start_ns"
    )
    assert [row[2:] for row in found] == 2 * [
        ("copy-start", "compare_select_fusion", "between_programs"), ("copy-start", "fusion", "between_programs"),
        ("copy-start", "add_reduce_fusion", "between_programs"),
    ]  # fmt: skip
    assert [row[1] for row in found] == pytest.approx(
        [8.776860, 8.003527, 6.909964, 9.849940, 8.104442, 8.709484], abs=2 * NS
    )


def test_idle_time_of_a_tpu_is_what_its_operations_leave(lake):
    # Edges included: 25.942860 and 28.414080.
    found = lake.rows(
        f"SELECT sum(end_ns - start_ns) / 1000 FROM _idle_intervals WHERE {OF_TPU} GROUP BY device ORDER BY device"
    )
    # 3 454 operations of a device, each rounded twice, none by more than half a nanosecond.
    assert [us for (us,) in found] == pytest.approx([25.942860, 28.414080], abs=0.02)


def test_the_reference_takes_markers_for_payloads_and_single_clocks_for_gaps(lake):
    # It lists 500 rows of 51.48 in all, of which all but 50.354 are distances of one clock. In whole nanoseconds one
    # gap of 8.777 finds its payload where picoseconds break the chain.
    rows = lake.rows(f"SELECT payload_name, total_us, marker_name FROM compat_gaps WHERE {OF_TPU} ORDER BY place")
    assert len(rows) == 500
    assert rows[0][0] == rows[0][2] == "copy-start"
    assert rows[0][1] + rows[1][1] == pytest.approx(50.354368, abs=8 * NS)
    assert max(total for _, total, _ in rows[2:]) < 0.01


def union_of(intervals):
    busy, until = 0, None
    for start, end in sorted(intervals):
        if until is None or start > until:
            busy, until = busy + end - start, end
        elif end > until:
            busy, until = busy + end - until, end
    return busy


def test_idle_intervals_are_what_the_merged_operations_leave_of_the_window(lake):
    for trace_id, device, idle in lake.rows(
        "SELECT trace_id, device, sum(end_ns - start_ns) FROM _idle_intervals GROUP BY ALL"
    ):
        rows = lake.rows(
            "SELECT device, start_ns, end_ns FROM kernels WHERE trace_id = $1 AND end_ns > start_ns", [trace_id]
        )
        window = max(end for _, _, end in rows) - min(start for _, start, _ in rows)
        assert idle == window - union_of((start, end) for on, start, end in rows if on == device)


def test_idle_intervals_neither_overlap_each_other_nor_an_operation(lake):
    [(overlaps,)] = lake.rows("""
        WITH edges AS (
            SELECT trace_id, device, start_ns AS at_ns, 1 AS busy, 0 AS idle FROM kernels WHERE end_ns > start_ns
            UNION ALL SELECT trace_id, device, end_ns, -1, 0 FROM kernels WHERE end_ns > start_ns
            UNION ALL SELECT trace_id, device, start_ns, 0, 1 FROM _idle_intervals
            UNION ALL SELECT trace_id, device, end_ns, 0, -1 FROM _idle_intervals
        ),
        swept AS (
            SELECT lead(at_ns) OVER w - at_ns AS ns, sum(busy) OVER w AS busy, sum(idle) OVER w AS idle
            FROM edges WINDOW w AS (PARTITION BY trace_id, device ORDER BY at_ns ROWS UNBOUNDED PRECEDING)
        )
        SELECT count(*) FROM swept WHERE ns > 0 AND (idle > 1 OR (idle = 1) = (busy > 0))
    """)
    assert overlaps == 0


def test_causes_of_a_device_s_idleness_sum_to_its_idle_time(lake):
    rows = lake.rows("""
        SELECT trace_id, device, round(idle_us * 1000), round(caused_us * 1000), idle_pct
        FROM (SELECT trace_id, device, sum(end_ns - start_ns) / 1000 AS idle_us FROM _idle_intervals GROUP BY ALL)
        JOIN (
            SELECT trace_id, device, sum(idle_us) AS caused_us, sum(idle_pct) AS idle_pct FROM idle_causes GROUP BY ALL
        ) USING (trace_id, device)
    """)
    assert len(rows) == 8
    for _, _, idle, caused, percent in rows:
        assert idle == caused
        assert percent == pytest.approx(100)


def test_idle_intervals_are_the_time_breakdown_s_idle_time_but_for_operations_that_wait(lake):
    rows = lake.rows("""
        SELECT round((idle_us - wait_us) * 1000), idle_ns FROM time_breakdown
        JOIN (SELECT trace_id, device, sum(end_ns - start_ns) AS idle_ns FROM _idle_intervals GROUP BY ALL)
        USING (trace_id, device)
    """)
    assert len(rows) == 8
    assert all(idle == intervals for idle, intervals in rows)


def test_gaps_hold_all_idle_time_but_edges_and_what_is_too_short(lake):
    rows = lake.rows("""
        SELECT idle_ns, gap_ns FROM (
            SELECT trace_id, device, sum(end_ns - start_ns) AS idle_ns FROM _idle_intervals
            WHERE kernel_id IS NOT NULL AND gap_end_ns - gap_start_ns >= 100 GROUP BY ALL
        )
        JOIN (SELECT trace_id, device, sum(end_ns - start_ns) AS gap_ns FROM gaps GROUP BY ALL) USING (trace_id, device)
    """)
    assert len(rows) == 8
    assert all(idle == gap for idle, gap in rows)


def test_a_gap_has_one_row_and_names_what_is_around_it(lake):
    assert lake.rows("""
        SELECT
            count(*) - count(DISTINCT (trace_id, device, gap_id)),
            count(*) - count(DISTINCT (trace_id, device, start_ns)),
            count(*) FILTER (previous_name IS NULL OR payload_name IS NULL OR gap_us < 0.1), count(*) > 2000
        FROM gaps
    """) == [(0, 0, 0, True)]


@in_one_lake
def test_what_ran_before_a_gap_is_the_same_in_any_order_of_the_file(tmp_path):
    # Two streams run from 0 to 50, and one goes on at 200: before the gap is the operation of the last stream.
    def kernel(name, start, end, stream):
        return {
            "ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": stream, "ts": start, "dur": end - start,
            "args": {"device": 0, "stream": stream},
        }  # fmt: skip

    events = [kernel("a", 0, 50, 7), kernel("b", 0, 50, 20), kernel("c", 200, 250, 7)]
    paths = tmp_path / "forth.json", tmp_path / "back.json"
    for path, ordered in zip(paths, (events, events[::-1]), strict=True):
        path.write_text(json.dumps({"traceEvents": ordered}))
    lake = yield Files(*paths)
    for trace_id in lake.ids.values():
        assert lake.rows("SELECT previous_name, marker_name FROM gaps WHERE trace_id = $1", [trace_id]) == [("b", "c")]
