-- Dimensions of the shapes in a text, as a list of texts, for types that the reference knows.
CREATE MACRO _compat_dims(shapes) AS
regexp_extract_all(shapes, '\b(?:bf16|f32|f16|s32|u32|s8|u8|pred)\[([^\]]+)\]', 1);

-- Shapes that the reference reads from an instruction: those of the result if it finds one, else
-- the first eight; it misses scalars, and types of 8 bytes and of fp8.
CREATE MACRO _compat_shape(instruction) AS
nullif(array_to_string(
    list_transform(
        list_filter(
            CASE
                WHEN regexp_matches(instruction, '=\s*\(.*?\)\s*[a-z][\w.-]*\(')
                    THEN _compat_dims(
                        regexp_extract(instruction, '=\s*\((.*?)\)\s*[a-z][\w.-]*\(', 1)
                    )
                WHEN regexp_matches(instruction, '=\s*\w+\[[^\]]*\]')
                    THEN _compat_dims(regexp_extract(instruction, '=\s*(\w+\[[^\]]*\])', 1))
                ELSE list_slice(_compat_dims(instruction), 1, 8)
            END,
            LAMBDA dims: trim(dims) <> ''
        ),
        LAMBDA dims: replace(dims, ' ', '')
    ), '|'
), '');

-- One row per distinct framework path (tf_op): its scopes as the reference reads them.
--
-- Brackets are matched greedily, forward and backward become one scope, and scopes of the user that
-- merely contain a word of the runtime are lost.
CREATE VIEW _compat_paths AS
WITH RECURSIVE texts AS (
    SELECT DISTINCT args ->> '$.tf_op' AS tf_op
    FROM events
    WHERE lane = 'device' AND contains(args, '"tf_op"')
),
pieces AS (
    SELECT tf_op, generate_subscripts(parts, 1) AS place, unnest(parts) AS piece
    FROM (SELECT tf_op, string_split(tf_op, '/') AS parts FROM texts WHERE tf_op <> '')
),
words AS (
    SELECT word FROM path_words WHERE role = 'unwrap'
),
unwrapped (piece, scope, round) AS (
    SELECT piece, trim(trim(piece), ':'), 0 FROM (SELECT DISTINCT piece FROM pieces)
    UNION ALL
    SELECT piece, regexp_extract(scope, '^\w+\((.*)\)$', 1), round + 1
    FROM unwrapped
    JOIN words ON words.word = regexp_extract(scope, '^(\w+)\(.*\)$', 1)
),
scopes AS (
    SELECT
        piece,
        regexp_replace(trim(arg_max(scope, round), ':'), '^dynamic_donated[^.]*\.', '') AS scope
    FROM unwrapped
    GROUP BY piece
),
kept AS (
    SELECT piece, scope
    FROM scopes
    ANTI JOIN words ON words.word = scopes.scope
    WHERE NOT _compat_drops(scope)
)
SELECT tf_op, list(scope ORDER BY place) AS scopes
FROM pieces
JOIN kept USING (piece)
GROUP BY tf_op;

-- One row per event that the reference takes for a device operation, including those in flight.
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
CREATE VIEW _compat_ops AS
WITH operations AS (
    SELECT
        o.trace_id, o.event_id, o.name, o.category, o.end_ns - o.start_ns AS dur_ns,
        o.exclusive_ns,
        nullif(e.args ->> '$.tf_op', '') AS tf_op,
        nullif(e.args ->> '$.long_name', '') AS instruction,
        nullif(e.args ->> '$.source', '') AS source
    FROM _compat_exclusive AS o
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
            LAMBDA piece: NOT _compat_drops(piece)
        ) AS parts
    FROM (
        SELECT name, regexp_replace(ltrim(trim(name), '%'), '\.\d+$', '') AS canonical_name
        FROM (SELECT DISTINCT name FROM operations)
    )
),
families AS (
    SELECT canonical_name, arg_min(family, place) AS family
    FROM (SELECT DISTINCT canonical_name FROM names)
    JOIN compat_family_rules ON regexp_matches(lower(canonical_name), pattern)
    GROUP BY canonical_name
)
SELECT
    o.trace_id, o.event_id, o.name, canonical_name, o.category,
    coalesce(families.family, 'other') AS family, o.dur_ns, o.exclusive_ns,
    CASE
        WHEN _compat_paths.scopes IS NOT NULL THEN _compat_paths.scopes
        WHEN regexp_matches(o.name, '=>|::') AND len(parts) > 0 THEN parts
        ELSE [canonical_name]
    END AS scopes,
    _compat_shape(o.instruction) AS shape, o.tf_op, o.source
FROM operations AS o
JOIN names USING (name)
LEFT JOIN families USING (canonical_name)
LEFT JOIN _compat_paths ON _compat_paths.tf_op = o.tf_op;
