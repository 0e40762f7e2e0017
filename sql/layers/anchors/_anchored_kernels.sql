-- One row per kernel of the anchors' stream: the layer that the anchors assign it to, if any. For
-- an Ascend device with attention and for runs of a compiled program with layers, all kernels are
-- here, by their own rules. An open block holds a half and kernels around the pass. It is cut where
-- other layers of its kind, preferably in its pass, have the half's outermost kernel: at the kernel
-- of that name (any norm for a norm) nearest to the half's usual length, or at the usual length
-- itself if there is none or it leaves too little, for example if a compiler gives the last layer's
-- end another name. Without one, or if the half is far shorter than the others, the capture begins
-- or ends within it. A half ends with its model's turn and, if calls of the model separate passes,
-- with its call, and may be shorter then. If a pass has one layer, no half is closed: it is cut
-- before the norm after its feed-forward; several, or none, are judged by the layers of
-- _sample_series. It begins with the first of several norms in a row, one for each input: those of
-- the token and of the hidden states that a draft continues.
--
-- trace_id      VARCHAR  trace
-- series        VARCHAR  the model, empty if the trace has only one
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
-- direction     VARCHAR  forward or backward if passes of the model run backward, NULL if none does
-- part          VARCHAR  prologue, between or epilogue, where known
-- part_pass     BIGINT   pass of that part
-- is_cut_short  BOOLEAN  the capture begins or ends within the kernel's half
-- pass_source   VARCHAR  how the pass boundaries were found
CREATE VIEW _anchored_kernels AS
WITH kept AS (
    SELECT
        *, NOT is_open AND NOT is_unended AS is_closed,
        CASE WHEN cut_from_end THEN length - position + 1 ELSE position END AS kept,
        block = max(block) OVER (PARTITION BY trace_id, series, device) AS is_last
    FROM _block_kernels
    JOIN _sample_series USING (trace_id, series, device)
),
shortest AS (
    SELECT trace_id, series, device, half, min(length) AS length
    FROM kept
    WHERE is_closed
    GROUP BY trace_id, series, device, half
),
blocks AS (
    -- Kinds of layers may alternate: blocks are of one kind if they have the same kernels over the
    -- length of the shortest whole one. All norms are equal: a pass often begins with another one.
    SELECT
        kept.trace_id, kept.series, kept.device, block,
        any_value(sample_series) AS sample_series, any_value(kept.half) AS half,
        any_value(pass_id) AS pass_id, any_value(stride // num_layers) AS halves,
        bool_and(is_closed AND kept.series = sample_series) AS is_closed,
        bool_and(is_closed) AND bool_or(runs_backward) AS runs_backward,
        any_value(kept.length) AS length, any_value(cut_from_end) AS cut_from_end,
        arg_max((name_id, natural_role), kept) AS edge,
        arg_min((name_id, natural_role), kept) AS other_edge,
        bit_xor(hash(CASE WHEN natural_role = 'begin' THEN 0 ELSE name_id END, kept))
            FILTER (kept <= shortest.length) AS kind
    FROM kept
    LEFT JOIN shortest
        ON shortest.trace_id = kept.trace_id AND shortest.series = kept.sample_series
        AND shortest.device = kept.device AND shortest.half IS NOT DISTINCT FROM kept.half
    GROUP BY kept.trace_id, kept.series, kept.device, block
),
turned AS (
    -- The model that shows how layers begin and end may be cut at the other end.
    SELECT
        *, cut_from_end <> any_value(cut_from_end) FILTER (is_closed) OVER (
            PARTITION BY trace_id, sample_series, device, half
        ) AS is_turned
    FROM blocks
),
measured AS (
    SELECT
        trace_id, series, device, block, half,
        coalesce(
            quantile_disc(length, 0.5) FILTER (is_closed) OVER kind_of_pass,
            quantile_disc(length, 0.5) FILTER (is_closed) OVER of_kind,
            quantile_disc(length, 0.5) FILTER (is_closed) OVER half_of_pass,
            quantile_disc(length, 0.5) FILTER (is_closed) OVER of_half
        ) AS usual_length,
        coalesce(
            min(length) FILTER (is_closed) OVER kind_of_pass,
            min(length) FILTER (is_closed) OVER of_kind,
            min(length) FILTER (is_closed) OVER half_of_pass,
            min(length) FILTER (is_closed) OVER of_half
        ) AS least_length,
        max(length) FILTER (is_closed) OVER of_half AS most_length,
        coalesce(
            mode(edge ORDER BY edge[1]) FILTER (is_closed) OVER kind_of_pass,
            CASE
                WHEN is_turned
                    THEN mode(other_edge ORDER BY other_edge[1]) FILTER (is_closed) OVER of_kind
                ELSE mode(edge ORDER BY edge[1]) FILTER (is_closed) OVER of_kind
            END,
            mode(edge ORDER BY edge[1]) FILTER (is_closed) OVER half_of_pass,
            CASE
                WHEN is_turned
                    THEN mode(other_edge ORDER BY other_edge[1]) FILTER (is_closed) OVER of_half
                ELSE mode(edge ORDER BY edge[1]) FILTER (is_closed) OVER of_half
            END
        ) AS outermost,
        2 * halves * count(CASE WHEN runs_backward AND half IS NOT NULL THEN 1 END) OVER one_pass
            >= greatest(count(half) OVER one_pass, 1) AS is_backward
    FROM turned
    WINDOW
        one_pass AS (PARTITION BY trace_id, series, device, pass_id),
        of_half AS (PARTITION BY trace_id, sample_series, device, half),
        half_of_pass AS (PARTITION BY trace_id, series, device, half, pass_id),
        of_kind AS (PARTITION BY trace_id, sample_series, device, half, kind),
        kind_of_pass AS (PARTITION BY trace_id, series, device, half, kind, pass_id)
),
directed AS (
    SELECT
        *,
        -- If some layers alone compute again, their passes are a series of fewer layers, whose
        -- numbers in the model are unknown.
        CASE
            WHEN bool_and(is_backward) FILTER (half IS NOT NULL) OVER one_series THEN NULL
            WHEN is_backward THEN 'backward'
            WHEN bool_or(is_backward) OVER one_series THEN 'forward'
        END AS direction
    FROM measured
    WINDOW one_series AS (PARTITION BY trace_id, series, device)
),
usual AS (
    SELECT
        kept.* REPLACE (
            CASE d.direction WHEN 'backward' THEN num_layers - 1 - layer_id ELSE layer_id END
                AS layer_id
        ),
        d.usual_length, d.least_length, d.most_length, d.outermost, d.direction
    FROM kept
    JOIN directed AS d
        ON d.trace_id = kept.trace_id AND d.series = kept.series
        AND d.device = kept.device AND d.block = kept.block
),
cut AS (
    SELECT
        * EXCLUDE (nearest),
        coalesce(
            fed_length,
            CASE WHEN nearest >= 0.75 * least_length OR length < usual_length THEN nearest END
        ) AS matched_length
    FROM (
        SELECT
            *,
            arg_min(kept, (abs(kept - usual_length), kept)) FILTER (
                is_open AND in_turn AND (
                    name_id = outermost[1] OR (natural_role = 'begin' AND outermost[2] = 'begin')
                ) AND NOT (num_layers = 1 AND cut_from_end AND is_behind_norm)
            ) OVER lane_block AS nearest,
            arg_min(kept - 1, (abs(kept - 1 - coalesce(usual_length, 0)), kept)) FILTER (
                is_open AND in_turn AND is_late_norm AND num_layers = 1 AND NOT cut_from_end
            ) OVER lane_block AS fed_length
        FROM (
            SELECT
                *, natural_role = 'begin' AND coalesce(
                    lead(natural_role = 'begin' AND in_turn) OVER (
                        PARTITION BY trace_id, series, device, block ORDER BY kept
                    ), FALSE
                ) AS is_behind_norm
            FROM usual
        )
        WINDOW lane_block AS (PARTITION BY trace_id, series, device, block)
    )
),
judged AS (
    SELECT
        *, layer_id IS NOT NULL AND in_turn AND (
            NOT is_open OR kept <= coalesce(matched_length, usual_length, length)
        ) AND (
            -- What is longer than any half is not one: the pass had fewer layers.
            NOT is_unended OR coalesce(length <= most_length, FALSE)
        ) AND (
            pass_source <> 'module calls'
            OR call_ns IS NOT DISTINCT FROM max(CASE WHEN kept = 1 THEN call_ns END) OVER lane_block
        ) AS in_layer
    FROM cut
    WINDOW lane_block AS (PARTITION BY trace_id, series, device, block)
)
SELECT
    trace_id, series, device, stream, kernel_id, start_ns, end_ns, anchor_count, remainder,
    num_layers,
    CASE WHEN in_layer THEN pass_id END AS pass_id,
    CASE WHEN in_layer THEN layer_id END AS layer_id,
    CASE WHEN in_layer THEN half END AS half, CASE WHEN in_layer THEN direction END AS direction,
    CAST(NULL AS VARCHAR) AS part,
    CAST(NULL AS BIGINT) AS part_pass,
    in_layer AND pass_source <> 'module calls' AND (
        is_begun OR is_unended
        -- Products have other names at another batch size: without a match, a block that has the
        -- usual length, or that another pass follows, was not cut.
        OR (is_open AND fed_length IS NULL AND coalesce(
            coalesce(
                matched_length,
                CASE WHEN length >= usual_length OR NOT is_last THEN length ELSE 0 END
            ) < 0.75 * least_length, FALSE
        ))
    ) AS is_cut_short,
    pass_source
FROM judged
UNION ALL
SELECT
    trace_id, '', device, stream, kernel_id, start_ns, end_ns, anchor_count, 0, num_layers,
    CASE WHEN layer_id IS NOT NULL THEN pass_id END, layer_id, half, NULL, part,
    CASE WHEN part IS NOT NULL THEN pass_id END, is_cut_short, pass_source
FROM _ascend_places
UNION ALL
SELECT
    trace_id, series, device, stream, kernel_id, start_ns, end_ns, anchor_count, remainder,
    num_layers, CASE WHEN layer_id IS NOT NULL THEN pass_id END, layer_id,
    CASE WHEN layer_id IS NOT NULL THEN 'full' END,
    CASE WHEN layer_id IS NOT NULL THEN direction END, part,
    CASE WHEN part IS NOT NULL THEN pass_id END, FALSE, 'program run'
FROM _program_places;
