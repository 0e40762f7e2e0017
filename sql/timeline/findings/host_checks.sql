-- One row per trace with device operations and calls of Python functions: may the profiler itself
-- have made the host late? A profiler that records stacks does work at each call and return of a
-- Python function, so a wait for the host may be shorter, or absent, without it.
--
-- key: trace_id, check
--
-- trace_id   VARCHAR  trace
-- check      VARCHAR  name of the check
-- severity   VARCHAR  as in check_rules if the value reaches the threshold, else ok
-- value      DOUBLE   share of the time of all devices in which they waited for the host to launch
-- unit       VARCHAR  percent
-- threshold  DOUBLE   lowest value at which the severity is not ok
-- message    VARCHAR  what was found, what it means and what to do
CREATE VIEW host_checks AS
WITH measures AS (
    SELECT
        trace_id,
        100 * coalesce(sum(host_bound_idle_us), 0) / sum(window_us) AS stacks_recorded
    FROM time_breakdown
    SEMI JOIN _stack_traces USING (trace_id)
    GROUP BY trace_id
    HAVING sum(window_us) > 0
)
SELECT trace_id, "check", severity, value, unit, threshold, message
FROM judged_checks(measures);
