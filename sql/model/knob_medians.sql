-- One row per study, execution, knob that the study varies, and value of it: the median time.
--
-- study       VARCHAR  sweep
-- formulas    VARCHAR  physical or seed
-- execution   VARCHAR  profile of execution_profiles
-- model       VARCHAR  model
-- phase       VARCHAR  training, prefill or decode
-- hardware    VARCHAR  chip
-- knob        VARCHAR  setting, as in knobs
-- value       DOUBLE   a value of it
-- points      BIGINT   scenarios with the value
-- median_ms   DOUBLE   median of their times, ms
CREATE VIEW knob_medians AS
WITH medians AS (
    SELECT
        study, formulas, execution, model, phase, hardware, knob, value, count(*) AS points,
        median(time_ms) AS median_ms
    FROM _knob_points
    WHERE study IS NOT NULL
    GROUP BY ALL
)
SELECT
    study, formulas, execution, model, phase, hardware, knob, value, points, median_ms
FROM medians
QUALIFY count(*) OVER (
    PARTITION BY study, formulas, execution, model, phase, hardware, knob
) > 1;
