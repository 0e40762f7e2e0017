-- How well a name matches the search text: 2 equal ignoring case, 1 contains it, 0 no match.
CREATE MACRO _is_named(name, sought) AS CASE
    WHEN lower(name) = lower(trim(sought)) THEN 2
    WHEN contains(lower(name), lower(trim(sought))) THEN 1
    ELSE 0
END;

-- One row per matching operation that follows gaps of a trace: the total time that the devices
-- waited before it.
--
-- `FROM gaps_before(trace, op)` with the name or the id of a trace and the name of the operation
-- that comes after the gap or ends it. Operations of exactly this name match, ignoring case; if
-- there are none, those whose names contain it.
--
-- trace_id       VARCHAR  trace
-- payload_name   VARCHAR  operation that the device had waited for
-- marker_name    VARCHAR  operation that most often ends these gaps, the payload itself or a marker
-- gaps           BIGINT   gaps before it
-- devices        BIGINT   devices that have them
-- sum_us         DOUBLE   their sum, µs
-- mean_us        DOUBLE   their mean, µs
-- max_us         DOUBLE   the longest, µs
-- window_pct     DOUBLE   share of the time of all devices of the trace
-- between_us     DOUBLE   sum of those between two programs, µs
-- host_bound_us  DOUBLE   part in which a device waited for the host to launch, µs
CREATE MACRO gaps_before(of_trace, of_op) AS TABLE
SELECT
    trace_id, payload_name, marker_name, gaps, devices, sum_us, mean_us, max_us, window_pct,
    between_us, host_bound_us
FROM (
    SELECT
        trace_id, payload_name, marker_name, gaps, devices, sum_us, mean_us, max_us, window_pct,
        between_us, host_bound_us,
        greatest(_is_named(payload_name, of_op), _is_named(marker_name, of_op)) AS fit,
        max(fit) OVER (PARTITION BY trace_id) AS best_fit
    FROM gap_payloads
    SEMI JOIN _named_traces(of_trace) AS wanted USING (trace_id)
)
WHERE fit > 0 AND fit = best_fit
ORDER BY sum_us DESC, payload_name;
