"""Runs that lack ranks: what differs may be the ranks, so that no verdict is plain.

Each step of a rank is one product of 100 µs, of rank 3 one of 200 µs: a mean over ranks depends on which there are.
"""

import pytest

import tracelake
from tracelake.analysis import budgets

from ...kernel_traces import GEMM, Trace
from ...lakes import ingest_at_once

#: The run's name, the ranks that it has, and the ranks of its job, if the files show them.
RUNS = [
    ("whole", range(4), 4),
    ("again", range(4), 4),
    ("three", range(3), 4),
    ("three-again", range(3), 4),
    ("few", [0, 8], 64),
    ("fewer", [0], 64),
    ("of-eight", range(4), 8),
    ("double", range(8), 8),
    ("unsized", range(4), None),
    ("unsized-three", range(3), None),
    ("second", [2], 4),
    ("one", [0], 1),
]
CANNOT_TELL = "cannot tell: a rank is missing"
BUDGET = """
[[budget]]
name = "step"
sentence = "A step takes no longer than the baseline's."
query = "SELECT side AS item, after_ns AS value, before_ns AS threshold FROM comparisons"

[[budget]]
name = "step with noise"
sentence = "A step takes no longer than the baseline's."
query = '''
SELECT after_ns AS value, before_ns AS threshold, detectable_pct * before_ns / 100 AS noise FROM comparisons'''

[[budget]]
name = "term"
sentence = "No term takes longer than the baseline's."
query = "SELECT term AS item, after_ns AS value, before_ns AS threshold FROM comparison_terms WHERE level = 'step'"

[[budget]]
name = "idle"
sentence = "A device is not always idle."
threshold = 99
query = "SELECT DISTINCT run AS item, idle_pct AS value FROM time_breakdown JOIN checked_traces USING (trace_id)"
"""


def rank_trace(path, rank, world_size, nth):
    """Write four steps of a rank; the runs' first moments differ, so that no two files are the same trace."""
    trace = Trace(**({} if world_size is None else {"distributedInfo": {"rank": rank, "world_size": world_size}}))
    for step in range(4):
        at = 1000.0 * step + nth
        op = trace.op("aten::mm", at + 1, 30, [[64, 64], [64, 64]])
        trace.kernel(GEMM, at + 2, at + 100, 200 if rank == 3 else 100, op)
        trace.note(f"ProfilerStep#{step}", at, 900)
    return trace.write(path)


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    opened = tracelake.open(folder / "lake")
    ingest_at_once(opened, {
        rank_trace(folder / f"{run} {rank}.json", rank, world_size, 10 * nth + rank / 10): {"run": run, "rank": rank}
        for nth, (run, ranks, world_size) in enumerate(RUNS)
        for rank in ranks
    })  # fmt: skip
    yield opened
    opened.close()


def judged(lake, *words, **options):
    """Return verdict and doubts of the last side."""
    rows = lake.compare_sides(*words, **options).sides.select("verdict, doubts").fetchall()
    return rows[-1]


def test_without_the_slow_rank_a_run_is_not_faster(lake):
    sides = lake.compare_sides("run=whole", "run=three").sides
    # Means: (100 + 100 + 100 + 200) / 4 = 125 µs and 100 µs.
    assert sides.select("before_ns, after_ns, change_ns, verdict, detectable_pct, ci_low_pct, doubts").fetchall() == [
        (125_000, 100_000, -25_000, CANNOT_TELL, None, None, "rank 3 of 4 is missing in run=three")
    ]
    assert lake.rows("SELECT DISTINCT verdict FROM comparison_terms") == [(CANNOT_TELL,)]


@pytest.mark.parametrize(
    ("before", "after", "doubts"),
    [
        ("three", "whole", "rank 3 of 4 is missing in run=three"),
        ("unsized", "unsized-three", "rank 3 is missing in run=unsized-three"),
        ("whole", "unsized-three", "rank 3 is missing in run=unsized-three"),
        ("few", "fewer", "rank 8 of 64 is missing in run=fewer"),
        ("whole", "of-eight", "ranks 4, 5, 6 and 1 more of 8 are missing in run=of-eight"),
        ("fewer", "second", None),
        ("second", "three", "ranks 0, 1 of 4 are missing in run=second"),
        # A job of one GPU beside ranks of another one.
        ("one", "few", None),
    ],
)
def test_the_missing_ranks_are_named(lake, before, after, doubts):
    verdict, found = judged(lake, f"run={before}", f"run={after}")
    assert found == doubts
    assert (verdict == CANNOT_TELL) == (doubts is not None)


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        # All ranks, the same ranks, and all ranks of jobs of two sizes: 125 and (7 * 100 + 200) / 8 = 112.5 µs.
        ("run=whole", "run=again", "same within 0.0 %"),
        ("run=three", "run=three-again", "same within 0.0 %"),
        ("run=whole", "run=double", "faster"),
        # Ranks of one run, split on purpose.
        ("run=whole rank=0", "run=whole rank=3", "slower"),
        ("run=whole", "run=whole rank=3", "slower"),
    ],
)
def test_what_lacks_nothing_is_judged(lake, before, after, verdict):
    assert judged(lake, before, after) == (verdict, None)


def test_of_several_runs_of_a_side_the_one_that_lacks_a_rank_is_named(lake):
    found = judged(lake, "run=again", "run=whole", "run=three*", baseline="run=again")
    assert found == (CANNOT_TELL, "rank 3 of 4 is missing in three; rank 3 of 4 is missing in three-again")
    # A single rank is compared across runs by itself.
    assert judged(lake, "rank=0 run=whole", "rank=0 run=three*") == ("same within 0.0 %", None)


def test_a_budget_of_a_comparison_cannot_be_judged_without_the_rank(lake, tmp_path):
    file = tmp_path / "budgets.toml"
    file.write_text(BUDGET)

    def verdicts(*of):
        rows = budgets.check(lake.store, [file], of=of, baseline="run=whole")
        return dict(rows.select("concat_ws(' ', budget, nullif(item, '')), verdict").fetchall())

    assert verdicts("run=three") == {
        "step run=three": "cannot judge", "step with noise": "cannot judge", "term step": "cannot judge",
        "idle three": "pass",
    }  # fmt: skip
    # Another side is judged: 125 µs as before.
    assert verdicts("run=three", "run=again")["step run=again"] == "pass"


def test_traces_without_a_run_that_are_grouped_on_purpose_lack_nothing(tmp_path):
    with tracelake.open(tmp_path / "lake") as lake:
        for rank in range(4):
            lake.ingest(rank_trace(tmp_path / f"t{rank}.json", rank, 4, rank / 10))
            lake.set(f"t{rank}", stage=rank // 2)
        # Stages of a pipeline: each trace is a run of its own, of 100 and 100 us, and of 100 and 200 us.
        verdict, doubts = judged(lake, "stage=0", "stage=1")
        assert verdict.startswith("too noisy to tell")
        assert doubts is None
