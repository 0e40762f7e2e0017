-- One row per scenario of a sweep of prefill over batch, prompt length and degree of expert
-- parallelism. Prompts longer than the model's context are left out.
--
-- `INSERT INTO scenarios BY NAME SELECT * FROM prefill_sweep('deepseek-v3', of_eps := [8, 64])`
--
-- scenario          VARCHAR  study, execution and the knobs
-- study             VARCHAR  of_study
-- formulas          VARCHAR  of_formulas
-- model             VARCHAR  of_model
-- phase             VARCHAR  prefill
-- batch             BIGINT   of of_batches
-- seq_len           BIGINT   of of_lengths
-- kv_len            BIGINT   0
-- tp                BIGINT   of_tp
-- ep                BIGINT   of of_eps
-- dp                BIGINT   ep over tp: every tensor-parallel group has its own sequences
-- hardware          VARCHAR  of_hardware
-- execution         VARCHAR  of of_executions
-- weight_dtype      VARCHAR  of_weight_dtype
-- activation_dtype  VARCHAR  of_activation_dtype
-- kv_dtype          VARCHAR  of_kv_dtype
CREATE MACRO prefill_sweep(
    of_model,
    of_study := 'prefill_sweep',
    of_formulas := 'physical',
    of_hardware := 'h200',
    of_batches := [8],
    of_lengths := [64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768],
    of_tp := 1,
    of_eps := [1],
    of_weight_dtype := 'fp8',
    of_activation_dtype := 'fp8',
    of_kv_dtype := 'fp8',
    of_executions := ['naive', 'efficient']
) AS TABLE
SELECT
    concat_ws('/', of_study, execution, 'EP' || ep, 'B' || batch, 'S' || seq_len) AS scenario,
    of_study AS study, of_formulas AS formulas, of_model AS model, 'prefill' AS phase, batch,
    seq_len, CAST(0 AS BIGINT) AS kv_len, CAST(of_tp AS BIGINT) AS tp, ep,
    greatest(ep // of_tp, 1) AS dp, of_hardware AS hardware, execution,
    of_weight_dtype AS weight_dtype, of_activation_dtype AS activation_dtype,
    of_kv_dtype AS kv_dtype
FROM unnest(of_executions) WITH ORDINALITY AS executions (execution, execution_place)
CROSS JOIN unnest(CAST(of_eps AS BIGINT[])) AS eps (ep)
CROSS JOIN unnest(CAST(of_batches AS BIGINT[])) AS batches (batch)
CROSS JOIN unnest(CAST(of_lengths AS BIGINT[])) AS lengths (seq_len)
LEFT JOIN architectures AS a ON a.model = of_model
WHERE seq_len <= coalesce(a.max_positions, seq_len)
ORDER BY execution_place, ep, batch, seq_len;
