-- One row per number or word about decode by batch: where its bound changes, and whether that fits.
--
-- fact   VARCHAR  name, as in report_facts
-- value  DOUBLE   the number; NULL for words, or if missing
-- words  VARCHAR  the words; NULL for a number
-- unit   VARCHAR  unit of the number
CREATE VIEW _report_batch_facts AS
WITH bounds AS (
    SELECT batch, bound, lag(bound) OVER (ORDER BY batch) AS before
    FROM _report_points
    WHERE study = 'report batch' AND is_main
),
points AS (
    SELECT
        batch, bound,
        count(CASE WHEN bound <> before THEN 1 END) OVER (
            ORDER BY batch ROWS UNBOUNDED PRECEDING
        ) AS run
    FROM bounds
),
runs AS (
    SELECT run, any_value(bound) AS bound, min(batch) AS low, max(batch) AS high
    FROM points
    GROUP BY run
),
critical AS (
    SELECT c.*
    FROM critical_batch AS c
    JOIN _report_workload AS w ON c.execution = w.main
    WHERE c.study = 'report batch'
),
room AS (
    SELECT max_batch
    FROM _report_points
    WHERE study = 'report anchor' AND phase = 'decode' AND is_main
)
SELECT
    'sweep_bounds' AS fact, CAST(NULL AS DOUBLE) AS value,
    string_agg(
        CASE
            WHEN low = high THEN format('{}-bound at {:,}', bound, low)
            ELSE format('{}-bound from {:,} to {:,}', bound, low, high)
        END,
        ', ' ORDER BY low
    ) AS words,
    CAST(NULL AS VARCHAR) AS unit
FROM runs
UNION ALL
SELECT 'decode_intensity_batch', intensity_batch, NULL, 'sequences' FROM critical
UNION ALL
SELECT
    'decode_time_batch', CASE WHEN time_batch > smallest_batch THEN time_batch END, NULL,
    'sequences'
FROM critical
UNION ALL
SELECT
    'crossing_fits', NULL,
    CASE
        WHEN max_batch IS NULL THEN 'unknown'
        WHEN time_batch <= max_batch THEN 'yes'
        ELSE 'no'
    END,
    NULL
FROM critical, room
UNION ALL
SELECT 'sweep_compute_bound_pct', 100 * compute_bound / points, NULL, '%' FROM critical
UNION ALL
SELECT 'smallest_batch', smallest_batch, NULL, NULL FROM critical
UNION ALL
SELECT 'largest_batch', largest_batch, NULL, NULL FROM critical
UNION ALL
SELECT 'dense_product_tokens', dense_product_tokens, NULL, 'tokens' FROM critical
UNION ALL
SELECT 'expert_tokens', expert_tokens, NULL, 'tokens' FROM critical;
