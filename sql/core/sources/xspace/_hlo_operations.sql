-- One row per device operation with a category from XLA: its kernel category, whatever its name.
--
-- rows: of jax traces
--
-- trace_id    VARCHAR  trace
-- kernel_id   BIGINT   event_id of the operation
-- category    VARCHAR  category, NULL if the name may show it
-- kind        VARCHAR  compute, communication or memory
-- is_wrapper  BOOLEAN  a collective's name goes before the category, see names_its_work
CREATE VIEW _hlo_operations AS
WITH xla_lines AS (
    SELECT trace_id, pid, tid
    FROM _lines
    WHERE role = 'operation' AND starts_with(process, '/device:')
),
given AS (
    SELECT
        events.trace_id, event_id AS kernel_id, events.name,
        hlo_category_of(
            args ->> '$.hlo_category', m.callbacks, events.name, args ->> '$.long_name'
        ) AS hlo_category
    FROM events
    JOIN xla_lines USING (trace_id, pid, tid)
    LEFT JOIN multislice_traces AS m ON m.trace_id = events.trace_id
    WHERE lane = 'device' AND dur_ns IS NOT NULL
)
SELECT
    trace_id, kernel_id, category, coalesce(kind, 'compute') AS kind,
    names_its_work(is_wrapper, wrapped_names, name) AS is_wrapper
FROM given
LEFT JOIN hlo_categories USING (hlo_category)
WHERE hlo_category IS NOT NULL;
