-- One row per operation and region as the reference's profile summary assigns gaps to regions.
-- Provided for comparison with gap_regions, which is the relation to use.
--
-- An operation without scopes takes the most frequent ones of its name; operations named copy are
-- wrapped in copy( ).
--
-- key: trace_id, place
--
-- trace_id      VARCHAR  trace
-- place         BIGINT   place in its table, from 1; it shows 500 rows
-- payload_name  VARCHAR  operation that the gaps are attributed to
-- region        VARCHAR  up to four scopes, joined by =>
-- gaps          BIGINT   gaps
-- total_us      DOUBLE   their sum, µs
-- mean_us       DOUBLE   their mean, µs
CREATE VIEW compat_gap_regions AS
WITH scoped AS (
    SELECT
        _compat_ops.trace_id, _compat_ops.event_id, _compat_ops.name, canonical_name,
        array_to_string(scopes[:4], '=>') AS path,
        scopes = [canonical_name] AS is_bare,
        tf_op IS NOT NULL AND scopes <> [canonical_name] AS is_given
    FROM _compat_ops
    SEMI JOIN _compat_gaps
        ON _compat_gaps.trace_id = _compat_ops.trace_id
        AND _compat_gaps.payload_name = _compat_ops.name
),
preferred AS (
    SELECT trace_id, name, mode(path ORDER BY path) AS path
    FROM scoped
    WHERE is_given
    GROUP BY trace_id, name
),
placed AS (
    SELECT
        _compat_gaps.trace_id, payload_name, gap_ns, canonical_name,
        CASE WHEN is_bare THEN coalesce(preferred.path, scoped.path) ELSE scoped.path END AS path
    FROM _compat_gaps
    JOIN scoped
        ON scoped.trace_id = _compat_gaps.trace_id
        AND scoped.event_id = _compat_gaps.payload_id
    LEFT JOIN preferred
        ON preferred.trace_id = _compat_gaps.trace_id AND preferred.name = payload_name
),
labelled AS (
    SELECT
        trace_id, payload_name, gap_ns,
        CASE
            WHEN NOT starts_with(lower(canonical_name), 'copy') THEN path
            WHEN path IN ('', 'copy') THEN 'copy'
            WHEN starts_with(path, 'copy(') THEN path
            ELSE 'copy(' || path || ')'
        END AS region
    FROM placed
),
summed AS (
    SELECT
        trace_id, payload_name, region, count(*) AS gaps, sum(gap_ns) AS total_ns
    FROM labelled
    GROUP BY trace_id, payload_name, region
)
SELECT
    trace_id,
    row_number() OVER (
        PARTITION BY trace_id ORDER BY total_ns DESC, payload_name, region
    ) AS place,
    payload_name, region, gaps, total_ns / 1000.0 AS total_us, total_ns / 1000.0 / gaps AS mean_us
FROM summed
QUALIFY place <= 500;
