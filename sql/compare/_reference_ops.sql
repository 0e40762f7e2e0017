-- One row per event that the reference takes for a device operation, those in flight included.
-- trace_id        VARCHAR  trace
-- event_id        BIGINT   event
-- name            VARCHAR  name
-- canonical_name  VARCHAR  name without its leading % and its trailing number
-- category        VARCHAR  compute, communication or stall
-- family          VARCHAR  family by the name
-- dur_ns          BIGINT   duration, ns
-- exclusive_ns    BIGINT   its own time as the reference counts it, ns
-- scopes          VARCHAR[]  scopes, the outermost first
-- shape           VARCHAR  shapes that it reads from the instruction
-- tf_op           VARCHAR  framework path
-- source          VARCHAR  file and line
CREATE VIEW _reference_ops AS
WITH operations AS (
    SELECT
        o.trace_id, o.event_id, o.name, o.category, o.end_ns - o.start_ns AS dur_ns,
        o.exclusive_ns,
        nullif(e.args ->> '$.tf_op', '') AS tf_op,
        nullif(e.args ->> '$.long_name', '') AS instruction,
        nullif(e.args ->> '$.source', '') AS source
    FROM _reference_exclusive AS o
    JOIN events AS e ON e.trace_id = o.trace_id AND e.event_id = o.event_id
    WHERE
        starts_with(o.process, '/device:')
        AND (o.thread IN ('XLA Ops', 'Async XLA Ops') OR starts_with(o.thread, 'Stream #'))
),
names AS (
    SELECT
        name, canonical_name,
        list_filter(
            list_transform(
                string_split(name, CASE WHEN contains(name, '=>') THEN '=>' ELSE '::' END),
                LAMBDA piece: trim(piece)
            ),
            LAMBDA piece: NOT _reference_drops(piece)
        ) AS parts
    FROM (
        SELECT name, regexp_replace(ltrim(trim(name), '%'), '\.\d+$', '') AS canonical_name
        FROM (SELECT DISTINCT name FROM operations)
    )
),
families AS (
    SELECT canonical_name, arg_min(family, place) AS family
    FROM (SELECT DISTINCT canonical_name FROM names)
    JOIN reference_family_rules ON regexp_matches(lower(canonical_name), pattern)
    GROUP BY canonical_name
)
SELECT
    o.trace_id, o.event_id, o.name, canonical_name, o.category,
    coalesce(families.family, 'other') AS family, o.dur_ns, o.exclusive_ns,
    CASE
        WHEN _reference_paths.scopes IS NOT NULL THEN _reference_paths.scopes
        WHEN regexp_matches(o.name, '=>|::') AND len(parts) > 0 THEN parts
        ELSE [canonical_name]
    END AS scopes,
    _reference_shape(o.instruction) AS shape, o.tf_op, o.source
FROM operations AS o
JOIN names USING (name)
LEFT JOIN families USING (canonical_name)
LEFT JOIN _reference_paths ON _reference_paths.tf_op = o.tf_op;
