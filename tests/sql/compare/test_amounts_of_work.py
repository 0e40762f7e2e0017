"""More work or slower work, where neither FLOP nor bytes are known: a call of an operator is the work. Times in µs."""

import pytest

import tracelake

from ...kernel_traces import Trace

OPERATOR, SHAPES = "flash_attn::_flash_attn_varlen_forward", [[64, 16, 128]]


def attending(calls, *kernels, copy=0):
    """Return six steps of calls of an operator whose work is unknown, each of which launches some kernels.

    Args:
        calls: calls in a step.
        kernels: name and duration of each kernel of a call.
        copy: duration of a copy that each call also launches; none by 0.
    """
    trace = Trace()
    for nth in range(6):
        at = 1000 * nth
        for call in range(calls):
            op = trace.op(OPERATOR, at + 40 * call, 30, SHAPES, types=["c10::BFloat16"])
            start = at + 300 + 60 * call
            for name, dur in kernels:
                trace.kernel(name, at + 40 * call + 1, start, dur, op)
                start += dur
            if copy:
                trace.kernel("Memcpy DtoD (Device -> Device)", at + 40 * call + 9, start, copy, op, cat="gpu_memcpy")
        trace.note(f"ProfilerStep#{nth}", at, 900)
    return trace


CASES = {
    "one": attending(2, ("flash_fwd_kernel", 40)),
    "split": attending(2, ("flash_fwd_splitkv_kernel", 18), ("flash_fwd_splitkv_combine_kernel", 6)),
    "with a copy": attending(2, ("flash_fwd_kernel", 40), copy=5),
    "twice the calls": attending(4, ("flash_fwd_kernel", 40)),
}


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    folder = tmp_path_factory.mktemp("amounts")
    with tracelake.open(folder / "lake") as lake:
        lake.ingest(*[trace.write(folder / f"{name}.json") for name, trace in CASES.items()])
        yield lake


@pytest.mark.parametrize(
    ("before", "after", "kernels", "work", "more", "slower"),
    [
        # Two calls of 40 become two calls of 24: each is faster, and there are no more of them.
        ("one", "split", (2, 4), (2, 2), 0, -32),
        ("split", "one", (4, 2), (2, 2), 0, 32),
        ("one", "with a copy", (2, 2), (2, 2), 0, 0),
        ("one", "twice the calls", (2, 4), (2, 4), 80, 0),
    ],
)
def test_a_call_is_as_much_work_in_one_kernel_as_in_two(lake, before, after, kernels, work, more, slower):
    answer = lake.compare_sides(before, after)
    [row] = answer.ops.filter("part = 'compute'").select(
        "work_unit, before_calls, after_calls, before_work, after_work, more_work_ns, slower_work_ns"
    ).fetchall()  # fmt: skip
    unit, *figures = row
    assert unit == "operator calls"
    assert figures == pytest.approx([*kernels, *work, 1000 * more, 1000 * slower])
