-- One row per accelerator with kernels in the lake, and bound: which fraction of the peak, or of
-- the memory's bandwidth, its kernels reach.
--
-- The fraction is by least squares, each kernel's square weighted by the inverse of its minimum
-- time r: the f that minimises the sum of (t - r / f)² / r is the sum of r over that of the times
-- t. So a profile with this fraction predicts the sum of these kernels' times. Unweighted, the
-- square of a kernel of 1 ms would count as much as 10,000 of 10 µs. The residual shows how far the
-- fraction is off kernel by kernel; a quarter of the time is in kernels below low_fraction, and a
-- quarter in kernels above high_fraction: if these are far apart, kernels of different kinds are
-- mixed, and no single fraction is right for them.
--
-- Short kernels are left out, since starting them takes as long. So are copies, fills and
-- communication, which are not operators of a model (a copy from the host runs at the speed of the
-- link), products fused with a collective, whose time includes the exchange, and kernels faster
-- than the chip's figures allow, which found their operands in its cache or were counted wrong. The
-- limits are in the table calibration_limits.
--
-- key: hardware, bound
--
-- hardware       VARCHAR  chip
-- bound          VARCHAR  compute (products of matrices and attention) or memory
-- trace_count    BIGINT   traces that the kernels are from
-- kernel_count   BIGINT   kernels
-- sum_ms         DOUBLE   their time
-- fraction       DOUBLE   part of the peak or of the bandwidth that they reach
-- low_fraction   DOUBLE   a quarter of their time is in kernels that reach at most this
-- high_fraction  DOUBLE   a quarter of their time is in kernels that reach more than this
-- residual_pct   DOUBLE   sum of the absolute errors of the kernels' times, over their time, %
-- beyond_count   BIGINT   kernels left out because they are faster than the chip's figures allow
-- beyond_pct     DOUBLE   their share of the time that includes them, %
-- usable         BOOLEAN  no fault
-- faults         VARCHAR  limits that are violated, separated by semicolons: kernels, residual,
--                         beyond
CREATE VIEW calibrations AS
WITH limits AS (
    SELECT
        max(value) FILTER (calibration_limit = 'shortest') AS shortest_us,
        max(value) FILTER (calibration_limit = 'kernels') AS kernels,
        max(value) FILTER (calibration_limit = 'residual') AS residual_pct,
        max(value) FILTER (calibration_limit = 'beyond') AS beyond_pct
    FROM calibration_limits
),
timed AS (
    SELECT
        t.hardware, k.bound, k.trace_id, k.dur_us,
        CASE k.bound WHEN 'compute' THEN k.compute_us ELSE k.memory_us END AS least_us
    FROM _kernel_roofs AS k
    JOIN traces AS t ON t.trace_id = k.trace_id
    CROSS JOIN limits
    WHERE
        k.bound IS NOT NULL AND k.dur_us >= limits.shortest_us AND k.map_rule <> 'overhead'
        AND k.category IS DISTINCT FROM 'mc2'
        AND (k.bound = 'memory' OR k.flop IS NOT NULL)
),
kept AS (
    SELECT
        hardware, bound, trace_id, dur_us, least_us, least_us / dur_us AS reached,
        -- Time in kernels that reach less, and in all kernels.
        sum(dur_us) OVER (
            PARTITION BY hardware, bound ORDER BY least_us / dur_us, dur_us
            ROWS UNBOUNDED PRECEDING
        ) AS before_us,
        sum(dur_us) OVER (PARTITION BY hardware, bound) AS all_us,
        sum(least_us) OVER (PARTITION BY hardware, bound)
        / sum(dur_us) OVER (PARTITION BY hardware, bound) AS fraction
    FROM timed
    WHERE least_us > 0 AND least_us <= dur_us
),
fitted AS (
    SELECT
        hardware, bound, count(DISTINCT trace_id) AS trace_count, count(*) AS kernel_count,
        sum(dur_us) / 1e3 AS sum_ms, any_value(fraction) AS fraction,
        min(reached) FILTER (before_us >= 0.25 * all_us) AS low_fraction,
        min(reached) FILTER (before_us >= 0.75 * all_us) AS high_fraction,
        100 * sum(abs(dur_us - least_us / fraction)) / sum(dur_us) AS residual_pct
    FROM kept
    GROUP BY hardware, bound
),
beyond AS (
    SELECT hardware, bound, count(*) AS kernel_count, sum(dur_us) / 1e3 AS sum_ms
    FROM timed
    WHERE least_us > dur_us
    GROUP BY hardware, bound
),
judged AS (
    SELECT
        coalesce(f.hardware, b.hardware) AS hardware, coalesce(f.bound, b.bound) AS bound,
        coalesce(f.trace_count, 0) AS trace_count, coalesce(f.kernel_count, 0) AS kernel_count,
        coalesce(f.sum_ms, 0) AS sum_ms, f.fraction, f.low_fraction, f.high_fraction,
        f.residual_pct, coalesce(b.kernel_count, 0) AS beyond_count,
        100 * coalesce(b.sum_ms, 0) / (coalesce(f.sum_ms, 0) + coalesce(b.sum_ms, 0))
            AS beyond_pct
    FROM fitted AS f
    FULL JOIN beyond AS b ON b.hardware IS NOT DISTINCT FROM f.hardware AND b.bound = f.bound
)
SELECT
    hardware, bound, trace_count, kernel_count, sum_ms, fraction, low_fraction, high_fraction,
    j.residual_pct, beyond_count, j.beyond_pct,
    kernel_count >= kernels AND j.residual_pct <= limits.residual_pct
    AND j.beyond_pct <= limits.beyond_pct AS usable,
    nullif(concat_ws(
        ';',
        CASE WHEN kernel_count < kernels THEN 'kernels' END,
        CASE WHEN j.residual_pct > limits.residual_pct THEN 'residual' END,
        CASE WHEN j.beyond_pct > limits.beyond_pct THEN 'beyond' END
    ), '') AS faults
FROM judged AS j
CROSS JOIN limits;
