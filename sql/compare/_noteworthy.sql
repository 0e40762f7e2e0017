-- One row per check of a trace whose severity is not ok.
-- trace      VARCHAR  name of the trace
-- trace_id   VARCHAR  trace
-- check      VARCHAR  name of the check
-- severity   VARCHAR  info, warning or error
-- value      DOUBLE   what was measured
-- unit       VARCHAR  what the value counts, or percent
-- threshold  DOUBLE   lowest value at which the severity is not ok
-- message    VARCHAR  what was found, what it means and what to do
-- place      INTEGER  1 for errors, then warnings, then the rest
CREATE VIEW _noteworthy AS
SELECT
    t.trace, h.trace_id, h."check", h.severity, h.value, h.unit, h.threshold, h.message,
    list_position(['error', 'warning', 'info'], h.severity) AS place
FROM health AS h
LEFT JOIN traces AS t ON t.trace_id = h.trace_id
WHERE h.severity <> 'ok';
