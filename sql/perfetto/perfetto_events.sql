-- One row per event of a trace that has a place on a timeline: device operations on a track per
-- stream, host calls on a track per thread, and other events of the file, such as compiled modules.
--
-- Operations of a stream do not nest; XLA's operations and the calls of a thread do. An operation
-- and the call that launched it share the operation's number in `flows`: a graph's launch has one
-- for each of its operations.
--
-- key: trace_id, event_id
--
-- trace_id    VARCHAR   trace
-- device      INTEGER   device, NULL for the host
-- process     VARCHAR   owner of the track: the device, or a process with its number
-- track       VARCHAR   stream, thread or line, with its number
-- nests       BOOLEAN   events of the track may lie inside each other
-- event_id    BIGINT    event; for an operation its kernel_id
-- name        VARCHAR   short name of an operation, name of any other event
-- category    VARCHAR   category of the operation, or of the event in the file
-- start_ns    BIGINT    start in ns on the file's clock
-- end_ns      BIGINT    end in ns on the file's clock; NULL for an instant
-- full_name   VARCHAR   name of an operation in the file, if it differs from the short one
-- pass_id     BIGINT    pass of the operation
-- layer_id    BIGINT    layer of the operation
-- half        VARCHAR   half of that layer
-- op_name     VARCHAR   framework operator that caused the operation
-- input_dims  VARCHAR   shapes of the inputs, JSON
-- flows       BIGINT[]  operations that the call launched, or the launched operation itself
CREATE VIEW perfetto_events AS
WITH launches AS (
    SELECT trace_id, launch_id, list(kernel_id ORDER BY kernel_id) AS flows
    FROM kernels
    WHERE launch_id IS NOT NULL
    GROUP BY trace_id, launch_id
),
processes AS (
    SELECT trace_id, pid, min(process) AS process FROM lines GROUP BY trace_id, pid
),
others AS (
    SELECT
        trace_id, lane, event_id, name, category, pid, tid, start_ns,
        CASE WHEN dur_ns IS NOT NULL THEN greatest(end_ns, start_ns) END AS end_ns, input_dims
    FROM events
    WHERE (lane IN ('host', 'python', 'device') AND dur_ns IS NOT NULL)
        OR lower(ph) IN ('i', 'r')
)
SELECT
    k.trace_id, k.device, concat('device ', k.device) AS process,
    concat('stream ', coalesce(k.stream, 0)) AS track,
    -- XLA draws a loop around its operations; operations of other streams are sequential or
    -- overlap.
    t.format = 'jax' AS nests, k.kernel_id AS event_id,
    k.display_name AS name, k.category, k.start_ns, greatest(k.end_ns, k.start_ns) AS end_ns,
    CASE WHEN k.name <> k.display_name THEN k.name END AS full_name, l.pass_id, l.layer_id, l.half,
    k.op_name, k.input_dims, CASE WHEN k.launch_id IS NOT NULL THEN [k.kernel_id] END AS flows
FROM kernels AS k
JOIN traces AS t ON t.trace_id = k.trace_id
LEFT JOIN layer_kernels AS l ON l.trace_id = k.trace_id AND l.kernel_id = k.kernel_id
UNION ALL
SELECT
    o.trace_id, d.device,
    CASE
        WHEN d.device IS NOT NULL THEN concat('device ', d.device)
        ELSE concat(coalesce(p.process, 'process'), ' (' || nullif(o.pid, '') || ')')
    END AS process,
    CASE
        -- Kineto draws annotations on the streams of the operations below them.
        WHEN d.device IS NOT NULL AND o.category IS NOT NULL
            THEN concat(coalesce(l.thread, 'line'), ' (' || nullif(o.tid, '') || '), ', o.category)
        ELSE concat(coalesce(l.thread, 'thread'), ' (' || nullif(o.tid, '') || ')')
    END AS track,
    TRUE AS nests, o.event_id, o.name, o.category, o.start_ns, o.end_ns, NULL, NULL, NULL, NULL,
    NULL, o.input_dims, f.flows
FROM others AS o
ANTI JOIN kernels AS k ON k.trace_id = o.trace_id AND k.kernel_id = o.event_id
LEFT JOIN lines AS l ON l.trace_id = o.trace_id AND l.pid = o.pid AND l.tid = o.tid
LEFT JOIN processes AS p ON p.trace_id = o.trace_id AND p.pid = o.pid
LEFT JOIN device_processes AS d
    ON o.lane = 'device' AND d.trace_id = o.trace_id AND d.pid = o.pid
LEFT JOIN launches AS f ON f.trace_id = o.trace_id AND f.launch_id = o.event_id;
