-- One row per device of a truncated file: its last kernel. Later operations of host calls that the
-- file has may be missing.
CREATE VIEW _cut_ends AS
SELECT k.trace_id, arg_max(k.kernel_id, (k.start_ns, k.kernel_id)) AS kernel_id
FROM kernels AS k
JOIN traces AS t ON t.trace_id = k.trace_id AND t.truncated
WHERE k.kind <> 'memory'
GROUP BY k.trace_id, k.device;

-- One row per kernel of the streams that carry a device's layers: the layer it belongs to, if any.
-- Copies and fills of memory are in _memory_places.
-- This is the interface: any other way of finding layers only has to provide these columns. If the
-- host shows which layer launched a kernel, that takes precedence: kernels of other streams are
-- then in their layer, and layers may overlap. Passes that the host does not show (launched before
-- the capture, or by a graph) come from the anchors, if these agree with what the host shows; so do
-- the halves of layers. Each model of a trace is judged separately. An anchor that the user named
-- excludes all other evidence.
--
-- stored: per trace
--
-- trace_id      VARCHAR  trace
-- rank          INTEGER  rank in the job, NULL if unknown
-- device        INTEGER  device
-- stream        BIGINT   stream of the kernel
-- kernel_id     BIGINT   the kernel
-- start_ns      BIGINT   its start
-- end_ns        BIGINT   its end
-- dur_ns        BIGINT   its duration
-- kind          VARCHAR  compute or communication
-- issued_ns     BIGINT   when the host issued it, ns (see kernels)
-- seq           BIGINT   position on the device among these kernels, from 0
-- anchor_count  BIGINT   anchors on the stream, NULL if there are none
-- remainder     BIGINT   anchors left over by whole passes
-- direction     VARCHAR  forward, backward or weight gradient in training, NULL if unknown
-- series        VARCHAR  model of the kernel's pass: module, annotation, program or anchor
-- num_layers    INTEGER  layers of a complete pass
-- pass_id       BIGINT   pass, NULL outside the layers
-- layer_id      BIGINT   layer, NULL outside the layers
-- half          VARCHAR  label of the block within its layer, NULL outside the layers
-- part          VARCHAR  prologue, between or epilogue of a pass, where known
-- part_pass     BIGINT   pass of that part
-- component     VARCHAR  part of the layer by annotation, NULL if there is none
-- is_cut_short  BOOLEAN  the capture begins or ends within the kernel's half
-- pass_source   VARCHAR  how the passes were found
-- call_id       BIGINT   call of the model that launched it from a layer, NULL if the anchors
--                        place it
CREATE VIEW _kernel_places AS
WITH shown AS (
    SELECT l.*
    FROM _launched_layers AS l
    JOIN _layer_settings AS s ON s.trace_id = l.trace_id
    WHERE s.anchor IS NULL AND l.kind <> 'memory'
),
patterns AS (
    SELECT trace_id, device, series, pattern
    FROM _anchor_plans
    UNION ALL
    SELECT a.trace_id, a.device, '', mode(m.type ORDER BY m.type)
    FROM _ascend_anchors AS a
    JOIN _ascend_marks AS m ON m.trace_id = a.trace_id AND m.kernel_id = a.kernel_id
    GROUP BY a.trace_id, a.device
),
joined AS (
    SELECT
        k.trace_id, k.rank, k.device, k.stream, k.kernel_id, k.start_ns, k.end_ns, k.dur_ns,
        k.kind, k.issued_ns, a.kernel_id IS NOT NULL AS is_anchored, a.anchor_count, a.remainder,
        a.num_layers AS anchored_layers, a.pass_id AS anchored_pass, a.layer_id AS anchored_layer,
        a.half AS anchored_half, a.direction AS anchored_direction, a.part, a.part_pass,
        a.is_cut_short, a.pass_source AS anchored_source,
        s.call_id, s.layer_id, s.num_layers, s.component, s.pass_source, s.direction,
        s.series AS shown_series,
        -- Kernels of no model are kept separate.
        CASE
            WHEN a.pass_source = 'program run' THEN a.series
            WHEN m.kernel_id IS NULL THEN ''
            ELSE coalesce(m.series, 'none')
        END AS model,
        p.pattern, e.kernel_id IS NOT NULL AS is_at_cut
    FROM kernels AS k
    LEFT JOIN _cut_ends AS e ON e.trace_id = k.trace_id AND e.kernel_id = k.kernel_id
    LEFT JOIN _anchored_kernels AS a ON a.trace_id = k.trace_id AND a.kernel_id = k.kernel_id
    LEFT JOIN shown AS s ON s.trace_id = k.trace_id AND s.kernel_id = k.kernel_id
    LEFT JOIN _kernel_series AS m ON m.trace_id = k.trace_id AND m.kernel_id = k.kernel_id
    LEFT JOIN patterns AS p
        ON p.trace_id = a.trace_id
        AND p.device = a.device
        AND p.series = a.series
    WHERE k.kind <> 'memory'
),
-- By GROUP BY and joins: windows would carry all these columns.
models AS (
    SELECT
        trace_id, device, model,
        coalesce(nullif(model, ''), min(shown_series), min(pattern)) AS series,
        count(call_id) AS shown_count,
        coalesce(bool_and(anchored_layer IS NOT DISTINCT FROM layer_id)
            FILTER (call_id IS NOT NULL AND direction IS DISTINCT FROM 'backward'), TRUE) AS agree,
        bool_or(is_anchored) AS has_anchors
    FROM joined
    GROUP BY trace_id, device, model
),
shown_streams AS (
    SELECT DISTINCT trace_id, device, model, stream FROM joined WHERE call_id IS NOT NULL
),
shown_passes AS (
    SELECT DISTINCT trace_id, device, model, anchored_pass
    FROM joined
    WHERE call_id IS NOT NULL AND anchored_pass IS NOT NULL
),
chosen AS (
    SELECT
        j.*, m.series, m.shown_count, m.agree, j.call_id IS NOT NULL AS is_shown,
        j.call_id IS NULL AND m.agree AND j.anchored_pass IS NOT NULL AND p.trace_id IS NULL
            AS is_by_anchor,
        CASE WHEN is_by_anchor THEN j.anchored_direction ELSE j.direction END AS pass_direction,
        CASE WHEN is_shown THEN j.call_id WHEN is_by_anchor THEN j.anchored_pass END AS pass_number
    FROM joined AS j
    JOIN models AS m
        ON m.trace_id = j.trace_id AND m.device = j.device AND m.model = j.model
    LEFT JOIN shown_streams AS s
        ON s.trace_id = j.trace_id AND s.device = j.device AND s.model = j.model
        AND s.stream IS NOT DISTINCT FROM j.stream
    LEFT JOIN shown_passes AS p
        ON p.trace_id = j.trace_id AND p.device = j.device AND p.model = j.model
        AND p.anchored_pass = j.anchored_pass
    WHERE
        j.is_anchored OR j.call_id IS NOT NULL
        OR (m.shown_count > 0 AND s.trace_id IS NOT NULL AND NOT m.has_anchors)
),
passes AS (
    SELECT
        trace_id, device, series, is_shown, pass_number, pass_direction,
        dense_rank() OVER (
            PARTITION BY trace_id, device
            ORDER BY start_ns, series, pass_number, pass_direction
        ) - 1 AS pass_id
    FROM (
        SELECT
            trace_id, device, series, is_shown, pass_number, pass_direction,
            min(start_ns) AS start_ns
        FROM chosen
        WHERE pass_number IS NOT NULL
        GROUP BY trace_id, device, series, is_shown, pass_number, pass_direction
    )
),
in_time AS (
    SELECT
        trace_id, kernel_id,
        row_number() OVER (PARTITION BY trace_id, device ORDER BY start_ns, kernel_id) - 1 AS seq
    FROM chosen
)
SELECT
    c.trace_id, c.rank, c.device, c.stream, c.kernel_id, c.start_ns, c.end_ns, c.dur_ns, c.kind,
    c.issued_ns, t.seq, c.anchor_count, c.remainder, c.pass_direction AS direction, c.series,
    CAST(CASE WHEN c.is_shown THEN c.num_layers ELSE c.anchored_layers END AS INTEGER)
        AS num_layers,
    p.pass_id,
    CASE WHEN c.is_shown THEN c.layer_id WHEN c.is_by_anchor THEN c.anchored_layer END AS layer_id,
    CASE
        WHEN c.is_by_anchor THEN c.anchored_half
        WHEN c.is_shown AND c.component IS NULL THEN
            CASE
                WHEN c.agree AND c.direction IS DISTINCT FROM 'backward'
                    THEN coalesce(c.anchored_half, 'full')
                ELSE 'full'
            END
        WHEN c.is_shown THEN 'full'
    END AS half,
    CASE WHEN c.shown_count = 0 THEN c.part END AS part,
    CASE WHEN c.shown_count = 0 THEN c.part_pass END AS part_pass,
    c.component,
    c.is_by_anchor AND c.is_cut_short OR c.is_shown AND c.is_at_cut AS is_cut_short,
    CASE WHEN c.is_shown THEN c.pass_source WHEN c.is_by_anchor THEN c.anchored_source END
        AS pass_source,
    c.call_id
FROM chosen AS c
JOIN in_time AS t ON t.trace_id = c.trace_id AND t.kernel_id = c.kernel_id
LEFT JOIN passes AS p
    ON p.trace_id = c.trace_id AND p.device = c.device
    AND p.series IS NOT DISTINCT FROM c.series AND p.is_shown = c.is_shown
    AND p.pass_number = c.pass_number
    AND p.pass_direction IS NOT DISTINCT FROM c.pass_direction;
