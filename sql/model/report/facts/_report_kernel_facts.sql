-- One row per number or word about what the main profile's kernels gain over the base's.
--
-- fact   VARCHAR  name, as in report_facts
-- value  DOUBLE   the number; NULL for words, or if missing
-- words  VARCHAR  the words; NULL for a number
-- unit   VARCHAR  unit of the number
CREATE VIEW _report_kernel_facts AS
WITH both_sides AS (SELECT * FROM _report_sides WHERE study = 'report anchor')
SELECT
    phase || '_kernels_gain_pct' AS fact, 100 * (base_ms / main_ms - 1) AS value,
    CAST(NULL AS VARCHAR) AS words, '%' AS unit
FROM both_sides
UNION ALL
SELECT
    'kernels_move_a_bound', NULL,
    CASE WHEN bool_or(main_bound <> base_bound) THEN 'yes' ELSE 'no' END, NULL
FROM both_sides
WHERE phase <> 'decode';
