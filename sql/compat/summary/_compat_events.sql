-- One row per event that the reference's profile summary includes in its sums, with the category
-- that it assigns, by the name first and then by the process.
--
-- It drops events without a duration. Events that round to 0 ns are included here: JAX writes
-- counters that last a picosecond, and such an event opens the reference's window.
--
-- trace_id  VARCHAR  trace
-- event_id  BIGINT   event
-- pid       VARCHAR  process
-- tid       VARCHAR  thread
-- process   VARCHAR  process name, NULL without one
-- thread    VARCHAR  thread name, NULL without one
-- name      VARCHAR  name
-- start_ns  BIGINT   start, ns
-- end_ns    BIGINT   end, ns
-- category  VARCHAR  stall, host, communication, compute or other
CREATE VIEW _compat_events AS
WITH processes AS (
    SELECT trace_id, pid, arg_max(args ->> '$.name', event_id) AS process
    FROM events
    WHERE lane = 'meta' AND name = 'process_name'
    GROUP BY trace_id, pid
),
timed AS (
    SELECT
        e.trace_id, e.event_id, e.pid, e.tid, processes.process, lines.thread, e.name,
        e.start_ns, e.end_ns,
        starts_with(processes.process, '/host:') AS is_host,
        starts_with(processes.process, '/device:') AS is_device
    FROM events AS e
    LEFT JOIN processes ON processes.trace_id = e.trace_id AND processes.pid = e.pid
    LEFT JOIN lines
        ON lines.trace_id = e.trace_id AND lines.pid = e.pid AND lines.tid = e.tid
    WHERE
        e.lane IN ('device', 'host', 'python') AND e.ph = 'X' AND e.dur_ns >= 0
        AND e.name IS NOT NULL AND TRY_CAST(e.pid AS BIGINT) IS NOT NULL
        AND TRY_CAST(e.tid AS BIGINT) IS NOT NULL
),
names AS (
    SELECT
        name,
        regexp_matches(
            lower(name),
            'wait|barrier|dependency-wait|donation holds|semaphore|acquire|idle|blocked|sleep'
        ) AS stalls,
        regexp_matches(
            lower(name),
            'all-reduce|all_gather|all-gather|reduce-scatter|all-to-all|alltoall|collective|permute'
            || '|psum|send|recv|nccl|allgather|allreduce|reducescatter'
        ) AS communicates
    FROM (SELECT DISTINCT name FROM timed)
)
SELECT
    trace_id, event_id, pid, tid, process, thread, name, start_ns, end_ns,
    CASE
        WHEN stalls THEN 'stall'
        WHEN is_host THEN 'host'
        WHEN communicates THEN 'communication'
        WHEN is_device THEN 'compute'
        ELSE 'other'
    END AS category
FROM timed
JOIN names USING (name);
