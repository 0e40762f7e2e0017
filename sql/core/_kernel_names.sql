-- One row per trace and distinct name of a device operation: its category and the name to show.
--
-- Rules are tried here, once per distinct name, and never on events. The two functions are made
-- from the tables
-- category_rules and name_rules when the lake is opened.
--
-- trace_id      VARCHAR  trace
-- name          VARCHAR  full name
-- display_name  VARCHAR  name with what does not tell kernels apart taken out
-- category      VARCHAR  category, other when no rule fits
-- kind          VARCHAR  compute, communication or memory
CREATE VIEW _kernel_names AS
WITH names AS (
    SELECT DISTINCT trace_id, name, event_category FROM _operations
),
ruled AS (
    SELECT trace_id, name, min(_category_rule(lower(name), traces.profile)) AS priority
    FROM names
    JOIN traces USING (trace_id)
    GROUP BY trace_id, name
)
SELECT
    trace_id,
    name,
    _display_name(name) AS display_name,
    coalesce(category_rules.category, 'other') AS category,
    coalesce(category_rules.kind, 'compute') AS kind
FROM ruled
LEFT JOIN category_rules USING (priority);
