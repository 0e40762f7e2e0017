-- One row per scenario of the physical formulas whose chip's board power is known: the energy of a
-- pass, summed over its operations by energy_rates, plus idle power over its time. phase_energy is
-- the other model, by the shares of time that parts of the chip are busy.
--
-- key: scenario
--
-- scenario                VARCHAR  scenario
-- study                   VARCHAR  sweep that it is a point of
-- hardware                VARCHAR  chip
-- time_ms                 DOUBLE   time of the pass, ms
-- flop_j                  DOUBLE   energy of a chip for FLOP of the matrix units, J
-- vector_j                DOUBLE   for FLOP outside them, J
-- hbm_j                   DOUBLE   for bytes of memory, J
-- net_j                   DOUBLE   for bytes sent, J
-- idle_j                  DOUBLE   idle power over the pass, J
-- energy_j                DOUBLE   the sum of the five, J
-- power_w                 DOUBLE   that over the time, W
-- board_w                 DOUBLE   board power of the chip, W
-- power_limited           BOOLEAN  power_w is above it: clocks would fall
-- joules_per_token        DOUBLE   energy of all chips of a replica for a token, J
-- kwh_per_million_tokens  DOUBLE   the same for a million, kWh
-- assumed                 BOOLEAN  a rate of the accelerator named any was used
CREATE VIEW operation_energy AS
WITH work AS (
    SELECT scenario_no, dtype AS work, sum(stage_layers * flop_rank) AS amount
    FROM _operator_rows
    WHERE flop_rank > 0
    GROUP BY scenario_no, dtype
    UNION ALL
    SELECT scenario_no, 'vector', sum(stage_layers * vector_flop_rank)
    FROM _operator_rows
    GROUP BY scenario_no
    UNION ALL
    SELECT c.scenario_no, moved.work, moved.amount
    FROM _pass_costs AS c
    CROSS JOIN unnest([
        {'work': 'hbm', 'amount': c.hbm_bytes}, {'work': 'network', 'amount': c.net_bytes}
    ]) AS parts (moved)
),
spent AS (
    SELECT
        w.scenario_no, w.work,
        w.amount * coalesce(own.picojoules, other.picojoules) / 1e12 AS joules,
        own.picojoules IS NULL AS assumed
    FROM work AS w
    JOIN _scenario_rows AS s ON s.scenario_no = w.scenario_no AND s.formulas = 'physical'
    LEFT JOIN energy_rates AS own ON own.hardware = s.hardware AND own.work = w.work
    LEFT JOIN energy_rates AS other ON other.hardware = 'any' AND other.work = w.work
),
summed AS (
    SELECT
        scenario_no,
        sum(CASE WHEN work NOT IN ('vector', 'hbm', 'network') THEN joules END) AS flop_j,
        sum(CASE WHEN work = 'vector' THEN joules END) AS vector_j,
        sum(CASE WHEN work = 'hbm' THEN joules END) AS hbm_j,
        sum(CASE WHEN work = 'network' THEN joules END) AS net_j,
        bool_or(joules IS NULL) AS lacks_a_rate, bool_or(assumed) AS assumed
    FROM spent
    GROUP BY scenario_no
),
passes AS (
    SELECT
        p.scenario, p.study, p.hardware, p.time_ms, e.flop_j, e.vector_j, e.hbm_j, e.net_j,
        coalesce(own.idle_share, other.idle_share) * h.tdp_w * p.time_ms / 1e3 AS idle_j,
        h.tdp_w AS board_w, p.chips,
        p.tokens_per_s * p.time_ms / 1e3 AS tokens, e.lacks_a_rate,
        e.assumed OR own.hardware IS NULL AS assumed
    FROM summed AS e
    JOIN _scenario_rows AS s ON s.scenario_no = e.scenario_no
    JOIN phase_roofline AS p ON p.scenario = s.scenario AND p.time_ms IS NOT NULL
    JOIN hardware AS h ON h.hardware = p.hardware AND h.tdp_w IS NOT NULL
    LEFT JOIN power_profiles AS own ON own.hardware = p.hardware
    LEFT JOIN power_profiles AS other ON other.hardware = 'any'
),
added AS (
    SELECT
        scenario, study, hardware, time_ms, flop_j, vector_j, hbm_j, net_j, idle_j, board_w, chips,
        tokens, assumed, flop_j + vector_j + hbm_j + net_j + idle_j AS energy_j
    FROM passes
    -- A type without a rate would be counted as free.
    WHERE NOT lacks_a_rate
)
SELECT
    scenario, study, hardware, time_ms, flop_j, vector_j, hbm_j, net_j, idle_j, energy_j,
    1e3 * energy_j / time_ms AS power_w, board_w, 1e3 * energy_j / time_ms > board_w
        AS power_limited,
    energy_j * chips / nullif(tokens, 0) AS joules_per_token,
    energy_j * chips / nullif(tokens, 0) / 3.6 AS kwh_per_million_tokens, assumed
FROM added;
