-- One row per trace with device operations and steps: the time of operations that belong to no
-- step.
--
-- stored: per trace
--
-- trace_id           VARCHAR  trace
-- outside_steps_pct  DOUBLE   share of the time of its device operations, of all devices, that
--                             belong to no step and to no drafts of speculative decoding that an
--                             engine marks, %; NULL if none takes time
-- between_steps_us   DOUBLE   median, over its steady steps but the last, of the time of operations
--                             that belong to no step, drafts included, and begin between the step's
--                             first operation and that of the next, per device, µs; NULL with fewer
--                             than two
CREATE VIEW _outside_work AS
WITH steady AS (
    SELECT
        trace_id, step_id, first_ns,
        lead(first_ns) OVER (PARTITION BY trace_id ORDER BY first_ns, step_id) AS next_ns
    FROM _timed_steps
    WHERE NOT is_warm_up AND NOT is_partial AND ops > 0
),
stepped AS (
    SELECT DISTINCT trace_id FROM _timed_steps WHERE work_source IS NOT NULL
),
placed AS (
    SELECT
        ops.trace_id, ops.device, ops.start_ns, self_ns, work.kernel_id IS NULL AS is_outside,
        drafts.kernel_id IS NOT NULL AS is_draft
    FROM _device_ops AS ops
    SEMI JOIN stepped ON stepped.trace_id = ops.trace_id
    LEFT JOIN _step_work AS work
        ON work.trace_id = ops.trace_id AND work.kernel_id = ops.kernel_id
    LEFT JOIN _draft_work AS drafts
        ON drafts.trace_id = ops.trace_id AND drafts.kernel_id = ops.kernel_id
    WHERE role = 'op'
),
summed AS (
    SELECT
        trace_id, count(DISTINCT device) AS devices, sum(self_ns) AS total_ns,
        coalesce(sum(self_ns) FILTER (is_outside AND NOT is_draft), 0) AS outside_ns
    FROM placed
    GROUP BY trace_id
),
between_steps AS (
    SELECT p.trace_id, s.step_id, sum(p.self_ns) AS between_ns
    FROM (SELECT trace_id, start_ns, self_ns FROM placed WHERE is_outside) AS p
    ASOF JOIN steady AS s ON s.trace_id = p.trace_id AND s.first_ns <= p.start_ns
    GROUP BY p.trace_id, s.step_id
),
medians AS (
    SELECT trace_id, median(coalesce(between_ns, 0)) AS between_ns
    FROM steady
    LEFT JOIN between_steps USING (trace_id, step_id)
    WHERE next_ns IS NOT NULL
    GROUP BY trace_id
)
SELECT
    trace_id, 100.0 * outside_ns / nullif(total_ns, 0) AS outside_steps_pct,
    between_ns / 1000.0 / devices AS between_steps_us
FROM summed
LEFT JOIN medians USING (trace_id);
