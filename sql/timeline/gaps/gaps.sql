-- One row per gap that a marker ends: the first operation after it that does work of its own.
--
-- From the marker on, operations belong to one chain as long as the device is not idle between
-- them. The payload is the chain's first operation that is not a marker, at most as many operations
-- after the marker as gap_limits allows; a chain without one has no row here.
CREATE VIEW _gap_payloads AS
WITH limits AS (
    SELECT
        max(value) FILTER (gap_limit = 'contiguous') AS contiguous_ns,
        max(value) FILTER (gap_limit = 'stored') AS stored_ns,
        max(value) FILTER (gap_limit = 'look_ahead') AS look_ahead
    FROM gap_limits
),
holes AS (
    SELECT DISTINCT trace_id, device, gap_start_ns, gap_end_ns, kernel_id
    FROM _idle_intervals
    CROSS JOIN limits
    WHERE gap_end_ns - gap_start_ns > contiguous_ns
),
chains AS (
    SELECT
        trace_id, device, kernel_id, gap_end_ns - gap_start_ns AS gap_ns,
        lead(gap_start_ns) OVER (PARTITION BY trace_id, device ORDER BY gap_start_ns)
            AS chain_end_ns
    FROM holes
),
named AS (
    SELECT
        chains.trace_id, chains.device, chains.kernel_id, chains.chain_end_ns, kernels.name
    FROM chains
    JOIN kernels
        ON kernels.trace_id = chains.trace_id AND kernels.kernel_id = chains.kernel_id
    CROSS JOIN limits
    WHERE chains.gap_ns >= stored_ns
),
ending_names AS (
    -- DuckDB tries a condition on the key of a group on every row.
    SELECT trace_id, any_value(name) AS name
    FROM named
    GROUP BY trace_id, named.name
    HAVING _is_gap_marker(any_value(name))
),
marked AS (
    SELECT trace_id, device, kernel_id, chain_end_ns
    FROM named
    SEMI JOIN ending_names USING (trace_id, name)
),
operations AS (
    SELECT trace_id, device, start_ns, end_ns, kernel_id, name
    FROM kernels
    SEMI JOIN marked
        ON marked.trace_id = kernels.trace_id
        AND marked.device = kernels.device
    WHERE kernels.end_ns >= kernels.start_ns
),
marker_names AS (
    SELECT trace_id, any_value(name) AS name
    FROM operations
    GROUP BY trace_id, operations.name
    HAVING _is_gap_marker(any_value(name))
),
placed AS (
    SELECT
        operations.trace_id, operations.device, operations.start_ns, operations.kernel_id,
        CASE WHEN marker_names.name IS NULL THEN operations.kernel_id END AS work_id,
        row_number() OVER (
            PARTITION BY operations.trace_id, operations.device
            ORDER BY operations.start_ns, operations.end_ns, operations.kernel_id
        ) AS place
    FROM operations
    LEFT JOIN marker_names USING (trace_id, name)
),
followed AS (
    SELECT
        trace_id, device, kernel_id,
        -- Places and starts ascend, so the first is the minimum.
        min(CASE WHEN work_id IS NOT NULL THEN place END) OVER onwards - place AS behind,
        min(CASE WHEN work_id IS NOT NULL THEN start_ns END) OVER onwards AS work_ns,
        arg_min(work_id, CASE WHEN work_id IS NOT NULL THEN place END) OVER onwards AS work_id
    FROM placed
    WINDOW onwards AS (
        PARTITION BY trace_id, device ORDER BY place DESC ROWS UNBOUNDED PRECEDING
    )
)
SELECT
    marked.trace_id, marked.device, marked.kernel_id AS marker_id,
    followed.work_id AS payload_id
FROM marked
JOIN followed
    ON followed.trace_id = marked.trace_id AND followed.kernel_id = marked.kernel_id
CROSS JOIN limits
WHERE followed.behind <= look_ahead
    AND followed.work_ns <= coalesce(marked.chain_end_ns, followed.work_ns);

-- One row per gap with the operations at its ends, its cause and its programs.
CREATE VIEW _gap_ends AS
WITH limits AS (
    SELECT max(value) FILTER (gap_limit = 'stored') AS stored_ns FROM gap_limits
),
holes AS (
    SELECT
        trace_id, rank, device, gap_start_ns AS start_ns, gap_end_ns AS end_ns,
        any_value(kernel_id) AS marker_id, any_value(launch_id) AS launch_id,
        any_value(previous_program_id) AS previous_program_id,
        any_value(next_program_id) AS next_program_id,
        -- The longest of its parts, the first on a tie. One number is faster to compare.
        arg_max(
            cause,
            4 * CAST(end_ns - start_ns AS HUGEINT)
                + if(start_ns = gap_start_ns, 2, if(end_ns < gap_end_ns, 1, 0))
        ) AS cause,
        coalesce(sum(end_ns - start_ns) FILTER (host_bound), 0) AS host_bound_ns
    FROM _idle_intervals
    CROSS JOIN limits
    WHERE kernel_id IS NOT NULL AND gap_end_ns - gap_start_ns >= stored_ns
    GROUP BY trace_id, rank, device, gap_start_ns, gap_end_ns
),
previous AS (
    -- Of operations that end together, the innermost; on a tie, the one on the last stream.
    SELECT
        holes.trace_id, holes.device, holes.start_ns,
        arg_max(
            kernels.kernel_id, (kernels.start_ns, kernels.stream, kernels.kernel_id)
        ) AS kernel_id
    FROM holes
    JOIN kernels
        ON kernels.trace_id = holes.trace_id
        AND kernels.device = holes.device
        AND kernels.end_ns = holes.start_ns
    WHERE kernels.start_ns <= kernels.end_ns
    GROUP BY holes.trace_id, holes.device, holes.start_ns
)
SELECT
    holes.trace_id, holes.rank, holes.device, holes.start_ns, holes.end_ns,
    holes.marker_id, holes.launch_id, holes.cause, holes.host_bound_ns,
    holes.previous_program_id, holes.next_program_id,
    previous.kernel_id AS previous_id,
    coalesce(_gap_payloads.payload_id, holes.marker_id) AS payload_id,
    row_number() OVER (
        PARTITION BY holes.trace_id, holes.device ORDER BY holes.start_ns
    ) - 1 AS gap_id
FROM holes
LEFT JOIN previous
    ON previous.trace_id = holes.trace_id
    AND previous.device = holes.device
    AND previous.start_ns = holes.start_ns
LEFT JOIN _gap_payloads
    ON _gap_payloads.trace_id = holes.trace_id AND _gap_payloads.marker_id = holes.marker_id;

-- One row per distinct name of a trace's operations, with a number that stands for it: text that
-- many rows share is stored once.
CREATE VIEW _gap_texts AS
SELECT trace_id, name, min(kernel_id) AS name_id
FROM kernels
GROUP BY trace_id, name;

-- One row per operation: the number of its name, and its step, NULL if it has none.
CREATE VIEW _gap_operations AS
SELECT kernels.trace_id, kernels.kernel_id, texts.name_id, work.step_id
FROM kernels
LEFT JOIN _gap_texts AS texts
    ON texts.trace_id = kernels.trace_id AND texts.name = kernels.name
LEFT JOIN _step_work AS work
    ON work.trace_id = kernels.trace_id AND work.kernel_id = kernels.kernel_id;

-- One row per gap: the numbers of the names of the operations at its ends, and the step of the one
-- after it. One join covers all three, and its aggregates can spill to disk.
CREATE VIEW _gap_names AS
WITH sides AS (
    SELECT trace_id, device, gap_id, previous_id AS kernel_id, 'previous' AS side FROM _gap_ends
    UNION ALL
    SELECT trace_id, device, gap_id, marker_id, 'marker' FROM _gap_ends
    UNION ALL
    SELECT trace_id, device, gap_id, payload_id, 'payload' FROM _gap_ends
)
SELECT
    sides.trace_id, sides.device, sides.gap_id,
    max(operations.name_id) FILTER (sides.side = 'previous') AS previous_no,
    max(operations.name_id) FILTER (sides.side = 'marker') AS marker_no,
    max(operations.name_id) FILTER (sides.side = 'payload') AS payload_no,
    max(operations.step_id) FILTER (sides.side = 'marker') AS step_id
FROM sides
JOIN _gap_operations AS operations USING (trace_id, kernel_id)
GROUP BY sides.trace_id, sides.device, sides.gap_id;

-- One row per gap with its ends and the numbers of their names.
CREATE VIEW _gap_rows AS
SELECT
    ends.trace_id, ends.rank, ends.device, ends.gap_id, ends.start_ns, ends.end_ns, ends.cause,
    ends.host_bound_ns, ends.previous_id, ends.marker_id, ends.payload_id, ends.launch_id,
    ends.previous_program_id, ends.next_program_id, names.previous_no, names.marker_no,
    names.payload_no, names.step_id
FROM _gap_ends AS ends
LEFT JOIN _gap_names AS names
    ON names.trace_id = ends.trace_id AND names.device = ends.device
    AND names.gap_id = ends.gap_id;

-- One row per trace: the time from its first operation to its last, and its devices.
CREATE VIEW _gap_windows AS
SELECT
    trace_id, max(end_ns) - min(start_ns) AS window_ns, count(DISTINCT device) AS devices
FROM kernels
WHERE end_ns > start_ns
GROUP BY trace_id;

-- One row per gap between two operations of a device, over all its streams: what was idle, what
-- came next, and why.
--
-- A gap is time with no operation of the device running, at least as long as in gap_limits; its
-- rows and the idle time shorter than that, or at the edges of the window, sum to idle_us less
-- wait_us of time_breakdown. The marker is the operation that ends the gap. If the marker does no
-- work of its own (gap_markers), the payload is the first operation after it that does; else both
-- are the same.
--
-- stored: per trace
--
-- key: trace_id, device, gap_id
--
-- trace_id               VARCHAR  trace
-- rank                   INTEGER  rank in the job, NULL if unknown
-- device                 INTEGER  device
-- gap_id                 BIGINT   gap, from 0 in time order per device
-- start_ns               BIGINT   end of the last operation before, ns
-- end_ns                 BIGINT   start of the first operation after, ns
-- gap_us                 DOUBLE   from that end to that start, µs
-- window_pct             DOUBLE   share of the time of all devices of the trace
-- is_shown               BOOLEAN  long enough for a report
-- kind                   VARCHAR  between_programs or inside_program; NULL if no programs show
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
-- next_execution_id      BIGINT   run of that program
-- step_id                BIGINT   step of the operation after it, NULL if it has none
-- launch_id              BIGINT   host call that launched the marker, NULL if not shown
CREATE VIEW gaps AS
WITH limits AS (
    SELECT max(value) FILTER (gap_limit = 'shown') AS shown_ns FROM gap_limits
)
SELECT
    gap.trace_id, gap.rank, gap.device, gap.gap_id, gap.start_ns, gap.end_ns,
    (gap.end_ns - gap.start_ns) / 1000.0 AS gap_us,
    100.0 * (gap.end_ns - gap.start_ns) / spans.window_ns / spans.devices AS window_pct,
    gap.end_ns - gap.start_ns >= limits.shown_ns AS is_shown,
    CASE
        WHEN gap.previous_program_id = gap.next_program_id THEN 'inside_program'
        WHEN coalesce(gap.previous_program_id, gap.next_program_id) IS NOT NULL
            THEN 'between_programs'
    END AS kind,
    gap.cause, gap.host_bound_ns / 1000.0 AS host_bound_us, gap.previous_id,
    previous.name AS previous_name, gap.marker_id, markers.name AS marker_name,
    gap.payload_id, payloads.name AS payload_name, runs_before.program AS previous_program,
    runs_before.execution_id AS previous_execution_id, runs_after.program AS next_program,
    runs_after.execution_id AS next_execution_id, gap.step_id, gap.launch_id
FROM _gap_rows AS gap
CROSS JOIN limits
JOIN _gap_windows AS spans USING (trace_id)
LEFT JOIN programs AS runs_before
    ON runs_before.trace_id = gap.trace_id AND runs_before.device = gap.device
    AND runs_before.program_id = gap.previous_program_id
LEFT JOIN programs AS runs_after
    ON runs_after.trace_id = gap.trace_id AND runs_after.device = gap.device
    AND runs_after.program_id = gap.next_program_id
LEFT JOIN _gap_texts AS previous
    ON previous.trace_id = gap.trace_id AND previous.name_id = gap.previous_no
LEFT JOIN _gap_texts AS markers
    ON markers.trace_id = gap.trace_id AND markers.name_id = gap.marker_no
LEFT JOIN _gap_texts AS payloads
    ON payloads.trace_id = gap.trace_id AND payloads.name_id = gap.payload_no;
