-- One row per trace, operator and category where the rules for names and those for operators
-- contradict each other: kernels whose name gives another category than the operator that launched
-- them, unless that category is merely vaguer or belongs to a step of the operator. The operator
-- wins. Wrong rules for names show here, as do operators that do more than their rule says.
--
-- key: trace_id, op_name, category, name_category
--
-- trace_id       VARCHAR  trace
-- op_name        VARCHAR  operator that launched the kernels
-- category       VARCHAR  their category, by the operator
-- name_category  VARCHAR  category by their names
-- kernel_count   BIGINT   kernels
-- sum_us         DOUBLE   sum of their durations, us
-- device_pct     DOUBLE   percent of the time of all device operations of the trace, except those
--                         that enclose others
-- example        VARCHAR  name of the longest of them
CREATE VIEW category_conflicts AS
WITH totals AS (
    SELECT trace_id, sum(dur_ns) AS all_ns
    FROM kernels
    ANTI JOIN enclosing_kernels USING (trace_id, kernel_id)
    GROUP BY trace_id
)
SELECT
    k.trace_id, k.op_name, k.category, k.name_category, count(*) AS kernel_count,
    sum(k.dur_ns) / 1000 AS sum_us,
    100.0 * sum(k.dur_ns) / nullif(totals.all_ns, 0) AS device_pct,
    max_by(k.name, row(k.dur_ns, k.name)) AS example
FROM kernels AS k
JOIN totals USING (trace_id)
WHERE k.is_contradicted
GROUP BY k.trace_id, k.op_name, k.category, k.name_category, totals.all_ns;
