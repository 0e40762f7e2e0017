"""The work of a step is what was launched from it, whenever the device ran it. Times in microseconds."""

import json
import random
import re

import pytest

import tracelake

from ...lakes import in_one_lake
from ...launched import launched, union
from ...launching import GEMM, NCCL, Trace
from ...support import data_file, data_files

PARTS = "compute_us, communication_us, memory_us, wait_us, idle_us"


def asynchronous():
    """Three decode steps of 10 on the host; the device runs them one after the other, long after."""
    trace = Trace()
    for step in range(3):
        at = 100 + 100 * step
        trace.mark(f"step[DECODE bs={8 + step}]", 10 * step, 10)
        trace.run(at, 50, 10 * step + 1).run(at + 50, 30, 10 * step + 2).run(at + 85, 5, 10 * step + 3, "Memcpy DtoH",
                                                                            cat="gpu_memcpy")  # fmt: skip
    return trace


def overlapping():
    """The collective of the first step runs beside the second step, on a stream of its own."""
    trace = Trace().mark("ProfilerStep#1", 0, 10).mark("ProfilerStep#2", 10, 10)
    trace.run(100, 50, 1).run(150, 80, 2, NCCL, stream=9)
    return trace.run(160, 20, 11).run(200, 20, 12)


def threads():
    """Backward launches from a thread of its own; another process has nothing to do with the step."""
    trace = Trace().mark("ProfilerStep#1", 0, 20).mark("train_step 1", 2, 10)
    trace.run(50, 10, 1).run(60, 10, 5, tid=2).run(70, 10, 6, pid=4)
    # Before the step, after it, and by nothing that the trace shows.
    return trace.run(20, 5, -2).run(90, 5, 20).run(5, 5)


def replayed():
    """Two steps of one graph launch each; the second one's operations begin while the host is still in it."""
    trace = Trace().mark("step[DECODE bs=8]", 0, 20).mark("step[DECODE bs=8]", 20, 20)
    return trace.graph(5, (30, 10), (40, 10), (50, 10)).graph(25, (60, 10), (70, 20))


def copied():
    """The device's own copies of the annotation, one for each stream, leave out what another thread launched."""
    trace = Trace().mark("ProfilerStep#3", 0, 20)
    trace.run(30, 10, 1).run(45, 10, 2, stream=9).run(60, 10, 3, tid=2)
    for stream, start, dur in ((7, 30, 10), (9, 45, 10)):
        trace.add("gpu_user_annotation", "ProfilerStep#3", start, dur, 0, stream, **{"External id": 5})
    return trace


def device_only():
    """No launch and no host: the copies of the annotation are all there is."""
    trace = copied()
    trace.events = [event for event in trace.events if event["cat"] in ("kernel", "gpu_user_annotation")]
    return trace


def without_launches():
    """Neither launches nor marks on the device: the host's time is all there is."""
    trace = asynchronous()
    trace.events = [event for event in trace.events if event["cat"] != "cuda_runtime"]
    return trace


def devices():
    trace = Trace().mark("ProfilerStep#1", 0, 10).mark("ProfilerStep#2", 10, 10)
    return trace.run(100, 50, 1).run(120, 70, 2, device=1).run(200, 40, 11)


#: Step, device, what tells its work, on the host, on the device, operations, busy, parts, other.
EXPECTED = {
    "asynchronous": (asynchronous, [
        (0, 0, "launches", 10, 90, 3, 85, 80, 0, 5, 0, 5, 0), (1, 0, "launches", 10, 90, 3, 85, 80, 0, 5, 0, 5, 0),
        (2, 0, "launches", 10, 90, 3, 85, 80, 0, 5, 0, 5, 0),
    ]),
    # The second step idles from 180 to 200, while the collective of the first runs.
    "overlapping": (overlapping, [
        (0, 0, "launches", 10, 130, 2, 130, 50, 80, 0, 0, 0, 0), (1, 0, "launches", 10, 60, 2, 40, 40, 0, 0, 0, 20, 20),
    ]),
    "threads": (threads, [(0, 0, "launches", 20, 20, 2, 20, 20, 0, 0, 0, 0, 0)]),
    "replayed": (replayed, [
        (0, 0, "launches", 20, 30, 3, 30, 30, 0, 0, 0, 0, 0), (1, 0, "launches", 20, 30, 2, 30, 30, 0, 0, 0, 0, 0),
    ]),
    "copied": (copied, [(0, 0, "launches", 20, 40, 3, 30, 30, 0, 0, 0, 10, 0)]),
    "device_only": (device_only, [(0, 0, "device marks", None, 25, 2, 20, 20, 0, 0, 0, 5, 0)]),
    "without_launches": (without_launches, [
        (step, 0, "host time", 10, 10, 0, 0, 0, 0, 0, 0, 10, 0) for step in range(3)
    ]),
    "devices": (devices, [
        (0, 0, "launches", 10, 50, 1, 50, 50, 0, 0, 0, 0, 0), (0, 1, "launches", 10, 70, 1, 70, 70, 0, 0, 0, 0, 0),
        (1, 0, "launches", 10, 40, 1, 40, 40, 0, 0, 0, 0, 0),
        (1, 1, "launches", 10, None, 0, None, None, None, None, None, None, None),
    ]),
}  # fmt: skip


@pytest.fixture(scope="module")
def made_up(tmp_path_factory):
    folder = tmp_path_factory.mktemp("work")
    for case, (make, _) in EXPECTED.items():
        (folder / f"{case}.json").write_text(json.dumps({"traceEvents": make().events}))
    with tracelake.open(folder / "lake") as lake:
        lake.ingest(*sorted(folder.glob("*.json")))
        yield lake


@pytest.mark.parametrize("case", EXPECTED)
def test_the_work_of_a_step_is_what_was_launched_from_it(made_up, case):
    rows = made_up.rows(
        f"SELECT step_id, device, p.work_source, p.host_us, p.dur_us, p.ops, p.busy_us, {PARTS}, other_us "
        "FROM step_states AS p JOIN traces USING (trace_id) WHERE trace = $1 ORDER BY step_id, device",
        [case],
    )
    assert rows == EXPECTED[case][1]


def test_a_step_of_several_devices_has_the_time_of_the_slowest_and_the_host_beside_it(made_up):
    columns = "step_number, devices, host_us, marker_us, slowest_device, busy_us, ops, is_partial"
    rows = made_up.rows(f"SELECT {columns} FROM step_times JOIN traces USING (trace_id) WHERE trace = 'devices'")
    # The second step has no work on device 1: at the edge of the trace that may be cut off.
    assert sorted(rows) == [(1, 2, 10, 70, 1, 60, 2, False), (2, 2, 10, 40, 0, 40, 1, True)]


def test_gaps_belong_to_the_step_of_the_operation_after_them(made_up):
    rows = made_up.rows(
        "SELECT (end_ns - (SELECT min(start_ns) FROM kernels WHERE kernels.trace_id = gaps.trace_id)) / 1000, step_id "
        "FROM gaps JOIN (SELECT trace_id, trace FROM traces) USING (trace_id) WHERE trace = 'asynchronous' ORDER BY ALL"
    )
    # Operations begin at 100: a gap of 5 in each step, and of 10 before the second and the third.
    assert rows == [(85, 0), (100, 1), (185, 1), (200, 2), (285, 2)]


def test_names_of_an_engine_s_steps_tell_the_requests(made_up):
    rows = made_up.rows("SELECT requests FROM step_times JOIN traces USING (trace_id) WHERE trace = 'asynchronous'")
    assert sorted(rows) == [(8,), (9,), (10,)]


def test_the_iterations_of_an_executor_are_steps_of_a_stage_with_the_requests_of_both_kinds(tmp_path):
    # TensorRT-LLM: older versions leave out the number, newer ones add tokens; one without requests does nothing.
    executed = {
        "_forward_step: 3 ctx reqs, 0 gen reqs": ("prefill", 3),
        "_forward_step 101: 0 ctx reqs, 8 gen reqs": ("decode", 8),
        "_forward_step 102: 0 ctx reqs, 0 ctx tokens, 32 gen reqs": ("decode", 32),
        "_forward_step 103: 2 ctx reqs, 512 ctx tokens, 10 gen reqs": ("mixed", 12),
        "_forward_step 104: 0 ctx reqs, 0 gen reqs": None,
    }
    trace = Trace()
    for step, name in enumerate(executed):
        trace.mark(f"[Executor] {name}", 100 * step, 90).run(100 * step + 20, 50, 100 * step + 1)
    with tracelake.open(tmp_path / "lake") as lake:
        lake.ingest(trace.write(tmp_path / "executor.json"))
        rows = lake.rows("SELECT step_source, program, requests FROM step_times ORDER BY start_ns")
        assert rows == [("engine step", *step) for step in executed.values() if step]


def nested(outer, inner, within, between):
    """Steps with others in them: the device works a time for each of these, launched within, and one behind them."""
    trace, at = Trace(), 1000
    for step in range(outer):
        trace.mark(f"ProfilerStep#{step}", 100 * step, 100)
        for part in range(within):
            launch = 100 * step + 20 * part + 5
            trace.mark(inner, launch - 1, 10).run(at, between, launch)
            at += between
        trace.run(at, 100 - within * between, 100 * step + 95)
        at += 100 - within * between
    return trace


def optimized(outer, inner, within, between):
    """Return such steps where only the optimizer ends them: it launches what is behind the others."""
    trace = nested(outer, inner, within, between)
    trace.events = [event for event in trace.events if not event["name"].startswith("ProfilerStep")]
    for step in range(outer):
        trace.mark("Optimizer.step#AdamW.step", 100 * step + 94, 6)
    return trace


def sampled(steps, within, decode, sampling):
    """Return steps of the profiler, each around some decodes that are marked and the sampling behind each."""
    trace, at = Trace(), 1000
    for step in range(steps):
        trace.mark(f"ProfilerStep#{step}", 100 * step, 100)
        for part in range(within):
            launch = 100 * step + 20 * part + 5
            trace.mark(DECODE, launch - 1, 10).run(at, decode, launch).run(at + decode, sampling, launch + 12)
            at += decode + sampling
    return trace


DECODE = "step[DECODE bs=8]"
#: Each step takes the device 100. The steps: their source, how many, how long the device works for each.
NESTED = {
    # Three rollouts of 20 in each of two iterations leave out the update of 40; of 32, what is behind them of 4.
    "rollouts": (nested(2, DECODE, 3, 20), ("profiler step", 2, 100)),
    "rollouts of an optimizer": (optimized(2, DECODE, 3, 20), ("optimizer step", 2, 100)),
    "an optimizer of little work": (optimized(2, DECODE, 3, 32), ("engine step", 6, 32)),
    "iterations of decodes alone": (nested(2, DECODE, 3, 32), ("engine step", 6, 32)),
    # One step of a profiler does not repeat; but here the decodes are less than half of it.
    "all decodes in one": (nested(1, DECODE, 4, 20), ("engine step", 4, 20)),
    "few decodes in one": (nested(1, DECODE, 4, 12), ("profiler step", 1, 100)),
    # Sampling behind each decode, 11 of 100, is between the engine's steps.
    "decodes and their sampling": (sampled(3, 4, 22, 3), ("engine step", 12, 22)),
    # Each step of the profiler is one of the engine, and has its sampling.
    "a decode in each": (nested(3, DECODE, 1, 80), ("engine step", 3, 80)),
    # Micro-batches leave out the optimizer, also of a single step.
    "micro-batches": (nested(3, "batch 0", 4, 22), ("profiler step", 3, 100)),
    "micro-batches of one": (nested(1, "batch 0", 4, 22), ("profiler step", 1, 100)),
    # Marks behind the only step of the profiler are not within it.
    "apart": (nested(1, DECODE, 0, 0).mark(DECODE, 200, 10).run(2000, 30, 205).mark(DECODE, 300, 10).run(3000, 30, 305),
              ("engine step", 2, 30)),
}  # fmt: skip


def test_marks_that_leave_out_much_of_the_steps_around_them_are_parts_of_these(tmp_path):
    with tracelake.open(tmp_path / "lake") as lake:
        lake.ingest(*[trace.write(tmp_path / f"{name}.json") for name, (trace, _) in NESTED.items()])
        steps = "SELECT trace, step_source, count(*), max(busy_us) FROM steps JOIN traces USING (trace_id) GROUP BY ALL"
        assert {trace: tuple(found) for trace, *found in lake.rows(steps)} == {
            name: found for name, (_, found) in NESTED.items()
        }


def test_scattered_work_as_plain_python_has_it(tmp_path):
    """Steps whose work lags, overlaps and mixes on three streams; the law, not a case."""
    chance, trace = random.Random(7), Trace()
    for step in range(20):
        trace.mark(f"ProfilerStep#{step}", 100 * step, 90)
        for _ in range(chance.randrange(12)):
            launch = 100 * step + chance.randrange(100)
            name, cat = chance.choice([(GEMM, "kernel"), (NCCL, "kernel"), ("Memcpy DtoD", "gpu_memcpy")])
            trace.run(launch + chance.randrange(400), chance.randrange(1, 120), launch, name,
                      stream=chance.randrange(3), cat=cat, tid=chance.choice([1, 2]))  # fmt: skip
    path = tmp_path / "scattered.json"
    path.write_text(json.dumps({"traceEvents": trace.events}))
    with tracelake.open(tmp_path / "lake") as lake:
        lake.ingest(path)
        check(lake, launched(path, lambda name: name.startswith("ProfilerStep")))


@pytest.mark.parametrize("name", data_files("kineto/*.gz"))
def test_the_work_of_steps_of_real_traces_as_plain_python_has_it(real_lake, name):
    lake = real_lake(name)
    found = dict(lake.rows("SELECT step_source, count(*) FROM steps WHERE host_us IS NOT NULL GROUP BY ALL"))
    patterns = {"profiler step": r"ProfilerStep#\d+$", "engine step": r"execute_.*context_\d+\(|step\["}
    if not found.keys() & patterns.keys():
        pytest.skip("the host marks no steps in this trace")
    [source] = found
    check(lake, launched(data_file(name), lambda name: re.match(patterns[source], name) is not None))


def check(lake, expected):
    """Compare all steps with work: their time, its union, and that the parts fill it to the nanosecond."""
    rows = lake.rows(
        "SELECT s.host_start_ns, s.device, s.host_us, s.dur_us, s.busy_us, p.wait_us, s.ops, s.work_source, "
        f"p.other_us, p.{PARTS} FROM steps AS s JOIN step_states AS p USING (trace_id, device, step_id) "
        "WHERE s.device >= 0"
    )
    work = {(step.host[0], step.device): step for step in expected}
    assert {(row[0], row[1]) for row in rows if row[6] > 0} == work.keys()
    for start, device, host, dur, busy, wait, ops, source, other, *parts in rows:
        assert source == "launches"
        if ops == 0:
            assert [dur, busy, other, *parts] == [None] * 8
            continue
        step = work[start, device]
        assert (host, ops) == (pytest.approx((step.host[1] - step.host[0]) / 1000), len(step.work))
        assert dur == pytest.approx(step.span / 1000, abs=1e-6)
        assert busy + wait == pytest.approx(step.busy / 1000, abs=1e-6)
        assert sum(parts) == pytest.approx(dur, abs=1e-6)
        assert min(parts) >= 0
        assert 0 <= other <= parts[-1] + 1e-6


@pytest.mark.parametrize(
    ("name", "host_us", "compute_inside_us"),
    [("sglang_qwen3-8b_decode_mi300x", 465_716.634, 1_664), ("sglang_qwen3-8b_prefill_mi300x", 522_741.423, 28_156)],
)
def test_the_host_s_time_says_little_of_what_it_launched(real_lake, name, host_us, compute_inside_us):
    lake = real_lake(f"kineto/{name}.json.gz")
    [(host, compute)] = lake.rows("SELECT host_us, compute_us FROM step_states")
    [step] = launched(data_file(f"kineto/{name}.json.gz"), lambda mark: mark.startswith("execute_"))
    assert host == host_us
    assert step.inside / 1000 == pytest.approx(compute_inside_us, abs=30)  # a few copies beside it
    assert compute == pytest.approx(step.busy / 1000, abs=40)
    assert compute > 5 * step.inside / 1000
    assert union(step.work) == step.busy


@in_one_lake
def test_steps_without_numbers_of_several_processes_do_not_chain_into_one(tmp_path):
    # Decodes of 90 us every 100 us, of the other process 20 us later.
    events = [
        {"ph": "X", "cat": "user_annotation", "name": "execute_context_0(0)_generation_8(8)", "pid": pid, "tid": 1,
         "ts": 100 * step + late, "dur": 90, "args": {}}
        for step in range(3) for pid, late in ((10, 0), (11, 20))
    ]  # fmt: skip
    events.append({"ph": "X", "cat": "kernel", "name": GEMM, "pid": 0, "tid": 7, "ts": 30, "dur": 10, "args": {}})
    path = tmp_path / "two.json"
    path.write_text(json.dumps({"traceEvents": events}))
    lake = yield path
    assert lake.rows("SELECT host_us, count(*) FROM steps GROUP BY ALL") == [(90, 6)]


@in_one_lake
def test_by_the_host_s_time_steps_that_several_processes_mark_at_once_are_one(tmp_path):
    # Nothing shows which process launched the work of which device.
    marks = [
        {"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}", "pid": pid, "tid": 1,
         "ts": 100 * step + late, "dur": 90, "args": {}}
        for step in (1, 2) for pid, late in ((10, 0), (11, 4))
    ]  # fmt: skip
    kernels = [
        {"ph": "X", "cat": "kernel", "name": GEMM, "pid": device, "tid": 7, "ts": ts, "dur": 10,
         "args": {"device": device, "stream": 7}}
        for device, ts in ((0, 102), (0, 120), (1, 182), (0, 201), (1, 210))
    ]  # fmt: skip
    path = tmp_path / "two.json"
    path.write_text(json.dumps({"traceEvents": marks + kernels}))
    lake = yield path
    columns = "device, step_number, ops, host_start_ns, host_end_ns, busy_us"
    assert lake.rows(f"SELECT {columns} FROM steps ORDER BY ALL") == [
        (0, 1, 2, 100_000, 194_000, 20), (0, 2, 1, 200_000, 294_000, 10),
        (1, 1, 1, 100_000, 194_000, 10), (1, 2, 1, 200_000, 294_000, 10),
    ]  # fmt: skip
