-- One row per moment at which the queue of a stream changes: what the host has launched and the
-- device has not finished, from that moment to the next.
--
-- A launch counts from the start of its call, all operations of a graph at once; from the start of
-- the operation if that comes first, as the clocks of host and device may differ. Operations whose
-- launch the trace does not show are left out.
--
-- key: trace_id, device, stream?, start_ns
--
-- trace_id     VARCHAR  trace
-- rank         INTEGER  rank in the job, NULL if unknown
-- device       INTEGER  device
-- stream       BIGINT   stream
-- start_ns     BIGINT   start of the interval, ns
-- end_ns       BIGINT   end of the interval, ns; NULL after the last change
-- depth        BIGINT   operations launched and not finished
-- waiting      BIGINT   of those, operations not started
CREATE VIEW queue_depth AS
WITH edges AS (
    SELECT
        trace_id, rank, device, stream, least(launch_ns, start_ns) AS at_ns, 1 AS launched,
        1 AS waits
    FROM kernels
    WHERE launch_ns IS NOT NULL
    UNION ALL
    SELECT trace_id, rank, device, stream, start_ns, 0, -1
    FROM kernels
    WHERE launch_ns IS NOT NULL
    UNION ALL
    SELECT trace_id, rank, device, stream, end_ns, -1, 0
    FROM kernels
    WHERE launch_ns IS NOT NULL
),
changes AS (
    SELECT
        trace_id, rank, device, stream, at_ns, sum(launched) AS launched, sum(waits) AS waits
    FROM edges
    GROUP BY trace_id, rank, device, stream, at_ns
)
SELECT
    trace_id, rank, device, stream, at_ns AS start_ns, lead(at_ns) OVER in_time AS end_ns,
    CAST(sum(launched) OVER in_time AS BIGINT) AS depth,
    CAST(sum(waits) OVER in_time AS BIGINT) AS waiting
FROM changes
WINDOW in_time AS (
    PARTITION BY trace_id, device, stream ORDER BY at_ns ROWS UNBOUNDED PRECEDING
);
