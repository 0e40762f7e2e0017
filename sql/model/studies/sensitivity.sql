-- One row per study, execution and knob that the study varies: how far it moves the time.
--
-- The effect size compares the medians of the scenarios with each value of the knob, however far
-- apart those values are. The elasticity does not depend on that: at 1 the time grows in proportion
-- to the knob, at 0 it does not change, below 0 it falls.
--
-- key: study, formulas, execution, model, phase, hardware, knob
--
-- study                 VARCHAR   sweep
-- formulas              VARCHAR   set of formulas: physical
-- execution             VARCHAR   profile of execution_profiles
-- model                 VARCHAR   model
-- phase                 VARCHAR   training, prefill or decode
-- hardware              VARCHAR   chip
-- knob                  VARCHAR   setting, as in knobs
-- title                 VARCHAR   display name
-- effect_rank           BIGINT    1 for the largest effect size
-- effect_size           DOUBLE    largest median time over the smallest, minus 1
-- elasticity            DOUBLE    logarithm of the time at the largest value over that at the
--                                 smallest, over the logarithm of those values' ratio; NULL if the
--                                 smallest is 0
-- knob_values           DOUBLE[]  values of the knob, ascending
-- medians_ms            DOUBLE[]  median time with each of them, ms
-- points                BIGINT    scenarios compared
-- feasible_rank         BIGINT    1 for the largest effect size among points that can run
-- feasible_effect_size  DOUBLE    effect size among these, see scenario_faults; NULL if they all
--                                 have one value
-- feasible_elasticity   DOUBLE    elasticity among these
-- feasible_points       BIGINT    number of these
CREATE VIEW sensitivity AS
WITH effects AS (
    SELECT
        study, formulas, execution, model, phase, hardware, knob,
        max(median_ms) / nullif(min(median_ms), 0) - 1 AS effect_size,
        ln(nullif(arg_max(median_ms, value), 0) / nullif(arg_min(median_ms, value), 0))
        / ln(max(value) / nullif(min(value), 0)) AS elasticity,
        list(value ORDER BY value) AS knob_values,
        list(median_ms ORDER BY value) AS medians_ms,
        CAST(sum(points) AS BIGINT) AS points,
        CASE
            WHEN count(feasible_ms) > 1
                THEN max(feasible_ms) / nullif(min(feasible_ms), 0) - 1
        END AS feasible_effect_size,
        -- arg_max ignores NULL.
        ln(nullif(arg_max(feasible_ms, value), 0) / nullif(arg_min(feasible_ms, value), 0))
        / nullif(
            ln(
                max(value) FILTER (feasible_points > 0)
                / nullif(min(value) FILTER (feasible_points > 0), 0)
            ),
            0
        ) AS feasible_elasticity,
        CAST(sum(feasible_points) AS BIGINT) AS feasible_points
    FROM knob_medians
    GROUP BY ALL
)
SELECT
    study, formulas, execution, model, phase, hardware, knob, coalesce(title, knob) AS title,
    rank() OVER (
        PARTITION BY study, formulas, execution, model, phase, hardware
        ORDER BY effect_size DESC NULLS LAST
    ) AS effect_rank,
    effect_size, elasticity, knob_values, medians_ms, points,
    rank() OVER (
        PARTITION BY study, formulas, execution, model, phase, hardware
        ORDER BY feasible_effect_size DESC NULLS LAST
    ) AS feasible_rank,
    feasible_effect_size, feasible_elasticity, feasible_points
FROM effects
LEFT JOIN knobs USING (knob);
