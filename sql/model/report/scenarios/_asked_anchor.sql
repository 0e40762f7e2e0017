-- One row per scenario of a model report's anchor: each phase on its chip in all execution
-- profiles, and on the other chips in the main profile.
-- scenario          VARCHAR  its name
-- study             VARCHAR  study of the report
-- formulas          VARCHAR  formulas
-- model             VARCHAR  model
-- phase             VARCHAR  training, prefill or decode
-- batch             BIGINT   sequences of a replica
-- seq_len           BIGINT   new tokens of each
-- kv_len            BIGINT   cached tokens of each
-- tp                BIGINT   degree of tensor parallelism
-- ep                BIGINT   degree of expert parallelism
-- dp                BIGINT   data-parallel replicas
-- pp                BIGINT   pipeline stages
-- hardware          VARCHAR  chip
-- execution         VARCHAR  execution profile
-- weight_dtype      VARCHAR  type of weights; NULL: as published
-- activation_dtype  VARCHAR  type of activations; NULL: open
-- kv_dtype          VARCHAR  type of the KV cache; NULL: as published, else as activations
-- head_dtype        VARCHAR  type of the output head and the router; NULL: by the rest
-- top_k             BIGINT   experts per token; NULL: as published
-- hidden_scale      DOUBLE   times the hidden width
-- kv_rank_scale     DOUBLE   times the rank of the KV cache
CREATE VIEW _asked_anchor AS
WITH chips AS (
    SELECT 'report anchor' AS study, chips[1] AS hardware, unnest(executions) AS execution
    FROM _report_workload
    UNION ALL
    SELECT 'report chips', unnest(chips[2:]), main
    FROM _report_workload
)
SELECT
    concat_ws(' / ', study, phase, execution, hardware) AS scenario, study, formulas, model, phase,
    batch, CASE WHEN phase = 'decode' THEN 1 ELSE seq_len END AS seq_len,
    CASE WHEN phase = 'decode' THEN kv_len ELSE 0 END AS kv_len,
    tp, ep, dp, pp, hardware, execution, weight_dtype, activation_dtype, kv_dtype,
    -- The head and the router never use less than two bytes; on a chip without BF16 they follow the
    -- rest.
    CASE WHEN activation_dtype IN ('fp16', 'fp32') THEN activation_dtype END AS head_dtype,
    CAST(NULL AS BIGINT) AS top_k, CAST(1 AS DOUBLE) AS hidden_scale,
    CAST(1 AS DOUBLE) AS kv_rank_scale
FROM _report_workload
CROSS JOIN chips
CROSS JOIN unnest(['training', 'prefill', 'decode']) AS phases (phase);
