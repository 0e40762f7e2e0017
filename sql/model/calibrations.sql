-- One row per accelerator in the lake, traces' kernels and bound: which part of the peak, or of the
-- memory's bandwidth, its kernels reach, by least squares.
--
-- The time of a kernel is taken to be its least time over one fraction: t = x / f. The fraction
-- with the smallest sum of squared errors is the sum of x squared over the sum of x times t.
-- Kernels of less than 5 µs are left out: starting them takes as long.
--
-- hardware      VARCHAR  chip
-- bound         VARCHAR  compute (products of matrices and attention) or memory
-- trace_count   BIGINT   traces that the kernels are from
-- kernel_count  BIGINT   kernels
-- sum_ms        DOUBLE   their time
-- fraction      DOUBLE   part of the peak or of the bandwidth that they reach
-- residual_pct  DOUBLE   root of the mean squared error over the root of the mean squared time, %
-- usable        BOOLEAN  a fraction of at most 1 from ten kernels or more
CREATE VIEW calibrations AS
WITH timed AS (
    SELECT
        t.hardware, k.bound, k.trace_id, k.dur_us,
        CASE k.bound WHEN 'compute' THEN k.compute_us ELSE k.memory_us END AS least_us
    FROM kernel_roofline AS k
    JOIN traces AS t ON t.trace_id = k.trace_id
    WHERE
        k.bound IS NOT NULL AND k.dur_us >= 5
        AND (k.bound = 'memory' OR k.flop IS NOT NULL)
),
fitted AS (
    SELECT
        hardware, bound, count(DISTINCT trace_id) AS trace_count, count(*) AS kernel_count,
        sum(dur_us) / 1e3 AS sum_ms,
        sum(least_us * least_us) / nullif(sum(least_us * dur_us), 0) AS fraction,
        sum(dur_us * dur_us) AS squares, sum(least_us * least_us) AS least_squares,
        sum(least_us * dur_us) AS products
    FROM timed
    WHERE least_us > 0
    GROUP BY hardware, bound
)
SELECT
    hardware, bound, trace_count, kernel_count, sum_ms, fraction,
    -- The sum of (t - x / f) squared, multiplied out.
    100 * sqrt(
        greatest(squares - 2 * products / fraction + least_squares / (fraction * fraction), 0)
        / squares
    ) AS residual_pct,
    fraction <= 1 AND kernel_count >= 10 AS usable
FROM fitted;
