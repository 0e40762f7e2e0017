-- One row per operation type and input shapes in a simulated or a measured forward pass.
--
-- `FROM align_shapes(simulated trace_id, measured trace_id, pass, window, dedup)`, as align_types.
-- The kernels of a fused operator of the simulator have that operator's shapes.
--
-- kernel_type      VARCHAR  type of operation, or the operator if its kernel is unknown
-- shape_key        VARCHAR  shapes of the inputs, as 16,5120;5120,1536; NULL if unknown
-- simulated_us     DOUBLE   time in the simulation, µs
-- simulated_count  BIGINT   calls in the simulation
-- measured_us      DOUBLE   time in the measured trace, µs
-- measured_count   BIGINT   operations in the measured trace
-- error_pct        DOUBLE   simulated minus measured, of measured; NULL if that has none
-- sources          VARCHAR  sources of the simulated times
-- side             VARCHAR  both, simulated or measured: which side has the shapes
CREATE MACRO align_shapes(of_simulated, of_measured, of_pass, of_window, of_dedup) AS TABLE
WITH modelled AS (
    SELECT
        coalesce(kernel_type, op_name) AS kernel_type, shape_key, sum(sum_us) AS sum_us,
        sum(count) AS calls, string_agg(DISTINCT source, ', ' ORDER BY source) AS sources
    FROM simulated_ops
    WHERE trace_id = of_simulated AND status IS DISTINCT FROM 'zero_cost'
    GROUP BY coalesce(kernel_type, op_name), shape_key
),
observed AS (
    SELECT kernel_type, shape_key, sum(dur_ns) / 1000.0 AS sum_us, count(*) AS calls
    FROM _measured_rows(of_measured, of_pass, of_window, of_dedup)
    GROUP BY kernel_type, shape_key
)
SELECT
    coalesce(m.kernel_type, o.kernel_type) AS kernel_type,
    coalesce(m.shape_key, o.shape_key) AS shape_key,
    coalesce(m.sum_us, 0) AS simulated_us,
    CAST(coalesce(m.calls, 0) AS BIGINT) AS simulated_count,
    coalesce(o.sum_us, 0) AS measured_us,
    coalesce(o.calls, 0) AS measured_count,
    100 * (coalesce(m.sum_us, 0) - o.sum_us) / nullif(o.sum_us, 0) AS error_pct,
    sources,
    CASE
        WHEN o.kernel_type IS NULL THEN 'simulated'
        WHEN m.kernel_type IS NULL THEN 'measured'
        ELSE 'both'
    END AS side
FROM modelled AS m
FULL JOIN observed AS o
    ON o.kernel_type = m.kernel_type AND o.shape_key IS NOT DISTINCT FROM m.shape_key;
