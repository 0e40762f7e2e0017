-- One row per scenario of a study around another one: that scenario unchanged, called
-- `<study>/anchor`, and again with each of its knobs halved and doubled, the others unchanged.
--
-- `INSERT INTO scenarios BY NAME SELECT * FROM one_at_a_time('deepseek-v3 decode')`; the relation
-- tornado compares them. Types of elements that the scenario names become FP8 and BF16. With the
-- degree of expert parallelism the number of replicas changes.
--
-- scenario          VARCHAR   study, knob and factor
-- study             VARCHAR   of_study; NULL: of_scenario with /tornado appended
-- formulas          VARCHAR   as in of_scenario
-- model             VARCHAR   as in of_scenario
-- phase             VARCHAR   as in of_scenario
-- batch             BIGINT    at least 1
-- seq_len           BIGINT    as in of_scenario in decode
-- kv_len            BIGINT    cached tokens of a sequence
-- requests          STRUCT[]  as in of_scenario
-- logit_rows        BIGINT    as in of_scenario
-- tp                BIGINT    as in of_scenario
-- ep                BIGINT    at least 1, at most the number of experts
-- dp                BIGINT    as in of_scenario, or more, so that there are ranks for the experts
-- pp                BIGINT    as in of_scenario
-- cp                BIGINT    as in of_scenario
-- head_tp           BIGINT    as in of_scenario
-- microbatches      BIGINT    as in of_scenario
-- virtual_stages    BIGINT    as in of_scenario
-- zero_stage        BIGINT    as in of_scenario
-- recompute         BOOLEAN   as in of_scenario
-- hardware          VARCHAR   as in of_scenario
-- execution         VARCHAR   as in of_scenario
-- weight_dtype      VARCHAR   type of the linear layers' weights
-- activation_dtype  VARCHAR   type of activations
-- kv_dtype          VARCHAR   type of the KV cache
-- gemm_dtype        VARCHAR   as in of_scenario
-- head_dtype        VARCHAR   as in of_scenario
-- mla_mode          VARCHAR   as in of_scenario
-- mtp_layers        BIGINT    as in of_scenario
-- top_k             BIGINT    at least 1, at most the number of experts
-- hidden_scale      DOUBLE    hidden width over the model's
-- kv_rank_scale     DOUBLE    width of compressed keys and values over the model's
-- expert_imbalance  DOUBLE    as in of_scenario
CREATE MACRO one_at_a_time(of_scenario, of_study := NULL, of_factors := [0.5, 2.0]) AS TABLE
WITH changes AS (
    SELECT knob, CAST(factor AS DOUBLE) AS factor, printf('%s x%g', knob, factor) AS name
    FROM unnest(
        [
            'batch', 'seq_len', 'kv_len', 'ep', 'top_k', 'hidden_scale', 'kv_rank_scale',
            'weight_dtype', 'activation_dtype', 'kv_dtype'
        ]
    ) AS knobs (knob)
    CROSS JOIN unnest(of_factors) AS factors (factor)
    UNION ALL
    SELECT 'none', 1.0, 'anchor'
),
changed AS (
    SELECT
        c.knob, c.name, s.study AS anchor_study, s.formulas, s.model, s.phase,
        CASE knob WHEN 'batch' THEN greatest(CAST(s.batch * factor AS BIGINT), 1) ELSE s.batch
        END AS batch,
        CASE
            WHEN knob = 'seq_len' AND s.phase <> 'decode'
                THEN greatest(CAST(s.seq_len * factor AS BIGINT), 1)
            ELSE s.seq_len
        END AS seq_len,
        CASE knob WHEN 'kv_len' THEN CAST(s.kv_len * factor AS BIGINT) ELSE s.kv_len END AS kv_len,
        s.requests, s.logit_rows, s.tp,
        CASE
            WHEN knob = 'ep' AND a.num_experts > 0
                THEN least(greatest(CAST(s.ep * factor AS BIGINT), 1), a.num_experts)
            ELSE s.ep
        END AS ep,
        s.dp, s.pp, s.cp, s.head_tp, s.microbatches, s.virtual_stages, s.zero_stage, s.recompute,
        s.hardware, s.execution,
        CASE
            WHEN knob = 'weight_dtype' AND s.weight_dtype IS NOT NULL
                THEN CASE WHEN factor < 1 THEN 'fp8' ELSE 'bf16' END
            ELSE s.weight_dtype
        END AS weight_dtype,
        CASE
            WHEN knob = 'activation_dtype' AND s.activation_dtype IS NOT NULL
                THEN CASE WHEN factor < 1 THEN 'fp8' ELSE 'bf16' END
            ELSE s.activation_dtype
        END AS activation_dtype,
        CASE
            WHEN knob = 'kv_dtype' AND s.kv_dtype IS NOT NULL
                THEN CASE WHEN factor < 1 THEN 'fp8' ELSE 'bf16' END
            ELSE s.kv_dtype
        END AS kv_dtype,
        s.gemm_dtype, s.head_dtype, s.mla_mode, s.mtp_layers,
        CASE
            WHEN knob = 'top_k' AND a.num_experts > 0
                THEN least(
                    greatest(CAST(coalesce(s.top_k, a.top_k) * factor AS BIGINT), 1), a.num_experts
                )
            ELSE s.top_k
        END AS top_k,
        CASE knob WHEN 'hidden_scale' THEN s.hidden_scale * factor ELSE s.hidden_scale
        END AS hidden_scale,
        CASE knob WHEN 'kv_rank_scale' THEN s.kv_rank_scale * factor ELSE s.kv_rank_scale
        END AS kv_rank_scale,
        s.expert_imbalance
    FROM scenarios AS s
    JOIN architectures AS a ON a.model = s.model
    CROSS JOIN changes AS c
    WHERE s.scenario = of_scenario
)
SELECT
    concat_ws('/', coalesce(of_study, of_scenario || '/tornado'), name) AS scenario,
    coalesce(of_study, of_scenario || '/tornado') AS study, formulas, model, phase, batch, seq_len,
    kv_len, requests, logit_rows, tp, ep, greatest(dp, CAST(ceil(ep / (tp * cp)) AS BIGINT)) AS dp,
    pp, cp, head_tp, microbatches, virtual_stages, zero_stage, recompute, hardware, execution,
    weight_dtype, activation_dtype, kv_dtype, gemm_dtype, head_dtype, mla_mode, mtp_layers, top_k,
    hidden_scale, kv_rank_scale, expert_imbalance
FROM changed;
