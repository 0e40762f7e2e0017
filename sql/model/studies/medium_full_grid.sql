-- One row per scenario of a sensitivity grid: decode with every combination of KV type,
-- experts per token, rank of the KV cache, hidden width and cache length.
--
-- `INSERT INTO scenarios BY NAME SELECT * FROM medium_full_grid('deepseek-v3', of_ep := 64)`; a
-- list of other values replaces a knob's defaults.
--
-- scenario          VARCHAR  study, execution and the knobs
-- study             VARCHAR  of_study
-- formulas          VARCHAR  of_formulas
-- model             VARCHAR  of_model
-- phase             VARCHAR  decode
-- batch             BIGINT   of_batch
-- seq_len           BIGINT   1
-- kv_len            BIGINT   of of_kv_lens
-- ep                BIGINT   of_ep
-- dp                BIGINT   the same: every rank has its own sequences
-- hardware          VARCHAR  of_hardware
-- execution         VARCHAR  of of_executions
-- weight_dtype      VARCHAR  of_weight_dtype
-- activation_dtype  VARCHAR  of_activation_dtype
-- kv_dtype          VARCHAR  of of_kv_dtypes
-- top_k             BIGINT   of of_top_ks
-- hidden_scale      DOUBLE   of of_hidden_scales
-- kv_rank_scale     DOUBLE   of of_kv_rank_scales
CREATE MACRO medium_full_grid(
    of_model,
    of_study := 'medium_full_grid',
    of_formulas := 'physical',
    of_hardware := 'h200',
    of_batch := 8,
    of_ep := 1,
    of_weight_dtype := 'fp8',
    of_activation_dtype := 'fp8',
    of_executions := ['naive', 'efficient'],
    of_kv_dtypes := ['fp8', 'bf16'],
    of_top_ks := [2, 4, 8],
    of_kv_rank_scales := [0.5, 1.0, 1.5],
    of_hidden_scales := [0.75, 1.0, 1.25],
    of_kv_lens := [2048, 4096, 8192, 16384]
) AS TABLE
SELECT
    concat_ws(
        '/', of_study, execution, kv_dtype, 'k' || top_k, 'rank' || kv_rank_scale,
        'hidden' || hidden_scale, 'L' || kv_len
    ) AS scenario,
    of_study AS study, of_formulas AS formulas, of_model AS model, 'decode' AS phase,
    CAST(of_batch AS BIGINT) AS batch, CAST(1 AS BIGINT) AS seq_len, kv_len,
    CAST(of_ep AS BIGINT) AS ep, CAST(of_ep AS BIGINT) AS dp, of_hardware AS hardware, execution,
    of_weight_dtype AS weight_dtype, of_activation_dtype AS activation_dtype, kv_dtype,
    top_k, hidden_scale, kv_rank_scale
FROM unnest(of_executions) WITH ORDINALITY AS executions (execution, execution_place)
CROSS JOIN unnest(of_kv_dtypes) WITH ORDINALITY AS kv_dtypes (kv_dtype, kv_dtype_place)
CROSS JOIN unnest(CAST(of_top_ks AS BIGINT[])) AS top_ks (top_k)
CROSS JOIN unnest(CAST(of_kv_rank_scales AS DOUBLE[])) AS kv_rank_scales (kv_rank_scale)
CROSS JOIN unnest(CAST(of_hidden_scales AS DOUBLE[])) AS hidden_scales (hidden_scale)
CROSS JOIN unnest(CAST(of_kv_lens AS BIGINT[])) AS kv_lens (kv_len)
ORDER BY execution_place, kv_dtype_place, top_k, kv_rank_scale, hidden_scale, kv_len;
