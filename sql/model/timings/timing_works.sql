-- One row per scenario of timing_metadata and unit that can be timed: its work. A unit is a layer
-- of a kind, the mean of all layers, the part outside the layers, or a pass.
--
-- key: request, scope, layer_kind?
--
-- request         VARCHAR  scenario
-- scope           VARCHAR  layer, ends or pass
-- layer_kind      VARCHAR  kind of layer; mean of all layers; ends and mtp for the parts outside
--                          layers; NULL for a pass
-- layers          BIGINT   layers of that kind; of all kinds for the mean and for a pass
-- flop            DOUBLE   FLOP of all replicas
-- flop_rank       DOUBLE   FLOP of one rank
-- attention_flop  DOUBLE   part of attention, its projections and the indexer, of all replicas
-- mlp_flop        DOUBLE   part of MLP, experts and router
-- weight_bytes    DOUBLE   weights that a rank reads
-- kv_bytes        DOUBLE   KV cache that a rank reads and writes
-- bytes           DOUBLE   all bytes that a rank reads and writes
-- intensity       DOUBLE   FLOP of a rank per byte
-- compute_us      DOUBLE   time at the peaks of the types, µs; NULL if a peak is unknown
-- memory_us       DOUBLE   time of the bytes at the memory's bandwidth, µs; NULL if it is unknown
-- roofline_us     DOUBLE   sum over operators of the longer of both, µs; NULL if one is unknown
-- cluster_us      DOUBLE   time of all replicas' FLOP at the peaks of all GPUs, µs; NULL if a peak
--                          is unknown
CREATE VIEW timing_works AS
WITH real_types AS (
    -- Types that kernels show take precedence over those of the model.
    SELECT groups.request, groups.layer_kind, op_seq, peaks.peak_tflops
    FROM timing_groups AS groups
    JOIN _timing_groups USING (request, group_id)
    JOIN scenarios ON scenarios.scenario = groups.request
    JOIN hardware_peaks AS peaks
        ON peaks.hardware = scenarios.hardware AND peaks.dtype = groups.dtype
),
works AS (
    SELECT
        template.request, template.layer_kind, layers, stages, category, flop * replicas AS flop,
        flop_rank, gpus, weight_bytes, kv_bytes, bytes, hbm_gbps,
        coalesce(real_types.peak_tflops, template.peak_tflops) AS peak_tflops
    FROM timing_template AS template
    LEFT JOIN real_types
        ON real_types.request = template.request AND real_types.layer_kind = template.layer_kind
        AND real_types.op_seq = template.op_seq
),
kinds AS (
    SELECT
        request, layer_kind, any_value(layers) AS layers, any_value(stages) AS stages,
        sum(flop) AS flop, sum(flop_rank) AS flop_rank,
        coalesce(sum(flop) FILTER (category IN ('attention', 'attention_core')), 0)
            AS attention_flop,
        coalesce(sum(flop) FILTER (category IN ('mlp', 'moe', 'router')), 0) AS mlp_flop,
        sum(weight_bytes) AS weight_bytes, sum(kv_bytes) AS kv_bytes, sum(bytes) AS bytes,
        -- NULL if a peak is missing.
        count(*) FILTER (flop > 0 AND peak_tflops IS NULL) = 0 AS peaks_known,
        sum(CASE WHEN flop > 0 THEN flop_rank / peak_tflops / 1e6 ELSE 0 END) AS compute_us,
        sum(CASE WHEN flop > 0 THEN flop * stages / peak_tflops / 1e6 / gpus ELSE 0 END)
            AS cluster_us,
        sum(bytes) / any_value(hbm_gbps) / 1e3 AS memory_us,
        sum(greatest(
            CASE WHEN flop > 0 THEN flop_rank / peak_tflops / 1e6 ELSE 0 END,
            bytes / hbm_gbps / 1e3
        )) AS roofline_us
    FROM works
    GROUP BY request, layer_kind
),
parts AS (
    SELECT
        request, layer_kind, layer_kind AS whole, 1.0 AS times,
        CASE WHEN layer_kind IN ('ends', 'mtp') THEN 'ends' ELSE 'layer' END AS scope
    FROM kinds
    UNION ALL
    SELECT
        request, layer_kind, 'mean of all layers',
        layers / sum(layers) OVER (PARTITION BY request), 'layer'
    FROM kinds
    WHERE layer_kind NOT IN ('ends', 'mtp')
    UNION ALL
    -- A stage of a pipeline has its part of the layers.
    SELECT request, layer_kind, NULL, layers / stages, 'pass'
    FROM kinds
)
SELECT
    request, scope, whole AS layer_kind,
    CAST(
        sum(layers) FILTER (scope = 'ends' OR layer_kind NOT IN ('ends', 'mtp')) AS BIGINT
    ) AS layers,
    sum(times * flop) AS flop, sum(times * flop_rank) AS flop_rank,
    sum(times * attention_flop) AS attention_flop, sum(times * mlp_flop) AS mlp_flop,
    sum(times * weight_bytes) AS weight_bytes, sum(times * kv_bytes) AS kv_bytes,
    sum(times * bytes) AS bytes,
    sum(times * flop_rank) / nullif(sum(times * bytes), 0) AS intensity,
    CASE WHEN bool_and(peaks_known) THEN sum(times * compute_us) END AS compute_us,
    sum(times * memory_us) AS memory_us,
    CASE WHEN bool_and(peaks_known AND memory_us IS NOT NULL) THEN sum(times * roofline_us) END
        AS roofline_us,
    CASE WHEN bool_and(peaks_known) THEN sum(times * cluster_us) END AS cluster_us
FROM parts
JOIN kinds USING (request, layer_kind)
GROUP BY request, scope, whole;
