-- One row per scenario that can be answered, with what it leaves unsaid filled in.
--
-- question          BIGINT    number of the row; quicker to join by than the name
-- scenario          VARCHAR   name
-- study             VARCHAR   sweep that it is a point of
-- formulas          VARCHAR   physical or seed
-- variant           UBIGINT   the model with its dimensions scaled
-- model             VARCHAR   model
-- phase             VARCHAR   prefill, decode or training
-- batch             BIGINT    sequences of a replica
-- seq_len           BIGINT    new tokens of each
-- kv_len            BIGINT    cached tokens of each
-- requests          STRUCT[]  groups of equal requests, instead of these where not NULL
-- tokens            BIGINT    new tokens of a replica
-- cached_tokens     BIGINT    cached tokens of a replica
-- request_count     BIGINT    sequences of a replica
-- logit_rows        BIGINT    rows of the output head
-- said_pairs        BIGINT    pairs of query and key as a trace says; NULL: by the requests
-- form              VARCHAR   form of a latent attention
-- tp                BIGINT    degree of tensor parallelism
-- ep                BIGINT    degree of expert parallelism
-- dp                BIGINT    replicas
-- pp                BIGINT    pipeline stages
-- cp                BIGINT    context-parallel ranks
-- head_tp           BIGINT    ranks that share the output head
-- microbatches      BIGINT    microbatches of a training step
-- virtual_stages    BIGINT    parts of the layers that a stage holds
-- zero_stage        BIGINT    what replicas share: 1 optimizer's state, 2 gradients, 3 weights too
-- recompute         BOOLEAN   the forward pass is computed again
-- hardware          VARCHAR   chip
-- execution         VARCHAR   execution profile
-- weight_dtype      VARCHAR   type of the linear layers' weights
-- expert_dtype      VARCHAR   type of the routed experts' weights
-- activation_dtype  VARCHAR   type of activations
-- kv_dtype          VARCHAR   type of the KV cache
-- gemm_dtype        VARCHAR   type the linear layers compute in
-- head_dtype        VARCHAR   type of weights of the head and the router
-- scale_bytes       DOUBLE    scales to a weight of the experts, else of the linear layers, bytes
-- num_kv_heads      BIGINT    heads of keys
-- num_experts       BIGINT    routed experts
-- top_k             BIGINT    experts per token
-- expert_groups     BIGINT    groups of experts
-- top_groups        BIGINT    of these, groups that a token's experts are in at most
-- mtp_layers        BIGINT    layers of multi-token prediction that run
-- expert_imbalance  DOUBLE    busiest rank over the mean
CREATE VIEW _questions AS
WITH typed AS (
    SELECT
        s.* EXCLUDE (top_k), s.top_k AS said_top_k, m.num_kv_heads,
        m.num_experts,
        least(coalesce(s.top_k, m.top_k), m.num_experts) AS top_k,
        m.expert_groups, m.top_groups,
        coalesce(s.weight_dtype, m.weight_dtype) AS linear_dtype,
        coalesce(s.weight_dtype, m.expert_dtype, m.weight_dtype) AS expert_dtype,
        coalesce(s.activation_dtype, 'bf16') AS activations,
        -- Other types than published are taken without scales.
        CASE WHEN s.weight_dtype IS NULL THEN m.weight_scale_bytes ELSE 0 END AS scale_bytes
    FROM _scenario_rows AS s
    JOIN architectures AS m ON m.model = s.model AND m.fault IS NULL
)
SELECT
    question, scenario, study, formulas,
    _variant(model, said_top_k, hidden_scale, kv_rank_scale) AS variant,
    model, phase, batch, seq_len, kv_len, requests,
    CASE
        WHEN requests IS NULL THEN batch * seq_len
        ELSE CAST(
            list_sum(list_transform(requests, lambda r: r.requests * r.new_tokens)) AS BIGINT
        )
    END AS tokens,
    CASE
        WHEN requests IS NULL THEN batch * kv_len
        ELSE CAST(
            list_sum(list_transform(requests, lambda r: r.requests * r.cached_tokens)) AS BIGINT
        )
    END AS cached_tokens,
    CASE
        WHEN requests IS NULL THEN batch
        ELSE CAST(list_sum(list_transform(requests, lambda r: r.requests)) AS BIGINT)
    END AS request_count,
    CASE
        WHEN logit_rows IS NOT NULL THEN logit_rows
        WHEN phase = 'training' THEN tokens
        ELSE request_count
    END AS logit_rows,
    said_pairs,
    CASE
        WHEN mla_mode <> 'auto' THEN mla_mode
        WHEN phase = 'decode' THEN 'absorbed'
        ELSE 'expanded'
    END AS form,
    tp, ep, dp, pp, cp, coalesce(head_tp, tp) AS head_tp, microbatches, virtual_stages, zero_stage,
    recompute, hardware, execution,
    linear_dtype AS weight_dtype, expert_dtype, activations AS activation_dtype,
    coalesce(kv_dtype, activations) AS kv_dtype,
    CASE
        WHEN gemm_dtype IS NOT NULL THEN gemm_dtype
        -- Activations are made FP8 on the way to weights that are. Other narrow weights are
        -- widened to the activations, and narrow activations to the weights.
        WHEN linear_dtype = 'fp8' OR linear.element_bytes > activation.element_bytes
            THEN linear_dtype
        ELSE activations
    END AS gemm_dtype,
    coalesce(head_dtype, CASE WHEN activations = 'fp16' THEN 'fp16' ELSE 'bf16' END)
        AS head_dtype,
    scale_bytes, num_kv_heads, num_experts, top_k, expert_groups, top_groups, mtp_layers,
    expert_imbalance
FROM typed
LEFT JOIN _element_sizes AS linear ON linear.dtype = linear_dtype
LEFT JOIN _element_sizes AS activation ON activation.dtype = activations;
