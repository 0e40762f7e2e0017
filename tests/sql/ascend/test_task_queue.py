"""With torch_npu's task queue an operator only enqueues: another thread makes the call later. Times in microseconds."""

from __future__ import annotations

from typing import Any

from ...lakes import Own, in_one_lake
from .files import CANN, HARDWARE, PYTHON, arrow, call, operator, task, timeline, write_timeline


def issued(at: float, taken: float, run: float, *durations: float, tid: int = 1, name: str = "Mul") -> list[dict]:
    """Return an operator, the call of it that thread 9 makes later, and its operations on the device, one by one."""
    events = [operator(f"aclnn{name}", f"{at}", 2.0, tid=tid), call(f"AscendCL@aclnn{name}", f"{taken}", 3.0, tid=9)]
    for nth, dur in enumerate(durations):
        start = f"{run + 100 * nth:.1f}"
        events += [
            task(f"aclnn{name}_{name}_{name}", start, dur, number=int(10 * run) + nth),
            *arrow("HostToDevice", f"9{start}", (CANN, 9, f"{taken + 1}"), (HARDWARE, 2, start)),
            *arrow("async_npu", start, (PYTHON, tid, f"{at}"), (HARDWARE, 2, start)),
        ]
    return events


def within(name: str, start: float, dur: float, *, tid: int = 1, category: str = "cpu_op") -> dict[str, Any]:
    """Return a stretch of a thread of the framework: a mark of a step, an annotation, a module."""
    return operator(name, f"{start}", dur, category=category, tid=tid)


def two_steps() -> list[dict[str, Any]]:
    """Return two steps of 100: what the first enqueues in its last 15 is launched when the second has begun.

    The last operation has a call and no operator: the time of the call decides.
    """
    return timeline(
        call("AscendCL@aclrtMemcpyAsync", "150", 3.0, tid=9), task("Add", "340.0", 8, number=99),
        *arrow("HostToDevice", "9340", (CANN, 9, "151"), (HARDWARE, 2, "340.0")),
        within("ProfilerStep#1", 0, 100), within("ProfilerStep#2", 100, 100),
        *issued(10, 20, 300, 1), *issued(85, 105, 310, 2), *issued(90, 110, 320, 3, tid=3), *issued(115, 120, 330, 4),
    )  # fmt: skip


@in_one_lake
def test_a_step_has_what_its_operators_enqueued_whenever_the_queue_was_drained(tmp_path):
    lake: Own = yield write_timeline(tmp_path / "trace_view.json", two_steps())
    assert lake.rows("SELECT step_number, work_source, ops, busy_us FROM steps ORDER BY ALL") == [
        (1, "launches", 3, 6.0), (2, "launches", 2, 12.0),
    ]  # fmt: skip
    # Waiting for a launch is still measured from the launch: 300 - 20.
    assert lake.rows("SELECT latency_us FROM launch_latency ORDER BY start_ns LIMIT 1") == [(280.0,)]


@in_one_lake
def test_the_operator_decides_the_phase_of_what_another_thread_launches(tmp_path):
    """Annotations of the optimizer are operators in such a timeline."""
    lake: Own = yield write_timeline(
        tmp_path / "trace_view.json",
        timeline(
            *issued(10, 200, 300, 1),
            within("autograd::engine::evaluate_function: MulBackward0", 30, 20, tid=3),
            *issued(35, 210, 310, 2, tid=3),
            within("Optimizer.step#Adam.step", 60, 20), *issued(65, 220, 320, 4), *issued(75, 230, 330, 8),
        ),
    )  # fmt: skip
    assert lake.rows("SELECT phase, kernel_count, busy_us FROM training_phases ORDER BY ALL") == [
        ("backward", 1, 2.0), ("optimizer", 2, 12.0), ("other", 1, 1.0),
    ]  # fmt: skip


@in_one_lake
def test_the_module_around_the_operator_decides_the_layer(tmp_path):
    """Two calls of three layers; an operator launches two operations, its own and a conversion before it."""
    events = []
    for turn in range(2):
        for layer in range(3):
            at = 1000 * turn + 100 * layer
            events.append(within(f"nn.Module: ToyDecoderLayer_{layer}", at, 90, category="python_function"))
            events += [
                event for nth, name in enumerate(("RmsNorm", "MatMul"))
                for event in issued(at + 20 + 40 * nth, at + 115 + 40 * nth, 5000 + 2 * at + 10 * nth, 5, 5, name=name)
            ]  # fmt: skip
    lake: Own = yield write_timeline(tmp_path / "trace_view.json", timeline(*events))
    assert lake.rows("SELECT pass_id, pass_source, num_layers, complete FROM passes ORDER BY pass_id") == [
        (0, "module scopes", 3, True), (1, "module scopes", 3, True),
    ]  # fmt: skip
    assert lake.rows("SELECT pass_id, layer_id, kernel_count FROM layers ORDER BY ALL") == [
        (pass_id, layer, 4) for pass_id in range(2) for layer in range(3)
    ]
