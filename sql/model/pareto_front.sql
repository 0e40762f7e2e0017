-- One row per point of a study that can run and that no other beats: none with the same model and
-- phase is as quick with more tokens per second and chip, or gives as many of them sooner.
--
-- study              VARCHAR  study
-- model              VARCHAR  model
-- phase              VARCHAR  training, prefill or decode
-- front_rank         BIGINT   1 for the quickest
-- scenario           VARCHAR  the point
-- hardware           VARCHAR  chip
-- batch              BIGINT   sequences of a replica
-- seq_len            BIGINT   new tokens of each
-- kv_len             BIGINT   cached tokens of each
-- tp                 BIGINT   degree of tensor parallelism
-- ep                 BIGINT   degree of expert parallelism
-- dp                 BIGINT   data-parallel replicas
-- pp                 BIGINT   pipeline stages
-- chips              BIGINT   chips of a replica
-- time_ms            DOUBLE   time of the pass
-- chip_tokens_per_s  DOUBLE   tokens per second of a replica over its chips
-- best_share_pct     DOUBLE   of the most that a point of the study gives, %
-- bound              VARCHAR  what limits the point: compute, memory or network
CREATE VIEW pareto_front AS
WITH points AS (
    SELECT
        p.study, p.model, p.phase, p.scenario, p.hardware, p.batch, p.seq_len, p.kv_len, p.tp,
        p.ep, p.dp, p.pp, p.tp * p.pp AS chips, p.pp * p.time_ms AS time_ms,
        p.tokens_per_s / (p.tp * p.pp) AS chip_tokens_per_s, p.bound
    FROM phase_roofline AS p
    ANTI JOIN scenario_faults AS f ON f.scenario = p.scenario
    WHERE p.study IS NOT NULL AND p.time_ms IS NOT NULL
),
ordered AS (
    SELECT
        study, model, phase, scenario, hardware, batch, seq_len, kv_len, tp, ep, dp, pp, chips,
        time_ms, chip_tokens_per_s, bound,
        max(chip_tokens_per_s) OVER (
            PARTITION BY study, model, phase
            ORDER BY time_ms, chip_tokens_per_s DESC, scenario
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS sooner_tokens_per_s,
        max(chip_tokens_per_s) OVER (PARTITION BY study, model, phase) AS most_tokens_per_s
    FROM points
)
SELECT
    study, model, phase,
    row_number() OVER (PARTITION BY study, model, phase ORDER BY time_ms) AS front_rank,
    scenario, hardware, batch, seq_len, kv_len, tp, ep, dp, pp, chips, time_ms, chip_tokens_per_s,
    100 * chip_tokens_per_s / most_tokens_per_s AS best_share_pct, bound
FROM ordered
WHERE sooner_tokens_per_s IS NULL OR chip_tokens_per_s > sooner_tokens_per_s;
