"""Cost, energy, faults of layouts, the Pareto front and the time of a generation, each against figures by hand."""

import math
import statistics

import pytest

from tracelake.lake import Lake


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    folder = tmp_path_factory.mktemp("choices") / "lake"
    Lake(folder).close()
    (folder / "lookup").mkdir()
    (folder / "lookup" / "prices.csv").write_text("offer,hardware,provider,usd_per_hour\na,h200,somebody,2\n")
    with Lake(folder) as opened:
        opened.rows("SELECT count(*) FROM phase_roofline")
        opened.rows("DELETE FROM scenarios")
        opened.rows(
            "INSERT INTO scenarios BY NAME SELECT 'b' || batch || ' tp' || tp || ' ' || kv_len AS scenario, "
            "'grid' AS study, 'qwen3-8b' AS model, 'decode' AS phase, batch, tp, kv_len, 'h200' AS hardware "
            "FROM unnest([1, 8, 64, 4096]) AS b (batch) CROSS JOIN unnest([1, 2, 8, 3]) AS t (tp) "
            "CROSS JOIN unnest([1000, 2000, 8000]) AS k (kv_len)"
        )
        yield opened


def test_tokens_cost_what_the_chips_cost(lake):
    """2 dollars an hour and chip: tokens of an hour of a replica, and what its chips cost meanwhile."""
    rows = lake.rows(
        "SELECT c.chips, p.tokens_per_s, usd_per_million_tokens, provider FROM phase_cost AS c "
        "JOIN phase_roofline AS p USING (scenario)"
    )
    assert len(rows) == 48
    for chips, tokens_per_s, usd, provider in rows:
        assert usd == pytest.approx(2 * chips / (3600 * tokens_per_s) * 1e6)
        assert provider == "somebody"


def test_power_is_by_what_is_busy(lake):
    """An H200 of 700 W: 15 % idle, the rest by matrix units, 0.7 of the memory's share and 0.1 of the links'."""
    rows = lake.rows(
        "SELECT compute_ms, hbm_ms, net_ms, p.time_ms, tokens_per_s, tp, power_w, power_limited, joules_per_token, "
        "tokens_per_joule, assumed FROM phase_energy AS e JOIN phase_roofline AS p USING (scenario)"
    )
    assert len(rows) == 48
    for compute, hbm, net, time, tokens, tp, power, limited, joules, per_joule, assumed in rows:
        wanted = (compute + 0.7 * hbm + 0.1 * net) / time
        assert power == pytest.approx(700 * (0.15 + 0.85 * min(1, wanted)))
        assert limited == (wanted > 1)
        assert joules == pytest.approx(power * tp / tokens) == pytest.approx(1 / per_joule)
        assert assumed


def test_energy_is_that_of_what_is_done(lake):
    """0.5 pJ a FLOP in BF16, 1.5 a FLOP of the vector units, 31 a byte of memory, 20 a byte sent, and 105 W idle."""
    rows = lake.rows(
        "SELECT flop, (SELECT sum(vector_flop_rank * layers) FROM operators AS o WHERE o.scenario = e.scenario), "
        "hbm_bytes, net_bytes, p.time_ms, tokens_per_s, tp, flop_j, vector_j, hbm_j, net_j, idle_j, energy_j, power_w, "
        "power_limited, joules_per_token, kwh_per_million_tokens, assumed "
        "FROM operation_energy AS e JOIN phase_roofline AS p USING (scenario)"
    )
    assert len(rows) == 48
    for flop, vector, hbm, net, time, tokens, tp, *found in rows:
        by_hand = [flop * 0.5e-12, vector * 1.5e-12, hbm * 31e-12, net * 20e-12, 105 * time / 1e3]
        assert found[:5] == [pytest.approx(joules) for joules in by_hand]
        power = sum(by_hand) / time * 1e3
        joules = power * tp / tokens
        assert found[5:7] == [pytest.approx(sum(by_hand)), pytest.approx(power)]
        assert found[7:] == [power > 700, pytest.approx(joules), pytest.approx(joules * 1e6 / 3.6e6), True]


def test_rates_of_ones_own_chip_go_first(lake):
    """Twice the energy of a byte on an H200, said by the user."""
    bytes_of = "SELECT hbm_j, flop_j, assumed FROM operation_energy WHERE scenario = 'b1 tp1 1000'"
    [(joules, flop, _)] = lake.rows(bytes_of)
    lake.rows("INSERT INTO energy_rates BY NAME SELECT 'h200' AS hardware, 'hbm' AS work, 62 AS picojoules")
    [(own, same, assumed)] = lake.rows(bytes_of)
    lake.rows("DELETE FROM energy_rates WHERE hardware = 'h200'")
    assert (own, same, assumed) == (pytest.approx(2 * joules), flop, True)


def test_what_cannot_run_is_said(lake):
    lake.add_scenarios(
        [
            {"scenario": "x1", "study": "x", "model": "no-model", "phase": "decode"},
            {"scenario": "x2", "study": "x", "model": "deepseek-v3", "phase": "decode", "hardware": "h200"},
            {"scenario": "x3", "study": "x", "model": "deepseek-v3", "phase": "decode", "ep": 7, "dp": 7},
            {"scenario": "x4", "study": "x", "model": "qwen3-8b", "phase": "decode", "tp": 3, "pp": 40},
            {"scenario": "x5", "study": "x", "model": "qwen3-8b", "phase": "prefill", "seq_len": 40961},
            {"scenario": "x6", "study": "x", "model": "deepseek-v3", "phase": "decode", "ep": 64},
            {"scenario": "x7", "study": "x", "model": "qwen3-8b", "phase": "decode", "hardware": "h200"},
            {"scenario": "x8", "study": "x", "model": "qwen3-8b", "phase": "decode", "cp": 2},
            {
                "scenario": "x9",
                "study": "x",
                "model": "qwen3-8b",
                "phase": "training",
                "pp": 4,
                "microbatches": 6,
                "virtual_stages": 2,
                "zero_stage": 4,
            },
            {"scenario": "y1", "study": "x", "model": "mixtral-8x7b", "phase": "decode", "top_k": 8},
            {"scenario": "y2", "study": "x", "model": "mixtral-8x7b", "phase": "decode", "top_k": 9},
            {"scenario": "y3", "study": "x", "model": "qwen3-8b", "phase": "decode", "top_k": 2},
            {"scenario": "y4", "study": "x", "model": "mixtral-8x7b", "phase": "decode", "top_k": 0},
        ]
    )
    rows = lake.rows("SELECT scenario, fault FROM scenario_faults WHERE study = 'x' ORDER BY ALL")
    lake.rows("DELETE FROM scenarios WHERE study = 'x'")
    assert rows == [
        ("x1", "no such model"),
        ("x2", "does not fit the memory"),
        ("x3", "ep does not divide the experts"),
        ("x4", "more stages than layers"),
        ("x4", "tp does not divide the heads"),
        ("x5", "longer than the longest context of the model"),
        ("x6", "ep does not divide the ranks, tp x cp x dp"),
        ("x8", "cp does not divide the new tokens"),
        ("x8", "cp shares the tokens of a prompt"),
        ("x9", "no such stage of ZeRO"),
        ("x9", "virtual stages need microbatches that pp divides"),
        ("y2", "top-k 9 of 8 experts"),
        ("y3", "top-k without experts"),
        ("y4", "top-k below 1"),
    ]


def test_no_point_beats_one_of_the_front(lake):
    points = lake.rows(
        "SELECT p.scenario, time_ms, tokens_per_s / tp FROM phase_roofline AS p "
        "WHERE scenario NOT IN (SELECT scenario FROM scenario_faults)"
    )
    assert {"b4096 tp1 8000", "b1 tp3 1000"}.isdisjoint(scenario for scenario, _, _ in points)
    expected = {
        scenario
        for scenario, time, tokens in points
        if not any(
            (other_time <= time and other_tokens >= tokens) and (other_time, other_tokens) != (time, tokens)
            for _, other_time, other_tokens in points
        )
    }
    rows = lake.rows("SELECT scenario, front_rank, best_share_pct FROM pareto_front ORDER BY front_rank")
    assert {scenario for scenario, _, _ in rows} == expected
    assert len(rows) > 2
    assert [rank for _, rank, _ in rows] == list(range(1, len(rows) + 1))
    assert rows[-1][2] == pytest.approx(100)


def test_a_generation_takes_the_sum_of_its_steps(lake):
    """Times are linear in the cache where one resource bounds: 7000 tokens from 1000 on, by trapezoids by hand."""
    steps = dict(lake.rows("SELECT kv_len, time_ms FROM phase_roofline WHERE batch = 8 AND tp = 1 ORDER BY kv_len"))
    by_hand = 1000 * (steps[1000] + steps[2000]) / 2 + 6000 * (steps[2000] + steps[8000]) / 2
    [row] = lake.rows(
        "SELECT from_kv_len, to_kv_len, steps, total_ms, mean_step_ms FROM generation_times WHERE batch = 8 AND tp = 1"
    )
    assert row == (1000, 8000, 7000, pytest.approx(by_hand), pytest.approx(by_hand / 7000))


def test_more_chips_serve_less_than_so_much_faster(lake):
    """Eight sequences at 1000 keys: one chip's time over that of two and eight, divided by their number."""
    times = dict(lake.rows("SELECT tp, time_ms FROM phase_roofline WHERE batch = 8 AND kv_len = 1000"))
    rows = lake.rows("SELECT tp, strong_efficiency, weak_efficiency FROM scaling WHERE batch = 8 AND kv_len = 1000")
    assert {tp: strong for tp, strong, _ in rows} == {
        tp: pytest.approx(times[1] / (tp * time)) for tp, time in times.items()
    }
    assert 0.5 < times[1] / (8 * times[8]) < 1
    # Only one number of replicas: nothing to lose.
    assert {weak for _, _, weak in rows} == {1}


def test_a_map_counts_the_bounds_of_its_points(lake):
    """Over batch and cache length, each cell holds the four degrees of tensor parallelism."""
    points = lake.rows("SELECT batch, kv_len, bound, time_ms FROM phase_roofline WHERE study = 'grid'")
    rows = lake.rows(
        "SELECT x, y, points, feasible_points, compute_bound, memory_bound, network_bound, bound, median_ms "
        "FROM regime_map('grid', 'batch', 'kv_len')"
    )
    assert len(rows) == 12
    feasible = lake.rows(
        "SELECT batch, kv_len FROM scenarios WHERE study = 'grid' "
        "AND scenario NOT IN (SELECT scenario FROM scenario_faults)"
    )
    # Three never divides the heads; 4096 sequences of 8000 tokens fit no chip tried.
    assert {count for x, _, _, count, *_ in rows if x < 4096} == {3}
    assert (4096, 8000) not in feasible
    for x, y, count, running, compute, memory, network, bound, median_ms in rows:
        assert running == feasible.count((x, y))
        cell = [(found, time) for batch, kv_len, found, time in points if (batch, kv_len) == (x, y)]
        bounds = [found for found, _ in cell]
        assert count == len(cell) == 4
        assert [compute, memory, network] == [bounds.count(name) for name in ("compute", "memory", "network")]
        assert bounds.count(bound) == max(compute, memory, network)
        assert median_ms == pytest.approx(statistics.median(time for _, time in cell))
    assert lake.rows("SELECT * FROM regime_map('grid', 'batch', 'no_such_knob')") == []


def test_knobs_are_ranked_by_what_can_run_too(lake):
    """Of batch 4096 no point fits its chips but of the eighth, and three does not divide the heads."""
    points = lake.rows(
        "SELECT batch, time_ms FROM phase_roofline WHERE study = 'grid' "
        "AND scenario NOT IN (SELECT scenario FROM scenario_faults)"
    )
    medians = {
        batch: statistics.median(time for other, time in points if other == batch) for batch, _ in points
    }  # fmt: skip
    [row] = lake.rows(
        "SELECT points, feasible_points, effect_size, feasible_effect_size, feasible_elasticity FROM sensitivity "
        "WHERE study = 'grid' AND knob = 'batch'"
    )
    low, high = min(medians), max(medians)
    assert row[:2] == (48, len(points))
    assert len(points) < 36
    assert row[3] == pytest.approx(max(medians.values()) / min(medians.values()) - 1) != pytest.approx(row[2])
    assert row[4] == pytest.approx(math.log(medians[high] / medians[low]) / math.log(high / low))
    ranks = lake.rows("SELECT feasible_rank FROM sensitivity WHERE study = 'grid' ORDER BY feasible_effect_size DESC")
    assert ranks == [(1,), (2,), (3,)]
