-- One row per comparison and matching level: how much of each side's time it matches. Idle time is
-- left out; the rows of a comparison sum to 100 %.
--
-- key: side, baseline, matched_by
--
-- side        VARCHAR  side
-- baseline    VARCHAR  side that it is compared with
-- matched_by  VARCHAR  what both sides have in common, see comparison_levels; nothing if only one
--                      side has the work
-- kinds       BIGINT   groups of work
-- before_ns   BIGINT   time in a step of the baseline, ns
-- after_ns    BIGINT   time in a step of the side, ns
-- before_pct  DOUBLE   share of the time of the baseline's work, %
-- after_pct   DOUBLE   share of the time of the side's work, %
CREATE VIEW comparison_matches AS
SELECT
    side, baseline, matched_by, count(*) AS kinds, CAST(sum(before_ns) AS BIGINT) AS before_ns,
    CAST(sum(after_ns) AS BIGINT) AS after_ns,
    100.0 * sum(before_ns) / nullif(sum(sum(before_ns)) OVER one, 0) AS before_pct,
    100.0 * sum(after_ns) / nullif(sum(sum(after_ns)) OVER one, 0) AS after_pct
FROM comparison_ops
WHERE part <> 'idle'
GROUP BY side, baseline, matched_by
WINDOW one AS (PARTITION BY side, baseline);
