-- One row per trace and region of its program, over all devices.
-- trace_id        VARCHAR  trace
-- path            VARCHAR  names of the regions around it and its own
-- phase           VARCHAR  phase of the program
-- depth           BIGINT   regions of the path
-- calls           HUGEINT  calls
-- inclusive_us    DOUBLE   own times of what it launched
-- inclusive_pct   DOUBLE   share of all own times
-- exclusive_us    DOUBLE   the same without regions inside
-- exclusive_pct   DOUBLE   share of all own times
-- busy_us         DOUBLE   time with any of it running
-- host_us         DOUBLE   time of the host in calls of the region
-- is_unary_chain  BOOLEAN  on every device it holds one other region and nothing else
CREATE VIEW _summary_regions AS
SELECT
    r.trace_id, path, phase, depth, sum(calls) AS calls, sum(inclusive_us) AS inclusive_us,
    100 * sum(inclusive_us) / nullif(any_value(own_us), 0) AS inclusive_pct,
    sum(exclusive_us) AS exclusive_us,
    100 * sum(exclusive_us) / nullif(any_value(own_us), 0) AS exclusive_pct,
    sum(busy_us) AS busy_us, max(host_us) AS host_us, bool_and(is_unary_chain) AS is_unary_chain
FROM regions AS r
LEFT JOIN _own_times AS own ON own.trace_id = r.trace_id
GROUP BY r.trace_id, path, phase, depth;
