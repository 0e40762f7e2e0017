-- One row per collective that a communication.json lists, with its table of times.
--
-- stored: meanwhile
CREATE VIEW _listed_communication AS
SELECT
    trace_id, event_id,
    args ->> '$.step' AS step,
    args ->> '$.kind' AS op_kind,
    args ->> '$.op' AS op,
    args ->> '$.group' AS comm_group,
    args ->> '$.ranks' AS ranks,
    TRY_CAST(args ->> '$.rank' AS INTEGER) AS rank,
    args -> '$.time' AS times
FROM events
WHERE
    lane = 'meta' AND name = 'communication'
    AND NOT starts_with(args ->> '$.op', 'Total Op Info');

-- One row per collective and rank of communication.json, of one rank or of a cluster: how long it
-- took, and for how much of that time data moved. The file's row of sums is left out.
--
-- key: trace_id, event_id
--
-- trace_id        VARCHAR  trace
-- rank            INTEGER  rank: the row's in a cluster's file, else the trace's
-- step            VARCHAR  step, as the file names it
-- op_kind         VARCHAR  collective or p2p, NULL in a cluster's file
-- op              VARCHAR  name of the call, as hcom_allReduce__428_0_1
-- comm_group      VARCHAR  group of ranks, by its number in the file
-- ranks           VARCHAR  the group's ranks, in a cluster's file
-- event_id        BIGINT   row of the file
-- start_ns        BIGINT   start, ns
-- elapsed_ms      DOUBLE   from start to end, ms
-- transit_ms      DOUBLE   data moving, ms
-- wait_ms         DOUBLE   waiting for other ranks, ms
-- synchronise_ms  DOUBLE   of that, before any data moved, ms
-- idle_ms         DOUBLE   neither, ms
-- wait_ratio      DOUBLE   wait_ms over wait_ms + transit_ms
-- sync_ratio      DOUBLE   synchronise_ms over synchronise_ms + transit_ms
-- transit_mb      DOUBLE   data moved by all classes of links, MB; SDMA is the sum of HCCS, PCIE
--                          and SIO, and counts only if they are absent
-- kernel_id       BIGINT   the collective's row in the same trace, NULL if it has none
-- kernel_ms       DOUBLE   that row's duration, ms
CREATE VIEW communication_ops AS
WITH moved AS (
    SELECT
        trace_id, event_id,
        sum(size_mb) FILTER (link NOT IN ('SDMA', 'RDMA')) AS local_mb,
        sum(size_mb) FILTER (link = 'SDMA') AS sdma_mb,
        sum(size_mb) FILTER (link = 'RDMA') AS rdma_mb
    FROM communication_links
    GROUP BY trace_id, event_id
),
typed AS (
    SELECT
        listed.trace_id, coalesce(listed.rank, traces.rank) AS rank, listed.rank IS NULL AS own,
        step, op_kind, op, comm_group, ranks, event_id,
        TRY_CAST(round(TRY_CAST(times ->> '$."Start Timestamp(us)"' AS DECIMAL(38, 6)) * 1000)
            AS BIGINT) AS start_ns,
        TRY_CAST(times ->> '$."Elapse Time(ms)"' AS DOUBLE) AS elapsed_ms,
        TRY_CAST(times ->> '$."Transit Time(ms)"' AS DOUBLE) AS transit_ms,
        TRY_CAST(times ->> '$."Wait Time(ms)"' AS DOUBLE) AS wait_ms,
        TRY_CAST(times ->> '$."Synchronization Time(ms)"' AS DOUBLE) AS synchronise_ms,
        TRY_CAST(times ->> '$."Idle Time(ms)"' AS DOUBLE) AS idle_ms,
        TRY_CAST(times ->> '$."Wait Time Ratio"' AS DOUBLE) AS wait_ratio,
        TRY_CAST(times ->> '$."Synchronization Time Ratio"' AS DOUBLE) AS sync_ratio
    FROM _listed_communication AS listed
    JOIN traces ON traces.trace_id = listed.trace_id
),
-- A name may be called again in another step: the n-th call there is the n-th here.
calls AS (
    SELECT
        trace_id, event_id, op,
        row_number() OVER (PARTITION BY trace_id, op ORDER BY start_ns, event_id) AS nth
    FROM typed
    WHERE own
),
rows_of_calls AS (
    SELECT
        trace_id, kernel_id, name AS op, dur_ns,
        row_number() OVER (PARTITION BY trace_id, name ORDER BY start_ns, kernel_id) AS nth
    FROM ascend_kernels
    WHERE comm_role = 'logical' AND counted
)
SELECT
    t.trace_id, t.rank, step, op_kind, t.op, comm_group, ranks, t.event_id, start_ns, elapsed_ms,
    transit_ms, wait_ms, synchronise_ms, idle_ms, wait_ratio, sync_ratio,
    coalesce(nullif(local_mb, 0), sdma_mb, 0) + coalesce(rdma_mb, 0) AS transit_mb,
    k.kernel_id, k.dur_ns / 1000000.0 AS kernel_ms
FROM typed AS t
LEFT JOIN moved ON moved.trace_id = t.trace_id AND moved.event_id = t.event_id
LEFT JOIN calls ON calls.trace_id = t.trace_id AND calls.event_id = t.event_id
LEFT JOIN rows_of_calls AS k
    ON k.trace_id = calls.trace_id AND k.op = calls.op AND k.nth = calls.nth;
