-- One row per row of an Ascend timeline that duplicates another row: the row of a table of kernels,
-- or the collective that it is a part of.
--
-- A task is the table's row of the same device, stream, task and start; a collective the one of the
-- same device, name and start, and so is a task where the table has no streams or no tasks, as at
-- Level0, or its row has none; several of one key pair in file order. Tables of old exporters round
-- starts, so the remaining ones pair within a microsecond: a task's number is not reused so soon. A
-- task of collectives is a part of one where the timeline draws it among its parts, or where it
-- runs while one does.
CREATE VIEW _ascend_twins AS
WITH keyed AS (
    SELECT
        trace_id, kernel_id, source, device, start_ns, comm_role, name,
        stream || '/' || task_id AS task
    FROM _ascend_rows
    WHERE start_ns IS NOT NULL AND dur_ns IS NOT NULL
),
two_sources AS (
    SELECT trace_id, count(task) FILTER (source = 'csv') > 0 AS by_task
    FROM keyed
    GROUP BY trace_id
    HAVING count(DISTINCT source) = 2
),
placed AS (
    SELECT
        trace_id, kernel_id, source, device, start_ns, name, place,
        row_number() OVER (
            PARTITION BY trace_id, device, source, place, start_ns ORDER BY kernel_id
        ) AS nth
    FROM (
        SELECT
            trace_id, kernel_id, source, device, start_ns, name,
            if(by_task AND task IS NOT NULL, task, name) AS place
        FROM keyed
        JOIN two_sources USING (trace_id)
    )
    WHERE place IS NOT NULL
),
exact AS (
    SELECT shown.trace_id, shown.kernel_id, listed.kernel_id AS twin_id
    FROM placed AS shown
    JOIN placed AS listed USING (trace_id, device, place, start_ns, nth)
    WHERE shown.source = 'timeline' AND listed.source = 'csv'
),
shown_left AS (
    -- The place of a row of the table that has no task is its name.
    SELECT
        trace_id, kernel_id, device, start_ns, unnest(list_distinct([place, name])) AS place,
        row_number() OVER (
            PARTITION BY trace_id, device, name, start_ns ORDER BY kernel_id
        ) AS nth
    FROM placed
    ANTI JOIN exact USING (trace_id, kernel_id)
    WHERE source = 'timeline'
),
listed_left AS (
    SELECT
        trace_id, kernel_id, device, start_ns, place,
        row_number() OVER (
            PARTITION BY trace_id, device, place, start_ns ORDER BY kernel_id
        ) AS nth
    FROM placed
    ANTI JOIN exact ON exact.trace_id = placed.trace_id AND exact.twin_id = placed.kernel_id
    WHERE source = 'csv'
),
near AS (
    SELECT
        shown.trace_id, shown.kernel_id, listed.kernel_id AS twin_id,
        abs(shown.start_ns - listed.start_ns) AS off_ns,
        abs(shown.nth - listed.nth) AS apart
    FROM (
        SELECT
            trace_id, kernel_id, device, start_ns, place, nth,
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
        row_number() OVER (
            PARTITION BY trace_id, kernel_id ORDER BY off_ns, apart, twin_id
        ) = 1
        AND row_number() OVER (
            PARTITION BY trace_id, twin_id ORDER BY off_ns, apart, kernel_id
        ) = 1
),
twins AS (
    SELECT trace_id, kernel_id, twin_id FROM exact
    UNION ALL
    SELECT trace_id, kernel_id, twin_id FROM nearest
),
parts AS (
    SELECT DISTINCT
        trace_id, device, stream || '/' || coalesce(cells[3], '') AS task, start_ns
    FROM _ascend_events
    WHERE line_role = 'detail'
),
drawn AS (
    SELECT keyed.trace_id, keyed.kernel_id
    FROM keyed
    SEMI JOIN parts USING (trace_id, device, task, start_ns)
    WHERE keyed.comm_role IN ('task', 'compute') AND keyed.source = 'timeline'
),
logical AS (
    -- Overlapping calls are one interval.
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

-- One row per row of an Ascend trace that duplicates a counted row, by the rules for collectives
-- and the twins of the timeline.
--
-- Rows of one device and one kind of collective pair one to one: a physical row with the logical
-- one of equal start and duration, in file order; else with one whose start and end both lie within
-- a microsecond, the closest pairs first. A service row pairs with the logical row that it overlaps
-- most, by at least half of the time that both span; a physical partner does not matter. Matching
-- is greedy, best pair first: each round takes the pairs that are the best of both their rows.
--
-- Candidates are joined by time bucket, never all with all. Of more than 64 calls of one kind and
-- one order of duration that start within twice that duration, a service row sees 64.
--
-- stored: per ascend trace
--
-- trace_id   VARCHAR  trace
-- kernel_id  BIGINT   event_id of the row
-- twin_id    BIGINT   event_id of the row that owns the time, NULL for a service row or a part of a
--                     collective that has no partner
-- rule       VARCHAR  timeline_twin, small_task, aiv_exact, aiv_near or aicpu_service
CREATE VIEW _ascend_pairs AS
WITH twins AS (
    SELECT trace_id, kernel_id, twin_id, rule FROM _ascend_twins
),
calls AS (
    SELECT trace_id, device, kernel_id, comm_role, comm_kind, start_ns, dur_ns, end_ns
    FROM _ascend_rows
    ANTI JOIN twins USING (trace_id, kernel_id)
    WHERE
        comm_role IN ('logical', 'physical', 'service')
        AND start_ns IS NOT NULL
        AND dur_ns IS NOT NULL
),
numbered AS (
    SELECT
        trace_id, device, kernel_id, comm_role, comm_kind, start_ns, dur_ns,
        row_number() OVER (
            PARTITION BY trace_id, device, comm_role, comm_kind, start_ns, dur_ns
            ORDER BY kernel_id
        ) AS nth
    FROM calls
    WHERE comm_kind IS NOT NULL AND comm_role <> 'service'
),
exact AS (
    SELECT physical.trace_id, physical.kernel_id, logical.kernel_id AS twin_id
    FROM numbered AS physical
    JOIN numbered AS logical USING (trace_id, device, comm_kind, start_ns, dur_ns, nth)
    WHERE physical.comm_role = 'physical' AND logical.comm_role = 'logical'
),
physical_left AS (
    SELECT
        trace_id, device, kernel_id, comm_kind, start_ns, end_ns,
        unnest([start_ns // 1000 - 1, start_ns // 1000, start_ns // 1000 + 1]) AS start_box
    FROM calls
    ANTI JOIN exact USING (trace_id, kernel_id)
    WHERE comm_role = 'physical'
),
physical_boxes AS (
    SELECT
        trace_id, device, kernel_id, comm_kind, start_ns, end_ns, start_box,
        unnest([end_ns // 1000 - 1, end_ns // 1000, end_ns // 1000 + 1]) AS end_box
    FROM physical_left
),
logical_boxes AS (
    SELECT
        trace_id, device, kernel_id, comm_kind, start_ns, end_ns, start_ns // 1000 AS start_box,
        end_ns // 1000 AS end_box
    FROM calls
    ANTI JOIN exact ON exact.trace_id = calls.trace_id AND exact.twin_id = calls.kernel_id
    WHERE comm_role = 'logical'
),
service_boxes AS (
    -- Rows that share half of the time they span differ by less than a factor of two in duration,
    -- and start less than the shorter duration apart.
    SELECT
        trace_id, device, kernel_id, comm_kind, start_ns, end_ns, dur_ns, scale,
        unnest([start_ns // width_ns - 1, start_ns // width_ns, start_ns // width_ns + 1]) AS box
    FROM (
        SELECT
            trace_id, device, kernel_id, comm_kind, start_ns, end_ns, dur_ns, scale,
            CAST(pow(2, scale + 1) AS BIGINT) AS width_ns
        FROM (
            SELECT
                trace_id, device, kernel_id, comm_kind, start_ns, end_ns, dur_ns,
                unnest([
                    CAST(floor(log2(dur_ns)) AS INTEGER) - 1,
                    CAST(floor(log2(dur_ns)) AS INTEGER),
                    CAST(floor(log2(dur_ns)) AS INTEGER) + 1
                ]) AS scale
            FROM calls
            WHERE comm_role = 'service' AND dur_ns BETWEEN 1 AND pow(2, 55)
        )
        WHERE scale >= 0
    )
),
scaled AS (
    SELECT
        trace_id, device, kernel_id, comm_kind, start_ns, end_ns, dur_ns,
        CAST(floor(log2(dur_ns)) AS INTEGER) AS scale,
        start_ns // CAST(pow(2, floor(log2(dur_ns)) + 1) AS BIGINT) AS box
    FROM calls
    WHERE comm_role = 'logical' AND dur_ns BETWEEN 1 AND pow(2, 56)
),
scaled_boxes AS (
    SELECT trace_id, device, kernel_id, comm_kind, start_ns, end_ns, dur_ns, scale, box
    FROM scaled
    QUALIFY row_number() OVER (
        PARTITION BY trace_id, device, comm_kind, scale, box ORDER BY start_ns, kernel_id
    ) <= 64
),
overlapping AS (
    SELECT
        service.trace_id,
        service.kernel_id,
        logical.kernel_id AS twin_id,
        least(service.end_ns, logical.end_ns) - greatest(service.start_ns, logical.start_ns)
            AS shared_ns,
        service.dur_ns + logical.dur_ns - shared_ns AS spanned_ns,
        abs(service.start_ns - logical.start_ns) AS off_ns
    FROM service_boxes AS service
    JOIN scaled_boxes AS logical USING (trace_id, device, comm_kind, scale, box)
    WHERE shared_ns > 0 AND 2 * shared_ns >= spanned_ns
),
candidates AS (
    SELECT
        physical.trace_id,
        physical.kernel_id,
        logical.kernel_id AS twin_id,
        'aiv_near' AS rule,
        0.0 AS apart,
        abs(physical.start_ns - logical.start_ns) + abs(physical.end_ns - logical.end_ns) AS off_ns
    FROM physical_boxes AS physical
    JOIN logical_boxes AS logical USING (trace_id, device, comm_kind, start_box, end_box)
    WHERE
        abs(physical.start_ns - logical.start_ns) <= 1000
        AND abs(physical.end_ns - logical.end_ns) <= 1000
    UNION ALL
    SELECT
        trace_id, kernel_id, twin_id, 'aicpu_service', 1 - shared_ns / spanned_ns, off_ns
    FROM overlapping
),
ranked AS (
    -- Rank among all pairs of the trace. On a tie the row earlier in the file comes first.
    SELECT
        trace_id, kernel_id, twin_id, rule,
        row_number() OVER (
            PARTITION BY trace_id, rule
            ORDER BY
                apart, off_ns, if(rule = 'aiv_near', kernel_id, twin_id),
                if(rule = 'aiv_near', twin_id, kernel_id)
        ) AS place
    FROM candidates
),
matched AS (
    WITH RECURSIVE rounds AS (
        SELECT trace_id, kernel_id, twin_id, rule, place, FALSE AS taken FROM ranked
        UNION ALL
        SELECT trace_id, kernel_id, twin_id, rule, place, taken
        FROM (
            SELECT
                trace_id, kernel_id, twin_id, rule, place, taken,
                bool_or(taken) OVER (PARTITION BY trace_id, rule, kernel_id)
                    OR bool_or(taken) OVER (PARTITION BY trace_id, rule, twin_id) AS settled
            FROM (
                SELECT
                    trace_id, kernel_id, twin_id, rule, place,
                    place = min(place) OVER (PARTITION BY trace_id, rule, kernel_id)
                        AND place = min(place) OVER (PARTITION BY trace_id, rule, twin_id) AS taken
                FROM rounds
                WHERE NOT taken
            )
        )
        WHERE taken OR NOT settled
    )
    SELECT trace_id, kernel_id, twin_id, rule FROM rounds WHERE taken
),
alone AS (
    SELECT trace_id, kernel_id
    FROM _ascend_rows
    ANTI JOIN matched USING (trace_id, kernel_id)
    ANTI JOIN twins USING (trace_id, kernel_id)
    WHERE comm_role = 'service'
)
SELECT trace_id, kernel_id, twin_id, rule FROM twins
UNION ALL
SELECT trace_id, kernel_id, twin_id, 'aiv_exact' FROM exact
UNION ALL
SELECT trace_id, kernel_id, twin_id, rule FROM matched
UNION ALL
SELECT trace_id, kernel_id, NULL, 'aicpu_service' FROM alone;
