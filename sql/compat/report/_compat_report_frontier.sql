-- One row per study of decode by the reference report's formulas, model, degree of expert
-- parallelism and cache length: the report's separate estimate of the smallest batch at which
-- decode is bound by compute.
--
-- Only models with a latent attention and experts have one. Its errors are kept: routed FLOP are
-- divided by EP though every rank brings tokens; the network is that of one layer; dense MLPs, the
-- head, shared experts' FLOP and the efficiency of few rows are left out. The batches of the study
-- do not matter: powers of two are tried.
--
-- instead of: compat.decode_frontier
--
-- study             VARCHAR  sweep
-- formulas          VARCHAR  set of formulas: compat
-- execution         VARCHAR  profile of execution_profiles; NULL if it is the same for all
-- model             VARCHAR  model
-- hardware          VARCHAR  chip
-- kv_len            BIGINT   cached tokens of a sequence
-- ep                BIGINT   degree of expert parallelism
-- kv_dtype          VARCHAR  type of the KV cache, from the scenario
-- top_k             BIGINT   experts per token, from the scenario
-- points            BIGINT   batches tried
-- cache_intensity   DOUBLE   FLOP per byte of the KV cache for one more sequence
-- memory_intensity  DOUBLE   FLOP per byte in memory for one more sequence: the limit for large
--                            batches
-- net_intensity     DOUBLE   FLOP per byte sent for one more sequence
-- knee              DOUBLE   peak over memory bandwidth, FLOP/byte
-- net_knee          DOUBLE   peak over network bandwidth, FLOP/byte
-- min_batch         BIGINT   smallest batch per chip that is bound by compute; NULL: none
-- limiter           VARCHAR  what limits it: memory, network, KV cache when no batch suffices, or
--                            memory or network when none of those tried does
CREATE VIEW _compat_report_frontier AS
WITH asked AS (
    SELECT DISTINCT
        s.study, s.formulas, s.model, s.hardware, s.kv_len, s.ep, s.kv_dtype,
        s.top_k AS said_top_k, i.* EXCLUDE (
            point, model, kv_len, ep, batch, tokens, pairs, touched, active_rows, hidden,
            hidden_scale, attention_scale, expert_width, kv_elements, flash,
            attention_residency, dense_residency, moe_residency, activation_factor,
            elementwise_factor, saturation_rows, scalar_efficiency, attention_tensor_share,
            linear_tensor_share, embedding_tensor_share, network_tensor_share, tp, seq_len,
            local_experts
        ),
        m.hidden_size, m.expert_width, m.latent_elements
    FROM _compat_report_inputs AS i
    JOIN _compat_scenarios AS s ON s.scenario_no = i.point
    JOIN _compat_report_models AS m ON m.model = s.model
    WHERE i.is_decode AND i.latent_flop_per_pair IS NOT NULL AND i.moe_layers > 0
),
tokens AS (
    -- Cost on a chip of one token of one sequence.
    SELECT
        *,
        layers * (latent_flop_per_token + kv_len * latent_flop_per_pair)
        + moe_layers * (2 * hidden_size * experts + 6 * top_k / ep * hidden_size * expert_width)
            AS token_flop,
        layers * (kv_len + 1) * latent_elements * kv_bytes AS token_kv_bytes,
        2 * top_k * hidden_size * activation_bytes AS token_net_bytes,
        3 * hidden_size * expert_width AS expert_parameters
    FROM asked
),
tried AS (
    SELECT
        t.*, c.frontier_alpha AS alpha, CAST(pow(2, power) AS BIGINT) AS batch,
        pow(2, power) * token_flop / peak_flops AS compute_s,
        pow(2, power) * token_net_bytes / net_rate AS net_s,
        (
            layers * attention_parameters * weight_bytes / frontier_residency
            + moe_layers * weight_bytes / frontier_residency * (
                hidden_size * experts + shared_experts * expert_parameters
                + expert_parameters * experts / ep
                * (1 - exp(-pow(2, power) * ep * top_k / experts))
            )
            + pow(2, power) * token_kv_bytes
        ) / hbm_rate AS hbm_s
    FROM tokens AS t
    CROSS JOIN _compat_report_constants AS c
    CROSS JOIN range(64) AS powers (power)
    WHERE pow(2, power) <= frontier_max_batch
),
judged AS (
    SELECT
        study, formulas, model, hardware, kv_len, ep, kv_dtype, said_top_k, alpha,
        count(*) AS points,
        any_value(token_flop / token_kv_bytes) AS cache_intensity,
        any_value(token_flop / token_net_bytes) AS net_intensity,
        any_value(peak_flops / hbm_rate) AS knee,
        any_value(peak_flops / net_rate) AS net_knee,
        min(batch) FILTER (compute_s >= alpha * greatest(hbm_s, net_s)) AS min_batch,
        arg_min(hbm_s >= net_s, batch) FILTER (compute_s >= alpha * greatest(hbm_s, net_s))
            AS by_memory
    FROM tried
    GROUP BY study, formulas, model, hardware, kv_len, ep, kv_dtype, said_top_k, alpha
)
SELECT
    study, formulas, CAST(NULL AS VARCHAR) AS execution, model, hardware, kv_len, ep, kv_dtype,
    said_top_k AS top_k, points, cache_intensity, cache_intensity AS memory_intensity,
    net_intensity, knee, net_knee,
    CASE
        WHEN cache_intensity >= alpha * knee AND net_intensity >= alpha * net_knee THEN min_batch
    END AS min_batch,
    CASE
        WHEN cache_intensity < alpha * knee THEN 'KV cache'
        WHEN net_intensity < alpha * net_knee THEN 'network'
        WHEN min_batch IS NULL THEN 'memory or network'
        WHEN by_memory THEN 'memory'
        ELSE 'network'
    END AS limiter
FROM judged;
