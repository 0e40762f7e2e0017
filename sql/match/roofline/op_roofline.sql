-- One row per device, operator and shape: the sum of its rows in kernel_roofline, in passes and
-- outside of them. Operations that enclose others (enclosing_kernels) are left out.
--
-- Kernels that together do the work of one operator call are one call. Rates are those of the calls
-- whose FLOP, or bytes, are known and that take time.
--
-- key: trace_id, device, unit?, trace_op?, kernel_category?, map_rule?, batch?, m?, n?, k?,
--   dtype?, flop_source?
--
-- trace_id         VARCHAR  trace
-- rank             INTEGER  rank in the job, NULL if unknown
-- device           INTEGER  device
-- unit             VARCHAR  operator of the model, or several fused, or adapter (a product with the
--                           matrices of LoRA adapters), or kind of overhead: copies from and to the
--                           host are copy HtoD and copy DtoH, and have no roof
-- trace_op         VARCHAR  framework operator
-- kernel_category  VARCHAR  category of the kernels if neither is known, else NULL
-- map_rule         VARCHAR  how the operator was found, see map_rules
-- batch            BIGINT   products side by side
-- m                BIGINT   rows of a product's result, or queries
-- n                BIGINT   columns of it
-- k                BIGINT   inner dimension
-- dtype            VARCHAR  type it computes in; NULL if it multiplies nothing
-- flop_source      VARCHAR  shape, annotation, profiler, template, or none
-- calls            BIGINT   calls of the operator
-- kernel_count     BIGINT   kernels that ran for it
-- sum_us           DOUBLE   sum of their durations, µs
-- time_pct         DOUBLE   share of the durations of all kernels of the device
-- mean_us          DOUBLE   mean time of a call, µs
-- flop             DOUBLE   FLOP of all calls
-- bytes            DOUBLE   bytes of all calls
-- intensity        DOUBLE   FLOP per byte
-- ridge            DOUBLE   FLOP per byte above which the chip's peak is the limit
-- tflops           DOUBLE   FLOP over the time, TFLOP/s
-- mfu              DOUBLE   that over the peak, a fraction
-- gbps             DOUBLE   bytes over the time, GB/s
-- mbu              DOUBLE   that over the bandwidth, a fraction
-- roof_us          DOUBLE   minimum time of all calls, µs
-- gap_us           DOUBLE   time of the calls that have a roof, minus roof_us, µs
-- roofline_eff     DOUBLE   roof_us over the time of these calls, a fraction
-- bound            VARCHAR  compute or memory
-- flag_over_100    BOOLEAN  a kernel or a call exceeds its peak
-- over_100_causes  VARCHAR  possible reasons, separated by semicolons
-- attainable_eff   DOUBLE   minimum time measured elsewhere over the mean time of a call, a
--                           fraction
CREATE VIEW op_roofline AS
WITH calls AS (
    SELECT
        trace_id, rank, device, unit, trace_op,
        CASE WHEN unit IS NULL AND trace_op IS NULL THEN category END AS kernel_category,
        map_rule, batch, m, n, k, dtype, flop_source,
        kernel_id = group_id AS is_call, dur_us, ridge, peak_tflops, peak_gbps,
        flag_over_100, over_100_causes, attainable_us,
        CASE WHEN kernel_id = group_id THEN coalesce(group_flop, flop) END AS call_flop,
        CASE WHEN kernel_id = group_id THEN coalesce(group_bytes, bytes) ELSE bytes END
            AS call_bytes,
        CASE WHEN kernel_id = group_id THEN coalesce(group_roof_us, roof_us) ELSE roof_us END
            AS call_roof_us,
        CASE WHEN kernel_id = group_id AND group_us > 0 THEN group_us ELSE dur_us END AS call_us,
        group_share IS NOT NULL AND kernel_id <> group_id AS is_part
    FROM _kernel_roofs
    ANTI JOIN enclosing_kernels USING (trace_id, kernel_id)
),
summed AS (
    SELECT
        trace_id, rank, device, unit, trace_op, kernel_category, map_rule, batch, m, n, k, dtype,
        flop_source,
        count(*) FILTER (is_call OR NOT is_part) AS calls, count(*) AS kernel_count,
        sum(dur_us) AS sum_us, sum(call_flop) AS flop,
        sum(call_flop) FILTER (call_us > 0) AS timed_flop,
        sum(call_us) FILTER (call_flop IS NOT NULL) AS flop_us,
        sum(call_bytes) FILTER (NOT is_part) AS bytes,
        sum(call_bytes) FILTER (NOT is_part AND call_us > 0) AS timed_bytes,
        sum(call_us) FILTER (call_bytes IS NOT NULL AND NOT is_part) AS byte_us,
        sum(call_roof_us) FILTER (NOT is_part) AS roof_us,
        sum(call_us) FILTER (call_roof_us IS NOT NULL AND NOT is_part) AS roofed_us,
        any_value(ridge) AS ridge, any_value(peak_tflops) AS peak_tflops,
        any_value(peak_gbps) AS peak_gbps, bool_or(flag_over_100) AS flag_over_100,
        max(over_100_causes) AS over_100_causes,
        coalesce(
            max(call_bytes / nullif(call_us * peak_gbps * 1e3, 0)) FILTER (NOT is_part) > 1, FALSE
        ) AS is_too_wide,
        min(attainable_us) AS attainable_us
    FROM calls
    GROUP BY
        trace_id, rank, device, unit, trace_op, kernel_category, map_rule, batch, m, n, k, dtype,
        flop_source
)
SELECT
    trace_id, rank, device, unit, trace_op, kernel_category, map_rule, batch, m, n, k, dtype,
    flop_source, calls, kernel_count, sum_us,
    100 * sum_us / nullif(sum(sum_us) OVER (PARTITION BY trace_id, device), 0) AS time_pct,
    sum_us / nullif(calls, 0) AS mean_us, flop, bytes, flop / nullif(bytes, 0) AS intensity, ridge,
    timed_flop / nullif(flop_us, 0) / 1e6 AS tflops,
    timed_flop / nullif(flop_us, 0) / 1e6 / peak_tflops AS mfu,
    timed_bytes / nullif(byte_us, 0) / 1e3 AS gbps,
    timed_bytes / nullif(byte_us, 0) / 1e3 / peak_gbps AS mbu,
    roof_us, roofed_us - roof_us AS gap_us, roof_us / nullif(roofed_us, 0) AS roofline_eff,
    CASE
        WHEN roof_us IS NULL THEN NULL
        WHEN flop / nullif(bytes, 0) >= ridge OR bytes IS NULL THEN 'compute'
        ELSE 'memory'
    END AS bound,
    flag_over_100 OR is_too_wide AS flag_over_100,
    coalesce(
        over_100_causes,
        reasons_over_100(CASE
            WHEN is_too_wide THEN list_concat(
                ['always', 'memory'], CASE WHEN flop_source = 'annotation' THEN ['annotation'] END,
                CASE WHEN unit = 'attention' THEN ['attention'] END
            )
        END)
    ) AS over_100_causes,
    attainable_us / nullif(sum_us / nullif(calls, 0), 0) AS attainable_eff
FROM summed;
