-- One row per distinct framework path (tf_op): its scopes as the reference reads them.
--
-- Brackets are matched greedily, forward and backward become one scope, and scopes of the user that
-- merely contain a word of the runtime are lost.
--
-- tf_op   VARCHAR  path as the trace has it
-- scopes  VARCHAR[]  scopes, the outermost first
CREATE VIEW _reference_paths AS
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
    WHERE NOT _reference_drops(scope)
)
SELECT tf_op, list(scope ORDER BY place) AS scopes
FROM pieces
JOIN kept USING (piece)
GROUP BY tf_op;
