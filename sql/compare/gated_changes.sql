-- One row per measure that gates a change from one trace to another, with its verdict: a worsening
-- counts where it is above its threshold (gate_rules) and above what the steps differ by anyway.
--
-- `FROM gated_changes(before, after)` with the ids of two traces. The change as a whole fails when
-- a row fails. It cannot be judged where gate_doubts(before, after) has a row, even if the rows
-- here pass: a single step shows a regression, but cannot rule one out. Else it warns
-- when a row warns, and passes. The view track_history has this verdict for all traces with a
-- baseline.
--
-- metric     VARCHAR  step_median and step_p90: time of a step on the device, µs; of steps whose
--                     work comes from launches, and of whole traces, compute_median: the
--                     part of it in which the device computes, µs; of the same steps, but for a
--                     server's, period_median: from a step to the next, period_us of steps,
--                     µs; communication_share (exposed) or idle_share (waiting included) of the
--                     devices' time, %; operation, family and idle: a part of the step, µs, in
--                     rows of its own where it got slower by more than its threshold and by more
--                     than a share of the whole (gate_rules.least_pct)
-- part       VARCHAR  name of that operation or family, or idle; NULL for measures of the whole
-- before     DOUBLE   of the first trace
-- after      DOUBLE   of the second trace
-- change     DOUBLE   of times in percent, NULL if the first is not above 0; of shares after
--                     minus before, percentage points
-- threshold  DOUBLE   the change above which the verdict is not pass
-- noise      DOUBLE   how much of a change is chance, by how much the steady steps differ, of the
--                     trace with more, in the unit of change: three times their median absolute
--                     deviation; of shares, and of fewer than eight steps, Student's interval where
--                     that is larger (5 % over all measures), but for step_p90, as a tail is itself
--                     such a difference; NULL if a trace has less than three
-- verdict    VARCHAR  pass, noise (above the threshold and within the noise), warn or fail; unknown
--                     where a side has no value; a part that got slower while the whole did not is
--                     warned of: time may have moved to it
CREATE MACRO gated_changes(of_before, of_after) AS TABLE
SELECT metric, part, before, after, change, threshold, noise, verdict
FROM _gated
WHERE before_id = of_before AND after_id = of_after
ORDER BY list_position([
    'step_median', 'step_p90', 'compute_median', 'period_median', 'communication_share',
    'idle_share', 'family', 'operation', 'idle'
], metric), after - before DESC, part;
