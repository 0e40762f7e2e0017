-- The reference's proxy for the floating-point operations of one call: a number of elements, or for
-- two families a product of the largest dimensions of its shapes.
CREATE MACRO _compat_proxy(family, signature) AS
(
    WITH shapes AS (
        SELECT
            list_transform(string_split(shape, ','), LAMBDA size: TRY_CAST(size AS HUGEINT)) AS dims
        FROM (SELECT unnest(string_split(signature, '|')) AS shape)
    ),
    sizes AS (
        SELECT
            max(dims[1]) FILTER (len(dims) >= 4 AND dims[1] > 0) AS batch,
            max(dims[2]) FILTER (len(dims) >= 4 AND dims[2] > 0) AS heads,
            max(dims[3]) FILTER (len(dims) >= 4 AND dims[3] > 0) AS tokens,
            max(dims[4]) FILTER (len(dims) >= 4 AND dims[4] > 0) AS widest,
            min(dims[4]) FILTER (len(dims) >= 4 AND dims[4] > 0) AS narrowest,
            max(dims[1]) FILTER (len(dims) >= 2 AND dims[1] > 0) AS total_rows,
            max(dims[2]) FILTER (len(dims) >= 2 AND dims[2] > 0) AS total_columns,
            max(
                CASE
                    WHEN list_min(dims) <= 0 THEN 0
                    ELSE list_reduce(dims, LAMBDA product, size: product * size)
                END
            ) AS elements
        FROM shapes
    )
    SELECT
        CAST(nullif(coalesce(
            CASE
                WHEN starts_with(family, 'attention')
                    THEN 2 * batch * heads * tokens * tokens * (widest + narrowest)
                WHEN family = 'loss_xent' THEN 2 * total_rows * total_columns
            END,
            elements
        ), 0) AS DOUBLE)
    FROM sizes
);

-- One row per operation as the reference's profile summary counts them: by the bare name, summed
-- over devices, lines and programs.
--
-- key: trace_id, place
--
-- trace_id        VARCHAR  trace
-- place           BIGINT   rank by own time, from 1; it shows 25
-- name            VARCHAR  name
-- canonical_name  VARCHAR  name without its leading % and its trailing number
-- category        VARCHAR  compute, communication or stall
-- family          VARCHAR  family by the name
-- calls           BIGINT   calls
-- total_us        DOUBLE   sum of durations, µs
-- exclusive_us    DOUBLE   sum of own times, µs
-- mean_us         DOUBLE   total_us per call, µs
-- shape           VARCHAR  most frequent shapes
-- source          VARCHAR  most frequent source line
-- tf_op           VARCHAR  most frequent framework path
-- proxy           DOUBLE   mean of its proxy for floating-point operations of a call
CREATE VIEW compat_ops AS
WITH variants AS (
    SELECT
        trace_id, name, shape, source, tf_op, any_value(canonical_name) AS canonical_name,
        any_value(category) AS category, any_value(family) AS family, count(*) AS calls,
        min(event_id) AS first_id, sum(dur_ns) AS total_ns, sum(exclusive_ns) AS exclusive_ns
    FROM _compat_ops
    GROUP BY trace_id, name, shape, source, tf_op
),
shapes AS (
    SELECT
        trace_id, name, shape, sum(calls) AS calls, min(first_id) AS first_id,
        _compat_proxy(any_value(family), shape) AS proxy
    FROM variants
    WHERE shape IS NOT NULL
    GROUP BY trace_id, name, shape
),
shaped AS (
    SELECT
        trace_id, name, arg_max(shape, (calls, -first_id)) AS shape,
        sum(proxy * calls) / sum(calls) FILTER (proxy IS NOT NULL) AS proxy
    FROM shapes
    GROUP BY trace_id, name
),
sources AS (
    SELECT trace_id, name, arg_max(source, (calls, -first_id)) AS source
    FROM (
        SELECT trace_id, name, source, sum(calls) AS calls, min(first_id) AS first_id
        FROM variants
        WHERE source IS NOT NULL
        GROUP BY trace_id, name, source
    )
    GROUP BY trace_id, name
),
paths AS (
    SELECT trace_id, name, arg_max(tf_op, (calls, -first_id)) AS tf_op
    FROM (
        SELECT trace_id, name, tf_op, sum(calls) AS calls, min(first_id) AS first_id
        FROM variants
        WHERE tf_op IS NOT NULL
        GROUP BY trace_id, name, tf_op
    )
    GROUP BY trace_id, name
),
named AS (
    SELECT
        trace_id, name, any_value(canonical_name) AS canonical_name,
        any_value(category) AS category, any_value(family) AS family,
        CAST(sum(calls) AS BIGINT) AS calls, sum(total_ns) / 1000.0 AS total_us,
        sum(exclusive_ns) / 1000.0 AS exclusive_us
    FROM variants
    GROUP BY trace_id, name
)
SELECT
    named.trace_id,
    row_number() OVER (
        PARTITION BY named.trace_id ORDER BY exclusive_us DESC, total_us DESC, named.name
    ) AS place,
    named.name, canonical_name, category, family, calls, total_us, exclusive_us,
    total_us / calls AS mean_us, shape, source, tf_op, proxy
FROM named
LEFT JOIN shaped ON shaped.trace_id = named.trace_id AND shaped.name = named.name
LEFT JOIN sources ON sources.trace_id = named.trace_id AND sources.name = named.name
LEFT JOIN paths ON paths.trace_id = named.trace_id AND paths.name = named.name;
