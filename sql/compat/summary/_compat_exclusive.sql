-- One row per event with the time that the reference's profile summary calls its own: its duration
-- less those of its direct children, not below 0.
--
-- On each line, in order of (start, end descending, place in the file), the parent of an event is
-- the last one before it that ends no earlier. An event stops being a parent once one has started
-- in it that ends later. Cut there, events only enclose each other, and the parent is the last to
-- have started one level up. A partial overlap counts twice this way.
--
-- trace_id      VARCHAR  trace
-- event_id      BIGINT   event
-- process       VARCHAR  process name, NULL without one
-- thread        VARCHAR  thread name, NULL without one
-- name          VARCHAR  name
-- category      VARCHAR  stall, host, communication, compute or other
-- start_ns      BIGINT   start, ns
-- end_ns        BIGINT   end, ns
-- exclusive_ns  BIGINT   its own time, ns
CREATE VIEW _compat_exclusive AS
WITH placed AS (
    SELECT
        trace_id, event_id, pid, tid, process, thread, name, category, start_ns, end_ns,
        row_number() OVER (
            PARTITION BY trace_id, pid, tid ORDER BY start_ns, end_ns DESC, event_id
        ) AS place,
        coalesce(
            max(end_ns) OVER (
                PARTITION BY trace_id, pid, tid ORDER BY start_ns
                RANGE BETWEEN 1 FOLLOWING AND greatest(end_ns - start_ns - 1, 0) FOLLOWING
            ) > end_ns,
            FALSE
        ) AS is_cut
    FROM _compat_events
    WHERE end_ns > start_ns
),
cuts AS (
    SELECT o.trace_id, o.event_id, min(other.start_ns) AS cut_ns
    FROM placed AS o
    JOIN placed AS other
        ON other.trace_id = o.trace_id AND other.pid = o.pid AND other.tid = o.tid
        AND other.start_ns > o.start_ns AND other.start_ns < o.end_ns
        AND other.end_ns > o.end_ns
    WHERE o.is_cut
    GROUP BY o.trace_id, o.event_id
),
laid AS (
    SELECT
        placed.trace_id, placed.event_id, pid, tid, place, start_ns, end_ns - start_ns AS dur_ns,
        coalesce(cut_ns, end_ns) AS cut_ns
    FROM placed
    LEFT JOIN cuts ON cuts.trace_id = placed.trace_id AND cuts.event_id = placed.event_id
),
edges AS (
    SELECT trace_id, pid, tid, place, cut_ns AS at_ns, 0 AS turn, -1 AS step FROM laid
    UNION ALL
    SELECT trace_id, pid, tid, place, start_ns, 1, 1 FROM laid
),
depths AS (
    SELECT
        trace_id, pid, tid, place, turn,
        CAST(
            sum(step) OVER (
                PARTITION BY trace_id, pid, tid ORDER BY at_ns, turn, place
                ROWS UNBOUNDED PRECEDING
            ) AS BIGINT
        ) AS depth
    FROM edges
),
levels AS (
    SELECT laid.trace_id, laid.event_id, laid.pid, laid.tid, laid.place, dur_ns, depth
    FROM laid
    JOIN depths
        ON depths.trace_id = laid.trace_id AND depths.pid = laid.pid AND depths.tid = laid.tid
        AND depths.place = laid.place AND depths.turn = 1
),
children AS (
    SELECT level.trace_id, around.event_id, sum(level.dur_ns) AS inside_ns
    FROM (SELECT *, depth - 1 AS outer_depth FROM levels) AS level
    ASOF JOIN levels AS around
        ON around.trace_id = level.trace_id AND around.pid = level.pid
        AND around.tid = level.tid AND around.depth = level.outer_depth
        AND around.place < level.place
    GROUP BY level.trace_id, around.event_id
)
SELECT
    placed.trace_id, placed.event_id, process, thread, name, category, start_ns, end_ns,
    CAST(greatest(0, end_ns - start_ns - coalesce(inside_ns, 0)) AS BIGINT) AS exclusive_ns
FROM placed
LEFT JOIN children
    ON children.trace_id = placed.trace_id AND children.event_id = placed.event_id;
