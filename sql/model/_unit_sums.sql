-- One row per forward pass, layer and unit that multiplies, and per shape of what no unit of the
-- template is: its kernels added up.
-- trace_id    VARCHAR  trace
-- rank        INTEGER  rank in the job, NULL when unknown
-- device      INTEGER  device
-- pass_id     BIGINT   pass
-- layer_id    BIGINT   layer, NULL outside of layers
-- unit        VARCHAR  operator, or several fused; NULL where the template has no such product
-- kernels     BIGINT   kernels
-- sum_us      DOUBLE   sum of their durations, µs
-- pass_us     DOUBLE   sum of the durations of all kernels of the pass, µs
-- trace_flop  DOUBLE   FLOP by shapes or annotations
-- n           BIGINT   columns of the product
-- k           BIGINT   its inner dimension
CREATE VIEW _unit_sums AS
WITH timed AS (
    SELECT
        *, sum(dur_ns) OVER (PARTITION BY trace_id, device, pass_id) / 1000.0 AS pass_us
    FROM _pass_kernel_roofs
)
SELECT
    trace_id, rank, device, pass_id, layer_id, unit, count(*) AS kernels,
    sum(dur_ns) / 1000.0 AS sum_us, any_value(pass_us) AS pass_us,
    sum(counted_flop) FILTER (flops_source <> 'template') AS trace_flop, mode(n) AS n, mode(k) AS k
FROM timed
WHERE state <> 'overhead' AND dtype IS NOT NULL
GROUP BY
    trace_id, rank, device, pass_id, layer_id, unit, CASE WHEN unit IS NULL THEN n END,
    CASE WHEN unit IS NULL THEN k END;
