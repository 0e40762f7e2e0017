-- One row per timed kernel of a layer, in the order given: which operators its time belongs to, and
-- how close it comes to the peak. No row is left out; the times of the three fates sum to that of
-- all kernels.
--
-- key: request, position
--
-- request        VARCHAR    scenario
-- position       BIGINT     order, from 0
-- half           VARCHAR    part of the layer
-- category       VARCHAR    kernel category as given; if that is other or missing, by the name
-- name           VARCHAR    name of the kernel, or of the category if only sums are given
-- short_name     VARCHAR    display name, if given
-- shape          VARCHAR    shapes of its inputs, as given
-- dur_us         DOUBLE     duration, µs
-- layer_pct      DOUBLE     share of the durations of all kernels
-- fate           VARCHAR    assigned, overhead or unmapped
-- reason         VARCHAR    kind of overhead; why it is unmapped; NULL if it is assigned
-- map_rule       VARCHAR    operator (the category is its name), shape_match or category
-- group_id       INTEGER    group of operators, see timing_groups
-- operators      VARCHAR[]  operators of the kernel itself
-- group_share    DOUBLE     its part of the group's time
-- dtype          VARCHAR    type that it multiplies in; NULL: unknown, the operators' type is used
-- dtype_source   VARCHAR    where that is from: input types, name or category
-- flop_rank      DOUBLE     FLOP of one rank, by its operators, else for a product by its shapes;
--                           NULL if several kernels of a group share them
-- peak_dtype     VARCHAR    type whose peak is used: its group's, which may mix operators, else its
--                           own
-- peak_tflops    DOUBLE     peak that it is compared with, TFLOP/s
-- compute_us     DOUBLE     time of its FLOP at the peak, µs
-- mfu_pct        DOUBLE     compute_us over dur_us
-- roofline_pct   DOUBLE     the longer of compute_us and the time of its bytes, over dur_us; NULL
--                           if no operator gives these
-- flag_over_100  BOOLEAN    one of these exceeds 100, or the group's if the kernel has none
-- over_100_causes VARCHAR   possible reasons, separated by semicolons
CREATE VIEW timing_kernels AS
WITH linked AS (
    SELECT
        links.request, links.position, any_value(map_rule) AS map_rule,
        any_value(group_id) AS group_id, list(op ORDER BY op_seq) AS operators
    FROM _timing_links AS links
    JOIN _timing_groups USING (request, op_seq)
    GROUP BY links.request, links.position
),
fitting AS (
    SELECT kernels.request, kernels.position, count(DISTINCT product) AS products
    FROM _timing_rows AS kernels
    JOIN _timing_products AS products
        ON products.request = kernels.request
        AND products.n = kernels.n AND products.k = kernels.k
    GROUP BY kernels.request, kernels.position
),
-- Products of unknown operators have the FLOP that their shapes show.
shaped AS (
    SELECT
        kernels.request, kernels.position, CAST(flop AS DOUBLE) AS flop_rank, kernels.dtype,
        peaks.peak_tflops, flop / peaks.peak_tflops / 1e6 AS compute_us,
        100 * compute_us / nullif(dur_us, 0) AS mfu_pct
    FROM _timing_rows AS kernels
    JOIN scenarios ON scenarios.scenario = kernels.request
    JOIN timing_rules AS rules ON rules.category = kernels.category AND rules.fate = 'product'
    ANTI JOIN linked
        ON linked.request = kernels.request AND linked.position = kernels.position
    LEFT JOIN hardware_peaks AS peaks
        ON peaks.hardware = scenarios.hardware AND peaks.dtype = kernels.dtype
    WHERE flop > 0
)
SELECT
    kernels.request, kernels.position, half, kernels.category, name, short_name,
    shape, dur_us,
    100 * dur_us / nullif(sum(dur_us) OVER (PARTITION BY kernels.request), 0) AS layer_pct,
    CASE
        WHEN map_rule IS NOT NULL THEN 'assigned'
        WHEN rules.fate = 'overhead' THEN 'overhead'
        ELSE 'unmapped'
    END AS fate,
    CASE
        WHEN map_rule IS NOT NULL THEN NULL
        WHEN rules.fate = 'overhead' THEN subclass
        WHEN rules.fate = 'operators' THEN 'no such operator in this layer'
        WHEN rules.fate = 'product' AND n IS NULL THEN 'product without shapes'
        WHEN rules.fate = 'product' AND products > 1 THEN 'several products of this shape'
        WHEN rules.fate = 'product' THEN 'no product of this shape'
        ELSE coalesce(rules.comment, 'unknown category')
    END AS reason,
    map_rule, linked.group_id, linked.operators,
    dur_us / nullif(measured_us, 0) AS group_share,
    kernels.dtype, dtype_source,
    CASE WHEN groups.kernel_count = 1 THEN groups.flop_rank ELSE shaped.flop_rank END AS flop_rank,
    coalesce(groups.peak_dtype, shaped.dtype) AS peak_dtype,
    coalesce(groups.peak_tflops, shaped.peak_tflops) AS peak_tflops,
    CASE WHEN groups.kernel_count = 1 THEN groups.compute_us ELSE shaped.compute_us END
        AS compute_us,
    CASE WHEN groups.kernel_count = 1 THEN groups.mfu_pct ELSE shaped.mfu_pct END AS mfu_pct,
    CASE WHEN groups.kernel_count = 1 THEN groups.roofline_pct END AS roofline_pct,
    coalesce(groups.flag_over_100, shaped.mfu_pct > 100) AS flag_over_100,
    coalesce(
        groups.over_100_causes,
        CASE WHEN shaped.mfu_pct > 100 THEN reasons_over_100(['always', 'any', 'shape']) END
    ) AS over_100_causes
FROM _timing_rows AS kernels
JOIN scenarios ON scenarios.scenario = kernels.request
LEFT JOIN timing_rules AS rules ON rules.category = kernels.category
LEFT JOIN linked
    ON linked.request = kernels.request AND linked.position = kernels.position
LEFT JOIN fitting
    ON fitting.request = kernels.request AND fitting.position = kernels.position
LEFT JOIN timing_groups AS groups
    ON groups.request = kernels.request AND groups.group_id = linked.group_id
LEFT JOIN shaped
    ON shaped.request = kernels.request AND shaped.position = kernels.position;
