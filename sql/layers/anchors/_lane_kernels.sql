-- One row per kernel of the stream that carries a device's anchors, counted along the stream.
-- Copies and fills of memory are left out: they belong to no layer yet.
-- trace_id          VARCHAR    trace
-- series            VARCHAR    the model, empty if the trace has only one
-- device            INTEGER    device
-- stream            BIGINT     stream of the anchors
-- kernel_id         BIGINT     the kernel
-- start_ns          BIGINT     its start
-- end_ns            BIGINT     its end
-- dur_ns            BIGINT     its duration
-- name_id           BIGINT     number of its name, in the order of the trace's names
-- family            BIGINT     number of its family: names that differ only in flags share one;
--                              all norms share 0, since the first norm of a pass is often another
--                              kernel
-- category          VARCHAR    its category
-- natural_role      VARCHAR    begin for norms, inside for attention, end for collectives
-- kind              VARCHAR    compute or communication
-- by_backward       BOOLEAN    a backward function of PyTorch launched it
-- call_ns           BIGINT     start of the call of a model around its launch
-- turn_ns           BIGINT     start of the model's turn, NULL unless several models take turns
-- seq               BIGINT     position on the stream, from 0
-- is_anchor         BOOLEAN    it is an anchor
-- anchors_before    BIGINT     anchors that precede it
-- anchor_count      BIGINT     anchors on the stream
-- role              VARCHAR    role of the anchors
-- blocks_per_layer  INTEGER    anchors per layer
-- half_labels       VARCHAR[]  label of each block of a layer
-- num_layers        INTEGER    layers of a pass
-- extra             INTEGER    anchors of a pass outside its layers
-- is_late           BOOLEAN    the pattern misses the first anchor of each pass
-- stride            BIGINT     anchors per pass
-- missed            BIGINT     anchors of the first pass before the capture
-- remainder         BIGINT     anchors left over by whole passes
-- pass_source       VARCHAR    how the pass boundaries were found
CREATE VIEW _lane_kernels AS
WITH names AS (
    -- Numbers, because names of hundreds of characters take most of the time of a window.
    SELECT
        trace_id, name, row_number() OVER (PARTITION BY trace_id ORDER BY name) AS name_id,
        dense_rank() OVER (
            PARTITION BY trace_id ORDER BY regexp_replace(name, 'Lb[01]E|true|false', '', 'g')
        ) AS family
    FROM (SELECT DISTINCT trace_id, name FROM _seated_kernels)
),
marked AS (
    SELECT
        k.trace_id, k.series, k.device, k.stream, k.kernel_id, k.start_ns, k.end_ns, k.dur_ns,
        n.name_id, CASE WHEN r.role = 'begin' THEN 0 ELSE n.family END AS family,
        k.category, r.role AS natural_role, k.kind, b.kernel_id IS NOT NULL AS by_backward,
        k.call_ns, k.turn_ns,
        list_contains(p.anchor_names, k.name) AS is_anchor, p.anchor_count, p.role,
        p.blocks_per_layer, p.half_labels, p.num_layers, p.extra,
        p.is_late, p.stride, p.missed, p.remainder, p.pass_source
    FROM _seated_kernels AS k
    JOIN _anchor_plans AS p
        ON p.trace_id = k.trace_id
        AND p.series = k.series
        AND p.device = k.device
        AND p.stream IS NOT DISTINCT FROM k.stream
    JOIN names AS n ON n.trace_id = k.trace_id AND n.name = k.name
    LEFT JOIN anchor_roles AS r ON r.category = k.category
    LEFT JOIN _backward_launches AS b ON b.trace_id = k.trace_id AND b.kernel_id = k.kernel_id
    WHERE k.kind <> 'memory' AND p.stride IS NOT NULL
)
SELECT
    trace_id, series, device, stream, kernel_id, start_ns, end_ns, dur_ns, name_id, family,
    category, natural_role, kind, by_backward, call_ns, turn_ns,
    row_number() OVER lane - 1 AS seq, is_anchor,
    count(CASE WHEN is_anchor THEN 1 END) OVER (lane ROWS UNBOUNDED PRECEDING)
        - CAST(is_anchor AS BIGINT) AS anchors_before,
    anchor_count, role, blocks_per_layer, half_labels, num_layers, extra,
    is_late, stride, missed, remainder, pass_source
FROM marked
WINDOW lane AS (PARTITION BY trace_id, series, device ORDER BY start_ns, kernel_id);
