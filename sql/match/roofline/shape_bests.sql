-- One row per trace and matrix product for which another trace of the chip, or the table
-- attainable, has a time: the best.
--
-- The same product is used if there is one; else the one with the same columns and inner dimension
-- and the nearest number of rows, within a factor of two. Its time is scaled by the minimum times
-- of the two at the chip's peaks, so that it is the same share of the roof; if a peak or the
-- bandwidth is unknown, only the same product is used.
--
-- key: trace_id, dtype, batch, m, n, k
--
-- trace_id       VARCHAR  trace
-- dtype          VARCHAR  type it computes in
-- batch          BIGINT   products side by side
-- m              BIGINT   rows of the result
-- n              BIGINT   columns of it
-- k              BIGINT   inner dimension
-- own_us         DOUBLE   minimum time in the trace itself, µs
-- best_us        DOUBLE   minimum time elsewhere, scaled to m rows, µs
-- best_m         BIGINT   rows of the product that it is from
-- best_distance  DOUBLE   base-2 logarithm of m over best_m, without its sign
-- best_source    VARCHAR  id of the trace, or source in attainable
CREATE VIEW shape_bests AS
WITH measured AS (
    SELECT hardware, dtype, batch, m, n, k, trace_id AS source, best_us
    FROM best_times
    UNION ALL
    SELECT hardware, dtype, batch, m, n, k, coalesce(source, 'attainable'), latency_us
    FROM attainable
),
-- A trace has one row per product, so one of the best two is another trace's.
reference AS (
    SELECT
        hardware, dtype, batch, m, n, k,
        arg_min({'source': source, 'us': best_us}, (best_us, source), 2) AS bests
    FROM measured
    GROUP BY hardware, dtype, batch, m, n, k
),
nearby AS (
    SELECT
        own.trace_id, own.hardware, own.dtype, own.batch, own.m, own.n, own.k,
        own.best_us AS own_us, other.m AS best_m, abs(log2(own.m / other.m)) AS distance,
        list_filter(other.bests, lambda best: best.source <> own.trace_id)[1] AS best
    FROM best_times AS own
    SEMI JOIN traces ON traces.trace_id = own.trace_id
    JOIN reference AS other
        ON other.hardware = own.hardware AND other.dtype = own.dtype AND other.batch = own.batch
        AND other.n = own.n AND other.k = own.k
),
nearest AS (
    SELECT
        trace_id, hardware, dtype, batch, m, n, k, own_us, best_m, distance, best
    FROM nearby
    WHERE best IS NOT NULL AND distance <= 1
    QUALIFY row_number() OVER (
        PARTITION BY trace_id, dtype, batch, m, n, k ORDER BY distance, best.us, best_m
    ) = 1
),
roofed AS (
    SELECT
        trace_id, nearest.dtype, batch, m, n, k, own_us, best_m, distance, best,
        peaks.peak_tflops, hardware.hbm_gbps,
        n * k * sizes.element_bytes AS weight_bytes, (n + k) * sizes.element_bytes AS row_bytes
    FROM nearest
    LEFT JOIN hardware USING (hardware)
    LEFT JOIN hardware_peaks AS peaks
        ON peaks.hardware = nearest.hardware AND peaks.dtype = nearest.dtype
    LEFT JOIN element_sizes AS sizes ON sizes.dtype = nearest.dtype
)
SELECT
    trace_id, dtype, batch, m, n, k, own_us,
    best.us * CASE
        WHEN m = best_m THEN 1
        WHEN peak_tflops IS NOT NULL AND weight_bytes / hbm_gbps IS NOT NULL THEN greatest(
            2.0 * m * n * k / (1e3 * peak_tflops), (weight_bytes + m * row_bytes) / hbm_gbps
        ) / greatest(
            2.0 * best_m * n * k / (1e3 * peak_tflops),
            (weight_bytes + best_m * row_bytes) / hbm_gbps
        )
    END AS best_us,
    best_m, distance AS best_distance, best.source AS best_source
FROM roofed
WHERE best_us IS NOT NULL;
