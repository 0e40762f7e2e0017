-- One row per measure of two traces beside each other, for one device and one steady step, or for
-- one device and the whole trace if they have no steps. Lower is better in all of them.
--
-- `FROM trace_changes(before, after)` with the ids of two traces; `lake.compare` refuses traces
-- whose measures have different bases.
--
-- place       INTEGER  order of the measures
-- metric      VARCHAR  measure
-- unit        VARCHAR  its unit
-- before      DOUBLE   of the first trace
-- after       DOUBLE   of the second trace
-- change      DOUBLE   after minus before
-- change_pct  DOUBLE   the same over before, %; NULL if before is 0
-- noise       DOUBLE   the change that chance can explain, from the spread of the steady steps of
--                      the noisier trace: three times their median absolute deviation; for means,
--                      and for fewer than eight steps, Student's interval if that is larger (5 %
--                      over all measures). From eight steps on, for means at most 1.5 times that
--                      interval; for medians at most 1.5 times the distances together by which the
--                      95 % intervals of both traces' medians reach towards each other, and at
--                      least twice the smaller. NULL if a trace has fewer than three steps
-- verdict     VARCHAR  better, worse, same; noise if the change is no larger than it; unknown if
--                      the noise is
CREATE MACRO trace_changes(of_before, of_after) AS TABLE
WITH earlier AS (
    SELECT place, metric, unit, value, spread
    FROM _comparison_values
    WHERE trace_id = of_before
),
later AS (
    SELECT place, metric, unit, value, spread
    FROM _comparison_values
    WHERE trace_id = of_after
),
paired AS (
    SELECT
        coalesce(earlier.place, later.place) AS place,
        coalesce(earlier.metric, later.metric) AS metric,
        coalesce(earlier.unit, later.unit) AS unit,
        earlier.value AS before, later.value AS after,
        _change_noise(later.value - earlier.value, earlier.spread, later.spread) AS noise
    FROM earlier
    FULL JOIN later ON later.metric = earlier.metric
)
SELECT
    place, metric, unit, before, after, after - before AS change,
    100 * (after - before) / nullif(before, 0) AS change_pct, noise,
    CASE
        WHEN before IS NULL OR after IS NULL OR noise IS NULL THEN 'unknown'
        WHEN after = before THEN 'same'
        WHEN abs(after - before) <= noise THEN 'noise'
        WHEN after > before THEN 'worse'
        ELSE 'better'
    END AS verdict
FROM paired;
