-- One row per scenario and setting of it that studies vary: its value, with the scenario's time.
--
-- scenario   VARCHAR  scenario
-- study      VARCHAR  sweep that it is a point of
-- formulas   VARCHAR  set of formulas: physical
-- execution  VARCHAR  profile of execution_profiles
-- model      VARCHAR  model
-- phase      VARCHAR  training, prefill or decode
-- hardware   VARCHAR  chip
-- time_ms    DOUBLE   its time, ms
-- bound      VARCHAR  compute, memory or network
-- knob       VARCHAR  setting, as in knobs
-- value      DOUBLE   its value; settings without one have no row
CREATE VIEW _knob_points AS
WITH points AS (
    SELECT
        p.scenario, p.study, p.formulas, p.execution, p.model, p.phase, p.hardware, p.time_ms,
        p.bound,
        CAST(p.batch AS DOUBLE) AS batch,
        CAST(p.seq_len AS DOUBLE) AS seq_len,
        CAST(p.kv_len AS DOUBLE) AS kv_len,
        CAST(p.tp AS DOUBLE) AS tp,
        CAST(p.ep AS DOUBLE) AS ep,
        CAST(p.dp AS DOUBLE) AS dp,
        CAST(p.pp AS DOUBLE) AS pp,
        CAST(p.cp AS DOUBLE) AS cp,
        CAST(s.head_tp AS DOUBLE) AS head_tp,
        CAST(s.microbatches AS DOUBLE) AS microbatches,
        CAST(s.virtual_stages AS DOUBLE) AS virtual_stages,
        CAST(s.zero_stage AS DOUBLE) AS zero_stage,
        weights.element_bytes AS weight_dtype_bytes,
        activations.element_bytes AS activation_dtype_bytes,
        cached.element_bytes AS kv_dtype_bytes,
        CAST(coalesce(s.top_k, a.top_k) AS DOUBLE) AS top_k,
        s.kv_rank_scale, s.hidden_scale, s.expert_imbalance
    FROM phase_roofline AS p
    JOIN scenarios AS s USING (scenario)
    LEFT JOIN architectures AS a ON a.model = s.model
    LEFT JOIN element_sizes AS weights ON weights.dtype = s.weight_dtype
    LEFT JOIN element_sizes AS activations ON activations.dtype = s.activation_dtype
    LEFT JOIN element_sizes AS cached ON cached.dtype = s.kv_dtype
)
SELECT scenario, study, formulas, execution, model, phase, hardware, time_ms, bound, knob, value
FROM points UNPIVOT (
    value FOR knob IN (
        batch, seq_len, kv_len, tp, ep, dp, pp, cp, head_tp, microbatches, virtual_stages,
        zero_stage, weight_dtype_bytes, activation_dtype_bytes, kv_dtype_bytes, top_k,
        kv_rank_scale, hidden_scale, expert_imbalance
    )
);
