-- One row per trace and matrix product that kernels of known shape ran: the minimum time it took.
--
-- The best time of each trace on a chip is the reference for the others, see shape_bests.
--
-- stored: per trace
--
-- read: of all traces
--
-- key: trace_id, dtype, batch, m, n, k
--
-- trace_id  VARCHAR  trace
-- hardware  VARCHAR  its chip, NULL if unknown
-- dtype     VARCHAR  type it computes in
-- batch     BIGINT   products side by side
-- m         BIGINT   rows of the result
-- n         BIGINT   columns of it
-- k         BIGINT   inner dimension
-- calls     BIGINT   calls
-- best_us   DOUBLE   minimum time of a call, all its kernels together, µs
CREATE VIEW best_times AS
SELECT
    trace_id, any_value(hardware) AS hardware, dtype, batch, m, n, k, count(*) AS calls,
    min(group_ns) / 1000.0 AS best_us
FROM _kernel_maps
JOIN traces USING (trace_id)
WHERE
    family = 'product' AND kernel_id = group_id AND group_ns > 0
    AND dtype IS NOT NULL AND batch IS NOT NULL AND m > 0 AND n > 0 AND k > 0
GROUP BY trace_id, dtype, batch, m, n, k;
