-- One row per scenario of headline figures: training, prefill and decode at one batch and length.
--
-- `INSERT INTO scenarios BY NAME SELECT * FROM anchor_phases('deepseek-v3', of_ep := 64)`
--
-- scenario          VARCHAR  study, phase and execution
-- study             VARCHAR  of_study
-- formulas          VARCHAR  of_formulas
-- model             VARCHAR  of_model
-- phase             VARCHAR  training, prefill or decode
-- batch             BIGINT   of_batch
-- seq_len           BIGINT   of_length; 1 in decode
-- kv_len            BIGINT   of_length in decode
-- ep                BIGINT   of_ep
-- dp                BIGINT   the same: every rank has its own sequences
-- hardware          VARCHAR  of_hardware
-- execution         VARCHAR  of of_executions
-- weight_dtype      VARCHAR  of_weight_dtype
-- activation_dtype  VARCHAR  of_activation_dtype
-- kv_dtype          VARCHAR  of_kv_dtype
CREATE MACRO anchor_phases(
    of_model,
    of_study := 'anchor_phases',
    of_formulas := 'physical',
    of_hardware := 'h200',
    of_batch := 8,
    of_length := 255,
    of_ep := 1,
    of_weight_dtype := 'fp8',
    of_activation_dtype := 'fp8',
    of_kv_dtype := 'fp8',
    of_executions := ['naive', 'efficient']
) AS TABLE
SELECT
    concat_ws('/', of_study, phase, execution) AS scenario,
    of_study AS study, of_formulas AS formulas, of_model AS model, phase,
    CAST(of_batch AS BIGINT) AS batch,
    CAST(CASE WHEN phase = 'decode' THEN 1 ELSE of_length END AS BIGINT) AS seq_len,
    CAST(CASE WHEN phase = 'decode' THEN of_length ELSE 0 END AS BIGINT) AS kv_len,
    CAST(of_ep AS BIGINT) AS ep, CAST(of_ep AS BIGINT) AS dp, of_hardware AS hardware, execution,
    of_weight_dtype AS weight_dtype, of_activation_dtype AS activation_dtype,
    of_kv_dtype AS kv_dtype
FROM unnest(['training', 'prefill', 'decode']) WITH ORDINALITY AS phases (phase, phase_place)
CROSS JOIN unnest(of_executions) WITH ORDINALITY AS executions (execution, execution_place)
ORDER BY phase_place, execution_place;
