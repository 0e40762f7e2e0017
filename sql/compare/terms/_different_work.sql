-- One row per comparison whose sides do different work in a step, by the measures that
-- work_tolerances limits; the number of devices is a doubt of its own. Of a side with several
-- traces, the mean counts, if all have the measure.
--
-- side      VARCHAR  side
-- baseline  VARCHAR  side that it is compared with
-- message   VARCHAR  the measures that differ, before and after
CREATE VIEW _different_work AS
WITH sizes AS (
    SELECT side, count(*) AS traces FROM comparison_sides GROUP BY side
),
of_sides AS (
    SELECT sides.side, measure, avg(value) AS value
    FROM comparison_sides AS sides
    JOIN _work_values AS work ON work.trace_id = sides.trace_id
    JOIN sizes ON sizes.side = sides.side
    WHERE measure <> 'devices'
    GROUP BY sides.side, measure
    HAVING count(*) = any_value(sizes.traces)
)
SELECT
    pairs.side, pairs.baseline,
    concat('different work: ', string_agg(
        format('{}: {:.6g}, {:.6g}', b.measure, b.value, a.value), '; ' ORDER BY b.measure
    )) AS message
FROM _comparison_pairs AS pairs
JOIN of_sides AS b ON b.side = pairs.baseline
JOIN of_sides AS a ON a.side = pairs.side AND a.measure = b.measure
JOIN work_tolerances AS rules ON rules.measure = b.measure
WHERE 100 * abs(a.value - b.value) > tolerance_pct * greatest(b.value, a.value)
GROUP BY pairs.side, pairs.baseline;
