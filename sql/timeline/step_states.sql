-- One row per step and device: what the device did in it. compute_us + communication_us +
-- memory_us + wait_us + idle_us = dur_us, exactly, as the parts of time_breakdown are its window's:
-- of what runs at once the first of these counts, and outside of the device's window it is idle.
--
-- trace_id          VARCHAR  trace
-- rank              INTEGER  rank in the job, NULL when unknown
-- device            INTEGER  device
-- step_id           BIGINT   step, from 0 in time order per device
-- program           VARCHAR  what it ran, see steps
-- is_steady         BOOLEAN  neither warm-up nor cut off
-- dur_us            DOUBLE   duration, as in steps, µs
-- compute_us        DOUBLE   time in which the device computes, µs; NULL, like those that follow,
--                            in a trace without device operations
-- communication_us  DOUBLE   time in which it communicates and does not compute: exposed, µs
-- memory_us         DOUBLE   time in which it only copies, µs
-- wait_us           DOUBLE   time in operations that wait, µs
-- idle_us           DOUBLE   time in which nothing runs, µs
CREATE VIEW step_states AS
WITH edges AS (
    SELECT trace_id, device, start_ns AS at_ns FROM steps WHERE device IS NOT NULL
    UNION
    SELECT trace_id, device, end_ns FROM steps WHERE device IS NOT NULL
),
reached AS (
    SELECT
        edges.trace_id, edges.device, edges.at_ns, before.state, before.compute_ns,
        before.communication_ns, before.memory_ns, before.wait_ns,
        least(edges.at_ns, before.end_ns) - before.start_ns AS part_ns
    FROM edges
    -- Before its first operation a device has done nothing.
    ASOF LEFT JOIN _state_sums AS before
        ON before.trace_id = edges.trace_id
        AND before.device = edges.device
        AND before.start_ns <= edges.at_ns
),
sums AS (
    SELECT
        trace_id, device, at_ns,
        coalesce(compute_ns, 0) + CASE WHEN state = 'compute' THEN part_ns ELSE 0 END AS compute_ns,
        coalesce(communication_ns, 0) + CASE WHEN state = 'communication' THEN part_ns ELSE 0 END
            AS communication_ns,
        coalesce(memory_ns, 0) + CASE WHEN state = 'memory' THEN part_ns ELSE 0 END AS memory_ns,
        coalesce(wait_ns, 0) + CASE WHEN state = 'wait' THEN part_ns ELSE 0 END AS wait_ns
    FROM reached
)
SELECT
    steps.trace_id, steps.rank, steps.device, steps.step_id, steps.program,
    NOT steps.is_warm_up AND NOT steps.is_partial AS is_steady, steps.dur_us,
    (till.compute_ns - since.compute_ns) / 1000.0 AS compute_us,
    (till.communication_ns - since.communication_ns) / 1000.0 AS communication_us,
    (till.memory_ns - since.memory_ns) / 1000.0 AS memory_us,
    (till.wait_ns - since.wait_ns) / 1000.0 AS wait_us,
    (
        steps.end_ns - steps.start_ns
        - (till.compute_ns - since.compute_ns)
        - (till.communication_ns - since.communication_ns)
        - (till.memory_ns - since.memory_ns)
        - (till.wait_ns - since.wait_ns)
    ) / 1000.0 AS idle_us
FROM steps
LEFT JOIN sums AS since
    ON since.trace_id = steps.trace_id
    AND since.device = steps.device
    AND since.at_ns = steps.start_ns
LEFT JOIN sums AS till
    ON till.trace_id = steps.trace_id
    AND till.device = steps.device
    AND till.at_ns = steps.end_ns;
