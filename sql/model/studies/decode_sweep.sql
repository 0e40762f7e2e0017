-- One row per scenario of a sweep of decode over batch, cache length and degree of expert
-- parallelism.
--
-- `INSERT INTO scenarios BY NAME SELECT * FROM decode_sweep('deepseek-v3', of_eps := [8, 64])`
--
-- scenario          VARCHAR  study, execution and the knobs
-- study             VARCHAR  of_study
-- formulas          VARCHAR  of_formulas
-- model             VARCHAR  of_model
-- phase             VARCHAR  decode
-- batch             BIGINT   of of_batches
-- seq_len           BIGINT   1
-- kv_len            BIGINT   of of_kv_lens
-- tp                BIGINT   of_tp
-- ep                BIGINT   of of_eps
-- dp                BIGINT   ep over tp: every tensor-parallel group has its own sequences
-- hardware          VARCHAR  of_hardware
-- execution         VARCHAR  of of_executions
-- weight_dtype      VARCHAR  of_weight_dtype
-- activation_dtype  VARCHAR  of_activation_dtype
-- kv_dtype          VARCHAR  of_kv_dtype
CREATE MACRO decode_sweep(
    of_model,
    of_study := 'decode_sweep',
    of_formulas := 'physical',
    of_hardware := 'h200',
    of_batches := [1, 2, 4, 8, 16, 32, 64, 128],
    of_kv_lens := [255],
    of_tp := 1,
    of_eps := [1],
    of_weight_dtype := 'fp8',
    of_activation_dtype := 'fp8',
    of_kv_dtype := 'fp8',
    of_executions := ['naive', 'efficient']
) AS TABLE
SELECT
    concat_ws('/', of_study, execution, 'EP' || ep, 'L' || kv_len, 'B' || batch) AS scenario,
    of_study AS study, of_formulas AS formulas, of_model AS model, 'decode' AS phase, batch,
    CAST(1 AS BIGINT) AS seq_len, kv_len, CAST(of_tp AS BIGINT) AS tp, ep,
    greatest(ep // of_tp, 1) AS dp, of_hardware AS hardware, execution,
    of_weight_dtype AS weight_dtype, of_activation_dtype AS activation_dtype,
    of_kv_dtype AS kv_dtype
FROM unnest(of_executions) WITH ORDINALITY AS executions (execution, execution_place)
CROSS JOIN unnest(CAST(of_eps AS BIGINT[])) AS eps (ep)
CROSS JOIN unnest(CAST(of_kv_lens AS BIGINT[])) AS kv_lens (kv_len)
CROSS JOIN unnest(CAST(of_batches AS BIGINT[])) AS batches (batch)
ORDER BY execution_place, ep, kv_len, batch;
