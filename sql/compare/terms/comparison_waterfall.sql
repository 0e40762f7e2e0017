-- One row per bar of a comparison's waterfall, from the baseline's step to the side's: each begins
-- where the previous one ends. Between them are the twelve categories of work whose times differ
-- most, and the rest as one bar.
--
-- key: side, baseline, place
--
-- side      VARCHAR  side
-- baseline  VARCHAR  side that it is compared with
-- place     BIGINT   place of the bar, 0 for the baseline's step
-- bar       VARCHAR  before, term, rest or after
-- name      VARCHAR  the baseline; the term, as in comparison_terms; NULL for the rest; the side
-- terms     BIGINT   terms in the bar; NULL for a step
-- start_ns  BIGINT   where it begins, ns; 0 for a step
-- end_ns    BIGINT   where it ends, ns
-- change_ns BIGINT   end minus start, ns: for terms after minus before, for a step its time
-- verdict   VARCHAR  verdict on the term, as in comparison_terms; NULL for the baseline and the
--                    rest
CREATE VIEW comparison_waterfall AS
WITH steps AS (
    SELECT side, baseline, before_ns, after_ns, verdict FROM comparison_terms WHERE level = 'step'
),
ranked AS (
    SELECT
        side, baseline, term, change_ns, verdict,
        row_number() OVER (
            PARTITION BY side, baseline ORDER BY abs(change_ns) DESC, place
        ) AS place
    FROM comparison_terms
    WHERE level = 'category' AND change_ns <> 0
),
summed AS (
    SELECT
        side, baseline, least(place, 13) AS place, if(place <= 12, 'term', 'rest') AS bar,
        if(place <= 12, any_value(term), NULL) AS name, count(*) AS terms,
        CAST(sum(change_ns) AS BIGINT) AS change_ns,
        if(place <= 12, any_value(verdict), NULL) AS verdict
    FROM ranked
    GROUP BY side, baseline, least(place, 13), place <= 12
),
stacked AS (
    SELECT
        side, baseline, place, bar, name, terms, change_ns, summed.verdict,
        steps.before_ns + CAST(sum(change_ns) OVER (
            PARTITION BY side, baseline ORDER BY place
        ) AS BIGINT) AS end_ns
    FROM summed
    JOIN steps USING (side, baseline)
)
SELECT
    side, baseline, 0 AS place, 'before' AS bar, baseline AS name, CAST(NULL AS BIGINT) AS terms,
    CAST(0 AS BIGINT) AS start_ns, before_ns AS end_ns, before_ns AS change_ns,
    CAST(NULL AS VARCHAR) AS verdict
FROM steps
UNION ALL
SELECT
    side, baseline, place, bar, name, terms, end_ns - change_ns, end_ns, change_ns, verdict
FROM stacked
UNION ALL
SELECT side, baseline, 14, 'after', side, NULL, 0, after_ns, after_ns, verdict
FROM steps;
