-- One row per device, region and phase: a region is a scope of the user's program with all scopes
-- around it, like model=>layer_0=>attn.
--
-- Scopes come from the paths that JAX gives its operations; for other traces from module calls and
-- user annotations around the launch, or from a graph's capture. Operations without a scope are in
-- the region (unattributed). An operation belongs to the region that launched it, whenever it runs:
-- the region's time on the device and that of its calls on the host are separate measures. The rows
-- of depth 1 sum to the own times of all operations of the device, the denominator of busy_pct.
--
-- key: trace_id, device, path, phase?
--
-- trace_id        VARCHAR  trace
-- rank            INTEGER  rank in the job, NULL if unknown
-- device          INTEGER  device
-- path            VARCHAR  scopes, joined by =>, the outermost first
-- display_path    VARCHAR  the same for display, with more transformations removed
-- phase           VARCHAR  forward, backward or recompute; NULL if not known
-- depth           BIGINT   scopes in the path
-- root            VARCHAR  the first scope
-- parent          VARCHAR  path without the last scope, NULL at depth 1
-- layer_key       VARCHAR  path with # for each number that counts (layers.3, Linear_3), not for
--                          one within a name (fc1, conv2d): one for all layers of a model
-- calls           BIGINT   operations in the region and in regions inside it
-- inclusive_us    DOUBLE   own time of these, µs
-- exclusive_us    DOUBLE   own time of operations of the region itself, µs
-- start_ns        BIGINT   start of the first of these operations, ns
-- end_ns          BIGINT   end of the last of them, ns
-- span_us         DOUBLE   from that start to that end, µs
-- busy_us         DOUBLE   union of these operations, except those that only wait, µs; of one that
--                          encloses others, such as a loop, its own time
-- host_us         DOUBLE   union of the calls of its scopes on the host, which launched these
--                          operations: in phase backward the runs of the functions whose
--                          gradients are the region's, else the calls of the module or annotation,
--                          the same for forward and NULL; NULL if the host shows none, µs
-- root_pct        DOUBLE   share of all phases of its root
-- busy_pct        DOUBLE   share of the own times of all operations of the device
-- window_pct      DOUBLE   share of the device's window; where several streams run at once, their
--                          time is split in proportion
-- is_unary_chain  BOOLEAN  one region inside takes all of its time, so it adds no information
CREATE VIEW regions AS
WITH summed AS (
    SELECT
        trace_id, rank, device, path, display_path, phase, depth, calls, self_ns, own_ns, start_ns,
        end_ns, busy_ns, host_ns, string_split(path, '=>')[1] AS root,
        if(depth > 1, array_to_string(string_split(path, '=>')[:depth - 1], '=>'), NULL) AS parent
    FROM _region_sums
),
inside AS (
    SELECT
        trace_id, device, phase, parent AS path, count(*) AS children,
        max(self_ns) AS largest_ns
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
    _numbers_folded(s.path) AS layer_key,
    s.calls,
    s.self_ns / 1000.0 AS inclusive_us,
    s.own_ns / 1000.0 AS exclusive_us,
    s.start_ns, s.end_ns, (s.end_ns - s.start_ns) / 1000.0 AS span_us,
    s.busy_ns / 1000.0 AS busy_us, s.host_ns / 1000.0 AS host_us,
    100.0 * s.self_ns / nullif(sum(s.self_ns) FILTER (s.depth = 1) OVER (
        PARTITION BY s.trace_id, s.device, s.root
    ), 0) AS root_pct,
    100.0 * s.self_ns / nullif(sum(s.self_ns) FILTER (s.depth = 1) OVER (
        PARTITION BY s.trace_id, s.device
    ), 0) AS busy_pct,
    100.0 * windows.busy_share * s.self_ns
        / nullif(sum(s.self_ns) FILTER (s.depth = 1) OVER (
            PARTITION BY s.trace_id, s.device
        ), 0) AS window_pct,
    coalesce(inside.children = 1 AND inside.largest_ns = s.self_ns, FALSE) AS is_unary_chain
FROM summed AS s
LEFT JOIN inside
    ON inside.trace_id = s.trace_id AND inside.path = s.path
    AND inside.device = s.device
    AND inside.phase IS NOT DISTINCT FROM s.phase
LEFT JOIN windows
    ON windows.trace_id = s.trace_id AND windows.device = s.device;
