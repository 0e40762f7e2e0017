-- One row per pass: whether the device or the host that launches holds it up.
--
-- The pass's own time is from its first kernel of a layer to its last. The time between the end of
-- the previous pass and that start (sampling, scheduling, preparing inputs) is counted separately,
-- in the columns that begin with before_. Idle time comes from running sums over _idle_intervals:
-- the time between two moments is the difference of their sums. Directions of training that run at
-- the same time have no row: which of them is held up by what is unknown.
--
-- key: trace_id, device, pass_id
--
-- trace_id              VARCHAR  trace
-- rank                  INTEGER  rank in the job, NULL if unknown
-- device                INTEGER  device
-- pass_id               BIGINT   pass
-- stage                 VARCHAR  prefill, decode or mixed, NULL if unknown
-- verdict               VARCHAR  device-bound: hardly idle; host-bound: idle for lack of launches;
--                                waiting: idle although work was launched; unknown: idle, and the
--                                trace does not show the launches
-- span_us               DOUBLE   from the start of the first layer to the end of the last, µs
-- idle_us               DOUBLE   part in which the device runs nothing, µs
-- host_bound_idle_us    DOUBLE   of that, waiting for the host to launch the next operation, µs
-- unknown_idle_us       DOUBLE   of that, with a cause that the trace does not show, µs
-- idle_pct              DOUBLE   idle_us of span_us
-- host_bound_pct        DOUBLE   host_bound_idle_us of idle_us, NULL without idle time
-- before_us             DOUBLE   from the end of the pass before to the start, µs
-- before_idle_us        DOUBLE   part in which the device runs nothing, µs
-- before_host_bound_us  DOUBLE   of that, waiting for the host to launch the next operation, µs
-- kernel_count          BIGINT   operations that start in the pass, of those with a known launch
-- launches              BIGINT   calls that launched them
-- median_latency_us     DOUBLE   median from the launch of an operation to its start, µs
-- mean_depth            DOUBLE   operations launched and not finished, mean over the pass
-- max_depth             BIGINT   the most
-- queue_empty_pct       DOUBLE   share of the pass with no launched operation unfinished
CREATE VIEW pass_bounds AS
WITH followed AS (
    SELECT
        trace_id, rank, device, pass_id, direction, stage, start_ns, end_ns,
        max(end_ns) OVER (
            in_time ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS before_ns,
        lead(start_ns) OVER in_time AS next_ns
    FROM passes
    WINDOW in_time AS (PARTITION BY trace_id, device ORDER BY start_ns, pass_id)
),
spans AS (
    SELECT trace_id, rank, device, pass_id, stage, start_ns, end_ns, before_ns
    FROM followed
    WHERE
        direction IS NULL
        OR (coalesce(before_ns <= start_ns, TRUE) AND coalesce(next_ns >= end_ns, TRUE))
),
devices AS (
    SELECT DISTINCT trace_id, device FROM spans
),
moments AS (
    SELECT trace_id, device, start_ns AS at_ns FROM spans
    UNION
    SELECT trace_id, device, end_ns FROM spans
),
idle AS (
    SELECT
        trace_id, device, start_ns, end_ns, end_ns - start_ns AS idle_ns,
        CASE WHEN host_bound THEN end_ns - start_ns ELSE 0 END AS host_ns,
        CASE WHEN cause = 'launch not shown' THEN end_ns - start_ns ELSE 0 END AS unknown_ns
    FROM _idle_intervals
    SEMI JOIN devices USING (trace_id, device)
),
idle_so_far AS (
    SELECT
        trace_id, device, start_ns, end_ns, host_ns > 0 AS is_host, unknown_ns > 0 AS is_unknown,
        sum(idle_ns) OVER in_time AS idle_ns, sum(host_ns) OVER in_time AS host_ns,
        sum(unknown_ns) OVER in_time AS unknown_ns
    FROM idle
    WINDOW in_time AS (
        PARTITION BY trace_id, device ORDER BY start_ns ROWS UNBOUNDED PRECEDING
    )
),
idle_until AS (
    -- Sums up to a moment: all intervals that have begun, minus the rest of the last one.
    SELECT
        moments.trace_id, moments.device, moments.at_ns,
        idle_ns - greatest(0, end_ns - at_ns) AS idle_ns,
        host_ns - if(is_host, greatest(0, end_ns - at_ns), 0) AS host_ns,
        unknown_ns - if(is_unknown, greatest(0, end_ns - at_ns), 0) AS unknown_ns
    FROM moments
    ASOF JOIN idle_so_far
        ON idle_so_far.trace_id = moments.trace_id AND idle_so_far.device = moments.device
        AND idle_so_far.start_ns <= moments.at_ns
),
operations AS (
    SELECT trace_id, device, start_ns, end_ns, launch_id, launch_ns
    FROM kernels
    SEMI JOIN devices USING (trace_id, device)
    WHERE launch_ns IS NOT NULL
),
queued AS (
    -- The queue over all streams, with a zero change at each end of a pass.
    SELECT trace_id, device, at_ns, sum(step) AS step
    FROM (
        SELECT trace_id, device, least(launch_ns, start_ns) AS at_ns, 1 AS step FROM operations
        UNION ALL
        SELECT trace_id, device, end_ns, -1 FROM operations
        UNION ALL
        SELECT trace_id, device, at_ns, 0 FROM moments
    )
    GROUP BY trace_id, device, at_ns
),
depths AS (
    SELECT
        trace_id, device, at_ns, lead(at_ns) OVER in_time - at_ns AS slice_ns,
        sum(step) OVER in_time AS depth
    FROM queued
    WINDOW in_time AS (
        PARTITION BY trace_id, device ORDER BY at_ns ROWS UNBOUNDED PRECEDING
    )
),
queues AS (
    SELECT
        spans.trace_id, spans.device, spans.pass_id,
        sum(slice_ns * depth) / nullif(sum(slice_ns), 0) AS mean_depth, max(depth) AS max_depth,
        100.0 * coalesce(sum(slice_ns) FILTER (depth = 0), 0) / nullif(sum(slice_ns), 0)
            AS queue_empty_pct
    FROM depths
    ASOF JOIN spans
        ON spans.trace_id = depths.trace_id AND spans.device = depths.device
        AND spans.start_ns <= depths.at_ns
    WHERE depths.at_ns < spans.end_ns
    GROUP BY spans.trace_id, spans.device, spans.pass_id
),
launches AS (
    SELECT
        spans.trace_id, spans.device, spans.pass_id, count(*) AS kernel_count,
        count(DISTINCT launch_id) AS launches,
        median(operations.start_ns - launch_ns) / 1000.0 AS median_latency_us
    FROM operations
    ASOF JOIN spans
        ON spans.trace_id = operations.trace_id AND spans.device = operations.device
        AND spans.start_ns <= operations.start_ns
    WHERE operations.start_ns < spans.end_ns
    GROUP BY spans.trace_id, spans.device, spans.pass_id
),
measured AS (
    SELECT
        spans.trace_id, spans.rank, spans.device, spans.pass_id, spans.stage,
        (spans.end_ns - spans.start_ns) / 1000.0 AS span_us,
        (coalesce(ends.idle_ns, 0) - coalesce(starts.idle_ns, 0)) / 1000.0 AS idle_us,
        (coalesce(ends.host_ns, 0) - coalesce(starts.host_ns, 0)) / 1000.0
            AS host_bound_idle_us,
        (coalesce(ends.unknown_ns, 0) - coalesce(starts.unknown_ns, 0)) / 1000.0
            AS unknown_idle_us,
        (spans.start_ns - spans.before_ns) / 1000.0 AS before_us,
        CASE
            WHEN spans.before_ns IS NOT NULL
                THEN (coalesce(starts.idle_ns, 0) - coalesce(befores.idle_ns, 0)) / 1000.0
        END AS before_idle_us,
        CASE
            WHEN spans.before_ns IS NOT NULL
                THEN (coalesce(starts.host_ns, 0) - coalesce(befores.host_ns, 0)) / 1000.0
        END AS before_host_bound_us,
        launches.kernel_count, launches.launches, launches.median_latency_us,
        CASE WHEN launches.launches > 0 THEN queues.mean_depth END AS mean_depth,
        CASE WHEN launches.launches > 0 THEN CAST(queues.max_depth AS BIGINT) END AS max_depth,
        CASE WHEN launches.launches > 0 THEN queues.queue_empty_pct END AS queue_empty_pct
    FROM spans
    LEFT JOIN idle_until AS starts
        ON starts.trace_id = spans.trace_id AND starts.device = spans.device
        AND starts.at_ns = spans.start_ns
    LEFT JOIN idle_until AS ends
        ON ends.trace_id = spans.trace_id AND ends.device = spans.device
        AND ends.at_ns = spans.end_ns
    LEFT JOIN idle_until AS befores
        ON befores.trace_id = spans.trace_id AND befores.device = spans.device
        AND befores.at_ns = spans.before_ns
    LEFT JOIN queues
        ON queues.trace_id = spans.trace_id AND queues.device = spans.device
        AND queues.pass_id = spans.pass_id
    LEFT JOIN launches
        ON launches.trace_id = spans.trace_id AND launches.device = spans.device
        AND launches.pass_id = spans.pass_id
),
limits AS (
    SELECT
        max(value) FILTER (bound_limit = 'idle') AS idle_pct,
        max(value) FILTER (bound_limit = 'cause') AS cause_pct
    FROM bound_limits
)
SELECT
    trace_id, rank, device, pass_id, stage,
    CASE
        WHEN 100 * idle_us < limits.idle_pct * span_us THEN 'device-bound'
        WHEN 100 * unknown_idle_us >= limits.cause_pct * idle_us THEN 'unknown'
        WHEN 100 * host_bound_idle_us >= limits.cause_pct * idle_us THEN 'host-bound'
        ELSE 'waiting'
    END AS verdict,
    span_us, idle_us, host_bound_idle_us, unknown_idle_us,
    100 * idle_us / nullif(span_us, 0) AS idle_pct,
    100 * host_bound_idle_us / nullif(idle_us, 0) AS host_bound_pct, before_us, before_idle_us,
    before_host_bound_us, kernel_count, launches, median_latency_us, mean_depth, max_depth,
    queue_empty_pct
FROM measured
CROSS JOIN limits;
