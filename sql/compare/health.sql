-- One row per trace and check. Can this trace answer queries at all?
--
-- key: trace_id, check
--
-- trace_id   VARCHAR  trace
-- check      VARCHAR  name of the check
-- severity   VARCHAR  ok, info, warning or error
-- value      DOUBLE   what was measured
-- unit       VARCHAR  what the value counts, or percent
-- threshold  DOUBLE   lowest value at which the severity is not ok
-- message    VARCHAR  what was found, what it means and what to do
CREATE VIEW health AS
SELECT trace_id, "check", severity, value, unit, threshold, message
FROM _own_health
UNION ALL
-- These also look at the other ranks of a run.
SELECT trace_id, "check", severity, value, unit, threshold, message
FROM collective_checks
UNION ALL
SELECT
    s.trace_id, c."check", c.severity, count(*) AS value, c.unit, c.threshold,
    format('{} ({})', c.message, string_agg(
        s.relation || ': ' || s.reason, '; ' ORDER BY s.relation
    )) AS message
FROM _set_aside AS s
JOIN check_rules AS c ON c."check" = 'set_aside'
GROUP BY s.trace_id, c."check", c.severity, c.unit, c.threshold, c.message;
