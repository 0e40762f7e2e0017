-- One row per trace and operation that follows gaps, over all devices of the trace.
--
-- key: trace_id, payload_name?
--
-- trace_id       VARCHAR  trace
-- rank           INTEGER  rank in the job, NULL if unknown
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
CREATE VIEW gap_payloads AS
SELECT
    trace_id, rank, payload_name,
    mode(marker_name ORDER BY marker_name) AS marker_name, count(*) AS gaps,
    count(DISTINCT device) AS devices, sum(gap_us) AS sum_us, avg(gap_us) AS mean_us,
    max(gap_us) AS max_us, sum(window_pct) AS window_pct,
    coalesce(sum(gap_us) FILTER (kind = 'between_programs'), 0) AS between_us,
    sum(host_bound_us) AS host_bound_us
FROM gaps
GROUP BY trace_id, rank, payload_name;
