"""Findings: made from their thresholds on, each a share of a stated whole, each with SQL that shows it."""

import pytest

import tracelake

from ... import summary_cases as cases
from ...kernel_traces import GEMM, Trace
from ...lakes import ingest_at_once
from ...support import DATA, data_files, trace_bytes


@pytest.fixture(scope="module")
def made_up(tmp_path_factory):
    """The cases with findings, a trace without kernels, and one in which all goes well."""
    folder = tmp_path_factory.mktemp("findings")
    lake = tracelake.open(folder / "lake")
    (folder / "empty.json").write_bytes(trace_bytes([
        {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 0, "dur": 5},
    ]))  # fmt: skip
    # Twenty operations of as many names fill 95 % of the time, 4.75 % each; each waits 5 µs for its turn.
    ops = "; ".join(f"op_{chr(97 + nth)} {100 * nth}+95" for nth in range(20))
    even = [(1, "/device:TPU:0", {"XLA Ops": ops})]
    steps = {name: cases.steps_case(*cases.CASES_D[name]) for name in ("D1", "D8")}
    written = {"A": cases.CASE_A, "B": cases.CASE_B, "G": cases.CASE_G, "even": even, **steps}
    lake.ingest(
        folder / "empty.json", *(cases.write_case(folder / f"{name}.json", case) for name, case in written.items())
    )
    return lake


def found_in(lake, trace):
    rows = lake.rows(
        "SELECT finding, value FROM findings JOIN traces USING (trace_id) WHERE trace = $1 ORDER BY priority", [trace]
    )
    return {finding: None if value is None else round(value, 2) for finding, value in rows}


def test_idle_time_names_only_the_parts_that_it_has(made_up):
    told = dict(
        made_up.rows("SELECT trace, evidence FROM findings JOIN traces USING (trace_id) WHERE finding = 'stall-heavy'")
    )
    # Of 70 µs, 15 in the operation that only waits; one program runs, so nothing is between programs.
    assert told["A"] == "70.0 µs idle or waiting, of these 15.0 µs in operations that wait"
    assert not [text for text in told.values() if " 0.0 µs" in text]


def test_one_gap_is_no_gaps(made_up):
    told = dict(
        made_up.rows("SELECT trace, evidence FROM findings JOIN traces USING (trace_id) WHERE finding = 'pre-op-gap'")
    )
    assert told["A"] == "before fusion.1: 20.000 µs in 1 gap; first operation after it: fusion.1"
    expected = "before fusion.1: 32.000 µs in 2 gaps, the longest 20.000 µs; first operation after them: fusion.1"
    assert told["B"] == expected


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        # 70 of 300 idle or waiting, fusion.2 105, 20 before fusion.1.
        ("A", {"stall-heavy": 23.33, "single-hot-op": 35.0, "pre-op-gap": 6.67}),
        # Of 2 · 200: fusion.1 160, before it 32; idle 50 and exposed communication 35 are below their thresholds.
        ("B", {"single-hot-op": 40.0, "pre-op-gap": 8.0}),
        # Of 290: 60 idle, fusion_1 100, 45 before the reduce-scatter.
        ("G", {"stall-heavy": 20.69, "single-hot-op": 34.48, "pre-op-gap": 15.52}),
        ("even", {"no-dominant-bottleneck": None}),
        ("empty", {"insufficient-data": None}),
    ],
)
def test_findings_are_those_of_the_cases(made_up, case, expected):
    assert found_in(made_up, case) == expected


def test_severity_and_gain_follow_from_the_value(made_up):
    rows = made_up.rows(
        "SELECT finding, severity, gain_us, gain_pct FROM findings JOIN traces USING (trace_id) WHERE trace = 'B' "
        "ORDER BY priority"
    )
    assert rows == [("single-hot-op", "high", 160, 40), ("pre-op-gap", "medium", 32, 8)]


def test_jitter_counts_steady_steps_of_one_program_alone(made_up):
    # D1: 12 steady steps, median 101.5, 90th percentile 214.5. D6: light and heavy, ratio 1.5 to 125.
    assert found_in(made_up, "D1")["step-jitter"] == pytest.approx(214.5 / 101.5, abs=0.01)
    assert "step-jitter" not in found_in(made_up, "D8")


def prefills(path, tokens, cost_us):
    """Write a trace of an engine's prefills, a kernel each that takes so long for each token."""
    trace, now = Trace(), 0
    for nth in tokens:
        trace.note(f"execute_context_1({nth})_generation_0(0)", now, 10)
        trace.kernel(GEMM, now + 2, now + 20, cost_us(nth))
        now += 10_000
    return trace.write(path)


def test_prefills_of_more_tokens_may_take_longer_in_proportion(lake, tmp_path):
    tokens = [1000, 4000, 1000, 1000, 4000, 4000, 1000, 4000, 1000, 1000]
    by_tokens = prefills(tmp_path / "by_tokens.json", tokens, lambda nth: nth)
    # The longer ones take ten times as long for four times the tokens: 2500 µs for 1000.
    beyond = prefills(tmp_path / "beyond.json", tokens, lambda nth: nth if nth == 1000 else 10_000)
    lake.ingest(by_tokens, beyond)
    found = lake.rows("SELECT value, gain_us, evidence FROM findings WHERE finding = 'step-jitter'")
    evidence = (
        "median 1000.000 µs, 90th percentile 2500.000 µs over 10 steady steps of prefill, scaled down to 1000 tokens; "
        "4 of them are of a class of their own, heavy"
    )
    assert found == [(2.5, 4 * 1500, evidence)]


def test_prefills_that_take_less_than_in_proportion_are_not_quick_ones(lake, tmp_path):
    # Sixteen times the tokens for six times the time. Others vary, or one in six takes five times as long.
    varied = [nth for step in range(11) for nth in (900 + 100 * (step % 6), 16_000)][:-1]
    stalled = ([1000, 16_000, 1000, 1001, 1000, 16_000, 1000, 1000] * 5)[:-1]
    cost = {16_000: 6000, 1001: 5000}
    lake.ingest(
        prefills(tmp_path / "varied.json", varied, lambda nth: cost.get(nth, nth)),
        prefills(tmp_path / "stalled.json", stalled, lambda nth: cost.get(nth, nth)),
    )
    found = lake.rows(
        "SELECT trace, value, gain_us FROM findings JOIN traces USING (trace_id) WHERE finding = 'step-jitter'"
    )
    assert [name for name, *_ in found] == ["stalled"]
    assert found[0][1:] == pytest.approx((5, 5 * 4000), rel=0.01)


@pytest.mark.parametrize(
    ("heavy", "period"),
    [
        ([1, 4, 7, 10], 3),
        # One is missing between 4 and 10.
        ([1, 4, 10, 13], 3),
        # Distances of 3, 2, 1 and 3, as chance makes them.
        ([2, 5, 7, 8, 11], None),
    ],
)
def test_heavy_steps_have_a_period_if_most_are_as_far_apart(lake, tmp_path, heavy, period):
    tokens = [4000 if nth in heavy else 1000 for nth in range(14)]
    lake.ingest(prefills(tmp_path / "steps.json", tokens, lambda nth: nth))
    assert lake.rows("SELECT period FROM step_classes WHERE step_class = 'heavy'") == [(period,)]


def test_a_rank_that_comes_late_by_itself_is_a_straggler(lake, tmp_path):
    # Ten all-reduces, a millisecond apart; rank 1 comes 100 µs late to each, the transfer takes 20 µs.
    for rank in range(2):
        events = [
            {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce", "pid": 0, "tid": 7,
             "ts": 1000 * call + 100 * rank, "dur": 120 - 100 * rank,
             "args": {"device": 0, "stream": 7, "Collective name": "allreduce", "Process Group Name": "0", "Seq": call}}
            for call in range(10)
        ]  # fmt: skip
        (tmp_path / f"rank{rank}.json").write_bytes(trace_bytes(events))
    ingest_at_once(lake, {tmp_path / f"rank{rank}.json": {"run": "r", "rank": rank} for rank in range(2)})
    assert "straggler" not in found_in(lake, "rank0")
    # 10 · 100 µs of a window from 100 to 9120 µs.
    assert found_in(lake, "rank1")["straggler"] == pytest.approx(100 * 1000 / 9020, abs=0.01)


def check_laws(lake):
    """Shares are shares; every finding's SQL runs, and shows something."""
    findings = lake.rows("SELECT finding, unit, value, threshold, gain_us, gain_pct, query, basis FROM findings")
    assert findings
    for finding, unit, value, threshold, gain_us, gain_pct, query, basis in findings:
        assert (value is None) == (basis is None), finding
        if value is not None:
            assert value >= threshold
            assert gain_us >= 0
            assert gain_pct <= 100
            assert unit != "percent" or value <= 100
            assert lake.sql(query).limit(1).fetchall(), query
    # Every trace has at least one.
    assert lake.rows("SELECT count(*) FROM traces ANTI JOIN findings USING (trace_id)") == [(0,)]


def test_findings_of_made_up_traces_keep_the_laws(made_up):
    check_laws(made_up)


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    """Traces of every kind, in one lake."""
    patterns = ("jax/tpu_inference_k1*", "kineto/vllm*b200*", "kineto/deepseek*", "kineto/hta_cpu_only*")
    files = [parameter.values[0] for parameter in data_files(*patterns) if parameter.values[0]]
    if not files:
        pytest.skip("needs the shared traces")
    lake = tracelake.open(tmp_path_factory.mktemp("real") / "lake")
    lake.ingest(*(DATA / name for name in files))
    return lake


def test_findings_of_real_traces_keep_the_laws(real):
    check_laws(real)


def test_a_busy_tpu_is_not_called_stalled(real):
    # Device time is 99.96 % busy there; summing what a counter and waiting threads show gives a stall of 94 %.
    found = found_in(real, "tpu_inference_k1")
    assert found == {"single-hot-op": pytest.approx(100 * 42940.401 / (2 * 67235.346), abs=0.01)}
