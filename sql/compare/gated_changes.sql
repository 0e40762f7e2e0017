-- One row per measure that gates a change from one trace to another, with its verdict: a worsening
-- counts if it is above its threshold (gate_rules) and above the noise of the steps.
--
-- `FROM gated_changes(before, after)` with the ids of two traces. The change as a whole fails when
-- a row fails. If gate_doubts(before, after) has a row, nothing passes: a single step can show a
-- regression, but cannot rule one out; of different work, nothing can be judged. Otherwise the
-- change warns when a row warns, and else passes. The view track_history has this verdict for all
-- traces with a baseline.
--
-- metric       VARCHAR  step_median and step_p90: time of a step on the device, µs; of steps whose
--                       work comes from launches, and of whole traces, compute_median: the
--                       part of it in which the device computes, µs; of the same steps, but for a
--                       server's, period_median: from a step to the next, period_us of steps,
--                       µs; communication_share (exposed) or idle_share (waiting included) of the
--                       devices' time, %; operation, family and idle: a part of the step, µs, each
--                       with its own row if it got slower by more than its threshold and by more
--                       than a share of the whole (gate_rules.least_pct)
-- part         VARCHAR  name of that operation or family, or idle; NULL for measures of the whole.
--                       step_median has a second row for each other program with steady steps on
--                       both sides: its name, the time of its steps
-- before       DOUBLE   of the first trace
-- after        DOUBLE   of the second trace
-- change       DOUBLE   for times in percent, NULL if the first is not above 0; for shares after
--                       minus before, percentage points
-- threshold    DOUBLE   the change above which the verdict is not pass
-- noise        DOUBLE   the change that chance can explain, from the spread of the steady steps of
--                       the noisier trace, in the unit of change: three times their median
--                       absolute deviation; for shares, and for fewer than eight steps, Student's
--                       interval if that is larger (5 % over all measures), except for step_p90,
--                       since a tail is itself a spread. From eight steps on, for shares at most
--                       1.5 times that interval; for medians at most 1.5 times the distances
--                       together by which the 95 % intervals of both reach towards each other, and
--                       at least twice the smaller. NULL if a trace has fewer than three steps, or
--                       three, which have two periods, for period_median: then the threshold alone
--                       decides
-- unit         VARCHAR  unit of before and after: µs, or % of the devices' time
-- change_unit  VARCHAR  unit of change, threshold and noise: % of before, or points (percentage
--                       points)
-- verdict      VARCHAR  pass, noise (above the threshold and within the noise), warn or fail;
--                       unknown if a side has no value, if gate_doubts has a reason and the
--                       measure neither fails nor warns, or if that reason is different work; a
--                       part only warns if the whole (the step for idle time, else the time in
--                       which any operation runs) did not grow by more than half as much: time
--                       moved to it, or other work hides it
CREATE MACRO gated_changes(of_before, of_after) AS TABLE
WITH doubts AS (
    SELECT
        count(*) > 0 AS is_doubted,
        coalesce(
            bool_or(reason IN ('different work', 'nothing to measure')), FALSE
        ) AS is_undecided
    FROM _gate_doubts
    WHERE before_id = of_before AND after_id = of_after
)
SELECT
    metric, part, before, after, change, threshold, noise,
    if(ends_with(metric, '_share'), '%', 'µs') AS unit,
    if(ends_with(metric, '_share'), 'points', '%') AS change_unit,
    CASE
        WHEN is_undecided OR is_doubted AND verdict IN ('pass', 'noise') THEN 'unknown'
        ELSE verdict
    END AS verdict
FROM _gated
CROSS JOIN doubts
WHERE before_id = of_before AND after_id = of_after
ORDER BY list_position([
    'step_median', 'step_p90', 'compute_median', 'period_median', 'communication_share',
    'idle_share', 'family', 'operation', 'idle'
], metric), part IS NOT NULL, after - before DESC, part;
