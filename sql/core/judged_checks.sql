-- One row per trace and check that was measured: `FROM _measured_checks(measures)`.
CREATE MACRO _measured_checks(measures) AS TABLE
SELECT trace_id, "check", value
FROM (SELECT trace_id, CAST(COLUMNS(* EXCLUDE (trace_id)) AS DOUBLE) FROM query_table(measures))
UNPIVOT (value FOR "check" IN (COLUMNS(* EXCLUDE (trace_id))));

-- One row per measured check of a trace, judged by its row of check_rules.
--
-- `FROM judged_checks(measures)` with a relation, or a CTE of the query, of one row per trace:
-- trace_id, and a column with the name of each check; NULL if it is not measured. Every relation of
-- checks ends with it.
--
-- trace_id   VARCHAR  trace
-- check      VARCHAR  name of the check
-- severity   VARCHAR  as in check_rules if the value reaches the threshold, else ok
-- value      DOUBLE   what was measured
-- unit       VARCHAR  what the value counts, or percent
-- threshold  DOUBLE   lowest value at which the severity is not ok
-- message    VARCHAR  what was found, what it means and what to do
CREATE MACRO judged_checks(measures) AS TABLE
SELECT
    trace_id,
    "check",
    CASE WHEN value >= threshold THEN severity ELSE 'ok' END AS severity,
    value,
    unit,
    threshold,
    message
FROM _measured_checks(measures)
JOIN check_rules USING ("check");
