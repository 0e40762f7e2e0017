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
agreed AS (
    SELECT
        *,
        coalesce(nullif(model, ''), min(shown_series) OVER on_device, min(pattern) OVER on_device)
            AS series,
        count(call_id) OVER on_device AS shown_count,
        coalesce(bool_and(anchored_layer IS NOT DISTINCT FROM layer_id)
            FILTER (call_id IS NOT NULL AND direction IS DISTINCT FROM 'backward') OVER on_device,
            TRUE) AS agree,
        bool_or(is_anchored) OVER on_device AS has_anchors,
        bool_or(call_id IS NOT NULL) OVER (PARTITION BY trace_id, device, model, stream)
            AS is_shown_stream,
        bool_or(call_id IS NOT NULL) OVER (
            PARTITION BY trace_id, device, model, anchored_pass
        ) AS is_shown_pass
    FROM joined
    WINDOW on_device AS (PARTITION BY trace_id, device, model)
),
chosen AS (
    SELECT
        *, call_id IS NOT NULL AS is_shown,
        call_id IS NULL AND agree AND anchored_pass IS NOT NULL
            AND (shown_count = 0 OR NOT is_shown_pass) AS is_by_anchor,
        CASE WHEN is_by_anchor THEN anchored_direction ELSE direction END AS pass_direction
    FROM agreed
    WHERE
        is_anchored OR call_id IS NOT NULL
        OR (shown_count > 0 AND is_shown_stream AND NOT has_anchors)
),
passes_seen AS (
    SELECT
        *,
        CASE
            WHEN is_shown OR is_by_anchor THEN {
                'start_ns': min(start_ns) OVER one_pass, 'series': series,
                'number': CASE WHEN is_shown THEN call_id ELSE anchored_pass END,
                'direction': pass_direction
            }
        END AS pass
    FROM chosen
    WINDOW one_pass AS (
        PARTITION BY
            trace_id, device, series, is_shown, is_by_anchor,
            CASE WHEN is_shown THEN call_id ELSE anchored_pass END, pass_direction
    )
)
SELECT
    trace_id, rank, device, stream, kernel_id, start_ns, end_ns, dur_ns, kind, issued_ns,
    row_number() OVER (
        PARTITION BY trace_id, device ORDER BY start_ns, kernel_id
    ) - 1 AS seq,
    anchor_count, remainder, pass_direction AS direction, series,
    CAST(CASE WHEN is_shown THEN num_layers ELSE anchored_layers END AS INTEGER) AS num_layers,
    CASE
        WHEN pass IS NOT NULL THEN dense_rank() OVER (
            PARTITION BY trace_id, device, pass IS NULL ORDER BY pass
        ) - 1
    END AS pass_id,
    CASE WHEN is_shown THEN layer_id WHEN is_by_anchor THEN anchored_layer END AS layer_id,
    CASE
        WHEN is_by_anchor THEN anchored_half
        WHEN is_shown AND component IS NULL THEN
            CASE
                WHEN agree AND direction IS DISTINCT FROM 'backward'
                    THEN coalesce(anchored_half, 'full')
                ELSE 'full'
            END
        WHEN is_shown THEN 'full'
    END AS half,
    CASE WHEN shown_count = 0 THEN part END AS part,
    CASE WHEN shown_count = 0 THEN part_pass END AS part_pass,
    component,
    is_by_anchor AND is_cut_short OR is_shown AND is_at_cut AS is_cut_short,
    CASE WHEN is_shown THEN pass_source WHEN is_by_anchor THEN anchored_source END AS pass_source,
    call_id
FROM passes_seen;
