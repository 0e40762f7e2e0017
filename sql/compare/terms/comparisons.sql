-- One row per side of a comparison: its step and the baseline's, whether the difference is
-- significant, how much of the work could be matched, and reasons not to compare the two.
--
-- key: side, baseline
--
-- side                VARCHAR  side
-- baseline            VARCHAR  side that it is compared with
-- basis               VARCHAR  unit that times are per: a steady step and its source, or the whole
--                              trace; all units if traces or sides differ
-- traces              BIGINT   traces of the side
-- runs                BIGINT   runs of the side; a trace without a run is one
-- steps               BIGINT   steps of all its traces
-- before_ns           BIGINT   time of a step of the baseline, the mean over steps, devices and
--                              runs, ns
-- after_ns            BIGINT   time of a step of the side, ns
-- slowest_before_ns   BIGINT   time of a step of the baseline on its slowest device, for which
--                              others wait: the mean over steps and runs, ns
-- slowest_after_ns    BIGINT   the same of the side, ns
-- change_ns           BIGINT   after minus before, ns
-- change_pct          DOUBLE   the same over before, %
-- ci_low_pct          DOUBLE   lower end of the interval that contains the difference in 95 of 100
--                              comparisons, over before, %; NULL if a side has one replicate or
--                              lacks ranks
-- ci_high_pct         DOUBLE   its upper end, %
-- detectable_pct      DOUBLE   the smallest difference that would be detected, over before, %
-- verdict             VARCHAR  slower, faster, same within a percentage, or undecidable, see
--                              comparison_terms
-- before_matched_pct  DOUBLE   share of the baseline's time, without idle time, whose work has a
--                              match in the side's, %
-- after_matched_pct   DOUBLE   share of the side's time whose work has a match in the baseline's, %
-- is_comparable       BOOLEAN  both are measured in the same way
-- doubts              VARCHAR  reasons not to compare them, or not by the mean over devices:
--                              different work in a step (the measures of work_tolerances), steps
--                              of other programs that are not compared, and their changes
--                              (comparison_programs), ranks that a run lacks, a slowest device that
--                              changed by other than the mean (above detectable_pct and 1 %); NULL
--                              if there are none
CREATE VIEW comparisons AS
WITH matched AS (
    SELECT
        side, baseline,
        100.0 * sum(before_ns) FILTER (matched_by <> 'nothing') / nullif(sum(before_ns), 0)
            AS before_pct,
        100.0 * sum(after_ns) FILTER (matched_by <> 'nothing') / nullif(sum(after_ns), 0)
            AS after_pct
    FROM comparison_ops
    WHERE part <> 'idle'
    GROUP BY side, baseline
),
bases AS (
    SELECT
        side, string_agg(DISTINCT basis, '; ' ORDER BY basis) AS basis, max(devices) AS devices
    FROM comparison_sides
    JOIN comparison_bases USING (trace_id)
    GROUP BY side
),
programs AS (
    SELECT
        side, baseline,
        string_agg(
            format('a step of {} changes by {:+.1f} %', program, change_pct), '; '
            ORDER BY before_pct DESC, program
        ) AS message
    FROM comparison_programs
    WHERE verdict IN ('slower', 'faster')
    GROUP BY side, baseline
),
slowest AS (
    SELECT side, TRY_CAST(round(avg(step_ns)) AS BIGINT) AS step_ns
    FROM (
        SELECT side, sum(slowest_ns) / sum(steps) AS step_ns FROM _side_blocks GROUP BY side, unit
    )
    GROUP BY side
)
SELECT
    terms.side, terms.baseline,
    CASE
        WHEN own.basis = other.basis THEN own.basis
        ELSE concat(other.basis, ' before, ', own.basis, ' after')
    END AS basis,
    traces, runs, steps, before_ns, after_ns, waited.step_ns AS slowest_before_ns,
    awaited.step_ns AS slowest_after_ns, change_ns,
    100.0 * change_ns / nullif(before_ns, 0) AS change_pct,
    100.0 * ci_low_ns / nullif(before_ns, 0) AS ci_low_pct,
    100.0 * ci_high_ns / nullif(before_ns, 0) AS ci_high_pct,
    100.0 * detectable_ns / nullif(before_ns, 0) AS detectable_pct, verdict,
    coalesce(before_pct, 0) AS before_matched_pct, coalesce(after_pct, 0) AS after_matched_pct,
    own.basis = other.basis AND own.basis NOT LIKE '%;%' AS is_comparable,
    nullif(concat_ws(
        '; ',
        if(own.basis <> other.basis, 'times are taken per different things', NULL),
        if(
            own.basis LIKE '%;%' OR other.basis LIKE '%;%',
            'traces of one side are measured in different ways', NULL
        ),
        if(own.devices <> other.devices, format(
            '{} devices in a trace before, {} after', other.devices, own.devices
        ), NULL),
        if(
            abs(awaited.step_ns - waited.step_ns - change_ns)
            > greatest(detectable_ns, 0.01 * before_ns),
            format(
                'a step on its slowest device changes by {:+.1f} %, from {:.3f} to {:.3f} ms',
                100.0 * (awaited.step_ns - waited.step_ns) / waited.step_ns, waited.step_ns / 1e6,
                awaited.step_ns / 1e6
            ), NULL
        ),
        work.message, _both_programs(unseen.message, left_out.message), programs.message,
        missing.message
    ), '') AS doubts
FROM comparison_terms AS terms
JOIN _side_sizes AS sizes ON sizes.side = terms.side
LEFT JOIN matched ON matched.side = terms.side AND matched.baseline = terms.baseline
LEFT JOIN _missing_ranks AS missing
    ON missing.side = terms.side AND missing.baseline = terms.baseline
LEFT JOIN _different_work AS work
    ON work.side = terms.side AND work.baseline = terms.baseline
LEFT JOIN programs ON programs.side = terms.side AND programs.baseline = terms.baseline
LEFT JOIN _side_programs AS left_out ON left_out.side = terms.side
LEFT JOIN _side_programs AS unseen ON unseen.side = terms.baseline
LEFT JOIN slowest AS awaited ON awaited.side = terms.side
LEFT JOIN slowest AS waited ON waited.side = terms.baseline
LEFT JOIN bases AS own ON own.side = terms.side
LEFT JOIN bases AS other ON other.side = terms.baseline
WHERE level = 'step';
