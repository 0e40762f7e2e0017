-- One row per trace, rank, device and anchor pattern that occurs beside attention kernels: how the
-- two take turns. A layer has one attention, so anchors per block with attention are anchors per
-- layer, whatever the number of layers.
-- trace_id          VARCHAR  trace
-- rank              INTEGER  rank in the job, NULL when unknown
-- device            INTEGER  device
-- preference        INTEGER  the pattern, as in _anchor_candidates
-- attention_blocks  BIGINT   stretches between anchors that hold attention
-- lead              BIGINT   anchors before the first attention
CREATE VIEW _anchor_rhythms AS
WITH beats AS (
    SELECT
        k.trace_id, k.rank, k.device, c.preference, k.start_ns, k.kernel_id,
        list_contains(c.anchor_names, k.name) AS is_anchor, r.role AS natural_role
    FROM kernels AS k
    JOIN _anchor_candidates AS c
        ON c.trace_id = k.trace_id
        AND c.rank IS NOT DISTINCT FROM k.rank
        AND c.device IS NOT DISTINCT FROM k.device
        AND c.stream IS NOT DISTINCT FROM k.stream
    LEFT JOIN anchor_roles AS r ON r.category = k.category
    WHERE k.kind <> 'memory'
),
turns AS (
    SELECT
        trace_id, rank, device, preference, is_anchor,
        lag(is_anchor, 1, TRUE) OVER in_time AS follows_anchor,
        count(*) FILTER (is_anchor) OVER (in_time ROWS UNBOUNDED PRECEDING) AS anchors_so_far
    FROM beats
    WHERE is_anchor OR natural_role = 'inside'
    WINDOW in_time AS (
        PARTITION BY trace_id, rank, device, preference ORDER BY start_ns, kernel_id
    )
)
SELECT
    trace_id, rank, device, preference,
    count(*) FILTER (follows_anchor) AS attention_blocks, min(anchors_so_far) AS lead
FROM turns
WHERE NOT is_anchor
GROUP BY trace_id, rank, device, preference;
