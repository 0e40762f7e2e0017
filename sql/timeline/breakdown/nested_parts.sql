-- One row per part of a trace's time in all levels: module in module, their operators, the kernels
-- of these. Parts of a level are disjoint; those inside a part sum to its time exactly. In a trace
-- without modules the first level is the category of the kernels.
--
-- A number that counts (layers.3, Linear_3) is # in the name of a module, so that the layers of a
-- model are one part; one within a name (fc1, conv2d) stays. Modules below the sixth level are
-- counted in it. A level without a name is left out.
--
-- key: trace_id, path
--
-- trace_id  VARCHAR    trace
-- path      VARCHAR[]  names from the first level down
-- depth     BIGINT     level, from 1
-- kind      VARCHAR    module, category, operator or kernel
-- calls     BIGINT     operations of devices in the part
-- self_us   DOUBLE     own time of these on all devices, µs
-- self_pct  DOUBLE     share of the own times of all operations of the trace, %
CREATE VIEW nested_parts AS
WITH gathered AS (
    SELECT
        ops.trace_id, ops.path, ops.category,
        coalesce(kernels.op_name, captured.op_name) AS operator,
        CASE
            WHEN ops.hlo_category IS NOT NULL
                THEN if(ops.dedup_name = ops.name, ops.canonical_name, ops.dedup_name)
            ELSE coalesce(kernels.display_name, ops.canonical_name)
        END AS kernel,
        count(*) AS calls, sum(ops.self_ns) AS self_ns
    FROM _device_ops AS ops
    LEFT JOIN kernels
        ON kernels.trace_id = ops.trace_id AND kernels.kernel_id = ops.kernel_id
    LEFT JOIN captured_kernels AS captured
        ON captured.trace_id = ops.trace_id AND captured.kernel_id = ops.kernel_id
    WHERE ops.role = 'op'
    GROUP BY ALL
),
named AS (
    SELECT
        trace_id, category, operator, kernel, calls, self_ns,
        string_split(_numbers_folded(path), '=>')[:6] AS modules,
        count(path) OVER (PARTITION BY trace_id) = 0 AS is_flat
    FROM gathered
),
leaves AS (
    SELECT
        trace_id, calls, self_ns,
        list_concat(first_names, if(operator IS NULL, [], [operator]), [kernel]) AS names,
        list_concat(
            list_transform(first_names, lambda name: if(is_flat, 'category', 'module')),
            if(operator IS NULL, [], ['operator']), ['kernel']
        ) AS kinds
    FROM (
        SELECT
            trace_id, calls, self_ns, operator, kernel, is_flat,
            if(is_flat, [category], coalesce(modules, ['(unattributed)'])) AS first_names
        FROM named
    )
),
summed AS (
    SELECT
        trace_id, names, any_value(kinds) AS kinds, sum(calls) AS calls, sum(self_ns) AS self_ns
    FROM leaves
    GROUP BY trace_id, names
),
nested AS (
    SELECT trace_id, names[:depth] AS path, depth, kinds[depth] AS kind, calls, self_ns
    FROM (
        SELECT trace_id, names, kinds, unnest(range(1, len(names) + 1)) AS depth, calls, self_ns
        FROM summed
    )
)
SELECT
    nested.trace_id, path, depth, arg_max(kind, (self_ns, kind)) AS kind,
    CAST(sum(calls) AS BIGINT) AS calls, sum(self_ns) / 1000.0 AS self_us,
    100.0 * sum(self_ns) / nullif(any_value(whole_ns), 0) AS self_pct
FROM nested
JOIN (SELECT trace_id, sum(self_ns) AS whole_ns FROM named GROUP BY trace_id) AS wholes
    ON wholes.trace_id = nested.trace_id
GROUP BY nested.trace_id, path, depth;
