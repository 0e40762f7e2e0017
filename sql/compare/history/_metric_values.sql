-- One row per trace and measure that a metric is made from, see history_metrics.
--
-- stored: per trace
--
-- trace_id  VARCHAR  trace
-- source    VARCHAR  measure
-- value     DOUBLE   value
-- spread    DOUBLE   how far two such values may differ by chance, in the same unit: the noise
--                    of trace_changes between two traces with its steady steps; NULL below three
--                    steps, and for other metrics
CREATE VIEW _metric_values AS
SELECT
    trace_id, metric AS source, value,
    least(
        greatest(spread[1], spread[2] + spread[3]), 1.5 * (spread[2] + spread[3])
    ) AS spread
FROM _gate_values
WHERE value IS NOT NULL
UNION ALL
SELECT trace_id, 'pass_median', median(span_us), NULL
FROM passes
-- Passes backward are of training that shows the direction.
WHERE complete AND coalesce(direction, 'forward') = 'forward'
GROUP BY trace_id
UNION ALL
SELECT trace_id, 'tokens', 1e6 * tokens / mean_us, NULL
FROM step_summary
WHERE is_main AND scope = 'steady' AND tokens > 0 AND mean_us > 0;
