-- One row per device operation of which XLA tells the category: what it counts as, whatever it is
-- called.
-- trace_id   VARCHAR  trace
-- kernel_id  BIGINT   event_id of the operation
-- category   VARCHAR  kernel category, NULL where the name decides
-- kind       VARCHAR  compute, communication or memory
CREATE VIEW _hlo_operations AS
WITH xla_lines AS (
    SELECT trace_id, pid, tid
    FROM _lines
    WHERE role = 'operation' AND starts_with(process, '/device:')
),
told AS (
    SELECT events.trace_id, event_id AS kernel_id, args ->> '$.hlo_category' AS hlo_category
    FROM events
    JOIN xla_lines USING (trace_id, pid, tid)
    WHERE lane = 'device' AND dur_ns IS NOT NULL
)
SELECT trace_id, kernel_id, category, coalesce(kind, 'compute') AS kind
FROM told
LEFT JOIN hlo_categories USING (hlo_category)
WHERE hlo_category IS NOT NULL;
