-- One row per device with the window that it shares with the other devices of its trace: from the
-- first start to the last end of their operations.
--
-- stored: meanwhile
CREATE VIEW _device_windows AS
SELECT
    trace_id, device,
    min(min(start_ns)) OVER (PARTITION BY trace_id) AS window_start_ns,
    max(max(end_ns)) OVER (PARTITION BY trace_id) AS window_end_ns
FROM _device_ops
WHERE role = 'op' AND end_ns > start_ns
GROUP BY trace_id, device;

-- One row per moment at which an operation of a device starts or stops counting, with its change to
-- the number of running operations of each class: a field of 20 bits per class.
--
-- Operations of XLA nest on their line, and only the innermost counts: an inner one replaces the
-- one around it until it ends. In other traces, kernels on all streams count. Asynchronous
-- operations (role async) run beside each other: each that communicates counts until it ends.
--
-- Each device also has the bounds of its window here, which add 0.
--
-- Fields, from the lowest: compute, communication, copy, dma, wait, asynchronous communication.
CREATE VIEW _state_edges AS
WITH weights(role, class, weight) AS (
    VALUES
        ('op', 'compute', CAST(1 AS HUGEINT)),
        ('op', 'communication', CAST(1 AS HUGEINT) << 20),
        ('op', 'copy', CAST(1 AS HUGEINT) << 40),
        ('op', 'dma', CAST(1 AS HUGEINT) << 60),
        ('op', 'wait', CAST(1 AS HUGEINT) << 80),
        ('async', 'communication', CAST(1 AS HUGEINT) << 100)
),
plain AS (
    SELECT trace_id, device, start_ns, end_ns, weight
    FROM _device_ops
    JOIN weights USING (role, class)
    ANTI JOIN _nesting_traces USING (trace_id)
    WHERE end_ns > start_ns
),
nestable AS (
    SELECT
        trace_id, device, pid, tid, kernel_id, parent_id, start_ns, end_ns, self_ns,
        is_overlapping, coalesce(weight, 0) AS weight
    FROM _device_ops
    LEFT JOIN weights USING (role, class)
    SEMI JOIN _nesting_traces USING (trace_id)
    WHERE role = 'op' AND end_ns > start_ns
),
crossings AS (
    -- The start of the first operation that starts within this one and ends after it: it takes over
    -- for good.
    SELECT o.trace_id, o.kernel_id, min(other.start_ns) AS cut_ns
    FROM nestable AS o
    JOIN nestable AS other
        ON other.trace_id = o.trace_id AND other.pid = o.pid AND other.tid = o.tid
        AND other.start_ns > o.start_ns AND other.start_ns < o.end_ns
        AND other.end_ns > o.end_ns + 3
    WHERE o.is_overlapping AND other.is_overlapping
    GROUP BY o.trace_id, o.kernel_id
),
laid AS (
    SELECT
        o.trace_id, o.device, o.kernel_id, o.parent_id, o.start_ns, o.weight,
        CASE
            WHEN parents.kernel_id IS NULL THEN o.start_ns + o.self_ns
            ELSE coalesce(cut_ns, o.end_ns)
        END AS end_ns
    FROM nestable AS o
    LEFT JOIN (
        SELECT DISTINCT trace_id, parent_id AS kernel_id FROM nestable WHERE parent_id IS NOT NULL
    ) AS parents
        ON parents.trace_id = o.trace_id AND parents.kernel_id = o.kernel_id
    LEFT JOIN crossings
        ON crossings.trace_id = o.trace_id AND crossings.kernel_id = o.kernel_id
),
nested AS (
    SELECT trace_id, device, start_ns, end_ns, weight
    FROM laid
    UNION ALL
    SELECT o.trace_id, o.device, o.start_ns, least(o.end_ns, around.end_ns), -around.weight
    FROM laid AS o
    JOIN laid AS around ON around.trace_id = o.trace_id AND around.kernel_id = o.parent_id
    UNION ALL
    -- Those in flight before the first operation or after the last are outside the window.
    SELECT
        o.trace_id, o.device, greatest(start_ns, window_start_ns), least(end_ns, window_end_ns),
        weight
    FROM _device_ops AS o
    JOIN weights USING (role, class)
    SEMI JOIN _nesting_traces AS t ON t.trace_id = o.trace_id
    JOIN _device_windows AS w ON w.trace_id = o.trace_id AND w.device = o.device
    WHERE role = 'async' AND end_ns > start_ns AND start_ns < window_end_ns
        AND end_ns > window_start_ns
)
SELECT trace_id, device, window_start_ns AS at_ns, CAST(0 AS HUGEINT) AS weight
FROM _device_windows
UNION ALL
SELECT trace_id, device, window_end_ns, 0 FROM _device_windows
UNION ALL
SELECT trace_id, device, start_ns, weight FROM plain
UNION ALL
SELECT trace_id, device, end_ns, -weight FROM plain
UNION ALL
SELECT trace_id, device, start_ns, weight FROM nested
UNION ALL
SELECT trace_id, device, end_ns, -weight FROM nested;

-- One row per device and stretch of time between two moments at which an operation begins or ends:
-- what the device does. The stretches of a device fill, without a gap, the window from the first
-- operation to the last of all devices of its trace.
--
-- If several run at once, the state is the first of compute, communication, memory, wait.
--
-- key: trace_id, device, start_ns
--
-- trace_id              VARCHAR  trace
-- rank                  INTEGER  rank in the job, NULL if unknown
-- device                INTEGER  device
-- start_ns              BIGINT   start, ns
-- end_ns                BIGINT   end, ns
-- state                 VARCHAR  compute, communication (exposed: nothing computes), memory, wait
--                                (only operations that wait) or idle
-- class                 VARCHAR  the same, but copy or dma (moved beside the compute units) for
--                                memory
-- communication_active  BOOLEAN  a communication operation runs, asynchronous ones included
-- memory_active         BOOLEAN  a copy, a fill or a transfer runs
CREATE VIEW device_states AS
WITH moments AS (
    SELECT
        trace_id, device, at_ns, lead(at_ns) OVER in_time AS next_ns,
        sum(weight) OVER in_time AS running
    FROM _state_edges
    -- The order of edges at the same moment does not matter: the intervals between them are empty.
    WINDOW in_time AS (
        PARTITION BY trace_id, device ORDER BY at_ns ROWS UNBOUNDED PRECEDING
    )
),
counted AS (
    SELECT
        trace_id, device, at_ns AS start_ns, next_ns AS end_ns,
        (running & 1048575) > 0 AS computes,
        ((running >> 20) & 1048575) > 0 AS communicates,
        ((running >> 40) & 1048575) > 0 AS copies,
        ((running >> 60) & 1048575) > 0 AS transfers,
        ((running >> 80) & 1048575) > 0 AS waits,
        ((running >> 100) & 1048575) > 0 AS communicates_beside
    FROM moments
    WHERE next_ns > at_ns
),
stretches AS (
    SELECT
        trace_id, device, start_ns, end_ns,
        CASE
            WHEN computes THEN 'compute'
            WHEN communicates THEN 'communication'
            WHEN copies THEN 'copy'
            WHEN transfers THEN 'dma'
            WHEN waits THEN 'wait'
            ELSE 'idle'
        END AS class,
        communicates OR communicates_beside AS communication_active,
        copies OR transfers AS memory_active
    FROM counted
)
SELECT
    s.trace_id, traces.rank, s.device, s.start_ns, s.end_ns,
    CASE WHEN class IN ('copy', 'dma') THEN 'memory' ELSE class END AS state,
    class, communication_active, memory_active
FROM stretches AS s
JOIN traces ON traces.trace_id = s.trace_id;
