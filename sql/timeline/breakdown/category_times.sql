-- One row per trace, device and kernel category: its time summed, merged, and alone on the device.
--
-- The kernels of each category are merged into intervals in which any of them runs; the edges of
-- all categories' intervals, in order, give the number of categories that run between two moments
-- and, if only one does, which. Operations that enclose others (enclosing_kernels) are left out:
-- their time is that of the operations in them.
--
-- key: trace_id, device, category, kind
--
-- trace_id    VARCHAR  trace
-- rank        INTEGER  rank in the job, NULL if unknown
-- device      INTEGER  device
-- category    VARCHAR  kernel category
-- kind        VARCHAR  compute, communication or memory
-- kernel_count BIGINT   kernels of it
-- sum_us      DOUBLE   sum of their durations, overlaps counted each time, µs
-- union_us    DOUBLE   time with at least one of them running, µs
-- exposed_us  DOUBLE   of that, time with no kernel of another category running, µs
-- sum_pct     DOUBLE   share of the sums of all categories of the device
CREATE VIEW category_times AS
WITH operations AS (
    SELECT trace_id, rank, device, category, kind, start_ns, dur_ns, end_ns
    FROM kernels
    ANTI JOIN enclosing_kernels USING (trace_id, kernel_id)
),
sums AS (
    SELECT
        trace_id, rank, device, category, kind, count(*) AS kernel_count, sum(dur_ns) AS sum_ns,
        dense_rank() OVER (PARTITION BY trace_id, device ORDER BY category, kind) AS number
    FROM operations
    GROUP BY trace_id, rank, device, category, kind
),
edges AS (
    SELECT trace_id, device, category, kind, start_ns AS at_ns, 1 AS step
    FROM operations
    WHERE end_ns > start_ns
    UNION ALL
    SELECT trace_id, device, category, kind, end_ns, -1
    FROM operations
    WHERE end_ns > start_ns
),
running AS (
    SELECT
        trace_id, device, category, kind, at_ns, step,
        sum(step) OVER (
            PARTITION BY trace_id, device, category, kind
            ORDER BY at_ns, step DESC ROWS UNBOUNDED PRECEDING
        ) AS of_category
    FROM edges
),
turns AS (
    SELECT r.trace_id, r.device, number, at_ns, step
    FROM running AS r
    JOIN sums
        ON sums.trace_id = r.trace_id
        AND sums.device = r.device AND sums.category = r.category
        AND sums.kind = r.kind
    WHERE of_category = greatest(step, 0)
),
slices AS (
    SELECT
        trace_id, device, lead(at_ns) OVER in_time - at_ns AS slice_ns,
        sum(step) OVER in_time AS categories,
        -- If one runs alone, the sum of the numbers of those running is its own.
        sum(step * number) OVER in_time AS alone
    FROM turns
    WINDOW in_time AS (
        PARTITION BY trace_id, device ORDER BY at_ns, step DESC, number
        ROWS UNBOUNDED PRECEDING
    )
),
merged AS (
    SELECT trace_id, device, number, -sum(step * at_ns) AS union_ns
    FROM turns
    GROUP BY trace_id, device, number
),
exposed AS (
    SELECT trace_id, device, alone AS number, sum(slice_ns) AS exposed_ns
    FROM slices
    WHERE categories = 1
    GROUP BY trace_id, device, alone
)
SELECT
    sums.trace_id, sums.rank, sums.device, category, kind, kernel_count, sum_ns / 1000.0 AS sum_us,
    coalesce(union_ns, 0) / 1000.0 AS union_us,
    coalesce(exposed_ns, 0) / 1000.0 AS exposed_us,
    100 * CAST(sum_ns AS DOUBLE) / nullif(
        sum(sum_ns) OVER (PARTITION BY sums.trace_id, sums.device), 0
    ) AS sum_pct
FROM sums
LEFT JOIN merged
    ON merged.trace_id = sums.trace_id
    AND merged.device = sums.device AND merged.number = sums.number
LEFT JOIN exposed
    ON exposed.trace_id = sums.trace_id
    AND exposed.device = sums.device AND exposed.number = sums.number;
