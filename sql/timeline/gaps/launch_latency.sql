-- One row per device operation whose launch the trace shows: how long it took from the call to the
-- operation, and how much of that it queued behind others on its stream.
--
-- latency_us = from the call's start to the operation's; delay_us = from the call's end, negative
-- where the operation starts before the call returns. A delay that queued_us does not explain is
-- launch overhead, or a wait for another stream.
--
-- key: trace_id, kernel_id
--
-- trace_id        VARCHAR  trace
-- rank            INTEGER  rank in the job, NULL if unknown
-- device          INTEGER  device
-- stream          BIGINT   stream
-- kernel_id       BIGINT   event_id of the operation
-- name            VARCHAR  its name
-- launch_id       BIGINT   event_id of the call
-- launch_name     VARCHAR  name of the call
-- launch_pid      VARCHAR  process of the call
-- launch_tid      VARCHAR  thread of the call
-- launch_kernels  BIGINT   operations of the same call; above 1 for graphs
-- launch_ns       BIGINT   start of the call, ns
-- launch_end_ns   BIGINT   end of the call, ns
-- start_ns        BIGINT   start of the operation, ns
-- dur_us          DOUBLE   duration of the operation, µs
-- call_us         DOUBLE   duration of the call, µs
-- latency_us      DOUBLE   start of the operation less start of the call, µs
-- delay_us        DOUBLE   start of the operation less end of the call, µs
-- queued_us       DOUBLE   time after the call began in which earlier operations of the stream had
--                          not ended, µs
-- overhead_us     DOUBLE   latency_us less queued_us
CREATE VIEW launch_latency AS
WITH operations AS (
    SELECT
        trace_id, rank, device, stream, kernel_id, name, launch_id, launch_pid, launch_tid,
        launch_kernels, launch_ns, start_ns, dur_ns,
        max(end_ns) OVER (
            PARTITION BY trace_id, device, stream
            ORDER BY start_ns, end_ns, kernel_id
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS stream_until_ns
    FROM kernels
),
timed AS (
    SELECT
        operations.trace_id, operations.rank, operations.device, operations.stream,
        operations.kernel_id, operations.name, operations.launch_id,
        calls.name AS launch_name, operations.launch_pid, operations.launch_tid,
        operations.launch_kernels, operations.launch_ns, calls.end_ns AS launch_end_ns,
        operations.start_ns, operations.dur_ns,
        greatest(
            0,
            least(operations.start_ns, coalesce(operations.stream_until_ns, launch_ns)) - launch_ns
        ) AS queued_ns
    FROM operations
    JOIN events AS calls
        ON calls.trace_id = operations.trace_id AND calls.event_id = operations.launch_id
    WHERE calls.lane = 'host'
)
SELECT
    trace_id, rank, device, stream, kernel_id, name, launch_id, launch_name, launch_pid,
    launch_tid, launch_kernels, launch_ns, launch_end_ns, start_ns, dur_ns / 1000.0 AS dur_us,
    (launch_end_ns - launch_ns) / 1000.0 AS call_us,
    (start_ns - launch_ns) / 1000.0 AS latency_us,
    (start_ns - launch_end_ns) / 1000.0 AS delay_us,
    queued_ns / 1000.0 AS queued_us,
    (start_ns - launch_ns - queued_ns) / 1000.0 AS overhead_us
FROM timed;
