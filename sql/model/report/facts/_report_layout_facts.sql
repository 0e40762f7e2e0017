-- One row per number or word about layouts: the smallest that runs, decode at the longest cache.
--
-- fact   VARCHAR  name, as in report_facts
-- value  DOUBLE   the number; NULL for words, or if missing
-- words  VARCHAR  the words; NULL for a number
-- unit   VARCHAR  unit of the number
CREATE VIEW _report_layout_facts AS
WITH layouts AS (SELECT * FROM _report_points WHERE study = 'report layout'),
-- Layouts with a fault that not all layouts have: one that all have, like too long a context, is
-- not due to the layout.
hindered AS (
    SELECT scenario
    FROM scenario_faults
    WHERE study = 'report layout'
    QUALIFY count(*) OVER (PARTITION BY fault) < (SELECT count(*) FROM layouts)
),
smallest AS (
    SELECT tp, ep, dp, tp * dp * pp AS chips
    FROM layouts ANTI JOIN hindered USING (scenario)
    WHERE fits
    ORDER BY chips, tp
    LIMIT 1
),
longest AS (
    SELECT d.memory_intensity, d.knee, d.kv_len
    FROM decode_frontier AS d
    JOIN _report_workload AS w ON w.ep = d.ep
    WHERE d.study = 'report frontier' AND d.memory_intensity IS NOT NULL
    ORDER BY d.kv_len DESC
    LIMIT 1
),
words AS (
    SELECT concat(
        'TP = ', tp, ', EP = ', ep, ', DP = ', dp, ' (', chips,
        CASE chips WHEN 1 THEN ' chip)' ELSE ' chips)' END
    ) AS layout
    FROM smallest
)
SELECT
    'smallest_layout' AS fact, CAST(NULL AS DOUBLE) AS value,
    coalesce(
        (SELECT layout FROM words),
        (SELECT CASE WHEN count(fits) > 0 THEN 'none' ELSE 'unknown' END FROM layouts)
    ) AS words, CAST(NULL AS VARCHAR) AS unit
UNION ALL
SELECT 'floor_intensity', memory_intensity, NULL, 'FLOP/byte' FROM longest
UNION ALL
SELECT 'floor_knee', knee, NULL, 'FLOP/byte' FROM longest
UNION ALL
SELECT 'floor_over_knee', memory_intensity / knee, NULL, NULL FROM longest
UNION ALL
SELECT 'floor_kv_len', kv_len, NULL, 'tokens' FROM longest;
