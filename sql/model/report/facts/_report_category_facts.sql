-- One row per number about the share of experts and dense MLPs in a phase, and in the parameters.
--
-- fact   VARCHAR  name, as in report_facts
-- value  DOUBLE   the number; NULL for words, or if missing
-- words  VARCHAR  the words; NULL for a number
-- unit   VARCHAR  unit of the number
CREATE VIEW _report_category_facts AS
WITH work AS (
    SELECT
        *,
        sum(flop) OVER (PARTITION BY phase) AS phase_flop,
        sum(hbm_bytes) OVER (PARTITION BY phase) AS phase_bytes
    FROM _report_modules
    WHERE is_main
),
shares AS (
    SELECT
        phase,
        CASE WHEN category IN ('moe', 'experts') THEN 'experts' ELSE 'mlp' END AS part,
        100 * sum(flop) / any_value(phase_flop) AS flop_pct,
        100 * sum(hbm_bytes) / any_value(phase_bytes) AS bytes_pct
    FROM work
    WHERE category IN ('moe', 'experts', 'mlp', 'ffn')
    GROUP BY ALL
),
held AS (
    SELECT
        sum(parameters_pct) FILTER (part IN ('routed', 'shared')) AS experts_pct,
        sum(parameters_pct) FILTER (part = 'dense') AS mlp_pct
    FROM parameters
    JOIN _report_workload USING (model)
)
SELECT
    concat(phase, '_', part, '_flop_pct') AS fact, flop_pct AS value,
    CAST(NULL AS VARCHAR) AS words, '%' AS unit
FROM shares
UNION ALL
SELECT concat(phase, '_', part, '_bytes_pct'), bytes_pct, NULL, '%' FROM shares
UNION ALL
SELECT 'experts_pct', experts_pct, NULL, '%' FROM held WHERE experts_pct > 0
UNION ALL
SELECT 'mlp_pct', mlp_pct, NULL, '%' FROM held WHERE experts_pct IS NULL;
