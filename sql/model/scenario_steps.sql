-- One row per scenario with times: how long a step takes, were every pass as quick as its bound.
--
-- In training a step is all microbatches, one behind the other, and the pipeline that fills and
-- empties meanwhile (1F1B, Narayanan et al. 2021): a stage waits for (pp - 1) / virtual_stages
-- microbatches. In inference it is a pass through all stages, which other passes keep busy.
--
-- scenario           VARCHAR  scenario
-- study              VARCHAR  sweep that it is a point of
-- formulas           VARCHAR  physical or seed
-- execution          VARCHAR  profile of execution_profiles
-- model              VARCHAR  model
-- phase              VARCHAR  training, prefill or decode
-- hardware           VARCHAR  chip
-- batch              BIGINT   sequences of a replica in a pass
-- seq_len            BIGINT   new tokens of each
-- kv_len             BIGINT   cached tokens of each
-- tp                 BIGINT   degree of tensor parallelism
-- ep                 BIGINT   degree of expert parallelism
-- dp                 BIGINT   data-parallel replicas
-- pp                 BIGINT   pipeline stages
-- cp                 BIGINT   context-parallel ranks
-- chips              BIGINT   chips of a replica
-- microbatches       BIGINT   microbatches of a training step; 1 in inference
-- bubble_share       DOUBLE   part of a step that a stage waits for the pipeline
-- step_ms            DOUBLE   time of a step, ms
-- chip_tokens_per_s  DOUBLE   new tokens per second and chip
-- bound              VARCHAR  what limits a pass: compute, memory or network
CREATE VIEW scenario_steps AS
WITH passes AS (
    SELECT
        p.scenario, p.study, p.formulas, p.execution, p.model, p.phase, p.hardware, p.batch,
        p.seq_len, p.kv_len, p.tp, p.ep, p.dp, p.pp, p.cp, p.tp * p.cp * p.pp AS chips,
        p.time_ms, p.tokens_per_s, p.bound,
        CASE WHEN p.phase = 'training' THEN s.microbatches ELSE 1 END AS microbatches,
        CASE WHEN p.phase = 'training' THEN (p.pp - 1) / s.virtual_stages ELSE 0.0 END AS waits
    FROM phase_roofline AS p
    JOIN scenarios AS s ON s.scenario = p.scenario
    WHERE p.time_ms IS NOT NULL
)
SELECT
    scenario, study, formulas, execution, model, phase, hardware, batch, seq_len, kv_len, tp, ep,
    dp, pp, cp, chips, microbatches, waits / (microbatches + waits) AS bubble_share,
    time_ms * CASE WHEN phase = 'training' THEN microbatches + waits ELSE pp END AS step_ms,
    tokens_per_s / chips * microbatches / (microbatches + waits) AS chip_tokens_per_s, bound
FROM passes;
