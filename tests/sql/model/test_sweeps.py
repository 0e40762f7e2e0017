"""Studies by the physical formulas: the relations that the reference report's studies are judged by serve them too."""

import pytest

from ..studies import named_rows, near, with_studies

BATCHES = "[1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096]"


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    """A sweep over the batch as the specification's corrections have it: V3, EP 64, one byte an element."""
    opened = with_studies(
        tmp_path_factory.mktemp("sweeps"),
        "decode_sweep('deepseek-v3', of_study := 'frontier', of_eps := [64],"
        f" of_kv_lens := [2048, 16384], of_batches := {BATCHES}, of_executions := ['physical'])",
        "medium_full_grid('deepseek-v3', of_study := 'grid', of_ep := 64, of_executions := ['physical'])",
    )
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def frontier(lake):
    """The rows of decode_frontier, by cache length."""
    rows = named_rows(lake, "SELECT * FROM decode_frontier WHERE study = 'frontier'")
    return {row["kv_len"]: row for row in rows}


def test_intensities_of_one_more_sequence_are_those_of_the_corrections(frontier):
    # 9.4: W37 gives 1501 FLOP per byte of the cache for the absorbed form at L = 2048, W38 gives 16,503 per byte sent.
    assert frontier[2048]["cache_intensity"] == near("1501.")
    assert frontier[2048]["net_intensity"] == near("16503.")
    # Activations are read and written too.
    assert 0 < frontier[2048]["memory_intensity"] < frontier[2048]["cache_intensity"]


def test_a_short_cache_leaves_the_network_in_the_way(frontier):
    # W38: 16,503 is below the ridge of the links between nodes, 1979e12 FLOP over 50e9 bytes, were all bytes to go over
    # them. Of eight copies of a token those to four groups of experts do, but for the eighth that stays in its node.
    knee = 1979e12 / 50e9 * 7 / 8 / 2
    assert frontier[2048]["net_knee"] == pytest.approx(knee, rel=0.02)
    assert 0.9 < frontier[2048]["net_intensity"] / knee < 1
    assert (frontier[2048]["min_batch"], frontier[2048]["limiter"]) == (256, "network")
    assert frontier[16384]["net_intensity"] > frontier[16384]["net_knee"]
    assert frontier[16384]["min_batch"] is not None


def test_the_frontier_is_the_first_batch_whose_compute_takes_nine_tenths(lake, frontier):
    for kv_len, row in frontier.items():
        points = lake.rows(
            "SELECT batch, compute_ms >= 0.9 * greatest(hbm_ms, net_ms) FROM phase_roofline"
            f" WHERE study = 'frontier' AND kv_len = {kv_len} ORDER BY batch"
        )
        assert len(points) == row["points"] == 13
        assert row["min_batch"] == next((batch for batch, compute in points if compute), None)


def test_the_critical_batch_lies_between_the_batches_that_differ_in_their_bound(lake):
    (row,) = named_rows(lake, "SELECT * FROM critical_batch WHERE study = 'frontier' AND kv_len = 16384")
    bounds = dict(
        lake.rows("SELECT batch, bound FROM phase_roofline WHERE study = 'frontier' AND kv_len = 16384 ORDER BY batch")
    )
    first = row["first_compute_batch"]
    assert bounds[first] == "compute" != bounds[first // 2]
    assert first // 2 < row["time_batch"] <= first
    assert row["compute_bound"] == sum(bound == "compute" for bound in bounds.values())


def test_doubling_the_kv_type_never_makes_a_point_faster(lake):
    rows = named_rows(lake, "SELECT * FROM sensitivity WHERE study = 'grid'")
    knobs = {row["knob"]: row for row in rows}
    assert sorted(row["effect_rank"] for row in rows) == [1, 2, 3, 4, 5]
    for knob in ("kv_dtype_bytes", "kv_len", "hidden_scale", "kv_rank_scale"):
        medians = knobs[knob]["medians_ms"]
        assert medians == sorted(medians)
        assert knobs[knob]["elasticity"] > 0
        assert knobs[knob]["effect_size"] == pytest.approx(medians[-1] / medians[0] - 1, rel=1e-12)


def test_every_point_says_whether_it_fits(lake):
    rows = lake.rows("SELECT fits, total_bytes <= budget_bytes, batch <= max_batch FROM memory_per_gpu")
    assert len(rows) == 26 + 216
    assert all(fits == within == room for fits, within, room in rows)
    assert {fits for fits, *_ in rows} == {True, False}
