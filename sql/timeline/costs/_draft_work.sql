-- One row per device operation for the drafts of speculative decoding that an engine marks: it was
-- issued in an annotation of drafts on its thread or, if the trace does not show where, starts in
-- one of its device.
-- trace_id   VARCHAR  trace
-- kernel_id  BIGINT   the operation
CREATE VIEW _draft_work AS
WITH annotations AS (
    SELECT
        trace_id, coalesce(processes.merged_device, events.device, processes.device) AS device,
        pid, tid, name, start_ns, end_ns, category = 'user_annotation' AS is_host
    FROM events
    LEFT JOIN device_processes AS processes USING (trace_id, pid)
    WHERE
        lane IN ('host', 'device') AND category IN ('user_annotation', 'gpu_user_annotation')
        AND dur_ns > 0
),
draft_names AS (
    SELECT name
    FROM (
        SELECT name, unnest(_matching_step_rules(name)) AS priority
        FROM (SELECT DISTINCT name FROM annotations)
    )
    JOIN step_rules USING (priority)
    WHERE step_source = 'draft step'
    UNION
    SELECT DISTINCT name FROM annotations WHERE _names_drafts(name)
),
marks AS MATERIALIZED (
    SELECT
        trace_id, is_host, if(is_host, NULL, device) AS device, if(is_host, pid, NULL) AS pid,
        if(is_host, tid, NULL) AS tid, start_ns, end_ns
    FROM annotations
    SEMI JOIN draft_names USING (name)
),
host_marks AS (
    -- Some mark that has begun still runs until the last of their ends.
    SELECT
        trace_id, pid, tid, start_ns,
        max(end_ns) OVER (PARTITION BY trace_id, pid, tid ORDER BY start_ns) AS end_ns
    FROM marks
    WHERE is_host
),
device_marks AS (
    SELECT
        trace_id, device, start_ns,
        max(end_ns) OVER (PARTITION BY trace_id, device ORDER BY start_ns) AS end_ns
    FROM marks
    WHERE NOT is_host
)
SELECT k.trace_id, k.kernel_id
FROM kernels AS k
ASOF JOIN host_marks AS m
    ON m.trace_id = k.trace_id AND m.pid = k.issued_pid AND m.tid = k.issued_tid
    AND m.start_ns <= k.issued_ns
WHERE k.issued_ns < m.end_ns
UNION ALL
SELECT k.trace_id, k.kernel_id
FROM (SELECT trace_id, kernel_id, device, start_ns FROM kernels WHERE issued_ns IS NULL) AS k
ASOF JOIN device_marks AS m
    ON m.trace_id = k.trace_id AND m.device = k.device AND m.start_ns <= k.start_ns
WHERE k.start_ns < m.end_ns;
