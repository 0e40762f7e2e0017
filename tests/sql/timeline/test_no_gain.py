"""Time that is no gain: held work, what was only captured, hidden copies, a profiler's own work, a cold first pass."""

import pytest

from ...graph_traces import Host
from ...lakes import in_one_lake
from ...launching import NCCL, Trace
from ...support import trace_bytes

NOT_RUN = "the trace shows how a graph was captured, not a run of it: {} launches were captured, {} operations ran"
FINDINGS = "SELECT finding, value, gain_us FROM findings ORDER BY priority"


@in_one_lake
def test_a_stream_that_work_from_before_the_capture_holds_is_not_idle_to_gain(tmp_path):
    trace = Trace().mark("ProfilerStep#1", 0, 9000).run(100, 100, 50, "copy", stream=2)
    # Launched at 120, the first of its stream; the second wait is the device's own, the third stream is merely new.
    trace.run(8200, 800, 120).run(9400, 600, 130).run(10000.5, 100, 140, "norm", stream=9)
    lake = yield trace.write(tmp_path / "held.json")
    assert lake.rows("SELECT gap_us, cause FROM gaps ORDER BY gap_id") == [
        (8000, "work not recorded"), (400, "launched, waiting"), (0.5, "launched, waiting"),
    ]  # fmt: skip
    # Of 10 000.5 µs; 400.5 are idle for other reasons, no more than the findings' thresholds.
    assert lake.rows(FINDINGS) == [("single-hot-op", pytest.approx(100 * 1400 / 10000.5), 1400)]
    [(value,)] = lake.rows("SELECT value FROM health WHERE \"check\" = 'work_not_recorded' AND severity = 'warning'")
    assert value == pytest.approx(100 * 8000 / 10000.5)


@in_one_lake
def test_what_a_stream_captured_is_not_judged_as_if_it_had_run(tmp_path):
    host = Host().capture("a", "b", "c", dims=[[2, 2]] * 3)
    host.device("fill", host.add("cuda_runtime", "hipMemsetAsync"))
    lake = yield host.write(tmp_path / "captured.json")
    assert lake.rows("SELECT finding, evidence FROM findings") == [
        ("insufficient-data", NOT_RUN.format(3, 1)),
    ]  # fmt: skip
    assert lake.rows("SELECT capture_name, launches FROM stream_captures") == [("hipStreamBeginCapture", 3)]


@in_one_lake
def test_a_graph_traced_whole_is_no_operation_to_tune_and_a_gap_in_what_is_known(tmp_path):
    trace = Trace().run(0, 600, 0, "CUDA graph 12").run(600, 250, 1, "norm").run(850, 150, 2, "CUDA graph 13")
    lake = yield trace.write(tmp_path / "whole.json")
    assert lake.rows(FINDINGS) == [("single-hot-op", 25, 250)]
    # 600 and 150 of 1000.
    checked = "SELECT value, severity, message FROM trace_checks WHERE \"check\" = 'whole_graphs'"
    [(value, severity, message)] = lake.rows(checked)
    assert (value, severity) == (75, "warning")
    assert message.endswith("record again with --cuda-graph-trace=node")


@in_one_lake
def test_copies_count_as_far_as_nothing_runs_beside_them(tmp_path):
    # 700 µs of copies, 300 of them alone: 100, 50 and 150; the advice is about copies, not about tiles.
    trace = Trace().run(0, 700, 0, "Memcpy HtoD (Pinned -> Device)", stream=9, cat="gpu_memcpy")
    trace.run(100, 250, 1).run(400, 90, 2, NCCL).run(640, 360, 3)
    lake = yield trace.write(tmp_path / "copies.json")
    assert lake.rows(FINDINGS) == [("single-hot-op", 61, 610), ("copy-heavy", 30, 300)]


@in_one_lake
def test_an_operation_of_many_streams_is_a_share_of_the_devices_time(tmp_path):
    trace = Trace()
    for stream in range(3):
        trace.run(0, 40, 0, stream=stream).run(50, 50, 1, f"other_{'abc'[stream]}", stream=stream)
    lake = yield trace.write(tmp_path / "streams.json")
    # 3 x 40 µs in 100; of all own times it is 120 of 270.
    assert lake.rows(f"SELECT value, gain_pct FROM ({FINDINGS.replace('gain_us', 'gain_pct')})") == [
        (100, 100),
        (10, 10),
    ]


@in_one_lake
def test_the_launch_itself_is_told_from_what_comes_before_it(tmp_path):
    trace = Trace().run(0, 10, -5)
    # Its call begins at 30 and takes 60 µs.
    trace.add("cuda_runtime", "cudaLaunchKernel", 30, 60, 1, 1, correlation=99)
    trace.add("kernel", "late", 92, 8, 0, 7, correlation=99, device=0, stream=7)
    lake = yield trace.write(tmp_path / "late.json")
    [(value, evidence)] = lake.rows("SELECT value, evidence FROM findings WHERE finding = 'host-bound'")
    assert value == 80
    assert evidence == "80.0 µs in which what came next was not launched yet, 60.0 µs of them during its launch"


def late(names):
    """Return a trace whose device waits 80 of 100 µs for a host that calls so named Python functions."""
    trace = Trace().run(0, 10, -5, "a").run(90, 10, 89, "b")
    for nth, name in enumerate(names):
        trace.add("python_function", name, 10 + nth, 1, 1, 1)
    return trace


@pytest.mark.parametrize(
    ("names", "severity", "told"),
    [
        (["train.py(7): step", "nn.Module: Mlp_0"], [("warning", 80)], "1 call of Python functions"),
        (["train.py(7): step"] * 2, [("warning", 80)], "2 calls of Python functions"),
        (["nn.Module: Mlp_0"], [], None),
    ],
)
@in_one_lake
def test_a_late_host_may_be_late_because_stacks_were_recorded(tmp_path, names, severity, told):
    lake = yield late(names).write(tmp_path / f"{len(names)}{told is None}.json")
    assert lake.rows("SELECT severity, value FROM host_checks") == severity
    [(evidence,)] = lake.rows("SELECT evidence FROM findings WHERE finding = 'host-bound'")
    whole = "80.0 µs in which what came next was not launched yet, 1.0 µs of them during its launch"
    assert evidence == whole + (f"; the profiler recorded {told}, which slows the host" if told else "")


@in_one_lake
def test_a_host_that_is_in_time_is_not_doubted(tmp_path):
    trace = Trace().run(0, 50, -5).run(50, 50, 10).add("python_function", "train.py(7): step", 5, 90, 1, 1)
    lake = yield trace.write(tmp_path / "busy.json")
    assert lake.rows("SELECT severity, value FROM health WHERE \"check\" = 'stacks_recorded'") == [("ok", 0)]


@pytest.mark.parametrize(
    ("until", "advice"),
    [(86.5, "Capture the pass in a graph."), (4, "Capture the pass in a graph, or compile it.")],
)
@in_one_lake
def test_what_runs_compiled_is_not_to_be_compiled(tmp_path, until, advice):
    # Of 20 µs of operations the second 12 are launched inside the compiled graph, or none.
    trace = Trace().run(0, 8, 1, "a").run(88, 12, 85, "b")
    trace.mark("## Call CompiledFxGraph fp5r5pk7 ##", 3, until - 3)
    lake = yield trace.write(tmp_path / f"until{until}.json")
    assert lake.rows("SELECT suggestions[1] FROM findings WHERE finding = 'host-bound'") == [(advice,)]


def passes_of(path, durations):
    """Write passes of six layers: attention between products, an embedding before them and a sampler behind."""
    layer = ("rms_norm_kernel", "qkv_gemm", "flash_fwd_kernel", "out_gemm")
    kernels = ("embedding_kernel", *layer * 6, "argmax_kernel")
    events, now = [], 0.0
    for dur in durations:
        for kernel in kernels:
            args = {"device": 0, "stream": 7}
            event = {
                "ph": "X",
                "cat": "kernel",
                "name": kernel,
                "pid": 0,
                "tid": 7,
                "ts": now,
                "dur": dur,
                "args": args,
            }
            events.append(event)
            now += dur
        now += 50
    path.write_bytes(trace_bytes(events))
    return path


@pytest.mark.parametrize(("first", "is_warm_up"), [(100, True), (12, True), (11, False), (10, False)])
@in_one_lake
def test_a_cold_first_pass_is_warm_up(tmp_path, first, is_warm_up):
    lake = yield passes_of(tmp_path / f"first{first}.json", [first, 10, 10, 10, 10, 10])
    assert lake.rows("SELECT is_warm_up FROM steps ORDER BY step_id") == [(is_warm_up,), *[(False,)] * 5]
    assert lake.rows("SELECT count(*) FROM findings WHERE finding = 'step-jitter'") == [(0,)]
