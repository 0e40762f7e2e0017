-- One row per measured check of a trace, judged by its row of check_rules.
--
-- `FROM judged_checks(measured)` with a relation, or a CTE of the query, that has the columns
-- trace_id, check and value. Every relation of checks ends with it.
--
-- trace_id   VARCHAR  trace
-- check      VARCHAR  name of the check
-- severity   VARCHAR  as in check_rules if the value reaches the threshold, else ok
-- value      DOUBLE   what was measured
-- unit       VARCHAR  what the value counts, or percent
-- threshold  DOUBLE   lowest value at which the severity is not ok
-- message    VARCHAR  what was found, what it means and what to do
CREATE MACRO judged_checks(measured) AS TABLE
SELECT
    trace_id,
    "check",
    CASE WHEN value >= threshold THEN severity ELSE 'ok' END AS severity,
    value,
    unit,
    threshold,
    message
FROM query_table(measured)
JOIN check_rules USING ("check");
