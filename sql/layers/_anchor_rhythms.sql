-- One row per trace, rank, device and anchor pattern that occurs there: how its anchors and the
-- attention kernels take turns. A layer has one attention, so anchors per block with attention are
-- anchors per layer, whatever the number of layers.
-- trace_id          VARCHAR  trace
-- series            VARCHAR  the model, empty where the trace has one alone
-- device            INTEGER  device
-- preference        INTEGER  the pattern, as in _anchor_candidates
-- attention_blocks  BIGINT   stretches between anchors that hold attention, NULL where none does
-- lead              BIGINT   anchors before the first attention
-- break_lead        BIGINT   anchors before the first attention after the first break
-- break_anchors     BIGINT   anchors from the last attention before that break to there
-- irregularity      DOUBLE   variation of the time from one anchor to the next, relative
CREATE VIEW _anchor_rhythms AS
WITH names AS (
    SELECT DISTINCT k.trace_id, k.name, r.role IS NOT DISTINCT FROM 'inside' AS is_attention
    FROM _seated_kernels AS k
    LEFT JOIN anchor_roles AS r ON r.category = k.category
    WHERE k.kind <> 'memory'
),
telling AS (
    SELECT
        c.trace_id, c.series, c.device, c.stream, c.preference, n.name,
        list_contains(c.anchor_names, n.name) AS is_anchor
    FROM _anchor_candidates AS c
    JOIN names AS n ON n.trace_id = c.trace_id
    WHERE n.is_attention OR list_contains(c.anchor_names, n.name)
),
beats AS (
    SELECT
        t.trace_id, t.series, t.device, t.preference, k.start_ns, k.kernel_id, t.is_anchor
    FROM telling AS t
    JOIN _seated_kernels AS k
        ON k.trace_id = t.trace_id
        AND k.series = t.series
        AND k.device IS NOT DISTINCT FROM t.device
        AND k.stream IS NOT DISTINCT FROM t.stream
        AND k.name = t.name
    WHERE k.kind <> 'memory'
),
turns AS (
    SELECT
        trace_id, series, device, preference, is_anchor, start_ns,
        lag(is_anchor, 1, TRUE) OVER in_time AS follows_anchor,
        count(CASE WHEN is_anchor THEN 1 END) OVER (in_time ROWS UNBOUNDED PRECEDING)
            AS anchors_so_far,
        start_ns - lag(start_ns) OVER (
            PARTITION BY trace_id, series, device, preference, is_anchor
            ORDER BY start_ns, kernel_id
        ) AS distance_ns
    FROM beats
    WINDOW in_time AS (
        PARTITION BY trace_id, series, device, preference ORDER BY start_ns, kernel_id
    )
)
SELECT
    t.trace_id, t.series, t.device, t.preference,
    nullif(count(*) FILTER (NOT t.is_anchor AND t.follows_anchor), 0) AS attention_blocks,
    min(t.anchors_so_far) FILTER (NOT t.is_anchor) AS lead,
    count(*) FILTER (t.is_anchor AND t.start_ns < p.break_ns) AS break_lead,
    count(*) FILTER (
        t.is_anchor AND t.start_ns >= p.last_ns AND t.start_ns < p.break_ns
    ) AS break_anchors,
    stddev_pop(t.distance_ns) FILTER (t.is_anchor)
        / nullif(avg(t.distance_ns) FILTER (t.is_anchor), 0) AS irregularity
FROM turns AS t
LEFT JOIN _pass_rhythms AS p
    ON p.trace_id = t.trace_id
    AND p.series = t.series
    AND p.device IS NOT DISTINCT FROM t.device
GROUP BY t.trace_id, t.series, t.device, t.preference;
