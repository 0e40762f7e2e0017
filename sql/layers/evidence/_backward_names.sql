-- One row per trace, kernel name and operator around its launch that runs backward, by
-- direction_rules.
-- trace_id  VARCHAR  trace
-- name      VARCHAR  name of the kernel
-- op_name   VARCHAR  operator that launched it, NULL if unknown
CREATE VIEW _backward_names AS
SELECT DISTINCT k.trace_id, k.name, k.op_name
FROM (SELECT DISTINCT trace_id, name, op_name FROM kernels) AS k
JOIN direction_rules AS d
    ON regexp_matches(k.name, d.pattern) OR regexp_matches(k.op_name, d.pattern)
WHERE d.subject = 'kernel' AND d.direction = 'backward';
