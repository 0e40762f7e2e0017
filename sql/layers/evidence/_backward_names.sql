-- One row per trace, kernel name and operator around its launch that runs backward, by
-- direction_rules.
-- trace_id  VARCHAR  trace
-- name      VARCHAR  name of the kernel
-- op_name   VARCHAR  operator that launched it, NULL if unknown
CREATE VIEW _backward_names AS
WITH names AS (
    SELECT DISTINCT trace_id, name, op_name FROM kernels
),
texts AS (
    SELECT name AS text FROM names
    UNION
    SELECT op_name FROM names WHERE op_name IS NOT NULL
),
marked AS (
    SELECT DISTINCT t.text
    FROM (SELECT text, unnest(_matching_direction_rules(text)) AS priority FROM texts) AS t
    JOIN direction_rules AS d ON d.priority = t.priority
    WHERE d.subject = 'kernel' AND d.direction = 'backward'
)
SELECT trace_id, name, op_name
FROM names
WHERE name IN (SELECT text FROM marked) OR op_name IN (SELECT text FROM marked);
