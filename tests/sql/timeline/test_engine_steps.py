"""Steps by the annotations of serving engines: of drafts in speculative decoding, and of labels. Times in µs."""

import pytest

from ...lakes import in_one_lake
from ...launching import Trace

#: Iterations of 100: three drafts of 20 each, the target model's step of 20, the first draft of the next iteration.
ITERATIONS = range(4)


def speculative(draft, verify, extend, around=("draft", "draft_extend")):
    """Draft, verify and draft again in annotations of these names, on the host and 1000 later on the device."""
    trace = Trace()

    def mark(name, start, dur):
        if name:
            trace.mark(name, start, dur)
            trace.add("gpu_user_annotation", name, start + 1000, dur, 0, 7, **{"External id": len(trace.events)})

    for at in (100 * nth for nth in ITERATIONS):
        mark(around[0], at, 60)
        for start in (at, at + 20, at + 40):
            mark(draft, start, 20)
            trace.run(start + 1000, 20, start + 1)
        mark(verify, at + 60, 20)
        trace.run(at + 1060, 20, at + 61)
        # An annotation of the same extent around the inner one.
        mark(around[1], at + 80, 15)
        mark(extend, at + 80, 15)
        trace.run(at + 1080, 15, at + 81)
    return trace


NAMES = {
    "modes of the target": ("step[DECODE bs=8]", "step[TARGET_VERIFY bs=8]", "step[EXTEND bs=8 toks=16]"),
    "drafts in a graph": (None, "step[TARGET_VERIFY bs=8]", "step[DRAFT_EXTEND_V2 bs=8]"),
    "modes of their own": ("step[DRAFT bs=8 g_sq=8 g_sk=80]", "step[VERIFY bs=8]", "step[DRAFT bs=8 c_sq=16 c_sk=90]"),
    "prefixed": ("draft step[DECODE bs=8]", "step[TARGET_VERIFY bs=8]", "draft step[EXTEND bs=8 toks=16]"),
}


@pytest.mark.parametrize("case", NAMES)
@pytest.mark.parametrize("by", ["launches", "device marks"])
@in_one_lake
def test_drafts_are_no_steps_and_the_period_is_an_iteration_with_them(tmp_path, case, by):
    own = case in ("modes of their own", "prefixed")
    trace = speculative(*NAMES[case], around=(None, None) if own else ("draft", "draft_extend"))
    if by == "device marks":
        trace.events = [event for event in trace.events if event["cat"] in ("kernel", "gpu_user_annotation")]
    lake = yield trace.write(tmp_path / "speculative.json")
    columns = "step_source, work_source, program, requests, dur_us, ops, period_us"
    step = ("engine step", by, "decode", 8, 20, 1)
    assert lake.rows(f"SELECT {columns} FROM steps ORDER BY step_id") == [
        (*step, 100 if nth < ITERATIONS[-1] else None) for nth in ITERATIONS
    ]
    # All but the 20 of the target in 95 are drafts.
    asked = "SELECT value FROM step_checks WHERE \"check\" = 'outside_steps'"
    assert lake.rows(asked) == [(0,)]


@in_one_lake
def test_work_outside_steps_is_missed_unless_it_is_marked_as_drafts(tmp_path):
    # Of 120: a step of 20, drafts of 60, and 40 that nothing marks.
    trace = Trace().mark("step[DECODE bs=8]", 0, 10).mark("draft", 20, 10)
    trace.run(100, 20, 1).run(120, 60, 21).run(180, 40, 31)
    lake = yield trace.write(tmp_path / "unmarked.json")
    [(value,)] = lake.rows("SELECT value FROM step_checks WHERE \"check\" = 'outside_steps'")
    assert value == pytest.approx(100 * 40 / 120)


LABELS = {
    # SGLang's sums repeat the tokens of toks; a request of generation may have several.
    "step[EXTEND bs=2 toks=12 c_sq=12 c_sqsq=80 c_sqsk=120 c_sk=20]": ("prefill", 2, 12),
    "step[EXTEND bs=2 toks=12]": ("prefill", 2, 12),
    "step[MIXED bs=3 c=1 g=2 c_sq=5 c_sk=8 c_sqsq=25 c_sqsk=40 g_sq=2 g_sk=12 g_sqsq=2 g_sqsk=12]": ("mixed", 3, 7),
    "step[TARGET_VERIFY bs=2 g_sq=6 g_sqsq=18 g_sqsk=90 g_sk=30]": ("decode", 2, 6),
    "step[VERIFY bs=2 g_sq=6 g_sqsq=18 g_sqsk=90 g_sk=30]": ("decode", 2, 6),
    "step[DECODE bs=2 g_sq=8 g_sqsq=32 g_sqsk=120 g_sk=30]": ("decode", 2, 8),
    "step[TARGET_VERIFY bs=2]": ("decode", 2, None),
    # ATOM: a batch that is padded to a graph's size, one with drafts, and one with two requests in their context.
    "prefill[bs=2 tok=14721 ctx=[7803, 6918]]": ("prefill", 2, 14721),
    "decode[bs=117/128 tok=117 d=117]": ("decode", 117, 117),
    "decode[bs=32 tok=128 d=32 spec=3 sqsq=512 sqsk=262144 sk=65536]": ("decode", 32, 128),
    "decode[bs=128 tok=384 p=2 d=126 tbo=1]": ("mixed", 128, 384),
    "eager_decode[bs=1 tok=1 d=1]": ("decode", 1, 1),
    # vLLM in 2025: what was in the batch before may still be in its context.
    "execute_new_2_cached_30": (None, 32, None),
}


@in_one_lake
def test_labels_of_engines_tell_stage_requests_and_tokens(tmp_path):
    trace = Trace()
    for nth, name in enumerate(LABELS):
        trace.mark(name, 100 * nth, 90).run(100 * nth + 20, 50, 100 * nth + 1)
    # A step without a request hands over what is finished, and is none.
    trace.mark("execute_new_0_cached_0", 100 * len(LABELS), 90)
    lake = yield trace.write(tmp_path / "labels.json")
    rows = lake.rows("SELECT step_source, program, requests, tokens FROM steps ORDER BY step_id")
    assert rows == [("engine step", *told) for told in LABELS.values()]
