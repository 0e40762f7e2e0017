-- One row per study, execution, knob that the study varies, and value: the median time.
--
-- key: study, formulas, execution, model, phase, hardware, knob, value
--
-- study            VARCHAR  sweep
-- formulas         VARCHAR  set of formulas: physical
-- execution        VARCHAR  profile of execution_profiles
-- model            VARCHAR  model
-- phase            VARCHAR  training, prefill or decode
-- hardware         VARCHAR  chip
-- knob             VARCHAR  setting, as in knobs
-- value            DOUBLE    a value of it
-- points           BIGINT   scenarios with the value
-- median_ms        DOUBLE   median of their times, ms
-- feasible_points  BIGINT   those that can run, see scenario_faults
-- feasible_ms      DOUBLE   median of their times, ms
CREATE VIEW knob_medians AS
WITH medians AS (
    SELECT
        p.study, p.formulas, p.execution, p.model, p.phase, p.hardware, p.knob, p.value,
        count(*) AS points, median(p.time_ms) AS median_ms,
        count(*) FILTER (f.scenario IS NULL) AS feasible_points,
        median(p.time_ms) FILTER (f.scenario IS NULL) AS feasible_ms
    FROM _knob_points AS p
    LEFT JOIN (SELECT DISTINCT scenario FROM scenario_faults) AS f ON f.scenario = p.scenario
    WHERE p.study IS NOT NULL
    GROUP BY ALL
)
SELECT
    study, formulas, execution, model, phase, hardware, knob, value, points, median_ms,
    feasible_points, feasible_ms
FROM medians
QUALIFY count(*) OVER (
    PARTITION BY study, formulas, execution, model, phase, hardware, knob
) > 1;
