-- One row per Pareto-optimal point of a study that can run: no other with the same model and phase
-- is as fast with more tokens per second and chip, or gives as many of them faster.
--
-- key: study, model, phase, scenario
--
-- study              VARCHAR  study
-- model              VARCHAR  model
-- phase              VARCHAR  training, prefill or decode
-- front_rank         BIGINT   1 for the fastest
-- scenario           VARCHAR  the point
-- hardware           VARCHAR  chip
-- batch              BIGINT   sequences of a replica
-- seq_len            BIGINT   new tokens of each
-- kv_len             BIGINT   cached tokens of each
-- tp                 BIGINT   degree of tensor parallelism
-- ep                 BIGINT   degree of expert parallelism
-- dp                 BIGINT   data-parallel replicas
-- pp                 BIGINT   pipeline stages
-- cp                 BIGINT   context-parallel ranks
-- chips              BIGINT   chips of a replica
-- step_ms            DOUBLE   time of a step, see phase_roofline
-- chip_tokens_per_s  DOUBLE   new tokens per second and chip
-- best_share_pct     DOUBLE   share of the maximum over the study, %
-- bound              VARCHAR  what limits the point: compute, memory or network
CREATE VIEW pareto_front AS
WITH ordered AS (
    SELECT
        p.study, p.model, p.phase, p.scenario, p.hardware, p.batch, p.seq_len, p.kv_len, p.tp,
        p.ep, p.dp, p.pp, p.cp, p.chips, p.step_ms, p.chip_tokens_per_s, p.bound,
        max(p.chip_tokens_per_s) OVER (
            PARTITION BY p.study, p.model, p.phase
            ORDER BY p.step_ms, p.chip_tokens_per_s DESC, p.scenario
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS sooner_tokens_per_s,
        max(p.chip_tokens_per_s) OVER (PARTITION BY p.study, p.model, p.phase) AS most_tokens_per_s
    FROM phase_roofline AS p
    ANTI JOIN scenario_faults AS f ON f.scenario = p.scenario
    WHERE p.study IS NOT NULL AND p.step_ms IS NOT NULL
)
SELECT
    study, model, phase,
    row_number() OVER (PARTITION BY study, model, phase ORDER BY step_ms) AS front_rank,
    scenario, hardware, batch, seq_len, kv_len, tp, ep, dp, pp, cp, chips, step_ms,
    chip_tokens_per_s, 100 * chip_tokens_per_s / most_tokens_per_s AS best_share_pct, bound
FROM ordered
WHERE sooner_tokens_per_s IS NULL OR chip_tokens_per_s > sooner_tokens_per_s;
