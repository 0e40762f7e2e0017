-- One row per study of decode steps that differ only in the length of the cache: how long it takes
-- to generate all tokens from the shortest to the longest. Between two points the time of a step is
-- interpolated linearly.
--
-- key: study, model, hardware, execution, formulas, batch, tp, ep, dp, pp, settings
--
-- study         VARCHAR  study
-- model         VARCHAR  model
-- hardware      VARCHAR  chip
-- execution     VARCHAR  execution profile
-- formulas      VARCHAR  set of formulas: physical
-- batch         BIGINT   sequences of a replica
-- tp            BIGINT   degree of tensor parallelism
-- ep            BIGINT   degree of expert parallelism
-- dp            BIGINT   data-parallel replicas
-- pp            BIGINT   pipeline stages
-- settings      STRUCT   types of numbers, scales and the like, from the scenarios
-- from_kv_len   BIGINT   cached tokens at the first step
-- to_kv_len     BIGINT   cached tokens after the last
-- steps         BIGINT   tokens generated of each sequence
-- total_ms      DOUBLE   time of all steps
-- mean_step_ms  DOUBLE   time per token of a sequence
CREATE VIEW generation_times AS
WITH stretches AS (
    SELECT
        study, model, hardware, execution, formulas, batch, tp, ep, dp, pp, settings, kv_len,
        lead(kv_len) OVER longer AS next_kv_len, step_ms, lead(step_ms) OVER longer AS next_step_ms
    FROM phase_roofline
    JOIN _scenario_settings USING (scenario)
    WHERE phase = 'decode' AND study IS NOT NULL
    WINDOW longer AS (
        PARTITION BY study, model, hardware, execution, formulas, batch, tp, ep, dp, pp, settings
        ORDER BY kv_len
    )
)
SELECT
    study, model, hardware, execution, formulas, batch, tp, ep, dp, pp, settings,
    min(kv_len) AS from_kv_len, max(next_kv_len) AS to_kv_len,
    CAST(sum(next_kv_len - kv_len) AS BIGINT) AS steps,
    sum((next_kv_len - kv_len) * (step_ms + next_step_ms) / 2) AS total_ms,
    sum((next_kv_len - kv_len) * (step_ms + next_step_ms) / 2) / sum(next_kv_len - kv_len)
        AS mean_step_ms
FROM stretches
WHERE next_kv_len > kv_len
GROUP BY ALL;
