-- One row per device operation that is the only one launched by a group of NCCL calls, with the
-- data of these calls: NCCL attaches sizes and communicators to its ranges.
--
-- Calls between ncclGroupStart and ncclGroupEnd are one group; a call outside any is a group by
-- itself. The group's operation is launched inside the last of its ranges. If a group launches
-- several operations, it is unknown which call belongs to which.
--
-- trace_id       VARCHAR  trace
-- kernel_id      BIGINT   event_id of the operation
-- process_group  VARCHAR  communicator, NULL if the calls are of several
-- group_size     BIGINT   ranks in it, NULL if its creation is not in the trace
-- input_bytes    DOUBLE   input of the rank, bytes
-- output_bytes   DOUBLE   output of the rank, bytes; NULL if it follows from the ranks
CREATE VIEW _nccl_payloads AS
WITH ranges AS (
    SELECT
        trace_id, pid, tid, event_id, name, start_ns, end_ns,
        args ->> '$."NCCL communicator ID"' AS communicator,
        TRY_CAST(args ->> '$."No. of ranks"' AS BIGINT) AS ranks,
        TRY_CAST(args ->> '$."Message size [bytes]"' AS DOUBLE) AS bytes,
        CASE name WHEN 'ncclGroupStart' THEN 1 WHEN 'ncclGroupEnd' THEN -1 ELSE 0 END AS step
    FROM events
    WHERE lane = 'host' AND category = 'nccl' AND dur_ns IS NOT NULL
),
communicators AS (
    SELECT trace_id, communicator, max(ranks) AS ranks
    FROM ranges
    WHERE ranks IS NOT NULL
    GROUP BY trace_id, communicator
),
levels AS (
    SELECT *, sum(step) OVER in_time AS level
    FROM ranges
    WINDOW in_time AS (
        PARTITION BY trace_id, pid, tid ORDER BY start_ns, event_id ROWS UNBOUNDED PRECEDING
    )
),
floored AS (
    -- An end whose start precedes the trace lowers the floor.
    SELECT *, least(0, min(level) OVER in_time) AS lowest
    FROM levels
    WINDOW in_time AS (
        PARTITION BY trace_id, pid, tid ORDER BY start_ns, event_id ROWS UNBOUNDED PRECEDING
    )
),
numbered AS (
    SELECT
        *,
        count(CASE WHEN level - step <= lowest AND step >= 0 THEN 1 END) OVER (
            PARTITION BY trace_id, pid, tid ORDER BY start_ns, event_id ROWS UNBOUNDED PRECEDING
        ) AS nth
    FROM floored
),
grouped AS (
    SELECT
        trace_id, pid, tid, nth,
        CASE
            WHEN count(DISTINCT communicator) = 1 THEN any_value(communicator)
        END AS communicator,
        sum(bytes) FILTER (NOT regexp_matches(name, 'Recv|ReduceScatter')) AS input_bytes,
        sum(bytes) FILTER (NOT regexp_matches(name, 'Send|AllGather')) AS output_bytes
    FROM numbered
    GROUP BY trace_id, pid, tid, nth
    HAVING count(bytes) > 0
),
launched AS (
    SELECT
        kernels.trace_id, kernels.kernel_id, numbered.pid, numbered.tid, numbered.nth,
        numbered.end_ns, kernels.issued_ns,
        count(*) OVER (
            PARTITION BY kernels.trace_id, numbered.pid, numbered.tid, numbered.nth
        ) AS operations
    FROM kernels
    ASOF JOIN numbered
        ON numbered.trace_id = kernels.trace_id
        AND numbered.pid = kernels.issued_pid
        AND numbered.tid = kernels.issued_tid
        AND numbered.start_ns <= kernels.issued_ns
    WHERE kernels.kind = 'communication' AND kernels.issued_ns <= numbered.end_ns
)
SELECT
    launched.trace_id, launched.kernel_id, grouped.communicator AS process_group,
    communicators.ranks AS group_size, grouped.input_bytes, grouped.output_bytes
FROM launched
JOIN grouped USING (trace_id, pid, tid, nth)
LEFT JOIN communicators
    ON communicators.trace_id = grouped.trace_id
    AND communicators.communicator = grouped.communicator
WHERE launched.operations = 1;
