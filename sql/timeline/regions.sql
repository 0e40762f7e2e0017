-- One row per device, region and phase: a region is a scope of the user's program with all scopes
-- around it, like model=>layer_0=>attn.
--
-- Scopes come from the paths that JAX gives its operations; for others from calls of modules and
-- annotations of the user around the launch, or from a graph's capture. What has no scope is in the
-- region (unattributed). The rows of depth 1 sum to the own times of all operations of the device:
-- that is the whole of busy_pct.
--
-- trace_id        VARCHAR  trace
-- rank            INTEGER  rank in the job, NULL when unknown
-- device          INTEGER  device
-- path            VARCHAR  scopes, => between, the outermost first
-- display_path    VARCHAR  the same for people, with more transformations taken off
-- phase           VARCHAR  forward, backward or recompute; NULL where not told
-- depth           BIGINT   scopes in the path
-- root            VARCHAR  the first scope
-- parent          VARCHAR  path without the last scope, NULL at depth 1
-- layer_key       VARCHAR  path with every number replaced by #: one for all layers of a model
-- calls           BIGINT   operations in the region and in regions inside it
-- inclusive_us    DOUBLE   own time of these, µs
-- exclusive_us    DOUBLE   own time of operations of the region itself, µs
-- root_pct        DOUBLE   share of all phases of its root
-- busy_pct        DOUBLE   share of the own times of all operations of the device
-- window_pct      DOUBLE   share of the device's window; where several streams run at once, their
--                          time is split in proportion
-- is_unary_chain  BOOLEAN  one region inside takes all of its time: it is of no interest alone
CREATE VIEW regions AS
WITH parts AS (
    SELECT
        trace_id, rank, device, phase, calls, self_ns, string_split(path, '=>') AS scopes,
        string_split(display, '=>') AS shown
    FROM _path_totals
),
prefixes AS (
    SELECT
        trace_id, rank, device, phase, calls, self_ns, scopes, shown,
        unnest(range(1, len(scopes) + 1)) AS depth
    FROM parts
),
summed AS (
    SELECT
        trace_id, rank, device, phase, depth,
        array_to_string(scopes[:depth], '=>') AS path,
        any_value(array_to_string(
            CASE WHEN len(shown) = len(scopes) THEN shown[:depth] ELSE scopes[:depth] END, '=>'
        )) AS display_path,
        any_value(scopes[1]) AS root,
        any_value(CASE WHEN depth > 1 THEN array_to_string(scopes[:depth - 1], '=>') END)
            AS parent,
        CAST(sum(calls) AS BIGINT) AS calls,
        CAST(sum(self_ns) AS BIGINT) AS inclusive_ns,
        CAST(sum(self_ns) FILTER (depth = len(scopes)) AS BIGINT) AS exclusive_ns
    FROM prefixes
    GROUP BY
        trace_id, rank, device, phase, depth, array_to_string(scopes[:depth], '=>')
),
inside AS (
    SELECT
        trace_id, device, phase, parent AS path, count(*) AS children,
        max(inclusive_ns) AS largest_ns
    FROM summed
    WHERE parent IS NOT NULL
    GROUP BY trace_id, device, phase, parent
),
windows AS (
    SELECT
        trace_id, device, 1.0 - (idle_us - wait_us) / nullif(window_us, 0) AS busy_share
    FROM time_breakdown
)
SELECT
    s.trace_id, s.rank, s.device, s.path, s.display_path, s.phase, s.depth, s.root, s.parent,
    regexp_replace(s.path, '\d+', '#', 'g') AS layer_key,
    s.calls,
    s.inclusive_ns / 1000.0 AS inclusive_us,
    coalesce(s.exclusive_ns, 0) / 1000.0 AS exclusive_us,
    100.0 * s.inclusive_ns / nullif(sum(s.inclusive_ns) FILTER (s.depth = 1) OVER (
        PARTITION BY s.trace_id, s.rank, s.device, s.root
    ), 0) AS root_pct,
    100.0 * s.inclusive_ns / nullif(sum(s.inclusive_ns) FILTER (s.depth = 1) OVER (
        PARTITION BY s.trace_id, s.rank, s.device
    ), 0) AS busy_pct,
    100.0 * windows.busy_share * s.inclusive_ns
        / nullif(sum(s.inclusive_ns) FILTER (s.depth = 1) OVER (
            PARTITION BY s.trace_id, s.rank, s.device
        ), 0) AS window_pct,
    coalesce(inside.children = 1 AND inside.largest_ns = s.inclusive_ns, FALSE) AS is_unary_chain
FROM summed AS s
LEFT JOIN inside
    ON inside.trace_id = s.trace_id AND inside.path = s.path
    AND inside.device IS NOT DISTINCT FROM s.device
    AND inside.phase IS NOT DISTINCT FROM s.phase
LEFT JOIN windows
    ON windows.trace_id = s.trace_id AND windows.device IS NOT DISTINCT FROM s.device;
