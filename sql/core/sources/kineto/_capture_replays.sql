-- One row per kernel that a graph launch replayed, in the order of starts. Copies and fills are
-- left out: where they are captured, no event names a kernel.
--
-- stored: per trace
--
-- trace_id   VARCHAR  trace
-- launch_id  BIGINT   event_id of the graph launch
-- sequence   VARCHAR  digest of the names of the launch's kernels, in order
-- position   BIGINT   place of the kernel among them, from 0
-- kernel_id  BIGINT   event_id of the kernel
-- name       VARCHAR  its name
-- category   VARCHAR  its category
CREATE VIEW _capture_replays AS
WITH graphs AS (
    SELECT trace_id, event_id AS launch_id
    FROM events
    WHERE
        lane = 'host'
        AND category IN ('cuda_runtime', 'cuda_driver')
        AND contains(name, 'GraphLaunch')
),
replayed AS (
    SELECT trace_id, launch_id, kernel_id, _kernels.name, category, _kernels.start_ns
    FROM _kernels
    JOIN graphs USING (trace_id, launch_id)
    JOIN _operations USING (trace_id, kernel_id)
    WHERE _operations.event_category = 'kernel'
),
names AS (
    SELECT name, md5(name) AS digest FROM (SELECT DISTINCT name FROM replayed)
),
placed AS (
    SELECT
        trace_id, launch_id, kernel_id, name, category, digest,
        row_number() OVER (
            PARTITION BY trace_id, launch_id ORDER BY start_ns, kernel_id
        ) - 1 AS position
    FROM replayed
    JOIN names USING (name)
),
sequences AS (
    SELECT trace_id, launch_id, md5(string_agg(digest, '' ORDER BY position)) AS sequence
    FROM placed
    GROUP BY trace_id, launch_id
)
SELECT trace_id, launch_id, sequence, position, kernel_id, name, category
FROM placed
JOIN sequences USING (trace_id, launch_id);
