-- One row per kernel of the anchors' stream: the layer that the anchors put it into, if any. Of an
-- Ascend device with attention, and of the runs of a compiled program with layers, all kernels are
-- here, by rules of their own.
-- An open block holds a half and what surrounds the pass. It is cut where the half's outermost
-- kernel stands in the other layers: at the kernel of that name (any norm for a norm) nearest to
-- the half's usual length, or at the usual length itself where there is none. Without one, or
-- when the half is much shorter than all others, the capture begins or ends within it. Where calls
-- of the model part passes, a half ends with its call and may be shorter.
--
-- Materialised per trace.
--
-- trace_id      VARCHAR  trace
-- series        VARCHAR  the model, empty where the trace has one alone
-- device        INTEGER  device
-- stream        BIGINT   stream of the anchors
-- kernel_id     BIGINT   the kernel
-- start_ns      BIGINT   its start
-- end_ns        BIGINT   its end
-- anchor_count  BIGINT   anchors on the stream
-- remainder     BIGINT   anchors left over by whole passes
-- num_layers    INTEGER  layers of a complete pass
-- pass_id       BIGINT   pass, NULL outside the layers
-- layer_id      BIGINT   layer, NULL outside the layers
-- half          VARCHAR  label of the block within its layer, NULL outside the layers
-- part          VARCHAR  prologue, between or epilogue, where known
-- part_pass     BIGINT   pass of that part
-- is_cut_short  BOOLEAN  the capture begins or ends within the kernel's half
-- pass_source   VARCHAR  how the limits of passes are known
CREATE VIEW _anchored_kernels AS
WITH usual AS (
    SELECT
        *,
        quantile_disc(length, 0.5) FILTER (NOT is_open AND position = 1) OVER half AS usual_length,
        min(length) FILTER (NOT is_open) OVER half AS least_length,
        mode((name, natural_role) ORDER BY name) FILTER (NOT is_open AND kept = length) OVER half
            AS outermost
    FROM (
        SELECT *, CASE WHEN cut_from_end THEN length - position + 1 ELSE position END AS kept
        FROM _block_kernels
    )
    WINDOW half AS (PARTITION BY trace_id, series, device, half)
),
cut AS (
    SELECT
        *,
        arg_min(kept, (abs(kept - usual_length), kept)) FILTER (
            is_open AND (
                name = outermost[1] OR (natural_role = 'begin' AND outermost[2] = 'begin')
            )
        ) OVER lane_block AS matched_length
    FROM usual
    WINDOW lane_block AS (PARTITION BY trace_id, series, device, block)
),
judged AS (
    SELECT
        *, layer_id IS NOT NULL AND (
            NOT is_open OR kept <= coalesce(matched_length, usual_length, length)
        ) AND (
            pass_source <> 'module calls'
            OR call_ns IS NOT DISTINCT FROM first(call_ns ORDER BY kept) OVER lane_block
        ) AS in_layer
    FROM cut
    WINDOW lane_block AS (PARTITION BY trace_id, series, device, block)
)
SELECT
    trace_id, series, device, stream, kernel_id, start_ns, end_ns, anchor_count, remainder,
    num_layers,
    CASE WHEN in_layer THEN pass_id END AS pass_id,
    CASE WHEN in_layer THEN layer_id END AS layer_id,
    CASE WHEN in_layer THEN half END AS half, CAST(NULL AS VARCHAR) AS part,
    CAST(NULL AS BIGINT) AS part_pass,
    in_layer AND pass_source <> 'module calls' AND (
        is_begun
        OR (is_open AND coalesce(coalesce(matched_length, 0) < 0.75 * least_length, FALSE))
    ) AS is_cut_short,
    pass_source
FROM judged
UNION ALL
SELECT
    trace_id, '', device, stream, kernel_id, start_ns, end_ns, anchor_count, 0, num_layers,
    CASE WHEN layer_id IS NOT NULL THEN pass_id END, layer_id, half, part,
    CASE WHEN part IS NOT NULL THEN pass_id END, is_cut_short, pass_source
FROM _ascend_places
UNION ALL
SELECT
    trace_id, series, device, stream, kernel_id, start_ns, end_ns, anchor_count, remainder,
    num_layers, CASE WHEN layer_id IS NOT NULL THEN pass_id END, layer_id,
    CASE WHEN layer_id IS NOT NULL THEN 'full' END, part,
    CASE WHEN part IS NOT NULL THEN pass_id END, FALSE, 'program run'
FROM _program_places;
