-- One row per study around a scenario, made by one_at_a_time or similar, and knob: how the time
-- changes when only that knob changes.
--
-- The scenario in the middle is the one named `<study>/anchor`. Points that differ from it in more
-- than one knob are left out, not counting the number of replicas.
--
-- key: study, formulas, execution, model, phase, hardware, knob
--
-- study         VARCHAR  study
-- formulas      VARCHAR  set of formulas: physical
-- execution     VARCHAR  profile of execution_profiles
-- model         VARCHAR  model
-- phase         VARCHAR  training, prefill or decode
-- hardware      VARCHAR  chip
-- knob          VARCHAR  setting, as in knobs
-- title         VARCHAR  display name
-- swing_rank    BIGINT   1 for the largest swing
-- anchor_value  DOUBLE   value in the middle
-- anchor_ms     DOUBLE   time there, ms
-- anchor_bound  VARCHAR  compute, memory or network there
-- low_value     DOUBLE   smallest value of the study
-- low_ms        DOUBLE   time there, ms
-- low_bound     VARCHAR  compute, memory or network there
-- high_value    DOUBLE   largest value of the study
-- high_ms       DOUBLE   time there, ms
-- high_bound    VARCHAR  compute, memory or network there
-- swing         DOUBLE   longest over shortest of these times, minus 1
-- elasticity    DOUBLE   logarithm of the time at the largest value over that at the smallest, over
--                        the logarithm of those values' ratio; NULL if the smallest is 0
CREATE VIEW tornado AS
WITH anchors AS (
    SELECT study, knob, value, time_ms, bound
    FROM _knob_points
    WHERE scenario = study || '/anchor'
),
turned AS (
    SELECT
        p.study, p.formulas, p.execution, p.model, p.phase, p.hardware, p.knob, p.value, p.time_ms,
        p.bound, a.value AS anchor_value, a.time_ms AS anchor_ms, a.bound AS anchor_bound
    FROM _knob_points AS p
    JOIN anchors AS a ON a.study = p.study AND a.knob = p.knob
    WHERE p.value <> a.value AND p.knob <> 'dp'
    QUALIFY count(*) OVER (PARTITION BY p.scenario) = 1
),
ends AS (
    SELECT
        study, formulas, execution, model, phase, hardware, knob, anchor_value, anchor_ms,
        anchor_bound,
        least(min(value), anchor_value) AS low_value,
        CASE WHEN min(value) < anchor_value THEN arg_min(time_ms, value) ELSE anchor_ms
        END AS low_ms,
        CASE WHEN min(value) < anchor_value THEN arg_min(bound, value) ELSE anchor_bound
        END AS low_bound,
        greatest(max(value), anchor_value) AS high_value,
        CASE WHEN max(value) > anchor_value THEN arg_max(time_ms, value) ELSE anchor_ms
        END AS high_ms,
        CASE WHEN max(value) > anchor_value THEN arg_max(bound, value) ELSE anchor_bound
        END AS high_bound
    FROM turned
    GROUP BY
        study, formulas, execution, model, phase, hardware, knob, anchor_value, anchor_ms,
        anchor_bound
),
swings AS (
    SELECT
        study, formulas, execution, model, phase, hardware, knob, anchor_value, anchor_ms,
        anchor_bound, low_value, low_ms, low_bound, high_value, high_ms, high_bound,
        greatest(low_ms, anchor_ms, high_ms) / nullif(least(low_ms, anchor_ms, high_ms), 0) - 1
            AS swing,
        ln(nullif(high_ms, 0) / nullif(low_ms, 0)) / ln(high_value / nullif(low_value, 0))
            AS elasticity
    FROM ends
)
SELECT
    study, formulas, execution, model, phase, hardware, knob, coalesce(title, knob) AS title,
    rank() OVER (PARTITION BY study ORDER BY swing DESC NULLS LAST) AS swing_rank,
    anchor_value, anchor_ms, anchor_bound, low_value, low_ms, low_bound, high_value, high_ms,
    high_bound, swing, elasticity
FROM swings
LEFT JOIN knobs USING (knob);
