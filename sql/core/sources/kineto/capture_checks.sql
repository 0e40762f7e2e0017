-- One row per check and trace whose replayed graphs have a capture in the lake. Do the two agree?
--
-- key: trace_id, check
--
-- trace_id   VARCHAR  trace
-- check      VARCHAR  name of the check
-- severity   VARCHAR  as in check_rules if the value reaches the threshold, else ok
-- value      DOUBLE   what was measured
-- unit       VARCHAR  what the value counts, or percent
-- threshold  DOUBLE   lowest value at which the severity is not ok
-- message    VARCHAR  what was found, what it means and what to do
CREATE VIEW capture_checks AS
WITH measures AS (
    SELECT trace_id, 100 - min(named_pct) AS capture_differs
    FROM _aligned_captures
    GROUP BY trace_id
)
SELECT trace_id, "check", severity, value, unit, threshold, message
FROM judged_checks(measures);
