-- One row per matching operation that follows gaps of a trace, region and phase: where in the
-- program the device was idle.
--
-- `FROM gap_context(trace, op)`, as gaps_before; gap_regions has the regions for all operations.
--
-- trace_id       VARCHAR  trace
-- payload_name   VARCHAR  operation that the device had waited for
-- region         VARCHAR  up to four scopes of it, joined by =>; (unattributed) where none is known
-- phase          VARCHAR  forward, backward or recompute; NULL if not known
-- gaps           BIGINT   gaps before it there
-- sum_us         DOUBLE   their sum, µs
-- mean_us        DOUBLE   their mean, µs
-- max_us         DOUBLE   the longest, µs
-- host_bound_us  DOUBLE   part in which the device waited for the host to launch, µs
CREATE MACRO gap_context(of_trace, of_op) AS TABLE
SELECT
    trace_id, payload_name, region, phase, count(*) AS gaps, sum(gap_us) AS sum_us,
    avg(gap_us) AS mean_us, max(gap_us) AS max_us, sum(host_bound_us) AS host_bound_us
FROM _gap_places
SEMI JOIN gaps_before(of_trace, of_op) AS sought USING (trace_id, payload_name)
GROUP BY trace_id, payload_name, region, phase
ORDER BY sum_us DESC, payload_name, region, phase;
