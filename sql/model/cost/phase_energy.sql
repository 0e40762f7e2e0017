-- One row per scenario with a time whose chip's board power is known: power and energy of a pass by
-- the linear model of power_profiles: idle power, plus the rest of the board power weighted by the
-- shares of the pass that matrix units, memory and links are busy, capped at all of it.
--
-- key: scenario
--
-- scenario          VARCHAR  scenario
-- study             VARCHAR  sweep that it is a point of
-- hardware          VARCHAR  chip
-- time_ms           DOUBLE   time of the pass, ms
-- board_w           DOUBLE   board power of the chip, W
-- power_w           DOUBLE   mean power of a chip in the pass, W
-- power_limited     BOOLEAN  the busy units would draw more than the board power: clocks would fall
-- joules_per_token  DOUBLE   energy of all chips of a replica for a token, J
-- tokens_per_joule  DOUBLE   the inverse
-- assumed           BOOLEAN  no power of this chip was measured: the row for all others was used
CREATE VIEW phase_energy AS
WITH busy AS (
    SELECT
        p.scenario, p.study, p.hardware, p.time_ms, p.tokens_per_s, p.chips,
        h.tdp_w AS board_w, own.hardware IS NULL AS assumed,
        coalesce(own.idle_share, other.idle_share) AS idle_share,
        (
            coalesce(own.compute_weight, other.compute_weight) * p.compute_ms
            + coalesce(own.memory_weight, other.memory_weight) * p.hbm_ms
            + coalesce(own.network_weight, other.network_weight) * p.net_ms
        ) / p.time_ms AS wanted_share
    FROM phase_roofline AS p
    JOIN hardware AS h ON h.hardware = p.hardware AND h.tdp_w IS NOT NULL
    LEFT JOIN power_profiles AS own ON own.hardware = p.hardware
    LEFT JOIN power_profiles AS other ON other.hardware = 'any'
    WHERE p.time_ms IS NOT NULL
),
drawn AS (
    SELECT
        scenario, study, hardware, time_ms, board_w, wanted_share, tokens_per_s, chips, assumed,
        board_w * (idle_share + (1 - idle_share) * least(1, wanted_share)) AS power_w
    FROM busy
)
SELECT
    scenario, study, hardware, time_ms, board_w, power_w, wanted_share > 1 AS power_limited,
    power_w * chips / nullif(tokens_per_s, 0) AS joules_per_token,
    tokens_per_s / (power_w * chips) AS tokens_per_joule, assumed
FROM drawn;
