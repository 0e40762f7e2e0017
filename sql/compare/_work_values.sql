-- One row per trace and measure of the work in one steady step, or in the whole trace if it has
-- none.
--
-- stored: per trace
--
-- trace_id  VARCHAR  trace
-- measure   VARCHAR  devices, requests, tokens, product FLOP (of matrix products, on one device) or
--                    operations (on one device)
-- value     DOUBLE   mean of the steps; no row if it is unknown
CREATE VIEW _work_values AS
WITH operations AS (
    SELECT
        trace_id, sum(calls) AS calls,
        sum(calls) FILTER (family = 'matmul') AS products,
        sum(known_calls) FILTER (family = 'matmul') AS known_products,
        sum(flop) FILTER (family = 'matmul') AS product_flop
    FROM step_ops
    GROUP BY trace_id
),
loads AS (
    SELECT trace_id, requests, tokens
    FROM step_summary
    WHERE is_main AND scope = 'steady' AND steps > 0
)
SELECT trace_id, measure, CAST(value AS DOUBLE) AS value
FROM comparison_bases
LEFT JOIN operations USING (trace_id)
LEFT JOIN loads USING (trace_id)
CROSS JOIN LATERAL (
    VALUES
        ('devices', devices), ('requests', requests), ('tokens', tokens),
        -- A sum over some of the products would show what was recorded, not what was computed.
        ('product FLOP', CASE WHEN known_products >= 0.999 * products THEN product_flop END),
        ('operations', calls)
) AS measures (measure, value)
WHERE value IS NOT NULL;
