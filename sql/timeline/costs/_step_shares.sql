-- One row per interval in which an operation counts for a step that a trace is compared by.
--
-- XLA operations nest on their line, and only the innermost counts: the one around them keeps the
-- time before the first, between them and after the last. Kernels on streams all count.
CREATE VIEW _step_stretches AS
WITH work AS (
    SELECT steps.*, kernel_id
    FROM _compared_steps AS steps
    JOIN _step_work AS work USING (trace_id, device, step_id)
    WHERE NOT is_whole
    UNION ALL
    SELECT steps.*, kernel_id
    FROM _compared_steps AS steps
    JOIN _device_ops USING (trace_id, device)
    WHERE is_whole
),
operations AS MATERIALIZED (
    SELECT
        work.trace_id, work.device, work.step_id, work.kernel_id, ops.parent_id,
        nesting.trace_id IS NOT NULL AS is_nested,
        CASE class WHEN 'compute' THEN 1 WHEN 'communication' THEN 2 WHEN 'wait' THEN 4 ELSE 3 END
            AS precedence,
        greatest(ops.start_ns, work.start_ns) AS start_ns, least(ops.end_ns, work.end_ns) AS end_ns
    FROM work
    JOIN _device_ops AS ops ON ops.trace_id = work.trace_id AND ops.kernel_id = work.kernel_id
    LEFT JOIN _nesting_traces AS nesting ON nesting.trace_id = work.trace_id
    WHERE role = 'op'
),
inner_ones AS (
    SELECT
        trace_id, device, step_id, parent_id, start_ns, end_ns,
        lag(end_ns) OVER siblings AS before_ns, lead(start_ns) OVER siblings AS next_ns
    FROM operations
    WHERE is_nested AND parent_id IS NOT NULL
    WINDOW siblings AS (
        PARTITION BY trace_id, device, step_id, parent_id ORDER BY start_ns, end_ns, kernel_id
    )
)
SELECT
    trace_id, device, step_id, kernel_id, precedence, start_ns, end_ns
FROM operations
ANTI JOIN inner_ones
    ON inner_ones.trace_id = operations.trace_id AND inner_ones.device = operations.device
    AND inner_ones.step_id = operations.step_id AND inner_ones.parent_id = operations.kernel_id
WHERE end_ns > start_ns
UNION ALL
SELECT
    around.trace_id, around.device, around.step_id, around.kernel_id, around.precedence,
    unnest([coalesce(before_ns, around.start_ns), inside.end_ns]),
    unnest([inside.start_ns, if(next_ns IS NULL, around.end_ns, inside.end_ns)])
FROM inner_ones AS inside
JOIN operations AS around
    ON around.trace_id = inside.trace_id AND around.device = inside.device
    AND around.step_id = inside.step_id AND around.kernel_id = inside.parent_id;

-- One row per step, device and operation that counts for it: the operation's exclusive time. The
-- exclusive times of a step are disjoint, so no time counts twice.
--
-- Of concurrent operations, computing takes precedence over communicating, that over copying, and
-- waiting comes last; of collectives the time belongs to the one that the device waits for, see
-- awaited_turns, of two others of one kind to the one that began first, and the other has the time
-- that is left after that ends. An operation with no time left is here with 0.
--
-- trace_id      VARCHAR  trace
-- device        INTEGER  device
-- step_id       BIGINT   step, see _compared_steps
-- kernel_id     BIGINT   operation
-- precedence    INTEGER  1 computes, 2 communicates, 3 copies, 4 waits
-- exclusive_ns  BIGINT   its own time, ns
CREATE VIEW _step_shares AS
WITH stretches AS MATERIALIZED (
    SELECT trace_id, device, step_id, kernel_id, precedence, start_ns, end_ns
    FROM _step_stretches
    WHERE end_ns >= start_ns
),
communicating AS (
    SELECT
        s.trace_id, s.device, s.step_id, coalesce(k.stream, l.lane) AS stream, s.kernel_id,
        s.start_ns, s.end_ns
    FROM stretches AS s
    LEFT JOIN kernels AS k ON k.trace_id = s.trace_id AND k.kernel_id = s.kernel_id
    LEFT JOIN _collective_lanes AS l ON l.trace_id = s.trace_id AND l.kernel_id = s.kernel_id
    WHERE s.precedence = 2
),
first_ones AS (
    SELECT
        trace_id, device, step_id, kernel_id, precedence, end_ns,
        greatest(start_ns, coalesce(max(end_ns) OVER (
            PARTITION BY trace_id, device, step_id, precedence
            ORDER BY start_ns, end_ns DESC, kernel_id
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ), start_ns)) AS start_ns
    FROM stretches
    WHERE precedence <> 2
    UNION ALL
    SELECT trace_id, device, step_id, kernel_id, 2, end_ns, start_ns
    FROM awaited_turns(communicating)
    UNION ALL
    -- For those that no stretch counts for.
    SELECT trace_id, device, step_id, kernel_id, 2, start_ns, start_ns FROM communicating
),
lower_ones AS (
    SELECT DISTINCT trace_id, device, step_id, precedence FROM stretches WHERE precedence > 1
),
above AS (
    -- All operations of higher precedence, merged: each counts from the moment at which no earlier
    -- one is still running.
    SELECT
        lower_ones.trace_id, lower_ones.device, lower_ones.step_id, lower_ones.precedence, end_ns,
        greatest(start_ns, coalesce(max(end_ns) OVER (
            PARTITION BY
                lower_ones.trace_id, lower_ones.device, lower_ones.step_id, lower_ones.precedence
            ORDER BY start_ns, end_ns DESC
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ), start_ns)) AS start_ns
    FROM lower_ones
    JOIN stretches
        ON stretches.trace_id = lower_ones.trace_id AND stretches.device = lower_ones.device
        AND stretches.step_id = lower_ones.step_id
        AND stretches.precedence < lower_ones.precedence
),
covers AS (
    SELECT
        trace_id, device, step_id, precedence, start_ns, end_ns,
        sum(end_ns - start_ns) OVER (
            PARTITION BY trace_id, device, step_id, precedence ORDER BY start_ns
            ROWS UNBOUNDED PRECEDING
        ) - (end_ns - start_ns) AS before_ns
    FROM above
    WHERE end_ns > start_ns
),
moments AS (
    SELECT trace_id, device, step_id, precedence, start_ns AS at_ns
    FROM first_ones
    WHERE precedence > 1 AND end_ns > start_ns
    UNION
    SELECT trace_id, device, step_id, precedence, end_ns
    FROM first_ones
    WHERE precedence > 1 AND end_ns > start_ns
),
covered AS (
    SELECT
        moments.trace_id, moments.device, moments.step_id, moments.precedence, at_ns,
        coalesce(before_ns + least(at_ns, covers.end_ns) - covers.start_ns, 0) AS covered_ns
    FROM moments
    ASOF LEFT JOIN covers
        ON covers.trace_id = moments.trace_id AND covers.device = moments.device
        AND covers.step_id = moments.step_id AND covers.precedence = moments.precedence
        AND covers.start_ns <= moments.at_ns
)
SELECT
    o.trace_id, o.device, o.step_id, o.kernel_id, o.precedence,
    CAST(sum(
        greatest(o.end_ns - o.start_ns, 0)
        - coalesce(till.covered_ns, 0) + coalesce(since.covered_ns, 0)
    ) AS BIGINT) AS exclusive_ns
FROM first_ones AS o
LEFT JOIN covered AS since
    ON since.trace_id = o.trace_id AND since.device = o.device AND since.step_id = o.step_id
    AND since.precedence = o.precedence AND since.at_ns = o.start_ns AND o.end_ns > o.start_ns
LEFT JOIN covered AS till
    ON till.trace_id = o.trace_id AND till.device = o.device AND till.step_id = o.step_id
    AND till.precedence = o.precedence AND till.at_ns = o.end_ns AND o.end_ns > o.start_ns
GROUP BY o.trace_id, o.device, o.step_id, o.kernel_id, o.precedence;
