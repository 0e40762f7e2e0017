-- One row per number or word about the grid of a model report: how much fits, and what limits it.
--
-- fact   VARCHAR  name, as in report_facts
-- value  DOUBLE   the number; NULL for words, or if missing
-- words  VARCHAR  the words; NULL for a number
-- unit   VARCHAR  unit of the number
CREATE VIEW _report_grid_facts AS
WITH ranked AS (
    SELECT r.*
    FROM regime_transitions AS r
    JOIN _report_workload AS w ON r.execution = w.main
    WHERE r.study = 'report grid'
),
sizes AS (
    -- NULL if the memory of the chip is unknown.
    SELECT count(*) AS points, sum(CAST(fits AS INTEGER)) AS fit
    FROM _report_points
    WHERE starts_with(study, 'report grid') AND is_main
),
bounds AS (
    SELECT
        sum(points) AS points,
        sum(compute_bound) AS compute,
        sum(memory_bound) AS memory,
        sum(network_bound) AS network
    FROM ranked
)
SELECT
    'grid_points' AS fact, CAST(points AS DOUBLE) AS value, CAST(NULL AS VARCHAR) AS words,
    'points' AS unit
FROM sizes
UNION ALL
SELECT 'grid_fit', fit, NULL, 'points' FROM sizes
UNION ALL
SELECT 'grid_unfit', points - fit, NULL, 'points' FROM sizes
UNION ALL
SELECT 'grid_bounds', sign(compute) + sign(memory) + sign(network), NULL, NULL FROM bounds
UNION ALL
SELECT
    'grid_bound', NULL,
    CASE points WHEN compute THEN 'compute' WHEN memory THEN 'memory' WHEN network THEN 'network'
    END,
    NULL
FROM bounds
UNION ALL
SELECT
    'grid_by_length', NULL,
    string_agg(
        concat(
            'L = ', kv_len, ': ', compute_bound, ' compute-, ', memory_bound, ' memory- and ',
            network_bound, ' network-bound of ', points
        ),
        '; ' ORDER BY kv_len
    ),
    NULL
FROM ranked;
