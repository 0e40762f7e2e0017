-- One row per named line (a thread of a process) of a trace: what it shows, and of which device.
-- trace_id  VARCHAR  trace
-- pid       VARCHAR  process
-- tid       VARCHAR  thread
-- process   VARCHAR  process name, without the host that XProf's streaming viewer puts before it:
--                    /device:GPU:0 of tw003 /device:GPU:0
-- thread    VARCHAR  thread name
-- role      VARCHAR  from line_roles, NULL for lines without a rule
-- device    INTEGER  device that the process name ends in if the trace is of one host, that its
--                    label names, or that Ascend's exporters pack into its number; NULL without
--                    any of these. The additional cores of a TPU belong to it:
--                    /device:TPU:0 SparseCore 1
CREATE VIEW _lines AS
WITH hosted AS (
    SELECT trace_id, pid, arg_max(args ->> '$.name', event_id) AS process
    FROM events
    WHERE lane = 'meta' AND name = 'process_name'
    GROUP BY trace_id, pid
),
processes AS (
    -- Devices of several hosts have the same numbers.
    SELECT
        trace_id, pid, regexp_replace(process, '^\S+ (/(?:device|host):)', '\1') AS process,
        coalesce(min(host) OVER of_trace = max(host) OVER of_trace, TRUE) AS is_one_host
    FROM (
        SELECT
            *, nullif(regexp_extract(process, '^(\S+) /(?:device|host):', 1), '') AS host
        FROM hosted
    )
    WINDOW of_trace AS (PARTITION BY trace_id)
),
threads AS (
    SELECT trace_id, pid, tid, arg_max(args ->> '$.name', event_id) AS thread
    FROM events
    WHERE lane = 'meta' AND name = 'thread_name'
    GROUP BY trace_id, pid, tid
),
labels AS (
    SELECT
        trace_id, pid, TRY_CAST(pid AS BIGINT) AS number,
        arg_max(args ->> '$.labels', event_id) FILTER (name = 'process_labels') AS label,
        TRY_CAST(
            arg_max(args ->> '$.sort_index', event_id) FILTER (name = 'process_sort_index')
            AS BIGINT
        ) AS place
    FROM events
    WHERE lane = 'meta' AND name IN ('process_labels', 'process_sort_index')
    GROUP BY trace_id, pid
),
labelled AS (
    -- Ascend's exporters number a process by the program's process, its place in the viewer and
    -- the device: old ones in decimal digits (two each), later ones in bits (five each).
    SELECT
        trace_id, pid,
        CASE
            WHEN label = 'NPU' AND number // 100 % 100 = place AND number % 100 < 32
                THEN CAST(number % 100 AS INTEGER)
            WHEN label = 'NPU' AND number // 32 % 32 = place THEN CAST(number % 32 AS INTEGER)
            ELSE TRY_CAST(regexp_extract(label, '^[GNX]PU (\d+)$', 1) AS INTEGER)
        END AS device
    FROM labels
),
named AS (
    SELECT trace_id, pid, tid, process, thread, is_one_host
    FROM threads
    JOIN processes USING (trace_id, pid)
),
matches AS (
    SELECT process, thread, priority, role
    FROM (SELECT DISTINCT process, thread FROM named)
    JOIN line_roles
        ON regexp_matches(process, process_pattern) AND regexp_matches(thread, thread_pattern)
),
exceptions AS (
    -- Rules that do not apply in a process because of another of its threads.
    SELECT DISTINCT trace_id, pid, priority
    FROM named
    JOIN line_roles ON regexp_matches(thread, unless_pattern)
),
ruled AS (
    SELECT trace_id, pid, tid, arg_min(role, priority) AS role
    FROM named
    JOIN matches USING (process, thread)
    ANTI JOIN exceptions USING (trace_id, pid, priority)
    GROUP BY trace_id, pid, tid
)
SELECT
    trace_id, pid, tid, process, thread, role,
    coalesce(
        CASE
            WHEN is_one_host THEN TRY_CAST(
                nullif(regexp_extract(process, ':(\d+)(?: Sparse ?Core .+)?$', 1), '') AS INTEGER
            )
        END, labelled.device
    ) AS device
FROM named
LEFT JOIN labelled USING (trace_id, pid)
LEFT JOIN ruled USING (trace_id, pid, tid);
