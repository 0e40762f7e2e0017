-- One row per trace and check: can this trace answer the question at all?
--
-- trace_id   VARCHAR  trace
-- check      VARCHAR  name of the check
-- severity   VARCHAR  ok, info, warning or error
-- value      DOUBLE   what was measured
-- threshold  DOUBLE   the value from which on it is worth a word
-- message    VARCHAR  what was found and what it means
CREATE VIEW health AS
SELECT trace_id, "check", severity, value, threshold, message
FROM trace_checks
UNION ALL
SELECT trace_id, "check", severity, value, threshold, message
FROM layer_checks;
