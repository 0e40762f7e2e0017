-- One row per trace without launches: the host thread with the most events.
CREATE VIEW _busiest_threads AS
SELECT trace_id, arg_max(pid, (calls, pid, tid)) AS pid, arg_max(tid, (calls, pid, tid)) AS tid
FROM (
    SELECT trace_id, pid, tid, count(*) AS calls
    FROM events
    ANTI JOIN (
        SELECT DISTINCT trace_id FROM _idle_intervals WHERE launch_id IS NOT NULL
    ) AS linked USING (trace_id)
    WHERE lane = 'host' AND dur_ns > 0
    GROUP BY trace_id, pid, tid
)
GROUP BY trace_id;

-- One row per idle interval long enough to count, with the thread that launches next.
CREATE VIEW _attended_idle AS
WITH limits AS (
    SELECT max(value) FILTER (gap_limit = 'stored') AS stored_ns FROM gap_limits
),
idle AS (
    SELECT
        _idle_intervals.trace_id, _idle_intervals.device, _idle_intervals.start_ns,
        _idle_intervals.end_ns,
        if(busiest.trace_id IS NULL, _idle_intervals.launch_pid, busiest.pid) AS pid,
        if(busiest.trace_id IS NULL, _idle_intervals.launch_tid, busiest.tid) AS tid
    FROM _idle_intervals
    CROSS JOIN limits
    LEFT JOIN _busiest_threads AS busiest USING (trace_id)
    WHERE _idle_intervals.gap_end_ns - _idle_intervals.gap_start_ns >= limits.stored_ns
)
-- One hash for thread and device sorts faster than their names.
SELECT
    trace_id, device, pid, tid, hash(trace_id, device, pid, tid) AS thread_id, start_ns, end_ns
FROM idle
WHERE tid IS NOT NULL;

-- One row per such thread and device: the start of its first idle interval, and the number and
-- length of equal parts of the time from there to the end of the last: 32 per idle interval, at
-- most 4096.
CREATE VIEW _attended_threads AS
SELECT
    trace_id, device, pid, tid, thread_id, min(start_ns) AS from_ns,
    least(32 * count(*), 4096) AS parts,
    (max(end_ns) - min(start_ns)) // parts + 1 AS part_ns
FROM _attended_idle
GROUP BY trace_id, device, pid, tid, thread_id;

-- One row per such part: the start of the first idle interval that ends after the part begins. A
-- call that begins in the part and ends before that overlaps with none.
CREATE VIEW _idle_ahead AS
SELECT parts.thread_id, parts.part, attended.start_ns AS idle_ns
FROM (
    SELECT thread_id, part, from_ns + part * part_ns AS from_ns
    FROM (SELECT thread_id, from_ns, part_ns, unnest(range(parts)) AS part FROM _attended_threads)
) AS parts
ASOF JOIN _attended_idle AS attended
    ON attended.thread_id = parts.thread_id AND attended.end_ns > parts.from_ns;

-- One row per call of such a thread that overlaps with idle time of its device.
--
-- Most calls are far from any: looking up the part in which they begin costs less than sorting
-- them.
CREATE VIEW _calls_in_idle AS
WITH calls AS (
    SELECT
        threads.thread_id, events.event_id, events.start_ns, events.end_ns,
        greatest(0, (events.start_ns - threads.from_ns) // threads.part_ns) AS part
    FROM events
    JOIN _attended_threads AS threads USING (trace_id, pid, tid)
    WHERE events.lane IN ('host', 'python') AND events.dur_ns > 0
),
near AS (
    SELECT calls.thread_id, calls.event_id, calls.start_ns, calls.end_ns
    FROM calls
    JOIN _idle_ahead AS ahead USING (thread_id, part)
    WHERE calls.end_ns > ahead.idle_ns
)
SELECT near.thread_id, near.event_id, near.start_ns, near.end_ns
FROM near
ASOF JOIN _attended_idle AS attended
    ON attended.thread_id = near.thread_id AND attended.start_ns < near.end_ns
WHERE attended.end_ns > near.start_ns;

-- One row per such call: as long as no other that outlasts it has begun inside it.
--
-- Calls need not nest: a range that begins inside a Python frame (__enter__) ends inside another
-- one. Of all that run the latest to have started is the innermost. So a call that another one
-- crosses, beginning inside it and ending after it, is not the innermost from there on and is cut:
-- what is left nests.
--
-- Few calls cross others: if the calls that are open after the end of one are those that were open
-- before its start, it crosses none; sums of hashes tell. A call is crossed by calls that run when
-- it ends. To find them without comparing all, time is divided into parts of 2^level ns, and each
-- call is looked up in the two or three parts of its own length in which it runs.
CREATE VIEW _nested_in_idle AS
WITH calls AS MATERIALIZED (
    -- The hash of 0 is 0.
    SELECT thread_id, event_id, start_ns, end_ns, hash(event_id, start_ns) AS call_hash
    FROM _calls_in_idle
),
edges AS (
    SELECT
        thread_id, event_id, start_ns AS at_ns, 1 AS step, -end_ns AS other_ns, call_hash
    FROM calls
    UNION ALL
    SELECT thread_id, event_id, end_ns, -1, -start_ns, call_hash FROM calls
),
open_calls AS (
    SELECT
        thread_id, event_id, step, call_hash,
        sum(step * CAST(call_hash AS HUGEINT)) OVER (
            PARTITION BY thread_id ORDER BY at_ns, step, other_ns, step * event_id
            ROWS UNBOUNDED PRECEDING
        ) AS hashes
    FROM edges
),
crossing AS (
    SELECT
        thread_id, event_id, start_ns, end_ns,
        CAST(floor(log2(end_ns - start_ns)) AS INTEGER) AS level
    FROM calls
    SEMI JOIN (
        SELECT thread_id, event_id
        FROM open_calls
        GROUP BY thread_id, event_id
        HAVING sum(step * hashes) <> any_value(call_hash)
    ) AS found USING (thread_id, event_id)
),
parts AS (
    SELECT
        thread_id, start_ns, end_ns, level,
        unnest(range(start_ns >> level, (end_ns >> level) + 1)) AS part
    FROM crossing
),
ends AS (
    SELECT thread_id, event_id, start_ns, end_ns, levels.level, end_ns >> levels.level AS part
    FROM crossing
    JOIN (SELECT DISTINCT thread_id, level FROM crossing) AS levels USING (thread_id)
),
cuts AS (
    SELECT ends.thread_id, ends.event_id, min(other.start_ns) AS cut_ns
    FROM ends
    JOIN parts AS other
        ON other.thread_id = ends.thread_id AND other.level = ends.level AND other.part = ends.part
        AND other.start_ns > ends.start_ns AND other.start_ns < ends.end_ns
        AND other.end_ns > ends.end_ns
    GROUP BY ends.thread_id, ends.event_id
)
SELECT
    calls.thread_id, calls.event_id, calls.start_ns, coalesce(cuts.cut_ns, calls.end_ns) AS end_ns
FROM calls
LEFT JOIN cuts USING (thread_id, event_id);

-- One row per relevant moment of a thread: a call begins, or idle time passes until the next moment
-- at which a call or an idle interval begins or ends.
CREATE VIEW _idle_sweep AS
WITH edges AS (
    -- At the same moment ends come first, then starts, the longest first.
    SELECT
        thread_id, if(begins, start_ns, end_ns) AS at_ns, if(begins, 1, 0) AS turn,
        if(begins, -end_ns, 0) AS until_ns, if(begins, event_id, NULL) AS started_id,
        NULL AS idle_ns, if(begins, 1, -1) AS step
    FROM _nested_in_idle
    CROSS JOIN (VALUES (TRUE), (FALSE)) AS sides (begins)
    UNION ALL
    SELECT
        thread_id, if(begins, start_ns, end_ns), if(begins, 2, 0), 0, NULL,
        if(begins, start_ns, NULL), if(begins, 1, -1) * CAST(1e9 AS BIGINT)
    FROM _attended_idle
    CROSS JOIN (VALUES (TRUE), (FALSE)) AS sides (begins)
),
moments AS (
    SELECT
        thread_id, started_id,
        -- The number of open calls, plus 1e9 while the device is idle, in one sum.
        CAST(sum(step) OVER in_time AS BIGINT) AS state,
        max(idle_ns) OVER in_time AS idle_ns,
        lead(at_ns) OVER (
            PARTITION BY thread_id ORDER BY at_ns, turn, until_ns, started_id
        ) - at_ns AS slice_ns,
        row_number() OVER in_time AS place
    FROM edges
    WINDOW in_time AS (
        PARTITION BY thread_id ORDER BY at_ns, turn, until_ns, started_id
        ROWS UNBOUNDED PRECEDING
    )
)
SELECT
    thread_id, place, started_id, CAST(state % CAST(1e9 AS BIGINT) AS INTEGER) AS depth, idle_ns,
    if(state >= CAST(1e9 AS BIGINT), slice_ns, 0) AS idle_slice_ns
FROM moments
WHERE started_id IS NOT NULL OR (state >= CAST(1e9 AS BIGINT) AND slice_ns > 0);

-- One row per relevant moment of a thread: the innermost call from there on, NULL if none is open,
-- and the idle time that passes.
CREATE VIEW _idle_slices AS
SELECT
    thread_id, idle_ns, idle_slice_ns,
    CASE
        -- Places ascend, so the maximum is the last; looking up the last value costs more.
        WHEN depth > 0 THEN arg_max(started_id, place) OVER (
            PARTITION BY thread_id, depth ORDER BY place ROWS UNBOUNDED PRECEDING
        )
    END AS activity_id
FROM _idle_sweep;

-- One row per idle interval and host activity in it: time in which an operator, call or Python
-- frame was the innermost of the thread that launches the device's next operation.
--
-- Of calls that overlap without nesting, it is the latest to have started. If the trace has no
-- launches, the host thread with the most events is taken. Only events that overlap with an idle
-- interval are swept: each opens and closes, a running sum gives the depth, and the innermost at a
-- depth is the latest to have started at it. Intervals shorter than the gaps of gap_limits are left
-- out.
--
-- stored: per trace
--
-- trace_id     VARCHAR  trace
-- device       INTEGER  device
-- start_ns     BIGINT   start of the interval in _idle_intervals, ns
-- activity_id  BIGINT   event_id of the host's event, NULL if none was running
-- overlap_ns   BIGINT   time it ran in the interval as the innermost, ns
CREATE VIEW _idle_activities AS
SELECT
    threads.trace_id, threads.device, idle_ns AS start_ns, activity_id,
    CAST(sum(idle_slice_ns) AS BIGINT) AS overlap_ns
FROM _idle_slices
JOIN _attended_threads AS threads USING (thread_id)
WHERE idle_slice_ns > 0
GROUP BY threads.trace_id, threads.device, idle_ns, activity_id;
