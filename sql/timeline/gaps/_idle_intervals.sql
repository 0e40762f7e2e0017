-- One row per interval in which a device has no operation running, including those at the edges of
-- the window, which no operation ends.
CREATE VIEW _idle_spans AS
WITH operations AS (
    -- Of operations that start together, the one launched first ends the interval: the device could
    -- have run it earliest.
    SELECT
        trace_id, device, start_ns, kernel_id,
        max(end_ns) OVER (
            PARTITION BY trace_id, device
            ORDER BY start_ns, launch_ns, end_ns, kernel_id
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS idle_from_ns
    FROM kernels
    WHERE end_ns >= start_ns
),
devices AS (
    SELECT trace_id, device, min(start_ns) AS first_ns, max(end_ns) AS last_ns
    FROM kernels
    WHERE end_ns > start_ns
    GROUP BY trace_id, device
),
windows AS (
    SELECT trace_id, min(first_ns) AS window_start_ns, max(last_ns) AS window_end_ns
    FROM devices
    GROUP BY trace_id
)
-- An operation too short for the clock also ends an interval, but does not widen the window.
SELECT
    operations.trace_id, operations.device, operations.idle_from_ns AS start_ns,
    operations.start_ns AS end_ns, operations.kernel_id, FALSE AS is_edge
FROM operations
JOIN devices
    ON devices.trace_id = operations.trace_id
    AND devices.device = operations.device
WHERE
    operations.start_ns > operations.idle_from_ns
    AND operations.idle_from_ns >= devices.first_ns
    AND operations.start_ns <= devices.last_ns
UNION ALL
SELECT trace_id, device, window_start_ns, first_ns, NULL, TRUE
FROM devices
JOIN windows USING (trace_id)
WHERE first_ns > window_start_ns
UNION ALL
SELECT trace_id, device, last_ns, window_end_ns, NULL, TRUE
FROM devices
JOIN windows USING (trace_id)
WHERE window_end_ns > last_ns;

-- One row per interval of a device that runs programs: the program runs that the device leaves and
-- enters, and the call that enqueued the latter.
CREATE VIEW _idle_programs AS
WITH runs AS (
    -- The clocks of host and device may differ: the host's is shifted back until no run of the
    -- trace starts before its call.
    SELECT
        trace_id, device, program_id, start_ns, end_ns,
        enqueue_start_ns + least(0, min(slack_ns) OVER of_trace) AS call_ns,
        start_ns - dispatch_ns + least(0, min(slack_ns) OVER of_trace) AS call_end_ns
    FROM (
        SELECT
            trace_id, device, program_id, start_ns, end_ns, enqueue_start_ns,
            start_ns - enqueue_start_ns AS slack_ns,
            CAST(round(dispatch_us * 1000) AS BIGINT) AS dispatch_ns
        FROM programs
    )
    WINDOW of_trace AS (PARTITION BY trace_id)
),
compiled AS (
    SELECT trace_id, device, start_ns, end_ns
    FROM _idle_spans
    SEMI JOIN runs USING (trace_id, device)
    WHERE NOT is_edge
),
limits AS (
    SELECT max(value) AS contiguous_ns FROM gap_limits WHERE gap_limit = 'contiguous'
),
left_behind AS (
    SELECT compiled.trace_id, compiled.device, compiled.start_ns, runs.program_id
    FROM compiled
    CROSS JOIN limits
    ASOF JOIN runs
        ON runs.trace_id = compiled.trace_id AND runs.device = compiled.device
        AND runs.start_ns < compiled.start_ns
    WHERE compiled.start_ns <= runs.end_ns + limits.contiguous_ns
),
entered AS (
    SELECT
        compiled.trace_id, compiled.device, compiled.start_ns, runs.program_id, runs.call_ns,
        runs.call_end_ns
    FROM compiled
    CROSS JOIN limits
    ASOF JOIN runs
        ON runs.trace_id = compiled.trace_id AND runs.device = compiled.device
        AND runs.start_ns <= compiled.end_ns + limits.contiguous_ns
    WHERE compiled.end_ns < runs.end_ns
)
SELECT
    compiled.trace_id, compiled.device, compiled.start_ns,
    left_behind.program_id AS previous_program_id, entered.program_id AS next_program_id,
    entered.call_ns, entered.call_end_ns
FROM compiled
LEFT JOIN left_behind USING (trace_id, device, start_ns)
LEFT JOIN entered USING (trace_id, device, start_ns);

-- One row per idle interval with the launch of the operation that ends it.
CREATE VIEW _idle_launches AS
WITH shared AS (
    -- Calls that launch several operations: a graph, or an operator of several tasks.
    SELECT trace_id, launch_id, min(start_ns) AS first_ns
    FROM kernels
    WHERE launch_kernels > 1
    GROUP BY trace_id, launch_id
),
begun AS (
    -- What ran on the stream before its first operation is not in the trace.
    SELECT trace_id, device, stream, min(start_ns) AS first_ns
    FROM kernels
    GROUP BY trace_id, device, stream
),
limits AS (
    SELECT max(value) AS held_ns FROM gap_limits WHERE gap_limit = 'held'
)
SELECT
    spans.trace_id, spans.device, spans.start_ns, spans.end_ns, spans.kernel_id, spans.is_edge,
    kernels.launch_id, kernels.launch_ns, kernels.launch_pid, kernels.launch_tid,
    CASE
        WHEN spans.end_ns > shared.first_ns THEN 'within one launch'
        WHEN begun.first_ns = spans.end_ns
            AND spans.end_ns - greatest(spans.start_ns, kernels.launch_ns) >= limits.held_ns
            THEN 'work not recorded'
        ELSE 'launched, waiting'
    END AS waiting_cause
FROM _idle_spans AS spans
CROSS JOIN limits
LEFT JOIN kernels
    ON kernels.trace_id = spans.trace_id AND kernels.kernel_id = spans.kernel_id
LEFT JOIN begun
    ON begun.trace_id = kernels.trace_id AND begun.device = kernels.device
    AND begun.stream IS NOT DISTINCT FROM kernels.stream
LEFT JOIN shared
    ON shared.trace_id = kernels.trace_id AND shared.launch_id = kernels.launch_id;

-- One row per launch of an operation that ends an idle interval: the end of its call.
CREATE VIEW _idle_calls AS
SELECT events.trace_id, events.event_id AS launch_id, events.end_ns
FROM events
SEMI JOIN _idle_launches AS launches
    ON launches.trace_id = events.trace_id AND launches.launch_id = events.event_id
WHERE events.lane = 'host';

-- One row per cause within an interval in which a device has no operation running, from the first
-- start to the last end on any device of its trace: what the device waited for, moment by moment.
--
-- Each operation is compared with the latest end of those that started before it: if it starts
-- later, the time between is idle, and the operation ends it. The call that launched it splits the
-- interval into up to three parts: before the call began, while it ran, after it returned. In the
-- first two the device waits for the host. If operations have no launch calls of their own but
-- programs do, the call that enqueued the program splits the interval between two runs. The rows of
-- a device are disjoint and sum to idle_us less wait_us of time_breakdown, to the nanosecond.
--
-- stored: per trace
--
-- trace_id             VARCHAR  trace
-- rank                 INTEGER  rank in the job, NULL if unknown
-- device               INTEGER  device
-- start_ns             BIGINT   start, ns
-- end_ns               BIGINT   end, ns
-- cause                VARCHAR  a cause of the table idle_rules
-- host_bound           BOOLEAN  the device waits for the host to launch what comes next
-- gap_start_ns         BIGINT   end of the last operation before, ns
-- gap_end_ns           BIGINT   start of the first operation after, ns
-- kernel_id            BIGINT   that operation, NULL at the edges of the window
-- launch_id            BIGINT   host call that launched that operation, NULL if not shown
-- launch_ns            BIGINT   start of that call, ns
-- launch_pid           VARCHAR  process of that call
-- launch_tid           VARCHAR  thread of that call
-- previous_program_id  BIGINT   program run that the device leaves, NULL outside of programs
-- next_program_id      BIGINT   program run that it is in afterwards
CREATE VIEW _idle_intervals AS
WITH launched AS (
    SELECT
        launches.trace_id, launches.device, launches.start_ns, launches.end_ns,
        launches.kernel_id, launches.launch_id, launches.launch_ns,
        coalesce(calls.end_ns, launches.launch_ns) AS launch_end_ns, launches.launch_pid,
        launches.launch_tid, runs.previous_program_id, runs.next_program_id, runs.call_ns,
        runs.call_end_ns, launches.waiting_cause,
        CASE
            WHEN launches.is_edge THEN 'edge of the window'
            WHEN launches.launch_ns IS NOT NULL THEN NULL
            WHEN runs.previous_program_id = runs.next_program_id THEN 'inside a program'
            WHEN runs.call_ns IS NOT NULL THEN NULL
            WHEN coalesce(runs.previous_program_id, runs.next_program_id) IS NOT NULL
                THEN 'between programs'
            ELSE 'launch not shown'
        END AS only_cause
    FROM _idle_launches AS launches
    LEFT JOIN _idle_calls AS calls
        ON calls.trace_id = launches.trace_id AND calls.launch_id = launches.launch_id
    LEFT JOIN _idle_programs AS runs
        ON runs.trace_id = launches.trace_id
        AND runs.device = launches.device
        AND runs.start_ns = launches.start_ns
),
parts AS (
    SELECT
        trace_id, device, start_ns AS gap_start_ns, end_ns AS gap_end_ns, kernel_id, launch_id,
        launch_ns, launch_end_ns, launch_pid, launch_tid, previous_program_id, next_program_id,
        unnest(
            CASE
                WHEN only_cause IS NOT NULL THEN
                    [{'cause': only_cause, 'start_ns': start_ns, 'end_ns': end_ns}]
                WHEN launch_ns IS NOT NULL THEN [
                    {
                        'cause': 'launch not issued',
                        'start_ns': start_ns,
                        'end_ns': least(end_ns, launch_ns)
                    },
                    {
                        'cause': 'launch in progress',
                        'start_ns': greatest(start_ns, launch_ns),
                        'end_ns': least(end_ns, launch_end_ns)
                    },
                    {
                        'cause': waiting_cause,
                        'start_ns': greatest(start_ns, launch_end_ns),
                        'end_ns': end_ns
                    }
                ]
                ELSE [
                    {
                        'cause': 'program not enqueued',
                        'start_ns': start_ns,
                        'end_ns': least(end_ns, call_ns)
                    },
                    {
                        'cause': 'program enqueue in progress',
                        'start_ns': greatest(start_ns, call_ns),
                        'end_ns': least(end_ns, call_end_ns)
                    },
                    {
                        'cause': 'program enqueued, waiting',
                        'start_ns': greatest(start_ns, call_end_ns),
                        'end_ns': end_ns
                    }
                ]
            END
        ) AS part
    FROM launched
)
SELECT
    parts.trace_id, traces.rank, parts.device, parts.part.start_ns AS start_ns,
    parts.part.end_ns AS end_ns, idle_rules.cause, idle_rules.host_bound, parts.gap_start_ns,
    parts.gap_end_ns, parts.kernel_id, parts.launch_id, parts.launch_ns, parts.launch_pid,
    parts.launch_tid, parts.previous_program_id, parts.next_program_id
FROM parts
JOIN traces USING (trace_id)
JOIN idle_rules ON idle_rules.cause = parts.part.cause
WHERE parts.part.end_ns > parts.part.start_ns;
