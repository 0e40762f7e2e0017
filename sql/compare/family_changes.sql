-- One row per family of operations of two traces beside each other, for one device and one steady
-- step, or for one device and the whole trace if they have no steps; all operations, without a
-- cutoff.
--
-- `FROM family_changes(before, after)` with the ids of two traces.
--
-- family            VARCHAR  family by family_rules, else the kernel category
-- before_us         DOUBLE   own time in the first trace, µs
-- after_us          DOUBLE   own time in the second trace, µs
-- change_us         DOUBLE   after minus before; a family missing from a trace counts as 0, µs
-- change_pct        DOUBLE   the same over before, %; NULL if the first trace lacks it
-- time_ratio        DOUBLE   after over before, NULL in the same cases
-- before_flop       DOUBLE   floating-point operations in the first trace, of the calls where they
--                            are known
-- after_flop        DOUBLE   in the second trace
-- work_ratio        DOUBLE   after_flop over before_flop; NULL unless they are known for 99.9 % of
--                            the calls of both traces: a sum over fewer shows what was recorded
-- efficiency_ratio  DOUBLE   time_ratio over work_ratio: above 1 the same work takes longer; NULL
--                            like work_ratio
CREATE MACRO family_changes(of_before, of_after) AS TABLE
WITH sums AS (
    SELECT
        family,
        sum(self_us) FILTER (trace_id = of_before) AS before_us,
        sum(self_us) FILTER (trace_id = of_after) AS after_us,
        sum(flop) FILTER (trace_id = of_before) AS before_flop,
        sum(flop) FILTER (trace_id = of_after) AS after_flop,
        sum(known_calls) FILTER (trace_id = of_before)
            >= 0.999 * sum(calls) FILTER (trace_id = of_before)
            AND sum(known_calls) FILTER (trace_id = of_after)
            >= 0.999 * sum(calls) FILTER (trace_id = of_after) AS is_known
    FROM step_ops
    WHERE trace_id IN (of_before, of_after)
    GROUP BY family
),
ratios AS (
    SELECT
        family, before_us, after_us, before_flop, after_flop,
        coalesce(after_us, 0) / nullif(before_us, 0) AS time_ratio,
        if(is_known, after_flop / nullif(before_flop, 0), NULL) AS work_ratio
    FROM sums
)
SELECT
    family, coalesce(before_us, 0) AS before_us, coalesce(after_us, 0) AS after_us,
    coalesce(after_us, 0) - coalesce(before_us, 0) AS change_us,
    100 * (coalesce(after_us, 0) - before_us) / nullif(before_us, 0) AS change_pct,
    time_ratio, before_flop, after_flop, work_ratio,
    time_ratio / nullif(work_ratio, 0) AS efficiency_ratio
FROM ratios
ORDER BY abs(change_us) DESC, family;
