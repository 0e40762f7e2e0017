"""Which rank the others wait for, and why. Runs of eight ranks with a known truth; clocks off by milliseconds."""

import collections
import math

import pytest

import tracelake
from tracelake.engine.errors import UsageError
from tracelake.synthetic.ranks import Rank, write_ranks

from ....lakes import ingest_at_once

#: What the clock of each rank shows at the moment 0, µs: within a second of each other.
CLOCKS = (0, 5000, -3000, 700, 1_000_000, -250, 12, 8000)
#: What is odd about which rank of a run.
ODD = {
    "healthy": {},
    "link": {5: {"link_us": 200}},
    "late": {2: {"late_us": 300}},
    "slow": {6: {"slowness": 1.1}},
    "two slow": {2: {"slowness": 1.15}, 6: {"slowness": 1.15}},
    "two fast": {3: {"slowness": 0.2}, 4: {"slowness": 0.2}},
    "all three": {5: {"link_us": 200}, 2: {"late_us": 300}, 6: {"slowness": 1.1}},
}


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ranks")
    lake = tracelake.open(folder / "lake")
    files = {}
    for seed, (run, odd) in enumerate(ODD.items()):
        (folder / run).mkdir()
        ranks = [Rank(clock_us=clock, **odd.get(number, {})) for number, clock in enumerate(CLOCKS)]
        files |= {path: {"run": run} for path in write_ranks(folder / run, ranks, seed=seed)}
    ingest_at_once(lake, files)
    for name in ("ranks", "rank_steps", "rank_waits"):
        lake.rows(f"CREATE TEMP TABLE once_{name} AS FROM {name}")
    return lake


@pytest.mark.parametrize(
    ("run", "odd"),
    [
        ("healthy", []),
        ("link", [(5, "slow link", 8)]),
        ("late", [(2, "late start", 8)]),
        ("slow", [(6, "slow compute", 8)]),
        # Each has 4 of 8 steps, as one of eight equal ranks has in 9 of 100 runs (8 · 0.011). Both are behind in all.
        ("two slow", [(2, "slow compute", 4), (6, "slow compute", 4)]),
        # Six are behind the mean of the others, by 2/7 of 0.8 · 1500 µs, and are last by turns: none is slow.
        ("two fast", []),
    ],
)
def test_the_odd_rank_is_found_with_its_cause_in_every_step(lake, run, odd):
    found = lake.rows(
        "SELECT rank, verdict, waited_for_steps FROM once_ranks WHERE run = $1 AND verdict <> 'as the others' "
        "ORDER BY rank",
        [run],
    )
    assert found == odd


def test_a_mean_over_steps_is_rounded_once_in_whatever_order_the_steps_come(lake):
    means = lake.rows("SELECT trace_id, compute_ms, idle_ms, waiting_ms FROM once_ranks ORDER BY trace_id")
    steps = collections.defaultdict(list)
    for trace_id, *times in lake.rows("SELECT trace_id, compute_us, idle_us, waiting_us FROM once_rank_steps"):
        steps[trace_id].append(times)
    assert means == [
        (trace_id, *(math.fsum(times) / len(steps[trace_id]) / 1000 for times in zip(*steps[trace_id], strict=True)))
        for trace_id, *_ in means
    ]


def test_clocks_are_aligned_to_the_nanosecond_that_times_are_rounded_to(lake):
    found = lake.rows("SELECT rank, clock_offset_us, clock_residual_us FROM once_ranks WHERE run = 'link'")
    for rank, offset, residual in found:
        assert offset == pytest.approx(CLOCKS[rank], abs=0.002)
        assert residual <= 0.002


def test_the_time_behind_is_what_was_made_and_its_parts_sum_to_it(lake):
    # An all-to-all ends 200 µs later on rank 5, and on the others by an eighth of that. After the two of a step
    # comes a collective each.
    [(link,)] = lake.rows("SELECT median(link_us) FROM once_rank_waits WHERE run = 'link' AND link_us > 1")
    assert link == pytest.approx(200 - 200 / 8, abs=0.01)
    # Its host begins 300 µs later.
    [(gap,)] = lake.rows("SELECT median(gap_us) FROM once_rank_waits WHERE run = 'late' AND rank = 2 AND gap_us > 100")
    assert gap == pytest.approx(300, abs=0.01)
    # It computes a tenth longer: of 400, 600 and 500 µs, give or take the noise of a hundredth.
    [(compute,)] = lake.rows(
        "SELECT sum(compute_us) / count(DISTINCT step_id) FROM once_rank_waits WHERE run = 'slow' AND rank = 6"
    )
    assert compute == pytest.approx(150, abs=10)
    [(rest,)] = lake.rows(
        "SELECT max(abs(behind_us - gap_us - compute_us - link_us - earlier_us)) FROM once_rank_waits"
    )
    assert rest < 1e-6
    # What is left of differences of doubles is 0, and has no sign.
    parts = lake.rows("SELECT behind_us, gap_us, compute_us, link_us, earlier_us FROM once_rank_waits")
    assert not [us for row in parts for us in row if us is not None and (0 < abs(us) < 1e-7 or str(us) == "-0.0")]


def test_of_three_odd_ranks_each_call_names_the_one_it_waited_for(lake):
    # The late start makes rank 2 the last at the first collective of a step; what its link costs, rank 5 at the others.
    found = lake.rows(
        "WITH parts AS (SELECT *, row_number() OVER (PARTITION BY step_id ORDER BY arrival_ns) AS part "
        "FROM once_rank_waits WHERE run = 'all three') "
        "SELECT part, mode(rank), mode(cause) FROM parts GROUP BY part ORDER BY part"
    )
    assert found == [(1, 2, "late start"), (2, 5, "slow link"), (3, 5, "slow link")]


def test_waiting_is_the_time_from_a_rank_s_start_to_the_last_one_s(lake):
    # The seven others wait for rank 2 some 300 µs in each step, and for chance in the other two collectives.
    found = dict(lake.rows("SELECT rank, waiting_ms FROM once_ranks WHERE run = 'late'"))
    assert found.pop(2) < 0.05
    assert all(0.29 < waiting < 0.36 for waiting in found.values())


def test_what_a_call_costs_is_the_sum_of_the_waits_of_the_seven_others(lake):
    [(waited,)] = lake.rows(
        "SELECT median(others_waited_us) FROM once_rank_waits WHERE run = 'late' AND rank = 2 AND gap_us > 100"
    )
    assert 7 * 290 < waited < 7 * 360


def test_what_a_step_is_made_of_sums_to_it(lake):
    [(steps, rest)] = lake.rows(
        "SELECT count(*), max(abs(step_us - compute_us - exposed_communication_us - idle_us)) FROM once_rank_steps"
    )
    assert steps == len(ODD) * 8 * 8
    assert rest < 1e-6


def test_one_rank_a_step_is_waited_for(lake):
    found = lake.rows(
        "SELECT run, count(*) FILTER (is_waited_for), count(DISTINCT step) FROM once_rank_steps GROUP BY run"
    )
    assert all(waited_for == steps == 8 for _, waited_for, steps in found)


def test_a_run_is_named_by_itself_or_by_a_trace_of_it(lake):
    [(trace_id,)] = lake.rows("SELECT trace_id FROM traces WHERE run = 'link' AND rank = 3")
    by_run, by_trace = lake.ranks("link"), lake.ranks(trace_id)
    assert by_run.run == by_trace.run == "link"
    shown = "rank, verdict, waited_for_steps, calls"
    assert by_run.rows.select(shown).fetchall() == by_trace.rows.select(shown).fetchall()
    [verdict] = by_run.verdicts
    assert verdict.startswith("rank 5: slow link. The others wait longest for it in 8 of 8 steps, 0.3")


def test_a_run_that_is_not_there_is_an_error_in_words(lake):
    with pytest.raises(UsageError, match="no run is so named, nor a trace"):
        lake.ranks("nightly")


def test_a_part_of_the_name_of_a_run_is_answered_with_the_run(tmp_path):
    lake = tracelake.open(tmp_path / "lake")
    first, *_ = write_ranks(tmp_path, [Rank(), Rank()], steps=2)
    lake.ingest(first, run="kineto/nightly_7")
    with pytest.raises(UsageError, match=r"lists both\. Near: kineto/nightly_7\."):
        lake.ranks("nightly_7")


def test_a_name_of_several_traces_is_asked_for_its_id(tmp_path):
    lake = tracelake.open(tmp_path / "lake")
    for night in "ab":
        (tmp_path / night).mkdir()
        file, *_ = write_ranks(tmp_path / night, [Rank(), Rank()], steps=2, seed=ord(night))
        lake.ingest(file, run=night)
    with pytest.raises(UsageError, match=r"rank0: names 2 traces: .* Give the id"):
        lake.ranks("rank0")


def test_a_rank_alone_says_why_it_cannot_be_judged(tmp_path):
    lake = tracelake.open(tmp_path / "lake")
    first, *_ = write_ranks(tmp_path, [Rank(), Rank()], steps=2)
    lake.ingest(first, run="half")
    answer = lake.ranks("half")
    assert answer.verdicts == (
        "rank 0: cannot tell whether others wait for it: 6 calls: the lake has no other rank of the run.",
    )
    assert answer.rows.select("calls, unpaired_calls").fetchall() == [(0, 6)]
    # That its calls have no partner is no evidence that nobody waits.
    calls = lake.ranks("half", "call")
    assert (calls.rows.fetchall(), calls.is_unpaired) == ([], True)


def test_captures_of_one_rank_at_one_time_are_the_reason_that_its_calls_have_no_partner(tmp_path):
    # Two jobs whose files have the same ranks, given one run: whose calls belong together nothing shows.
    lake = tracelake.open(tmp_path / "lake")
    for seed in range(2):
        (tmp_path / str(seed)).mkdir()
        lake.ingest(*write_ranks(tmp_path / str(seed), [Rank(), Rank()], steps=2, seed=seed), run="both")
    reason = "cannot tell whether others wait for it: 6 calls: several captures of this rank show these calls."
    assert sorted(lake.ranks("both").verdicts) == [f"rank {rank}: {reason}" for rank in (0, 0, 1, 1)]


def write_odd_groups(folder):
    """Write three steps of eight ranks of which rank 2 computes a fifth longer; return the paths."""
    return write_ranks(folder, [Rank(slowness=1.2 if number == 2 else 1.0) for number in range(8)], steps=3)


def test_without_the_rank_that_is_waited_for_no_other_is_as_the_others(tmp_path):
    lake = tracelake.open(tmp_path / "lake")
    paths = write_odd_groups(tmp_path)
    lake.ingest(*(path for number, path in enumerate(paths) if number != 2), run="seven")
    answer = lake.ranks("seven")
    assert answer.verdicts == (
        "rank 2 of 8 is not in the lake: whether the others wait for it, and how long, is unknown.",
    )
    found = answer.rows.select("rank, verdict, calls, unpaired_calls, missing_reason").fetchall()
    why = "rank 2 of 8 is not in the lake"
    assert found == [(rank, "cannot tell", 9, 0, why) for rank in (0, 1, 3, 4, 5, 6, 7)]
    # When the transfer began is known with all ranks alone: it takes 200 µs (PARTS).
    measured = "SELECT DISTINCT participants, group_size, transfer_us, algorithm_gbps, bus_gbps FROM collective_calls"
    assert lake.rows(measured) == [(7, 8, None, None, None)]
    doubts = "SELECT value, message FROM health WHERE \"check\" = 'collectives_incomplete' AND severity = 'warning'"
    assert {(value, message[-33:]) for value, message in lake.rows(doubts)} == {(9, f" ({why})")}
    lake.ingest(paths[2], run="seven")
    [verdict] = lake.ranks("seven").verdicts
    assert verdict.startswith("rank 2: slow compute")
    found = "SELECT kind, participants, round(transfer_us) FROM collective_calls WHERE kind = 'all-reduce'"
    assert set(lake.rows(found)) == {("all-reduce", 8, 200)}
    assert lake.rows(doubts) == []


def test_a_rank_that_is_late_among_those_of_the_lake_is_named_though_others_are_missing(tmp_path):
    lake = tracelake.open(tmp_path / "lake")
    lake.ingest(*write_odd_groups(tmp_path)[:3], run="three")
    missing, slow = lake.ranks("three").verdicts
    assert missing.startswith("ranks 3, 4, 5 and 2 more of 8 are not in the lake: whether the others wait for them, ")
    assert slow.startswith("rank 2: slow compute. The others wait longest for it in 3 of 3 steps")
