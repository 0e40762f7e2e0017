-- One row per pass and layer as the reference analyser counts them, errors included.
-- Provided for comparison with layers, which is the relation to use.
--
-- `FROM compat_layers(trace_id, anchor, layers, blocks per layer)`; NULL arguments default to the
-- trace's settings. Each layer begins with an anchor and ends before the next layer's, wherever in
-- the layer the anchor kernel really stands. Kernels of all streams and devices are mixed. A sum
-- beyond 64 bits is NULL.
--
-- trace_id         VARCHAR  trace
-- pass_id          BIGINT   pass, from 0
-- layer_id         BIGINT   layer, from 0
-- layer_type       VARCHAR  FIRST, HASH or FINAL, by place; else by the ratio: FULL_ATTN,
--                           C4_LIGHT, C128_HEAVY, or CR with the ratio behind it
-- compress_ratio   INTEGER  compression of the attention's keys, -1 when unknown
-- start_ns         BIGINT   start of the first kernel
-- end_ns           BIGINT   end of the kernel that starts last, which need not be the latest end
-- wall_ns          BIGINT   from that start to that end
-- sum_ns           BIGINT   sum of the kernels' durations
-- mla_ns           BIGINT   sum over latent attention
-- moe_ns           BIGINT   sum over the routed experts' kernel
-- gemm_ns          BIGINT   sum over dense matmuls
-- nccl_ns          BIGINT   sum over communication
-- mhc_ns           BIGINT   sum over the mixing of residual streams
-- hadamard_ns      BIGINT   sum over Hadamard transforms
-- kernel_count     BIGINT   kernels
-- allreduce_count  BIGINT   kernels whose name contains AllReduce
CREATE MACRO compat_layers(of_trace, of_anchor, of_layers, of_blocks) AS TABLE
WITH plan AS (
    SELECT
        anchor, num_layers, blocks_per_layer, compress_ratios, num_hash_layers, pass_count
    FROM _compat_plan(of_trace, of_anchor, of_layers, of_blocks)
),
placed AS (
    SELECT
        k.trace_id, k.place, k.name, k.category, k.kind, k.start_ns, k.end_ns, k.dur_ns,
        p.num_layers, p.compress_ratios, p.num_hash_layers,
        CAST(k.block // (p.num_layers * p.blocks_per_layer) AS BIGINT) AS pass_id,
        CAST(k.block // p.blocks_per_layer % p.num_layers AS BIGINT) AS layer_id
    FROM _compat_kernels(of_trace, (SELECT anchor FROM plan)) AS k
    JOIN plan AS p ON k.block BETWEEN 0 AND p.pass_count * p.num_layers * p.blocks_per_layer - 1
),
measured AS (
    SELECT
        trace_id, pass_id, layer_id, num_layers,
        coalesce(any_value(compress_ratios)[layer_id + 1], -1) AS compress_ratio,
        coalesce(any_value(num_hash_layers), 0) AS num_hash_layers,
        min(start_ns) AS start_ns, arg_max(end_ns, place) AS end_ns, sum(dur_ns) AS sum_ns,
        sum(dur_ns) FILTER (category = 'mla') AS mla_ns,
        sum(dur_ns) FILTER (category = 'moe') AS moe_ns,
        sum(dur_ns) FILTER (starts_with(category, 'gemm')) AS gemm_ns,
        sum(dur_ns) FILTER (kind = 'communication') AS nccl_ns,
        sum(dur_ns) FILTER (starts_with(category, 'mhc')) AS mhc_ns,
        sum(dur_ns) FILTER (category = 'hadamard') AS hadamard_ns,
        count(*) AS kernel_count,
        count(*) FILTER (contains(name, 'AllReduce')) AS allreduce_count
    FROM placed
    GROUP BY trace_id, pass_id, layer_id, num_layers
)
SELECT
    trace_id, pass_id, layer_id,
    CASE
        WHEN layer_id = 0 THEN 'FIRST'
        WHEN num_hash_layers > 0 AND layer_id >= num_layers - num_hash_layers THEN 'HASH'
        WHEN layer_id = num_layers - 1 THEN 'FINAL'
        WHEN compress_ratio = 0 THEN 'FULL_ATTN'
        WHEN compress_ratio = 4 THEN 'C4_LIGHT'
        WHEN compress_ratio = 128 THEN 'C128_HEAVY'
        ELSE 'CR' || compress_ratio
    END AS layer_type,
    compress_ratio, start_ns, end_ns, end_ns - start_ns AS wall_ns,
    TRY_CAST(sum_ns AS BIGINT) AS sum_ns,
    TRY_CAST(coalesce(mla_ns, 0) AS BIGINT) AS mla_ns,
    TRY_CAST(coalesce(moe_ns, 0) AS BIGINT) AS moe_ns,
    TRY_CAST(coalesce(gemm_ns, 0) AS BIGINT) AS gemm_ns,
    TRY_CAST(coalesce(nccl_ns, 0) AS BIGINT) AS nccl_ns,
    TRY_CAST(coalesce(mhc_ns, 0) AS BIGINT) AS mhc_ns,
    TRY_CAST(coalesce(hadamard_ns, 0) AS BIGINT) AS hadamard_ns,
    kernel_count, allreduce_count
FROM measured;
