-- One row per trace and part of its devices' time; the parts make up the whole.
-- trace_id   VARCHAR  trace
-- place      INTEGER  order of the parts
-- part       VARCHAR  compute, exposed communication, exposed memory, wait, or a kind of idleness
-- sum_us     DOUBLE   time, summed over devices
-- share_pct  DOUBLE   share of the time of all devices
-- least_pct  DOUBLE   smallest share of a device's own window
-- most_pct   DOUBLE   largest share of a device's own window
CREATE VIEW _summary_parts AS
WITH parts AS (
    SELECT trace_id, device, window_us, unnest([
        {'place': 1, 'part': 'compute', 'us': compute_us},
        {'place': 2, 'part': 'exposed communication', 'us': exposed_communication_us},
        {'place': 3, 'part': 'exposed memory', 'us': exposed_memory_us},
        {'place': 4, 'part': 'wait', 'us': wait_us},
        {'place': 5, 'part': 'idle for want of launches', 'us': host_bound_idle_us},
        {'place': 6, 'part': 'other idle', 'us': coalesce(other_idle_us, idle_us - wait_us)}
    ], max_depth := 2)
    FROM time_breakdown
)
-- Without launches, it is unknown how much of the idle time is due to the host.
SELECT
    trace_id, place, part, sum(us) AS sum_us,
    100 * sum(us) / nullif(sum(window_us), 0) AS share_pct,
    min(100 * us / nullif(window_us, 0)) AS least_pct,
    max(100 * us / nullif(window_us, 0)) AS most_pct
FROM parts
WHERE us IS NOT NULL
GROUP BY trace_id, place, part;
