-- One row per device and stretch of time between two moments at which an operation begins or ends:
-- what the device does. The stretches of a device fill, without a gap, the window from the first
-- operation to the last of all devices of its trace.
--
-- Of what runs at once the state names the first of compute, communication, memory, wait.
--
-- trace_id              VARCHAR  trace
-- rank                  INTEGER  rank in the job, NULL when unknown
-- device                INTEGER  device
-- start_ns              BIGINT   start, ns
-- end_ns                BIGINT   end, ns
-- state                 VARCHAR  compute, communication (exposed: nothing computes), memory, wait
--                                (only operations that wait) or idle
-- class                 VARCHAR  the same, but copy or dma (moved beside the compute units) for
--                                memory
-- communication_active  BOOLEAN  a communication operation runs, also beside the others
-- memory_active         BOOLEAN  a copy, a fill or a transfer runs
CREATE VIEW device_states AS
WITH moments AS (
    SELECT
        trace_id, device, at_ns, lead(at_ns) OVER in_time AS next_ns,
        sum(weight) OVER in_time AS running
    FROM _state_edges
    -- Which of several edges at one moment comes first is of no account: the stretches between them
    -- last no time.
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
