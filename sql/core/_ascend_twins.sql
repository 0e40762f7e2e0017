-- One row per row of an Ascend timeline that shows again what another row shows: the row of a table
-- of kernels, or the collective that it is a part of.
--
-- A task is the table's row of the same device, stream, task and start; a collective the one of the
-- same device, name and start; several of one key pair in file order. Tables of old exporters round
-- starts, so what is left pairs within a microsecond: a task's number does not come again so soon.
-- A task of collectives is a part of one where the timeline draws it among its parts, or where it
-- runs while one does.
--
-- trace_id   VARCHAR  trace
-- kernel_id  BIGINT   event_id of the row
-- twin_id    BIGINT   event_id of the row that shows it as well, NULL for a part of a collective
--                     that is itself no row
-- rule       VARCHAR  timeline_twin or small_task
CREATE VIEW _ascend_twins AS
WITH keyed AS (
    SELECT
        trace_id, kernel_id, source, device, start_ns, comm_role,
        if(stream IS NULL, name, stream || '/' || task_id) AS place
    FROM _ascend_rows
    WHERE start_ns IS NOT NULL AND dur_ns IS NOT NULL
),
two_sources AS (
    SELECT trace_id FROM keyed GROUP BY trace_id HAVING count(DISTINCT source) = 2
),
placed AS (
    SELECT
        trace_id, kernel_id, source, device, start_ns, place,
        row_number() OVER (
            PARTITION BY trace_id, device, source, place, start_ns ORDER BY kernel_id
        ) AS nth
    FROM keyed
    SEMI JOIN two_sources USING (trace_id)
    WHERE place IS NOT NULL
),
exact AS (
    SELECT shown.trace_id, shown.kernel_id, listed.kernel_id AS twin_id
    FROM placed AS shown
    JOIN placed AS listed USING (trace_id, device, place, start_ns, nth)
    WHERE shown.source = 'timeline' AND listed.source = 'csv'
),
shown_left AS (
    SELECT trace_id, kernel_id, device, start_ns, place
    FROM placed
    ANTI JOIN exact USING (trace_id, kernel_id)
    WHERE source = 'timeline'
),
listed_left AS (
    SELECT trace_id, kernel_id, device, start_ns, place
    FROM placed
    ANTI JOIN exact ON exact.trace_id = placed.trace_id AND exact.twin_id = placed.kernel_id
    WHERE source = 'csv'
),
near AS (
    SELECT
        shown.trace_id, shown.kernel_id, listed.kernel_id AS twin_id,
        abs(shown.start_ns - listed.start_ns) AS off_ns
    FROM (
        SELECT
            trace_id, kernel_id, device, start_ns, place,
            unnest([start_ns // 1000 - 1, start_ns // 1000, start_ns // 1000 + 1]) AS at_us
        FROM shown_left
    ) AS shown
    JOIN listed_left AS listed
        ON listed.trace_id = shown.trace_id
        AND listed.device = shown.device
        AND listed.place = shown.place
        AND listed.start_ns // 1000 = shown.at_us
    WHERE off_ns <= 1000
),
nearest AS (
    -- Each is the other's best, so no row pairs twice.
    SELECT trace_id, kernel_id, twin_id
    FROM near
    QUALIFY
        row_number() OVER (PARTITION BY trace_id, kernel_id ORDER BY off_ns, twin_id) = 1
        AND row_number() OVER (PARTITION BY trace_id, twin_id ORDER BY off_ns, kernel_id) = 1
),
twins AS (
    SELECT trace_id, kernel_id, twin_id FROM exact
    UNION ALL
    SELECT trace_id, kernel_id, twin_id FROM nearest
),
parts AS (
    SELECT DISTINCT
        trace_id, device, stream || '/' || coalesce(cells[3], '') AS place, start_ns
    FROM _ascend_events
    WHERE line_role = 'detail'
),
drawn AS (
    SELECT keyed.trace_id, keyed.kernel_id
    FROM keyed
    SEMI JOIN parts USING (trace_id, device, place, start_ns)
    WHERE keyed.comm_role IN ('task', 'compute') AND keyed.source = 'timeline'
),
logical AS (
    -- Calls that overlap are one stretch of time.
    SELECT
        trace_id, device, start_ns, end_ns,
        coalesce(
            start_ns > max(end_ns) OVER (
                PARTITION BY trace_id, device
                ORDER BY start_ns, kernel_id
                ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
            ),
            TRUE
        ) AS is_first
    FROM _ascend_rows
    WHERE comm_role = 'logical' AND start_ns IS NOT NULL AND dur_ns IS NOT NULL
),
stretches AS (
    SELECT trace_id, device, min(start_ns) AS start_ns, max(end_ns) AS end_ns
    FROM (
        SELECT
            trace_id, device, start_ns, end_ns,
            sum(CAST(is_first AS INTEGER)) OVER (
                PARTITION BY trace_id, device ORDER BY start_ns, end_ns ROWS UNBOUNDED PRECEDING
            ) AS stretch
        FROM logical
    )
    GROUP BY trace_id, device, stretch
),
tasks AS (
    SELECT trace_id, device, kernel_id, start_ns, end_ns
    FROM _ascend_rows
    WHERE comm_role = 'task' AND start_ns IS NOT NULL AND dur_ns IS NOT NULL
),
covered AS (
    SELECT tasks.trace_id, tasks.kernel_id
    FROM tasks
    ASOF JOIN stretches
        ON stretches.trace_id = tasks.trace_id
        AND stretches.device = tasks.device
        AND stretches.start_ns <= tasks.start_ns
    WHERE tasks.end_ns <= stretches.end_ns
),
parted AS (
    SELECT trace_id, kernel_id FROM drawn
    UNION
    SELECT trace_id, kernel_id FROM covered
)
SELECT trace_id, kernel_id, twin_id, 'timeline_twin' AS rule
FROM twins
UNION ALL
SELECT trace_id, kernel_id, NULL, 'small_task'
FROM parted
ANTI JOIN twins USING (trace_id, kernel_id);
