-- One row per call of a collective on a device: when it ran, and what the device did meanwhile.
--
-- While nothing else runs, the time is exposed, and it is counted for one collective alone, the one
-- that began first: the sum over a device is its exposed communication. What is only in flight,
-- beside the operations, exposes nothing: the device is then idle, or busy with another.
--
-- trace_id    VARCHAR  trace
-- device      INTEGER  device
-- call_id     BIGINT   event_id of its first operation
-- operations  BIGINT   device operations of the call
-- start_ns    BIGINT   start of the first, ns
-- end_ns      BIGINT   end of the last, ns
-- exposed_ns  BIGINT   time in which the device only communicates, counted for this call, ns
-- hidden_ns   BIGINT   time in which the device computes, ns
-- idle_ns     BIGINT   time in which the device does nothing, or waits, ns
CREATE VIEW _collective_times AS
WITH parts AS (
    SELECT trace_id, device, kernel_id, role, start_ns, end_ns FROM _collective_parts
),
owned AS (
    -- From where no earlier one of them runs any more.
    SELECT
        trace_id, device, kernel_id, end_ns,
        greatest(start_ns, coalesce(max(end_ns) OVER (
            PARTITION BY trace_id, device ORDER BY start_ns, kernel_id
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ), start_ns)) AS start_ns
    FROM parts
    WHERE role = 'op'
),
calls AS (
    SELECT
        trace_id, device, call_id, count(*) AS operations, min(start_ns) AS start_ns,
        max(end_ns) AS end_ns
    FROM parts
    JOIN _collective_halves USING (trace_id, device, kernel_id)
    GROUP BY trace_id, device, call_id
),
moments AS (
    SELECT trace_id, device, start_ns AS at_ns FROM owned
    UNION
    SELECT trace_id, device, end_ns FROM owned
    UNION
    SELECT trace_id, device, start_ns FROM calls
    UNION
    SELECT trace_id, device, end_ns FROM calls
),
reached AS (
    SELECT
        moments.trace_id, moments.device, moments.at_ns, before.state, before.compute_ns,
        before.communication_ns, before.wait_ns + before.idle_ns AS idle_ns,
        least(moments.at_ns, before.end_ns) - before.start_ns AS part_ns
    FROM moments
    ASOF JOIN _state_sums AS before
        ON before.trace_id = moments.trace_id
        AND before.device = moments.device
        AND before.start_ns <= moments.at_ns
),
sums AS (
    SELECT
        trace_id, device, at_ns,
        compute_ns + CASE WHEN state = 'compute' THEN part_ns ELSE 0 END AS compute_ns,
        communication_ns + CASE WHEN state = 'communication' THEN part_ns ELSE 0 END
            AS communication_ns,
        idle_ns + CASE WHEN state IN ('idle', 'wait') THEN part_ns ELSE 0 END AS idle_ns
    FROM reached
),
exposed AS (
    SELECT
        owned.trace_id, owned.device, _collective_halves.call_id,
        sum(till.communication_ns - coalesce(since.communication_ns, 0)) AS exposed_ns
    FROM owned
    JOIN _collective_halves USING (trace_id, device, kernel_id)
    JOIN sums AS till
        ON till.trace_id = owned.trace_id
        AND till.device = owned.device
        AND till.at_ns = owned.end_ns
    LEFT JOIN sums AS since
        ON since.trace_id = owned.trace_id
        AND since.device = owned.device
        AND since.at_ns = owned.start_ns
    WHERE owned.end_ns > owned.start_ns
    GROUP BY owned.trace_id, owned.device, _collective_halves.call_id
)
SELECT
    calls.trace_id, calls.device, calls.call_id, calls.operations, calls.start_ns, calls.end_ns,
    CAST(coalesce(exposed.exposed_ns, 0) AS BIGINT) AS exposed_ns,
    coalesce(till.compute_ns, 0) - coalesce(since.compute_ns, 0) AS hidden_ns,
    coalesce(till.idle_ns, 0) - coalesce(since.idle_ns, 0) AS idle_ns
FROM calls
LEFT JOIN exposed USING (trace_id, device, call_id)
LEFT JOIN sums AS since
    ON since.trace_id = calls.trace_id
    AND since.device = calls.device
    AND since.at_ns = calls.start_ns
LEFT JOIN sums AS till
    ON till.trace_id = calls.trace_id
    AND till.device = calls.device
    AND till.at_ns = calls.end_ns;
