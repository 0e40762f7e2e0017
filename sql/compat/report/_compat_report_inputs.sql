-- One row per accelerator with the figures that the reference report's formulas use: its own if it
-- knows the chip, else those of the table hardware, as the report has them: the FP8 peak, or that
-- of BF16 if there is none, and the link in both directions together.
CREATE VIEW _compat_report_rates AS
SELECT
    hardware,
    coalesce(s.peak_tflops, peak_fp8_tflops, peak_bf16_tflops, peak_fp16_tflops) AS peak_tflops,
    coalesce(s.hbm_gbps, h.hbm_gbps) AS hbm_gbps,
    coalesce(s.net_gbps, 2 * h.link_gbps) AS net_gbps,
    coalesce(s.hbm_gb, h.hbm_gb) AS hbm_gb
FROM hardware AS h
FULL JOIN compat_report_chips AS s USING (hardware);

-- One row per scenario of the reference report's formulas: all inputs of its calculation.
--
-- The symbols are those of the report. In a decode pass a sequence has one token and sees kv_len
-- cached ones; in prefill and training it has seq_len and sees no others. Types that a scenario
-- does not give have one byte; the KV cache has the type of the activations.
--
-- point                    BIGINT   the scenario's row
-- model                    VARCHAR  model
-- phase                    VARCHAR  training, prefill or decode
-- is_decode                BOOLEAN  it is decode
-- by_family                BOOLEAN  the model is taken by families of modules: the DeepSeek way
-- batch                    DOUBLE   B, sequences per chip
-- seq_len                  DOUBLE   S
-- kv_len                   DOUBLE   L
-- tokens                   DOUBLE   T
-- pairs                    DOUBLE   pairs of a query and a key
-- tp                       DOUBLE   TP, which divides memory alone
-- ep                       DOUBLE   EP
-- flop_factor              DOUBLE   x, 3 in training
-- byte_factor              DOUBLE   y, 2 in training
-- hidden_scale             DOUBLE   hs
-- attention_scale          DOUBLE   hs · max(hs, ks), what an attention grows by
-- layers                   DOUBLE   N
-- moe_layers               DOUBLE   N_m
-- hidden                   DOUBLE   H, scaled
-- expert_width             DOUBLE   d_moe, scaled
-- heads                    DOUBLE   h
-- experts                  DOUBLE   E
-- shared_experts           DOUBLE   n_s
-- top_k                    DOUBLE   k, the scenario's or the model's
-- local_experts            DOUBLE   routed experts on a chip: E/EP, or E of a model by modules
-- touched                  DOUBLE   how likely one of them gets a token, by Poisson's law
-- active_rows              DOUBLE   tokens of an expert that gets any
-- kv_elements              DOUBLE   C_kv, scaled, of a token and layer
-- attention_parameters     DOUBLE   of one layer
-- latent_flop_per_token    DOUBLE   of a latent attention, NULL of others
-- latent_flop_per_pair     DOUBLE   of a latent attention, NULL of others
-- routed_parameters        DOUBLE   of all routed experts
-- other_parameters         DOUBLE   of everything else
-- weight_bytes             DOUBLE   P, bytes of an element
-- activation_bytes         DOUBLE   A, bytes of an element
-- kv_bytes                 DOUBLE   A_kv, bytes of an element
-- peak_flops               DOUBLE   P_peak, FLOP/s
-- flop_rate                DOUBLE   its attainable part, FLOP/s
-- hbm_rate                 DOUBLE   attainable part of BW_hbm, bytes/s
-- net_rate                 DOUBLE   attainable part of BW_net, bytes/s
-- memory_bytes             DOUBLE   of the chip, as the report counts: 1024³ bytes to a GB
-- flash                    BOOLEAN  scores of the attention stay on the chip
-- attention_residency      DOUBLE   WRF_attn
-- dense_residency          DOUBLE   WRF_dense
-- moe_residency            DOUBLE   WRF_moe
-- activation_factor        DOUBLE   phi_a
-- elementwise_factor       DOUBLE   phi_e
-- saturation_rows          DOUBLE   b_sat; NULL: every product saturates
-- scalar_efficiency        DOUBLE   eta_scalar
-- attention_tensor_share   DOUBLE   eligible share of an attention
-- linear_tensor_share      DOUBLE   eligible share of a product
-- embedding_tensor_share   DOUBLE   eligible share of an embedding
-- network_tensor_share     DOUBLE   eligible share of a collective
CREATE VIEW _compat_report_inputs AS
WITH joined AS (
    SELECT
        s.scenario_no AS point, s.model, s.phase, s.phase = 'decode' AS is_decode, m.by_family,
        CAST(s.batch AS DOUBLE) AS batch,
        CAST(s.seq_len AS DOUBLE) AS seq_len,
        CAST(s.kv_len AS DOUBLE) AS kv_len,
        CAST(s.tp AS DOUBLE) AS tp, CAST(s.ep AS DOUBLE) AS ep,
        CASE WHEN s.phase = 'training' THEN training_flop_factor ELSE 1 END AS flop_factor,
        CASE WHEN s.phase = 'training' THEN training_byte_factor ELSE 1 END AS byte_factor,
        greatest(scale_floor, s.hidden_scale) AS hs,
        greatest(scale_floor, s.kv_rank_scale) AS ks,
        m.layers, m.moe_layers, m.hidden_size, m.expert_width AS full_expert_width, m.heads,
        m.experts, m.shared_experts,
        least(greatest(coalesce(CAST(s.top_k AS DOUBLE), m.top_k), 1), greatest(m.experts, 1))
            AS top_k,
        m.attention_parameters, m.latent_elements, m.latent_flop_per_token, m.latent_flop_per_pair,
        m.routed_parameters, m.other_parameters,
        greatest(coalesce(weights.element_bytes, d.element_bytes), 1) AS weight_bytes,
        greatest(coalesce(activations.element_bytes, d.element_bytes), 1) AS activation_bytes,
        greatest(
            coalesce(cached.element_bytes, activations.element_bytes, d.element_bytes), 1
        ) AS kv_bytes,
        c.peak_tflops * 1e12 AS peak_flops,
        c.peak_tflops * 1e12 * p.flop_fraction AS flop_rate,
        c.hbm_gbps * 1e9 * p.hbm_fraction AS hbm_rate,
        c.net_gbps * 1e9 * p.net_fraction AS net_rate,
        c.hbm_gb * 1024 * 1024 * 1024 AS memory_bytes,
        p.attention_bytes_model = 'flash' AS flash,
        p.attention_residency, p.dense_residency, p.moe_residency, p.activation_factor,
        p.elementwise_factor,
        CASE WHEN p.tensor_core_model THEN p.saturation_rows END AS saturation_rows,
        CASE WHEN p.tensor_core_model THEN p.scalar_efficiency ELSE 1 END AS scalar_efficiency,
        p.attention_tensor_share, p.linear_tensor_share, p.embedding_tensor_share,
        p.network_tensor_share
    FROM _compat_scenarios AS s
    JOIN _compat_report_models AS m USING (model)
    JOIN execution_profiles AS p USING (execution)
    CROSS JOIN _compat_report_constants AS d
    LEFT JOIN _compat_report_rates AS c USING (hardware)
    LEFT JOIN element_sizes AS weights ON weights.dtype = s.weight_dtype
    LEFT JOIN element_sizes AS activations ON activations.dtype = s.activation_dtype
    LEFT JOIN element_sizes AS cached ON cached.dtype = s.kv_dtype
),
scaled AS (
    SELECT
        *,
        CASE WHEN is_decode THEN batch ELSE batch * seq_len END AS tokens,
        CASE WHEN is_decode THEN batch * kv_len ELSE batch * seq_len * seq_len END AS pairs,
        greatest(round_even(hidden_size * hs, 0), 1) AS hidden,
        greatest(round_even(full_expert_width * hs, 0), 1) AS expert_width,
        -- Each of the EP ranks brings tokens of its own, so a chip gets as many as it sends.
        CASE WHEN by_family THEN greatest(ceil(experts / ep), 1) ELSE greatest(experts, 1) END
            AS local_experts
    FROM joined
),
visited AS (
    SELECT
        *, tokens * top_k / local_experts AS rows_each,
        1 - exp(-tokens * top_k / local_experts) AS touched
    FROM scaled
)
SELECT
    point, model, phase, is_decode, by_family, batch, seq_len, kv_len, tokens, pairs, tp, ep,
    flop_factor, byte_factor, hs AS hidden_scale, hs * greatest(hs, ks) AS attention_scale,
    layers, moe_layers, hidden, expert_width, heads, experts,
    shared_experts, top_k, local_experts, touched,
    CASE WHEN touched > 1e-12 THEN rows_each / touched ELSE 0 END AS active_rows,
    greatest(round_even(coalesce(latent_elements, 2 * hidden) * ks, 0), 1) AS kv_elements,
    attention_parameters, latent_flop_per_token, latent_flop_per_pair, routed_parameters,
    other_parameters, weight_bytes, activation_bytes, kv_bytes, peak_flops, flop_rate, hbm_rate,
    net_rate, memory_bytes, flash, attention_residency, dense_residency, moe_residency,
    activation_factor, elementwise_factor, saturation_rows, scalar_efficiency,
    attention_tensor_share, linear_tensor_share, embedding_tensor_share, network_tensor_share
FROM visited;
