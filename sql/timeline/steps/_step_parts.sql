-- One row per step and device with work: the time that the device spent on it, each moment counted
-- for the first of compute, communication, memory and wait that applies.
--
-- If the operations of a step are known individually (launches, step ids), only these count: the
-- work of steps may overlap in time, and what runs meanwhile belongs to other steps. If a step is
-- an interval of the device's time, or runs of programs whose operations nest, the states of the
-- device count from its start to its end.
--
-- stored: per trace
--
-- trace_id          VARCHAR  trace
-- device            INTEGER  device
-- step_id           BIGINT   step
-- compute_ns        BIGINT   time in which the step computes, ns
-- communication_ns  BIGINT   time in which it communicates and does not compute, ns
-- memory_ns         BIGINT   time in which it only copies, ns
-- wait_ns           BIGINT   time only in operations that wait, ns
-- other_ns          BIGINT   time with nothing of the step, while the device ran something else, ns
CREATE VIEW _step_parts AS
WITH timed AS MATERIALIZED (
    SELECT
        trace_id, device, step_id, start_ns, end_ns,
        work_source IN ('launches', 'step ids') AND nested.trace_id IS NULL AS is_own
    FROM _device_steps
    LEFT JOIN _nesting_traces AS nested USING (trace_id)
    WHERE device >= 0 AND start_ns IS NOT NULL
),
own_operations AS (
    SELECT
        work.trace_id, work.device, step_id, work.start_ns, work.end_ns,
        CASE ops.class WHEN 'dma' THEN 'memory' WHEN 'copy' THEN 'memory' ELSE ops.class END
            AS class
    FROM _step_work AS work
    SEMI JOIN (SELECT * FROM timed WHERE is_own) AS own
        ON own.trace_id = work.trace_id AND own.device = work.device AND own.step_id = work.step_id
    JOIN _device_ops AS ops
        ON ops.trace_id = work.trace_id AND ops.kernel_id = work.kernel_id
    WHERE work.end_ns > work.start_ns AND ops.role = 'op'
),
edges AS (
    SELECT trace_id, device, step_id, start_ns AS at_ns, class, 1 AS change FROM own_operations
    UNION ALL
    SELECT trace_id, device, step_id, end_ns, class, -1 FROM own_operations
),
running AS (
    -- The order of edges at the same moment does not matter: there is no time between them.
    SELECT
        trace_id, device, step_id, lead(at_ns) OVER in_time - at_ns AS slice_ns,
        sum(change) FILTER (class = 'compute') OVER in_time AS computing,
        sum(change) FILTER (class = 'communication') OVER in_time AS communicating,
        sum(change) FILTER (class = 'memory') OVER in_time AS copying,
        sum(change) FILTER (class = 'wait') OVER in_time AS waiting
    FROM edges
    WINDOW in_time AS (
        PARTITION BY trace_id, device, step_id ORDER BY at_ns ROWS UNBOUNDED PRECEDING
    )
),
own_sums AS (
    SELECT
        trace_id, device, step_id,
        sum(slice_ns) FILTER (state = 'compute') AS compute_ns,
        sum(slice_ns) FILTER (state = 'communication') AS communication_ns,
        sum(slice_ns) FILTER (state = 'memory') AS memory_ns,
        sum(slice_ns) FILTER (state = 'wait') AS wait_ns
    FROM (
        SELECT
            trace_id, device, step_id, slice_ns,
            CASE
                WHEN computing > 0 THEN 'compute'
                WHEN communicating > 0 THEN 'communication'
                WHEN copying > 0 THEN 'memory'
                WHEN waiting > 0 THEN 'wait'
            END AS state
        FROM running
    )
    GROUP BY trace_id, device, step_id
),
bounds AS (
    SELECT trace_id, device, start_ns AS at_ns FROM timed
    UNION
    SELECT trace_id, device, end_ns FROM timed
),
reached AS (
    SELECT
        bounds.trace_id, bounds.device, bounds.at_ns, before.state, before.compute_ns,
        before.communication_ns, before.memory_ns, before.wait_ns,
        least(bounds.at_ns, before.end_ns) - before.start_ns AS part_ns
    FROM bounds
    -- Before its first operation a device has done nothing.
    ASOF LEFT JOIN _state_sums AS before
        ON before.trace_id = bounds.trace_id
        AND before.device = bounds.device
        AND before.start_ns <= bounds.at_ns
),
until AS (
    SELECT
        trace_id, device, at_ns,
        coalesce(compute_ns, 0) + if(state = 'compute', part_ns, 0) AS compute_ns,
        coalesce(communication_ns, 0) + if(state = 'communication', part_ns, 0)
            AS communication_ns,
        coalesce(memory_ns, 0) + if(state = 'memory', part_ns, 0) AS memory_ns,
        coalesce(wait_ns, 0) + if(state = 'wait', part_ns, 0) AS wait_ns
    FROM reached
),
of_device AS (
    SELECT
        timed.trace_id, timed.device, timed.step_id, timed.is_own,
        till.compute_ns - since.compute_ns AS compute_ns,
        till.communication_ns - since.communication_ns AS communication_ns,
        till.memory_ns - since.memory_ns AS memory_ns,
        till.wait_ns - since.wait_ns AS wait_ns
    FROM timed
    JOIN until AS since
        ON since.trace_id = timed.trace_id AND since.device = timed.device
        AND since.at_ns = timed.start_ns
    JOIN until AS till
        ON till.trace_id = timed.trace_id AND till.device = timed.device
        AND till.at_ns = timed.end_ns
)
SELECT
    d.trace_id, d.device, d.step_id,
    CAST(if(is_own, coalesce(own.compute_ns, 0), d.compute_ns) AS BIGINT) AS compute_ns,
    CAST(if(is_own, coalesce(own.communication_ns, 0), d.communication_ns) AS BIGINT)
        AS communication_ns,
    CAST(if(is_own, coalesce(own.memory_ns, 0), d.memory_ns) AS BIGINT) AS memory_ns,
    CAST(if(is_own, coalesce(own.wait_ns, 0), d.wait_ns) AS BIGINT) AS wait_ns,
    CAST(
        if(
            is_own,
            d.compute_ns + d.communication_ns + d.memory_ns + d.wait_ns
            - coalesce(own.compute_ns, 0) - coalesce(own.communication_ns, 0)
            - coalesce(own.memory_ns, 0) - coalesce(own.wait_ns, 0),
            0
        ) AS BIGINT
    ) AS other_ns
FROM of_device AS d
LEFT JOIN own_sums AS own
    ON own.trace_id = d.trace_id AND own.device = d.device AND own.step_id = d.step_id;
