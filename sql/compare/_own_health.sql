-- One row per trace and check that only looks at the trace's own rows, not at other traces.
--
-- stored: per trace
--
-- trace_id   VARCHAR  trace
-- check      VARCHAR  name of the check
-- severity   VARCHAR  ok, info, warning or error
-- value      DOUBLE   what was measured
-- unit       VARCHAR  what the value counts, or percent
-- threshold  DOUBLE   lowest value at which the severity is not ok
-- message    VARCHAR  what was found, what it means and what to do
CREATE VIEW _own_health AS
SELECT trace_id, "check", severity, value, unit, threshold, message
FROM trace_checks
UNION ALL
SELECT trace_id, "check", severity, value, unit, threshold, message
FROM capture_checks
UNION ALL
SELECT trace_id, "check", severity, value, unit, threshold, message
FROM layer_checks
UNION ALL
SELECT trace_id, "check", severity, value, unit, threshold, message
FROM model_checks
UNION ALL
SELECT trace_id, "check", severity, value, unit, threshold, message
FROM training_checks
UNION ALL
SELECT trace_id, "check", severity, value, unit, threshold, message
FROM step_checks
UNION ALL
SELECT trace_id, "check", severity, value, unit, threshold, message
FROM program_checks
UNION ALL
SELECT trace_id, "check", severity, value, unit, threshold, message
FROM host_checks
UNION ALL
SELECT trace_id, "check", severity, value, unit, threshold, message
FROM ascend_checks;
