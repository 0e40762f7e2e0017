-- One row per trace, device and kind of operation: its time summed, merged, and alone on the
-- device. A running count of each kind shows what runs between two moments; time_breakdown has the
-- same moments as parts of one window. Operations that enclose others (enclosing_kernels) are left
-- out: their time is that of the operations in them.
--
-- key: trace_id, device, kind
--
-- trace_id    VARCHAR  trace
-- rank        INTEGER  rank in the job, NULL if unknown
-- device      INTEGER  device
-- kind        VARCHAR  compute, communication or memory
-- kernel_count BIGINT   operations of it
-- sum_us      DOUBLE   sum of their durations, overlaps counted each time, µs
-- union_us    DOUBLE   time with at least one of them running, µs
-- exposed_us  DOUBLE   of that, time with no operation of another kind running, µs
-- hidden_us   DOUBLE   of that, time with an operation of another kind running, µs
CREATE VIEW kind_times AS
WITH operations AS (
    SELECT trace_id, rank, device, kind, start_ns, dur_ns, end_ns
    FROM kernels
    ANTI JOIN enclosing_kernels USING (trace_id, kernel_id)
),
sums AS (
    SELECT trace_id, rank, device, kind, count(*) AS kernel_count, sum(dur_ns) AS sum_ns
    FROM operations
    GROUP BY trace_id, rank, device, kind
),
edges AS (
    SELECT trace_id, device, kind, start_ns AS at_ns, 1 AS step
    FROM operations
    WHERE end_ns > start_ns
    UNION ALL
    SELECT trace_id, device, kind, end_ns, -1
    FROM operations
    WHERE end_ns > start_ns
),
slices AS (
    SELECT
        trace_id, device, lead(at_ns) OVER in_time - at_ns AS slice_ns,
        sum(CASE kind WHEN 'compute' THEN step ELSE 0 END) OVER in_time > 0 AS computes,
        sum(CASE kind WHEN 'communication' THEN step ELSE 0 END) OVER in_time > 0 AS communicates,
        sum(CASE kind WHEN 'memory' THEN step ELSE 0 END) OVER in_time > 0 AS moves
    FROM edges
    WINDOW in_time AS (
        PARTITION BY trace_id, device ORDER BY at_ns ROWS UNBOUNDED PRECEDING
    )
),
states AS (
    -- The eight combinations of kinds that run together.
    SELECT
        trace_id, device, sum(slice_ns) AS state_ns,
        list_filter(
            [
                CASE WHEN computes THEN 'compute' END,
                CASE WHEN communicates THEN 'communication' END,
                CASE WHEN moves THEN 'memory' END
            ],
            lambda kind: kind IS NOT NULL
        ) AS kinds
    FROM slices
    GROUP BY trace_id, device, computes, communicates, moves
),
parts AS (
    SELECT trace_id, device, unnest(kinds) AS kind, len(kinds) AS together, state_ns
    FROM states
),
merged AS (
    SELECT
        trace_id, device, kind, sum(state_ns) AS union_ns,
        sum(state_ns) FILTER (together = 1) AS exposed_ns
    FROM parts
    GROUP BY trace_id, device, kind
)
SELECT
    sums.trace_id, sums.rank, sums.device, sums.kind, kernel_count, sum_ns / 1000.0 AS sum_us,
    coalesce(union_ns, 0) / 1000.0 AS union_us,
    coalesce(exposed_ns, 0) / 1000.0 AS exposed_us,
    (coalesce(union_ns, 0) - coalesce(exposed_ns, 0)) / 1000.0 AS hidden_us
FROM sums
LEFT JOIN merged
    ON merged.trace_id = sums.trace_id
    AND merged.device = sums.device AND merged.kind = sums.kind;
