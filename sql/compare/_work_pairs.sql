-- One row per pair of traces and measure of the work in a step. All pairs of the lake's traces:
-- filter by id.
--
-- before_id  VARCHAR  first trace
-- after_id   VARCHAR  second trace
-- measure    VARCHAR  basis, or a measure of _work_values
-- before     VARCHAR  of the first trace, NULL if unknown
-- after      VARCHAR  of the second trace, NULL if unknown
-- ratio      DOUBLE   after over before, NULL if a side is unknown, and for a basis
-- verdict    VARCHAR  same, different, unknown (on either side), or info: may differ
CREATE VIEW _work_pairs AS
WITH pairs AS (
    SELECT b.trace_id AS before_id, a.trace_id AS after_id
    FROM traces AS b
    CROSS JOIN traces AS a
),
measures AS (
    SELECT DISTINCT measure FROM _work_values
    UNION
    SELECT measure FROM work_tolerances
),
paired AS (
    SELECT before_id, after_id, measures.measure, b.value AS before, a.value AS after
    FROM pairs
    CROSS JOIN measures
    LEFT JOIN _work_values AS b
        ON b.trace_id = before_id AND b.measure = measures.measure
    LEFT JOIN _work_values AS a
        ON a.trace_id = after_id AND a.measure = measures.measure
    WHERE b.value IS NOT NULL OR a.value IS NOT NULL
)
SELECT
    before_id, after_id, 'basis' AS measure, b.basis AS before, a.basis AS after,
    CAST(NULL AS DOUBLE) AS ratio,
    CASE WHEN b.basis = a.basis THEN 'same' ELSE 'different' END AS verdict
FROM pairs
LEFT JOIN comparison_bases AS b ON b.trace_id = before_id
LEFT JOIN comparison_bases AS a ON a.trace_id = after_id
UNION ALL
SELECT
    before_id, after_id, paired.measure, format('{:.6g}', before), format('{:.6g}', after),
    after / nullif(before, 0),
    CASE
        WHEN before IS NULL OR after IS NULL THEN 'unknown'
        WHEN abs(after - before) <= 0.01 * tolerance_pct * greatest(before, after) THEN 'same'
        WHEN tolerance_pct IS NULL THEN 'info'
        ELSE 'different'
    END
FROM paired
LEFT JOIN work_tolerances ON work_tolerances.measure = paired.measure;
