-- One row per distinct framework path in the arguments of XLA's operations (tf_op): its scopes.
-- tf_op         VARCHAR  path as the trace has it
-- path          VARCHAR  scopes with => between, the outermost first; NULL where none is left
-- display_path  VARCHAR  the same with more transformations taken off
-- phase         VARCHAR  forward, backward or recompute, NULL where the path does not say
CREATE VIEW _op_paths AS
WITH RECURSIVE texts AS (
    SELECT DISTINCT tf_op FROM _xla_texts WHERE tf_op <> ''
),
pieces AS (
    SELECT tf_op, generate_subscripts(parts, 1) AS place, unnest(parts) AS piece
    FROM (SELECT tf_op, string_split(tf_op, '/') AS parts FROM texts)
),
unwrapped (piece, role, scope, round) AS (
    SELECT piece, role, trim(trim(trim(piece), ':')), 0
    FROM (SELECT DISTINCT piece FROM pieces)
    CROSS JOIN (VALUES ('unwrap'), ('show_inside')) AS roles (role)
    UNION ALL
    SELECT
        piece, unwrapped.role, regexp_extract(scope, '^\w+\((.*)\)$', 1), round + 1
    FROM unwrapped
    JOIN path_words AS wrapper
        ON wrapper.word = regexp_extract(scope, '^(\w+)\(.*\)$', 1)
        AND wrapper.role IN ('unwrap', unwrapped.role)
    -- The first bracket closes at the end: inside, none closes before it opens.
    WHERE NOT contains(
        regexp_replace(
            regexp_replace(
                regexp_replace(
                    regexp_replace(
                        regexp_extract(scope, '^\w+\((.*)\)$', 1), '\([^()]*\)', '', 'g'
                    ), '\([^()]*\)', '', 'g'
                ), '\([^()]*\)', '', 'g'
            ), '\([^()]*\)', '', 'g'
        ), ')'
    )
),
scopes AS (
    SELECT
        piece, role,
        regexp_replace(trim(arg_max(scope, round), ':'), '^dynamic_donated[^.]*\.', '') AS scope
    FROM unwrapped
    GROUP BY piece, role
),
named AS (
    SELECT piece, scopes.role, scope
    FROM scopes
    LEFT JOIN path_words
        ON path_words.word = trim(regexp_replace(lower(scope), '[^a-z0-9_]+', '_', 'g'), '_')
    WHERE scope <> '' AND NOT coalesce(path_words.role IN ('unwrap', 'drop'), FALSE)
),
joined AS (
    SELECT
        tf_op,
        string_agg(scope, '=>' ORDER BY place) FILTER (role = 'unwrap') AS path,
        string_agg(scope, '=>' ORDER BY place) FILTER (role = 'show_inside') AS display_path
    FROM pieces
    JOIN named USING (piece)
    GROUP BY tf_op
)
SELECT
    tf_op, path, display_path,
    CASE
        WHEN contains(tf_op, 'rematted_computation') THEN 'recompute'
        WHEN contains(tf_op, 'transpose(') THEN 'backward'
        WHEN contains(tf_op, 'jvp(') THEN 'forward'
    END AS phase
FROM texts
LEFT JOIN joined USING (tf_op);
