-- One row per pass, layer and category as the reference analyser counts them, errors included: its
-- own rules, on all kernels from an anchor up to the next.
--
-- `FROM reference_categories(trace_id, anchor, layers, blocks per layer)`; what is NULL comes from
-- the trace's settings.
--
-- trace_id      VARCHAR  trace
-- pass_id       BIGINT   pass, from 0
-- layer_id      BIGINT   layer, from 0
-- category      VARCHAR  category by reference_rules, other where none fits
-- kernel_count  BIGINT   kernels
-- sum_ns        BIGINT   sum of their durations, ns
CREATE MACRO reference_categories(of_trace, of_anchor, of_layers, of_blocks) AS TABLE
WITH plan AS (
    SELECT anchor, num_layers, blocks_per_layer, pass_count
    FROM _reference_plan(of_trace, of_anchor, of_layers, of_blocks)
)
SELECT
    k.trace_id,
    CAST(k.block // (p.num_layers * p.blocks_per_layer) AS BIGINT) AS pass_id,
    CAST(k.block // p.blocks_per_layer % p.num_layers AS BIGINT) AS layer_id,
    names.category,
    count(*) AS kernel_count,
    CAST(sum(k.dur_ns) AS BIGINT) AS sum_ns
FROM _reference_kernels(of_trace, (SELECT anchor FROM plan)) AS k
JOIN plan AS p ON k.block BETWEEN 0 AND p.pass_count * p.num_layers * p.blocks_per_layer - 1
JOIN _reference_names(of_trace) AS names ON names.name = k.name
GROUP BY ALL;
