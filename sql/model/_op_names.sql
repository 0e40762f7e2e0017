-- One row per trace and name of a framework operator that a rule fits.
-- trace_id         VARCHAR  trace
-- op               VARCHAR  name of the operator
-- priority         INTEGER  the rule
-- needs_arguments  BOOLEAN  the rule looks at values of arguments
CREATE VIEW _op_names AS
WITH names AS (
    SELECT DISTINCT trace_id, name AS op
    FROM events
    WHERE lane = 'host' AND category = 'cpu_op'
),
ruled AS (
    SELECT op, min(priority) AS priority
    FROM (SELECT DISTINCT op FROM names)
    JOIN trace_op_rules ON regexp_matches(op, pattern)
    GROUP BY op
)
SELECT
    trace_id, op, priority,
    coalesce(causal_slot, window_slot, stride_slot) IS NOT NULL AS needs_arguments
FROM names
JOIN ruled USING (op)
JOIN trace_op_rules USING (priority);
