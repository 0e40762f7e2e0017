-- One row per measured time of a scenario: how close it comes to the peak. A pass has all
-- operators, a layer those of its kind; a time given for layers of several kinds is compared with
-- their mean. The share of a layer is known only from times of layers; a list of kernels is one
-- only if it leaves out no product, or the time of all kernels is stated too.
--
-- key: request, scope, layer_kind?, basis
--
-- request          VARCHAR  scenario
-- scope            VARCHAR  pass or layer
-- layer_kind       VARCHAR  kind of layer; mean of all layers; NULL for a pass
-- basis            VARCHAR  wall (from begin to end), layer time (as stated), kernel sum or stated
--                           sum (of all kernels, those not listed among them)
-- time_us          DOUBLE   measured time, µs
-- flop             DOUBLE   FLOP of all replicas
-- flop_rank        DOUBLE   FLOP of one rank
-- bytes            DOUBLE   bytes that a rank reads and writes
-- peak_tflops      DOUBLE   peak of the types, weighted by FLOP, TFLOP/s
-- tflops           DOUBLE   flop_rank over time_us, TFLOP/s
-- compute_us       DOUBLE   time at that peak, µs
-- memory_us        DOUBLE   time of the bytes at the memory's bandwidth, µs
-- roofline_us      DOUBLE   sum over operators of the longer of both, µs
-- mfu_pct          DOUBLE   compute_us over time_us
-- cluster_mfu_pct  DOUBLE   FLOP of all replicas over time, peak and number of GPUs; of a pass
-- mbu_pct          DOUBLE   memory_us over time_us
-- roofline_pct     DOUBLE   roofline_us over time_us
-- flag_over_100    BOOLEAN  one of these exceeds 100
-- over_100_causes  VARCHAR  possible reasons, separated by semicolons
CREATE VIEW timing_mfu AS
WITH times AS (
    SELECT
        request, 'pass' AS scope, NULL AS layer_kind, 'wall' AS basis,
        1000 * measured_ms AS time_us
    FROM timing_metadata
    UNION ALL
    SELECT
        request, 'layer',
        CASE WHEN told_by = 'the commonest kind' THEN 'mean of all layers' ELSE layer_kind END,
        'layer time', 1000 * per_layer_ms
    FROM timing_metadata
    JOIN _timing_layers USING (request)
    UNION ALL
    SELECT request, 'layer', layer_kind, 'wall', wall_us
    FROM timing_metadata
    JOIN _timing_layers USING (request)
    UNION ALL
    SELECT
        request, 'layer', layer_kind,
        CASE WHEN unlisted_us > 0.001 * stated_us THEN 'stated sum' ELSE 'kernel sum' END,
        CASE WHEN unlisted_us > 0.001 * stated_us THEN stated_us ELSE CAST(sum_us AS DOUBLE) END
    FROM timing_sums
    JOIN _timing_layers USING (request)
    WHERE stated_us IS NOT NULL OR unmapped_us > 0 OR untimed_pct < 1
),
shares AS (
    SELECT
        times.request, times.scope, times.layer_kind, basis, time_us, flop, flop_rank, bytes,
        flop_rank / nullif(compute_us, 0) / 1e6 AS peak_tflops,
        flop_rank / nullif(time_us, 0) / 1e6 AS tflops,
        compute_us, memory_us, roofline_us,
        100 * compute_us / nullif(time_us, 0) AS mfu_pct,
        CASE WHEN times.scope = 'pass' THEN 100 * cluster_us / nullif(time_us, 0) END
            AS cluster_mfu_pct,
        100 * memory_us / nullif(time_us, 0) AS mbu_pct,
        100 * roofline_us / nullif(time_us, 0) AS roofline_pct
    FROM times
    JOIN timing_works AS works
        ON works.request = times.request AND works.scope = times.scope
        AND works.layer_kind IS NOT DISTINCT FROM times.layer_kind
    WHERE time_us IS NOT NULL
)
SELECT
    request, scope, layer_kind, basis, time_us, flop, flop_rank, bytes, peak_tflops, tflops,
    compute_us, memory_us, roofline_us, mfu_pct, cluster_mfu_pct, mbu_pct, roofline_pct,
    coalesce(greatest(mfu_pct, cluster_mfu_pct, mbu_pct, roofline_pct) > 100, FALSE)
        AS flag_over_100,
    reasons_over_100(list_concat(
        CASE
            WHEN greatest(mfu_pct, cluster_mfu_pct, roofline_pct) > 100
                THEN ['always', 'any', 'template', 'attention', 'overlap']
        END,
        CASE
            WHEN greatest(mbu_pct, roofline_pct) > 100
                THEN ['always', 'memory', 'template', 'overlap']
        END
    )) AS over_100_causes
FROM shares;
