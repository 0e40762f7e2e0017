"""What a device did from its first operation to its last, against intervals merged in plain Python."""

import csv
import json

import pytest

import tracelake
from tracelake.tests.kernel_traces import Trace
from tracelake.tests.lakes import in_one_lake
from tracelake.tests.summary_cases import CASE_A, CASE_B, CASE_C, CASE_G, CASES_E, CASES_F, write_case
from tracelake.tests.support import DATA, data_file

US = 1000
MEASURES = "window_us, compute_us, exposed_communication_us, hidden_communication_us, copy_us, dma_us, wait_us, idle_us"


def write(path, operations):
    """Write operations (category, name, start µs, end µs) of one device, on a stream each."""
    events = [
        {"ph": "X", "cat": category, "name": name, "pid": 0, "tid": n, "ts": start, "dur": end - start,
         "args": {"device": 0, "stream": n}}
        for n, (category, name, start, end) in enumerate(operations)
    ]  # fmt: skip
    path.write_text(json.dumps({"traceEvents": events}))
    return path


@in_one_lake
def test_what_compute_hides_is_not_exposed_and_parts_sum_to_the_window(tmp_path):
    # gemm   10..20, 50..60      compute 20
    # nccl        15..40         communication 25, of which 15..20 is hidden
    # memcpy         30..45      memory 15, of which 30..40 runs beside communication
    # idle 45..50
    lake = yield write(tmp_path / "t.json", [
        ("kernel", "nvjet_gemm", 10, 20), ("kernel", "ncclDevKernel_AllReduce", 15, 40),
        ("gpu_memcpy", "Memcpy DtoH", 30, 45), ("kernel", "nvjet_gemm", 50, 60),
    ])  # fmt: skip
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
def lakes(real_lake):
    """The lake of each trace of Kineto, by its name."""
    files = sorted(DATA.glob("kineto/*.json.gz"))
    if not files:
        pytest.skip(f"no traces in {DATA}")
    return {path.name.removesuffix(".json.gz"): real_lake(f"kineto/{path.name}") for path in files}


def test_a_device_s_breakdown_is_that_of_its_merged_intervals(lakes):
    assert sum(map(check_breakdown, lakes.values())) >= 16


def check_breakdown(lake):
    """Compare each device of a trace; return how many there are."""
    measures = ("window", "compute", "communication", "exposed_communication", "memory", "exposed_memory", "busy",
                "wait", "idle")  # fmt: skip
    rows = lake.rows(f"SELECT device, {', '.join(f'{name}_us' for name in measures)} FROM time_breakdown")
    kernels_of = lake.rows(
        "SELECT device, CASE category WHEN 'wait' THEN 'wait' ELSE kind END, start_ns, end_ns FROM kernels"
    )
    assert {device for device, *_ in rows} == {device for device, *_ in kernels_of}
    timed = [kernel for kernel in kernels_of if kernel[3] > kernel[2]]
    window = max((end for *_, end in timed), default=0) - min((start for *_, start, _ in timed), default=0)
    for device, *found in rows:
        spans = {"compute": [], "communication": [], "memory": [], "wait": []}
        for on, kind, start, end in timed:
            if on == device:
                spans[kind].append((start, end))
        kernels = spans["compute"] + spans["communication"]
        working = kernels + spans["memory"]
        expected = [
            window,
            length(spans["compute"]), length(spans["communication"]), length(kernels) - length(spans["compute"]),
            length(spans["memory"]), length(working) - length(kernels), length(working),
            length(working + spans["wait"]) - length(working), window - length(working),
        ]  # fmt: skip
        ns = [round(us * US) for us in found]
        assert ns == expected
        assert ns[1] + ns[3] + ns[5] + ns[8] == ns[0]
    return len(rows)


def test_stretches_of_a_device_fill_its_window_without_a_gap(lakes):
    gaps = """
        SELECT count(*) FROM (
            SELECT start_ns <> lag(end_ns, 1, start_ns) OVER (PARTITION BY trace_id, device ORDER BY start_ns) AS is_gap
            FROM device_states
        ) WHERE is_gap
    """
    sums = """
        SELECT trace_id, device, sum(d.end_ns - d.start_ns) = round(any_value(window_us) * 1000)
        FROM device_states AS d JOIN time_breakdown USING (trace_id, device) GROUP BY ALL
    """
    assert {count for lake in lakes.values() for (count,) in lake.rows(gaps)} == {0}
    assert {equal for lake in lakes.values() for *_, equal in lake.rows(sums)} == {True}


def test_idle_time_is_waiting_host_bound_and_other(lakes):
    query = "SELECT idle_us - wait_us - host_bound_idle_us - other_idle_us, least(wait_us, other_idle_us) "
    query += "FROM time_breakdown WHERE host_bound_idle_us IS NOT NULL"
    rows = [row for lake in lakes.values() for row in lake.rows(query)]
    assert rows
    for rest, least in rows:
        assert abs(rest) < 1e-6
        assert least >= 0


def test_deepseek_hides_all_but_four_milliseconds_of_its_communication(real_lake):
    lake = real_lake("kineto/deepseek-v3_train_h800.json.gz")
    # Section 8.10 of the layer specification: 113 030 µs, of which 108 868 (96.3 %) run beside other kernels.
    [row] = lake.rows(
        "SELECT communication_us, exposed_communication_us, hidden_communication_us, compute_us "
        "FROM time_breakdown JOIN traces USING (trace_id) WHERE trace = 'deepseek-v3_train_h800'"
    )
    assert row == (113030, 4162, 108868, 124338)


# Other tools


def gpu_timeline(trace):
    """Return TraceLens's own table of a trace, in microseconds."""
    with data_file(f"peer-golden/{trace}/gpu_timeline.csv").open() as file:
        return {row["type"]: 1000 * float(row["time ms"]) for row in csv.DictReader(file)}


def test_tracelens_has_the_same_timeline_of_a_whole_trace(real_lake):
    # It adds times that are doubles of epoch microseconds, which are 0.25 ns to 0.25 µs apart, in order of size.
    trace = "sglang_qwen3-8b_prefill_mi300x"
    lake = real_lake(f"kineto/{trace}.json.gz")
    golden = gpu_timeline(trace)
    [row] = lake.rows(
        "SELECT compute_us, exposed_communication_us, exposed_memory_us, busy_us, idle_us, window_us, "
        "communication_us, memory_us FROM time_breakdown JOIN traces USING (trace_id) WHERE trace = $1",
        [trace],
    )
    assert row == pytest.approx(tuple(golden.values()), abs=0.02)


def test_tracelens_looks_at_the_profiler_s_step_alone_and_takes_fills_for_computing(real_lake):
    trace = "hf_qwen1.5-0.5b_h100"
    lake = real_lake(f"kineto/{trace}.json.gz")
    golden = gpu_timeline(trace)
    step = "FROM {} AS d JOIN steps USING (trace_id, device) JOIN traces USING (trace_id) WHERE trace = $1"
    states = dict(lake.rows(
        "SELECT state, sum(least(d.end_ns, last_op_ns) - greatest(d.start_ns, first_op_ns)) / 1000 "
        f"{step.format('device_states')} AND d.start_ns < last_op_ns AND d.end_ns > first_op_ns GROUP BY state",
        [trace],
    ))  # fmt: skip
    # No fill runs beside anything else here.
    [(fills,)] = lake.rows(
        f"SELECT sum(d.dur_ns) / 1000 {step.format('kernels')} AND category = 'memset' "
        "AND d.start_ns BETWEEN first_op_ns AND last_op_ns",
        [trace],
    )
    assert fills > 100
    assert states == {
        "compute": pytest.approx(golden["computation_time"] - fills, abs=0.02),
        "memory": pytest.approx(golden["exposed_memcpy_time"] + fills, abs=0.02),
        "idle": pytest.approx(golden["idle_time"], abs=0.02),
    }


#: get_temporal_breakdown of HTA 0.5.0 with the last profiler step: idle, compute and non-compute time, µs.
HTA = {
    "hta_trace_diff_control_control": (76007, 281336, 107251),
    "hta_trace_filter_sampled_rank-0": (675191, 210320, 337336),
    "hta_trace_filter_sampled_rank-1": (651136, 271973, 308077),
}


@pytest.mark.parametrize("trace", HTA)
def test_hta_has_the_same_idle_compute_and_other_time(real_lake, trace):
    lake = real_lake(f"kineto/{trace}.json.gz")
    query = (
        "SELECT idle_us, compute_us, exposed_communication_us + exposed_memory_us "
        "FROM time_breakdown JOIN traces USING (trace_id) WHERE trace = $1"
    )
    assert lake.rows(query, [trace]) == [HTA[trace]]


def test_hta_leaves_out_kernels_whose_launch_is_not_in_the_trace(real_lake):
    lake = real_lake("kineto/hta_trace_diff_test_test.json.gz")
    rows = lake.rows(
        "SELECT kind, k.start_ns // 1000, k.end_ns // 1000, launch_id FROM kernels AS k JOIN traces USING (trace_id) "
        "WHERE trace = 'hta_trace_diff_test_test'"
    )
    for counted, expected in (
        ([row[:3] for row in rows if row[3] is not None], (51692, 514576, 178246)),  # HTA's figures
        ([row[:3] for row in rows], (27296, 548148, 169795)),
    ):
        window = max(end for *_, end in counted) - min(start for _, start, _ in counted)
        busy = length([(start, end) for _, start, end in counted])
        compute = length([(start, end) for kind, start, end in counted if kind == "compute"])
        assert (window - busy, compute, busy - compute) == expected
    query = (
        "SELECT idle_us, compute_us, exposed_communication_us + exposed_memory_us "
        "FROM time_breakdown JOIN traces USING (trace_id) WHERE trace = 'hta_trace_diff_test_test'"
    )
    assert lake.rows(query) == [expected]


# Operations of XLA

XLA = {"A": CASE_A, "B": CASE_B, "C": CASE_C, "E1": CASES_E["E1"], "F1": CASES_F["F1"], "F2": CASES_F["F2"],
       "F4": CASES_F["F4"], "G": CASE_G}  # fmt: skip
BREAKDOWNS = [
    # case, device: window, compute, exposed and hidden communication, copy, dma, wait, idle with wait
    ("A", 0, (300, 190, 40, 0, 0, 0, 15, 70)),
    ("B", 0, (200, 150, 20, 30, 0, 0, 0, 30)),
    ("B", 1, (200, 165, 15, 30, 0, 0, 0, 20)),
    ("C", 0, (220, 174, 0, 0, 0, 1, 0, 45)),
    ("E1", 0, (235, 47, 0, 0, 0, 3, 0, 185)),
    ("F1", 0, (100, 100, 0, 0, 0, 0, 0, 0)),
    ("F2", 0, (15, 15, 0, 0, 0, 0, 0, 0)),
    ("F4", 0, (15, 15, 0, 0, 0, 0, 0, 0)),
    ("G", 0, (290, 180, 40, 50, 10, 0, 0, 60)),
]
REFERENCE = [
    # case, mode: compute, communication, host, stall
    ("A", "exclusive_per_track", (190, 40, 120, 75)),
    ("A", "exclusive_global", (190, 40, 0, 70)),
    ("B", "exclusive_per_track", (673, 105, 0, 0)),
    ("B", "exclusive_global", (110, 80, 0, 110)),
    ("C", "exclusive_global", (175, 0, 0, 45)),
    ("E1", "exclusive_global", (50, 0, 0, 185)),
    ("F2", "exclusive_per_track", (20, 0, 0, 0)),  # the overlap counts twice
    ("F4", "exclusive_per_track", (22, 0, 0, 0)),
    ("G", "exclusive_per_track", (190, 90, 1340, 0)),
    ("G", "exclusive_global", (140, 50, 0, 15)),
]


@pytest.fixture(scope="module")
def xla(tmp_path_factory):
    folder = tmp_path_factory.mktemp("xla")
    lake = tracelake.open(folder / "lake")
    k1 = DATA / "jax" / "tpu_inference_k1.trace.json.gz"
    lake.ingest(*(write_case(folder / f"{name}.json", case) for name, case in XLA.items()), *[k1] * k1.exists())
    yield lake
    lake.close()


@pytest.mark.parametrize(("case", "device", "expected"), BREAKDOWNS)
def test_the_innermost_operation_of_a_line_counts_and_what_is_in_flight_beside_hides(xla, case, device, expected):
    query = f"SELECT {MEASURES} FROM time_breakdown JOIN traces USING (trace_id) WHERE trace = $1 AND device = $2"
    assert xla.rows(query, [case, device]) == [expected]


@in_one_lake
def test_a_transfer_that_starts_before_the_first_operation_counts_from_there(tmp_path):
    case = [(1, "/device:TPU:0", {"XLA Ops": "dot.1 10+10; dot.2 30+10", "Async XLA Ops": "all-gather-start.1 0+25"})]
    lake = yield write_case(tmp_path / "t.json", case)
    # 10..20 under dot.1 and 20..25 beside nothing: in flight, it keeps no unit busy.
    assert lake.rows("SELECT window_us, communication_us, hidden_communication_us, idle_us FROM time_breakdown") == [
        (30, 15, 10, 10)
    ]


@in_one_lake
def test_transfers_that_overlap_in_flight_each_count_until_they_end(tmp_path):
    beside = "all-gather-start.1 10+60; copy-start.1 30+50; all-reduce-start.1 50+40; all-gather-start.2 55+5"
    lake = yield write_case(
        tmp_path / "t.json", [(1, "/device:TPU:0", {"XLA Ops": "fusion.1 0+100", "Async XLA Ops": beside})]
    )
    # The gather 10..70 and the reduction 50..90, whatever starts within the one and ends after it.
    assert lake.rows("SELECT communication_us, hidden_communication_us, compute_us, idle_us FROM time_breakdown") == [
        (80, 80, 100, 0)
    ]


def test_a_real_tpu_is_busy_to_four_parts_in_ten_thousand(xla):
    # Both devices, in the same order as BREAKDOWNS; here times are rounded, by a nanosecond for each of 3454 operations
    # at the most.
    data_file("jax/tpu_inference_k1.trace.json.gz")
    query = f"SELECT {MEASURES} FROM time_breakdown JOIN traces USING (trace_id) WHERE trace = $1 ORDER BY device"
    found = xla.rows(query, ["tpu_inference_k1"])
    expected = [
        (67235.345739, 63756.773678, 3438.251421, 0, 0, 14.377780, 0, 25.942860),
        (67235.345739, 63734.171831, 3458.382654, 0, 0, 14.377174, 0, 28.414080),
    ]
    for row, exact in zip(found, expected, strict=True):
        assert row == pytest.approx(exact, abs=0.03)


@pytest.mark.parametrize(("case", "mode", "expected"), REFERENCE)
def test_the_reference_adds_devices_lines_and_waiting_threads(xla, case, mode, expected):
    assert reference(xla, case, mode) == (*expected, 0)


def test_the_reference_calls_a_busy_tpu_stalled_because_of_one_counter(xla):
    data_file("jax/tpu_inference_k1.trace.json.gz")
    assert reference(xla, "tpu_inference_k1", "exclusive_global") == pytest.approx(
        (63771.445, 3523.834, 0, 1084404.614, 0), abs=0.002
    )
    assert reference(xla, "tpu_inference_k1", "exclusive_per_track") == pytest.approx(
        (262044.888, 6896.634, 3632654.477, 8019849.293, 0), abs=0.01
    )
    query = (
        "SELECT round(100 * share, 2) FROM compat_time_breakdown JOIN traces USING (trace_id) "
        "WHERE trace = 'tpu_inference_k1' AND mode = 'exclusive_global' AND category = 'stall'"
    )
    assert xla.rows(query) == [(94.16,)]


def reference(lake, case, mode):
    found = dict(lake.rows(
        "SELECT category, total_us FROM compat_time_breakdown JOIN traces USING (trace_id) "
        "WHERE trace = $1 AND mode = $2",
        [case, mode],
    ))  # fmt: skip
    return tuple(found[category] for category in ("compute", "communication", "host", "stall", "other"))


def test_streams_are_busy_by_themselves(xla):
    query = (
        "SELECT kernel_count, sum_us, busy_us, idle_inside_us, round(busy_pct, 3) FROM stream_times "
        "JOIN traces USING (trace_id) WHERE trace = $1 ORDER BY stream"
    )
    # Of a window of 290: 10..110, 120..200, 205..215 and 150..200, 260..300.
    assert xla.rows(query, ["G"]) == [(3, 190, 190, 15, 65.517), (2, 90, 90, 60, 31.034)]
    # 0..10 and 5..15 overlap; 0..12 encloses the first, and the time of the three is 15.
    assert xla.rows(query, ["F4"]) == [(2, 20, 15, 0, 100)]


def test_the_time_of_a_loop_counts_as_that_of_the_operations_in_it(xla):
    # Case A: while.7 0..100 holds 10..40, 45..65 (all-reduce), 65..100; alone 120..160, 165..180, 200..220, 230..300.
    query = (
        "SELECT kind, kernel_count, sum_us, union_us, exposed_us FROM kind_times JOIN traces USING (trace_id) "
        "WHERE trace = 'A' ORDER BY kind"
    )
    assert xla.rows(query) == [("communication", 2, 40, 40, 40), ("compute", 5, 190, 190, 190)]
    query = (
        "SELECT sum(kernel_count), sum(sum_us), sum(union_us), sum(exposed_us) FROM category_times "
        "JOIN traces USING (trace_id) WHERE trace = 'A'"
    )
    assert xla.rows(query) == [(7, 230, 230, 230)]
    # The stream is busy while the loop runs, also before and between the operations in it: 15 more.
    query = (
        "SELECT kernel_count, compute_sum_us, communication_sum_us, sum_us, busy_us FROM stream_times "
        "JOIN traces USING (trace_id) WHERE trace = 'A'"
    )
    assert xla.rows(query) == [(7, 190, 40, 230, 245)]


@in_one_lake
def test_operations_without_length_count_on_their_stream_and_do_not_widen_the_window(tmp_path):
    trace = Trace()
    trace.kernel("kernel_a", launched=1, start=10, dur=10)
    trace.kernel("kernel_b", launched=2, start=40, dur=0)
    trace.kernel("kernel_c", launched=3, start=50, dur=0)
    trace.events[-1]["args"]["stream"] = 8
    lake = yield trace.write(tmp_path / "trace.json")
    columns = "stream, kernel_count, sum_us, busy_us, idle_inside_us, window_us, busy_pct"
    assert lake.rows(f"SELECT {columns} FROM stream_times ORDER BY stream") == [
        (7, 2, 10, 10, 20, 10, 100), (8, 1, 0, 0, 0, 10, 0),
    ]  # fmt: skip
