-- One row per scenario of the reference's compute simulator: FLOP of a forward pass and its MFU as
-- the simulator computes them, errors included.
--
-- key: request
--
-- request            VARCHAR  scenario, from compat_requests
-- model              VARCHAR  model, from compat_models; NULL if it has none of that name
-- num_layers         BIGINT   layers
-- total_flop         HUGEINT  FLOP of the pass, of all GPUs
-- embed_flop         HUGEINT  part that it calls the embedding: the output head for every token
-- layer_flop         HUGEINT  FLOP of layer 0
-- attention_flop     HUGEINT  part of the category attention
-- moe_ffn_flop       HUGEINT  part of the categories moe and ffn
-- flop_gpu           DOUBLE   FLOP of the pass on one GPU
-- peak_tflops        DOUBLE   peak that it divides by; NULL if it does not have the GPU
-- measured_ms        DOUBLE   time of a pass by whatever was measured, ms
-- mfu_pct            DOUBLE   share of the peak
-- per_layer_mfu_pct  DOUBLE   the same computed from one layer, so no additional information
CREATE VIEW compat_model_mfu AS
WITH layer_sums AS (
    SELECT
        request,
        sum(layers * flop) AS flop,
        sum(layers * flop_gpu) AS flop_gpu,
        sum(flop) FILTER (first_layer = 0) AS layer_flop,
        sum(flop) FILTER (first_layer = 0 AND category = 'attention') AS attention_flop,
        sum(flop) FILTER (first_layer = 0 AND category IN ('moe', 'ffn')) AS moe_ffn_flop
    FROM compat_model_operators
    GROUP BY request
),
summed AS (
    SELECT
        request, model, asked.num_layers, peak_tflops, measured_ms,
        CAST(2 AS HUGEINT) * batch * seq_len * hidden_size * vocab_size AS embed_flop,
        embed_flop + flop AS total_flop,
        embed_flop / tp + flop_gpu AS flop_gpu,
        layer_flop, attention_flop, moe_ffn_flop
    FROM _compat_questions AS asked
    LEFT JOIN _compat_model_dims USING (model)
    LEFT JOIN layer_sums USING (request)
)
SELECT
    request, model, num_layers, CAST(total_flop AS HUGEINT) AS total_flop, embed_flop,
    CAST(layer_flop AS HUGEINT) AS layer_flop,
    CAST(attention_flop AS HUGEINT) AS attention_flop,
    CAST(moe_ffn_flop AS HUGEINT) AS moe_ffn_flop,
    flop_gpu, peak_tflops, measured_ms,
    flop_gpu / (peak_tflops * 1e12) / (measured_ms / 1000) * 100 AS mfu_pct,
    flop_gpu / num_layers / (peak_tflops * 1e12) / (measured_ms / num_layers / 1000) * 100
        AS per_layer_mfu_pct
FROM summed;
