-- One row per trace and kind of collective as the reference's profile summary counts them: halves
-- count twice, devices are summed, and what computation hides counts in full. Provided for
-- comparison with collective_kinds, which is the relation to use.
--
-- key: trace_id, place
--
-- trace_id  VARCHAR  trace
-- place     BIGINT   place in its table, from 1
-- kind      VARCHAR  kind of collective, by compat_collective_rules
-- calls     BIGINT   operations
-- total_us  DOUBLE   sum of their own times, µs
-- mean_us   DOUBLE   mean of the same, µs
CREATE VIEW compat_collectives AS
WITH operations AS (
    SELECT trace_id, name, count(*) AS calls, sum(exclusive_ns) AS total_ns
    FROM _compat_ops
    WHERE category = 'communication'
    GROUP BY trace_id, name
),
kinds AS (
    SELECT names.name, arg_min(rules.kind, rules.priority) AS kind
    FROM (SELECT DISTINCT name FROM operations) AS names
    JOIN compat_collective_rules AS rules
        ON regexp_matches(lower(names.name), rules.pattern)
    GROUP BY names.name
)
SELECT
    operations.trace_id,
    row_number() OVER (
        PARTITION BY operations.trace_id ORDER BY sum(total_ns) DESC, kinds.kind
    ) AS place,
    kinds.kind, CAST(sum(calls) AS BIGINT) AS calls, sum(total_ns) / 1000.0 AS total_us,
    sum(total_ns) / 1000.0 / sum(calls) AS mean_us
FROM operations
JOIN kinds USING (name)
GROUP BY operations.trace_id, kinds.kind;
