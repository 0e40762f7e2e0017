-- One row per device, cause of idleness and concurrent host activity: why the device is idle. The
-- rows of a device sum exactly to its time with nothing running: idle_us less wait_us of
-- time_breakdown.
--
-- key: trace_id, device, cause, host_activity?
--
-- trace_id       VARCHAR  trace
-- rank           INTEGER  rank in the job, NULL if unknown
-- device         INTEGER  device
-- cause          VARCHAR  what the device waited for, see idle_rules
-- host_bound     BOOLEAN  it waited for the host to launch its next operation
-- host_activity  VARCHAR  innermost operator, call or Python frame on the launching thread; of
--                         annotations that mark steps the step_source (step_rules), of others and
--                         of modules the name, # for each number that counts, so that all steps
--                         and layers are one; NULL if none was running, or if the interval is too
--                         short
-- activity_kind  VARCHAR  its category: cpu_op, cuda_runtime, python_function, user_annotation, …
-- intervals      BIGINT   idle intervals it is part of
-- idle_us        DOUBLE   idle time, µs
-- max_us         DOUBLE   the most in one interval, µs
-- idle_pct       DOUBLE   share of that time of the device
-- window_pct     DOUBLE   share of the trace's window
-- advice         VARCHAR  what to look at next
CREATE VIEW idle_causes AS
WITH intervals AS (
    SELECT trace_id, rank, device, start_ns, end_ns - start_ns AS idle_ns, cause
    FROM _idle_intervals
),
attributed AS (
    SELECT
        intervals.trace_id, intervals.rank, intervals.device, intervals.cause,
        intervals.start_ns, _idle_activities.activity_id,
        coalesce(_idle_activities.overlap_ns, intervals.idle_ns) AS idle_ns
    FROM intervals
    LEFT JOIN _idle_activities
        ON _idle_activities.trace_id = intervals.trace_id
        AND _idle_activities.device = intervals.device
        AND _idle_activities.start_ns = intervals.start_ns
),
wanted AS (
    SELECT DISTINCT trace_id, activity_id FROM attributed WHERE activity_id IS NOT NULL
),
activities AS (
    SELECT events.trace_id, events.event_id, events.name, events.category
    FROM events
    SEMI JOIN wanted
        ON wanted.trace_id = events.trace_id AND wanted.activity_id = events.event_id
    WHERE events.lane IN ('host', 'python')
),
repeated AS (
    -- What runs in each step or layer under a name with another number.
    SELECT DISTINCT name, category
    FROM activities
    WHERE category = 'user_annotation' OR starts_with(name, 'nn.Module: ')
),
steps AS (
    SELECT name, arg_min(step_rules.step_source, priority) AS step_source
    FROM (SELECT name, unnest(_matching_step_rules(name)) AS priority FROM repeated)
    JOIN step_rules USING (priority)
    GROUP BY name
),
shared_names AS (
    SELECT
        name, category, coalesce(steps.step_source, _numbers_folded(name)) AS shared_name
    FROM repeated
    LEFT JOIN steps USING (name)
),
spans AS (
    SELECT trace_id, max(end_ns) - min(start_ns) AS window_ns
    FROM kernels
    WHERE end_ns > start_ns
    GROUP BY trace_id
),
by_interval AS (
    SELECT
        attributed.trace_id, attributed.rank, attributed.device, attributed.cause,
        attributed.start_ns, activities.category AS activity_kind,
        coalesce(shared_names.shared_name, activities.name) AS host_activity,
        sum(attributed.idle_ns) AS idle_ns
    FROM attributed
    LEFT JOIN activities
        ON activities.trace_id = attributed.trace_id
        AND activities.event_id = attributed.activity_id
    LEFT JOIN shared_names
        ON shared_names.name = activities.name AND shared_names.category = activities.category
    GROUP BY ALL
),
summed AS (
    SELECT
        trace_id, rank, device, cause, host_activity, activity_kind, count(*) AS intervals,
        sum(idle_ns) AS idle_ns, max(idle_ns) AS longest_ns
    FROM by_interval
    GROUP BY ALL
)
SELECT
    summed.trace_id, summed.rank, summed.device, summed.cause, idle_rules.host_bound,
    summed.host_activity, summed.activity_kind, summed.intervals,
    summed.idle_ns / 1000.0 AS idle_us, summed.longest_ns / 1000.0 AS max_us,
    100.0 * summed.idle_ns
        / sum(summed.idle_ns) OVER (PARTITION BY summed.trace_id, summed.device)
        AS idle_pct,
    100.0 * summed.idle_ns / spans.window_ns AS window_pct, idle_rules.advice
FROM summed
JOIN spans USING (trace_id)
JOIN idle_rules USING (cause);
