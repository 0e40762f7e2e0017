"""What the host launches and when the device runs it: latency, queues, causes of idleness, and which is too slow."""

import json

import pytest

import tracelake

from ...lakes import Files, in_one_lake
from ...support import DATA


def event(category, name, start, end, **args):
    """Return an event of a Kineto trace, in microseconds."""
    on_device = category == "kernel"
    return {
        "ph": "X", "cat": category, "name": name, "pid": 0 if on_device else 10, "tid": 7 if on_device else 1,
        "ts": start, "dur": end - start, "args": args | ({"device": 0, "stream": 7} if on_device else {}),
    }  # fmt: skip


def launch(name, start, end, correlation):
    """Return the event of a call that launches something."""
    return event("cuda_runtime", name, start, end, correlation=correlation)


#: Idle 20-25, 40-60, 70-75 and 80-85; the call for k3 runs from 50 to 56, k4 and k5 belong to one graph.
EVENTS = [
    launch("cudaLaunchKernel", 0, 5, 1), event("kernel", "k1", 6, 20, correlation=1),
    launch("cudaLaunchKernel", 8, 12, 2), event("kernel", "k2", 25, 40, correlation=2),
    event("cpu_op", "aten::item", 41, 49), launch("cudaStreamSynchronize", 43, 46, 9),
    launch("cudaLaunchKernel", 50, 56, 3), event("kernel", "k3", 60, 70, correlation=3),
    launch("cudaGraphLaunch", 66, 78, 4), event("kernel", "k4", 75, 80, correlation=4),
    event("kernel", "k5", 85, 95, correlation=4),
]  # fmt: skip


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """Return a function that reads rows of the small trace's lake."""
    folder = tmp_path_factory.mktemp("small")
    (folder / "t.json").write_text(json.dumps({"traceEvents": EVENTS}))
    lake = tracelake.open(folder / "lake")
    list(lake.ingest(folder / "t.json"))
    yield lake.rows
    lake.close()


def test_latency_is_told_apart_into_the_stream_s_queue_and_what_is_left(small):
    assert small(
        "SELECT name, call_us, latency_us, delay_us, queued_us, overhead_us FROM launch_latency ORDER BY start_ns"
    ) == [
        ("k1", 5, 6, 1, 0, 6), ("k2", 4, 17, 13, 12, 5), ("k3", 6, 10, 4, 0, 10), ("k4", 12, 9, -3, 4, 5),
        ("k5", 12, 19, 7, 14, 5),
    ]  # fmt: skip


@in_one_lake
def test_an_operator_as_long_as_its_caller_has_its_launches_in_any_order_of_the_file(tmp_path):
    # Clocks of microseconds: caller and callee start and end together. Operators and launches are numbered apart.
    events = [
        event("cpu_op", "aten::layer_norm", 0, 9, **{"External id": 7}),
        event("cpu_op", "aten::native_layer_norm", 0, 9, **{"External id": 8}),
        launch("cudaLaunchKernel", 2, 5, 1), event("kernel", "k1", 6, 20, correlation=1),
    ]  # fmt: skip
    paths = tmp_path / "forth.json", tmp_path / "back.json"
    for path, ordered in zip(paths, (events, events[::-1]), strict=True):
        path.write_text(json.dumps({"traceEvents": ordered}))
    lake = yield Files(*paths)
    for trace_id in lake.ids.values():
        found = lake.rows("SELECT op_name FROM kernels WHERE trace_id = $1", [trace_id])
        assert found == [("aten::native_layer_norm",)]


@pytest.mark.parametrize("written", ["runtime first", "driver first"])
@pytest.mark.parametrize("until", [45, 51])
@in_one_lake
def test_of_a_runtime_call_and_the_driver_s_inside_it_the_outer_is_the_launch(tmp_path, written, until):
    # Clocks that cut starts and durations to microseconds let the inner call end after the outer one.
    inner = {**launch("cuLaunchKernelEx", 25, until, 1), "cat": "cuda_driver"}
    calls = [launch("cudaLaunchKernelExC", 20, 50, 1), inner]
    path = tmp_path / "nested.json"
    events = [*(calls if written == "runtime first" else calls[::-1]), event("kernel", "k", 120, 130, correlation=1)]
    path.write_text(json.dumps({"traceEvents": events}))
    lake = yield path
    assert lake.rows("SELECT launch_name, call_us, latency_us FROM launch_latency") == [
        ("cudaLaunchKernelExC", 30, 100)
    ]


@pytest.mark.parametrize("tid", [1, 2])
@in_one_lake
def test_calls_of_one_id_that_do_not_lie_in_one_another_launch_nothing_that_is_known(tmp_path, tid):
    # Recordings joined in one file, or ranks of which each was process 10 of its container.
    path = tmp_path / "joined.json"
    path.write_text(json.dumps({"traceEvents": [
        launch("cudaLaunchKernel", 10, 15, 1), event("kernel", "k1", 30, 40, correlation=1),
        launch("cudaLaunchKernel", 14 if tid == 2 else 16, 20, 1) | {"tid": tid},
        event("kernel", "k2", 50, 60, correlation=1),
        launch("cudaLaunchKernel", 60, 65, 2), event("kernel", "k3", 70, 80, correlation=2),
    ]}))  # fmt: skip
    lake = yield path
    assert lake.rows("SELECT name, start_ns - launch_ns, launch_kernels FROM kernels ORDER BY 1") == [
        ("k1", None, None), ("k2", None, None), ("k3", 10_000, 1),
    ]  # fmt: skip


def test_operators_around_no_launch_change_nothing_for_those_around_one(tmp_path):
    # Without ids that operators share with launches, the innermost around the launch counts: the inner one, though an
    # operator that takes no time begins with the launch, and others end before it or begin after it.
    events = [
        event("cpu_op", "aten::outer", 0, 40), event("cpu_op", "aten::before", 1, 4),
        event("cpu_op", "aten::inner", 5, 20), event("cpu_op", "aten::none", 10, 10),
        launch("cudaLaunchKernel", 10, 12, 1), event("cpu_op", "aten::after", 15, 18),
        event("kernel", "k1", 30, 35, correlation=1),
    ]  # fmt: skip
    (tmp_path / "t.json").write_text(json.dumps({"traceEvents": events}))
    with tracelake.open(tmp_path / "lake") as lake:
        lake.ingest(tmp_path / "t.json")
        assert lake.rows("SELECT op_name FROM kernels") == [("aten::inner",)]


def test_a_graph_s_call_counts_once_and_its_kernels_each(small):
    assert small(
        "SELECT kernel_count, launches, graph_kernels, median_call_us, median_latency_us, max_latency_us, shorter_pct,"
        " negative FROM launch_summary"
    ) == [(5, 4, 2, 5.5, 10, 19, 0, 0)]


def test_the_queue_holds_what_is_launched_and_not_finished(small):
    assert small("SELECT start_ns // 1000, depth, waiting FROM queue_depth ORDER BY start_ns") == [
        (0, 1, 1), (6, 1, 0), (8, 2, 1), (20, 1, 1), (25, 1, 0), (40, 0, 0), (50, 1, 1), (60, 1, 0), (66, 3, 2),
        (70, 2, 2), (75, 2, 1), (80, 1, 1), (85, 1, 0), (95, 0, 0),
    ]  # fmt: skip


def test_the_call_that_launches_the_next_operation_cuts_an_idle_interval_in_up_to_three(small):
    assert small(
        "SELECT start_ns // 1000, end_ns // 1000, cause, host_bound FROM _idle_intervals ORDER BY start_ns"
    ) == [
        (20, 25, "launched, waiting", False), (40, 50, "launch not issued", True), (50, 56, "launch in progress", True),
        (56, 60, "launched, waiting", False), (70, 75, "launch in progress", True),
        (80, 85, "within one launch", False),
    ]  # fmt: skip


def test_a_gap_has_the_cause_that_lasts_longest_and_no_kind_without_programs(small):
    assert small(
        "SELECT gap_us, cause, host_bound_us, kind, previous_name, payload_name FROM gaps ORDER BY gap_id"
    ) == [
        (5, "launched, waiting", 0, None, "k1", "k2"), (20, "launch not issued", 16, None, "k2", "k3"),
        (5, "launch in progress", 5, None, "k3", "k4"), (5, "within one launch", 0, None, "k4", "k5"),
    ]  # fmt: skip


def test_of_causes_that_last_equally_long_a_gap_has_the_first_and_it_may_last_for_years(tmp_path):
    years = 3_000_000_000_000_000
    # Idle 20-40, half of it before the call for k2 begins and half while it runs; then for 95 years.
    events = [
        launch("cudaLaunchKernel", 0, 5, 1), event("kernel", "k1", 6, 20, correlation=1),
        launch("cudaLaunchKernel", 30, 45, 2), event("kernel", "k2", 40, 50, correlation=2),
        launch("cudaLaunchKernel", years, years + 5, 3), event("kernel", "k3", years + 10, years + 20, correlation=3),
    ]  # fmt: skip
    (tmp_path / "t.json").write_text(json.dumps({"traceEvents": events}))
    with tracelake.open(tmp_path / "lake") as lake:
        lake.ingest(tmp_path / "t.json")
        found = lake.rows("SELECT gap_us, cause, host_bound_us FROM gaps ORDER BY gap_id")
    assert found == [(20, "launch not issued", 20), (years - 40, "launch not issued", years - 45)]


def test_idle_time_is_attributed_to_the_innermost_call_of_the_launching_thread(small):
    # 40-50: nothing 40-41 and 49-50, aten::item 41-43 and 46-49, cudaStreamSynchronize 43-46.
    assert small(
        "SELECT host_activity, idle_us, activity_kind FROM idle_causes WHERE cause = 'launch not issued' ORDER BY ALL"
    ) == [("aten::item", 5, "cpu_op"), ("cudaStreamSynchronize", 3, "cuda_runtime"), (None, 2, None)]
    assert small(
        "SELECT cause, host_activity, idle_us FROM idle_causes WHERE cause = 'launch in progress' ORDER BY ALL"
    ) == [
        ("launch in progress", "cudaGraphLaunch", 5), ("launch in progress", "cudaLaunchKernel", 6),
    ]  # fmt: skip


# --- Real traces -----------------------------------------------------------------------------------------------------

ALEXNET = "hta_critical_path_alexnet_benchmark_result_2869224_1695835535_trace"
TRACES = (
    ALEXNET, "hta_critical_path_cuda_event_sync_event_sync_trace", "deepseek-v3_train_h800", "hf_qwen1.5-0.5b_h100",
    "vllm_gpt-oss_prefill_tp_b200", "sglang_qwen3-8b_decode_mi300x", "sglang_qwen3-8b_prefill_mi300x",
)  # fmt: skip


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    if not DATA.is_dir():
        pytest.skip(f"no traces in {DATA}")
    lake = tracelake.open(tmp_path_factory.mktemp("launches") / "lake")
    list(lake.ingest(*(DATA / "kineto" / f"{name}.json.gz" for name in TRACES)))
    yield lake
    lake.close()


@pytest.mark.parametrize(
    ("trace", "expected"),
    [
        # HTA 0.5.0, get_cuda_kernel_launch_stats: launches, sum of the calls, of the kernels and of the delays (those
        # below 0 as 0), longest and median delay. It knows these four calls alone. It reads whole microseconds, so only
        # traces written in whole microseconds can agree to the last digit.
        (ALEXNET, (98, 3113616, 66203, 39283, 1533, 32.5)),
        ("hta_critical_path_cuda_event_sync_event_sync_trace", (5, 96, 51, 5, 2, 1)),
        ("deepseek-v3_train_h800", (943, 3760, 240982, 12789301, 24346, 15464)),
    ],
)
def test_launches_agree_with_hta(lake, trace, expected):
    [row] = lake.rows(
        "SELECT count(*), sum(call_us), sum(dur_us), sum(greatest(delay_us, 0)), max(delay_us),"
        " median(greatest(delay_us, 0)) FROM launch_latency"
        " WHERE trace_id = (SELECT trace_id FROM traces WHERE trace = $1)"
        " AND launch_name IN ('cudaLaunchKernel', 'cudaLaunchKernelExC', 'cudaMemcpyAsync', 'cudaMemsetAsync')",
        [trace],
    )
    assert row == expected


@pytest.mark.parametrize(
    ("trace", "expected"),
    [
        # HTA 0.5.0, get_queue_length_summary: the longest queue per stream. Its queue is what has not started.
        (ALEXNET, {7: 18, 20: 2}),
        ("hta_critical_path_cuda_event_sync_event_sync_trace", {7: 1}),
        ("deepseek-v3_train_h800", {7: 216, 23: 4, 27: 7}),
        ("hf_qwen1.5-0.5b_h100", {7: 111}),
        ("vllm_gpt-oss_prefill_tp_b200", {7: 2}),
    ],
)
def test_the_longest_queues_agree_with_hta(lake, trace, expected):
    rows = lake.rows(
        "SELECT stream, max(waiting) FROM queue_depth WHERE trace_id = (SELECT trace_id FROM traces WHERE trace = $1)"
        " GROUP BY stream",
        [trace],
    )
    assert dict(rows) == expected


def test_gaps_whose_launch_came_late_agree_with_hta(lake):
    # HTA 0.5.0, get_idle_time_breakdown: host wait of 212, the whole gap where the call began after the kernel before
    # had ended. It looks at each stream by itself; this device has one.
    [(late,)] = lake.rows(
        "SELECT sum(gap_end_ns - gap_start_ns) / 1000 FROM (SELECT DISTINCT gap_start_ns, gap_end_ns, launch_ns"
        " FROM _idle_intervals WHERE trace_id = (SELECT trace_id FROM traces WHERE trace LIKE '%cuda_event_sync%'))"
        " WHERE launch_ns > gap_start_ns"
    )
    assert late == 212


@pytest.mark.parametrize(
    ("trace", "expected"),
    [
        # gpu_timeline of TraceLens. It leaves out operations whose launch it does not see: the second file begins with
        # 436 of them, the tail of a pass that was under way. Its doubles are good to a quarter of a microsecond.
        ("sglang_qwen3-8b_prefill_mi300x", 494482.0224609375),
        ("hf_qwen1.5-0.5b_h100", 2986.935791015625),
    ],
)
def test_idle_time_agrees_with_tracelens(lake, trace, expected):
    [(idle,)] = lake.rows(
        "SELECT sum(end_ns - start_ns) / 1000 FROM _idle_intervals JOIN (SELECT trace_id, min(start_ns) AS first_ns"
        " FROM kernels WHERE launch_id IS NOT NULL GROUP BY trace_id) USING (trace_id) WHERE start_ns >= first_ns"
        " AND trace_id = (SELECT trace_id FROM traces WHERE trace = $1)",
        [trace],
    )
    assert idle == pytest.approx(expected, abs=0.25)


def test_queues_never_hold_less_than_nothing(lake):
    assert lake.rows("SELECT min(depth), min(waiting), min(depth - waiting) FROM queue_depth") == [(0, 0, 0)]


@in_one_lake
def test_an_operation_that_starts_before_its_launch_is_in_the_queue_from_its_start(tmp_path):
    # Clocks of host and device differ: three layers of one kernel each, launched when it runs for 1 of its 5.
    events = [
        row for at in (0, 10, 20) for row in (
            event("python_function", f"nn.Module: ToyDecoderLayer_{at // 10}", at, at + 8),
            launch("cudaLaunchKernel", at + 1, at + 3, at + 1), event("kernel", "gemm", at, at + 5, correlation=at + 1),
        )
    ]  # fmt: skip
    path = tmp_path / "early.json"
    path.write_text(json.dumps({"traceEvents": events}))
    lake = yield path
    queue = lake.rows("SELECT start_ns // 1000, depth, waiting FROM queue_depth ORDER BY start_ns")
    assert queue == [(0, 1, 0), (5, 0, 0), (10, 1, 0), (15, 0, 0), (20, 1, 0), (25, 0, 0)]
    # 15 of the 25 of the pass have an operation in the queue.
    assert lake.rows("SELECT mean_depth, queue_empty_pct FROM pass_bounds") == [(0.6, 40)]


def test_passes_are_bound_by_what_the_traces_are_known_for(lake):
    # Eager prefill with tensor parallelism is launch-bound; graphs and long queues are not.
    assert lake.rows(
        "SELECT trace, pass_id, verdict FROM pass_bounds JOIN traces USING (trace_id) ORDER BY trace, pass_id"
    ) == [
        # Not those of DeepSeek's step: its directions run at the same time.
        ("hf_qwen1.5-0.5b_h100", 0, "device-bound"),
        ("hf_qwen1.5-0.5b_h100", 1, "device-bound"), ("sglang_qwen3-8b_decode_mi300x", 0, "device-bound"),
        ("sglang_qwen3-8b_prefill_mi300x", 0, "device-bound"), ("vllm_gpt-oss_prefill_tp_b200", 0, "host-bound"),
    ]  # fmt: skip


def clipped(intervals, start, end):
    return [(max(a, start), min(b, end)) for a, b in intervals if a < end and b > start]


def union_of(intervals):
    total, until = 0, None
    for start, end in sorted(intervals):
        total += max(0, end - (start if until is None else max(start, until)))
        until = end if until is None else max(until, end)
    return total


def test_a_pass_s_idle_time_and_queue_are_those_of_its_kernels(lake):
    rows = lake.rows(
        "SELECT trace_id, device, start_ns, end_ns, idle_us, mean_depth, queue_empty_pct, before_us, before_idle_us"
        " FROM pass_bounds JOIN (SELECT trace_id, pass_id, start_ns, end_ns FROM passes) USING (trace_id, pass_id)"
    )
    assert len(rows) == 5
    for trace_id, device, start, end, idle, depth, empty, before, before_idle in rows:
        kernels = lake.rows(
            "SELECT start_ns, end_ns, launch_ns FROM kernels WHERE trace_id = $1 AND device = $2", [trace_id, device]
        )
        runs = [(a, b) for a, b, _ in kernels]
        assert idle == pytest.approx((end - start - union_of(clipped(runs, start, end))) / 1000)
        if before is not None:
            since = start - round(before * 1000)
            assert before_idle == pytest.approx((start - since - union_of(clipped(runs, since, start))) / 1000)
        if depth is not None:
            queued = clipped([(launched, b) for _, b, launched in kernels if launched is not None], start, end)
            assert depth == pytest.approx(sum(b - a for a, b in queued) / (end - start))
            assert empty == pytest.approx(100 - 100 * union_of(queued) / (end - start))
