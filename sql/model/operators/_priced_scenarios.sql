-- One row per scenario that can be answered, with defaults for what it does not give. The bytes of
-- its types are looked up in one row: with a join per type, DuckDB's estimate of the number of rows
-- multiplies until it is not a number.
CREATE VIEW _questions AS
WITH typed AS (
    SELECT
        s.* EXCLUDE (top_k), s.top_k AS said_top_k, m.num_kv_heads,
        m.num_experts,
        least(coalesce(s.top_k, m.top_k), m.num_experts) AS top_k,
        m.expert_groups, m.top_groups, m.kv_cache_dtype,
        coalesce(s.weight_dtype, m.weight_dtype) AS linear_dtype,
        coalesce(s.weight_dtype, m.expert_dtype, m.weight_dtype) AS expert_dtype,
        coalesce(s.weight_dtype, m.unquantized_dtype, 'bf16') AS plain_dtype,
        coalesce(s.activation_dtype, 'bf16') AS activations,
        CASE WHEN s.weight_dtype IS NULL THEN m.gemm_dtype END AS published_gemm_dtype,
        -- Types other than the published ones have no scales.
        CASE WHEN s.weight_dtype IS NULL THEN m.weight_scale_bytes ELSE 0 END AS scale_bytes,
        CASE WHEN s.weight_dtype IS NULL THEN m.linear_scale_bytes ELSE 0 END AS linear_scale_bytes
    FROM _scenario_rows AS s
    JOIN architectures AS m ON m.model = s.model AND m.fault IS NULL
)
SELECT
    scenario_no, scenario, study, formulas,
    _variant(model, said_top_k, hidden_scale, kv_rank_scale) AS variant,
    model, phase, batch, seq_len, kv_len, requests,
    _over_requests(requests, batch * seq_len, lambda r: r.requests * r.new_tokens) AS tokens,
    _over_requests(requests, batch * kv_len, lambda r: r.requests * r.cached_tokens)
        AS cached_tokens,
    _over_requests(requests, batch, lambda r: r.requests) AS request_count,
    CASE
        WHEN logit_rows IS NOT NULL THEN logit_rows
        -- Decode of several tokens verifies drafted ones.
        WHEN phase IN ('training', 'decode') THEN tokens
        ELSE request_count
    END AS logit_rows,
    given_pairs,
    CASE
        WHEN mla_mode <> 'auto' THEN mla_mode
        WHEN phase = 'decode' THEN 'absorbed'
        ELSE 'expanded'
    END AS form,
    tp, ep, dp, pp, cp, coalesce(head_tp, tp) AS head_tp, microbatches, virtual_stages, zero_stage,
    recompute, hardware, execution,
    linear_dtype AS weight_dtype, expert_dtype, plain_dtype, activations AS activation_dtype,
    coalesce(kv_dtype, kv_cache_dtype, activations) AS kv_dtype,
    -- Activations are converted to FP8 for weights in FP8. Other narrow weights are widened to the
    -- activations' type, and narrow activations to the weights'.
    CASE
        WHEN gemm_dtype IS NOT NULL THEN gemm_dtype
        WHEN published_gemm_dtype IS NOT NULL THEN published_gemm_dtype
        WHEN linear_dtype = 'fp8' OR bytes_of[linear_dtype] > bytes_of[activations]
            THEN linear_dtype
        ELSE activations
    END AS gemm_dtype,
    CASE
        WHEN gemm_dtype IS NOT NULL THEN gemm_dtype
        WHEN plain_dtype = 'fp8' OR bytes_of[plain_dtype] > bytes_of[activations] THEN plain_dtype
        ELSE activations
    END AS plain_gemm_dtype,
    coalesce(head_dtype, CASE WHEN activations = 'fp16' THEN 'fp16' ELSE 'bf16' END)
        AS head_dtype,
    scale_bytes, linear_scale_bytes, num_kv_heads, num_experts, top_k, expert_groups, top_groups,
    mtp_layers, expert_imbalance
FROM typed
CROSS JOIN (
    SELECT map_from_entries(list((dtype, element_bytes))) AS bytes_of FROM element_sizes
) AS sizes;

-- One row per scenario: its work with the rates of its chip and the bytes of its types.
--
-- scenario_no       BIGINT    number of the scenario
-- scenario          VARCHAR   scenario
-- study             VARCHAR   sweep
-- formulas          VARCHAR   set of formulas: physical
-- execution         VARCHAR   execution profile
-- variant           UBIGINT   the model with its dimensions scaled
-- model             VARCHAR   model
-- phase             VARCHAR   prefill, decode or training
-- batch             BIGINT    sequences of a replica
-- seq_len           BIGINT    new tokens of each
-- kv_len            BIGINT    cached tokens of each
-- requests          STRUCT[]  groups of equal requests; if not NULL, they replace these three
-- tokens            BIGINT    new tokens of a replica
-- cached_tokens     BIGINT    cached tokens of a replica
-- request_count     BIGINT    sequences of a replica
-- logit_rows        BIGINT    rows of the output head
-- given_pairs       BIGINT    pairs of query and key from a trace
-- form              VARCHAR   form of a latent attention
-- tp                BIGINT    degree of tensor parallelism
-- ep                BIGINT    degree of expert parallelism
-- dp                BIGINT    replicas
-- pp                BIGINT    pipeline stages
-- cp                BIGINT    context-parallel ranks
-- head_tp           BIGINT    ranks that share the output head
-- expert_tp         BIGINT    ranks that share an expert
-- group_ranks       BIGINT    ranks with tokens of their own that meet in an expert-parallel group
-- visited_experts   DOUBLE    experts of a rank that some token visits: in balance, each visits
--                             top_k different ones of all
-- mtp_layers        BIGINT    layers of multi-token prediction that run
-- expert_imbalance  DOUBLE    busiest rank over the mean
-- microbatches      BIGINT    microbatches of a training step
-- virtual_stages    BIGINT    parts of the layers that a stage holds
-- zero_stage        BIGINT    what replicas share: 1 optimizer's state, 2 gradients, 3 weights too
-- recompute         BOOLEAN   the forward pass is computed again
-- fuses             BOOLEAN   elementwise work and scores stay on the chip
-- trains            BOOLEAN   the phase is training
-- passes            DOUBLE    forward passes that products cost: 3 with the backward one, 4 with
--                             recompute
-- core_passes       DOUBLE    the same of an attention, whose scores are computed again
-- weight_reads      DOUBLE    times that weights are read
-- gradient_moves    DOUBLE    bytes moved of the gradient of a weight: 4 written, 8 where summed up
-- kv_split          DOUBLE    ranks that share the heads of keys; with more ranks than heads they
--                             hold copies
-- hardware          VARCHAR   chip
-- linear_size       DOUBLE    bytes of a weight of a linear layer
-- expert_size       DOUBLE    bytes of a weight of an expert
-- plain_size        DOUBLE    bytes of a weight of either that is not quantised
-- head_size         DOUBLE    bytes of a weight of the head or the router
-- activation_size   DOUBLE    bytes of an activation
-- kv_size           DOUBLE    bytes of an element of the KV cache
-- dispatch_size     DOUBLE    bytes of an element sent to an expert
-- gemm_dtype        VARCHAR   type the linear layers compute in
-- plain_dtype       VARCHAR   type they compute in where weights are not quantised
-- core_dtype        VARCHAR   type the attention computes in
-- head_dtype        VARCHAR   type the head and the router compute in
-- gemm_tflops       DOUBLE    peak in the first, TFLOP/s
-- plain_tflops      DOUBLE    peak in the second, TFLOP/s
-- core_tflops       DOUBLE    peak in the third, TFLOP/s
-- head_tflops       DOUBLE    peak in the fourth, TFLOP/s
-- fp32_tflops       DOUBLE    peak in TF32, else FP32, TFLOP/s
-- vector_tflops     DOUBLE    peak outside the matrix units, TFLOP/s
-- hbm_gbps          DOUBLE    memory bandwidth, GB/s
-- link_gbps         DOUBLE    bandwidth of the chip's links per direction, GB/s
-- scaleout_gbps     DOUBLE    network bandwidth beyond them per direction, GB/s
-- domain_size       BIGINT    chips that the links reach; NULL: all
-- peer_links        BIGINT    links of a chip, each to one other; NULL: a switch joins them
-- link_us           DOUBLE    time of a hop over the links, µs
-- scaleout_us       DOUBLE    time of a hop over the network, µs
-- copied_share      DOUBLE    copies of a token, one for each domain it goes to at most, over its
--                             experts
-- saturation_rows   DOUBLE    rows from which a product runs at full speed; NULL: one is enough
-- tile_rows         DOUBLE    rows of a tile; NULL: products are not cut
-- tile_columns      DOUBLE    columns of a tile
-- num_sms           INTEGER   multiprocessors, each of which does a tile at a time
-- core_share        DOUBLE    part of an attention's FLOP that matrix units do
-- linear_share      DOUBLE    part of another product's FLOP that they do
-- scalar_share      DOUBLE    speed of the rest over the peak
-- flop_fraction     DOUBLE    part of the peaks that kernels reach
-- hbm_fraction      DOUBLE    part of the memory bandwidth that they reach
-- net_fraction      DOUBLE    part of the links' bandwidth that they reach
CREATE VIEW _priced_scenarios AS
SELECT
    scenario_no, scenario, study, formulas, q.execution, variant, model, phase, batch, seq_len,
    kv_len, requests, tokens, cached_tokens, request_count, logit_rows, given_pairs, form, tp, ep,
    dp, pp, cp, head_tp,
    greatest(tp // ep, 1) AS expert_tp, least(greatest(ep // tp, 1), dp * cp) AS group_ranks,
    num_experts / ep * (1 - pow(1 - top_k / num_experts, tokens / cp * group_ranks))
        AS visited_experts,
    mtp_layers, expert_imbalance, microbatches, virtual_stages, zero_stage, recompute,
    e.attention_bytes_model = 'flash' AS fuses, phase = 'training' AS trains,
    CAST(CASE WHEN NOT trains THEN 1 WHEN recompute THEN 4 ELSE 3 END AS DOUBLE) AS passes,
    passes + CASE WHEN trains AND fuses THEN 0.5 ELSE 0.0 END AS core_passes,
    CAST(CASE WHEN NOT trains THEN 1 WHEN recompute THEN 3 ELSE 2 END AS DOUBLE) AS weight_reads,
    CAST(CASE WHEN NOT trains THEN 0 WHEN microbatches > 1 THEN 8 ELSE 4 END AS DOUBLE)
        AS gradient_moves,
    num_kv_heads / ceil(num_kv_heads / tp) AS kv_split,
    q.hardware,
    bytes_of[q.weight_dtype]
    + coalesce(
        CASE WHEN weight_dtype = expert_dtype THEN scale_bytes ELSE linear_scale_bytes END, 0
    ) AS linear_size,
    bytes_of[q.expert_dtype] + coalesce(scale_bytes, 0) AS expert_size,
    bytes_of[q.plain_dtype] AS plain_size, bytes_of[q.head_dtype] AS head_size,
    bytes_of[q.activation_dtype] AS activation_size, bytes_of[q.kv_dtype] AS kv_size,
    -- Tokens are sent to experts in the type of the products.
    bytes_of[
        CASE WHEN h.hardware IS NOT NULL AND gemm_peak.peak_tflops IS NULL THEN q.activation_dtype
            ELSE q.gemm_dtype
        END
    ] AS dispatch_size,
    -- A chip without the type computes in the activations' type.
    CASE WHEN h.hardware IS NOT NULL AND gemm_peak.peak_tflops IS NULL THEN activation_dtype
        ELSE gemm_dtype
    END AS gemm_dtype,
    CASE WHEN h.hardware IS NOT NULL AND plain_peak.peak_tflops IS NULL THEN activation_dtype
        ELSE plain_gemm_dtype
    END AS plain_dtype,
    activation_dtype AS core_dtype, q.head_dtype,
    coalesce(gemm_peak.peak_tflops, core_peak.peak_tflops) AS gemm_tflops,
    coalesce(plain_peak.peak_tflops, core_peak.peak_tflops) AS plain_tflops,
    core_peak.peak_tflops AS core_tflops, head_peak.peak_tflops AS head_tflops,
    coalesce(peak_tf32_tflops, peak_fp32_tflops, vector_fp32_tflops) AS fp32_tflops,
    vector_fp32_tflops AS vector_tflops, hbm_gbps, h.link_gbps,
    coalesce(t.scaleout_gbps, h.link_gbps) AS scaleout_gbps, t.domain_size,
    CASE WHEN t.is_mesh THEN t.domain_size - 1 END AS peer_links,
    coalesce(t.link_latency_us, 0) AS link_us, coalesce(t.latency_us, 0) AS scaleout_us,
    -- One copy per domain with some of the token's experts, not one per expert.
    least(
        1.0, greatest(ceil(ep / t.domain_size), 1) / top_k,
        -- A group of experts is in one domain, or in several if there are more domains than groups.
        CASE
            WHEN expert_groups > 1 AND top_groups >= 1
                THEN top_groups * greatest(ceil(ep / t.domain_size) / expert_groups, 1) / top_k
        END
    ) AS copied_share,
    CASE WHEN tensor_core_model THEN saturation_rows END AS saturation_rows, tile_rows,
    tile_columns, num_sms,
    CASE WHEN tensor_core_model THEN attention_tensor_share ELSE 1.0 END AS core_share,
    CASE WHEN tensor_core_model THEN linear_tensor_share ELSE 1.0 END AS linear_share,
    scalar_efficiency AS scalar_share,
    flop_fraction, hbm_fraction, net_fraction
FROM _questions AS q
CROSS JOIN (
    SELECT map_from_entries(list((dtype, element_bytes))) AS bytes_of FROM element_sizes
) AS sizes
JOIN execution_profiles AS e ON e.execution = q.execution
LEFT JOIN hardware AS h ON h.hardware = q.hardware
LEFT JOIN topologies AS t ON t.hardware = q.hardware
LEFT JOIN hardware_peaks AS gemm_peak
    ON gemm_peak.hardware = q.hardware AND gemm_peak.dtype = q.gemm_dtype
LEFT JOIN hardware_peaks AS plain_peak
    ON plain_peak.hardware = q.hardware AND plain_peak.dtype = q.plain_gemm_dtype
LEFT JOIN hardware_peaks AS core_peak
    ON core_peak.hardware = q.hardware AND core_peak.dtype = q.activation_dtype
LEFT JOIN hardware_peaks AS head_peak
    ON head_peak.hardware = q.hardware AND head_peak.dtype = q.head_dtype;
