-- One row per distinct kernel name of a trace with its category by the reference analyser's rules:
-- the first match, the rules of the trace's profile before the general ones.
--
-- `FROM _compat_names(trace_id)`
CREATE MACRO _compat_names(of_trace) AS TABLE
WITH names AS (
    SELECT DISTINCT name FROM kernels WHERE trace_id = of_trace
),
rules AS (
    SELECT profile, place, category, needle, fold_case
    FROM compat_rules
    WHERE profile = 'any' OR profile = (SELECT profile FROM traces WHERE trace_id = of_trace)
)
SELECT
    names.name,
    coalesce(
        arg_min(r.category, (CASE WHEN r.profile = 'any' THEN 1 ELSE 0 END, r.place)), 'other'
    ) AS category
FROM names
LEFT JOIN rules AS r
    ON contains(CASE WHEN r.fold_case THEN lower(names.name) ELSE names.name END, r.needle)
GROUP BY names.name;

-- One row per pass, layer and category as the reference analyser counts them, errors included: its
-- own rules, on all kernels from an anchor up to the next.
--
-- `FROM compat_categories(trace_id, anchor, layers, blocks per layer)`; NULL arguments default to
-- the trace's settings.
--
-- trace_id      VARCHAR  trace
-- pass_id       BIGINT   pass, from 0
-- layer_id      BIGINT   layer, from 0
-- category      VARCHAR  category by compat_rules, other where none fits
-- kernel_count  BIGINT   kernels
-- sum_ns        BIGINT   sum of their durations, ns; NULL beyond 64 bits
CREATE MACRO compat_categories(of_trace, of_anchor, of_layers, of_blocks) AS TABLE
WITH plan AS (
    SELECT anchor, num_layers, blocks_per_layer, pass_count
    FROM _compat_plan(of_trace, of_anchor, of_layers, of_blocks)
)
SELECT
    k.trace_id,
    CAST(k.block // (p.num_layers * p.blocks_per_layer) AS BIGINT) AS pass_id,
    CAST(k.block // p.blocks_per_layer % p.num_layers AS BIGINT) AS layer_id,
    names.category,
    count(*) AS kernel_count,
    TRY_CAST(sum(k.dur_ns) AS BIGINT) AS sum_ns
FROM _compat_kernels(of_trace, (SELECT anchor FROM plan)) AS k
JOIN plan AS p ON k.block BETWEEN 0 AND p.pass_count * p.num_layers * p.blocks_per_layer - 1
JOIN _compat_names(of_trace) AS names ON names.name = k.name
GROUP BY ALL;
