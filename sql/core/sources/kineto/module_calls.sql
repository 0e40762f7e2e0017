-- One row per Python frame that is a call of a module.
--
-- stored: meanwhile
CREATE VIEW _module_frames AS
SELECT
    -- A thread's number is quicker to sort than its names.
    trace_id, pid, tid, hash(trace_id, pid, tid) AS thread_id, name, event_id, start_ns, end_ns
FROM events
WHERE lane = 'python' AND starts_with(name, 'nn.Module: ') AND dur_ns > 0;

-- One row per call of a module of PyTorch, as the profiler's Python frames show it, with the module
-- that calls it. The number in a frame's name counts the instances of its class. A frame's parent
-- is the last frame to start one level up, since frames of a thread nest.
--
-- stored: per trace
--
-- key: trace_id, event_id
--
-- trace_id      VARCHAR  trace
-- pid           VARCHAR  process
-- tid           VARCHAR  thread
-- event_id      BIGINT   the frame
-- start_ns      BIGINT   start of the call
-- end_ns        BIGINT   end of the call
-- depth         BIGINT   calls of modules around it
-- module        VARCHAR  name of the module
-- class         VARCHAR  its class
-- instance      BIGINT   number of the instance
-- parent_id     BIGINT   frame around it, NULL for the outermost
-- parent        VARCHAR  module of that frame
-- parent_ns     BIGINT   start of that frame
-- has_children  BOOLEAN  modules of the class call others
-- is_begun      BOOLEAN  the call around it may have begun before the capture
CREATE VIEW module_calls AS
WITH captures AS (
    SELECT trace_id, pid, tid, min(start_ns) AS start_ns
    FROM events
    WHERE lane = 'python'
    GROUP BY trace_id, pid, tid
),
names AS (
    SELECT
        name, regexp_extract(name, '^nn\.Module: (.*)_(\d+)$', ['class', 'instance']) AS parts
    FROM (SELECT DISTINCT name FROM _module_frames)
    WHERE regexp_matches(name, '_\d+$')
),
moments AS (
    SELECT thread_id, event_id, start_ns AS at_ns, -end_ns AS turn, 1 AS step
    FROM _module_frames
    UNION ALL
    SELECT thread_id, NULL, end_ns, -9223372036854775807, -1
    FROM _module_frames
),
depths AS (
    SELECT
        thread_id, event_id,
        CAST(sum(step) OVER (
            PARTITION BY thread_id ORDER BY at_ns, turn, event_id ROWS UNBOUNDED PRECEDING
        ) - 1 AS BIGINT) AS depth
    FROM moments
    QUALIFY event_id IS NOT NULL
),
nested AS (
    SELECT
        f.trace_id, f.pid, f.tid, f.thread_id, f.event_id, f.name, f.start_ns, f.end_ns, d.depth,
        n.parts.class AS class, TRY_CAST(n.parts.instance AS BIGINT) AS instance
    FROM _module_frames AS f
    JOIN depths AS d ON d.thread_id = f.thread_id AND d.event_id = f.event_id
    LEFT JOIN names AS n ON n.name = f.name
),
called AS (
    SELECT
        f.trace_id, f.pid, f.tid, f.event_id, f.name, f.start_ns, f.end_ns, f.depth, f.class,
        f.instance, p.event_id AS parent_id, p.name AS parent, p.class AS parent_class,
        p.start_ns AS parent_ns
    FROM nested AS f
    ASOF LEFT JOIN nested AS p
        ON p.thread_id = f.thread_id AND p.depth = f.depth - 1 AND p.start_ns <= f.start_ns
),
callers AS (
    SELECT DISTINCT trace_id, parent_class AS class
    FROM called
    WHERE parent_class IS NOT NULL
)
SELECT
    c.trace_id, c.pid, c.tid, c.event_id, c.start_ns, c.end_ns, c.depth,
    substr(c.name, 12) AS module, c.class, c.instance, c.parent_id,
    substr(c.parent, 12) AS parent, c.parent_ns, r.class IS NOT NULL AS has_children,
    coalesce(c.parent_ns, t.start_ns) <= t.start_ns AS is_begun
FROM called AS c
JOIN captures AS t ON t.trace_id = c.trace_id AND t.pid = c.pid AND t.tid = c.tid
LEFT JOIN callers AS r ON r.trace_id = c.trace_id AND r.class = c.class;
