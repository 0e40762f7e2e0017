-- One row per comparison: a side and the side that it is compared with, the baseline.
--
-- side      VARCHAR  side
-- baseline  VARCHAR  baseline
CREATE VIEW _comparison_pairs AS
WITH given AS (
    SELECT side, min(place) AS place FROM given_sides GROUP BY side
)
SELECT given.side, first_one.side AS baseline
FROM given
CROSS JOIN (SELECT min(side) AS side FROM given WHERE place = 0) AS first_one
WHERE given.side <> first_one.side
UNION ALL
SELECT own.side, any_value(other.side)
FROM tags
JOIN _default_sides AS own USING (trace_id)
JOIN _default_sides AS other ON tags.value IN (other.run, other.trace, other.trace_id)
WHERE tags.key = 'baseline' AND own.side <> other.side AND (SELECT count(*) FROM given) = 0
GROUP BY own.side
-- A baseline that matches several sides is ignored.
HAVING count(DISTINCT other.side) = 1;
