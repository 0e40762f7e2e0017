-- One row per family as the reference's profile summary sums it: over its list of top operations
-- only, so that the sums change with the length of the list.
--
-- `FROM compat_families(trace_id, length of the list, total of the breakdown in µs)`
--
-- trace_id         VARCHAR  trace
-- place            BIGINT   rank by own time, from 1
-- family           VARCHAR  family
-- calls            BIGINT   calls
-- total_us         DOUBLE   sum of durations, µs
-- exclusive_us     DOUBLE   sum of own times, µs
-- share            DOUBLE   share of the larger of the breakdown's total and the list's own time, 0
--                           to 1
-- mean_us          DOUBLE   total_us per call, µs
-- mean_own_us      DOUBLE   exclusive_us per call, µs
-- example          VARCHAR  the hottest operation
-- shape            VARCHAR  most frequent shapes
-- proxy_total      DOUBLE   its proxy for floating-point operations
-- us_per_proxy     DOUBLE   own time over proxy_total, µs
CREATE MACRO compat_families(of_trace, op_limit, breakdown_us) AS TABLE
WITH listed AS (
    SELECT
        trace_id, place, name, family, calls, compat_ops.total_us, exclusive_us, shape, proxy
    FROM compat_ops
    WHERE trace_id = of_trace AND place <= op_limit
),
shapes AS (
    SELECT family, arg_max(shape, (calls, -place)) AS shape
    FROM (
        SELECT family, shape, sum(calls) AS calls, min(place) AS place
        FROM listed
        WHERE shape IS NOT NULL
        GROUP BY family, shape
    )
    GROUP BY family
),
sums AS (
    SELECT
        trace_id, family, CAST(sum(calls) AS BIGINT) AS calls,
        sum(listed.total_us) AS total, sum(exclusive_us) AS exclusive_us,
        arg_min(name, place) AS example, sum(proxy * calls) AS proxy_total
    FROM listed
    GROUP BY trace_id, family
)
SELECT
    trace_id,
    row_number() OVER (ORDER BY exclusive_us DESC, family) AS place,
    family, calls, total AS total_us, exclusive_us,
    exclusive_us / nullif(greatest(
        coalesce(CAST(breakdown_us AS DOUBLE), 0), sum(exclusive_us) OVER ()
    ), 0) AS share,
    total / calls AS mean_us, exclusive_us / calls AS mean_own_us, example, shape, proxy_total,
    exclusive_us / proxy_total AS us_per_proxy
FROM sums
LEFT JOIN shapes USING (family);
