-- One row per side that is to be compared with a baseline and cannot be, or not by what is compared
-- alone, and reason: another program got slower, or it takes a tenth of the steps' time and cannot
-- be compared.
--
-- side    VARCHAR  side; a run, or a trace without one, if no sides are given
-- reason  VARCHAR  why, in words that follow the side's name
CREATE VIEW _uncompared AS
WITH own_baselines AS (
    SELECT
        own.side, min(tags.value) FILTER (other.side IS NULL) AS missing,
        list(DISTINCT other.side ORDER BY other.side) FILTER (other.side <> own.side) AS others
    FROM tags
    JOIN _default_sides AS own USING (trace_id)
    LEFT JOIN _default_sides AS other ON tags.value IN (other.run, other.trace, other.trace_id)
    WHERE tags.key = 'baseline' AND (SELECT count(*) FROM given_sides) = 0
    GROUP BY own.side
)
SELECT
    side,
    CASE
        WHEN missing IS NOT NULL
            THEN format('has the baseline {}, which is no trace or run of the lake', missing)
        WHEN others IS NULL THEN 'is its own baseline'
        ELSE format('has several baselines: {}', array_to_string(others, ', '))
    END AS reason
FROM own_baselines
WHERE missing IS NOT NULL OR coalesce(len(others), 0) <> 1
UNION ALL
SELECT
    pairs.side,
    CASE
        WHEN own.side IS NULL THEN 'has no device operation that takes time'
        ELSE format('has the baseline {}, which has no device operation that takes time', baseline)
    END
FROM _comparison_pairs AS pairs
LEFT JOIN _side_sizes AS own ON own.side = pairs.side
LEFT JOIN _side_sizes AS other ON other.side = pairs.baseline
WHERE own.side IS NULL OR other.side IS NULL
UNION ALL
SELECT
    side,
    CASE
        WHEN doubt IS NULL THEN format(
            'is judged by other steps, and those of {} take {:.1f} % longer than in {}', program,
            change_pct, baseline
        )
        ELSE format(
            'is judged by other steps than those of {} ({:.1f} % of the steps'' time of {}, '
            '{:.1f} % of its own), which {}', program, before_pct, baseline, after_pct, doubt
        )
    END
FROM comparison_programs
WHERE verdict = 'slower' OR (doubt IS NOT NULL AND greatest(before_pct, after_pct) >= 10);
