-- One row per run of a compiled program on a device: the modules of XLA. What several streams of a
-- GPU show of a run is one: XLA's profiler derives a line from each (`XLA Modules - from #13`), and
-- a run on several streams has an event on each, which overlap and have the same name and step
-- (group_id).
--
-- key: trace_id, device, program_id
--
-- trace_id          VARCHAR  trace
-- rank              INTEGER  rank in the job, NULL if unknown
-- device            INTEGER  device
-- program_id        BIGINT   run, from 0 in time order on its device
-- program           VARCHAR  program: the module's name without its fingerprint
-- fingerprint       VARCHAR  number in parentheses after the name, NULL without one
-- execution_id      BIGINT   number of the run (run_id), NULL if unknown
-- event_id          BIGINT   event of the run; the first of those that several streams show
-- start_ns          BIGINT   start, ns
-- end_ns            BIGINT   end, ns
-- dur_us            DOUBLE   from that start to that end, µs
-- is_main           BOOLEAN  the program takes more of its device's time than any other
-- enqueue_start_ns  BIGINT   start of the host's call that put the run into the device's queue,
--                            NULL if not shown, ns
-- dispatch_us       DOUBLE   from the end of that call to the start of the run; below 0 only where
--                            the clocks of host and device differ, µs
CREATE VIEW programs AS
WITH shown AS (
    SELECT
        events.trace_id, rank, lines.device, event_id, start_ns, end_ns, name,
        TRY_CAST(args ->> '$.run_id' AS BIGINT) AS execution_id,
        if(
            contains(thread, ' - from #'), hash(name, args ->> '$.group_id'), hash(event_id)
        ) AS run_key
    FROM events
    JOIN lines USING (trace_id, pid, tid)
    WHERE lane = 'device' AND role = 'module' AND dur_ns IS NOT NULL
),
begun AS (
    SELECT
        trace_id, rank, device, event_id, start_ns, end_ns, name, execution_id, run_key,
        start_ns >= coalesce(max(end_ns) OVER earlier, start_ns) AS begins
    FROM shown
    WINDOW earlier AS (
        PARTITION BY trace_id, device, run_key ORDER BY start_ns, event_id
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    )
),
numbered AS (
    SELECT
        trace_id, rank, device, event_id, start_ns, end_ns, name, execution_id, run_key,
        count(CASE WHEN begins THEN 1 END) OVER (
            PARTITION BY trace_id, device, run_key ORDER BY start_ns, event_id
            ROWS UNBOUNDED PRECEDING
        ) AS nth_run
    FROM begun
),
runs AS (
    SELECT
        trace_id, any_value(rank) AS rank, device,
        arg_min(event_id, (start_ns, event_id)) AS event_id,
        min(start_ns) AS start_ns, max(end_ns) AS end_ns,
        regexp_replace(any_value(name), '\(\d+\)$', '') AS program,
        nullif(regexp_extract(any_value(name), '\((\d+)\)$', 1), '') AS fingerprint,
        min(execution_id) AS execution_id
    FROM numbered
    GROUP BY trace_id, device, run_key, nth_run
),
calls AS (
    SELECT
        events.trace_id, start_ns, end_ns,
        TRY_CAST(args ->> '$.run_id' AS BIGINT) AS execution_id,
        TRY_CAST(args ->> '$.device_ordinal' AS INTEGER) AS device
    FROM events
    SEMI JOIN runs ON runs.trace_id = events.trace_id
    WHERE lane = 'host' AND name = 'DoEnqueueProgram'
),
enqueued AS (
    -- A number may be reused, by another device or later, so the nearest call is taken. It need not
    -- be earlier, since the clocks of host and device may differ.
    SELECT
        runs.trace_id, runs.event_id,
        arg_min(
            {'start_ns': calls.start_ns, 'end_ns': calls.end_ns},
            (abs(calls.start_ns - runs.start_ns), calls.start_ns, calls.end_ns)
        ) AS call
    FROM runs
    JOIN calls
        ON calls.trace_id = runs.trace_id AND calls.execution_id = runs.execution_id
        AND coalesce(calls.device = runs.device, TRUE)
    GROUP BY runs.trace_id, runs.event_id
),
totals AS (
    SELECT trace_id, device, program, sum(end_ns - start_ns) AS total_ns
    FROM runs
    GROUP BY trace_id, device, program
),
mains AS (
    SELECT trace_id, device, arg_max(program, (total_ns, program)) AS main_program
    FROM totals
    GROUP BY trace_id, device
)
SELECT
    runs.trace_id, rank, runs.device,
    row_number() OVER (
        PARTITION BY runs.trace_id, runs.device ORDER BY runs.start_ns, runs.event_id
    ) - 1 AS program_id,
    program, fingerprint, execution_id, runs.event_id, runs.start_ns, runs.end_ns,
    (runs.end_ns - runs.start_ns) / 1000.0 AS dur_us,
    program = main_program AS is_main,
    call.start_ns AS enqueue_start_ns,
    (runs.start_ns - call.end_ns) / 1000.0 AS dispatch_us
FROM runs
JOIN mains ON mains.trace_id = runs.trace_id AND mains.device = runs.device
LEFT JOIN enqueued ON enqueued.trace_id = runs.trace_id AND enqueued.event_id = runs.event_id;
