-- One row per trace with device operations and steps: the time of operations that belong to no
-- step.
--
-- stored: per trace
--
-- trace_id           VARCHAR  trace
-- outside_steps_pct  DOUBLE   share of the time of its device operations, of all devices, that
--                             belong to no step and to no drafts of speculative decoding that an
--                             engine marks, %; NULL if none takes time
-- between_steps_us   DOUBLE   time of operations that belong to no step, drafts included, and begin
--                             between the first and the last operation of its steady steps, per
--                             device and per steady step after the first, µs; NULL with fewer than
--                             two
CREATE VIEW _outside_work AS
WITH steady AS (
    SELECT trace_id, min(first_ns) AS start_ns, max(last_ns) AS end_ns, count(*) AS steps
    FROM _timed_steps
    WHERE NOT is_warm_up AND NOT is_partial AND ops > 0
    GROUP BY trace_id
),
stepped AS (
    SELECT DISTINCT trace_id FROM _timed_steps WHERE work_source IS NOT NULL
),
summed AS (
    SELECT
        ops.trace_id, count(DISTINCT ops.device) AS devices, sum(self_ns) AS total_ns,
        coalesce(
            sum(self_ns) FILTER (coalesce(work.kernel_id, drafts.kernel_id) IS NULL), 0
        ) AS outside_ns,
        coalesce(
            sum(self_ns) FILTER (
                work.kernel_id IS NULL
                AND ops.start_ns BETWEEN steady.start_ns AND steady.end_ns
            ), 0
        ) AS between_ns
    FROM _device_ops AS ops
    SEMI JOIN stepped ON stepped.trace_id = ops.trace_id
    LEFT JOIN _step_work AS work
        ON work.trace_id = ops.trace_id AND work.kernel_id = ops.kernel_id
    LEFT JOIN _draft_work AS drafts
        ON drafts.trace_id = ops.trace_id AND drafts.kernel_id = ops.kernel_id
    LEFT JOIN steady ON steady.trace_id = ops.trace_id
    WHERE role = 'op'
    GROUP BY ops.trace_id
)
SELECT
    summed.trace_id, 100.0 * outside_ns / nullif(total_ns, 0) AS outside_steps_pct,
    between_ns / 1000.0 / devices / nullif(steps - 1, 0) AS between_steps_us
FROM summed
LEFT JOIN steady ON steady.trace_id = summed.trace_id;
