-- Which resource limits the points of a study over two of its knobs: one row per pair of values.
--
-- Called as regime_map(study, knob, knob), the knobs as in the table knobs. Other knobs that the
-- study varies give a pair several points. Counts and times cover all of them, including those that
-- cannot run: where feasible_points is 0, none can.
--
-- formulas         VARCHAR  set of formulas: physical
-- execution        VARCHAR  profile of execution_profiles
-- model            VARCHAR  model
-- phase            VARCHAR  training, prefill or decode
-- hardware         VARCHAR  chip
-- x                DOUBLE   value of the first knob
-- y                DOUBLE   value of the second
-- points           BIGINT   scenarios
-- feasible_points  BIGINT   those that can run and fit the memory, see scenario_faults
-- compute_bound    BIGINT   points limited by compute
-- memory_bound     BIGINT   those limited by memory
-- network_bound    BIGINT   those limited by the network
-- bound            VARCHAR  what limits most of them: compute, memory or network, in this order on
--                           a tie
-- median_ms        DOUBLE   median of their times, ms
CREATE MACRO regime_map(of_study, of_x, of_y) AS TABLE
WITH cells AS (
    SELECT
        x.formulas, x.execution, x.model, x.phase, x.hardware, x.value AS x, y.value AS y,
        count(*) AS points,
        count(*) FILTER (f.scenario IS NULL) AS feasible_points,
        count(*) FILTER (x.bound = 'compute') AS compute_bound,
        count(*) FILTER (x.bound = 'memory') AS memory_bound,
        count(*) FILTER (x.bound = 'network') AS network_bound,
        median(x.time_ms) AS median_ms
    FROM _knob_points AS x
    JOIN _knob_points AS y ON y.scenario = x.scenario AND y.knob = of_y
    LEFT JOIN (SELECT DISTINCT scenario FROM scenario_faults WHERE study = of_study) AS f
        ON f.scenario = x.scenario
    WHERE x.study = of_study AND x.knob = of_x
    GROUP BY ALL
)
SELECT
    formulas, execution, model, phase, hardware, x, y, points, feasible_points, compute_bound,
    memory_bound, network_bound,
    CASE greatest(compute_bound, memory_bound, network_bound)
        WHEN 0 THEN NULL
        WHEN compute_bound THEN 'compute'
        WHEN memory_bound THEN 'memory'
        ELSE 'network'
    END AS bound,
    median_ms
FROM cells
ORDER BY formulas, execution, model, phase, hardware, x, y;
