"""What the reference's profile summary says of collectives, candidates and changes, its errors included."""

import pytest

import tracelake
from tracelake.engine.errors import UsageError

from ... import summary_cases as cases


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    """Cases A, B, G and I."""
    folder = tmp_path_factory.mktemp("reference")
    lake = tracelake.open(folder / "lake")
    found = {name: getattr(cases, f"CASE_{name}") for name in "ABG"} | cases.CASES_I
    for name, processes in found.items():
        cases.write_case(folder / f"{name}.json", processes)
    lake.ingest(*(folder / f"{name}.json" for name in found))
    return lake


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        ("A", [("all-reduce", 2, 40, 20)]),
        ("B", [("all-gather", 2, 70, 35), ("all-reduce", 2, 35, 17.5)]),
        ("G", [("all-gather", 1, 50, 50), ("reduce-scatter", 1, 40, 40)]),
    ],
)
def test_collectives_count_halves_and_sum_devices(lake, case, expected):
    found = lake.rows(
        "SELECT kind, calls, total_us, mean_us FROM compat_collectives JOIN traces USING (trace_id) "
        "WHERE trace = $1 ORDER BY place",
        [case],
    )
    assert found == expected


@pytest.mark.parametrize(
    ("case", "mode", "expected"),
    [
        ("A", "exclusive_global", {"stall-heavy": 23.3, "single-hot-op": 35.0, "pre-op-gap": 6.7}),
        ("A", "exclusive_per_track", {"single-hot-op": 24.7}),
        # The counter that opens the window makes the stall.
        ("B", "exclusive_global",
         {"communication-heavy": 26.7, "stall-heavy": 36.7, "single-hot-op": 53.3, "pre-op-gap": 10.7}),
    ],
)  # fmt: skip
def test_candidates_are_made_in_order_from_their_thresholds(lake, case, mode, expected):
    found = lake.rows(
        f"SELECT candidate, value FROM compat_candidates('{lake.resolve(case)}', '{mode}', 1) ORDER BY place"
    )
    assert {candidate: round(100 * value, 1) for candidate, value in found} == expected
    assert [candidate for candidate, _ in found] == list(expected)


def test_evidence_names_payload_marker_and_sums(lake):
    [(evidence,)] = lake.rows(
        f"SELECT evidence FROM compat_candidates('{lake.resolve('A')}', 'exclusive_global', 1) "
        "WHERE candidate = 'pre-op-gap'"
    )
    assert evidence == ["payload: fusion.1", "marker: fusion.1", "total: 20.000", "longest: 20.000", "occurrences: 1"]


def assessed(lake, after):
    ids = f"'{lake.resolve('baseline')}', '{lake.resolve(after)}'"
    rows = lake.rows(
        f"SELECT metric, change, verdict FROM compat_assessment({ids}, 'exclusive_per_track', 0) ORDER BY metric"
    )
    verdicts = {verdict for _, _, verdict in rows}
    status = next(word for word in ("fail", "warn", "pass") if word in verdicts)
    return status, {metric: None if change is None else round(change, 6) for metric, change, _ in rows}


@pytest.mark.parametrize(
    ("after", "status", "changes"),
    [
        ("104", "pass", {"step_median": 4, "step_p90": 4}),
        # 5 is not above 5; the share of communication goes from 0.20 to 0.26.
        ("105", "warn", {"step_median": 5, "communication_share": 0.06}),
        ("106", "fail", {"step_median": 6}),
        ("140", "fail", {"step_median": 0, "step_p90": 24}),
    ],
)
def test_a_change_is_gated_by_its_thresholds_alone(lake, after, status, changes):
    found_status, found = assessed(lake, after)
    assert found_status == status
    assert {metric: found[metric] for metric in changes} == changes


def test_operations_are_compared_by_name(lake):
    ids = f"'{lake.resolve('baseline')}', '{lake.resolve('105')}'"
    found = lake.rows(f"SELECT name, change_us FROM compat_op_changes({ids}, 25) ORDER BY name")
    assert found == [("all-reduce.1", 6), ("fusion.1", -6)]


def test_collectives_of_a_real_trace(real_lake):
    lake = real_lake("jax/tpu_inference_k1.trace.json.gz")
    found = lake.rows("SELECT kind, calls, total_us FROM compat_collectives ORDER BY place")
    # 1 ns an event: times are stored in nanoseconds.
    assert found == [("all-reduce", 258, pytest.approx(6888.667, abs=0.258)),
                     ("all-gather", 4, pytest.approx(7.967, abs=0.004))]  # fmt: skip
    [(candidate,)] = lake.rows(
        f"SELECT candidate FROM compat_candidates('{lake.resolve('tpu_inference_k1')}', 'exclusive_global', 5)"
    )
    assert candidate == "stall-heavy"


class TestChangesByStepAndDevice:
    """The right way: per step and device, and no verdict within the noise."""

    def test_equal_steps_have_no_noise_and_any_change_counts(self, lake):
        found = {
            metric: (change, noise, verdict)
            for metric, change, noise, verdict in lake.compare("baseline", "104")
            .metrics.select("metric, change, noise, verdict").fetchall()
        }  # fmt: skip
        assert found["step, median"] == (4, 0, "worse")
        assert found["compute"][2] == "same"

    def test_one_slow_step_is_worse_in_the_tail_and_same_in_the_middle(self, lake):
        found = dict(lake.compare("baseline", "140").metrics.select("metric, verdict").fetchall())
        assert found["step, median"] == "same"

    def test_operations_are_those_of_a_step(self, lake):
        # The operations run in the first of five steps, of which the first is warm-up and the last may be cut.
        found = lake.compare("baseline", "105").operations.select("op, change_us").fetchall()
        assert dict(found).keys() <= {"all-reduce", "fusion"}

    def test_traces_measured_in_different_ways_are_refused(self, lake):
        with pytest.raises(UsageError, match="cannot be compared"):
            lake.compare("baseline", "G")
