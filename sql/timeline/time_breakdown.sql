-- One row per trace and device: what the device did from its first operation to its last.
-- Each operation opens and closes; a running count of each kind says what runs between two moments.
-- Compute hides communication, both hide memory operations: compute_us + exposed_communication_us
-- + exposed_memory_us + idle_us = window_us, exactly.
--
-- trace_id                  VARCHAR  trace
-- rank                      INTEGER  rank in the job, NULL when unknown
-- device                    INTEGER  device
-- start_ns                  BIGINT   start of the first operation, ns
-- end_ns                    BIGINT   end of the last operation, ns
-- window_us                 DOUBLE   from that start to that end, µs
-- compute_us                DOUBLE   time with at least one compute kernel running, µs
-- communication_us          DOUBLE   time with at least one communication kernel running, µs
-- exposed_communication_us  DOUBLE   of that, time with no compute kernel running, µs
-- memory_us                 DOUBLE   time with at least one copy or fill running, µs
-- exposed_memory_us         DOUBLE   of that, time with no kernel running, µs
-- busy_us                   DOUBLE   time with anything running, µs
-- idle_us                   DOUBLE   time with nothing running, µs
CREATE VIEW time_breakdown AS
WITH edges AS (
    SELECT trace_id, rank, device, kind, start_ns AS at_ns, 1 AS step
    FROM kernels
    WHERE end_ns > start_ns
    UNION ALL
    SELECT trace_id, rank, device, kind, end_ns, -1
    FROM kernels
    WHERE end_ns > start_ns
),
slices AS (
    SELECT
        trace_id, rank, device, at_ns,
        lead(at_ns) OVER in_time - at_ns AS slice_ns,
        sum(CASE kind WHEN 'compute' THEN step ELSE 0 END) OVER in_time > 0 AS computes,
        sum(CASE kind WHEN 'communication' THEN step ELSE 0 END) OVER in_time > 0 AS communicates,
        sum(CASE kind WHEN 'memory' THEN step ELSE 0 END) OVER in_time > 0 AS moves
    FROM edges
    -- Which of several edges at one moment comes first is of no account: the slices between them
    -- last no time.
    WINDOW in_time AS (
        PARTITION BY trace_id, rank, device ORDER BY at_ns ROWS UNBOUNDED PRECEDING
    )
),
sums AS (
    SELECT
        trace_id, rank, device, min(at_ns) AS start_ns, max(at_ns) AS end_ns,
        sum(slice_ns) AS window_ns,
        sum(slice_ns) FILTER (computes) AS compute_ns,
        sum(slice_ns) FILTER (communicates) AS communication_ns,
        sum(slice_ns) FILTER (communicates AND NOT computes) AS exposed_communication_ns,
        sum(slice_ns) FILTER (moves) AS memory_ns,
        sum(slice_ns) FILTER (moves AND NOT computes AND NOT communicates) AS exposed_memory_ns,
        sum(slice_ns) FILTER (computes OR communicates OR moves) AS busy_ns
    FROM slices
    GROUP BY trace_id, rank, device
)
SELECT
    trace_id, rank, device, start_ns, end_ns,
    window_ns / 1000.0 AS window_us,
    coalesce(compute_ns, 0) / 1000.0 AS compute_us,
    coalesce(communication_ns, 0) / 1000.0 AS communication_us,
    coalesce(exposed_communication_ns, 0) / 1000.0 AS exposed_communication_us,
    coalesce(memory_ns, 0) / 1000.0 AS memory_us,
    coalesce(exposed_memory_ns, 0) / 1000.0 AS exposed_memory_us,
    coalesce(busy_ns, 0) / 1000.0 AS busy_us,
    (window_ns - coalesce(busy_ns, 0)) / 1000.0 AS idle_us
FROM sums;
