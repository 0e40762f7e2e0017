-- One row per region as the reference's profile summary lists them: every prefix of every path,
-- summed over devices, except those whose time is all in one inner region.
--
-- key: trace_id, place
--
-- trace_id      VARCHAR  trace
-- place         BIGINT   rank by time, from 1
-- path          VARCHAR  scopes, joined by =>
-- depth         BIGINT   scopes in the path
-- calls         BIGINT   operations
-- inclusive_us  DOUBLE   own time of these, µs
-- exclusive_us  DOUBLE   own time of those with exactly this path, µs
-- root_pct      DOUBLE   share of the path's first scope: 100 for each of these
CREATE VIEW compat_regions AS
WITH paths AS (
    SELECT
        trace_id, scopes, count(*) AS calls, sum(exclusive_ns) AS exclusive_ns
    FROM _compat_ops
    GROUP BY trace_id, scopes
),
prefixes AS (
    SELECT
        trace_id, scopes, calls, exclusive_ns, unnest(range(1, len(scopes) + 1)) AS depth
    FROM paths
),
regions_found AS (
    SELECT
        trace_id, depth, array_to_string(scopes[:depth], '=>') AS path,
        any_value(scopes[1]) AS root,
        any_value(array_to_string(scopes[:depth - 1], '=>')) AS parent,
        CAST(sum(calls) AS BIGINT) AS calls,
        sum(exclusive_ns) AS inclusive_ns,
        sum(exclusive_ns) FILTER (depth = len(scopes)) AS exclusive_ns
    FROM prefixes
    GROUP BY trace_id, depth, array_to_string(scopes[:depth], '=>')
),
inside AS (
    SELECT trace_id, parent AS path, count(*) AS children, max(inclusive_ns) AS largest_ns
    FROM regions_found
    WHERE depth > 1
    GROUP BY trace_id, parent
),
roots AS (
    SELECT trace_id, path AS root, inclusive_ns FROM regions_found WHERE depth = 1
)
SELECT
    r.trace_id,
    row_number() OVER (
        PARTITION BY r.trace_id
        ORDER BY r.inclusive_ns DESC, coalesce(r.exclusive_ns, 0) DESC, r.path
    ) AS place,
    r.path, r.depth, r.calls,
    r.inclusive_ns / 1000.0 AS inclusive_us,
    coalesce(r.exclusive_ns, 0) / 1000.0 AS exclusive_us,
    100.0 * r.inclusive_ns / nullif(roots.inclusive_ns, 0) AS root_pct
FROM regions_found AS r
LEFT JOIN inside ON inside.trace_id = r.trace_id AND inside.path = r.path
LEFT JOIN roots ON roots.trace_id = r.trace_id AND roots.root = r.root
WHERE
    r.depth = 1 OR NOT coalesce(inside.children = 1 AND inside.largest_ns = r.inclusive_ns, FALSE);
