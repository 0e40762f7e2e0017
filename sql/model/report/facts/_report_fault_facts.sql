-- One row for the reasons why the anchor of a model report cannot run, and one for those other than
-- its memory; no rows if it can.
--
-- A reason that only some phases have is given with these phases. Training alone lacks at most
-- memory, which has a rule of its own.
--
-- fact   VARCHAR  name, as in report_facts
-- value  DOUBLE   the number; NULL for words, or if missing
-- words  VARCHAR  the words; NULL for a number
-- unit   VARCHAR  unit of the number
CREATE VIEW _report_fault_facts AS
WITH by_phase AS (
    SELECT f.fault, string_agg(p.phase, ' and ' ORDER BY p.phase) AS phases, count(*) AS many
    FROM scenario_faults AS f
    JOIN _report_points AS p USING (scenario)
    WHERE p.study = 'report anchor' AND p.is_main
    GROUP BY f.fault
    HAVING bool_or(p.phase <> 'training')
),
reasons AS (
    SELECT
        fault <> 'does not fit the memory' AS is_fault,
        CASE many WHEN 3 THEN fault ELSE concat(fault, ' (', phases, ')') END AS reason
    FROM by_phase
)
SELECT
    'hindrances' AS fact, CAST(NULL AS DOUBLE) AS value,
    string_agg(reason, '; ' ORDER BY reason) AS words, CAST(NULL AS VARCHAR) AS unit
FROM reasons
HAVING count(*) > 0
UNION ALL
SELECT 'faults', NULL, string_agg(reason, '; ' ORDER BY reason), NULL
FROM reasons
WHERE is_fault
HAVING count(*) > 0;
