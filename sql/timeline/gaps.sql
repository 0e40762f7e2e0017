-- One row per gap between two operations of a device, its streams taken together: what stood still,
-- what came next, and why.
--
-- A gap is time with no operation of the device running, at least as long as gap_limits says; its
-- rows and the idle time shorter than that, or at the edges of the window, make up idle_us of
-- time_breakdown. The marker is the operation that ends the gap. Where the marker does no work of
-- its own (gap_markers), the payload is the first operation behind it that does; else both are one.
--
-- Materialised per trace.
--
-- trace_id               VARCHAR  trace
-- rank                   INTEGER  rank in the job, NULL when unknown
-- device                 INTEGER  device
-- gap_id                 BIGINT   gap, from 0 in time order per device
-- start_ns               BIGINT   end of the last operation before, ns
-- end_ns                 BIGINT   start of the first operation after, ns
-- gap_us                 DOUBLE   from that end to that start, µs
-- window_pct             DOUBLE   share of the time of all devices of the trace
-- is_shown               BOOLEAN  long enough for a report
-- kind                   VARCHAR  between_programs or inside_program; NULL where no programs show
-- cause                  VARCHAR  what the device waited for longest, see idle_rules
-- host_bound_us          DOUBLE   part in which it waited for the host to launch the marker, µs
-- previous_id            BIGINT   event_id of the operation before
-- previous_name          VARCHAR  its name
-- marker_id              BIGINT   event_id of the operation after
-- marker_name            VARCHAR  its name
-- payload_id             BIGINT   event_id of the first operation after that does work
-- payload_name           VARCHAR  its name
-- previous_program       VARCHAR  program of the operation before
-- previous_execution_id  BIGINT   run of that program
-- next_program           VARCHAR  program of the operation after
-- next_execution_id      VARCHAR  run of that program
-- step_id                BIGINT   step of the operation after it, NULL where that is of none
-- launch_id              BIGINT   host call that launched the marker, NULL when not shown
CREATE VIEW gaps AS
WITH limits AS (
    SELECT
        max(value) FILTER (gap_limit = 'stored') AS stored_ns,
        max(value) FILTER (gap_limit = 'shown') AS shown_ns
    FROM gap_limits
),
holes AS (
    SELECT
        trace_id, rank, device, gap_start_ns AS start_ns, gap_end_ns AS end_ns,
        any_value(kernel_id) AS marker_id, any_value(launch_id) AS launch_id,
        any_value(previous_program_id) AS previous_program_id,
        any_value(next_program_id) AS next_program_id,
        arg_max(cause, end_ns - start_ns) AS cause,
        coalesce(sum(end_ns - start_ns) FILTER (host_bound), 0) AS host_bound_ns
    FROM _idle_intervals
    CROSS JOIN limits
    WHERE kernel_id IS NOT NULL AND gap_end_ns - gap_start_ns >= stored_ns
    GROUP BY trace_id, rank, device, gap_start_ns, gap_end_ns
),
spans AS (
    SELECT
        trace_id, max(end_ns) - min(start_ns) AS window_ns, count(DISTINCT device) AS devices
    FROM kernels
    WHERE end_ns > start_ns
    GROUP BY trace_id
),
previous AS (
    -- Of operations that end together the innermost.
    SELECT
        holes.trace_id, holes.device, holes.start_ns,
        arg_max(kernels.kernel_id, kernels.start_ns) AS kernel_id
    FROM holes
    JOIN kernels
        ON kernels.trace_id = holes.trace_id
        AND kernels.device IS NOT DISTINCT FROM holes.device
        AND kernels.end_ns = holes.start_ns
    WHERE kernels.start_ns <= kernels.end_ns
    GROUP BY holes.trace_id, holes.device, holes.start_ns
),
known AS (
    SELECT
        holes.trace_id, holes.rank, holes.device, holes.start_ns, holes.end_ns,
        holes.marker_id, holes.launch_id, holes.cause, holes.host_bound_ns,
        holes.previous_program_id, holes.next_program_id,
        previous.kernel_id AS previous_id,
        coalesce(_gap_payloads.payload_id, holes.marker_id) AS payload_id,
        row_number() OVER (
            PARTITION BY holes.trace_id, holes.rank, holes.device ORDER BY holes.start_ns
        ) - 1 AS gap_id
    FROM holes
    LEFT JOIN previous
        ON previous.trace_id = holes.trace_id
        AND previous.device IS NOT DISTINCT FROM holes.device
        AND previous.start_ns = holes.start_ns
    LEFT JOIN _gap_payloads
        ON _gap_payloads.trace_id = holes.trace_id AND _gap_payloads.marker_id = holes.marker_id
),
wanted AS (
    SELECT trace_id, marker_id AS kernel_id FROM known
    UNION
    SELECT trace_id, payload_id FROM known
    UNION
    SELECT trace_id, previous_id FROM known
),
names AS (
    SELECT kernels.trace_id, kernels.kernel_id, kernels.name
    FROM kernels
    SEMI JOIN wanted USING (trace_id, kernel_id)
),
stepped AS (
    SELECT known.trace_id, known.device, known.start_ns, work.step_id
    FROM known
    JOIN _step_work AS work
        ON work.trace_id = known.trace_id AND work.kernel_id = known.marker_id
)
SELECT
    known.trace_id, known.rank, known.device, known.gap_id, known.start_ns, known.end_ns,
    (known.end_ns - known.start_ns) / 1000.0 AS gap_us,
    100.0 * (known.end_ns - known.start_ns) / spans.window_ns / spans.devices AS window_pct,
    known.end_ns - known.start_ns >= limits.shown_ns AS is_shown,
    CASE
        WHEN known.previous_program_id = known.next_program_id THEN 'inside_program'
        WHEN coalesce(known.previous_program_id, known.next_program_id) IS NOT NULL
            THEN 'between_programs'
    END AS kind,
    known.cause, known.host_bound_ns / 1000.0 AS host_bound_us, known.previous_id,
    befores.name AS previous_name, known.marker_id, markers.name AS marker_name, known.payload_id,
    payloads.name AS payload_name, runs_before.program AS previous_program,
    runs_before.execution_id AS previous_execution_id, runs_after.program AS next_program,
    runs_after.execution_id AS next_execution_id, stepped.step_id, known.launch_id
FROM known
CROSS JOIN limits
JOIN spans USING (trace_id)
JOIN names AS markers
    ON markers.trace_id = known.trace_id AND markers.kernel_id = known.marker_id
JOIN names AS payloads
    ON payloads.trace_id = known.trace_id AND payloads.kernel_id = known.payload_id
LEFT JOIN names AS befores
    ON befores.trace_id = known.trace_id AND befores.kernel_id = known.previous_id
LEFT JOIN programs AS runs_before
    ON runs_before.trace_id = known.trace_id AND runs_before.device = known.device
    AND runs_before.program_id = known.previous_program_id
LEFT JOIN programs AS runs_after
    ON runs_after.trace_id = known.trace_id AND runs_after.device = known.device
    AND runs_after.program_id = known.next_program_id
LEFT JOIN stepped
    ON stepped.trace_id = known.trace_id AND stepped.device = known.device
    AND stepped.start_ns = known.start_ns;
