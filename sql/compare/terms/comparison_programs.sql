-- One row per comparison and program of steady steps that neither side is compared by: the time of
-- its steps, which no other relation of the comparison counts.
--
-- key: side, baseline, program
--
-- side        VARCHAR  side
-- baseline    VARCHAR  side that it is compared with
-- program     VARCHAR  program, see steps; unnamed if unknown
-- before_pct  DOUBLE   share of the baseline's steady steps' time that its steps take, mean over
--                      traces, %
-- after_pct   DOUBLE   share of the side's, %
-- before_us   DOUBLE   time of such a step of the baseline on its slowest device: median of the
--                      steps, mean over the traces that have it, µs; NULL without one
-- after_us    DOUBLE   time of such a step of the side, µs
-- change_pct  DOUBLE   after minus before, over before, %
-- noise_pct   DOUBLE   the change that chance can explain, as in trace_changes; of the trace with
--                      the largest spread, or three standard deviations between traces if that is
--                      more; NULL below three steps
-- verdict     VARCHAR  slower or faster, by more than the noise and the threshold of step_median in
--                      gate_rules; same, if by no more than one of them; unknown, see doubt
-- doubt       VARCHAR  why the two cannot be compared: steps on one side only, fewer than three,
--                      or different work (requests or tokens); NULL if they can
CREATE VIEW comparison_programs AS
WITH sizes AS (
    SELECT side, count(*) AS traces FROM comparison_sides GROUP BY side
),
of_sides AS (
    SELECT
        sides.side, program, sum(time_pct) / any_value(sizes.traces) AS time_pct,
        avg(step_us) AS step_us,
        [max(spread[1]), max(spread[2]), max(spread[3])] AS spread,
        3 * stddev_samp(step_us) AS between_us,
        {'steps': min(steps), 'requests': avg(requests), 'tokens': avg(tokens)} AS work
    FROM _other_programs
    JOIN comparison_sides AS sides USING (trace_id)
    JOIN sizes ON sizes.side = sides.side
    GROUP BY sides.side, program
),
mains AS (
    SELECT side, program FROM comparison_sides JOIN comparison_bases USING (trace_id)
),
pairs AS (
    SELECT DISTINCT pairs.side, baseline, program
    FROM of_sides
    JOIN _comparison_pairs AS pairs ON of_sides.side IN (pairs.side, baseline)
    ANTI JOIN mains ON mains.side IN (pairs.side, baseline) AND mains.program = of_sides.program
),
changes AS (
    SELECT
        pairs.side, baseline, pairs.program, b.time_pct AS before_pct, a.time_pct AS after_pct,
        b.step_us AS before_us, a.step_us AS after_us,
        100 * (a.step_us - b.step_us) / b.step_us AS change_pct,
        100 * greatest(
            _change_noise(a.step_us - b.step_us, b.spread, a.spread), b.between_us, a.between_us
        ) / b.step_us AS noise_pct,
        _program_doubt(b.work, a.work) AS doubt
    FROM pairs
    LEFT JOIN of_sides AS b ON b.side = baseline AND b.program = pairs.program
    LEFT JOIN of_sides AS a ON a.side = pairs.side AND a.program = pairs.program
)
SELECT
    side, baseline, program, coalesce(before_pct, 0) AS before_pct,
    coalesce(after_pct, 0) AS after_pct, before_us, after_us, change_pct, noise_pct,
    CASE
        WHEN doubt IS NOT NULL THEN 'unknown'
        WHEN abs(change_pct) <= greatest(noise_pct, (
            SELECT threshold FROM gate_rules WHERE metric = 'step_median'
        )) THEN 'same'
        WHEN change_pct > 0 THEN 'slower'
        ELSE 'faster'
    END AS verdict,
    doubt
FROM changes;
