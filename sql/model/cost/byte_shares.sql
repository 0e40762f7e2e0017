-- One row per scenario and part of its bytes in memory: its size, and advice if it is large.
--
-- key: scenario, part
--
-- scenario   VARCHAR  scenario
-- study      VARCHAR  sweep that it is a point of
-- formulas   VARCHAR  set of formulas: physical
-- execution  VARCHAR  profile of execution_profiles
-- model      VARCHAR  model
-- phase      VARCHAR  training, prefill or decode
-- hardware   VARCHAR  chip
-- part       VARCHAR  weights, activations, kv or temporary
-- bytes      DOUBLE   bytes
-- share      DOUBLE   share of all bytes in memory, a fraction
-- advice     VARCHAR  what to look at if the part is large, by byte_share_rules
CREATE VIEW byte_shares AS
WITH parts AS (
    SELECT
        scenario, study, formulas, execution, model, phase, hardware, hbm_bytes, part, bytes
    FROM (
        SELECT
            scenario, study, formulas, execution, model, phase, hardware, hbm_bytes,
            weight_bytes AS weights, activation_bytes AS activations, kv_bytes AS kv,
            temporary_bytes AS temporary
        FROM phase_roofline
    ) UNPIVOT (bytes FOR part IN (weights, activations, kv, temporary))
),
shares AS (
    SELECT
        scenario, study, formulas, execution, model, phase, hardware, part, bytes,
        bytes / greatest(hbm_bytes, 1e-12) AS share
    FROM parts
)
SELECT
    s.scenario, s.study, s.formulas, s.execution, s.model, s.phase, s.hardware, s.part, s.bytes,
    s.share, r.advice
FROM shares AS s
LEFT JOIN execution_profiles AS e USING (execution)
LEFT JOIN byte_share_rules AS r
    ON r.part = s.part AND s.share > r.share_above AND coalesce(r.phase, s.phase) = s.phase
    AND coalesce(r.attention_bytes_model, e.attention_bytes_model) = e.attention_bytes_model
QUALIFY row_number() OVER (
    PARTITION BY s.scenario, s.part ORDER BY r.share_above DESC NULLS LAST
) = 1;
