-- One row per number or word about a what-if: a phase, a knob and the side that it is turned to.
--
-- fact   VARCHAR  name, as in report_facts
-- value  DOUBLE   the number; NULL for words, or if missing
-- words  VARCHAR  the words; NULL for a number
-- unit   VARCHAR  unit of the number
CREATE VIEW _report_knob_facts AS
WITH turned AS (
    SELECT
        concat_ws(
            '_', p.phase, split_part(p.scenario, ' / ', 3), split_part(p.scenario, ' / ', 4)
        ) AS prefix,
        p.time_ms,
        100 * (p.tokens_per_chip_s / a.tokens_per_chip_s - 1) AS gain,
        CASE
            WHEN f.scenario IS NOT NULL THEN 'no'
            WHEN p.fits IS NULL THEN 'unknown'
            ELSE 'yes'
        END AS runs
    FROM _report_points AS p
    JOIN _report_points AS a ON a.phase = p.phase AND a.study = 'report anchor' AND a.is_main
    LEFT JOIN (SELECT DISTINCT scenario FROM scenario_faults WHERE study = 'report knobs') AS f
        ON f.scenario = p.scenario
    WHERE p.study = 'report knobs'
)
SELECT
    prefix || '_ms' AS fact, time_ms AS value, CAST(NULL AS VARCHAR) AS words, 'ms' AS unit
FROM turned
UNION ALL
SELECT prefix || '_gain_pct', gain, NULL, '%' FROM turned
UNION ALL
SELECT prefix || '_runs', NULL, runs, NULL FROM turned;
