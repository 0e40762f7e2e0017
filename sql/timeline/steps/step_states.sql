-- One row per step and device: what the device did in it. compute_us + communication_us +
-- memory_us + wait_us + idle_us = dur_us, exactly: if several run at once, the first of these
-- counts.
--
-- If launches give the step's work, only that counts: steps may overlap on the device, and other
-- work in a step's time is idle time of the step, other_us. If a step is an interval of the
-- device's time, everything in it is its work; outside the device's window it is idle.
--
-- key: trace_id, device, step_id
--
-- trace_id          VARCHAR  trace
-- rank              INTEGER  rank in the job, NULL if unknown
-- device            INTEGER  device
-- step_id           BIGINT   step, from 0 in time order per device
-- step_number       BIGINT   number of the step, NULL if the trace gives none
-- start_ns          BIGINT   start of its time on the device, as in steps, ns; NULL without work
-- program           VARCHAR  what it ran, see steps
-- work_source       VARCHAR  source of the step's work, see steps
-- is_steady         BOOLEAN  neither warm-up nor cut off
-- ops               BIGINT   device operations of the step
-- dur_us            DOUBLE   its time on the device, as in steps, µs; NULL without work
-- compute_us        DOUBLE   time in which the step computes, µs; NULL, like those that follow,
--                            without work and in a trace without device operations
-- communication_us  DOUBLE   time in which it communicates and does not compute: exposed, µs
-- memory_us         DOUBLE   time in which it only copies, µs
-- wait_us           DOUBLE   time in operations that wait, µs
-- idle_us           DOUBLE   time in which none of its work runs, µs
-- other_us          DOUBLE   of that, time in which the device runs something else: another step,
--                            or work that no step launched, µs
-- busy_us           DOUBLE   union of its operations, except those that only wait, µs
-- host_us           DOUBLE   duration of its mark on the host, as in steps, µs
-- period_us         DOUBLE   from its start on the computing stream to that of the next step, as in
--                            steps, µs
CREATE VIEW step_states AS
SELECT
    steps.trace_id, steps.rank, steps.device, steps.step_id, steps.step_number,
    steps.start_ns, steps.program, steps.work_source,
    NOT steps.is_warm_up AND NOT steps.is_partial AS is_steady, steps.ops, steps.dur_us,
    compute_ns / 1000.0 AS compute_us,
    communication_ns / 1000.0 AS communication_us,
    memory_ns / 1000.0 AS memory_us,
    wait_ns / 1000.0 AS wait_us,
    (
        steps.end_ns - steps.start_ns - compute_ns - communication_ns - memory_ns - wait_ns
    ) / 1000.0 AS idle_us,
    other_ns / 1000.0 AS other_us,
    (compute_ns + communication_ns + memory_ns) / 1000.0 AS busy_us, steps.host_us,
    steps.period_us
FROM steps
LEFT JOIN _step_parts AS parts
    ON parts.trace_id = steps.trace_id AND parts.device = steps.device
    AND parts.step_id = steps.step_id;
