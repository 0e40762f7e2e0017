-- One row per scenario of a model report's what-ifs: a knob turned a step around each phase of the
-- anchor, if that changes something.
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
CREATE VIEW _asked_turns AS
WITH anchors AS (
    SELECT
        s.*, num_experts, a.top_k AS model_top_k, kv_lora_rank, tp_shares_experts,
        coalesce(s.activation_dtype, w.open_type, 'bf16') AS activations,
        CASE WHEN w.open_type IS NULL THEN a.kv_cache_dtype END AS published_kv_dtype,
        coalesce(s.weight_dtype, w.open_type, a.weight_dtype) AS weights
    FROM _asked_anchor AS s
    JOIN _report_workload AS w ON w.main = s.execution
    JOIN architectures AS a ON a.model = s.model
    WHERE s.study = 'report anchor'
)
SELECT
    concat_ws(' / ', 'report knobs', phase, knob, side) AS scenario, 'report knobs' AS study,
    formulas, model, phase, CAST(batch * batch_factor AS BIGINT) AS batch,
    CASE
        WHEN phase = 'decode' THEN seq_len ELSE CAST(seq_len * length_factor AS BIGINT)
    END AS seq_len,
    CAST(kv_len * length_factor AS BIGINT) AS kv_len, CAST(tp * tp_factor AS BIGINT) AS tp,
    CAST(ep * ep_factor AS BIGINT) AS ep,
    CASE
        WHEN tp_factor * ep_factor = 1 THEN dp
        ELSE _replicas(
            CAST(tp * tp_factor AS BIGINT), CAST(ep * ep_factor AS BIGINT), tp_shares_experts
        )
    END AS dp,
    pp, hardware,
    CASE
        WHEN flop_factor * hbm_factor * net_factor = 1 THEN execution
        ELSE concat_ws(' ', 'report', knob, side)
    END AS execution,
    coalesce(r.weight_dtype, s.weight_dtype) AS weight_dtype,
    coalesce(r.activation_dtype, s.activation_dtype) AS activation_dtype,
    CASE
        WHEN r.activation_dtype IS NOT NULL
            THEN coalesce(s.kv_dtype, published_kv_dtype, activations)
        ELSE coalesce(r.kv_dtype, s.kv_dtype)
    END AS kv_dtype,
    head_dtype,
    CASE
        WHEN top_k_factor <> 1 THEN CAST(model_top_k * top_k_factor AS BIGINT)
    END AS top_k,
    r.hidden_scale, r.kv_rank_scale
FROM anchors AS s
CROSS JOIN report_steps AS r
WHERE
    batch * batch_factor >= 1 AND (phase <> 'decode' OR kv_len * length_factor >= 1)
    AND (phase = 'decode' OR seq_len * length_factor >= 1)
    AND tp * tp_factor >= 1 AND ep * ep_factor >= 1
    AND (ep_factor = 1 OR ep * ep_factor <= num_experts)
    AND (top_k_factor = 1 OR model_top_k * top_k_factor BETWEEN 1 AND num_experts)
    AND (r.kv_rank_scale = 1 OR kv_lora_rank > 0)
    AND coalesce(r.weight_dtype <> weights, TRUE)
    AND coalesce(r.activation_dtype <> activations, TRUE)
    AND (
        r.kv_dtype IS NULL
        OR phase = 'decode'
            AND r.kv_dtype <> coalesce(s.kv_dtype, published_kv_dtype, activations)
    );
