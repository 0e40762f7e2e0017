-- One row per comparison, group of work and level of the waterfall: the term that it is part of. A
-- term's name is its path from the part of the step down, so that it is unique.
CREATE VIEW _group_terms AS
SELECT side, baseline, group_id, part, level, depth, parent, term, name
FROM (
    SELECT
        side, baseline, group_id, any_value(part) AS part, any_value(category) AS category,
        any_value(module) AS module, any_value(operator) AS operator
    FROM comparison_works
    GROUP BY side, baseline, group_id
)
CROSS JOIN LATERAL (
    VALUES
        ('step', 1, CAST(NULL AS VARCHAR), 'step', 'step'),
        ('part', 2, 'step', part, part),
        ('category', 3, part, concat_ws('/', part, category), category),
        (
            'module', 4, concat_ws('/', part, category), concat_ws('/', part, category, module),
            module
        ),
        (
            'operator', 5, concat_ws('/', part, category, module),
            concat_ws('/', part, category, module, operator), operator
        )
) AS levels (level, depth, parent, term, name);

-- One row per comparison, side of it (before or after) and term: the variance of its mean time,
-- from its spread over the replicates of the side, see _side_blocks.
CREATE VIEW _term_noise AS
WITH valued AS (
    SELECT
        works.side, works.baseline, is_after, level, parent, term, replicate,
        sum(value_ns) AS value_ns
    FROM comparison_works AS works
    JOIN _group_terms AS terms
        ON terms.side = works.side AND terms.baseline = works.baseline
        AND terms.group_id = works.group_id
    JOIN _side_costs AS costs
        ON costs.side = if(is_after, works.side, works.baseline)
        AND costs.cost_id = works.cost_id
    GROUP BY works.side, works.baseline, is_after, level, parent, term, replicate
),
summed AS (
    SELECT
        valued.side, baseline, is_after, level, parent, term, count(*) AS present,
        any_value(replicates) AS replicates, avg(value_ns) AS present_ns,
        sum(value_ns) / any_value(replicates) AS mean_ns, var_pop(value_ns) AS present_var
    FROM valued
    JOIN _side_sizes AS sizes ON sizes.side = if(is_after, valued.side, baseline)
    GROUP BY valued.side, baseline, is_after, level, parent, term
)
-- A term missing from a replicate takes 0 time there.
SELECT
    side, baseline, is_after, level, parent, term,
    (
        present * (present_var + pow(present_ns - mean_ns, 2))
        + (replicates - present) * mean_ns * mean_ns
    ) / nullif(replicates - 1, 0) / replicates AS error_var
FROM summed;

-- One row per comparison and term of its waterfall: how much longer or shorter a part of a step
-- takes than in the baseline, why, and whether the difference is significant.
--
-- A step is split into parts, a part into categories, a category into modules, a module into
-- operators: the rows of a level sum to their parent's times, differences and splits exactly, in
-- whole ns. Times are exclusive, see step_costs: nothing counts twice. They are per device and
-- step: the mean over the steps, devices and runs of a side.
--
-- Noise is the spread between the runs of a side or, if it has one run, between blocks of its
-- steps. One run beside several varies at least as they do among themselves. The interval is
-- Student's, by Welch, over all terms of a level together: in at most 5 of 100 comparisons without
-- a change is any term of a level called slower or faster (7 where one side has six times the steps
-- of the other). If a run lacks ranks that the other side has, the noise is unknown, see
-- comparisons.doubts.
--
-- stored: in memory
--
-- key: side, baseline, level, parent?, term
--
-- side            VARCHAR  side
-- baseline        VARCHAR  side that it is compared with
-- level           VARCHAR  step, part, category, module or operator
-- parent          VARCHAR  the term of the level above that it is part of; NULL for the step
-- term            VARCHAR  term: the names from the part down, joined by /
-- place           BIGINT   its place in the waterfall: below its parent, largest difference first
-- name            VARCHAR  the last of these names; empty if unknown
-- before_ns       BIGINT   time in a step of the baseline, ns
-- after_ns        BIGINT   time in a step of the side, ns
-- change_ns       BIGINT   after minus before, ns
-- more_work_ns    BIGINT   part due to more work, or less, ns; NULL for idle and waiting time, and
--                          for the step; see comparison_ops
-- slower_work_ns  BIGINT   part due to slower work, or faster, ns; NULL in the same cases
-- ci_low_ns       BIGINT   lower end of the confidence interval of the difference, ns; NULL if a
--                          side has one replicate or lacks ranks
-- ci_high_ns      BIGINT   its upper end, ns
-- detectable_ns   BIGINT   the smallest difference that would be detected, ns
-- matched_pct     DOUBLE   share of both sides' time whose work has a match on the other side, see
--                          comparison_levels, %; NULL for idle time
-- verdict         VARCHAR  slower or faster; same within a percentage of before: no larger change
--                          is hidden in the noise; too noisy to tell, with the margin, if that is
--                          more than half of before (of after, if before is 0); cannot tell: one
--                          step, if a side has one replicate; cannot tell: a rank is missing
CREATE VIEW comparison_terms AS
WITH RECURSIVE summed AS (
    SELECT
        terms.side, terms.baseline, terms.level, any_value(depth) AS depth, terms.parent,
        terms.term, any_value(name) AS name, CAST(sum(before_ns) AS BIGINT) AS before_ns,
        CAST(sum(after_ns) AS BIGINT) AS after_ns,
        if(
            count(*) FILTER (work_unit IS NULL) = 0 AND any_value(depth) > 1,
            CAST(sum(more_work_ns) AS BIGINT), NULL
        ) AS more_work_ns,
        sum(before_ns + after_ns) FILTER (terms.part <> 'idle') AS work_ns,
        coalesce(
            sum(before_ns + after_ns) FILTER (terms.part <> 'idle' AND matched_by <> 'nothing'), 0
        ) AS matched_ns
    FROM _group_terms AS terms
    JOIN comparison_ops AS ops
        ON ops.side = terms.side AND ops.baseline = terms.baseline
        AND ops.group_id = terms.group_id
    GROUP BY terms.side, terms.baseline, terms.level, terms.parent, terms.term
),
noise AS (
    SELECT
        side, baseline, level, parent, term,
        coalesce(max(error_var) FILTER (NOT is_after), 0) AS before_var,
        coalesce(max(error_var) FILTER (is_after), 0) AS after_var
    FROM _term_noise
    GROUP BY side, baseline, level, parent, term
),
spread AS (
    -- The steps of one run do not show how runs differ. Beside several runs, it varies as one of
    -- these does: n times the variance of their mean, known to their n - 1 degrees of freedom.
    SELECT
        noise.side, noise.baseline, level, parent, term,
        if(b.runs = 1 AND a.runs > 1, greatest(before_var, a.runs * after_var), before_var)
            AS before_var,
        if(a.runs = 1 AND b.runs > 1, greatest(after_var, b.runs * before_var), after_var)
            AS after_var,
        if(least(b.runs, a.runs) = 1, nullif(greatest(b.runs, a.runs) - 1, 0), NULL)
            AS runs_freedom,
        b.replicates AS before_replicates, a.replicates AS after_replicates
    FROM noise
    JOIN _side_sizes AS a ON a.side = noise.side
    JOIN _side_sizes AS b ON b.side = noise.baseline
),
judged AS (
    SELECT
        s.side, s.baseline, s.level, s.depth, s.parent, s.term, s.name, s.before_ns, s.after_ns,
        s.more_work_ns, s.work_ns, s.matched_ns, sqrt(before_var + after_var) AS error_ns,
        least(before_replicates, after_replicates) AS replicates,
        -- Else Welch's degrees of freedom, at most those of two sides of the smaller size: if
        -- chance puts its few replicates close together, Welch's are those of the larger side.
        -- Where one side has no variance, they are a whole number, which rounding must not lower.
        coalesce(runs_freedom, CAST(greatest(least(coalesce(floor(
            1e-9 + pow(before_var + after_var, 2) / nullif(
                pow(before_var, 2) / nullif(before_replicates - 1, 0)
                + pow(after_var, 2) / nullif(after_replicates - 1, 0), 0
            )
        ), before_replicates + after_replicates - 2), 2 * (least(
            before_replicates, after_replicates
        ) - 1)), 1) AS BIGINT)) AS freedom,
        count(*) OVER (PARTITION BY s.side, s.baseline, s.level) AS terms
    FROM summed AS s
    JOIN spread
        ON spread.side = s.side AND spread.baseline = s.baseline AND spread.level = s.level
        AND spread.parent IS NOT DISTINCT FROM s.parent AND spread.term = s.term
),
allowed AS (
    -- The next lower number of degrees of freedom, the next higher of terms.
    SELECT
        wanted.freedom, wanted.terms, arg_max(quantile, (q.freedom, -q.terms)) AS quantile
    FROM (SELECT DISTINCT freedom, terms FROM judged) AS wanted
    JOIN student_quantiles AS q ON q.freedom <= wanted.freedom AND q.terms >= wanted.terms
    GROUP BY wanted.freedom, wanted.terms
),
bounded AS (
    SELECT
        row_number() OVER (
            PARTITION BY judged.side, judged.baseline, level, parent
            ORDER BY abs(after_ns - before_ns) DESC, term
        ) AS sibling,
        judged.side, judged.baseline, level, depth, parent, term, name, before_ns, after_ns,
        more_work_ns, work_ns, matched_ns,
        message IS NOT NULL AS lacks_ranks,
        -- Times are rounded to 1 ns.
        if(
            replicates > 1 AND NOT lacks_ranks,
            CAST(greatest(round(quantile * error_ns), 1) AS BIGINT), NULL
        ) AS detectable_ns
    FROM judged
    JOIN allowed ON allowed.freedom = judged.freedom AND allowed.terms = judged.terms
    LEFT JOIN _missing_ranks AS missing
        ON missing.side = judged.side AND missing.baseline = judged.baseline
),
waterfall AS (
    SELECT side, baseline, depth, term, [sibling] AS siblings
    FROM bounded
    WHERE depth = 1
    UNION ALL
    SELECT b.side, b.baseline, b.depth, b.term, list_append(siblings, sibling)
    FROM waterfall AS w
    JOIN bounded AS b
        ON b.side = w.side AND b.baseline = w.baseline AND b.depth = w.depth + 1
        AND b.parent = w.term
)
SELECT
    side, baseline, level, parent, term,
    row_number() OVER (PARTITION BY side, baseline ORDER BY siblings) - 1 AS place, name,
    before_ns, after_ns, after_ns - before_ns AS change_ns, more_work_ns,
    after_ns - before_ns - more_work_ns AS slower_work_ns,
    after_ns - before_ns - detectable_ns AS ci_low_ns,
    after_ns - before_ns + detectable_ns AS ci_high_ns, detectable_ns,
    100.0 * matched_ns / nullif(work_ns, 0) AS matched_pct,
    CASE
        WHEN lacks_ranks THEN 'cannot tell: a rank is missing'
        WHEN detectable_ns IS NULL THEN 'cannot tell: one step'
        WHEN after_ns - before_ns > detectable_ns THEN 'slower'
        WHEN before_ns - after_ns > detectable_ns THEN 'faster'
        -- Times of 1 ns are what rounding leaves.
        WHEN greatest(before_ns, after_ns) = 0 OR greatest(before_ns, after_ns, detectable_ns) <= 1
            THEN 'same'
        WHEN abs(after_ns - before_ns) + detectable_ns > 0.5 * before_ns
            THEN format(
                'too noisy to tell: ±{:.0f} %',
                100.0 * detectable_ns / if(before_ns > 0, before_ns, after_ns)
            )
        ELSE format(
            'same within {:.1f} %',
            100.0 * (abs(after_ns - before_ns) + detectable_ns) / before_ns
        )
    END AS verdict
FROM bounded
JOIN waterfall USING (side, baseline, depth, term)
ORDER BY side, baseline, siblings;
