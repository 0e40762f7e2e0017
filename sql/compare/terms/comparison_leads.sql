-- One row per comparison: the operator, or cause of idle time, whose time differs most, among those
-- that are significantly slower or faster if there are any, with evidence for the reason.
--
-- key: side, baseline
--
-- side            VARCHAR  side
-- baseline        VARCHAR  side that it is compared with
-- part            VARCHAR  part of the step
-- category        VARCHAR  category of the work, or cause of the idle time
-- module          VARCHAR  module; empty if unknown
-- operator        VARCHAR  operator; empty for idle time
-- before_ns       BIGINT   time in a step of the baseline, ns
-- after_ns        BIGINT   time in a step of the side, ns
-- change_ns       BIGINT   after minus before, ns
-- step_pct        DOUBLE   the same over the baseline's step, %
-- more_work_ns    BIGINT   part due to more work, ns; NULL, like the next, for idle and waiting
--                          time
-- slower_work_ns  BIGINT   part due to slower work, ns
-- verdict         VARCHAR  verdict on it, as in comparison_terms
-- before_calls    DOUBLE   calls in a step of the baseline
-- after_calls     DOUBLE   calls in a step of the side
-- before_kernel   VARCHAR  the baseline's kernel that takes most of the time; NULL without one
-- after_kernel    VARCHAR  the side's
CREATE VIEW comparison_leads AS
WITH leads AS (
    SELECT
        terms.side, terms.baseline, terms.parent, terms.term, terms.before_ns, terms.after_ns,
        terms.change_ns, 100.0 * terms.change_ns / nullif(steps.before_ns, 0) AS step_pct,
        terms.more_work_ns, terms.slower_work_ns, terms.verdict
    FROM comparison_terms AS terms
    JOIN comparison_terms AS steps
        ON steps.side = terms.side AND steps.baseline = terms.baseline AND steps.level = 'step'
    WHERE terms.level = 'operator' AND terms.change_ns <> 0
    QUALIFY 1 = row_number() OVER (
        PARTITION BY terms.side, terms.baseline
        ORDER BY
            terms.verdict IN ('slower', 'faster') DESC, abs(terms.change_ns) DESC, terms.place
    )
),
works AS (
    SELECT
        side, baseline, part, category, module, operator,
        concat_ws('/', part, category, module) AS parent,
        concat_ws('/', part, category, module, operator) AS term,
        sum(before_calls) AS before_calls, sum(after_calls) AS after_calls,
        arg_max(before_kernel, (before_ns, before_kernel)) AS before_kernel,
        arg_max(after_kernel, (after_ns, after_kernel)) AS after_kernel
    FROM comparison_ops
    GROUP BY side, baseline, part, category, module, operator
)
SELECT
    leads.side, leads.baseline, part, category, module, operator, before_ns, after_ns, change_ns,
    step_pct, more_work_ns, slower_work_ns, verdict, before_calls, after_calls, before_kernel,
    after_kernel
FROM leads
JOIN works
    ON works.side = leads.side AND works.baseline = leads.baseline
    AND works.parent = leads.parent AND works.term = leads.term
-- Operators whose names contain a slash may share one term.
QUALIFY 1 = row_number() OVER (
    PARTITION BY leads.side, leads.baseline ORDER BY before_calls + after_calls DESC, operator
);
