-- One row per family of operations in the lists of hottest operations of two traces, as the
-- reference's profile summary compares them: over the truncated lists, families missing from a list
-- counting as 0. Provided for comparison with family_changes, which is the relation to use.
--
-- `FROM compat_family_changes(before, after, limit)` with the ids of two traces; its lists have
-- 25 rows.
--
-- family            VARCHAR  family
-- before_us         DOUBLE   own time in the first trace, µs
-- after_us          DOUBLE   own time in the second trace, µs
-- change_us         DOUBLE   after minus before, µs
-- change_pct        DOUBLE   the same over before, %; NULL if that is not above 0
-- before_proxy      DOUBLE   its proxy for the work, in the first trace
-- after_proxy       DOUBLE   in the second trace
-- time_ratio        DOUBLE   time after by time before
-- work_ratio        DOUBLE   the same for its proxy for the work
-- efficiency_ratio  DOUBLE   time_ratio over work_ratio
CREATE MACRO compat_family_changes(of_before, of_after, of_limit) AS TABLE
WITH sides AS (
    SELECT
        family, exclusive_us AS before_us, NULL AS after_us, proxy_total AS before_proxy,
        NULL AS after_proxy
    FROM compat_families(of_before, of_limit, 0)
    UNION ALL
    SELECT family, NULL, exclusive_us, NULL, proxy_total
    FROM compat_families(of_after, of_limit, 0)
),
sums AS (
    SELECT
        family, coalesce(sum(before_us), 0) AS before_us, coalesce(sum(after_us), 0) AS after_us,
        sum(before_proxy) AS before_proxy, sum(after_proxy) AS after_proxy
    FROM sides
    GROUP BY family
)
SELECT
    family, before_us, after_us, after_us - before_us AS change_us,
    CASE WHEN before_us > 0 THEN 100 * (after_us - before_us) / before_us END AS change_pct,
    before_proxy, after_proxy,
    CASE WHEN before_us > 0 THEN after_us / before_us END AS time_ratio,
    CASE WHEN before_proxy > 0 THEN after_proxy / before_proxy END AS work_ratio,
    CASE
        WHEN before_us > 0 AND before_proxy > 0
            THEN after_us / before_us / nullif(after_proxy / before_proxy, 0)
    END AS efficiency_ratio
FROM sums
ORDER BY abs(change_us) DESC, family;
